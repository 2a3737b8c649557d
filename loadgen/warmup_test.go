package loadgen

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/race"
	"github.com/goodputkit/goodputkit/slo"
)

// mserByTheBook is MSER-5 as it is defined: for each truncation the mean and the squares of what is left, from scratch.
func mserByTheBook(xs []float64) (int, bool) {
	var ys []float64
	for b := range slices.Chunk(xs[:len(xs)/5*5], 5) {
		ys = append(ys, (b[0]+b[1]+b[2]+b[3]+b[4])/5)
	}
	best, at := math.Inf(1), 0
	for d := 0; d <= len(ys)-5; d++ {
		rest, mean, squares := ys[d:], 0.0, 0.0
		for _, y := range rest {
			mean += y / float64(len(rest))
		}
		for _, y := range rest {
			squares += (y - mean) * (y - mean)
		}
		if v := squares / float64(len(rest)*len(rest)); v < best {
			best, at = v, d
		}
	}
	return at * 5, len(ys) >= 10 && at <= len(ys)/2
}

func TestMSER(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	found := 0
	for range 300 {
		xs := make([]float64, 50+r.IntN(300))
		fall := r.ExpFloat64() * 50
		for i := range xs {
			xs[i] = 1 + 5*math.Exp(-float64(i)/fall) + r.NormFloat64()
		}
		want, wantOK := mserByTheBook(xs)
		got, ok := mser(xs)
		require.Equal(t, wantOK, ok)
		require.Equal(t, want, got)
		if ok && got > 0 {
			found++
		}
	}
	assert.Greater(t, found, 50)
	_, ok := mser(make([]float64, 49))
	assert.False(t, ok, "too few")
	cut, ok := mser(make([]float64, 50))
	assert.True(t, ok)
	assert.Zero(t, cut)
}

// auto is an open loop whose warm-up is found.
func auto(d time.Duration) Plan {
	return Plan{SLO: slo.MustParse("e2e p95 < 1s"), Arrivals: Constant{Rate: 10}, Duration: d, Warmup: WarmupAuto}
}

func TestWarmupAutoIsAsShortAsCanBe(t *testing.T) {
	res, rs := run(t, takes(50*ms), auto(20*time.Second))
	assert.Equal(t, 50*ms, res.Warmup, "one P99")
	assert.InDelta(t, 20, res.Report.WindowS, 1e-9, "Duration comes after it")
	assert.EqualValues(t, 200, res.Report.Offered)
	assert.Len(t, rs, 201)
	noWarning(t, res, ErrShortWarmup)
	noWarning(t, res, ErrTransient)
	assert.InDelta(t, 0.05, res.Report.Window.WarmupS, 1e-12)
	assert.Contains(t, strings.Join(strings.Fields(res.Report.String()), " "), "after a warm-up of 50.0 ms")

	p := auto(0)
	p.Requests = 200
	res, rs = run(t, takes(50*ms), p)
	assert.Equal(t, 50*ms, res.Warmup)
	assert.EqualValues(t, 200, res.Report.Offered, "Requests come after it")
	assert.Len(t, rs, 201)
}

// A cold start: the first 30 requests take 2 s each, and all others 50 ms.
func TestWarmupAutoAfterAColdStart(t *testing.T) {
	p := auto(30 * time.Second)
	p.Workload = numbered(0)
	cold := behaviour(func(i int) (time.Duration, goodput.Outcome) {
		if i < 30 {
			return 2 * time.Second, goodput.Success
		}
		return 50 * ms, goodput.Success
	})
	res, err := Simulate(t.Context(), p, Description{}, &delays{do: cold})
	require.NoError(t, err)
	assert.InDelta(t, 4.9, res.Warmup.Seconds(), 0.25, "the End of the last slow one, to five values")
	assert.GreaterOrEqual(t, res.Warmup, 4900*ms)
	assert.InDelta(t, 0.05, res.Report.Percentiles["e2e"].Max, 1e-12)
	assert.InDelta(t, 10, res.Report.ThroughputRPS, 1e-9)
	noWarning(t, res, ErrTransient)
	p.Warmup = 0
	res, err = Simulate(t.Context(), p, Description{}, &delays{do: cold})
	require.NoError(t, err)
	assert.Greater(t, res.Report.Percentiles["e2e"].Mean, 0.2)
}

// An M/M/1 queue at ρ = 0.5 that begins with 100 requests waiting. The mean of its steady state is 1/(μ − λ) = 2 s.
func TestWarmupAutoAfterABacklog(t *testing.T) {
	seeds := fewerIfRace(40)
	near := map[time.Duration]int{}
	for seed := range uint64(seeds) {
		for _, warmup := range []time.Duration{0, WarmupAuto} {
			poisson := Poisson{Rate: 0.5, Seed: seed + 1}
			p := auto(3000 * time.Second)
			p.Warmup, p.Timeout = warmup, time.Hour
			p.Arrivals = ArrivalsFunc(func(yield func(time.Duration) bool) {
				for range 100 {
					if !yield(0) {
						return
					}
				}
				poisson.Times()(yield)
			})
			res, err := Simulate(t.Context(), p, Description{}, &queue{service: exponential(1, seed+99)})
			require.NoError(t, err)
			if math.Abs(res.Report.Percentiles["e2e"].Mean-2) < 0.5 { // three standard errors
				near[warmup]++
			}
		}
	}
	assert.Zero(t, near[0])
	assert.GreaterOrEqual(t, near[WarmupAuto], seeds*9/10)
}

