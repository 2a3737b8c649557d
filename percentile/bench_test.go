package percentile

import (
	"math"
	"testing"

	"github.com/influxdata/tdigest"
)

var logNormal = func() []float64 {
	r := newRand(1)
	xs := make([]float64, 1_000_000)
	for i := range xs {
		xs[i] = math.Exp(r.NormFloat64())
	}
	return xs
}()

func BenchmarkDigestAdd(b *testing.B) {
	d := New()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		d.Add(logNormal[i])
		if i++; i == len(logNormal) {
			i = 0
		}
	}
}

func BenchmarkInfluxAdd(b *testing.B) {
	d := tdigest.NewWithCompression(100)
	i := 0
	for b.Loop() {
		d.Add(logNormal[i], 1)
		if i++; i == len(logNormal) {
			i = 0
		}
	}
}

func BenchmarkSort(b *testing.B) {
	xs := make([]float64, batch)
	w := getScratch()
	i := 0
	for b.Loop() {
		copy(xs, logNormal[i:])
		w.sort(xs)
		if i += batch; i+batch > len(logNormal) {
			i = 0
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/value")
}
