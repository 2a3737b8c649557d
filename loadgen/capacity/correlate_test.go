package capacity

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goodputkit/goodputkit/goodput"
)

// probed is a search with these probes of an objective at a P90.
func probed(of ...observation) *search {
	s := &search{config: defaults(), plan: madePlan()}
	for _, o := range of {
		s.probes = append(s.probes, &Probe{Rate: o.rate, Verdict: goodput.Inconclusive, Report: &goodput.Report{Offered: uint64(o.requests), Objectives: goodput.Objectives{{
			Objective: s.plan.SLO.Objectives[0], N: uint64(o.requests), Share: 1 - o.bad, Holds: o.bad <= 0.1, Target: 0.9, EffectiveN: o.n, Inflation: o.requests / o.n}}}})
	}
	return s
}

func TestShortProbesKnowWhatLongerOnesSaw(t *testing.T) {
	obs := []observation{{10, 0, 100, 100}, {80, 0.05, 10_000, 500}, {85, 0.01, 400, 400}, {90, 0.1, 20_000, 900}}
	correlate(obs)
	assert.Equal(t, []observation{{10, 0, 100, 100}, {80, 0.05, 10_000, 500}, {85, 0.01, 400, 20}, {90, 0.1, 20_000, 900}}, obs)

	// A short one that ended before it had met anything bad knows it from a longer one at a higher rate: (9/10)^15 = 0.2059.
	obs = []observation{{10, 0, 100, 100}, {90, 0, 400, 400}, {100, 0.1, 20_000, 200}, {101, 0, 30_000, 30_000}}
	correlate(obs)
	assert.Equal(t, 100.0, obs[0].n, "far below it says nothing")
	assert.InEpsilon(t, 400/(100*0.2059), obs[1].n, 1e-3)
	assert.Equal(t, 200.0, obs[2].n)
	assert.Equal(t, 30_000.0, obs[3].n, "what is shorter says nothing of it")

	// One that is alike too long for batches is worth a few requests, and says nothing of others.
	nan := math.NaN()
	obs = []observation{{90, 0, 400, 400}, {100, 0.4, 20_000, nan}, {110, 0.6, 5, nan}}
	correlate(obs)
	assert.Equal(t, []observation{{90, 0, 400, 400}, {100, 0.4, 20_000, unbatched}, {110, 0.6, 5, 5}}, obs)
}

// A probe is looked at for the first time after 20 times as many requests as are alike in probes at lower rates, or after
// what is left of that from higher ones.
func TestAlike(t *testing.T) {
	s := probed(observation{80, 0.05, 10_000, 500}, observation{100, 0.1, 20_000, 200}, observation{120, 0.5, 20_000, math.NaN()})
	assert.Equal(t, 1.0, s.alike(10))
	assert.Equal(t, 20.0, s.alike(80))
	assert.InEpsilon(t, 100*0.4633, s.alike(95), 1e-3)
	assert.Equal(t, 100.0, s.alike(130))
}
