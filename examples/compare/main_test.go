package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/examples/internal/readme"
	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

func call(t *testing.T, env map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(context.Background(), args, func(k string) string { return env[k] }, &out, &errs)
	return status, out.String(), errs.String()
}

func TestTwoSimulatedEngines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "comparison.json")
	page, table := filepath.Join(t.TempDir(), "comparison.html"), filepath.Join(t.TempDir(), "comparison.csv")
	status, out, errs := call(t, nil, "--warmup", "10s", "--duration", "20s", "--json", file, "--html", page, "--csv", table)
	assert.Equal(t, exitShown, status, errs)
	assert.Equal(t, "A              a simulated engine with at most 32 sequences in a batch\nB              a simulated engine with at most 128 sequences in a batch\n"+
		"SLO            tpot p90 < 20ms\nLoad           closed loop of 64\nClient         valid in 8 of 8 runs\n", out[:strings.Index(out, "By goodput")])
	assert.Contains(t, out, "By goodput     A wins")
	assert.Contains(t, out, "By throughput  B wins")
	assert.Contains(t, out, "B does more")
	assert.Contains(t, out, "A serves more")
	assert.NotContains(t, out, "Warnings")
	var order []string
	for line := range strings.Lines(errs) {
		order = append(order, line[:3])
	}
	assert.Equal(t, "A 1 B 1 B 2 A 2 A 3 B 3 B 4 A 4", strings.Join(order, " "), "by turns")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var j struct{ Winner string }
	require.NoError(t, json.Unmarshal(text, &j))
	assert.Equal(t, "a", j.Winner)
	text, err = os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "A has the greater goodput")
	assert.Contains(t, string(text), "B: a simulated engine with at most 128 sequences in a batch")
	text, err = os.ReadFile(table)
	require.NoError(t, err)
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 9)
	assert.Equal(t, "A 1", lines[1][0])
	assert.Equal(t, "B 4", lines[8][0])
}

// Above a comparison of files stands by what they were judged, what they were asked, and which of their clients were not sound.
func TestTheHeadSaysWhatIsCompared(t *testing.T) {
	report := func(plan string, v goodput.HealthVerdict, reasons ...string) *goodput.Report {
		r := goodput.NewAccumulator(slo.MustParse("e2e p90 < 1s"), goodput.WithClasses(slo.Set{"chat": slo.MustParse("ttft p95 < 2s"), "batch": slo.MustParse("e2e p90 < 1s")})).Report()
		if plan != "" {
			r.Health = &goodput.ClientHealth{Verdict: v, Reasons: reasons, Load: &goodput.Load{Plan: plan}}
		}
		return r
	}
	x, y := report("poisson 8/s", goodput.Valid), report("poisson 9/s", goodput.Suspect, "its lag was long\x1b[2J", "and so on")
	assert.Equal(t, `A              one
B              the other
SLO            e2e p90 < 1s
               of chat: ttft p95 < 2s
Load of A      poisson 8/s
Load of B      poisson 9/s
Client         not valid in 2 of 4 runs: it may have had a part in the figures
               suspect in run B 1: its lag was long?[2J; and so on
               invalid in run B 2
`, head([2]string{"one", "the other"}, [2][]*goodput.Report{{x, x}, {y, report("poisson 9/s", goodput.Invalid)}}))
	nobody := report("", "")
	assert.Contains(t, head([2]string{"one", "the other"}, [2][]*goodput.Report{{nobody}, {nobody}}), "Load           nobody said\nClient         nobody measured it\n")
	assert.Contains(t, head([2]string{"one", "the other"}, [2][]*goodput.Report{{nobody}, {x}}), "Client         valid in 1 of 2 runs\n")
}

func TestTooFewRunsSayNothing(t *testing.T) {
	status, out, _ := call(t, nil, "--warmup", "1s", "--duration", "5s", "--runs", "2")
	assert.Equal(t, exitUnknown, status)
	assert.Contains(t, out, "too few runs for an interval")
}

func TestTwoEndpoints(t *testing.T) {
	fast, slow := httptest.NewServer(llmsim.NewFixedServer(0, 0)), httptest.NewServer(llmsim.NewFixedServer(50*time.Millisecond, 0))
	defer fast.Close()
	defer slow.Close()
	env := map[string]string{"LLM_MODEL": "m", "LLM_API_KEY": "sk-do-not-print-me", "LLM_API_KEY_B": "sk-nor-me"}
	args := []string{"--rate", "50", "--warmup", "0s", "--duration", "200ms", "--output-tokens", "4"}
	// What was promised lies between what the two of them take, by far: the machine may be busy.
	status, out, errs := call(t, env, append(args, "--slo", "ttft p50 < 49ms", slow.URL+"/v1", fast.URL+"/v1")...)
	assert.Contains(t, []int{exitShown, exitUnknown}, status, errs) // unknown: this machine was too busy
	assert.Contains(t, out, "4 of a, 4 of b")
	assert.Contains(t, out, "A              m at "+strings.TrimPrefix(slow.URL, "http://")+"\n")
	assert.Contains(t, out, "b", "the fast one")
	assert.NotContains(t, out, "A wins")
	assert.NotContains(t, out+errs, "sk-")
}

