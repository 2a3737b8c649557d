package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodputkit/goodputkit/goodput/admission"
)

// What admission control does, for Prometheus. What it is worth is in the metrics of the monitor.
var (
	enabled  = prometheus.NewDesc("admission_enabled", "1 while admission control is on.", nil, nil)
	stalled  = prometheus.NewDesc("admission_stalled", "1 while nothing comes back from the endpoint although work is in flight.", nil, nil)
	waiting  = prometheus.NewDesc("admission_waiting_requests", "Requests that wait to be sent.", nil, nil)
	tokens   = prometheus.NewDesc("admission_in_flight_tokens", "Tokens in flight: prompts and most output.", nil, nil)
	limit    = prometheus.NewDesc("admission_limit_tokens", "The most tokens in flight; +Inf: no limit.", nil, nil)
	offered  = prometheus.NewDesc("admission_offered_requests_total", "Requests that came while admission control was on.", nil, nil)
	admitted = prometheus.NewDesc("admission_admitted_requests_total", "Requests that were sent to the endpoint.", nil, nil)
	degraded = prometheus.NewDesc("admission_degraded_requests_total", "Admitted requests that got less than they asked for.", nil, nil)
	givenUp  = prometheus.NewDesc("admission_given_up_requests_total", "Requests that waited, and whose client went away or whose time was over.", nil, nil)
	refused  = prometheus.NewDesc("admission_refused_requests_total", "Requests that were refused, by reason.", []string{"reason"}, nil)
)

// Describe implements [prometheus.Collector].
func (g *gateway) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(g, out) }

// Collect implements [prometheus.Collector].
func (g *gateway) Collect(out chan<- prometheus.Metric) {
	st := g.controller.State()
	is := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	gauge := func(d *prometheus.Desc, v float64) { out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge(enabled, is(g.on.Load()))
	gauge(stalled, is(st.Stalled))
	gauge(waiting, float64(st.Waiting))
	gauge(tokens, st.Tokens)
	gauge(limit, st.Limit)
	count(offered, st.Offered)
	count(admitted, st.Admitted)
	count(degraded, st.Degraded)
	count(givenUp, st.Removed)
	for _, reason := range admission.Reasons() { // those that there were none of, too: a rate needs a first value
		count(refused, st.Refused[reason], string(reason))
	}
}
