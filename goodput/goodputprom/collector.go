package goodputprom

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/internal/classtable"
	"github.com/goodputkit/goodputkit/goodput/internal/exporter"
	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// A Collector is a [prometheus.Collector] of what a monitor counts, with histograms of what Observe gives it. All
// methods may be called from any goroutine. Use [New].
type Collector struct {
	monitor    *monitor.Monitor
	maxClasses int
	label      func(class string) string // value of the label slo
	metrics    []slo.Metric              // that have a histogram
	constant   prometheus.Labels

	histograms []*prometheus.HistogramVec // one for each of metrics
	descs      descriptions
	budgets    budgetDescriptions

	mu      sync.Mutex
	classes classtable.Table[class] // made under mu
}

// An Option changes a Collector at its construction.
type Option func(*Collector)

// WithMaxClasses bounds how many classes have histograms of their own, beside the default and those that the monitor's
// set names; the default is [goodput.MaxClasses]. How many have counters of their own the monitor decides: see
// [monitor.WithMaxClasses].
func WithMaxClasses(n int) Option { return func(c *Collector) { c.maxClasses = n } }

// WithMetrics adds histograms of metrics on which there is no objective.
func WithMetrics(metrics ...slo.Metric) Option {
	return func(c *Collector) { c.metrics = append(c.metrics, metrics...) }
}

// WithConstLabels gives every series these labels, such as the model that is served. "class", "slo", "outcome", "cause",
// "objective", "window", "alert", "severity", "state" and "le" are taken.
func WithConstLabels(labels prometheus.Labels) Option {
	return func(c *Collector) { c.constant = maps.Clone(labels) }
}

// New returns a collector of what m counts. It has to be registered.
//
// It panics if WithMetrics names a metric that no request has, if WithMaxClasses is negative, or if a label of
// WithConstLabels is taken.
func New(m *monitor.Monitor, opts ...Option) *Collector {
	c := &Collector{monitor: m, maxClasses: goodput.MaxClasses, metrics: []slo.Metric{slo.TTFT, slo.TPOT, slo.E2E}}
	for _, o := range opts {
		o(c)
	}
	if err := c.check(); err != nil {
		panic("goodputprom: " + err.Error())
	}
	slos := exporter.SLOs(m)
	c.label = exposition.Labels(slos[0], m.Classes())
	for _, s := range slos {
		c.metrics = append(c.metrics, s.Metrics()...)
	}
	c.metrics = slices.DeleteFunc(c.metrics, slo.Metric.Population)
	slices.Sort(c.metrics)
	c.metrics = slices.Compact(c.metrics)
	c.descs, c.budgets = describe(c.constant), describeBudgets(c.constant)
	for _, m := range c.metrics {
		c.histograms = append(c.histograms, newHistogram(m, exposition.Edges(m, slos...), c.constant))
	}
	c.classes.Init(c.maxClasses, m.Classes().Classes(), c.newClass)
	return c
}

var takenLabels = []string{"class", "slo", "outcome", "cause", "objective", "window", "alert", "severity", "state", "le"}

func (c *Collector) check() error {
	if c.maxClasses < 0 {
		return fmt.Errorf("WithMaxClasses: %d is negative", c.maxClasses)
	}
	for _, m := range c.metrics {
		if err := m.Validate(); err != nil {
			return fmt.Errorf("WithMetrics: %w", err)
		}
		if m.Population() {
			return fmt.Errorf("WithMetrics: %s is of a population, and no request has it", m)
		}
	}
	for name := range c.constant {
		if slices.Contains(takenLabels, name) {
			return fmt.Errorf("WithConstLabels: %q is a label of the collector's own", name)
		}
	}
	return nil
}

// class is the histograms of one class, one for each of the collector's metrics.
type class []prometheus.Observer

func (c *Collector) newClass(name string, _ int) class {
	of := make(class, len(c.histograms))
	label := c.label(name)
	for i, h := range c.histograms {
		of[i] = h.WithLabelValues(name, label)
	}
	return of
}

// Observe enters the values of a success into the histograms; any other record has none. It counts nothing, for that the
// monitor does, which has to be given the record too. It keeps nothing of the record, and allocates nothing but for the
// first of a class and for a native bucket that is new.
func (c *Collector) Observe(r *goodput.Record) {
	if r.Outcome != goodput.Success {
		return
	}
	of, _ := c.classes.Of(r.Class, &c.mu, c.newClass)
	values := r.Measure()
	for i, m := range c.metrics {
		if v, ok := values.Value(m); ok {
			of[i].Observe(v)
		}
	}
}
