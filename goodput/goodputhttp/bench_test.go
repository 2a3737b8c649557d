package goodputhttp

import (
	"net/http"
	"net/http/httptest"
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

// BenchmarkOverhead times a handler as it is and wrapped, in turns of the same run, and reports what the wrapping costs: of
// a request that writes and flushes nothing (ns/request), and of a write with a flush behind it (ns/write).
func BenchmarkOverhead(b *testing.B) {
	promise := slo.MustParse("ttft p95 < 800ms, error_rate < 1%")
	m, err := monitor.New(promise)
	require.NoError(b, err)
	for name, c := range map[string]Config{
		"nobody":      {Sink: SinkFunc(func(*goodput.Record) {})},
		"accumulator": {Sink: goodput.NewAccumulator(promise)},
		"monitor":     {Monitor: m},
	} {
		b.Run(name, func(b *testing.B) {
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
			mw := NewMiddleware(c)
			none, many := handler(0), handler(events)
			req := httptest.NewRequest("GET", "/", nil)
			w := &nowhere{http.Header{}}
			time1 := func(h http.Handler) time.Duration {
				const n = 20
				start := time.Now()
				for range n {
					h.ServeHTTP(w, req)
				}
				return time.Since(start) / n
			}
			wrappedNone, wrappedMany := mw.Handler(none), mw.Handler(many)
			var request, write time.Duration
			for b.Loop() {
				one := time1(wrappedNone) - time1(none)
				request += one
				write += (time1(wrappedMany) - time1(many) - one) / events
			}
			b.ReportMetric(float64(request)/float64(b.N), "ns/request")
			b.ReportMetric(float64(write)/float64(b.N), "ns/write")
			b.ReportMetric(0, "ns/op")
		})
	}
}

var eventStream = []string{"text/event-stream"}
