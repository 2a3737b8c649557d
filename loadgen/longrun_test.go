package loadgen

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/heap"
	"github.com/goodputkit/goodputkit/internal/race"
	"github.com/goodputkit/goodputkit/slo"
)

// TestLongRun: memory does not grow with a run. With GOODPUT_SOAK set it has ten million requests.
func TestLongRun(t *testing.T) {
	n := uint64(200_000)
	switch {
	case os.Getenv("GOODPUT_SOAK") != "":
		n = 10_000_000
	case race.Enabled:
		t.Skip("it counts bytes, of which the race detector has its own")
	}
	plan := Plan{SLO: slo.MustParse("ttft p95 < 100ms, tpot p90 < 50ms, e2e p95 < 1s"), Requests: int(n), Records: io.Discard}
	answer := func(tr *Trace) {
		tr.FirstByte()
		tr.Token(1)
		tr.Token(2)
		tr.Custom("x_cost", 1)
		tr.Usage(10, 3)
		tr.Finish("stop")
	}
	type runs func(p Plan, begun func(uint64)) (*Result, error)
	for name, c := range map[string]struct {
		run  runs
		most uint64 // bytes of growth
	}{
		// Beside what waits for the writer of records, which is much where the machine is busy with other things. Had 300
		// bytes stayed of each of 150,000 requests, it would be 45 MB.
		"Run": {most: 2*mostSpooled + 2<<20, run: func(p Plan, begun func(uint64)) (*Result, error) {
			p.Concurrency = 8
			return Run(t.Context(), TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error {
				begun(tr.Index())
				answer(tr)
				return nil
			}), p)
		}},
		"Simulate": {most: 2 << 20, run: func(p Plan, begun func(uint64)) (*Result, error) {
			p.Arrivals = Poisson{Rate: 70, Seed: 1}
			i, service := uint64(0), exponential(100, 2)
			return Simulate(t.Context(), p, Description{}, &queue{service: func(r *Request) time.Duration {
				begun(i)
				i++
				return service(r)
			}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var heaps [3]uint64 // after a quarter, a half, and nearly all
			began := time.Now()
			res, err := c.run(plan, func(i uint64) {
				switch i {
				case n / 4:
					heaps[0] = heap.Live()
				case n / 2:
					heaps[1] = heap.Live()
				case n - n/50:
					heaps[2] = heap.Live()
				}
			})
			require.NoError(t, err)
			assert.EqualValues(t, n, res.Report.Offered)
			noWarning(t, res, ErrRecordsFile)
			t.Logf("%s: %d requests, %v each, live heap after a quarter, a half and nearly all of them: %d kB, %d kB, %d kB",
				name, n, time.Since(began)/time.Duration(n), heaps[0]>>10, heaps[1]>>10, heaps[2]>>10)
			for _, h := range heaps[1:] {
				assert.Less(t, h, heaps[0]+c.most)
			}
		})
	}
}
