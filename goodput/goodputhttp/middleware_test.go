package goodputhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

var quiet = log.New(io.Discard, "", 0)

const ms = time.Millisecond

func stream(w http.ResponseWriter) http.Flusher {
	w.Header().Set("Content-Type", "text/event-stream")
	return w.(http.Flusher)
}

// What is written counts when it is flushed, and the request ends with its end marker.
func TestStreamTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBooks()
		m := NewMiddleware(Config{Sink: b, Class: func(*http.Request) string { return "chat" }})
		tr := serve(t, m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			f := stream(w)
			time.Sleep(10 * ms)
			io.WriteString(w, ": ping\n\n")
			f.Flush() // the first byte, and no token
			time.Sleep(90 * ms)
			io.WriteString(w, "data: a\n\n")
			time.Sleep(50 * ms)
			f.Flush() // at 150 ms: it could not be seen before
			time.Sleep(20 * ms)
			io.WriteString(w, "data: b\n\ndata: c\n\nda")
			require.NoError(t, http.NewResponseController(w).Flush())
			time.Sleep(30 * ms)
			io.WriteString(w, "ta: d\n\n")
			f.Flush()
			time.Sleep(40 * ms)
			io.WriteString(w, "data: [DONE]\n\n")
			f.Flush()
			time.Sleep(time.Second) // what is done after the end is none of the user's
		})))
		start := time.Now()
		resp, err := (&http.Client{Transport: tr}).Get("http://x/")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		resp.Body.Close()

		r := b.one(t)
		require.Equal(t, "chat", r.Class)
		require.Zero(t, r.Start.Sub(start))
		require.Equal(t, 10*ms, r.FirstByte)
		require.Equal(t, []goodput.Token{{At: 150 * ms}, {At: 170 * ms}, {At: 170 * ms}, {At: 200 * ms}}, r.Tokens)
		require.Equal(t, 240*ms, r.End)
		require.Equal(t, goodput.Success, r.Outcome)
	})
}

// Without a flush everything leaves when the handler returns, but for what net/http has no room to keep.
func TestTimesWithoutAFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(events, size int) goodput.Record {
			b := newBooks()
			tr := serve(t, NewMiddleware(Config{Sink: b}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-ndjson")
				for range events {
					time.Sleep(10 * ms)
					fmt.Fprintln(w, strings.Repeat("x", size))
				}
			})))
			resp, err := (&http.Client{Transport: tr}).Get("http://x/")
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			resp.Body.Close()
			return b.one(t)
		}
		r := run(3, 10)
		require.Equal(t, 30*ms, r.End)
		require.Equal(t, r.End, r.FirstByte)
		require.Equal(t, []goodput.Token{{At: 30 * ms}, {At: 30 * ms}, {At: 30 * ms}}, r.Tokens)

		r = run(40, 1000)
		require.Len(t, r.Tokens, 40)
		require.Equal(t, 400*ms, r.End)
		require.Equal(t, 70*ms, r.FirstByte, "7 kB were written by then")
		require.Equal(t, 140*ms, r.Tokens[0].At, "and 7 kB more")
		for i, token := range r.Tokens {
			written := time.Duration(i+1) * 10 * ms
			require.LessOrEqual(t, written, token.At)
			require.LessOrEqual(t, token.At, written+140*ms, "at most two buffers late")
		}
	})
}

// A request that hangs is bad at its deadline.
func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 100ms, error_rate < 1%")
		b := newBooks()
		block := make(chan struct{})
		tr := serve(t, NewMiddleware(Config{Sink: b, Monitor: m}).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f := stream(w)
			if r.URL.Path == "/quick" {
				io.WriteString(w, "data: a\n\n")
				f.Flush()
			}
			<-block
		})))
		for _, path := range []string{"quick", "hangs"} {
			go func() {
				if resp, err := (&http.Client{Transport: tr}).Get("http://x/" + path); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}()
		}
		decided := func() (uint64, uint64) {
			w, err := m.Window(time.Minute)
			require.NoError(t, err)
			require.EqualValues(t, 2, w.Offered)
			return w.Decided, w.Good
		}
		time.Sleep(99 * ms)
		n, _ := decided()
		require.Zero(t, n)
		time.Sleep(time.Second)
		n, good := decided()
		require.EqualValues(t, 1, n, "the one that has its token is not decided")
		require.Zero(t, good)
		b.none(t)
		close(block)
		synctest.Wait()
		n, good = decided()
		require.EqualValues(t, 2, n)
		require.EqualValues(t, 1, good)
	})
}

