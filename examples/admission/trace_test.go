package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

// onTrace is the scenario on a public trace with the arrivals that it has, in 20 pieces, or skips where there is none:
// GOODPUT_TRACES is the folder of the files of https://github.com/Azure/AzurePublicDataset.
func (c scenario) onTrace(t *testing.T, file string, limit float64) scenario {
	t.Helper()
	folder := os.Getenv("GOODPUT_TRACES")
	if folder == "" {
		folder = "../../../shared/traces"
	}
	file = filepath.Join(folder, file)
	if _, err := os.Stat(file); err != nil {
		t.Skip("the trace is not here: ", err)
	}
	s, err := openTrace(file, 20)
	require.NoError(t, err)
	c.source, c.limit = s, limit
	return c
}

// On the conversation trace's own arrivals it is as on Poisson's, between limits of its own. Its rate wanders: at nine tenths of the
// limit it is above it for most of an hour, and what may be late in that hour was saved up before.
//
// The coding trace comes in bursts (the gaps' coefficient of variation is 13), and so its limit without control is where
// the engine is idle for 97 % of the time: at twice the limit nothing is scarce but within a burst, and goodput goes on
// rising to 24 times the limit. What control is worth is seen at twelve times, where goodput without it is highest.
func TestTraces(t *testing.T) {
	oneGoroutine(t)
	for _, k := range []struct {
		of      scenario
		file    string
		limit   float64   // as the program finds it
		at      []float64 // times the limit
		refused float64   // %, at 0.9 times the limit, at most
	}{
		{conversation, "AzureLLMInferenceTrace_conv.csv", 1.37, []float64{2, 3}, 1},
		{code, "AzureLLMInferenceTrace_code.csv", 0.041, []float64{12, 24}, 1},
	} {
		t.Run(k.of.name, func(t *testing.T) {
			c := k.of.onTrace(t, k.file, k.limit)
			ours := row{put: defend(c.slo)}
			for i, x := range k.at {
				require.NoError(t, ours.measure(t.Context(), &options{slo: c.slo, source: c.source, limit: c.limit, seeds: 20}, x))
				t.Logf("%v × the limit: goodput %v/s, %.0f tokens/s, refused %v %%", x, ours.goodput[i], ours.tokens[i].mean(), ours.refused[i])
			}
			none, _ := c.measured(t, k.at[0], 20, fixed(math.MaxInt, 0))
			t.Logf("%v × the limit, no control: %v/s", k.at[0], none)
			require.Greater(t, ours.goodput[0].mean(), 2*none.mean())
			caps := c.caps[1:3]
			if os.Getenv("GOODPUT_SOAK") != "" {
				caps = c.caps
			}
			for _, n := range caps {
				g, _ := c.measured(t, k.at[0], 20, fixed(n, 0))
				t.Logf("%v × the limit, at most %d in flight: %v/s", k.at[0], n, g)
				require.Greater(t, ours.goodput[0].mean(), 1.15*g.mean())
			}
			require.GreaterOrEqual(t, ours.goodput[1].mean(), ours.goodput[0].mean(), "it goes on rising")
			if c.name == conversation.name {
				require.GreaterOrEqual(t, ours.tokens[0].mean(), 0.9*peak(ours.tokens))
				require.GreaterOrEqual(t, ours.goodput[0].mean(), 0.85*peak(ours.goodput))
			}
			whole := load{c.source.trace.Arrivals(c.source.speed(0.9 * c.limit)), c.source.trace.Requests()}
			_, s, err := run(t.Context(), c.slo, whole, 0, defend(c.slo))
			require.NoError(t, err)
			refused := 100 * float64(s.refusals) / float64(s.offered)
			t.Logf("0.9 × the limit, the whole trace in one: refused %.2f %%", refused)
			require.LessOrEqual(t, refused, k.refused)
		})
	}
}

// A trace is cut into pieces that have its requests, at the rate that is asked for in the mean.
func TestOpenTrace(t *testing.T) {
	oneGoroutine(t)
	var csv strings.Builder
	csv.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	for i := range 400 {
		fmt.Fprintf(&csv, "2023-11-16 18:%02d:%02d.0000000,%d,%d\n", i/60, i%60, 100+i, 1+i%7)
	}
	file := filepath.Join(t.TempDir(), "trace.csv")
	require.NoError(t, os.WriteFile(file, []byte(csv.String()), 0o600))
	s, err := openTrace(file, 4)
	require.NoError(t, err)
	l, err := s.load(4, 2)
	require.NoError(t, err)
	var at []time.Duration
	for d := range l.arrivals.Times() {
		at = append(at, d)
	}
	require.Len(t, at, 100)
	require.Equal(t, 250*time.Millisecond, at[1]-at[0])
	for r := range l.requests {
		require.Equal(t, 200, r.InputTokens, "the second piece")
		break
	}
	_, err = openTrace(file, 5)
	require.ErrorContains(t, err, "pieces")
	var out, errs bytes.Buffer
	require.Zero(t, program(t.Context(), []string{"--trace", file, "--seeds", "2", "--limit", "5"}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "400 requests")
}

// The limit of a trace is the highest rate at which the SLO holds for the whole of it.
func TestLimitOfATrace(t *testing.T) {
	entries := make([]workload.Entry, 500)
	for i := range entries {
		entries[i] = workload.Entry{At: time.Duration(i) * time.Second, InputTokens: 1000, OutputTokens: 1}
	}
	trace, err := workload.NewTrace("even", entries, workload.WithoutText())
	require.NoError(t, err)
	o := &options{slo: slo.MustParse("ttft p95 < 300ms"), source: &source{name: "even", trace: trace, pieces: []*workload.Trace{trace}}}
	limit, err := search(t.Context(), o)
	require.NoError(t, err)
	// A step of one prompt of 1,000 tokens takes 180.65 ms. Where they come faster, each waits longer than the one before it by
	// the difference, and the 475th may wait 119.35 ms: 474·(180.65 ms − 1/rate) = 119.35 ms.
	const most = 1 / (0.1806545 - 0.1193455/474)
	require.LessOrEqual(t, limit, most)
	require.GreaterOrEqual(t, limit, most/1.0101)
}