// An M/M/1 queue at ρ = 0.9 that begins empty: over 400 mean service times its mean sojourn is too short, on average over
// the seeds. The truth is 10 s.
func TestWarmupAutoOfAnEmptyQueue(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine, and many runs")
	}
	const seeds = 100
	bias := map[time.Duration]float64{}
	for seed := range uint64(seeds) {
		for _, warmup := range []time.Duration{0, WarmupAuto} {
			p := auto(400 * time.Second)
			p.Warmup, p.Timeout, p.Arrivals = warmup, time.Hour, Poisson{Rate: 0.9, Seed: seed + 1}
			res, err := Simulate(t.Context(), p, Description{}, &queue{service: exponential(1, seed+1000)})
			require.NoError(t, err)
			bias[warmup] += (res.Report.Percentiles["e2e"].Mean - 10) / seeds
		}
	}
	assert.Less(t, bias[0], -2.0)
	assert.Less(t, math.Abs(bias[WarmupAuto]), 0.8*math.Abs(bias[0]))
}

// Where no end is found, the window begins at the bound, and the run says so.
func TestWarmupAutoBounds(t *testing.T) {
	grows := behaviour(func(i int) (time.Duration, goodput.Outcome) { return time.Duration(i) * ms, goodput.Success })
	p := auto(40 * time.Second)
	p.Workload = numbered(0)
	res, err := Simulate(t.Context(), p, Description{}, &delays{do: grows})
	require.NoError(t, err)
	assert.Equal(t, 20*time.Second, res.Warmup, "half of Duration")
	assert.EqualValues(t, 400, res.Report.Offered)
	warning(t, res, ErrTransient, "the warm-up ended after 20s at the latest")

	p.Requests = 100
	res, err = Simulate(t.Context(), p, Description{}, &delays{do: grows})
	require.NoError(t, err)
	assert.Equal(t, 4900*ms, res.Warmup, "half of Requests")
	assert.EqualValues(t, 100, res.Report.Offered)

	p.Requests, p.Duration, p.Arrivals = 40_000, 0, Constant{Rate: 1e5}
	res, err = Simulate(t.Context(), p, Description{}, &delays{do: func(int) (time.Duration, goodput.Outcome) { return time.Second, goodput.Success }})
	require.NoError(t, err)
	assert.Equal(t, 163830*time.Microsecond, res.Warmup, "16,384 requests, of which none has ended")
	assert.EqualValues(t, 40_000, res.Report.Offered)

	// A run that is over before it was decided is decided at its end.
	p = auto(time.Hour)
	p.Workload = numbered(100)
	res, _ = run(t, takes(50*ms), p)
	assert.Equal(t, 50*ms, res.Warmup)
	assert.EqualValues(t, 99, res.Report.Offered)
	p.Workload = numbered(49)
	res, _ = run(t, takes(50*ms), p)
	assert.Zero(t, res.Warmup)
	assert.Zero(t, res.Report.Offered)
	warning(t, res, ErrInWarmup, "no request began after it")

	// All at once: the second half begins when the first does.
	p = auto(0)
	p.Requests, p.Arrivals = 100, Replay{At: make([]time.Duration, 200)}
	res, rs := run(t, takes(50*ms), p)
	assert.Len(t, rs, 100)
	assert.EqualValues(t, 100, res.Report.Offered)
	warning(t, res, ErrTransient, "the warm-up ended after 0s at the latest")
}

// Near saturation no warm-up mends what a short window does: the P95 of an M/M/1 queue at ρ = 0.95, ln 20/(1−ρ), is too low over
// 2,000 mean service times, though the queue has been running for five times as long before. That the run found the end of its
// own transient brings it no further off than that.
func TestWarmupAutoNearSaturation(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine, and many runs")
	}
	const seeds = 40
	truth := math.Log(20) / 0.05
	bias, tooShort := map[time.Duration]float64{}, map[time.Duration]int{}
	for seed := range uint64(seeds) {
		for _, warmup := range []time.Duration{0, WarmupAuto, 10_000 * time.Second} {
			p := auto(2000 * time.Second)
			p.SLO.Objectives[0].Threshold.Limit = truth
			p.Warmup, p.Timeout, p.Arrivals = warmup, 1000*time.Hour, Poisson{Rate: 0.95, Seed: seed + 1}
			res, err := Simulate(t.Context(), p, Description{}, &queue{service: exponential(1, seed+1000)})
			require.NoError(t, err)
			bias[warmup] += (res.Report.Percentiles["e2e"].P95/truth - 1) / seeds
			if errors.Is(errors.Join(res.Report.Warnings...), goodput.ErrRunTooShort) {
				tooShort[warmup]++
			}
		}
	}
	for _, warmup := range []time.Duration{0, WarmupAuto, 10_000 * time.Second} {
		t.Logf("warm-up %v: the P95 is off by %+.0f %%, and %d of %d runs are too short for their load", warmup, 100*bias[warmup], tooShort[warmup], seeds)
	}
	assert.Less(t, bias[10_000*time.Second], -0.1)
	assert.Less(t, math.Abs(bias[WarmupAuto]), math.Abs(bias[0]))
	assert.InDelta(t, bias[10_000*time.Second], bias[WarmupAuto], 0.1)
	assert.Greater(t, tooShort[WarmupAuto], seeds/2)
}
