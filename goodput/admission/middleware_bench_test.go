package admission

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// nowhere is a ResponseWriter that costs next to nothing.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w *nowhere) WriteHeader(int)             {}
func (w *nowhere) Flush()                      {}
func (w *nowhere) FlushError() error           { return nil }

// BenchmarkMiddleware is a request that writes nothing, and one more event of a stream, with its flush, each with what the
// scheduler does for it. Most of an event is gjson's way through it.
func BenchmarkMiddleware(b *testing.B) {
	event := []byte(`data: {"id":"chatcmpl-0","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}` + "\n\n")
	c := controller(b, Config{})
	n := 0
	h := c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{"text/event-stream"}
		for range n {
			_, _ = w.Write(event)
			w.(http.Flusher).Flush()
		}
	}), MiddlewareConfig{})
	w, req := &nowhere{http.Header{}}, httptest.NewRequest("POST", "/", nil)
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h.ServeHTTP(w, req)
		}
	})
	b.Run("event", func(b *testing.B) {
		b.ReportAllocs()
		n = b.N
		h.ServeHTTP(w, req)
	})
}