// outcomeCase is a handler, and what becomes of a request to it over a real connection.
type outcomeCase struct {
	name    string
	handler func(w http.ResponseWriter, r *http.Request)
	want    goodput.Outcome
	method  string
	close   bool // the client closes the connection after the answer
	only    int  // of the protocol's major versions; 0: both
	check   func(t *testing.T, r goodput.Record)
	client  func(t *testing.T, resp *http.Response, err error, cancel func())
}

func noTokens(t *testing.T, r goodput.Record) {
	require.Empty(t, r.Tokens)
	require.Zero(t, r.FirstByte)
}

func tokens(n int) func(*testing.T, goodput.Record) {
	return func(t *testing.T, r goodput.Record) { require.Len(t, r.Tokens, n) }
}

func send(w http.ResponseWriter, text string) {
	f := stream(w)
	io.WriteString(w, text)
	f.Flush()
}

var outcomeCases = []outcomeCase{
	{name: "plain", want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") },
		check: func(t *testing.T, r goodput.Record) { require.Equal(t, r.End, r.FirstByte) }},
	{name: "never writes", want: goodput.Success, handler: func(http.ResponseWriter, *http.Request) {}, check: noTokens},
	{name: "404", want: goodput.ClientError, handler: http.NotFound,
		check: func(t *testing.T, r goodput.Record) { require.Equal(t, "HTTP status 404", r.Detail) }},
	{name: "redirect", want: goodput.ClientError, handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }},
	{name: "408", want: goodput.Timeout, handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(408) }},
	{name: "500", want: goodput.ServerError, handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
	{name: "429", want: goodput.RateLimited, handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }},
	{name: "429 by admission", want: goodput.Rejected, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(goodput.ReasonHeader, "no slack")
		w.WriteHeader(429)
	}},
	{name: "429 whose reason comes too late", want: goodput.RateLimited, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(429)
		w.Header().Set(goodput.ReasonHeader, "no slack")
	}},
	{name: "503", want: goodput.ServerError, handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }},
	{name: "503, later", want: goodput.Rejected, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(503)
	}},
	{name: "two statuses", want: goodput.ClientError, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(404)
		w.WriteHeader(200)
	}},
	{name: "early hints", want: goodput.ClientError, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(103)
		w.WriteHeader(404)
	}},
	{name: "early hints alone", want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103) }},
	{name: "HEAD", method: "HEAD", want: goodput.Success, check: noTokens, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		send(w, "data: a\n\n")
	}},
	{name: "204", want: goodput.Success, check: noTokens, handler: func(w http.ResponseWriter, _ *http.Request) {
		stream(w)
		w.WriteHeader(204)
		_, err := io.WriteString(w, "data: a\n\n")
		if !errors.Is(err, http.ErrBodyNotAllowed) {
			panic(err)
		}
	}},
	{name: "an event stream", want: goodput.Success, check: tokens(2), handler: func(w http.ResponseWriter, _ *http.Request) {
		send(w, "data: a\n\ndata: b\n\ndata: [DONE]\n\n")
	}},
	{name: "compressed", want: goodput.Success, check: tokens(0), handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "zstd")
		send(w, "data: a\n\n")
	}},
	{name: "panic", want: goodput.ServerError, handler: func(http.ResponseWriter, *http.Request) { panic("secret") },
		check: func(t *testing.T, r goodput.Record) { require.Equal(t, "the handler panicked", r.Detail) }},
	{name: "panic in a stream", want: goodput.ServerError, check: tokens(1), handler: func(w http.ResponseWriter, _ *http.Request) {
		send(w, "data: a\n\n")
		io.WriteString(w, "data: b\n\n") // it never leaves
		panic("secret")
	}},
	{name: "nil panic", want: goodput.ServerError, handler: func(http.ResponseWriter, *http.Request) { panic(nil) }},
	{name: "abort", want: goodput.ConnectionError, handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	{name: "abort in a stream", want: goodput.Truncated, check: tokens(1), handler: func(w http.ResponseWriter, _ *http.Request) {
		send(w, "data: a\n\n")
		panic(http.ErrAbortHandler)
	}},
	{name: "abort after the end marker", want: goodput.Success, check: tokens(1), handler: func(w http.ResponseWriter, _ *http.Request) {
		send(w, "data: a\n\ndata: [DONE]\n\n")
		panic(http.ErrAbortHandler)
	}},
	{name: "too short", want: goodput.Truncated, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "not so much")
	}},
	{name: "too long", only: 1, want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		io.WriteString(w, "ok")
		if _, err := io.WriteString(w, " and more"); err == nil {
			panic("more than there is room for")
		}
	}},
	{name: "fails in a stream", want: goodput.RateLimited, check: tokens(1), handler: func(w http.ResponseWriter, _ *http.Request) {
		send(w, "data: a\n\n")
		TallyOf(w).Fail(goodput.RateLimited, "quota")
		TallyOf(w).Fail(goodput.Malformed, "the first stands")
	}},
	{name: "fails with no failure", want: goodput.ServerError, handler: func(w http.ResponseWriter, _ *http.Request) {
		TallyOf(w).Fail(goodput.Success, "mistake")
	}},
	{name: "says what it did", want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) {
		t := TallyOf(w)
		t.Reasoning(3)
		t.Token(2)
		t.Usage(7, 5)
		t.Finish("stop")
		io.WriteString(w, "ok")
	}, check: func(t *testing.T, r goodput.Record) {
		require.Equal(t, []goodput.Token{{At: r.End, N: 3}, {At: r.End, N: 2}}, r.Tokens)
		require.Equal(t, []any{7, 5, "stop", r.End}, []any{r.InputTokens, r.OutputTokens, r.Finish, r.FirstOutput})
	}},
	{name: "reasoning alone", want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) { TallyOf(w).Reasoning(0) },
		check: func(t *testing.T, r goodput.Record) { require.Negative(t, r.FirstOutput) }},
	{name: "its deadline", want: goodput.Timeout, handler: func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
			panic(err)
		}
		io.WriteString(w, "data: a\n\n")
		w.(http.Flusher).Flush()
	}, only: 1, client: func(t *testing.T, _ *http.Response, err error, _ func()) { require.Error(t, err) }},
	{name: "the client goes away", want: goodput.Cancelled, check: tokens(1), handler: func(w http.ResponseWriter, r *http.Request) {
		send(w, "data: a\n\n")
		<-r.Context().Done()
		io.WriteString(w, "data: b\n\n")
	}, client: func(t *testing.T, resp *http.Response, err error, cancel func()) {
		require.NoError(t, err)
		_, err = resp.Body.Read(make([]byte, 4))
		require.NoError(t, err)
		cancel()
	}},
	{name: "and the handler panics of it", want: goodput.Cancelled, handler: func(w http.ResponseWriter, r *http.Request) {
		send(w, "data: a\n\n")
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}, client: func(_ *testing.T, _ *http.Response, _ error, cancel func()) { cancel() }},
	{name: "it goes away after the end marker", want: goodput.Success, check: tokens(1), handler: func(w http.ResponseWriter, r *http.Request) {
		send(w, "data: a\n\ndata: [DONE]\n\n")
		<-r.Context().Done()
	}, client: func(t *testing.T, resp *http.Response, _ error, cancel func()) {
		_, err := io.ReadFull(resp.Body, make([]byte, len("data: a\n\ndata: [DONE]\n\n")))
		require.NoError(t, err)
		cancel()
	}},
	{name: "it goes away with the whole body", want: goodput.Success, handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "2")
		io.WriteString(w, "ok")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, close: true, client: func(t *testing.T, resp *http.Response, _ error, cancel func()) {
		_, err := io.ReadFull(resp.Body, make([]byte, 2))
		require.NoError(t, err)
		resp.Body.Close()
		cancel()
	}},
	{name: "it goes away with a great body", want: goodput.Success, handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100000")
		w.Write(make([]byte, 100000))
		<-r.Context().Done()
	}, only: 1, close: true, client: func(t *testing.T, resp *http.Response, _ error, cancel func()) {
		_, err := io.ReadFull(resp.Body, make([]byte, 100000))
		require.NoError(t, err)
		cancel()
	}},
	{name: "websocket", only: 1, want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrHijacked) {
			panic("a write after the hijack")
		}
		buf.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
		buf.Flush()
	}, client: func(t *testing.T, resp *http.Response, err error, _ func()) {
		require.NoError(t, err)
		require.Equal(t, 101, resp.StatusCode)
		resp.Body.Close()
	}},
	{name: "a switch that HTTP/2 does not know", only: 2, want: goodput.ServerError, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusSwitchingProtocols)
		w.WriteHeader(http.StatusInternalServerError)
	}, client: func(t *testing.T, resp *http.Response, err error, _ func()) {
		require.NoError(t, err)
		require.Equal(t, 500, resp.StatusCode)
	}},
	{name: "panic after a hijack", only: 1, want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
		panic("late")
	}},
}

