package goodputprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

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

var help = map[slo.Metric]string{
	slo.TTFT:        "Time to first token of successful requests, from the intended start.",
	slo.TTFO:        "Time to the first output that is not reasoning of successful requests, from the intended start.",
	slo.TPOT:        "Mean time per output token after the first of successful requests.",
	slo.ITL:         "Worst step between two tokens of each successful request.",
	slo.E2E:         "End-to-end latency of successful requests, from the intended start.",
	slo.Speed:       "Output tokens per second after the first token of successful requests.",
	slo.Lag:         "Time from the intended start to the send of successful requests.",
	slo.ServiceTTFT: "Time to first token of successful requests, from the send.",
	slo.ServiceE2E:  "End-to-end latency of successful requests, from the send.",
}

func newHistogram(m slo.Metric, edges []float64, constant prometheus.Labels) *prometheus.HistogramVec {
	text, ok := help[m]
	if !ok {
		text = "The caller's own " + string(m) + " of successful requests."
	}
	if len(edges) == 0 { // none at all would mean client_golang's defaults, which are seconds
		edges = []float64{0}
	}
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: exposition.Histogram(m), Help: text, ConstLabels: constant, Buckets: edges,
		NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeMost,
		NativeHistogramMinResetDuration: nativeReset,
	}, []string{"class", "slo"})
}
