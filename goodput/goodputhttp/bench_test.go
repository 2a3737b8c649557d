package goodputhttp

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// nowhere is a ResponseWriter that costs next to nothing, with what net/http's has.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w *nowhere) WriteHeader(int)             {}
func (w *nowhere) Flush()                      {}
func (w *nowhere) FlushError() error           { return nil }

var eventStream = []string{"text/event-stream"}

// BenchmarkOverhead times a handler as it is and wrapped, with each of those who can take the records, all in turns of the same
// run, and reports the medians of what the wrapping costs: of a request that writes and flushes nothing (ns/request), and of a
// write with a flush behind it (ns/write). A write has a share of what its record costs at the request's end: an accumulator
// takes each step between tokens, a monitor none. Beside them the cost of one reading of the clock (ns/clock), which depends
// on the machine: a write takes one, a request one or two more.
func BenchmarkOverhead(b *testing.B) {
	const events = 100
	event := []byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Good\"},\"finish_reason\":null}]}\n\n")
	handler := func(events int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = eventStream
			f := w.(http.Flusher)
			for range events {
				w.Write(event)
				f.Flush()
			}
		})
	}
	promise := slo.MustParse("ttft p95 < 800ms, error_rate < 1%")
	m, err := monitor.New(promise)
	require.NoError(b, err)
	type subject struct {
		name           string
		none, many     http.Handler
		request, write []float64
	}
	none, many := handler(0), handler(events)
	var all []*subject
	for _, one := range []struct {
		name   string
		config Config
	}{
		{"nobody", Config{Sink: SinkFunc(func(*goodput.Record) {})}},
		{"accumulator", Config{Sink: goodput.NewAccumulator(promise)}},
		{"monitor", Config{Monitor: m}},
	} {
		mw := NewMiddleware(one.config)
		all = append(all, &subject{name: one.name, none: mw.Handler(none), many: mw.Handler(many)})
	}
	req := httptest.NewRequest("GET", "/", nil)
	w := &nowhere{http.Header{}}
	timed := func(n int, h http.Handler) float64 {
		start := time.Now()
		for range n {
			h.ServeHTTP(w, req)
		}
		return float64(time.Since(start)) / float64(n)
	}
	var clock []float64
	for b.Loop() {
		start := time.Now()
		for range events {
			_ = time.Since(start)
		}
		clock = append(clock, float64(time.Since(start))/events)
		bareNone, bareMany := timed(100, none), timed(50, many)
		for _, s := range all {
			request := timed(100, s.none) - bareNone
			s.request = append(s.request, request)
			s.write = append(s.write, (timed(50, s.many)-bareMany-request)/events)
		}
	}
	median := func(of []float64) float64 {
		slices.Sort(of)
		return of[len(of)/2]
	}
	for _, s := range all {
		b.ReportMetric(median(s.request), s.name+"-ns/request")
		b.ReportMetric(median(s.write), s.name+"-ns/write")
	}
	b.ReportMetric(median(clock), "ns/clock")
	b.ReportMetric(0, "ns/op")
}
