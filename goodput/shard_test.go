package goodput

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

func TestObserveKeepsNothingAndAllocatesNothing(t *testing.T) {
	a := NewAccumulator(slo.MustParse("ttft p95 < 1s, itl p99 < 1s, e2e p95 < 1ms"))
	r := request(0, time.Second)
	r.Tokens = tokens(ms, 2*ms, 3*ms)
	r.Detail, r.Class = "x", "chat"
	a.Observe(r)
	assert.Zero(t, int(testing.AllocsPerRun(20000, func() { a.Observe(r) })), "digests grow now and then")
}

// While somebody is at the books (to copy them for a report, say) there is room in the shards, and Observe waits for
// nobody. What it left there is in the next report.
func TestObserveDoesNotWaitForTheBooks(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	a.Observe(request(0, ms)) // which makes the class
	a.drain()
	a.mu.Lock()
	for i := range maxShards * shardEntries {
		a.Observe(request(time.Duration(i)*ms, ms))
	}
	a.mu.Unlock()
	assert.EqualValues(t, maxShards*shardEntries+1, a.Report().Offered)
}

// Whoever reports while others observe sees each record whole, and every one whose Observe has returned: the books close
// in every report, and no count ever falls.
func TestReportWhileObserving(t *testing.T) {
	a := NewAccumulator(slo.MustParse("ttft p95 < 20ms, e2e p95 < 1s"), WithWindow(epoch, time.Time{}))
	const goroutines, each = 8, 2000
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			observeMany(a, uint64(g), each, func(i int) {
				if i == each/2 {
					report := a.Report()
					requireWhole(t, report)
					assert.GreaterOrEqual(t, report.Offered, uint64(each/2+1))
				}
			})
		})
	}
	reportUntil(t, &wg, a.Report)
	assert.EqualValues(t, goroutines*each, a.Report().Offered)
}

// Accumulators merge while others observe in them, in both directions at once; the sum of what was counted is right.
func TestMergeWhileObserving(t *testing.T) {
	s := slo.MustParse("ttft p95 < 20ms, e2e p95 < 1s")
	one, other := NewAccumulator(s), NewAccumulator(s)
	fixed := NewAccumulator(s)
	const goroutines, each, merges = 4, 1000, 20
	observeMany(fixed, 99, 100, nil)
	var wg sync.WaitGroup
	for g := range goroutines {
		a := []*Accumulator{one, other}[g%2]
		wg.Go(func() { observeMany(a, uint64(g), each, nil) })
		wg.Go(func() {
			for range merges {
				assert.NoError(t, a.Merge(fixed))
			}
		})
	}
	reportUntil(t, &wg, func() *Report {
		sum := NewAccumulator(s)
		require.NoError(t, sum.Merge(one))
		require.NoError(t, sum.Merge(other))
		return sum.Report()
	})
	wg.Go(func() { assert.NoError(t, one.Merge(other)) })
	wg.Go(func() { assert.NoError(t, other.Merge(one)) })
	wg.Wait()
	const half = goroutines / 2 * (each + 100*merges)
	for _, a := range []*Accumulator{one, other} {
		r := a.Report()
		requireWhole(t, r)
		assert.Contains(t, []uint64{2 * half, 3 * half}, r.Offered, "with the other's before or after its own merge")
	}
}

// observeMany observes n records of several classes and outcomes; after each it calls then.
func observeMany(a *Accumulator, seed uint64, n int, then func(i int)) {
	rng := rand.New(rand.NewPCG(seed, 5))
	for i := range n {
		r := request(time.Duration(i)*ms, time.Duration(rng.IntN(3000))*ms)
		r.Class = []string{"", "a", "b"}[rng.IntN(3)]
		r.Tokens = tokens(10*ms, 20*ms, 25*ms)
		r.Tokens[1].N = 1 + rng.IntN(2)*40
		r.Outcome = Outcomes()[rng.IntN(4)*rng.IntN(4)]
		a.Observe(r)
		if then != nil {
			then(i)
		}
	}
}

// reportUntil takes reports until all is done, and holds each against the one before.
func reportUntil(t *testing.T, wg *sync.WaitGroup, report func() *Report) {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	last := map[string]uint64{}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		r := report()
		requireWhole(t, r)
		now := countsOf(r)
		for name, n := range last {
			require.GreaterOrEqual(t, now[name], n, name)
		}
		last = now
	}
}

// requireWhole holds the parts of a report against each other: the records that observeMany makes are in all or in none.
func requireWhole(t *testing.T, r *Report) {
	requireBooksClose(t, r)
	var offered, ended uint64
	for _, s := range r.Timeline.Slices {
		offered += s.Offered
		ended += s.Ended
	}
	require.Equal(t, r.Offered, offered)
	require.Equal(t, r.Flow.Ended, ended)
	n := r.Outcomes[Success]
	require.Equal(t, n, r.Percentiles["e2e"].N)
	require.Equal(t, 2*n, r.Percentiles["ttft"].N+r.Percentiles["ttfo"].N)
	require.Zero(t, (r.Percentiles["itl"].N-2*n)%40, "steps of 1 and of 1 or 41 tokens")
	for _, o := range r.Objectives {
		require.Equal(t, r.Offered, o.N)
		require.Equal(t, n, o.Within+o.Missed)
	}
}

