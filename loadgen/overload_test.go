package loadgen

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/heap"
	"github.com/goodputkit/goodputkit/internal/race"
)

// peak is a target that ends at once, and the most requests that it was at work on at once, with those that had a goroutine
// and had not come to it yet.
type peak struct{ goroutines atomic.Int64 }

func (p *peak) Do(context.Context, *Request, *Trace) error {
	n := int64(runtime.NumGoroutine())
	for {
		most := p.goroutines.Load()
		if n <= most || p.goroutines.CompareAndSwap(most, n) {
			return nil
		}
	}
}

// More requests at one instant than a client can begin do not all have a goroutine before the first one ends.
func TestBurstBeyondTheClient(t *testing.T) {
	const n = 30_000
	synctest.Test(t, func(t *testing.T) {
		var p peak
		res, err := Run(t.Context(), &p, Plan{SLO: e2e, Arrivals: Replay{At: make([]time.Duration, n)}})
		require.NoError(t, err)
		assert.EqualValues(t, n, res.Report.Outcomes[goodput.Success])
		assert.Less(t, p.goroutines.Load(), int64(4*mostAtOnce))
	})
}

// A burst that is no more than that leaves as one: all are begun before the first one ends, where that takes any time.
func TestBurstLeavesAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began, ended atomic.Int64
		res, err := Run(t.Context(), TargetFunc(func(context.Context, *Request, *Trace) error {
			began.Add(1)
			time.Sleep(time.Nanosecond)
			ended.CompareAndSwap(0, began.Load())
			return nil
		}), Plan{SLO: e2e, Arrivals: Replay{At: make([]time.Duration, 5*mostAtOnce)}})
		require.NoError(t, err)
		assert.EqualValues(t, 5*mostAtOnce, ended.Load())
		assert.Zero(t, res.Report.Percentiles["lag"].Max)
	})
}

// An open loop far beyond what the client can do: nothing of it stays but what is in flight, all is offered, each request
// Starts when it was meant to, how late it was is in its lag, and the client is found to be invalid.
func TestOverload(t *testing.T) {
	if race.Enabled {
		t.Skip("it counts bytes, of which the race detector has its own")
	}
	const n = 100_000
	for name, plan := range map[string]Plan{
		"by time":  {Duration: 100 * ms},
		"by count": {Warmup: ms, Requests: n - n/100},
		"drop":     {Duration: 100 * ms, MaxInFlight: 1, Overflow: Drop},
	} {
		t.Run(name, func(t *testing.T) {
			plan.SLO, plan.Arrivals, plan.Records = e2e, Constant{Rate: 1e6}, io.Discard
			before, most := heap.Live(), uint64(0)
			var p peak
			res, err := Run(t.Context(), TargetFunc(func(ctx context.Context, r *Request, tr *Trace) error {
				if tr.Index() == n*9/10 {
					most = heap.Live()
				}
				return p.Do(ctx, r, tr)
			}), plan)
			require.NoError(t, err)
			assert.EqualValues(t, n, res.Report.Health.Offered)
			assert.InDelta(t, 0.1, res.Report.Window.To.Sub(res.Report.Window.From).Seconds()+res.Warmup.Seconds(), 2e-6)
			assert.Less(t, p.goroutines.Load(), int64(8*mostAtOnce))
			if most > 0 { // it may have been dropped
				assert.Less(t, most, before+2*mostSpooled+8<<20)
			}
			if plan.Overflow == 0 {
				assert.Equal(t, goodput.Invalid, res.Report.Health.Verdict, "%v", res.Report.Health.Reasons)
			}
			t.Logf("%d goroutines at most, %d kB before, %d kB then, %v", p.goroutines.Load(), before>>10, most>>10, res.Elapsed)
		})
	}
}

// onlyOnce is n requests, and none when it is asked again.
func onlyOnce(n int) func(yield func(*Request) bool) {
	return func(yield func(*Request) bool) {
		for ; n > 0; n-- {
			if !yield(&Request{}) {
				return
			}
		}
	}
}

// What a client that is behind books at once is what it would have booked had it held all until it knew where the window
// ends: the file of records, judged once that is known, gives the same report.
func TestBehindBooksTheSame(t *testing.T) {
	start := time.Unix(0, 0).UTC()
	for name, p := range map[string]Plan{
		"by time":                         {Arrivals: Poisson{Rate: 1000}, Duration: 2 * time.Second},
		"by time, after a warm-up":        {Arrivals: Poisson{Rate: 1000}, Warmup: time.Second / 2, Duration: time.Second, Cooldown: time.Second / 3},
		"by count":                        {Arrivals: Poisson{Rate: 1000}, Warmup: time.Second / 2, Requests: 1000},
		"by count, after one by count":    {Arrivals: Poisson{Rate: 1000}, WarmupRequests: 700, Requests: 1000, CooldownRequests: 100},
		"to the end of the arrivals":      {Arrivals: Replay{At: []time.Duration{0, 1, 1, 2, time.Second, time.Second}}, Warmup: 1, Duration: time.Hour},
		"to the end of the arrivals, N":   {Arrivals: Steps{Steps: []Step{{Rate: 500, For: time.Second}}}, WarmupRequests: 30},
		"all at once":                     {Arrivals: Replay{At: make([]time.Duration, 1000)}, WarmupRequests: 200, Requests: 500},
		"a workload without end":          {Arrivals: Poisson{Rate: 1000}, Duration: time.Second, Workload: numbered(7), Repeat: true},
		"a workload that ends":            {Arrivals: Poisson{Rate: 1000}, Duration: time.Second, Workload: numbered(700)},
		"the workload ends, and nobody …": {Arrivals: Poisson{Rate: 1000}, Duration: time.Second, Workload: onlyOnce(700), Repeat: true},
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			p.SLO, p.Records = e2e, &file
			b, err := NewBook(p, Description{}, start)
			require.NoError(t, err)
			var running []*Call
			held := 0
			for now := start; ; now = now.Add(5 * ms) { // each time it does two, where five are due, and ends them the next time
				for _, c := range running {
					b.End(now, c, &goodput.Record{End: now.Sub(c.Start), Outcome: goodput.Success})
					held = max(held, len(b.tally.held))
				}
				running = running[:0]
				for range 2 {
					if c := b.Start(now); c != nil {
						running = append(running, c)
					}
				}
				if _, more := b.Next(); !more {
					break
				}
			}
			res, err := b.Result()
			require.NoError(t, err)
			again, err := goodput.ReadReport(bytes.NewReader(file.Bytes()))
			require.NoError(t, err)
			sameReport(t, res.Report, again, name)
			if p.Workload == nil && p.WarmupRequests == 0 {
				assert.Less(t, held, 10)
			}
		})
	}
}
