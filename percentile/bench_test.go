package percentile

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/influxdata/tdigest"
)

var million = sync.OnceValue(func() []float64 { return laws[0].values(1, 1_000_000) })

func BenchmarkDigestAdd(b *testing.B) {
	for _, l := range []law{laws[0], laws[5], laws[8]} {
		b.Run(l.name, func(b *testing.B) {
			xs := l.values(1, 1_000_000)
			d := New()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				d.Add(xs[i])
				if i++; i == len(xs) {
					i = 0
				}
			}
		})
	}
}

// BenchmarkInfluxAdd is the library below, as it comes.
func BenchmarkInfluxAdd(b *testing.B) {
	xs := million()
	d := tdigest.NewWithCompression(100)
	i := 0
	for b.Loop() {
		d.Add(xs[i], 1)
		if i++; i == len(xs) {
			i = 0
		}
	}
}

// atOnce runs add from g goroutines, each with a part of b.N values.
func atOnce(b *testing.B, g int, add func() func(float64)) {
	xs := million()
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for k := range g {
		wg.Go(func() {
			add := add()
			i := k * len(xs) / g
			for range b.N / g {
				add(xs[i])
				if i++; i == len(xs) {
					i = 0
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkRecorderAdd(b *testing.B) {
	for _, g := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("G=%d", g), func(b *testing.B) {
			r := NewRecorder()
			atOnce(b, g, func() func(float64) { return r.Add })
		})
	}
}

func BenchmarkLocalAdd(b *testing.B) {
	for _, g := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("G=%d", g), func(b *testing.B) {
			r := NewRecorder()
			atOnce(b, g, func() func(float64) { return r.Local().Add })
		})
	}
}

func BenchmarkWindowAddAt(b *testing.B) {
	for _, g := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("G=%d", g), func(b *testing.B) {
			w := NewWindow(time.Minute, 12)
			now := time.Now()
			atOnce(b, g, func() func(float64) { return func(x float64) { w.AddAt(now, x) } })
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	r := NewRecorder()
	for range 10 {
		for _, x := range million() {
			r.Add(x)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Snapshot()
	}
}

func BenchmarkQuantile(b *testing.B) {
	d := New()
	d.AddSlice(million())
	for _, q := range []float64{0.5, 0.95, 0.999} {
		b.Run(fmt.Sprintf("P%v", 100*q), func(b *testing.B) {
			for b.Loop() {
				d.Quantile(q)
			}
		})
	}
}

func BenchmarkMerge(b *testing.B) {
	d := New()
	d.AddSlice(million())
	o := New()
	o.AddSlice(million()[:100_000])
	b.ReportAllocs()
	for b.Loop() {
		d.Merge(o)
	}
}

func BenchmarkMarshalBinary(b *testing.B) {
	d := New()
	d.AddSlice(million())
	for b.Loop() {
		data, _ := d.MarshalBinary()
		b.SetBytes(int64(len(data)))
	}
}

// BenchmarkValueError measures what doc.go says of the usual error, in percent
// of the value over five laws, and what the compression does to it.
func BenchmarkValueError(b *testing.B) {
	for _, δ := range []float64{125, 250, 500} {
		for _, n := range []int{10_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("δ=%v/n=%d", δ, n), func(b *testing.B) {
				qs := []float64{0.5, 0.9, 0.99, 0.999}
				squares, most, runs := make([]float64, len(qs)), make([]float64, len(qs)), 0.0
				for b.Loop() {
					for _, l := range laws[:5] {
						for seed := range min(40, 10_000_000/n) {
							xs := l.values(uint64(1000+seed), n)
							d := New(WithCompression(δ))
							d.AddSlice(xs)
							sorted := sortedCopy(xs)
							for i, q := range qs {
								e := 100 * math.Abs(d.Quantile(q)/type7(sorted, q)-1)
								squares[i] += e * e
								most[i] = max(most[i], e)
							}
							runs++
						}
					}
				}
				b.ReportMetric(0, "ns/op")
				for i, q := range qs {
					b.ReportMetric(math.Sqrt(squares[i]/runs), fmt.Sprintf("P%v-rms", 100*q))
					b.ReportMetric(most[i], fmt.Sprintf("P%v-max", 100*q))
				}
			})
		}
	}
}
