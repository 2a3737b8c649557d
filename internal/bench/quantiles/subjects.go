package main

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/HdrHistogram/hdrhistogram-go"
	caio "github.com/caio/go-tdigest/v4"
	influx "github.com/influxdata/tdigest"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	vegeta "github.com/tsenart/vegeta/v12/lib"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/goodputkit/goodputkit/percentile"
)

// A subject is a type that takes values, seconds here, and can say their quantiles.
type subject struct {
	name   string
	module string // whose it is; empty: this project's, or nobody's
	alone  bool   // for one goroutine, and without a lock here
	make   func() instance
}

// An instance is one of them that is empty yet.
type instance struct {
	// fill adds values, from any number of goroutines unless the subject is alone. Each has a loop of its own, so that
	// the call in it is as direct as it is in a program.
	fill     func(xs []float64)
	quantile func(q float64) float64 // nil: it has none
}

const (
	theDigest   = "Digest"
	theRecorder = "Recorder"
	theLocal    = "Recorder.Local"
	rawInflux   = "influxdata/tdigest, compression 100, without a lock"
	theInflux   = "influxdata/tdigest, compression 100, mutex"
	theHDR      = "HdrHistogram-go, 3 digits, mutex"
	theFloor    = "floor: an atomic add on a line of one's own"
)

var subjects = []subject{
	{name: theDigest, alone: true, make: newDigest},
	{name: theRecorder, make: newRecorder},
	{name: theLocal, make: newLocal},
	{name: rawInflux, module: "github.com/influxdata/tdigest", alone: true, make: newRawInflux},
	{name: theInflux, module: "github.com/influxdata/tdigest", make: newInflux},
	{name: "caio/go-tdigest, compression 100, mutex", module: "github.com/caio/go-tdigest/v4", make: newCaio},
	{name: theHDR, module: "github.com/HdrHistogram/hdrhistogram-go", make: newHDR},
	{name: "DDSketch (sketches-go), 1 %, mutex", module: "github.com/DataDog/sketches-go", make: newDDSketch},
	{name: "Prometheus classic histogram, default buckets", module: "github.com/prometheus/client_golang", make: newClassic},
	{name: "Prometheus native histogram, factor 1.1", module: "github.com/prometheus/client_golang", make: newNative},
	{name: "OpenTelemetry exponential histogram, 160 buckets", module: "go.opentelemetry.io/otel/sdk/metric", make: newOpenTelemetry},
	{name: "vegeta Metrics.Add, mutex", module: "github.com/tsenart/vegeta/v12", make: newVegeta},
	{name: theFloor, make: newFloor},
}

func newDigest() instance {
	d := percentile.New()
	return instance{func(xs []float64) {
		for _, x := range xs {
			d.Add(x)
		}
	}, d.Quantile}
}

func newRecorder() instance {
	r := percentile.NewRecorder()
	return instance{func(xs []float64) {
		for _, x := range xs {
			r.Add(x)
		}
	}, func(q float64) float64 { return r.Snapshot().Quantile(q) }}
}

func newLocal() instance {
	r := percentile.NewRecorder()
	return instance{func(xs []float64) {
		l := r.Local()
		defer l.Close()
		for _, x := range xs {
			l.Add(x)
		}
	}, func(q float64) float64 { return r.Snapshot().Quantile(q) }}
}

func newRawInflux() instance {
	d := influx.NewWithCompression(100)
	return instance{func(xs []float64) {
		for _, x := range xs {
			d.Add(x, 1)
		}
	}, d.Quantile}
}

func newInflux() instance {
	var mu sync.Mutex
	d := influx.NewWithCompression(100)
	return instance{func(xs []float64) {
		for _, x := range xs {
			mu.Lock()
			d.Add(x, 1)
			mu.Unlock()
		}
	}, d.Quantile}
}

func newCaio() instance {
	var mu sync.Mutex
	d := must(caio.New(caio.Compression(100)))
	return instance{func(xs []float64) {
		for _, x := range xs {
			mu.Lock()
			err := d.Add(x)
			mu.Unlock()
			check(err)
		}
	}, d.Quantile}
}

// newHDR has room for a microsecond to an hour.
func newHDR() instance {
	var mu sync.Mutex
	h := hdrhistogram.New(1, 3_600_000_000, 3)
	return instance{func(xs []float64) {
		for _, x := range xs {
			mu.Lock()
			err := h.RecordValue(int64(x * 1e6))
			mu.Unlock()
			check(err)
		}
	}, func(q float64) float64 { return float64(h.ValueAtQuantile(100*q)) / 1e6 }}
}

func newDDSketch() instance {
	var mu sync.Mutex
	s := must(ddsketch.NewDefaultDDSketch(0.01))
	return instance{func(xs []float64) {
		for _, x := range xs {
			mu.Lock()
			err := s.Add(x)
			mu.Unlock()
			check(err)
		}
	}, func(q float64) float64 { return must(s.GetValueAtQuantile(q)) }}
}

