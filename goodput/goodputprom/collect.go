package goodputprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/internal/exporter"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

type descriptions struct {
	offered, decided, outcome, good, lost *prometheus.Desc
	objective, within, undefined, target  *prometheus.Desc
	input, output, goodInput, goodOutput  *prometheus.Desc
	inFlight, overdue, otherClasses       *prometheus.Desc
}

func describe(constant prometheus.Labels) (d descriptions) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("goodput_"+name, help, append([]string{"class", "slo"}, labels...), constant)
	}
	d.offered = desc("offered_requests_total", exporter.Offered)
	d.decided = desc("decided_requests_total", exporter.Decided)
	d.outcome = desc("requests_total", exporter.Ended, "outcome")
	d.good = desc("good_requests_total", exporter.Good)
	d.lost = desc("lost_requests_total", exporter.Lost, "cause")
	d.objective = desc("objective_requests_total", exporter.Requests, "objective")
	d.within = desc("objective_within_requests_total", exporter.Within, "objective")
	d.undefined = desc("objective_undefined_requests_total", exporter.Undefined, "objective")
	d.target = desc("objective_target_ratio", exporter.Target, "objective")
	d.input = desc("input_tokens_total", "Input tokens of requests that ended.")
	d.output = desc("output_tokens_total", "Output tokens of requests that ended.")
	d.goodInput = desc("good_input_tokens_total", "Input tokens of good requests.")
	d.goodOutput = desc("good_output_tokens_total", "Output tokens of good requests.")
	d.inFlight = desc("in_flight_requests", exporter.InFlight)
	d.overdue = desc("overdue_requests", exporter.Overdue)
	d.otherClasses = prometheus.NewDesc("goodput_other_class_requests_total",
		exporter.OtherClasses, nil, constant)
	return d
}

func (d *descriptions) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.offered, d.decided, d.outcome, d.good, d.lost, d.objective, d.within, d.undefined, d.target,
		d.input, d.output, d.goodInput, d.goodOutput, d.inFlight, d.overdue, d.otherClasses}
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs.all() {
		out <- d
	}
	for _, d := range []*prometheus.Desc{c.budgets.burn, c.budgets.left, c.budgets.alert} {
		out <- d
	}
	for _, h := range c.histograms {
		h.Describe(out)
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	counted := exporter.Counters(c.monitor)
	var others uint64
	for i := range counted.Classes {
		k := &counted.Classes[i]
		others += k.OtherClasses
		s := c.monitor.SLO(k.Class)
		(&series{out, &c.descs, counted.Since, []string{k.Class, c.label(k.Class)}}).class(k, s)
	}
	out <- prometheus.MustNewConstMetricWithCreatedTimestamp(c.descs.otherClasses, prometheus.CounterValue, float64(others), counted.Since)
	c.collectBudgets(out)
	for _, h := range c.histograms {
		h.Collect(out)
	}
}

// series writes those of a class.
type series struct {
	out    chan<- prometheus.Metric
	d      *descriptions
	since  time.Time
	labels []string
}

func (s *series) count(d *prometheus.Desc, n uint64, label ...string) {
	labels := append(s.labels[:len(s.labels):len(s.labels)], label...)
	s.out <- prometheus.MustNewConstMetricWithCreatedTimestamp(d, prometheus.CounterValue, float64(n), s.since, labels...)
}

func (s *series) gauge(d *prometheus.Desc, v float64, label ...string) {
	labels := append(s.labels[:len(s.labels):len(s.labels)], label...)
	s.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (s *series) class(k *monitor.ClassCounters, judged slo.SLO) {
	s.count(s.d.offered, k.Offered)
	s.count(s.d.decided, k.Decided)
	s.count(s.d.good, k.Good)
	for _, o := range goodput.Outcomes() {
		s.count(s.d.outcome, k.Outcomes[o], o.String())
		if o != goodput.Success && o.Throughput() {
			s.count(s.d.lost, k.Outcomes[o], o.String())
		}
	}
	for _, o := range exporter.Objectives(k, judged) {
		if o.Loses {
			s.count(s.d.lost, o.Lost, o.Text)
			s.count(s.d.undefined, o.Undefined, o.Text)
		}
		s.count(s.d.objective, o.Requests, o.Text)
		s.count(s.d.within, o.Within, o.Text)
		s.gauge(s.d.target, o.Target, o.Text)
	}
	s.count(s.d.input, k.InputTokens)
	s.count(s.d.output, k.OutputTokens)
	s.count(s.d.goodInput, k.GoodInputTokens)
	s.count(s.d.goodOutput, k.GoodOutputTokens)
	s.gauge(s.d.inFlight, float64(k.InFlight))
	s.gauge(s.d.overdue, float64(k.Overdue))
}
