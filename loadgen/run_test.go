package loadgen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/race"
	"github.com/goodputkit/goodputkit/slo"
)

var e2e = slo.MustParse("e2e p95 < 100ms")

// fewerIfRace is n, or a tenth of it under the race detector, which at tens of thousands of events in a bubble is slow and
// can fail by itself (golang/go#78156).
func fewerIfRace(n int) int {
	if race.Enabled {
		return n / 10
	}
	return n
}

// takes is a target that takes d.
func takes(d time.Duration) TargetFunc {
	return func(ctx context.Context, _ *Request, _ *Trace) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// An open loop does not care how slow the system is, and its instants do not drift: the last of 20,000 requests at 333/s
// starts when it should, to the nanosecond, though each takes a second.
func TestOpenLoopDoesNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, n := time.Now(), fewerIfRace(20_000)
		var last time.Time
		res, err := Run(t.Context(), takes(time.Second), Plan{SLO: e2e, Arrivals: Constant{Rate: 333}, Requests: n,
			Workload: func(yield func(*Request) bool) {
				for i := range n {
					if !yield(&Request{InputTokens: i + 1}) {
						return
					}
				}
			}, Progress: func(p Progress) {
				if p.Elapsed > 2*time.Second && !p.Drain {
					assert.InDelta(t, 333, p.InFlight, 1)
				}
				last = time.Now()
			}})
		require.NoError(t, err)
		r := res.Report
		assert.EqualValues(t, n, r.Offered)
		assert.Zero(t, r.Health.LagMax)
		assert.Equal(t, goodput.Valid, r.Health.Verdict)
		end := time.Duration(float64(n-1) / 333 * 1e9)
		assert.InDelta(t, float64(end+time.Second), float64(res.Elapsed), 1)
		assert.Equal(t, res.Elapsed, last.Sub(start))
	})
}

// What is due at one instant leaves at one instant.
func TestBurstLeavesTogether(t *testing.T) {
	at := make([]time.Duration, 1000)
	for i := range at {
		at[i] = time.Duration(i/500) * time.Second
	}
	var flying, most atomic.Int64
	_, rs := run(t, TargetFunc(func(ctx context.Context, _ *Request, _ *Trace) error {
		n := flying.Add(1)
		defer flying.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		return takes(10*ms)(ctx, nil, nil)
	}), Plan{SLO: e2e, Arrivals: Replay{At: at}})
	assert.EqualValues(t, 500, most.Load())
	for i, r := range rs {
		assert.Equal(t, at[i], r.Start.Sub(time.Time{}))
		assert.Zero(t, r.Sent)
		assert.Equal(t, 10*ms, r.End)
	}
}

// A client that was asleep sends all that was due meanwhile, in order, and says how late it was.
func TestLateClientSkipsNothing(t *testing.T) {
	start := time.Unix(0, 0)
	b, err := NewBook(Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Requests: 100}, Description{}, start)
	require.NoError(t, err)
	now := start.Add(5 * time.Second)
	for i := range 51 {
		c := b.Start(now)
		require.NotNil(t, c)
		assert.EqualValues(t, i, c.Index)
		assert.Equal(t, start.Add(time.Duration(i)*100*ms), c.Start)
		b.End(now.Add(ms), c, &goodput.Record{Outcome: goodput.Success, End: now.Add(ms).Sub(c.Start)})
	}
	require.Nil(t, b.Start(now))
	at, running := b.Next()
	assert.True(t, running)
	assert.Equal(t, start.Add(5100*ms), at)
	b.Cut(now.Add(ms), errors.New("enough"))
	res, err := b.Result()
	require.NoError(t, err)
	r := res.Report
	assert.EqualValues(t, 51, r.Offered)
	assert.EqualValues(t, 1, r.Good, "latency counts from the meant start")
	assert.Equal(t, goodput.Invalid, r.Health.Verdict)
	assert.InDelta(t, 5, r.Health.LagMax, 1e-9)
	assert.ErrorContains(t, errors.Join(r.Warnings...), "enough")
}

