package loadgen

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

var lax = slo.MustParse("e2e p95 < 1h")

// In flight are rate times time: by the count and by the records, in either loop, whatever becomes of requests.
func TestInFlight(t *testing.T) {
	const second = time.Second
	slow := func(before, after time.Duration) Target {
		return TargetFunc(func(ctx context.Context, r *Request, tr *Trace) error {
			time.Sleep(before)
			tr.Sent()
			return takes(after)(ctx, r, tr)
		})
	}
	deaf := TargetFunc(func(context.Context, *Request, *Trace) error { time.Sleep(second + 800*ms); return nil })
	gone := TargetFunc(func(context.Context, *Request, *Trace) error { time.Sleep(time.Minute); return nil })
	for _, c := range []struct {
		name   string
		target Target
		plan   Plan
		want   goodput.InFlight
		took   time.Duration
	}{
		{"open loop", takes(300 * ms), Plan{Arrivals: Constant{Rate: 10}, Requests: 100}, goodput.InFlight{Mean: 30 / 10.2, Little: 30 / 10.2}, 10*second + 200*ms},
		{"waiting is not in flight", takes(second), Plan{Arrivals: Constant{Rate: 2}, Requests: 20, MaxInFlight: 1, Overflow: Wait}, goodput.InFlight{Mean: 1, Little: 1}, 20 * second},
		{"dropped was not in flight", takes(700 * ms), Plan{Arrivals: Constant{Rate: 2}, Requests: 19, MaxInFlight: 1, Overflow: Drop}, goodput.InFlight{Mean: 7 / 9.7, Little: 7 / 9.7}, 9*second + 700*ms},
		{"timeouts", takes(second), Plan{Arrivals: Constant{Rate: 10}, Requests: 11, Timeout: 100 * ms}, goodput.InFlight{Mean: 1, Little: 1}, second + 100*ms},
		{"targets that go on for a while", deaf, Plan{Arrivals: Constant{Rate: 10}, Requests: 11, Timeout: second}, goodput.InFlight{Mean: 11 / 2.8, Little: 11 / 2.8}, 2*second + 800*ms},
		{"targets that go on for good", gone, Plan{Arrivals: Constant{Rate: 10}, Requests: 11, Timeout: second}, goodput.InFlight{Mean: 11. / 3, Little: 11. / 3}, 3 * second},
		{"cut off", takes(time.Hour), Plan{Arrivals: Constant{Rate: 1}, Requests: 3, Drain: second, Timeout: time.Minute}, goodput.InFlight{Mean: 6. / 3, Little: 6. / 3}, 3 * second},
		{"closed loop", takes(100 * ms), Plan{Concurrency: 8, Requests: 80}, goodput.InFlight{Mean: 8, Little: 8, Asked: 8, Achieved: 8}, second},
		{"ramp-up and think time", takes(100 * ms), Plan{Concurrency: 2, Requests: 4, ThinkTime: 300 * ms, RampUp: 200 * ms},
			goodput.InFlight{Mean: 4 / 6., Little: 4 / 6., Asked: 2, Achieved: 2}, 600 * ms},
		{"work before the sending", slow(30*ms, 70*ms), Plan{Concurrency: 10, Requests: 100}, goodput.InFlight{Mean: 10, Little: 10, Asked: 10, Achieved: 7}, second},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.plan.SLO = lax
			synctest.Test(t, func(t *testing.T) {
				res, err := Run(t.Context(), c.target, c.plan)
				require.NoError(t, err)
				require.Equal(t, c.took, res.Elapsed)
				got := res.Report.Health.InFlight
				assert.InDelta(t, c.want.Mean, got.Mean, 1e-9)
				assert.InDelta(t, c.want.Little, got.Little, 1e-9)
				assert.Equal(t, c.want.Asked, got.Asked)
				assert.InDelta(t, c.want.Achieved, got.Achieved, 1e-9)
				time.Sleep(time.Hour) // until targets that go on have ended
			})
		})
	}
}

// A client that prepares requests when they are due has fewer workers in flight than were asked for.
func TestConcurrencyThatWasNotAchieved(t *testing.T) {
	res, _ := run(t, TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error {
		time.Sleep(80 * ms)
		tr.Sent()
		time.Sleep(20 * ms)
		return nil
	}), Plan{SLO: lax, Concurrency: 80, Requests: 400})
	h := res.Report.Health
	assert.Equal(t, goodput.Invalid, h.Verdict)
	assert.Equal(t, []string{"16 of the 80 requests that were asked for were in flight, on average: the others the client was late to send"}, h.Reasons)
	assert.Contains(t, res.Report.String(), "16.0 of 80 in")
}

// A Runner whose clock is wrong has other requests in flight than its records say.
func TestBooksThatDoNotAgree(t *testing.T) {
	for name, c := range map[string]struct {
		factor time.Duration
		want   goodput.HealthVerdict
	}{"right": {1, goodput.Valid}, "milliseconds for microseconds": {1000, goodput.Invalid}} {
		t.Run(name, func(t *testing.T) {
			start := time.Unix(0, 0)
			b, err := NewBook(Plan{SLO: lax, Arrivals: Constant{Rate: 100}, Requests: 100}, Description{}, start)
			require.NoError(t, err)
			for at, ok := b.Next(); ok; at, ok = b.Next() {
				for c0 := b.Start(at); c0 != nil; c0 = b.Start(at) {
					b.End(at.Add(5*ms), c0, &goodput.Record{Outcome: goodput.Success, End: c.factor * 5 * ms})
				}
			}
			res, err := b.Result()
			require.NoError(t, err)
			h := res.Report.Health
			assert.Equal(t, c.want, h.Verdict, h.Reasons)
			assert.InDelta(t, 0.5/0.995, h.InFlight.Mean, 1e-9)
			assert.InDelta(t, float64(c.factor)*0.5/0.995, h.InFlight.Little, 1e-6)
		})
	}
}