// countsOf are the counts of a report that can only grow.
func countsOf(r *Report) map[string]uint64 {
	all := map[string]uint64{
		"offered": r.Offered, "good": r.Good, "late": r.Late, "ended": r.Flow.Ended, "success": r.Flow.Success,
		"good in flow": r.Flow.Good, "tokens": r.Flow.OutputTokens, "good tokens": r.Flow.GoodOutputTokens,
	}
	for o, n := range r.Outcomes {
		all[o.String()] = n
	}
	for name, d := range r.Percentiles {
		all[name] = d.N
	}
	maps.Copy(all, r.Lost)
	return all
}

// What an accumulator takes, with values of every metric, its digests at their greatest and every shard full, however
// many processors there are: 0.25 MB for the shards and 2 MB for a class, and 130 kB for each custom metric.
func TestMemoryOfAClass(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(64))
	for name, c := range map[string]struct {
		objectives string
		customs    []slo.Metric
		most       float64 // bytes
	}{
		"many objectives": {manyObjectives(), nil, 2.25e6},
		"custom metrics":  {"ttft p95 < 1s, x_0 p95 < 1", []slo.Metric{"x_0", "x_1", "x_2", "x_3", "x_4"}, 2.25e6 + 5*130e3},
	} {
		t.Run(name, func(t *testing.T) {
			before := liveHeap()
			a := NewAccumulator(slo.MustParse(c.objectives))
			rng := rand.New(rand.NewPCG(1, 2))
			random := func(mean time.Duration) time.Duration { return 1 + time.Duration(rng.ExpFloat64()*float64(mean)) }
			r := &Record{Outcome: Success, Tokens: make([]Token, 3), Custom: map[slo.Metric]float64{}}
			for i := range 80_000 {
				r.Start = epoch.Add(time.Duration(i) * ms)
				r.Sent = random(ms)
				at := r.Sent
				for k := range r.Tokens {
					at += random(20 * ms)
					r.Tokens[k] = Token{at, 1}
				}
				r.FirstOutput, r.End = r.Tokens[1].At, at+random(ms)
				r.InputTokens, r.OutputTokens = 1+rng.IntN(1<<20), 3+rng.IntN(1<<20)
				for _, m := range c.customs {
					r.Custom[m] = rng.ExpFloat64()
				}
				a.Observe(r)
			}
			r.Tokens = make([]Token, shardSteps/shardEntries)
			a.drain()
			a.mu.Lock()
			for range maxShards * shardEntries / max(len(c.customs), 1) {
				a.Observe(r)
			}
			a.mu.Unlock()
			for i := range a.shards {
				assert.NotEmpty(t, a.shards[i].entries)
			}
			took := liveHeap() - before
			t.Logf("%.0f bytes", took)
			assert.LessOrEqual(t, took, c.most)
			assert.Greater(t, took, 1e6, "digests have their memory")
			runtime.KeepAlive(a)
		})
	}
}

// manyObjectives is an SLO with as many objectives as there can be, on every metric of a request.
func manyObjectives() string {
	var all []string
	for i := range slo.MaxObjectives {
		m := []slo.Metric{slo.TTFT, slo.TTFO, slo.TPOT, slo.ITL, slo.E2E, slo.Lag, slo.ServiceTTFT, slo.ServiceE2E}[i%8]
		all = append(all, fmt.Sprintf("%s p%d < 1s", m, 20+i/8))
	}
	return strings.Join(all, ", ")
}

func liveHeap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools are emptied by the second
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func TestLongRecords(t *testing.T) {
	for _, n := range []int{shardSteps - 1, shardSteps, shardSteps + 1, shardSteps + 2, 3*shardSteps + 7} {
		for _, sorted := range []bool{true, false} {
			a := NewAccumulator(slo.MustParse("itl p99 < 1s"))
			r := request(0, 0)
			for i := range n {
				r.Tokens = append(r.Tokens, Token{At: time.Duration(i) * ms, N: 1})
			}
			if !sorted {
				r.Tokens[n/2].At = 0
			}
			r.End = time.Hour
			r.Custom = map[slo.Metric]float64{"x_a": 1}
			p := observe(a, request(0, ms), r, request(0, ms)).Percentiles
			assert.EqualValues(t, n-1, p["itl"].N)
			assert.InDelta(t, float64(n-1)/1e3, p["itl"].Mean*float64(n-1), 1e-9, "the steps add up to the last event")
			assert.EqualValues(t, 1, p["x_a"].N)
			assert.EqualValues(t, 3, p["e2e"].N)
		}
	}
}

// A shard is a buffer that lives as long as its accumulator: what a record brings must not make it great.
func TestLongCustomNamesAreNotKept(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	r := request(0, ms)
	r.Custom = map[slo.Metric]float64{"x_a": 1, slo.Metric("x_" + strings.Repeat("b", 1<<20)): 1}
	report := observe(a, r)
	assert.EqualValues(t, 1, report.Notes.IgnoredCustom)
	assert.Contains(t, report.Percentiles, "x_a")
	for i := range a.shards {
		for _, c := range a.shards[i].customs[:cap(a.shards[i].customs)] {
			assert.LessOrEqual(t, len(c.metric), slo.MaxMetricName)
		}
	}
}
