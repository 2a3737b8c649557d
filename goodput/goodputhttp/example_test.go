package goodputhttp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/goodputhttp"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// A service that streams measures what it answers: each request once, its tokens when they leave.
func Example() {
	acc := goodput.NewAccumulator(slo.MustParse("ttft p95 < 800ms, error_rate < 1%"))
	m := goodputhttp.NewMiddleware(goodputhttp.Config{
		Sink:  acc,
		Class: func(r *http.Request) string { return r.URL.Path[1:] },
	})
	mux := http.NewServeMux()
	mux.HandleFunc("/chat", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, token := range []string{"Good", "put"} {
			fmt.Fprintf(w, "data: %s\n\n", token)
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, "data: [DONE]\n\n")
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	service := httptest.NewServer(m.Handler(mux))

	for _, path := range []string{"/chat", "/chat", "/broken"} {
		if resp, err := http.Post(service.URL+path, "", nil); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	service.Close() // waits for the handlers

	r := acc.Report()
	fmt.Println(r.Offered, "offered,", r.Good, "good,", r.Outcomes[goodput.ConnectionError], "aborted")
	fmt.Println(r.Flow.OutputTokens, "tokens")
	// Output:
	// 3 offered, 2 good, 1 aborted
	// 4 tokens
}

// The same of what a client asks others for.
func ExampleNewTransport() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer service.Close()

	acc := goodput.NewAccumulator(slo.MustParse("e2e p99 < 250ms, error_rate < 1%"))
	client := &http.Client{Transport: goodputhttp.NewTransport(nil, goodputhttp.Config{Sink: acc})}
	resp, err := client.Get(service.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(acc.Report().Outcomes[goodput.Rejected], "rejected")
	// Output: 1 rejected
}

// A handler that knows what it generates need not have its answer read.
func ExampleTallyOf() {
	acc := goodput.NewAccumulator(slo.MustParse("ttft p95 < 800ms"))
	m := goodputhttp.NewMiddleware(goodputhttp.Config{Sink: acc})
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := goodputhttp.TallyOf(w)
		io.WriteString(w, "Goodput is")
		t.Token(3) // counts from the flush
		w.(http.Flusher).Flush()
		t.Usage(12, 3)
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	r := acc.Report()
	fmt.Println(r.Flow.InputTokens, r.Flow.OutputTokens)
	// Output: 12 3
}

// One middleware feeds the live counts, a report, and a file of records for later questions.
func ExampleTee() {
	promise := slo.MustParse("e2e p95 < 800ms, error_rate < 1%")
	m, err := monitor.New(promise)
	if err != nil {
		fmt.Println(err)
		return
	}
	acc := goodput.NewAccumulator(promise)
	var text bytes.Buffer // or a file
	file, err := goodput.NewRecordWriter(&text, goodput.RecordsHeader{Start: time.Now(), SLO: promise})
	if err != nil {
		fmt.Println(err)
		return
	}
	records := goodputhttp.SinkFunc(func(r *goodput.Record) { _ = file.Write(r) }) // Close says what went wrong
	service := goodputhttp.NewMiddleware(goodputhttp.Config{Sink: goodputhttp.Tee(m, acc, records)}).Handler(http.NotFoundHandler())
	service.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	err = file.Close(goodput.RecordsFooter{Complete: true})

	fmt.Println(m.State().Windows[0].Offered, acc.Report().Offered, bytes.Count(text.Bytes(), []byte(`"client_error"`)), err)
	// Output: 1 1 1 <nil>
}
