package main

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// gateway is what stands before an engine that follows the clock, as a service has it: it blocks, and tokens come while it
// waits for the end.
type gateway func(ctx context.Context, engine *llmsim.Target, req *loadgen.Request, trace *loadgen.Trace) error

// controlled is package admission by the clock.
func controlled(c *admission.Controller) gateway {
	return func(ctx context.Context, engine *llmsim.Target, req *loadgen.Request, trace *loadgen.Trace) error {
		p, err := c.Admit(ctx, admission.Request{InputTokens: max(1, req.InputTokens), MaxOutputTokens: max(1, req.MaxTokens)})
		if err != nil {
			return err
		}
		defer p.Done(goodput.ServerError)
		return engine.Stream(ctx, req, trace, func(_ time.Time, last bool) {
			p.Tokens(1)
			if last {
				p.Done(goodput.Success)
			}
		})
	}
}

// limited is failsafe-go's adaptive limiter as it comes: NewWithDefaults, whose documentation gives limits of 1 to 200 requests
// in flight and 20 to begin with. A permit is asked for without waiting, as its executor does by default; what succeeded
// is recorded, and what did not is dropped, which is what its documentation says the two are for.
func limited() gateway {
	limiter := adaptivelimiter.NewWithDefaults[any]()
	return func(ctx context.Context, engine *llmsim.Target, req *loadgen.Request, trace *loadgen.Trace) error {
		p, ok := limiter.TryAcquirePermit()
		if !ok {
			return &loadgen.StatusError{Code: 503, Rejected: true}
		}
		err := engine.Do(ctx, req, trace)
		if err != nil {
			p.Drop()
			return err
		}
		p.Record()
		return nil
	}
}

// byTheClock is a run in a bubble.
func byTheClock(t *testing.T, c scenario, x float64, seed uint64, d time.Duration, g gateway) *goodput.Report {
	t.Helper()
	engine, err := llmsim.NewTarget(llmsim.OPT13B())
	require.NoError(t, err)
	res, err := loadgen.Run(t.Context(), loadgen.TargetFunc(func(ctx context.Context, req *loadgen.Request, trace *loadgen.Trace) error {
		return g(ctx, engine, req, trace)
	}), c.load(t, x, seed).plan(c.slo, d))
	require.NoError(t, err)
	return res.Report
}

// books is what a report says of what became of the requests.
func books(r *goodput.Report) string {
	return fmt.Sprintf("offered %d good %d %v goodput %.9f/s %.9f tokens/s", r.Offered, r.Good, r.Outcomes, r.GoodputRPS, r.TotalGoodputTPS)
}

// A Controller that blocks, before an engine that follows the clock, does what a Scheduler does in the event loop: the same
// requests are refused, and the others' tokens come at the same instants.
func TestTheClockAndTheEventLoopAgree(t *testing.T) {
	for _, c := range []scenario{conversation, code} {
		for _, x := range []float64{0.9, 2} {
			for seed := uint64(1); seed <= uint64(min(seeds(1), 3)); seed++ {
				d := 5 * time.Minute
				if raced {
					d = time.Minute
				}
				loop, s, err := run(t.Context(), c.slo, c.load(t, x, seed), d, defend(c.slo))
				require.NoError(t, err)
				synctest.Test(t, func(t *testing.T) {
					controller, err := admission.New(admission.Config{SLO: c.slo})
					require.NoError(t, err)
					clock := byTheClock(t, c, x, seed, d, controlled(controller))
					require.Equal(t, books(loop), books(clock), "%s, %v × the limit, seed %d", c.name, x, seed)
					st := controller.State()
					require.Zero(t, st.InFlight+st.Waiting)
					require.Equal(t, s.offered, int(st.Offered))
				})
			}
		}
	}
}

// A limiter that follows end-to-end times does not know what the SLO is. As it comes, it is good for a goodput between those of
// the fixed caps, and package admission for 1.3 times that.
func TestAgainstAGradientOfLatency(t *testing.T) {
	if raced {
		t.Skip("it measures; the test above has the goroutines")
	}
	c, n := conversation, seeds(3)
	var theirs, ours sample
	for seed := uint64(1); seed <= uint64(n); seed++ {
		synctest.Test(t, func(t *testing.T) {
			r := byTheClock(t, c, 2, seed, 20*time.Minute, limited())
			theirs.add(r.GoodputRPS)
		})
		synctest.Test(t, func(t *testing.T) {
			controller, err := admission.New(admission.Config{SLO: c.slo})
			require.NoError(t, err)
			ours.add(byTheClock(t, c, 2, seed, 20*time.Minute, controlled(controller)).GoodputRPS)
		})
	}
	t.Logf("twice the limit: failsafe-go's adaptive limiter %v/s, package admission %v/s, %.2f times it", theirs, ours, ours.mean()/theirs.mean())
	require.GreaterOrEqual(t, ours.mean(), 1.3*theirs.mean())
	require.False(t, math.IsNaN(ours.mean()))
}
