package loadgen

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Once it is over no more than one request starts, and what is in flight goes on to its end. Both in a bubble and in virtual time.
func TestUntil(t *testing.T) {
	const after = 30
	plan := func(a Arrivals, over *atomic.Bool) Plan {
		return Plan{SLO: slo.MustParse("e2e p95 < 1h"), Arrivals: Until(a, over.Load), Duration: time.Hour, Progress: func(p Progress) {
			over.Store(over.Load() || p.Elapsed >= after*time.Second)
		}}
	}
	check := func(res *Result) {
		assert.InDelta(t, after, res.Report.Offered, 2)
		assert.Equal(t, res.Report.Offered, res.Report.Outcomes[goodput.Success])
		assert.NoError(t, res.Cut)
	}
	minutes := func() System {
		return &delays{do: func(int) (time.Duration, goodput.Outcome) { return time.Minute, goodput.Success }}
	}
	var over atomic.Bool
	res, err := Simulate(t.Context(), plan(Constant{Rate: 1}, &over), Description{}, minutes())
	require.NoError(t, err)
	check(res)
	synctest.Test(t, func(t *testing.T) {
		var over atomic.Bool
		slow := TargetFunc(func(context.Context, *Request, *Trace) error {
			time.Sleep(time.Minute)
			return nil
		})
		res, err := Run(t.Context(), slow, plan(Constant{Rate: 1}, &over))
		require.NoError(t, err)
		check(res)
	})
	// Of a sequence of the caller's own some may have been read ahead.
	over.Store(false)
	seq := ArrivalsFunc(Constant{Rate: 1}.Times())
	res, err = Simulate(t.Context(), plan(seq, &over), Description{}, minutes())
	require.NoError(t, err)
	check(res)
}

func TestUntilIsLikeWhatItEnds(t *testing.T) {
	never := func() bool { return false }
	p := Poisson{Rate: 5}
	assert.Equal(t, p.String(), Until(p, never).String())
	seeded := Plan{Arrivals: Until(p, never), Seed: 7}.withDefaults().Arrivals
	want := Plan{Arrivals: p, Seed: 7}.withDefaults().Arrivals
	first := func(a Arrivals) (all []time.Duration) {
		for d := range a.Times() {
			if all = append(all, d); len(all) == 10 {
				break
			}
		}
		return all
	}
	assert.Equal(t, first(want), first(seeded))
	assert.Equal(t, []time.Duration{1, 2}, slices.Collect(Until(Replay{At: []time.Duration{1, 2}}, never).Times()))
	require.ErrorContains(t, Plan{SLO: slo.MustParse("e2e p95 < 1s"), Arrivals: Until(Poisson{}, never), Requests: 1}.Validate(), "Poisson.Rate")
	require.ErrorContains(t, Plan{SLO: slo.MustParse("e2e p95 < 1s"), Arrivals: Until(nil, never), Requests: 1}.Validate(), "there are no arrivals")
	require.ErrorContains(t, Plan{SLO: slo.MustParse("e2e p95 < 1s"), Arrivals: Until(p, nil), Requests: 1}.Validate(), "over is nil")
	require.ErrorContains(t, Plan{SLO: slo.MustParse("e2e p95 < 1s"), Arrivals: Until(p, never)}.Validate(), "nothing ends the run")
	_, err := json.Marshal(Until(p, never))
	require.Error(t, err)
}