// written is a file of 200 requests of 100 s, of which that many are in time.
func written(t *testing.T, name string, good int, s slo.SLO) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	w, err := goodput.NewRecordWriter(f, goodput.RecordsHeader{Start: time.Unix(0, 0), SLO: s})
	require.NoError(t, err)
	for i := range 201 {
		r := &goodput.Record{Start: time.Unix(0, 0).Add(time.Duration(i) * 500 * time.Millisecond), Outcome: goodput.Success, OutputTokens: 10}
		if i >= good {
			r.End = 2 * time.Second
		}
		require.NoError(t, w.Write(r))
	}
	require.NoError(t, w.Close(goodput.RecordsFooter{Complete: true}))
	return name
}

func TestTwoListsOfFiles(t *testing.T) {
	s := slo.MustParse("e2e p90 < 1s")
	var a, b []string
	for i := range curve.LeastRuns {
		a, b = append(a, written(t, "a", 100+i, s)), append(b, written(t, "b", 150-i, s))
	}
	list := func(files []string) string { return strings.Join(files, ",") }
	status, out, errs := call(t, nil, list(a), list(b))
	assert.Equal(t, exitShown, status, errs)
	assert.Contains(t, out, "A              4 files of records, from a\n")
	assert.Contains(t, out, "By goodput     B wins, 1.46 against 0.995 requests/s")
	assert.Contains(t, out, "no difference shown", "in throughput there is none")
	assert.NotContains(t, out, "does more")
	status, out, _ = call(t, nil, list(a), list(a))
	assert.Equal(t, exitNotShown, status)
	assert.Contains(t, out, "no difference shown: 0.995 and 0.995 requests/s")
	page := filepath.Join(t.TempDir(), "page.html")
	status, _, errs = call(t, nil, "--html", page, a[0], b[0])
	assert.FileExists(t, page, errs)
	assert.Equal(t, exitUnknown, status, "one run of each")

	status, out, errs = call(t, nil, list(a), written(t, "other", 100, slo.Chat()))
	assert.Equal(t, exitError, status)
	assert.Empty(t, out)
	assert.Contains(t, errs, "not of one SLO")
	status, _, errs = call(t, nil, list(a), filepath.Join(t.TempDir(), "nowhere"))
	assert.Equal(t, exitError, status)
	assert.Contains(t, errs, "nowhere")
}

// The definitions' example, in the words of the program.
func TestTheFasterOneLoses(t *testing.T) {
	c := &curve.Comparison{
		Goodput:         curve.Difference{Unit: "requests/s", A: 4.95, B: 4.5, Winner: curve.A},
		Throughput:      curve.Difference{Unit: "requests/s", A: 5, B: 9, Winner: curve.B},
		TokenGoodput:    curve.Difference{Unit: "tokens/s", A: 4950, B: 4500, Winner: curve.A},
		TokenThroughput: curve.Difference{Unit: "tokens/s", A: 5000, B: 9000, Winner: curve.B},
	}
	assert.Equal(t, "B does more, 9,000 against 5,000 output tokens/s, but only 50 % of it in time, where A has 99 %.\n"+
		"A serves more, 4,950 against 4,500 output tokens/s in time.", sentence(c))
	c.TokenThroughput.Winner = curve.NoDifference
	assert.Equal(t, "B does more, 9 against 5 requests/s, but only 50 % of it in time, where A has 99 %.\n"+
		"A serves more, 4.95 against 4.5 requests/s in time.", sentence(c))
	c.Throughput.Winner = curve.A
	assert.Empty(t, sentence(c), "they agree")
}

func TestWhatCannotBeMeant(t *testing.T) {
	for _, args := range [][]string{
		{"a"}, {"a", "b", "c"}, {"http://127.0.0.1:1/v1", "file"}, {"a,,b", "c"}, {"--runs", "4", "a", "b"}, {"--rate", "0"}, {"--rate", "-1"}, {"--rate", "NaN"}, {"--rate", "Inf"},
		{"--rate", "1", "--concurrency", "2"}, {"--runs", "0"}, {"--input-tokens", "1"}, {"--slo", "ttft < 2s"}, {"--no-such-option"},
		{"--concurrency", "0"}, {"--duration", "-1s"}, {"http://127.0.0.1:1/v1?x", "http://"},
	} {
		status, out, errs := call(t, map[string]string{"LLM_MODEL": "m"}, args...)
		assert.Equal(t, exitUsage, status, fmt.Sprint(args, errs))
		assert.Empty(t, out, args)
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
	status, out, _ := call(t, nil, "--help")
	assert.Equal(t, exitShown, status)
	assert.Contains(t, out, "-rate")
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	status := run(ctx, nil, func(string) string { return "" }, &out, &errs)
	assert.Equal(t, exitError, status)
	assert.Empty(t, out.String(), "of half a comparison nothing is said")
	assert.Contains(t, errs.String(), "canceled")
}

func TestWhatTheReadmeShows(t *testing.T) {
	args, lines := readme.Shown(t, "go run ./examples/compare")
	status, text, says := call(t, nil, args...)
	require.Equal(t, exitShown, status, says)
	readme.Prints(t, text, lines)
}
