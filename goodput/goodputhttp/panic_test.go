package goodputhttp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// broken is a counter that panics, or hands on to none.
type broken struct{ count, end bool }

func (c broken) Count(*Tally, []byte) {
	if c.count {
		panic("Count")
	}
}

func (c broken) End(*Tally) {
	if c.end {
		panic("End")
	}
}

// panicking are configurations of which one function panics, by its name.
func panicking() map[string]Config {
	counter := func(c TokenCounter) func(*http.Request, http.Header) TokenCounter {
		return func(*http.Request, http.Header) TokenCounter { return c }
	}
	return map[string]Config{
		"Class":        {Class: func(*http.Request) string { panic("Class") }, OutputTokens: func(*http.Request, http.Header) int { return 1 }},
		"InputTokens":  {InputTokens: func(*http.Request) int { panic("InputTokens") }},
		"OutputTokens": {OutputTokens: func(*http.Request, http.Header) int { panic("OutputTokens") }},
		"Counter":      {Counter: func(*http.Request, http.Header) TokenCounter { panic("Counter") }},
		"Count":        {Counter: counter(broken{count: true})},
		"End":          {Counter: counter(broken{end: true})},
	}
}

// A function of the caller's own that panics is his to see to; the request is booked once, and in flight no more.
func TestPanicsOfTheConfig(t *testing.T) {
	for name, c := range panicking() {
		for _, way := range []string{"server", "silent server", "client", "client that closes"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				b, m := newBooks(), newMonitor(t, "ttft p95 < 1s")
				c.Sink, c.Monitor = b, m
				counts := name == "Count" || name == "End"
				var try func()
				switch way {
				case "server", "silent server":
					h := NewMiddleware(c).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						if way == "server" {
							_, _ = io.WriteString(w, "text")
						}
					}))
					try = func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) }
					if name == "Count" && way == "silent server" {
						return
					}
				default:
					s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "text") }))
					defer s.Close()
					tr := NewTransport(nil, c)
					defer tr.CloseIdleConnections()
					if counts && way == "client that closes" {
						return
					}
					try = func() {
						req, err := http.NewRequest("GET", s.URL, nil)
						require.NoError(t, err)
						resp, err := tr.RoundTrip(req)
						require.NoError(t, err)
						defer resp.Body.Close()
						if way == "client" {
							_, _ = io.ReadAll(resp.Body)
						}
					}
				}
				require.PanicsWithValue(t, name, try)
				r := b.one(t)
				if name != "InputTokens" && name != "OutputTokens" {
					require.Equal(t, goodput.ServerError, r.Outcome, r.Detail)
				}
				n := m.Counters().Classes[0]
				require.Zero(t, n.InFlight)
				require.EqualValues(t, 1, n.Offered)
				require.EqualValues(t, 1, n.Recorded)
			})
		}
	}
}
