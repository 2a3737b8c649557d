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
	"github.com/goodputkit/goodputkit/goodput/goodputtest"
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

// load is what the service makes of so much load for so long, in simulated time.
//
// What the target calls has to come back when its context ends, as the service and its backend do. Run goes on without a
// target that does not; a bubble waits for all its goroutines, and panics of a deadlock where one never ends.
func load(t *testing.T, s *Service, arrivals loadgen.Arrivals, duration time.Duration) *goodput.Report {
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
		Arrivals: arrivals,
		Warmup:   time.Minute,
		Duration: duration,
		Timeout:  10 * time.Second, // as the callers have it
	})
	require.NoError(t, err)
	r := result.Report
	t.Logf("%v: goodput %.2f/s, attainment %.2f%%, lost %v", arrivals, r.GoodputRPS, 100*r.Attainment, r.Lost)
	goodputtest.BooksClose(t, r) // whatever becomes of a request, it is in the report once
	return r
}

// users come when they come, not when the service is free.
func users(rate float64) loadgen.Arrivals { return loadgen.Poisson{Rate: rate, Seed: 1} }

// At half its capacity the service keeps its promise, for an hour that takes a second.
func TestPromiseIsKeptForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := load(t, New(backend(0), workers, 8, 1, 0), users(capacity/2), time.Hour)
		goodputtest.MeetsSurely(t, r, promise.String()) // not by luck: the verdict allows for the sample's size
		goodputtest.Meets(t, r, "attainment >= 99.9%")
	})
}

// Above its capacity somebody has to lose. With a bounded queue those who are let in are in time, and goodput stays what
// the backend can do. Without a bound everybody waits, and nobody is in time: the service does as much as before, and
// none of it is of use.
func TestBoundedQueueSavesGoodput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bounded := load(t, New(backend(0), workers, 8, 1, 0), users(1.5*capacity), 3*time.Minute)
		assert.Equal(t, goodput.Missed, bounded.Verdict, "a third of the users are refused")
		goodputtest.GoodputAtLeast(t, bounded, 0.95*capacity)
		assert.Zero(t, bounded.Late, "nobody who was let in waited for too long")

		unbounded := load(t, New(backend(0), workers, 1_000_000, 1, 0), users(1.5*capacity), 3*time.Minute)
		assert.Greater(t, unbounded.ThroughputRPS, 0.95*capacity)
		assert.Less(t, unbounded.GoodputRPS, 0.05*capacity)
	})
}

// Three in a hundred calls fail. Retries turn errors into a little latency, for which the promise has room.
func TestRetriesKeepThePromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		once := load(t, New(backend(0.03), workers, 8, 1, 0), users(capacity/2), 5*time.Minute)
		goodputtest.Meets(t, once, "e2e p95 < 1s") // that has room for three in a hundred
		assert.False(t, once.Objectives[1].Holds, "error_rate < 1% has not")
		assert.Equal(t, goodput.Missed, once.Verdict)

		thrice := load(t, New(backend(0.03), workers, 8, 3, 50*time.Millisecond), users(capacity/2), 20*time.Minute)
		goodputtest.MeetsSurely(t, thrice, promise.String())
		assert.Greater(t, thrice.Percentiles["e2e"].Max, once.Percentiles["e2e"].Max, "what retries cost is in the latency")
	})
}

// Everything goes wrong at once, and still each request is in the books (load asserts that).
func TestOverloadAndFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := load(t, New(backend(0.2), workers, 2, 2, time.Second), users(2*capacity), 3*time.Minute)
		assert.NotZero(t, r.Outcomes[goodput.Rejected])
		assert.NotZero(t, r.Outcomes[goodput.ServerError])
	})
}

// scaled is what an autoscaled service makes of a load, and how many workers that took on the average.
func scaled(t *testing.T, a Autoscaler, arrivals loadgen.Arrivals, duration time.Duration) (*goodput.Report, float64) {
	t.Helper()
	s := New(backend(0), a.Min, 8, 1, 0)
	ctx, cancel := context.WithCancel(t.Context())
	spent := make(chan time.Duration)
	start := time.Now()
	go func() { spent <- a.Run(ctx, s) }()
	r := load(t, s, arrivals, duration)
	cancel()
	mean := float64(<-spent) / float64(time.Since(start))
	t.Logf("%.2f workers on the average", mean)
	return r, mean
}

// A day's swing in an hour, from 2 to 26 requests/s. The autoscaler follows it: the promise is kept as by workers enough for
// the peak, for fewer of them.
func TestAutoscalerFollowsTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		day := loadgen.Sine{Mean: 14, Amplitude: 12, Period: time.Hour, Phase: 45 * time.Minute, Seed: 1} // it begins at night
		auto := Autoscaler{Min: 2, Max: 8, Busy: 0.7, Every: 5 * time.Second, Boot: 30 * time.Second, Calm: 2 * time.Minute}

		r, mean := scaled(t, auto, day, time.Hour)
		goodputtest.Meets(t, r, promise.String())
		goodputtest.GoodputAtLeast(t, r, 13)
		assert.Less(t, mean, 6.5, "at the peak there are eight")

		fixed := load(t, New(backend(0), 4, 8, 1, 0), users(26), 3*time.Minute)
		assert.False(t, fixed.Objectives[1].Holds, "four workers are not enough for that")
	})
}

// Load that comes at once is ahead of any autoscaler. What that costs depends on how long workers take to come up, and the test
// says how much: so much start-up time the promise has room for.
func TestAutoscalerIsLateForASpike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spike := loadgen.Steps{Steps: []loadgen.Step{{Rate: 5, For: 5 * time.Minute}, {Rate: 25, For: 10 * time.Minute}, {Rate: 5}}, Seed: 1}
		auto := Autoscaler{Min: 2, Max: 8, Busy: 0.7, Every: 5 * time.Second, Boot: 10 * time.Second, Calm: 2 * time.Minute}
		quick, _ := scaled(t, auto, spike, 20*time.Minute)
		goodputtest.Meets(t, quick, "error_rate < 2%")

		auto.Boot = 3 * time.Minute
		slow, _ := scaled(t, auto, spike, 20*time.Minute)
		assert.False(t, slow.Objectives[1].Holds)
		assert.Greater(t, slow.Outcomes[goodput.Rejected], 3*quick.Outcomes[goodput.Rejected])
		assert.Less(t, slow.Late, slow.Offered/1000, "whom the queue has no room for is refused at once: hardly anybody waits in vain")
	})
}
