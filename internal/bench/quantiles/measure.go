package main

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/internal/bench/figures"
	"github.com/goodputkit/goodputkit/percentile"
)

// results is all that was measured.
type results struct {
	machine        figures.Machine
	rounds, values int
	cost           map[string][]float64 // ns that pass per add, by subject, one for each of goroutines; NaN: not measured
	cpu            map[string]float64   // ns of CPU time per add of one goroutine, by subject
	errors         map[string][]float64 // relative, by subject, one for each of ranks
	heap           map[string]float64   // bytes by subject
	snapshot       float64              // ns, of a Recorder with snapshotValues
	quantile       float64              // ns, of a snapshot
	encoded        float64              // bytes, of a Digest
}

const snapshotValues = 10_000_000

// ranks is where errors are taken, each the largest of some seeds.
var ranks = []float64{0.5, 0.99, 0.999, 0.9999}

const seeds = 5

// latencies is n log-normal values in seconds.
func latencies(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = 0.1 * math.Exp(r.NormFloat64())
	}
	return xs
}

func measureAll(rounds, values int) results {
	r := results{
		machine: figures.ThisMachine(), rounds: rounds, values: values,
		cost: map[string][]float64{}, cpu: map[string]float64{}, errors: map[string][]float64{}, heap: map[string]float64{},
	}
	xs := latencies(1, values)
	for _, s := range subjects {
		r.heap[s.name] = heapOf(s, xs)
	}
	d := percentile.New()
	d.AddSlice(xs)
	r.encoded = float64(len(must(d.MarshalBinary())))
	r.errors = errorsOf(values)

	rec := percentile.NewRecorder()
	for i := range snapshotValues {
		rec.Add(xs[i%len(xs)])
	}
	type key struct {
		name string
		g    int
	}
	costs, cpu := map[key][]float64{}, map[string][]float64{}
	var snapshots, quantiles []float64
	for round := range rounds {
		for _, g := range goroutines {
			for i := range subjects { // another is the first each time
				s := subjects[(i+round)%len(subjects)]
				if g > 1 && s.alone {
					continue
				}
				wall, used := costOf(s, xs, g)
				costs[key{s.name, g}] = append(costs[key{s.name, g}], wall)
				if g == 1 {
					cpu[s.name] = append(cpu[s.name], used)
				}
			}
		}
		a, b := readCosts(rec)
		snapshots, quantiles = append(snapshots, a), append(quantiles, b)
	}
	for _, s := range subjects {
		for _, g := range goroutines {
			r.cost[s.name] = append(r.cost[s.name], figures.Median(costs[key{s.name, g}]))
		}
		r.cpu[s.name] = figures.Median(cpu[s.name])
	}
	r.snapshot, r.quantile = figures.Median(snapshots), figures.Median(quantiles)
	return r
}

// costOf has g goroutines add the values to a new instance, each a part of them. It returns the time that passes and the
// CPU time of the process, in ns per value.
func costOf(s subject, xs []float64, g int) (wall, cpu float64) {
	in := s.make()
	runtime.GC()
	used, start := figures.CPUTime(), time.Now()
	in.share(xs, g)
	n := float64(len(xs))
	return float64(time.Since(start)) / n, float64(figures.CPUTime()-used) / n
}

// share has g goroutines fill the instance.
func (in instance) share(xs []float64, g int) {
	var wg sync.WaitGroup
	for k := range g {
		wg.Go(func() { in.fill(xs[k*len(xs)/g : (k+1)*len(xs)/g]) })
	}
	wg.Wait()
}

// readCosts returns what a snapshot costs and what a quantile of it does, in ns.
func readCosts(r *percentile.Recorder) (snapshot, quantile float64) {
	const snapshots, quantiles = 20, 100_000
	var d *percentile.Digest
	runtime.GC()
	start := time.Now()
	for range snapshots {
		d = r.Snapshot()
	}
	snapshot = float64(time.Since(start)) / snapshots
	start = time.Now()
	for i := range quantiles {
		d.Quantile(float64(i) / quantiles)
	}
	return snapshot, float64(time.Since(start)) / quantiles
}

// heapOf returns how much memory an instance holds that has the values.
func heapOf(s subject, xs []float64) float64 {
	const instances = 4
	var before, after runtime.MemStats
	live := func(m *runtime.MemStats) {
		for range 3 { // pools need two
			runtime.GC()
		}
		runtime.ReadMemStats(m)
	}
	ins := make([]instance, instances)
	live(&before)
	for i := range ins {
		ins[i] = s.make()
		g := 8
		if s.alone {
			g = 1
		}
		ins[i].share(xs, g)
	}
	live(&after)
	runtime.KeepAlive(ins)
	return (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / instances
}

// errorsOf returns for each subject that has quantiles the relative errors that are farthest from 0.
func errorsOf(values int) map[string][]float64 {
	worst := map[string][]float64{}
	for seed := range uint64(seeds) {
		xs := latencies(100+seed, values)
		sorted := slices.Sorted(slices.Values(xs))
		for _, s := range subjects {
			in := s.make()
			if in.quantile == nil {
				continue
			}
			in.fill(xs)
			if worst[s.name] == nil {
				worst[s.name] = make([]float64, len(ranks))
			}
			for i, q := range ranks {
				if e := in.quantile(q)/exact(sorted, q) - 1; math.Abs(e) > math.Abs(worst[s.name][i]) {
					worst[s.name][i] = e
				}
			}
		}
	}
	return worst
}

// exact is Hyndman and Fan's type 7 of sorted values.
func exact(sorted []float64, q float64) float64 {
	h := q * float64(len(sorted)-1)
	i := min(int(h), len(sorted)-2)
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}