func TestOutcomes(t *testing.T) {
	for version := 1; version <= 2; version++ {
		for _, c := range outcomeCases {
			if c.only != 0 && c.only != version {
				continue
			}
			t.Run(fmt.Sprintf("HTTP %d/%s", version, c.name), func(t *testing.T) {
				b := newBooks()
				s := httptest.NewUnstartedServer(NewMiddleware(Config{Sink: b}).Handler(http.HandlerFunc(c.handler)))
				s.Config.ErrorLog, s.EnableHTTP2 = quiet, version == 2
				s.StartTLS()
				defer s.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				method := c.method
				if method == "" {
					method = http.MethodPost // net/http repeats no POST
				}
				req, err := http.NewRequestWithContext(ctx, method, s.URL, nil)
				require.NoError(t, err)
				req.Close = c.close
				resp, err := s.Client().Do(req)
				if c.client != nil {
					c.client(t, resp, err, cancel)
				}
				if err == nil {
					require.Equal(t, version, resp.ProtoMajor)
					if c.client == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
					}
					resp.Body.Close()
				}
				r := b.one(t)
				require.Equal(t, c.want, r.Outcome, r.Detail)
				require.Positive(t, r.End)
				require.NotContains(t, r.Detail, "secret")
				if c.check != nil {
					c.check(t, r)
				}
			})
		}
	}
}

