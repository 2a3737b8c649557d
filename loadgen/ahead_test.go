package loadgen

import (
	"context"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// blocked gives v and then nothing, for ever or until release is closed.
func blocked[T any](v T, release <-chan struct{}) iter.Seq[T] {
	return func(yield func(T) bool) {
		if yield(v) {
			<-release
		}
	}
}

// A sequence that waits for something holds up neither the end of a run, nor its being cut off.
func TestBlockedSequences(t *testing.T) {
	for name, with := range map[string]func(*Plan, <-chan struct{}){
		"Workload, closed loop": func(p *Plan, release <-chan struct{}) {
			p.Concurrency, p.Workload = 2, blocked(&Request{}, release)
		},
		"Workload, open loop": func(p *Plan, release <-chan struct{}) {
			p.Arrivals, p.Workload = Constant{Rate: 100}, blocked(&Request{}, release)
		},
		"Arrivals": func(p *Plan, release <-chan struct{}) {
			p.Arrivals = ArrivalsFunc(blocked(time.Duration(0), release))
		},
	} {
		for _, end := range []string{"cut", "Duration", "Requests"} {
			t.Run(name+", "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					defer close(release)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					calls := 0
					p := Plan{SLO: e2e, Timeout: 2 * time.Second, Progress: func(Progress) { calls++ }}
					with(&p, release)
					most := time.Minute + grace
					switch end {
					case "Duration":
						p.Duration, most = 10*time.Second, 12*time.Second+2*grace // it can still be late, and is asked to stop
					case "Requests":
						p.Requests, most = 1, 50*ms+grace
					}
					began := time.Now()
					res, err := Run(ctx, takes(50*ms), p)
					assert.LessOrEqual(t, time.Since(began), most)
					require.NotNil(t, res)
					assert.EqualValues(t, 1, res.Report.Good, "what there was")
					assert.GreaterOrEqual(t, calls, int(res.Elapsed/tickEvery), "and Progress goes on")
					switch end {
					case "Duration":
						require.ErrorIs(t, err, ErrSequence)
						assert.ErrorContains(t, err, "nothing to give before the run was over")
						assert.NoError(t, res.Cut)
						assert.InDelta(t, 10, res.Report.WindowS, 1e-9)
					case "cut":
						require.NoError(t, err)
						assert.ErrorIs(t, res.Cut, context.DeadlineExceeded)
					default:
						require.NoError(t, err)
						assert.NoError(t, res.Cut)
					}
				})
			})
		}
	}
}

// However many requests are due, a run is cut off at once.
func TestCutWhileRequestsAreDue(t *testing.T) {
	due := ArrivalsFunc(func(yield func(time.Duration) bool) {
		for yield(0) {
		}
	})
	for name, p := range map[string]Plan{
		"at one instant":             {Arrivals: due},
		"at one instant, and drop":   {Arrivals: due, MaxInFlight: 1, Overflow: Drop},
		"at one instant, and wait":   {Arrivals: due, MaxInFlight: 1, Overflow: Wait},
		"more than a client can do":  {Arrivals: Constant{Rate: 1e9}},
		"more than it can even drop": {Arrivals: Constant{Rate: 1e9}, MaxInFlight: 1, Overflow: Drop},
	} {
		t.Run(name, func(t *testing.T) {
			p.SLO, p.Duration = e2e, time.Hour
			ctx, begun := cutSoon(t)
			res, err := Run(ctx, TargetFunc(func(ctx context.Context, r *Request, tr *Trace) error {
				begun()
				return takes(time.Hour)(ctx, r, tr)
			}), p)
			require.NoError(t, err)
			require.ErrorIs(t, res.Cut, context.DeadlineExceeded)
			r := res.Report
			var sum uint64
			for _, n := range r.Outcomes {
				sum += n
			}
			assert.Equal(t, r.Offered, sum, "the books close")
			assert.Equal(t, r.Health.Offered, r.Offered)
		})
		t.Run(name+", in virtual time", func(t *testing.T) {
			ctx, begun := cutSoon(t)
			p.SLO, p.Duration = e2e, time.Hour
			random := randomBehaviour(1)
			res, err := Simulate(ctx, p, Description{}, &delays{do: func(i int) (time.Duration, goodput.Outcome) {
				begun()
				return random(i)
			}})
			require.NoError(t, err)
			require.ErrorIs(t, res.Cut, context.DeadlineExceeded)
		})
	}
}

// cutSoon is a context that is over 10 ms after the first request has begun: a machine that is busy may take longer than that to
// begin.
func cutSoon(t *testing.T) (ctx context.Context, begun func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var timer *time.Timer
	t.Cleanup(func() {
		if timer != nil {
			timer.Stop()
		}
		cancel(nil)
	})
	return ctx, sync.OnceFunc(func() { timer = time.AfterFunc(10*ms, func() { cancel(context.DeadlineExceeded) }) })
}
