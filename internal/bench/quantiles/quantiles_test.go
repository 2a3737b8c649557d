package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/bench/figures"
	"github.com/goodputkit/goodputkit/percentile"
)

// TestSubjects has each take a few values from two goroutines and say their percentiles.
func TestSubjects(t *testing.T) {
	xs := latencies(1, 10_000)
	sorted := slices.Sorted(slices.Values(xs))
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			in := s.make()
			g := 2
			if s.alone {
				g = 1
			}
			in.share(xs, g)
			if in.quantile == nil {
				assert.Equal(t, theFloor, s.name)
				return
			}
			within := 0.02
			if strings.Contains(s.name, "classic") {
				within = 0.25 // the buckets are far apart
			}
			for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
				assert.InEpsilon(t, exact(sorted, q), in.quantile(q), within, "P%v", 100*q)
			}
		})
	}
}

func TestQuantileOfBuckets(t *testing.T) {
	bs := exponential(0, -1, []float64{1, 0, 3}) // (½, 1], (1, 2], (2, 4]
	assert.Equal(t, []bucket{{0.5, 1, 1, 1}, {1, 2, 0, 1}, {2, 4, 3, 4}}, bs)
	assert.Equal(t, 0.75, quantileOf(bs, 4, 0.125, false))
	assert.Equal(t, math.Sqrt(0.5), quantileOf(bs, 4, 0.125, true))
	assert.Equal(t, 4.0, quantileOf(bs, 4, 1, false))
	assert.Equal(t, 4.0, quantileOf(bs, 8, 0.9, false), "above the last edge")
	assert.InDelta(t, math.Pow(2, 0.125), exponential(3, 0, []float64{1})[0].hi, 1e-15)
}

func TestExact(t *testing.T) {
	assert.Equal(t, 2.5, exact([]float64{1, 2, 3, 4}, 0.5))
	assert.Equal(t, 4.0, exact([]float64{1, 2, 3, 4}, 1))
}

// madeUp is results of round figures.
func madeUp() results {
	r := results{
		machine: figures.Machine{CPU: "a CPU", Procs: 2, System: "plan9/arm", Go: "go1.26", Modules: map[string]string{"github.com/HdrHistogram/hdrhistogram-go": "v1"}},
		rounds:  5, values: 1_000_000,
		cost: map[string][]float64{}, cpu: map[string]float64{}, errors: map[string][]float64{}, heap: map[string]float64{},
		snapshot: 1e5, quantile: 20, encoded: 18_000,
	}
	for _, s := range subjects {
		r.cost[s.name], r.cpu[s.name], r.heap[s.name] = []float64{100, 200, 300}, 90, 1000
		if s.name != theFloor {
			r.errors[s.name] = []float64{0, -0.001, 0.02, 0.5}
		}
	}
	r.cost[theRecorder], r.cpu[theRecorder] = []float64{16, 12, 15}, 15
	r.cost[theHDR], r.cpu[theHDR] = []float64{12.8, 30, 60}, 12
	r.cost[theDigest], r.cpu[theDigest] = []float64{8, math.NaN(), math.NaN()}, 9
	return r
}

func TestGoals(t *testing.T) {
	r := madeUp()
	var ratios []float64
	for _, g := range r.goals() {
		assert.True(t, g.Holds(), g.What)
		ratios = append(ratios, g.Got)
	}
	assert.InDeltaSlice(t, []float64{1.25, 1.25, 0.25, 0.05, 0.9375, 0.1, 0.08, 0.1, 20, 1, 1, 18}, ratios, 1e-12)
	r.cost[theRecorder][2] = 16.5 // more than G = 1
	var missed []string
	for _, g := range r.goals() {
		if !g.Holds() {
			missed = append(missed, g.What)
		}
	}
	assert.Equal(t, []string{"Recorder.Add, G = 8 / G = 1"}, missed)
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	r := madeUp()
	assert.Zero(t, r.write(&b))
	r.encoded = 25_000
	assert.Equal(t, 1, r.write(&bytes.Buffer{}))
	lines := strings.Split(b.String(), "\n")
	for _, want := range []string{
		"a CPU, 2 processors, plan9/arm, go1.26.",
		"|  | CPU, G = 1 | G = 1 | G = 2 | G = 8 | kB | P50 | P99 | P99.9 | P99.99 |",
		"| Digest | 9.00 | 8.00 | – | – | 1.00 | +0.00 % | -0.10 % | +2.00 % | +50.00 % |",
		"| floor: an atomic add on a line of one's own | 90.0 | 100 | 200 | 300 | – | – | – | – | – |",
		"| Recorder.Add / HdrHistogram-go with a mutex, G = 8 | 0.25 | 0.33 | holds |",
		"| Snapshot of a Recorder with 10⁷ values | 0.10 ms | 2.00 ms | holds |",
	} {
		require.Contains(t, lines, want)
	}
	assert.Contains(t, b.String(), "github.com/HdrHistogram/hdrhistogram-go v1,")
	columns := 0
	for _, l := range lines { // a table's rows are as long as its head
		n := strings.Count(l, "|")
		if n > 0 && columns > 0 {
			assert.Equal(t, columns, n, l)
		}
		columns = n
	}
}

func TestMachine(t *testing.T) {
	m := figures.ThisMachine()
	assert.Contains(t, m.String(), m.Go)
	assert.NotEmpty(t, m.CPU)
}

var million = latencies(1, 1_000_000)

func BenchmarkAdd(b *testing.B) {
	for _, s := range subjects {
		for _, g := range goroutines {
			if g > 1 && s.alone {
				continue
			}
			b.Run(fmt.Sprintf("%s/G=%d", s.name, g), func(b *testing.B) {
				in := s.make()
				b.ReportAllocs()
				for n := b.N; n > 0; n -= len(million) {
					in.share(million[:min(n, len(million))], g)
				}
			})
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	r := tenMillion()
	b.ReportAllocs()
	for b.Loop() {
		r.Snapshot()
	}
}

func BenchmarkQuantile(b *testing.B) {
	d := tenMillion().Snapshot()
	i := 0
	for b.Loop() {
		d.Quantile(float64(i%1000) / 1000)
		i++
	}
}

func tenMillion() *percentile.Recorder {
	r := percentile.NewRecorder()
	for i := range snapshotValues {
		r.Add(million[i%len(million)])
	}
	return r
}

// BenchmarkMemory reports what an instance holds that has a million values.
func BenchmarkMemory(b *testing.B) {
	for _, s := range subjects {
		b.Run(s.name, func(b *testing.B) {
			var heap float64
			for b.Loop() {
				heap = heapOf(s, million)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(heap/1000, "kB")
		})
	}
}
