package loadgen

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// An hour at 50 requests/s, each of which takes a second with a token every 20 ms, in a bubble.
func BenchmarkVirtualHour(b *testing.B) {
	p := Plan{SLO: slo.MustParse("ttft p95 < 100ms, tpot p95 < 50ms"), Arrivals: Poisson{Rate: 50, Seed: 1}, Duration: time.Hour}
	trivial := TargetFunc(func(ctx context.Context, _ *Request, tr *Trace) error {
		time.Sleep(20 * ms)
		tr.FirstByte()
		at := time.Now()
		for range 49 {
			at = at.Add(20 * ms)
			tr.TokenAt(at, 1)
		}
		time.Sleep(980 * ms)
		return nil
	})
	b.Run("bubble", func(b *testing.B) {
		for b.Loop() {
			bubble(func() {
				res, err := Run(context.Background(), trivial, p)
				require.NoError(b, err)
				b.ReportMetric(float64(res.Report.Offered), "requests")
			})
		}
	})
	// The same by an event loop.
	b.Run("simulated", func(b *testing.B) {
		for b.Loop() {
			_, err := Simulate(b.Context(), p, Description{}, &delays{do: func(int) (time.Duration, goodput.Outcome) { return time.Second, goodput.Success }})
			require.NoError(b, err)
		}
	})
}

// bubble runs f in a bubble of its own; synctest.Test wants a T.
func bubble(f func()) { synctest.Test(new(testing.T), func(*testing.T) { f() }) }

// What a request costs in a bubble: through Run, and in a bare loop of goroutines with a context timeout each.
func BenchmarkBubbleRequest(b *testing.B) {
	target := takes(ms)
	b.Run("Run", func(b *testing.B) {
		b.ReportAllocs()
		bubble(func() {
			_, err := Run(context.Background(), target, Plan{SLO: e2e, Arrivals: Constant{Rate: 10_000}, Requests: b.N})
			require.NoError(b, err)
		})
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		bubble(func() {
			var wg sync.WaitGroup
			start := time.Now()
			for i := range b.N {
				time.Sleep(time.Until(start.Add(time.Duration(i) * 100 * time.Microsecond)))
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), DefaultTimeout)
					defer cancel()
					_ = target(ctx, nil, nil)
				})
			}
			wg.Wait()
		})
	})
}

// A request's own cost in real time, with nothing to wait for: how many a core can do.
func BenchmarkRequest(b *testing.B) {
	target := TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error {
		tr.FirstByte()
		for range 10 {
			tr.Token(1)
		}
		return nil
	})
	for name, w := range map[string]io.Writer{"no records": nil, "records": io.Discard} {
		b.Run("closed loop, "+name, func(b *testing.B) {
			b.ReportAllocs()
			_, err := Run(b.Context(), target, Plan{SLO: e2e, Concurrency: 4, Requests: b.N, Records: w})
			require.NoError(b, err)
		})
	}
}
