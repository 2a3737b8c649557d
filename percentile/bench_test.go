package percentile

import (
	"fmt"
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
