package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

func report(offered, throughput, goodputRate float64) *goodput.Report {
	return &goodput.Report{OfferedRPS: offered, ThroughputRPS: throughput, GoodputRPS: goodputRate}
}

func TestTheSentenceSaysWhatTheReportsShow(t *testing.T) {
	past := compare([]*goodput.Report{report(8, 8, 8), report(14, 13.9, 13.5), report(22, 17, 0.4)})
	assert.Equal(t, "From 14.0 to 22.0 requests/s offered, throughput rises from 13.9 to 17.0 (+22 %) and goodput falls from 13.5 to 0.4 (-97 %): "+
		"the engine does more work, and its users get less of it in time.", past)
	below := compare([]*goodput.Report{report(1, 1, 1), report(2, 2, 2), report(4, 4, 3.9)})
	assert.Equal(t, "From 2.00 to 4.00 requests/s offered, throughput rises from 2.00 to 4.00 (+100 %) and goodput rises from 2.00 to 3.90 (+95 %): "+
		"at these loads the engine is not past its limit.", below)
	both := compare([]*goodput.Report{report(10, 9, 8), report(20, 7, 1)})
	assert.Contains(t, both, "less of both")
	assert.Contains(t, compare([]*goodput.Report{report(0, 0, 0), report(1, 1, 1)}), "rises from 0.00 to 1.00")
	assert.Contains(t, compare([]*goodput.Report{report(1, 1, 1)}), "no curve")
}

func TestTheSentenceIsAsWideAsAReport(t *testing.T) {
	text := compare([]*goodput.Report{report(8, 8, 8), report(14, 13.9, 13.5), report(22, 17, 0.4)})
	wrapped := wrap(text)
	assert.Equal(t, text, strings.ReplaceAll(wrapped, "\n", " "))
	for line := range strings.Lines(wrapped) {
		assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 100)
	}
	assert.Equal(t, 1, strings.Count(wrapped, "\n"))
}

// virtual carries plans out on the same engine without HTTP and in no time.
func virtual() (loadgen.Runner, func(), error) { return llmsim.Runner(engine()), func() {}, nil }

func at(t *testing.T, loads ...float64) (reports []*goodput.Report) {
	s := setting{slo: objective, warmup: 9 * time.Second, duration: 18 * time.Second, seed: 1}
	for _, rate := range loads {
		r, err := s.measure(t.Context(), rate, virtual)
		require.NoError(t, err)
		reports = append(reports, r)
	}
	return reports
}

func TestTheEngineIsFastEnoughWhenIdle(t *testing.T) {
	longest := &loadgen.Request{InputTokens: 14_050, MaxTokens: 1000} // of the traffic's lengths
	result, err := llmsim.Runner(engine())(t.Context(), loadgen.Plan{SLO: objective, Concurrency: 1, Workload: slices.Values([]*loadgen.Request{longest})})
	require.NoError(t, err)
	assert.EqualValues(t, 1, result.Report.Good)
	for _, r := range at(t, 0.5, 2) {
		assert.Equal(t, 1.0, r.Attainment)
		assert.Equal(t, goodput.Valid, r.Health.Verdict)
	}
}

func TestLowLoadsGetTheOppositeSentence(t *testing.T) {
	assert.Contains(t, compare(at(t, 12, 20, 36)), "its users get less of it in time")
	assert.Contains(t, compare(at(t, 2, 4, 8)), "not past its limit")
}

func TestABusyClientComparesNothing(t *testing.T) {
	r := report(1, 1, 1)
	r.Health = &goodput.ClientHealth{Verdict: goodput.Invalid}
	assert.Contains(t, compare([]*goodput.Report{report(1, 1, 1), r}), "nothing to compare")
}

func TestItRuns(t *testing.T) {
	var out, errs bytes.Buffer
	dir := t.TempDir()
	require.NoError(t, run(t.Context(), []string{"--rates", "8,40", "--warmup", "0s", "--duration", "500ms", "--records", dir}, &out, &errs), errs.String())
	f, err := os.Open(filepath.Join(dir, "40-rps.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	r, err := goodput.ReadReport(f)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "not ended after 9s is a timeout")
	assert.Contains(t, out.String(), r.String(), "the records give the report that was printed")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWhatCannotBeShownIsNoSuccess(t *testing.T) {
	var errs bytes.Buffer
	assert.EqualError(t, run(t.Context(), []string{"--rates", "8", "--warmup", "0s", "--duration", "100ms"}, full{}, &errs), "no space left")
	assert.Equal(t, 2, status(&loadgen.PlanError{Field: "Warmup", Err: errors.New("is too long")}, &errs))
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	for _, args := range [][]string{{"--duration", "0s"}, {"--slo", "ttft < 2s"}, {"--rates", "0"}, {"--no-such-option"}, {"12"}} {
		var out, errs bytes.Buffer
		assert.Equal(t, 2, status(run(t.Context(), args, &out, &errs), &errs), args)
		assert.Empty(t, out.String(), args)
		assert.Equal(t, 1, strings.Count(errs.String(), "\n"), "one line: %s", errs.String())
	}
}

func TestHelpIsNoError(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Zero(t, status(run(t.Context(), []string{"--help"}, &out, &errs), &errs))
	assert.Contains(t, out.String(), "-rates")
	assert.Empty(t, errs.String())
}

func TestRatesThatCannotBeMeant(t *testing.T) {
	for _, bad := range []string{"", "x", "0", "-1", "1,,2", "NaN", "Inf"} {
		var r rates
		assert.Error(t, r.Set(bad), bad)
	}
}
