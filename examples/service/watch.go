package main

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/goodputkit/goodputkit/goodput/goodputhttp"
	"github.com/goodputkit/goodputkit/goodput/goodputprom"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// watched is an API whose goodput is watched.
type watched struct {
	http.Handler
	monitor *monitor.Monitor
	metrics *prometheus.Registry
}

// watch has an API watched by an SLO, with error budgets of a period. This is what to copy.
func watch(api http.Handler, s slo.SLO, period time.Duration, log *slog.Logger) (*watched, error) {
	m, err := monitor.New(s, monitor.WithPeriod(period), monitor.WithLogger(log)) // counts, and logs what alerts do
	if err != nil {
		return nil, err
	}
	c := goodputprom.New(m)
	metrics := prometheus.NewRegistry() // a service that has metrics already registers c beside them
	metrics.MustRegister(c)
	// The monitor hears of each request from its beginning, for the counters; the collector gets its record at its end, for
	// the histograms.
	measured := goodputhttp.NewMiddleware(goodputhttp.Config{Monitor: m, Sink: c, Counter: goodputhttp.ChatCounter})

	mux := http.NewServeMux()
	mux.Handle("/v1/chat/completions", measured.Handler(api)) // what the SLO is about
	mux.Handle("/v1/", api)
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.Handle("/goodput", m.Handler()) // for this machine alone
	return &watched{mux, m, metrics}, nil
}