func TestTargetIgnoresItsContext(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Plan
		want goodput.Outcome
	}{
		{"timeout", Plan{Timeout: time.Second}, goodput.Timeout},
		{"drain", Plan{Drain: time.Second}, goodput.Unfinished},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var file bytes.Buffer
				p := c.p
				p.SLO, p.Concurrency, p.Requests, p.Records = e2e, 1, 1, &file
				start := time.Now()
				res, err := Run(t.Context(), TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error {
					tr.Token(1)
					for range 10 {
						time.Sleep(700 * ms)
						tr.Token(1)
					}
					tr.Usage(1, 11)
					tr.Custom("x_late", 1)
					return errors.New("too late")
				}), p)
				require.NoError(t, err)
				assert.Equal(t, time.Second+grace, time.Since(start))
				rs := readRecords(t, file.Bytes())
				require.Len(t, rs, 1)
				assert.Equal(t, c.want, rs[0].Outcome)
				assert.Equal(t, time.Second, rs[0].End)
				assert.Equal(t, []goodput.Token{{At: 0, N: 1}, {At: 700 * ms, N: 1}}, rs[0].Tokens)
				assert.Zero(t, rs[0].OutputTokens)
				assert.Empty(t, rs[0].Custom)
				assert.EqualValues(t, 1, res.Report.Outcomes[c.want])
				time.Sleep(time.Minute) // what is still said hurts nobody
				assert.NoError(t, writeJSON(io.Discard, res.Report))
			})
		})
	}
}

// A target that ignores its context does not hold a closed loop up for longer than the grace.
func TestIgnoredContextFreesTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		res, err := Run(t.Context(), TargetFunc(func(ctx context.Context, r *Request, tr *Trace) error {
			if calls.Add(1) == 1 {
				time.Sleep(time.Hour)
			}
			return takes(50*ms)(ctx, r, tr)
		}), Plan{SLO: e2e, Concurrency: 1, Requests: 3, Timeout: time.Second})
		require.NoError(t, err)
		assert.EqualValues(t, 2, res.Report.Good)
		assert.EqualValues(t, 1, res.Report.Outcomes[goodput.Timeout])
		assert.Equal(t, time.Second+grace+100*ms, res.Elapsed)
		time.Sleep(2 * time.Hour)
	})
}

// In real time too, with the race detector looking on: targets that go on talking after they were booked.
func TestLateTalkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var talkers sync.WaitGroup
		res, err := Run(t.Context(), TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error {
			for range 4 {
				talkers.Go(func() {
					for range 1000 {
						tr.Token(1)
						tr.FirstByte()
						tr.Finish("stop")
						tr.Text(Content, "x")
						tr.Output()
						runtime.Gosched()
					}
				})
			}
			return nil
		}), Plan{SLO: e2e, Concurrency: 8, Requests: 50})
		require.NoError(t, err)
		assert.EqualValues(t, 50, res.Report.Good)
		talkers.Wait()
	})
}

func warning(t *testing.T, res *Result, kind error, text string) {
	t.Helper()
	for _, w := range res.Report.Warnings {
		if errors.Is(w, kind) {
			assert.ErrorContains(t, w, text)
			assert.NotContains(t, w.Error(), "\n")
			return
		}
	}
	assert.Fail(t, "no such warning", "%v in %v", kind, res.Report.Warnings)
}

func noWarning(t *testing.T, res *Result, kind error) {
	t.Helper()
	for _, w := range res.Report.Warnings {
		assert.NotErrorIs(t, w, kind)
	}
}

