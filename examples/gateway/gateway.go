package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"path"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/goodput/goodputhttp"
	"github.com/goodputkit/goodputkit/goodput/goodputprom"
	"github.com/goodputkit/goodputkit/goodput/monitor"
)

// The classes under which requests are booked, so that the live page and the metrics have what came with admission control
// beside what came without.
const (
	defended   = "admission"
	bestEffort = "best_effort"
)

// gateway stands before an endpoint.
type gateway struct {
	api        http.Handler // for clients
	admin      http.Handler // for the operator
	monitor    *monitor.Monitor
	controller *admission.Controller
	transport  *http.Transport
	on         atomic.Bool // admission control
}

// newGateway is a gateway that dials its endpoint by dial.
func newGateway(o options, dial func(ctx context.Context, network, addr string) (net.Conn, error), log *slog.Logger) (*gateway, error) {
	g := &gateway{transport: newTransport(o, dial)}
	g.on.Store(!o.off)
	var err error
	if g.monitor, err = monitor.New(o.slo, monitor.WithPeriod(o.period), monitor.WithLogger(log)); err != nil {
		return nil, err
	}
	if g.controller, err = admission.New(admission.Config{SLO: o.slo, Classes: o.ladders, MaxWaiting: o.maxWaiting, StallAfter: o.stallAfter}); err != nil {
		return nil, err
	}
	collector := goodputprom.New(g.monitor)
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collector, g)

	// From the outside in: what each request is about, its record, its bounds, its admission, its way to the endpoint.
	proxy := newProxy(o, g.transport, log)
	sizes := admission.ChatSizes{MaxBody: o.maxBody}
	controlled := g.controller.Middleware(proxy, admission.MiddlewareConfig{
		Request: func(req *http.Request) admission.Request {
			r := sizes.Request(req)
			if req.GetBody != nil { // it is in memory, and once is enough
				req.Body, _ = req.GetBody()
			}
			return r
		},
		Headers: admission.Headers{Class: o.classHeader},
		Degrade: sizes.Degrade, // of a class without a ladder nothing is taken
	})
	measured := goodputhttp.NewMiddleware(goodputhttp.Config{
		Monitor: g.monitor, Sink: collector, Counter: goodputhttp.ChatCounter,
		Class: func(req *http.Request) string {
			if isDefended(req) {
				return defended
			}
			return bestEffort
		},
	})
	served := g.begin(o, measured.Handler(bounded(o, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if isDefended(req) {
			controlled.ServeHTTP(w, req)
		} else {
			proxy.ServeHTTP(w, req)
		}
	}))))

	others := g.begin(o, bounded(o, proxy))
	g.api = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if generates(req) {
			served.ServeHTTP(w, req)
		} else {
			others.ServeHTTP(w, req)
		}
	})

	admin := http.NewServeMux()
	admin.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	admin.Handle("/goodput", g.monitor.Handler())
	admin.HandleFunc("GET /admission", g.show)
	admin.HandleFunc("PUT /admission", g.set)
	g.admin = here(admin)
	return g, nil
}

// generates says whether a request is one that the SLO is about. Its path is read as an endpoint may read it: /v1/chat%2Fcompletions/ is
// no way around admission control.
func generates(req *http.Request) bool {
	if req.Method != http.MethodPost {
		return false
	}
	switch path.Clean("/" + req.URL.Path) {
	case "/v1/chat/completions", "/v1/completions", "/v1/responses":
		return true
	}
	return false
}

const lastWord = time.Second // for what is to be said when a request's time is over

type defendedKey struct{}

// isDefended says whether a request comes under admission control.
func isDefended(req *http.Request) bool { return req.Context().Value(defendedKey{}).(bool) }

// begin decides whether a request comes under admission control, and ends it when its time is over, also where its client reads
// nothing of the answer: a context ends no write that waits for that.
func (g *gateway) begin(o options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), o.timeout)
		defer cancel()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(o.timeout + lastWord))
		next.ServeHTTP(w, req.WithContext(context.WithValue(ctx, defendedKey{}, g.on.Load())))
	})
}

// show answers with whether admission control is on, and what the controller does.
func (g *gateway) show(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct {
		On        bool            `json:"on"`
		Admission admission.State `json:"admission"`
	}{g.on.Load(), g.controller.State()})
}

// set switches. It is a PUT because a page from elsewhere can have a browser send a GET or a POST here, and not that.
func (g *gateway) set(w http.ResponseWriter, req *http.Request) {
	on, err := strconv.ParseBool(req.URL.Query().Get("on"))
	if err != nil {
		http.Error(w, "on is true or false", http.StatusBadRequest)
		return
	}
	g.on.Store(on)
	g.show(w, req)
}

// here refuses a page from elsewhere that reaches this machine by a name of its own.
func here(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !isLoopback(req.Host) {
			http.Error(w, "for this machine alone", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, req)
	})
}