// A panic goes on as it was.
func TestPanicGoesOn(t *testing.T) {
	for _, want := range []any{http.ErrAbortHandler, "text", []int{1}, errors.New("error"), &struct{}{}} {
		b := newBooks()
		h := NewMiddleware(Config{Sink: b}).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(want) }))
		var got any
		var stack []byte
		func() {
			defer func() {
				got = recover()
				stack = make([]byte, 64<<10)
				stack = stack[:runtime.Stack(stack, false)]
			}()
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		}()
		require.Equal(t, want, got)
		require.Contains(t, string(stack), "TestPanicGoesOn.func1", "where it came from is still to be seen")
		b.one(t)
	}
}

// A handler that ends its goroutine does so, and has its record.
func TestGoexit(t *testing.T) {
	b := newBooks()
	h := NewMiddleware(Config{Sink: b}).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() }))
	done, went := make(chan struct{}), true
	go func() {
		defer close(done)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		went = false
	}()
	<-done
	require.True(t, went)
	require.Equal(t, goodput.ServerError, b.one(t).Outcome)
}

// net/http's TimeoutHandler is seen for what it is, from without and from within.
func TestTimeoutHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, inner := newBooks(), newBooks()
		slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			io.WriteString(w, "late")
		})
		h := http.TimeoutHandler(NewMiddleware(Config{Sink: inner}).Handler(slow), 100*ms, "")
		w := httptest.NewRecorder()
		NewMiddleware(Config{Sink: outer}).Handler(h).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		require.Equal(t, 503, w.Code)
		r := outer.one(t)
		require.Equal(t, goodput.ServerError, r.Outcome, "a 503 without Retry-After")
		require.Equal(t, 100*ms, r.End)
		r = inner.one(t)
		require.Equal(t, goodput.Timeout, r.Outcome)
		require.Equal(t, time.Second, r.End)
	})
}