func TestCancelledRun(t *testing.T) {
	cause := errors.New("operator pressed ^C")
	for name, p := range map[string]Plan{
		"open":   {Arrivals: Constant{Rate: 10}, Duration: time.Hour},
		"queue":  {Arrivals: Constant{Rate: 10}, Duration: time.Hour, MaxInFlight: 1, Overflow: Wait},
		"closed": {Concurrency: 2, Requests: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(2050*ms, func() { cancel(cause) })
				p.SLO = e2e
				res, err := Run(ctx, takes(200*ms), p)
				require.NoError(t, err)
				assert.Same(t, cause, res.Cut)
				assert.Equal(t, 2050*ms, res.Elapsed)
				warning(t, res, ErrCut, "after 2.05s: operator pressed ^C")
				r := res.Report
				var sum uint64
				for _, n := range r.Outcomes {
					sum += n
				}
				assert.Equal(t, r.Offered, sum)
				assert.Zero(t, r.Outcomes[goodput.Cancelled])
				assert.EqualValues(t, map[string]int{"open": 2, "queue": 11, "closed": 2}[name], r.Outcomes[goodput.Unfinished])
				if p.Duration > 0 {
					assert.InDelta(t, 2.05, r.WindowS, 1e-12)
				}
			})
		})
	}
	t.Run("before it began", func(t *testing.T) {
		why := errors.New("enough")
		for _, cause := range []error{nil, why} {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(cause)
			for name, run := range map[string]Runner{"run": RunnerOf(takes(0)), "simulated": func(ctx context.Context, p Plan) (*Result, error) {
				return Simulate(ctx, p, Description{}, nil)
			}} {
				res, err := run(ctx, Plan{SLO: e2e, Concurrency: 1, Requests: 10, Records: failing{t}})
				assert.Nil(t, res, name)
				assert.ErrorIs(t, err, cmp.Or(cause, context.Canceled), name)
			}
		}
	})
	t.Run("in the warm-up", func(t *testing.T) {
		for _, p := range []Plan{{Warmup: time.Minute}, {WarmupRequests: 1000}} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				p.SLO, p.Concurrency, p.Requests = e2e, 1, 10
				res, err := Run(ctx, takes(50*ms), p)
				require.NoError(t, err)
				assert.ErrorIs(t, res.Cut, context.DeadlineExceeded)
				assert.Zero(t, res.Report.Offered)
				assert.Equal(t, goodput.NoData, res.Report.Verdict)
				warning(t, res, ErrInWarmup, "")
			})
		}
	})
	t.Run("by a target that hears of it first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2050*ms)
			defer cancel()
			res, err := Run(ctx, TargetFunc(func(_ context.Context, r *Request, tr *Trace) error {
				return takes(time.Hour)(ctx, r, tr) // the run's context, not the request's
			}), Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Requests: 30})
			require.NoError(t, err)
			assert.EqualValues(t, 21, res.Report.Outcomes[goodput.Unfinished])
		})
	})
}

type key struct{}

func TestRequestsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithValue(t.Context(), key{}, 7)
		start := time.Now()
		_, err := Run(ctx, TargetFunc(func(ctx context.Context, _ *Request, _ *Trace) error {
			assert.Equal(t, 7, ctx.Value(key{}))
			dl, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, start.Add(time.Minute), dl)
			return nil
		}), Plan{SLO: e2e, Concurrency: 1, Requests: 1, Timeout: time.Minute})
		require.NoError(t, err)
	})
}

// A workload is read by one goroutine, ahead of time: making a request delays none.
func TestSlowWorkload(t *testing.T) {
	var reading atomic.Bool
	_, rs := run(t, takes(ms), Plan{SLO: e2e, Arrivals: Replay{At: []time.Duration{time.Second, time.Second, time.Second}}, Workload: func(yield func(*Request) bool) {
		for range 3 {
			assert.True(t, reading.CompareAndSwap(false, true))
			time.Sleep(100 * ms)
			reading.Store(false)
			if !yield(&Request{}) {
				return
			}
		}
	}})
	require.Len(t, rs, 3)
	for _, r := range rs {
		assert.Zero(t, r.Sent)
	}
}

func TestNilTarget(t *testing.T) {
	_, err := Run(t.Context(), nil, Plan{SLO: e2e, Concurrency: 1, Requests: 1})
	assert.EqualError(t, err, "loadgen: the target is nil")
}

func TestInputTokensWarning(t *testing.T) {
	counts := func(n int) *Result {
		res, _ := run(t, TargetFunc(func(_ context.Context, r *Request, tr *Trace) error {
			tr.Usage(n, 0)
			return nil
		}), Plan{SLO: e2e, Concurrency: 1, Requests: 10, Workload: func(yield func(*Request) bool) {
			for i := 0; ; i++ {
				if r := (&Request{InputTokens: 100}); i%2 == 0 {
					if !yield(r) {
						return
					}
				} else if !yield(&Request{}) { // one that nobody counted does not count
					return
				}
			}
		}})
		return res
	}
	noWarning(t, counts(0), ErrInputTokens)
	noWarning(t, counts(90), ErrInputTokens)
	noWarning(t, counts(110), ErrInputTokens)
	warning(t, counts(111), ErrInputTokens, "555 where 500 were asked for, +11.0 %")
	warning(t, counts(89), ErrInputTokens, "445 where 500 were asked for, -11.0 %")
}

