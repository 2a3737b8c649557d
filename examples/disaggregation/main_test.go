package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/workload"
)

// seeds is how many runs there are of each kind: one, or five where GOODPUT_SOAK is set.
func seeds() int {
	if os.Getenv("GOODPUT_SOAK") != "" {
		return 5
	}
	return 1
}

// attainments are those of four GPUs, used in each way, at a rate per GPU.
func attainments(t *testing.T, o target, rate float64, seeds int) map[string]float64 {
	l := load{shape: workload.AzureConversation(), duration: 10 * time.Minute}
	all := map[string]float64{}
	for _, s := range systems(4, 300e9) {
		for seed := range uint64(seeds) {
			plan, err := l.plan(o.slo, seed+1)
			require.NoError(t, err)
			plan.Arrivals = l.arrivals(4*rate, seed+1)
			res, err := llmsim.Runner(s.model)(t.Context(), plan)
			require.NoError(t, err)
			all[s.name] += res.Report.Attainment / float64(seeds)
		}
		t.Logf("%s at %v/s per GPU: %s %.1f %%", o.name, rate, s.name, 100*all[s.name])
	}
	return all
}

// Who promises a low TTFT and little else is better off with engines that do everything: all of them compute prompts.
func TestColocatedWinsWithATightTTFT(t *testing.T) {
	for name, a := range attainments(t, targets[0], 1.8, seeds()) {
		if strings.HasPrefix(name, "colocated") {
			require.Greater(t, a, 0.9, name)
		} else {
			require.Less(t, a, 0.9, name)
		}
	}
}

// Who promises an even pace is better off with decode engines that no prompt interrupts.
func TestDisaggregatedWinsWithATightTPOT(t *testing.T) {
	for name, a := range attainments(t, targets[1], 1.15, seeds()) {
		if name == "2 prefill + 2 decode" {
			require.Greater(t, a, 0.9, name)
		} else {
			require.Less(t, a, 0.9, name)
		}
	}
}

// A network of 25 Gbit/s takes back what the split has won.
func TestSlowNetwork(t *testing.T) {
	l := load{shape: workload.AzureConversation(), duration: 20 * time.Minute}
	at := func(bandwidth float64) float64 {
		s := systems(4, bandwidth)[4]
		require.Equal(t, "2 prefill + 2 decode", s.name)
		plan, err := l.plan(targets[1].slo, 1)
		require.NoError(t, err)
		plan.Arrivals = l.arrivals(4*0.9, 1)
		res, err := llmsim.Runner(s.model)(t.Context(), plan)
		require.NoError(t, err)
		return res.Report.Attainment
	}
	fast, slow := at(300e9), at(25e9/8)
	t.Logf("at 300 GB/s %.1f %%, at 25 Gbit/s %.1f %%", 100*fast, 100*slow)
	require.Greater(t, fast, 0.95)
	require.Less(t, slow, 0.9)
}

func TestProgram(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"--gpus", "2", "--seeds", "2", "--duration", "2m", "--slo", "ttft p90 < 2s, tpot p90 < 60ms"}
	require.Zero(t, program(t.Context(), args, &out, &errs), errs.String())
	text := out.String()
	for _, part := range []string{"2 GPUs, OPT-13B on one A100 each; Azure conversation", "as given: ttft p90 < 2s, tpot p90 < 60ms", "colocated, prefill first ", "1 prefill + 1 decode ", "the best split, 1 prefill + 1 decode, has "} {
		require.Contains(t, text, part)
	}
	require.Len(t, strings.Split(strings.TrimSpace(text), "\n"), 2+1+1+4+1, text)
	out.Reset()
	require.Zero(t, program(t.Context(), args, &out, &errs))
	require.Equal(t, text, out.String(), "the same each time")

	missing := filepath.Join(t.TempDir(), "none.csv")
	for _, bad := range [][]string{{"--slo", "nonsense"}, {"--shape", "x"}, {"--gpus", "1"}, {"--gpus", "17"}, {"--seeds", "0"}, {"--bandwidth", "-1"}, {"--bandwidth", "NaN"}, {"more"}, {"--duration", "1s"}, {"--trace", missing}} {
		errs.Reset()
		require.Equal(t, 2, program(t.Context(), bad, &out, &errs), "%v", bad)
		require.Equal(t, 1, strings.Count(errs.String(), "\n"), "%v: %s", bad, errs.String())
	}
	require.Zero(t, program(t.Context(), []string{"-h"}, &out, &errs))
	require.Equal(t, 2, program(t.Context(), []string{"--slo", "x_cost p90 < 1"}, &out, &errs), "an engine does not give it")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, 1, program(ctx, nil, &out, &errs))
}

