package goodput_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// statusWriter remembers the status that a handler answered with.
type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// measured makes a record of each request that h answers.
func measured(acc *goodput.Accumulator, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		start := time.Now()
		answer := &statusWriter{ResponseWriter: w}
		outcome := goodput.ServerError // a panic
		defer func() {
			acc.Observe(&goodput.Record{Start: start, End: time.Since(start), Outcome: outcome})
		}()
		h.ServeHTTP(answer, req)
		switch {
		case req.Context().Err() != nil: // the client went away
			outcome = goodput.Cancelled
		case answer.code == 0: // a handler that writes nothing answers 200
			outcome = goodput.Success
		default:
			outcome = goodput.OutcomeOfStatus(answer.code, answer.Header())
		}
	})
}

// A service measures the requests that it serves: one record of each, with the outcome that its status stands for.
func ExampleOutcomeOfStatus() {
	acc := goodput.NewAccumulator(slo.MustParse("e2e p95 < 2s, error_rate < 1%"))
	service := measured(acc, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/busy":
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/nothing":
			http.NotFound(w, req)
		default:
			fmt.Fprint(w, "done")
		}
	}))
	for _, path := range []string{"/", "/", "/busy", "/nothing"} {
		service.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	r := acc.Report()
	fmt.Println(r.Outcomes[goodput.Success], r.Outcomes[goodput.Rejected], r.Outcomes[goodput.ClientError], "of", r.Offered)
	// Output: 2 1 1 of 4
}