func TestWarmupWarnings(t *testing.T) {
	p := Plan{SLO: e2e, Concurrency: 4, Duration: 2 * time.Second}
	res, _ := run(t, takes(50*ms), p)
	warning(t, res, ErrShortWarmup, "0s, where the P99 of e2e is 50ms")
	noWarning(t, res, ErrRampUp)
	p.Warmup = 51 * ms
	res, _ = run(t, takes(50*ms), p)
	noWarning(t, res, ErrShortWarmup)
	p.RampUp = 80 * ms // the last worker starts after 60 ms
	res, _ = run(t, takes(50*ms), p)
	warning(t, res, ErrRampUp, "RampUp takes 80ms, the warm-up 51ms")
	p.Warmup = 61 * ms
	res, _ = run(t, takes(50*ms), p)
	noWarning(t, res, ErrRampUp)
	p.Warmup, p.WarmupRequests = 0, 5
	res, _ = run(t, takes(50*ms), p)
	noWarning(t, res, ErrShortWarmup)
	res, _ = run(t, takes(50*ms), Plan{SLO: e2e, Concurrency: 4, Requests: 10})
	noWarning(t, res, ErrShortWarmup)
}

func TestARampThatEndsInTheWindowIsWarnedOf(t *testing.T) {
	p := Plan{SLO: e2e, Arrivals: Ramp{From: 10, To: 40, Over: 4 * time.Second}, Warmup: 3 * time.Second, Duration: 5 * time.Second}
	res, _ := run(t, takes(50*ms), p)
	warning(t, res, ErrRampUp, "the arrivals' ramp takes 4s, the warm-up 3s")
	p.Warmup = 4 * time.Second
	res, _ = run(t, takes(50*ms), p)
	noWarning(t, res, ErrRampUp)
	p.Warmup = WarmupAuto // nothing of the rate is to be seen in latencies that do not change
	res, _ = run(t, takes(50*ms), p)
	warning(t, res, ErrRampUp, "the arrivals' ramp takes 4s, the warm-up ")
	p.Warmup, p.Duration = 0, 4*time.Second // all of the window is the ramp
	res, _ = run(t, takes(50*ms), p)
	noWarning(t, res, ErrRampUp)
	p.Duration, p.Arrivals = 5*time.Second, Ramp{From: 10, To: 10, Over: 4 * time.Second}
	res, _ = run(t, takes(50*ms), p)
	noWarning(t, res, ErrRampUp)
}

func TestFallingArrivals(t *testing.T) {
	seq := ArrivalsFunc(func(yield func(time.Duration) bool) {
		for _, d := range []time.Duration{-ms, 5 * ms, 3 * ms, 7 * ms} {
			if !yield(d) {
				return
			}
		}
	})
	res, rs := run(t, takes(0), Plan{SLO: e2e, Arrivals: seq})
	assert.Equal(t, []time.Duration{0, 5 * ms, 5 * ms, 7 * ms}, starts(rs))
	warning(t, res, ErrArrivals, "2 came before")
}

// The books close whatever targets do, and nothing is left behind.
func TestBooksCloseUnderFaults(t *testing.T) {
	n := fewerIfRace(20_000)
	errs := []error{nil, nil, io.EOF, &StatusError{Code: 503}, &StatusError{Code: 429}, Fail(goodput.Malformed, "x"), os.NewSyscallError("socket", syscall.EMFILE), context.Canceled}
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var file bytes.Buffer
		p := Plan{SLO: e2e, Arrivals: Poisson{Rate: 1000}, Requests: n, Timeout: 500 * ms, MaxInFlight: 300, Overflow: Drop, Records: &file}
		res, err := Run(t.Context(), TargetFunc(func(ctx context.Context, r *Request, tr *Trace) error {
			switch i := calls.Add(1); {
			case i%11 == 0:
				panic("boom")
			case i%13 == 0:
				runtime.Goexit()
			case i%17 == 0:
				time.Sleep(3 * time.Second)
				return nil
			case i%19 == 0:
				return takes(time.Hour)(ctx, r, tr)
			default:
				tr.Token(1)
				if err := takes(time.Duration(i%7)*20*ms)(ctx, r, tr); err != nil {
					return err
				}
				return errs[i%int64(len(errs))]
			}
			return nil
		}), p)
		require.NoError(t, err)
		rs := readRecords(t, file.Bytes())
		assert.Len(t, rs, n)
		counts := map[goodput.Outcome]uint64{}
		for _, r := range rs {
			counts[r.Outcome]++
		}
		assert.Equal(t, counts, res.Report.Outcomes)
		var sum uint64
		for o, c := range counts {
			sum += c
			t.Log(o, c)
		}
		assert.Equal(t, res.Report.Offered, sum)
		assert.Equal(t, goodput.Invalid, res.Report.Health.Verdict, "no descriptors")
		time.Sleep(time.Minute)
	})
}

