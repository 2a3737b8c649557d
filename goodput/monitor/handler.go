package monitor

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed page.html
var pageHTML []byte

// A HandlerOption changes what a [Monitor.Handler] answers to.
type HandlerOption func(*handler)

type handler struct {
	m      *Monitor
	remote bool
	hosts  []string // lower case, without a port
}

// AllowRemote answers requests from other machines too. The names in hosts, without a port, are those by which it is
// reached (loopback names always do); with none of them any Host header will do, and then whoever lures a user's browser to a page of his own can read the
// state. There is no authentication: put that in front.
func AllowRemote(hosts ...string) HandlerOption {
	return func(h *handler) {
		h.remote = true
		for _, host := range hosts {
			h.hosts = append(h.hosts, hostOf(host))
		}
	}
}

// Handler shows the state to whoever is on the same machine. Mounted at any path, it answers GET and HEAD by the query alone:
//
//	(none)                        a page that shows the state and its charts, and keeps itself up to date
//	?format=json                  the [State]
//	?format=series&window=10m     the [Series] of a window: a Go duration from 1s to 8928h; 10m without one
//
// An Accept header that asks for application/json alone gets the State without a query. Durations are in seconds, under keys that
// end in _s, and rates in requests/s and tokens/s, under keys that end in _rps and _tps, as in a report's JSON.
//
// A request from an address that is not loopback, or that a proxy has forwarded, is refused (403) unless [AllowRemote] allows it; so is one whose Host header is not a loopback name, for that is how a page from
// elsewhere reaches a server on the user's machine by a name of its own (DNS rebinding). A Unix socket is the same machine.
// A proxy on this machine that does not say that it forwards cannot be told from its users: let it have no route to this.
func (m *Monitor) Handler(opts ...HandlerOption) http.Handler {
	h := &handler{m: m}
	for _, o := range opts {
		o(h)
	}
	return h
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch {
	case !h.allowed(r):
		http.Error(w, "the state is for this machine alone", http.StatusForbidden)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	q := r.URL.Query()
	switch format := q.Get("format"); {
	case format == "json", format == "" && r.Header.Get("Accept") == "application/json":
		answerJSON(w, h.m.State())
	case format == "series":
		d := 10 * time.Minute
		if text := q.Get("window"); text != "" {
			var err error
			if d, err = time.ParseDuration(text); err != nil {
				http.Error(w, "window is no duration, such as 10m", http.StatusBadRequest)
				return
			}
		}
		s, err := h.m.Series(d)
		if err != nil {
			http.Error(w, "window: "+err.Error(), http.StatusBadRequest)
			return
		}
		answerJSON(w, s)
	case format == "":
		head.Set("Content-Type", "text/html; charset=utf-8")
		head.Set("Content-Security-Policy", policy())
		w.Write(pageHTML)
	default:
		http.Error(w, "format is json or series", http.StatusBadRequest)
	}
}

func answerJSON(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(b)
}

// policy lets the page do what is in it: its own style and script, by their hashes, and asking its own server.
var policy = sync.OnceValue(func() string {
	return "default-src 'none'; connect-src 'self'; style-src " + hashOf("style") + "; script-src " + hashOf("script") +
		"; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
})

// hashOf is the hash of the page's only element of that name.
func hashOf(element string) string {
	_, text, _ := strings.Cut(string(pageHTML), "<"+element+">")
	text, _, _ = strings.Cut(text, "</"+element+">")
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// forwarded are the headers by which proxies say that a request is not their own.
var forwarded = []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"}

func (h *handler) allowed(r *http.Request) bool {
	host := hostOf(r.Host)
	if h.remote {
		return len(h.hosts) == 0 || loopbackName(host) || slices.Contains(h.hosts, host)
	}
	for _, key := range forwarded { // any line at all: the client can have sent an empty one ahead of the proxy's
		if len(r.Header[key]) > 0 {
			return false
		}
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local.Network() == "unix" {
		return true
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback() && loopbackName(host)
}

// hostOf is a Host header's name, in lower case and without its port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

func loopbackName(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
