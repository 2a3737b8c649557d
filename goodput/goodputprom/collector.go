package goodputprom

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// maxClassName is the length, in bytes, of the longest class name that is a label; longer ones are "other".
const maxClassName = 128

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

	classes atomic.Pointer[table] // replaced, under mu, to add one
	mu      sync.Mutex
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
	c.label = exposition.Labels(m.SLO(m.SLONames()[0]), m.Classes())
	var slos []slo.SLO
	for _, name := range m.SLONames() {
		s := m.SLO(name)
		slos = append(slos, s)
		c.metrics = append(c.metrics, s.Metrics()...)
	}
	c.metrics = slices.DeleteFunc(c.metrics, slo.Metric.Population)
	slices.Sort(c.metrics)
	c.metrics = slices.Compact(c.metrics)
	c.descs, c.budgets = describe(c.constant), describeBudgets(c.constant)
	for _, m := range c.metrics {
		c.histograms = append(c.histograms, newHistogram(m, exposition.Edges(m, slos...), c.constant))
	}
	t := &table{byName: map[string]class{}}
	for _, name := range m.Classes().Classes() {
		t.add(name, c.newClass(name))
	}
	c.classes.Store(t)
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

func (c *Collector) newClass(name string) class {
	of := make(class, len(c.histograms))
	label := c.label(name)
	for i, h := range c.histograms {
		of[i] = h.WithLabelValues(name, label)
	}
	return of
}

// table is the classes by name. It is never changed, but replaced by a longer one.
type table struct {
	byName map[string]class
	named  int // but for the default and other, which always have a place
}

func (t *table) add(name string, c class) {
	t.byName[name] = c
	if !alwaysPlaced(name) {
		t.named++
	}
}

func alwaysPlaced(name string) bool { return name == slo.DefaultClass || name == goodput.OtherClass }

// class is the class of that name, made where it is new and there is room for it, and else "other".
func (c *Collector) class(name string) class {
	if name == "" {
		name = slo.DefaultClass
	}
	t := c.classes.Load()
	if of, ok := t.byName[name]; ok {
		return of
	}
	if t.named >= c.maxClasses && !alwaysPlaced(name) {
		if of, ok := t.byName[goodput.OtherClass]; ok {
			return of
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addClass(name)
}

// addClass is class, with mu held.
func (c *Collector) addClass(name string) class {
	t := c.classes.Load()
	if of, ok := t.byName[name]; ok {
		return of
	}
	if !alwaysPlaced(name) && (t.named >= c.maxClasses || len(name) > maxClassName || !utf8.ValidString(name)) {
		return c.addClass(goodput.OtherClass)
	}
	longer := &table{byName: maps.Clone(t.byName), named: t.named}
	name = strings.Clone(name)
	of := c.newClass(name)
	longer.add(name, of)
	c.classes.Store(longer)
	return of
}

// Observe enters the values of a success into the histograms; any other record has none. It counts nothing, for that the
// monitor does, which has to be given the record too. It keeps nothing of the record, and allocates nothing but for the
// first of a class and for a native bucket that is new.
func (c *Collector) Observe(r *goodput.Record) {
	if r.Outcome != goodput.Success {
		return
	}
	of, values := c.class(r.Class), r.Measure()
	for i, m := range c.metrics {
		if v, ok := values.Value(m); ok {
			of[i].Observe(v)
		}
	}
}