// A file goes past the middleware, so that the system can send it, unless its tokens are to be counted.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("data: a\n\n", 10_000)), 0o600))
	for _, c := range []struct {
		kind   string
		tokens int
	}{{"application/octet-stream", 0}, {"text/event-stream", 10_000}} {
		b := newBooks()
		s := httptest.NewServer(NewMiddleware(Config{Sink: b}).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			http.ServeFile(w, r, path)
		})))
		resp, err := s.Client().Get(s.URL)
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.EqualValues(t, 90_000, n)
		resp.Body.Close()
		s.Close()
		r := b.one(t)
		require.Equal(t, goodput.Success, r.Outcome)
		require.Len(t, r.Tokens, c.tokens)
		require.Equal(t, c.tokens > 0, r.FirstByte > 0, "nobody saw the first byte of what the system sent")
	}
}

func TestOwnLimits(t *testing.T) {
	b := newBooks()
	m := NewMiddleware(Config{Sink: b, OwnLimits: true})
	ask := func(m *Middleware, header http.Header) map[slo.Metric]float64 {
		req := httptest.NewRequest("GET", "/", nil)
		req.Header = header
		m.Handler(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), req)
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.all[len(b.all)-1].Limits
	}
	h := func(ttft, tpot string) http.Header {
		h := http.Header{}
		h.Set("x-slo-ttft-ms", ttft)
		h.Set("x-slo-tpot-ms", tpot)
		return h
	}
	require.Equal(t, map[slo.Metric]float64{slo.TTFT: 0.25, slo.TPOT: 0.0125}, ask(m, h("250", "12.5")))
	require.Zero(t, m.MalformedLimits())
	require.Nil(t, ask(m, http.Header{}))
	var n uint64
	for _, bad := range []string{"", "0", "-1", "+1", "1e3", "NaN", "Inf", "0x10", "1_0", "250ms", " 250", "1,5", ".", "1.2.3", "0.0000001",
		"99999999999", strings.Repeat("0", 30) + "1", "250 ", "٣", "\x00"} {
		require.Equal(t, map[slo.Metric]float64{slo.TPOT: 0.05}, ask(m, h(bad, "50")), "%q", bad)
		n++
		require.Equal(t, n, m.MalformedLimits(), "%q", bad)
	}
	twice := h("250", "50")
	twice.Add("x-slo-ttft-ms", "500")
	require.Equal(t, map[slo.Metric]float64{slo.TPOT: 0.05}, ask(m, twice), "nobody knows which one is meant")
	require.Equal(t, n+1, m.MalformedLimits())

	off := NewMiddleware(Config{Sink: b})
	require.Nil(t, ask(off, h("250", "50")), "they were not asked for")
	require.Nil(t, ask(off, h("x", "50")))
	require.Zero(t, off.MalformedLimits())
}

// A request is judged by what it brought along, in the report and in the monitor.
func TestOwnLimitsJudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		promise := "ttft p95 < 1s"
		m, acc := newMonitor(t, promise), goodput.NewAccumulator(slo.MustParse(promise))
		h := NewMiddleware(Config{Sink: acc, Monitor: m, OwnLimits: true}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(500 * ms)
			send(w, "data: a\n\n")
		}))
		for _, limit := range []string{"", "600", "400"} {
			req := httptest.NewRequest("GET", "/", nil)
			if limit != "" {
				req.Header.Set(TTFTHeader, limit)
			}
			h.ServeHTTP(httptest.NewRecorder(), req)
		}
		r := acc.Report()
		require.EqualValues(t, []uint64{3, 2, 1}, []uint64{r.Offered, r.Good, r.Late})
		require.EqualValues(t, 2, r.Notes.Limits)
		w, err := m.Window(time.Minute)
		require.NoError(t, err)
		require.EqualValues(t, []uint64{3, 2}, []uint64{w.Decided, w.Good})
	})
}

func TestCountsByFunctions(t *testing.T) {
	b := newBooks()
	h := NewMiddleware(Config{
		Sink:         b,
		InputTokens:  func(r *http.Request) int { return int(r.ContentLength) },
		OutputTokens: func(_ *http.Request, h http.Header) int { return len(h.Get("X-Tokens")) },
	}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Tokens", "abc") }))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader("12345")))
	r := b.one(t)
	require.Equal(t, []int{5, 3}, []int{r.InputTokens, r.OutputTokens})
}

func TestConfigIsChecked(t *testing.T) {
	require.PanicsWithValue(t, "goodputhttp: NewMiddleware: the Config has neither a Sink nor a Monitor: nobody would get the records",
		func() { NewMiddleware(Config{}) })
	require.Panics(t, func() { NewTransport(nil, Config{}) })
}

// A monitor that is given as the sink is told once.
func TestMonitorAsSink(t *testing.T) {
	m := newMonitor(t, "e2e p95 < 1s")
	for _, c := range []Config{{Sink: m}, {Sink: m, Monitor: m}, {Sink: Tee(m)}, {Sink: Tee(m, m), Monitor: m}} {
		NewMiddleware(c).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			require.EqualValues(t, 1, m.State().InFlight)
		})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	w, err := m.Window(time.Minute)
	require.NoError(t, err)
	require.EqualValues(t, []uint64{4, 4}, []uint64{w.Offered, w.Ended})
}