func newClassic() instance {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "latency_seconds", Buckets: prometheus.DefBuckets})
	return instance{observe(h), func(q float64) float64 {
		var bs []bucket
		last := bucket{}
		for _, b := range written(h).GetBucket() {
			last = bucket{last.hi, b.GetUpperBound(), float64(b.GetCumulativeCount()) - last.upto, float64(b.GetCumulativeCount())}
			bs = append(bs, last)
		}
		return quantileOf(bs, float64(written(h).GetSampleCount()), q, false)
	}}
}

// newNative has the factor and the number of buckets that Prometheus shows as an example.
func newNative() instance {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "latency_seconds", NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
	})
	return instance{observe(h), func(q float64) float64 {
		m := written(h)
		var counts []float64
		var first, i int
		var n int64
		d := m.GetPositiveDelta()
		for k, s := range m.GetPositiveSpan() {
			if k == 0 {
				first = int(s.GetOffset())
			} else {
				counts = append(counts, make([]float64, s.GetOffset())...)
			}
			for range s.GetLength() {
				n += d[i]
				i++
				counts = append(counts, float64(n))
			}
		}
		return quantileOf(exponential(m.GetSchema(), first-1, counts), float64(m.GetSampleCount()), q, true)
	}}
}

func observe(h prometheus.Histogram) func(xs []float64) {
	return func(xs []float64) {
		for _, x := range xs {
			h.Observe(x)
		}
	}
}

func written(h prometheus.Histogram) *dto.Histogram {
	var m dto.Metric
	check(h.Write(&m))
	return m.GetHistogram()
}

// newOpenTelemetry has the buckets and the scale that the specification gives as defaults.
func newOpenTelemetry() instance {
	reader := metric.NewManualReader()
	p := metric.NewMeterProvider(metric.WithReader(reader), metric.WithView(metric.NewView(
		metric.Instrument{Name: "latency"},
		metric.Stream{Aggregation: metric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}},
	)))
	h := must(p.Meter("bench").Float64Histogram("latency"))
	ctx := context.Background()
	return instance{func(xs []float64) {
		for _, x := range xs {
			h.Record(ctx, x)
		}
	}, func(q float64) float64 {
		var m metricdata.ResourceMetrics
		check(reader.Collect(ctx, &m))
		d := m.ScopeMetrics[0].Metrics[0].Data.(metricdata.ExponentialHistogram[float64]).DataPoints[0]
		counts := make([]float64, len(d.PositiveBucket.Counts))
		for i, n := range d.PositiveBucket.Counts {
			counts[i] = float64(n)
		}
		return quantileOf(exponential(d.Scale, int(d.PositiveBucket.Offset), counts), float64(d.Count), q, true)
	}}
}

func newVegeta() instance {
	var mu sync.Mutex
	var m vegeta.Metrics
	at := time.Now()
	return instance{func(xs []float64) {
		r := &vegeta.Result{Code: 200, Timestamp: at}
		for _, x := range xs {
			r.Latency = time.Duration(x * 1e9)
			mu.Lock()
			m.Add(r)
			mu.Unlock()
		}
	}, func(q float64) float64 { return m.Latencies.Quantile(q).Seconds() }}
}

func newFloor() instance {
	return instance{fill: func(xs []float64) {
		line := new(struct {
			n atomic.Uint64
			_ [120]byte
		})
		for range xs {
			line.n.Add(1)
		}
	}}
}

// A bucket counts the values in (lo, hi]; upto is how many are not above hi.
type bucket struct{ lo, hi, n, upto float64 }

// exponential is the buckets of base 2^(2^−scale), of which the first begins at base^first.
func exponential(scale int32, first int, counts []float64) []bucket {
	bs := make([]bucket, len(counts))
	upto := 0.0
	for i, n := range counts {
		upto += n
		edge := func(k int) float64 { return math.Exp2(math.Ldexp(float64(k), -int(scale))) }
		bs[i] = bucket{edge(first + i), edge(first + i + 1), n, upto}
	}
	return bs
}

// quantileOf is what a query of Prometheus makes of buckets: on the straight line through a bucket, or on the geometric
// one, and the last edge for what is above it.
func quantileOf(bs []bucket, n, q float64, geometric bool) float64 {
	for _, b := range bs {
		if b.n == 0 || b.upto < q*n {
			continue
		}
		t := (q*n - (b.upto - b.n)) / b.n
		if geometric {
			return b.lo * math.Pow(b.hi/b.lo, t)
		}
		return b.lo + (b.hi-b.lo)*t
	}
	return bs[len(bs)-1].hi
}

func must[T any](x T, err error) T {
	check(err)
	return x
}

// check is for errors that the values here cannot make.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