func TestHealth(t *testing.T) {
	late := func(by time.Duration) *goodput.ClientHealth {
		res, _ := run(t, TargetFunc(func(ctx context.Context, r *Request, tr *Trace) error {
			time.Sleep(by)
			tr.Sent()
			return nil
		}), Plan{SLO: slo.MustParse("ttft p95 < 200ms, e2e p95 < 100ms, tpot p95 < 1ms"), Arrivals: Constant{Rate: 100}, Duration: 10 * time.Second})
		return res.Report.Health
	}
	h := late(0)
	assert.Equal(t, &goodput.ClientHealth{Verdict: goodput.Valid, Offered: 1000, Sent: 1000, Load: &goodput.Load{Plan: "constant 100/s"}, InFlight: &goodput.InFlight{}}, h)
	assert.Equal(t, goodput.Valid, late(10*ms).Verdict)
	h = late(11 * ms)
	assert.Equal(t, goodput.Suspect, h.Verdict)
	assert.Equal(t, []string{"the P99 of the client's own lag, 11.0 ms, is 11 % of the tightest threshold"}, h.Reasons)
	assert.InDelta(t, 0.011, h.LagP99, 1e-12)
	h = late(51 * ms)
	assert.Equal(t, goodput.Invalid, h.Verdict)
	h = late(200 * ms) // 10 s of load took 10.2
	assert.Contains(t, strings.Join(h.Reasons, "\n"), "requests were sent at 98.04 % of the rate at which they were due: the last one left 200ms late")

	// Waiting for a place in flight is what the plan says, and not the client's fault; dropping leaves the target idle.
	for o, want := range map[Overflow]goodput.HealthVerdict{Wait: goodput.Valid, Drop: goodput.Suspect} {
		res, _ := run(t, takes(50*ms), Plan{SLO: e2e, Arrivals: Constant{Rate: 100}, Requests: 100, MaxInFlight: 2, Overflow: o})
		assert.Equal(t, want, res.Report.Health.Verdict, "%v: %v", o, res.Report.Health.Reasons)
	}

	// No descriptor: the client's fault, booked as dropped.
	exhausted := func(every int) *goodput.ClientHealth {
		i := 0
		res, _ := run(t, TargetFunc(func(context.Context, *Request, *Trace) error {
			if i++; i%every == 0 {
				return fmt.Errorf("dial: %w", syscall.EMFILE)
			}
			return nil
		}), Plan{SLO: e2e, Concurrency: 1, Requests: 1000})
		return res.Report.Health
	}
	h = exhausted(500)
	assert.Equal(t, goodput.Suspect, h.Verdict)
	assert.EqualValues(t, 998, h.Sent)
	assert.Equal(t, []string{"for 2 of 1000 requests the client had no file descriptor or no port"}, h.Reasons)
	assert.Equal(t, goodput.Invalid, exhausted(50).Verdict)

	// Repeated requests are counted.
	res, _ := run(t, TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error { tr.Attempt(); return nil }), Plan{SLO: e2e, Concurrency: 1, Requests: 7})
	assert.EqualValues(t, 7, res.Report.Health.Retried)
}

// failing is a file that nobody is to write to.
type failing struct{ t *testing.T }

func (f failing) Write(b []byte) (int, error) {
	f.t.Errorf("%d bytes were written", len(b))
	return len(b), nil
}

// A threshold that no request can reach before it times out is said, where one timed out.
func TestTimeoutBeforeThreshold(t *testing.T) {
	for text, warned := range map[string]bool{"e2e p90 < 30m": true, "ttft p90 < 1s, e2e p90 < 30m + 1ms/token": true, "e2e p90 < 1m": false, "tpot p90 < 30m": false} {
		synctest.Test(t, func(t *testing.T) {
			res, err := Run(t.Context(), TargetFunc(func(ctx context.Context, _ *Request, tr *Trace) error {
				tr.Token(1)
				tr.Token(1)
				<-ctx.Done()
				return ctx.Err()
			}), Plan{SLO: slo.MustParse(text), Arrivals: Constant{Rate: 1}, Requests: 3, Timeout: time.Minute})
			require.NoError(t, err)
			if warned {
				warning(t, res, ErrTimeout, "Timeout is 1m0s, and e2e p90 < 1800s")
			} else {
				noWarning(t, res, ErrTimeout)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		res, err := Run(t.Context(), TargetFunc(func(context.Context, *Request, *Trace) error { return nil }),
			Plan{SLO: slo.MustParse("e2e p90 < 30m"), Arrivals: Constant{Rate: 1}, Requests: 3, Timeout: time.Minute})
		require.NoError(t, err)
		noWarning(t, res, ErrTimeout)
	})
}