// Each of several sinks gets each record once, whatever the others do; a second monitor hears of the ends.
func TestTee(t *testing.T) {
	var said []string
	sink := func(name string) Sink {
		return SinkFunc(func(r *goodput.Record) { said = append(said, name) })
	}
	m, second := newMonitor(t, "e2e p95 < 1s"), newMonitor(t, "e2e p95 < 1s")
	all := Tee(sink("a"), m, Tee(sink("b"), SinkFunc(func(*goodput.Record) { panic("c") })), second, sink("d"))
	h := NewMiddleware(Config{Sink: all}).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		require.EqualValues(t, 1, m.State().InFlight)
		require.Zero(t, second.State().InFlight)
	}))
	require.PanicsWithValue(t, "c", func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) })
	require.Equal(t, []string{"a", "b", "d"}, said)
	for _, m := range []*monitor.Monitor{m, second} {
		w, err := m.Window(time.Minute)
		require.NoError(t, err)
		require.EqualValues(t, []uint64{1, 1}, []uint64{w.Offered, w.Ended})
	}
	require.PanicsWithValue(t, "goodputhttp: Tee: a sink is nil", func() { Tee(m, nil) })
	require.Panics(t, func() { NewMiddleware(Config{Sink: Tee()}) }, "nobody would get the records")
}

// What a handler or what it left behind does after its request is over changes no record.
func TestAfterTheEnd(t *testing.T) {
	b := newBooks()
	var kept http.ResponseWriter
	h := NewMiddleware(Config{Sink: b}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		kept = w
		send(w, "data: a\n\n")
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	before := b.one(t)
	send(kept, "data: b\n\n")
	TallyOf(kept).Token(1)
	TallyOf(kept).Fail(goodput.ServerError, "")
	require.Equal(t, before, b.one2(t))
	require.Len(t, before.Tokens, 1)
	TallyOf(httptest.NewRecorder()).Token(1) // nobody measures
}

// one2 is the only record, once it was there.
func (b *books) one2(t *testing.T) goodput.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Len(t, b.all, 1)
	return b.all[0]
}

// Of an answer with no end the record stays bounded, and its first token, its last and their number are right.
func TestManyEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBooks()
		h := NewMiddleware(Config{Sink: b}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			f := stream(w)
			for range maxEvents + 100 {
				time.Sleep(time.Microsecond)
				io.WriteString(w, "data: a\n\n")
				f.Flush()
			}
			time.Sleep(ms)
		}))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		r := b.one(t)
		require.Len(t, r.Tokens, maxEvents)
		require.Equal(t, goodput.Token{At: (maxEvents + 100) * time.Microsecond, N: 101}, r.Tokens[maxEvents-1])
		require.Equal(t, (maxEvents-1)*time.Microsecond, r.Tokens[maxEvents-2].At)
		require.Equal(t, (maxEvents+100)*time.Microsecond+ms, r.End)
	})
}

