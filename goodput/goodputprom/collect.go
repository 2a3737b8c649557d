package goodputprom

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

type descriptions struct {
	offered, decided, outcome, good, lost *prometheus.Desc
	objective, within, target             *prometheus.Desc
	input, output, goodInput, goodOutput  *prometheus.Desc
	inFlight, overdue, otherClasses       *prometheus.Desc
}

func describe(constant prometheus.Labels) (d descriptions) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("goodput_"+name, help, append([]string{"class", "slo"}, labels...), constant)
	}
	d.offered = desc("offered_requests_total", "Requests that began.")
	d.decided = desc("decided_requests_total", "Requests that are good or bad: ended, or in flight past a deadline.")
	d.outcome = desc("requests_total", "Requests that ended, by outcome.", "outcome")
	d.good = desc("good_requests_total", "Successful requests that meet every per-request objective of the SLO.")
	d.lost = desc("lost_requests_total", "Requests that ended and are not good, each under one cause: its outcome, or the objective that it misses first.", "cause")
	d.objective = desc("objective_requests_total", "Requests that the objective is about: the decided, less those that it excludes.", "objective")
	d.within = desc("objective_within_requests_total", "Of the requests that the objective is about those that hold it.", "objective")
	d.target = desc("objective_target_ratio", "Share of the requests that the objective asks for.", "objective")
	d.input = desc("input_tokens_total", "Input tokens of requests that ended.")
	d.output = desc("output_tokens_total", "Output tokens of requests that ended.")
	d.goodInput = desc("good_input_tokens_total", "Input tokens of good requests.")
	d.goodOutput = desc("good_output_tokens_total", "Output tokens of good requests.")
	d.inFlight = desc("in_flight_requests", "Requests in flight.")
	d.overdue = desc("overdue_requests", "Requests in flight past a deadline of the SLO, which are bad already.")
	d.otherClasses = prometheus.NewDesc("goodput_other_class_requests_total",
		"Requests that are counted under the class other, because there was no room for their own.", nil, constant)
	return d
}

func (d *descriptions) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.offered, d.decided, d.outcome, d.good, d.lost, d.objective, d.within, d.target,
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
	counted := c.monitor.Counters()
	var others uint64
	if !slices.ContainsFunc(counted.Classes, func(k monitor.ClassCounters) bool { return k.Class == slo.DefaultClass }) {
		counted.Classes = append(counted.Classes, empty(slo.DefaultClass, c.monitor.SLO(slo.DefaultClass)))
	}
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

// empty is a class without a request yet: its series are there, so that an increase from 0 is seen.
func empty(class string, s slo.SLO) monitor.ClassCounters {
	k := monitor.ClassCounters{Class: class}
	for _, o := range s.Objectives {
		if !o.Metric.Population() {
			k.Objectives = append(k.Objectives, monitor.ObjectiveCounters{Objective: o.String()})
		}
	}
	return k
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
	each := k.Objectives
	for _, o := range judged.Objectives {
		about, within := k.Recorded, k.Outcomes[goodput.Success]
		switch {
		case o.Metric == slo.Attainment:
			about, within = k.Decided, k.Good
		case !o.Metric.Population():
			if len(each) == 0 || each[0].Objective != o.String() {
				panic(fmt.Sprintf("goodputprom: the monitor does not count %s", o))
			}
			about, within = each[0].Decided, each[0].Within
			s.count(s.d.lost, each[0].First, o.String())
			each = each[1:]
		}
		s.count(s.d.objective, about, o.String())
		s.count(s.d.within, within, o.String())
		s.gauge(s.d.target, exposition.Target(o), o.String())
	}
	s.count(s.d.input, k.InputTokens)
	s.count(s.d.output, k.OutputTokens)
	s.count(s.d.goodInput, k.GoodInputTokens)
	s.count(s.d.goodOutput, k.GoodOutputTokens)
	s.gauge(s.d.inFlight, float64(k.InFlight))
	s.gauge(s.d.overdue, float64(k.Overdue))
}
