package slotest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// The promise, word for word as production states it.
var promise = slo.MustParse("e2e p95 < 1s, error_rate < 1%")

// backend takes 100 to 300 ms and fails for a share of the calls. The seed makes each run of a test the same.
func backend(failing float64) Backend {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(1, 2))
	return func(ctx context.Context, _ string) (string, error) {
		mu.Lock()
		takes := time.Duration(100+200*r.Float64()) * time.Millisecond
		fails := r.Float64() < failing
		mu.Unlock()
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if fails {
			return "", errors.New("backend failed")
		}
		return "an answer", nil
	}
}

// Four workers, 0.2 s for a call: the service can do 20 requests/s.
const (
	workers  = 4
	capacity = 20.0
)

// load is what the service makes of so many requests/s for so long, in simulated time.
//
// What the target calls has to come back when its context ends, as the service and its backend do. Run goes on without a
// target that does not; a bubble waits for all its goroutines, and panics of a deadlock where one never ends.
func load(t *testing.T, s *Service, rate float64, duration time.Duration) *goodput.Report {
	t.Helper()
	target := loadgen.TargetFunc(func(ctx context.Context, req *loadgen.Request, _ *loadgen.Trace) error {
		_, err := s.Answer(ctx, req.Prompt)
		if errors.Is(err, ErrBusy) {
			return loadgen.Fail(goodput.Rejected, "queue full")
		}
		return err // nil is a success; the rest, timeouts among them, has its outcome by itself
	})
	result, err := loadgen.Run(t.Context(), target, loadgen.Plan{
		SLO:      promise,
		Arrivals: loadgen.Poisson{Rate: rate, Seed: 1}, // users come when they come, not when the service is free
		Warmup:   time.Minute,
		Duration: duration,
		Timeout:  10 * time.Second, // as the callers have it
	})
	require.NoError(t, err)
	t.Logf("%v requests/s offered: goodput %.2f/s, attainment %.2f%%, lost %v",
		rate, result.Report.GoodputRPS, 100*result.Report.Attainment, result.Report.Lost)
	return result.Report
}

// At half its capacity the service keeps its promise, for an hour that takes a second.
func TestPromiseIsKeptForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := load(t, New(backend(0), workers, 8, 1, 0), capacity/2, time.Hour)
		assert.Equal(t, goodput.Met, r.Verdict, "not by luck: the verdict allows for the sample's size")
		assert.Greater(t, r.Attainment, 0.999)
	})
}

// Above its capacity somebody has to lose. With a bounded queue those who are let in are in time, and goodput stays what
// the backend can do. Without a bound everybody waits, and nobody is in time: the service does as much as before, and
// none of it is of use.
func TestBoundedQueueSavesGoodput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bounded := load(t, New(backend(0), workers, 8, 1, 0), 1.5*capacity, 3*time.Minute)
		assert.Equal(t, goodput.Missed, bounded.Verdict, "a third of the users are refused")
		assert.Greater(t, bounded.GoodputRPS, 0.95*capacity)
		assert.Zero(t, bounded.Late, "nobody who was let in waited for too long")

		unbounded := load(t, New(backend(0), workers, 1_000_000, 1, 0), 1.5*capacity, 3*time.Minute)
		assert.Greater(t, unbounded.ThroughputRPS, 0.95*capacity)
		assert.Less(t, unbounded.GoodputRPS, 0.05*capacity)
	})
}

// Three in a hundred calls fail. Retries turn errors into a little latency, for which the promise has room.
func TestRetriesKeepThePromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		once := load(t, New(backend(0.03), workers, 8, 1, 0), capacity/2, 5*time.Minute)
		assert.True(t, once.Objectives[0].Holds, "e2e p95 < 1s has room for three in a hundred")
		assert.False(t, once.Objectives[1].Holds, "error_rate < 1% has not")
		assert.Equal(t, goodput.Missed, once.Verdict)

		thrice := load(t, New(backend(0.03), workers, 8, 3, 50*time.Millisecond), capacity/2, 20*time.Minute)
		assert.Equal(t, goodput.Met, thrice.Verdict)
		assert.Greater(t, thrice.Percentiles["e2e"].Max, once.Percentiles["e2e"].Max, "what retries cost is in the latency")
	})
}

// Whatever becomes of a request, it is in the report once.
func TestBooksClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := load(t, New(backend(0.2), workers, 2, 2, time.Second), 2*capacity, 3*time.Minute)
		sum := r.Good + r.Late
		for outcome, n := range r.Outcomes {
			if outcome != goodput.Success {
				sum += n
			}
		}
		assert.Equal(t, r.Offered, sum)
		assert.NotZero(t, r.Outcomes[goodput.Rejected])
		assert.NotZero(t, r.Outcomes[goodput.ServerError])
	})
}