// Many requests at once, of every kind: each is in the books once, and the monitor agrees.
func TestBooksClose(t *testing.T) {
	m, acc := newMonitor(t, "ttft p95 < 10s, error_rate < 50%"), goodput.NewAccumulator(slo.MustParse("ttft p95 < 10s, error_rate < 50%"))
	s := httptest.NewUnstartedServer(NewMiddleware(Config{Sink: acc, Monitor: m}).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic":
			panic("panic")
		case "/abort":
			send(w, "data: a\n\n")
			panic(http.ErrAbortHandler)
		case "/busy":
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(503)
		case "/gone":
			send(w, "data: a\n\n")
			<-r.Context().Done()
		default:
			send(w, "data: a\n\n")
		}
	})))
	s.Config.ErrorLog = quiet
	s.Start()
	const each = 40
	done := make(chan struct{})
	paths := []string{"panic", "abort", "busy", "gone", "good"}
	for _, path := range paths {
		go func() {
			defer func() { done <- struct{}{} }()
			for range each {
				req, _ := http.NewRequest("POST", s.URL+"/"+path, nil)
				resp, err := s.Client().Do(req)
				if err == nil {
					if path != "gone" {
						io.Copy(io.Discard, resp.Body)
					}
					resp.Body.Close()
				}
			}
		}()
	}
	for range paths {
		<-done
	}
	s.Close()
	r := acc.Report()
	require.EqualValues(t, len(paths)*each, r.Offered)
	require.EqualValues(t, map[goodput.Outcome]uint64{
		goodput.Success: each, goodput.Rejected: each, goodput.ServerError: each, goodput.Truncated: each, goodput.Cancelled: each,
	}, r.Outcomes)
	require.EqualValues(t, each, r.Good)
	w, err := m.Window(time.Minute)
	require.NoError(t, err)
	require.EqualValues(t, []uint64{r.Offered, r.Offered, r.Good}, []uint64{w.Offered, w.Decided, w.Good})
}

// An upgraded connection works as without the middleware.
func TestWebsocketEchoes(t *testing.T) {
	b := newBooks()
	s := httptest.NewServer(NewMiddleware(Config{Sink: b}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		buf.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
		buf.Flush()
		line, _ := buf.ReadString('\n')
		buf.WriteString(line)
		buf.Flush()
	})))
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode)
	r := b.one(t)
	require.Equal(t, goodput.Success, r.Outcome, "booked at the switch, while the connection lives")
	fmt.Fprintln(conn, "hello")
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", line)
}

// failing is a writer that can fail.
type failing struct {
	nowhere
	err error
}

func (w *failing) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}
func (w *failing) FlushError() error { return w.err }

// What leaves when does not depend on who counts: with a counter of the caller's each flush takes the lock, and without one most
// do not.
func TestTimesWithAnotherCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(1000) {
			run := func(kind string, counter func(*http.Request, http.Header) TokenCounter) (r goodput.Record) {
				b, rng := newBooks(), rand.New(rand.NewPCG(seed, 1))
				below := &failing{nowhere: nowhere{http.Header{}}}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				mw := NewMiddleware(Config{Sink: b, Monitor: newMonitor(t, "ttft p95 < 100ms"), Counter: counter})
				defer func() {
					recover()
					r = b.one(t)
					r.Start = time.Time{}
				}()
				mw.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", kind)
					if rng.IntN(2) == 0 { // the body is over when it is as long as that
						w.Header().Set("Content-Length", strconv.Itoa(rng.IntN(100)))
					}
					f := w.(http.Flusher)
					for range rng.IntN(30) {
						time.Sleep(time.Duration(rng.IntN(3)) * ms)
						switch rng.IntN(12) {
						case 0, 1, 2:
							io.WriteString(w, "data: a\n\n")
						case 3:
							io.WriteString(w, "data: a\n\ndata: b\n\nda")
						case 4:
							io.WriteString(w, "ta: c\n\n")
						case 5:
							io.WriteString(w, "data: "+strings.Repeat("x", rng.IntN(9000))+"\n\n")
						case 6: // it gets its Tally late, and uses it from another goroutine
							done := make(chan struct{})
							go func() {
								defer close(done)
								TallyOf(w).Token(2)
							}()
							<-done
						case 7:
							switch rng.IntN(12) {
							case 0, 1:
								io.WriteString(w, "data: [DONE]\n\n")
							case 2:
								cancel() // the client goes away
							case 3:
								below.err = net.ErrClosed
							case 4:
								panic(http.ErrAbortHandler)
							}
						default:
							f.Flush()
						}
					}
				})).ServeHTTP(below, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
				return r
			}
			for _, kind := range []string{"text/event-stream", "application/x-ndjson"} {
				other := func(_ *http.Request, header http.Header) TokenCounter {
					return struct{ TokenCounter }{CounterFor(header)}
				}
				require.Equal(t, run(kind, other), run(kind, nil), "%s, seed %d", kind, seed)
			}
		}
	})
}
