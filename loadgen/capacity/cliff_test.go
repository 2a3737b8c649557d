package capacity

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

// engines are four that compute prompts first and meet a TTFT up to a cliff: below it 0.7 % of the prompts are too long at any rate.
// Two runs of three hours each, of other seeds, miss the objective from 7.8 and from 8 requests/s on.
func engines(tb testing.TB, seed uint64) (loadgen.Runner, loadgen.Plan) {
	gpu := llmsim.OPT13B()
	gpu.Policy = llmsim.PrefillFirst{}
	model := llmsim.Replicas{Engines: slices.Repeat([]llmsim.Params{gpu}, 4), Router: llmsim.LeastTTFT{}}
	requests, err := workload.NewSynthetic(workload.AzureConversation(), workload.WithSeed(seed), workload.WithSaltSeed(seed), workload.WithoutText())
	require.NoError(tb, err)
	return llmsim.Runner(model), loadgen.Plan{
		SLO: slo.MustParse("ttft p90 < 1s, tpot p90 < 200ms"), Workload: requests.Requests(),
		Warmup: time.Minute, Duration: 20 * time.Minute, Drain: time.Minute, Seed: seed,
	}
}

// What a search says is not far from the cliff, or warns.
func TestSearchOfACliff(t *testing.T) {
	if raceEnabled {
		t.Skip("millions of events")
	}
	run, plan := engines(t, 2)
	l, err := Search(t.Context(), run, plan, WithStart(4))
	require.NoError(t, err)
	t.Log(l)
	require.Equal(t, Found, l.State)
	require.True(t, l.Lo <= 7.85 && l.Hi >= 7.85)
	if l.Rate > 1.1*7.85 {
		require.Condition(t, func() bool {
			return slices.ContainsFunc(l.Warnings, func(w error) bool { return errors.Is(w, ErrSamples) })
		})
		require.LessOrEqual(t, l.Recommended, 7.85)
	}
}

// How near do searches of the cliff come, of seeds other than the tests'?
//
//	go test ./loadgen/capacity -run xxx -bench Cliff -benchtime 25x
func BenchmarkCliff(b *testing.B) {
	tally(b, truth{limit: 7.85}, func(seed uint64) (*Limit, error) {
		run, plan := engines(b, 5001+seed)
		return Search(b.Context(), run, plan, WithStart(4))
	})
}

// Where the estimate's interval is wide, it ends at the verdicts.
func TestVerdictsBoundAWideInterval(t *testing.T) {
	s := probed(observation{4, 0.008, 3000, 3000}, observation{7.2, 0.05, 9000, 14}, observation{7.7, 0.07, 9000, 14},
		observation{8, 0.15, 9000, 14}, observation{8.1, 0.12, 9000, 14}, observation{8.5, 0.4, 9000, 14})
	e := s.estimate()
	require.GreaterOrEqual(t, e.near, nearLeast)
	require.Greater(t, (e.hi-e.lo)/2, goodEstimate*e.rate)
	bounds := func() [3]float64 { l := s.limit(); return [3]float64{l.Lo, l.Rate, l.Hi} }
	require.Equal(t, [3]float64{e.lo, e.rate, e.hi}, bounds(), "there is no verdict")

	s.probes[1].Verdict, s.probes[4].Verdict = goodput.Met, goodput.Missed
	require.Equal(t, [3]float64{e.lo, e.rate, 8.1}, bounds(), "what was met is worth 14 requests, not 20")
	s.probes[1].Report.Offered = 15_000
	require.Equal(t, [3]float64{7.2, e.rate, 8.1}, bounds())

	s.probes[2].Verdict = goodput.Missed // what a verdict contradicts is no further than that
	require.Equal(t, [3]float64{7.2, 7.7, 7.7}, bounds())
}

func TestSamplesBelowTheLimit(t *testing.T) {
	probe := func(rate float64, holds bool) *Probe {
		a := goodput.NewAccumulator(slo.MustParse("e2e p90 < 1s"))
		end := time.Millisecond
		if !holds {
			end = 2 * time.Second
		}
		for range 100 {
			a.Observe(&goodput.Record{Start: time.Unix(0, 0), End: end, Outcome: goodput.Success})
		}
		return &Probe{Rate: rate, Report: a.Report()}
	}
	for name, c := range map[string]struct {
		state  State
		probes []*Probe
		from   float64
	}{
		"two below, out of order":      {Found, []*Probe{probe(8.5, false), probe(4, true), probe(8, false), probe(12.5, false)}, 8},
		"one that meets it in between": {Found, []*Probe{probe(8, false), probe(9, true)}, 0},
		"another after that":           {Found, []*Probe{probe(7, false), probe(8, true), probe(10, false)}, 10},
		"near the limit":               {Found, []*Probe{probe(8, true), probe(11.5, false)}, 0},
		"above it":                     {Found, []*Probe{probe(8, true), probe(13, false)}, 0},
		"nothing found":                {Unknown, []*Probe{probe(8, false)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			from, ok := (&Limit{State: c.state, Rate: 12, Probes: c.probes}).missedBelow()
			require.Equal(t, c.from > 0, ok)
			if ok {
				require.Equal(t, c.from, from)
			}
		})
	}
}