func TestTrace(t *testing.T) {
	var csv strings.Builder
	csv.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	at := time.Date(2023, 11, 16, 18, 0, 0, 0, time.UTC)
	for i := range 3000 {
		at = at.Add(time.Duration(100+i*7919%500) * time.Millisecond)
		fmt.Fprintf(&csv, "%s,%d,%d\n", at.Format("2006-01-02 15:04:05.0000000"), 1+i*104729%1500, 1+i*1299709%200)
	}
	name := filepath.Join(t.TempDir(), "trace.csv")
	require.NoError(t, os.WriteFile(name, []byte(csv.String()), 0o600))
	var out, errs bytes.Buffer
	require.Zero(t, program(t.Context(), []string{"--trace", name, "--gpus", "2", "--duration", "5m", "--slo", "ttft p90 < 2s, tpot p90 < 60ms"}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "trace.csv")
	require.Regexp(t, `has more: the best split, 1 prefill \+ 1 decode, has \d\.\d\d, the best colocated, `, out.String())

	l := load{}
	var err error
	l.trace, err = workload.OpenTrace(name, workload.WithoutText())
	require.NoError(t, err)
	n, last := 0, time.Duration(0)
	for at := range l.arrivals(5, 1).Times() {
		n, last = n+1, at
	}
	require.Equal(t, 3000, n)
	require.InEpsilon(t, 5, float64(n-1)/last.Seconds(), 1e-6, "at the rate that was asked for, by the gaps")

	const row = "2023-11-16 18:00:00.0000000,100,10\n"
	for _, rows := range []string{row, row + row} {
		require.NoError(t, os.WriteFile(name, []byte("TIMESTAMP,ContextTokens,GeneratedTokens\n"+rows), 0o600))
		errs.Reset()
		require.Equal(t, 2, program(t.Context(), []string{"--trace", name}, &out, &errs))
		require.Contains(t, errs.String(), "has requests at one instant alone, and no rate")
	}
}

func TestSentence(t *testing.T) {
	row := func(split bool, rate, lo, hi float64) *job {
		name := "colocated, one"
		if split {
			name = "two"
		}
		return &job{system: system{name: name, split: split}, found: limit{rate: rate, lo: lo, hi: hi}}
	}
	for _, c := range []struct {
		rows  []*job
		seeds int
		want  string
	}{
		{[]*job{row(false, 1, 0.9, 1.1), row(true, 2, 1.9, 2.1)}, 2, "Disaggregated wins: the best split, two, has 2.00, the best colocated, one, 1.00."},
		{[]*job{row(false, 2, 1.9, 2.1), row(true, 1, 0.9, 1.1), row(true, 0.5, 0.5, 0.5)}, 2, "Colocated wins: the best split, two, has 1.00, the best"},
		{[]*job{row(false, 1, 0.9, 1.1), row(true, 1.1, 1, 1.2)}, 2, "No difference is shown"},
		{[]*job{row(false, 1, 1, 1), row(true, 1.1, 1.1, 1.1)}, 1, "Disaggregated has more"},
		{[]*job{row(false, 1.2, 1.2, 1.2), row(true, 1.1, 1.1, 1.1)}, 1, "Colocated has more"},
		{[]*job{row(false, 1, 0.9, 1.1), row(true, 0, 0, 0)}, 2, "Colocated wins: the best split, two, has 0.00"},
		{[]*job{row(false, 0, 0, 0), row(true, 0, 0, 0)}, 2, "Nothing meets the SLO at any rate."},
	} {
		require.Contains(t, sentence(c.rows, c.seeds), c.want)
	}
}

// TestClaims finds the limits themselves, with the seeds and the time that they take: where GOODPUT_SOAK is set.
func TestClaims(t *testing.T) {
	if os.Getenv("GOODPUT_SOAK") == "" {
		t.Skip("GOODPUT_SOAK is not set")
	}
	var out, errs bytes.Buffer
	require.Zero(t, program(t.Context(), nil, &out, &errs), errs.String())
	t.Log(out.String())
	parts := strings.Split(out.String(), "\n\n")
	require.Len(t, parts, 4)
	require.Contains(t, parts[1], "Colocated wins")
	require.Contains(t, parts[2], "Disaggregated wins: the best split, 2 prefill + 2 decode")
	require.Contains(t, parts[3], "Disaggregated wins: the best split, 2 prefill + 2 decode")

	name := "../../../shared/traces/AzureLLMInferenceTrace_conv.csv"
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return
	}
	out.Reset()
	require.Zero(t, program(t.Context(), []string{"--trace", name}, &out, &errs), errs.String())
	t.Log(out.String())
}
