package goodputprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodputkit/goodputkit/goodput/internal/exporter"
	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/slo"
)

// The native buckets: each is at most a tenth wider than the one before it, and there are at most 160 of them, beyond which
// client_golang widens them, or starts afresh where that was an hour ago.
const (
	nativeFactor = 1.1
	nativeMost   = 160
	nativeReset  = time.Hour
)

func newHistogram(m slo.Metric, edges []float64, constant prometheus.Labels) *prometheus.HistogramVec {
	if len(edges) == 0 { // none at all would mean client_golang's defaults, which are seconds
		edges = []float64{0}
	}
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: exposition.Histogram(m), Help: exporter.Histogram(m), ConstLabels: constant, Buckets: edges,
		NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeMost,
		NativeHistogramMinResetDuration: nativeReset,
	}, []string{"class", "slo"})
}
