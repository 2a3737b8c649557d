package loadgen

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var calls []Progress
		_, err := Run(t.Context(), takes(1500*ms), Plan{SLO: slo.MustParse("e2e p95 < 1.6s"), Arrivals: Constant{Rate: 3.9}, Warmup: 2 * time.Second, Duration: 3 * time.Second,
			MaxInFlight: 5, Overflow: Wait, Progress: func(p Progress) {
				if !p.Done {
					assert.Equal(t, p.Elapsed, time.Since(start))
				}
				assert.Equal(t, p.Offered, p.Ended+uint64(p.InFlight+p.Waiting))
				if p.Elapsed > 4*time.Second {
					assert.NotZero(t, p.Report().Offered)
					assert.NotZero(t, p.ReportAt(0.99).Offered)
				}
				time.Sleep(300 * ms) // a slow terminal delays nothing
				calls = append(calls, p)
			}})
		require.NoError(t, err)
		first := calls[0]
		first.acc = nil
		share, ok := first.Fraction()
		assert.True(t, ok)
		assert.InDelta(t, 0.2, share, 1e-12)
		assert.Equal(t, Progress{Elapsed: time.Second, Offered: 4, Sent: 4, InFlight: 4, OfferedRate: 4, Warmup: true, TotalTime: 5 * time.Second}, first)
		for i, p := range calls[:len(calls)-1] {
			assert.Equal(t, time.Duration(i+1)*time.Second, p.Elapsed)
			assert.Equal(t, i < 1, p.Warmup)
			assert.Equal(t, i >= 4, p.Drain, "at %v", p.Elapsed)
			assert.False(t, p.Done)
		}
		last := calls[len(calls)-1]
		assert.True(t, last.Done && last.Drain)
		assert.EqualValues(t, 20, last.Ended)
		assert.EqualValues(t, 20, last.Success)
		assert.EqualValues(t, 5, last.Good, "the first five did not wait")
	})
	for want, p := range map[string]Progress{
		"12.1s: warming up, 3 in flight, 118 of 120 good, goodput 9.8 of 10.0 requests/s": {Elapsed: 12096 * ms, Offered: 123, InFlight: 3,
			Ended: 120, Good: 118, Goodput: 9.84, Throughput: 9.96, Warmup: true},
		"1s: 5 in flight, 2 waiting, 0 of 0 good, goodput 0.0 of 0.0 requests/s":    {Elapsed: time.Second, InFlight: 5, Waiting: 2},
		"2s: cooling down, 0 in flight, 0 of 0 good, goodput 0.0 of 0.0 requests/s": {Elapsed: 2 * time.Second, Cooldown: true},
		"3s: draining, 0 in flight, 0 of 0 good, goodput 0.0 of 0.0 requests/s":     {Elapsed: 3 * time.Second, Drain: true},
		"4s: over, 0 in flight, 0 of 0 good, goodput 0.0 of 0.0 requests/s":         {Elapsed: 4 * time.Second, Drain: true, Done: true},
	} {
		assert.Equal(t, want, p.String())
	}
	// A bound by count.
	p := Progress{Offered: 30, TotalRequests: 120}
	share, ok := p.Fraction()
	assert.True(t, ok)
	assert.Equal(t, 0.25, share)
	_, ok = Progress{}.Fraction()
	assert.False(t, ok)
	synctest.Test(t, func(t *testing.T) {
		var last Progress
		_, err := Run(t.Context(), takes(ms), Plan{SLO: e2e, Concurrency: 1, Requests: 10, WarmupRequests: 3, Progress: func(p Progress) { last = p }})
		require.NoError(t, err)
		assert.EqualValues(t, 13, last.TotalRequests)
		assert.EqualValues(t, 13, last.Offered)
		assert.NotZero(t, last.Throughput)
		assert.NotZero(t, last.Goodput)
	})
}

// Calls that a slow Progress misses are not made up for.
func TestSlowProgress(t *testing.T) {
	var at []time.Duration
	res, _ := run(t, takes(0), Plan{SLO: e2e, Arrivals: Constant{Rate: 10.1}, Duration: 10 * time.Second, Progress: func(p Progress) {
		at = append(at, p.Elapsed)
		time.Sleep(2500 * ms)
	}})
	assert.Equal(t, []time.Duration{time.Second, 4 * time.Second, 7 * time.Second, res.Elapsed}, at)
}

// A Progress that never comes back holds Run no longer than the caller does: its context ends that, 5 s later.
func TestProgressThatBlocks(t *testing.T) {
	for name, blocks := range map[string]func(Progress) bool{
		"in the run": func(p Progress) bool { return p.Elapsed >= time.Second },
		"at the end": func(p Progress) bool { return p.Done },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				release := make(chan struct{})
				defer close(release)
				var calls atomic.Int32
				plan := Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Duration: 3 * time.Second, Progress: func(p Progress) {
					if calls.Add(1); blocks(p) {
						<-release
					}
				}}
				stop := time.AfterFunc(time.Minute, cancel)
				defer stop.Stop()
				start := time.Now()
				res, err := Run(ctx, takes(ms), plan)
				require.NoError(t, err)
				assert.Equal(t, time.Minute+callerGrace, time.Since(start))
				assert.EqualValues(t, 30, res.Report.Outcomes[goodput.Success])
				assert.NoError(t, res.Cut, "it was over by then")
				warning(t, res, ErrProgress, "it had not come back 5s after the run was cut off")
				if name == "in the run" {
					assert.EqualValues(t, 1, calls.Load())
				}
			})
		})
	}
}
