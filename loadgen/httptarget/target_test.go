package httptarget

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/memnet"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL
}

func target(t *testing.T, c Config) *Target {
	t.Helper()
	tgt, err := New(c)
	require.NoError(t, err)
	t.Cleanup(tgt.CloseIdleConnections)
	return tgt
}

func do(t *testing.T, tgt *Target) *goodput.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return loadgen.Do(ctx, tgt, &loadgen.Request{Prompt: "the prompt"})
}

// flush writes s and sees to it that it leaves.
func flush(w http.ResponseWriter, s string) {
	io.WriteString(w, s)
	http.NewResponseController(w).Flush()
}

func abort() { panic(http.ErrAbortHandler) }

func TestOutcomes(t *testing.T) {
	type h = http.HandlerFunc
	status := func(code int, header ...string) h {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			if code != http.StatusNotModified {
				io.WriteString(w, `{"error":{"message":"words"}}`)
			}
		}
	}
	text := func(s string) h { return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) } }
	refusal := func(err error) func(*http.Response, io.Reader) error {
		return func(*http.Response, io.Reader) error { return err }
	}
	sse := func(s string) h {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			flush(w, s)
		}
	}
	end := func(data []byte) (Piece, error) {
		switch string(data) {
		case "end":
			return Piece{End: true}, nil
		case "bad":
			return Piece{}, errors.New("a bad piece")
		case "busy":
			return Piece{}, loadgen.Fail(goodput.RateLimited, "busy")
		}
		return Piece{Token: len(data) > 0, Tokens: len(data)}, nil
	}
	for _, c := range []struct {
		name    string
		c       Config
		h       h
		outcome goodput.Outcome
		detail  string
		tokens  []int
	}{
		{"text", Config{}, text("hello"), goodput.Success, "", nil},
		{"nothing", Config{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, goodput.Success, "", nil},
		{"long", Config{}, text(strings.Repeat("x", 1<<20)), goodput.Success, "", nil},
		{"301", Config{}, status(301, "Location", "/x"), goodput.ClientError, "HTTP status 301: words", nil},
		{"304", Config{}, status(304), goodput.ClientError, "HTTP status 304", nil},
		{"304 is good", Config{Success: func(s int) bool { return s == 304 }}, status(304), goodput.Success, "", nil},
		{"404 is good", Config{Success: func(s int) bool { return s == 404 }}, status(404), goodput.Success, "", nil},
		{"200 is not", Config{Success: func(s int) bool { return s == 201 }}, status(200), goodput.Malformed, "HTTP status 200 is no success", nil},
		{"400", Config{}, status(400), goodput.ClientError, "HTTP status 400: words", nil},
		{"408", Config{}, status(408), goodput.Timeout, "HTTP status 408: words", nil},
		{"429", Config{}, status(429, "Retry-After", "1"), goodput.RateLimited, "HTTP status 429: words", nil},
		{"429 by admission", Config{}, status(429, goodput.ReasonHeader, "slo"), goodput.Rejected, "HTTP status 429: words", nil},
		{"500", Config{}, status(500), goodput.ServerError, "HTTP status 500: words", nil},
		{"503", Config{}, status(503), goodput.ServerError, "HTTP status 503: words", nil},
		{"503 by admission", Config{}, status(503, "Retry-After", "1"), goodput.Rejected, "HTTP status 503: words", nil},
		{"504", Config{}, status(504), goodput.Timeout, "HTTP status 504: words", nil},

		{"lost before the header", Config{}, func(http.ResponseWriter, *http.Request) { abort() }, goodput.ConnectionError, "EOF", nil},
		{"lost before the body", Config{}, func(w http.ResponseWriter, _ *http.Request) { flush(w, ""); abort() }, goodput.ConnectionError, "unexpected EOF", nil},
		{"lost within the body", Config{}, func(w http.ResponseWriter, _ *http.Request) { flush(w, "x"); abort() }, goodput.Truncated, "unexpected EOF", nil},
		{"a length that is not kept", Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "x")
		}, goodput.Truncated, "unexpected EOF", nil},
		{"too long", Config{MaxBody: 4}, text("hello"), goodput.Malformed, "the body is longer than 4 bytes", nil},
		{"just not too long", Config{MaxBody: 5}, text("hello"), goodput.Success, "", nil},
		{"without an end", Config{MaxBody: 1 << 20}, func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, "hello"); err != nil {
					return
				}
			}
		}, goodput.Malformed, "the body is longer than 1048576 bytes", nil},

		{"a check that holds", Config{Check: func(resp *http.Response, body io.Reader) error {
			b, err := io.ReadAll(body)
			if string(b) != "hello" || resp.StatusCode != 200 {
				return fmt.Errorf("%q, %v", b, err)
			}
			return err
		}}, text("hello"), goodput.Success, "", nil},
		{"a check that reads nothing", Config{Check: refusal(nil)}, text(strings.Repeat("x", 1<<20)), goodput.Success, "", nil},
		{"a check that reads nothing of what is lost", Config{Check: refusal(nil)}, func(w http.ResponseWriter, _ *http.Request) { flush(w, "x"); abort() },
			goodput.Truncated, "unexpected EOF", nil},
		{"a check that fails", Config{Check: refusal(errors.New("no hits"))}, text("hello"), goodput.Malformed, "no hits", nil},
		{"a check that names an outcome", Config{Check: refusal(loadgen.Fail(goodput.ServerError, "boom"))}, text("hello"), goodput.ServerError, "boom", nil},
		{"a check that names a status", Config{Check: refusal(&loadgen.StatusError{Code: 429})}, text("hello"), goodput.RateLimited, "HTTP status 429", nil},
		{"a check of what is lost", Config{Check: func(_ *http.Response, body io.Reader) error {
			if _, err := io.ReadAll(body); err != nil {
				return errors.New("it makes something else of it")
			}
			return nil
		}}, func(w http.ResponseWriter, _ *http.Request) { flush(w, "x"); abort() }, goodput.Truncated, "unexpected EOF", nil},
		{"a check that panics", Config{Check: func(*http.Response, io.Reader) error { panic("oh") }}, text("hello"), goodput.ServerError, "panic: oh", nil},
		{"gzip", Config{Check: func(_ *http.Response, body io.Reader) error {
			b, err := io.ReadAll(body)
			if string(b) != "hello" {
				return fmt.Errorf("%q", b)
			}
			return err
		}}, zipped, goodput.Success, "", nil},
		{"gzip that was asked for", Config{Header: http.Header{"Accept-Encoding": {"gzip"}}, Check: func(_ *http.Response, body io.Reader) error {
			_, err := gzip.NewReader(body)
			return err
		}}, zipped, goodput.Success, "", nil},

		{"events", Config{Stream: SSE}, sse(": ping\n\ndata: a\n\ndata:\n\ndata: b\ndata: c\n\n"), goodput.Success, "", []int{0, 0}},
		{"no events", Config{Stream: SSE}, sse(": ping\n\ndata: a"), goodput.Empty, "no output token", nil},
		{"events that are lost", Config{Stream: SSE}, func(w http.ResponseWriter, _ *http.Request) { flush(w, "data: a\n\n"); abort() },
			goodput.Truncated, "unexpected EOF", []int{0}},
		{"an event without an end", Config{Stream: SSE}, sse("data: a\n\ndata: " + strings.Repeat("x", 1<<20)), goodput.Malformed,
			"sse: a line or an event of more than 1048576 bytes", []int{0}},
		{"lines", Config{Stream: Lines}, text("a\r\n\n b \nc"), goodput.Success, "", []int{0, 0, 0}},
		{"lines of many reads", Config{Stream: Lines}, text(strings.Repeat("x", 10000) + "\n" + strings.Repeat("y", 10000) + "\n"), goodput.Success, "", []int{0, 0}},
		{"a line without an end", Config{Stream: Lines}, text("a\n" + strings.Repeat("x", 1<<20+1)), goodput.Malformed, "a line of more than 1048576 bytes", []int{0}},
		{"pieces", Config{Stream: Lines, Piece: end, EndMarker: true}, text("abc\n\nde\nend\nlate\n"), goodput.Success, "", []int{3, 2}},
		{"lost behind the end marker", Config{Stream: Lines, Piece: end, EndMarker: true}, func(w http.ResponseWriter, _ *http.Request) { flush(w, "a\nend\n"); abort() },
			goodput.Success, "", []int{1}},
		{"the end marker alone", Config{Stream: SSE, Piece: end, EndMarker: true}, sse("data: end\n\n"), goodput.Empty, "no output token", nil},
		{"no end marker", Config{Stream: Lines, Piece: end, EndMarker: true}, text("abc\nde\n"), goodput.Truncated, "the body ended with no end marker", []int{3, 2}},
		{"no end marker is wanted", Config{Stream: Lines, Piece: end}, text("abc\nde\n"), goodput.Success, "", []int{3, 2}},
		{"a piece that is refused", Config{Stream: SSE, Piece: end}, sse("data: a\n\ndata: bad\n\n"), goodput.Malformed, "a bad piece", []int{1}},
		{"a piece that names an outcome", Config{Stream: Lines, Piece: end}, text("a\nbusy\n"), goodput.RateLimited, "busy", []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.c.URL = serve(t, c.h)
			rec := do(t, target(t, c.c))
			require.Equal(t, c.outcome, rec.Outcome, rec.Detail)
			if c.name == "a check that panics" {
				assert.Contains(t, rec.Detail, c.detail)
			} else {
				assert.Equal(t, c.detail, rec.Detail)
			}
			require.Len(t, rec.Tokens, len(c.tokens))
			for i, n := range c.tokens {
				assert.Equal(t, n, rec.Tokens[i].N)
			}
			assert.LessOrEqual(t, rec.Attempts, 1)
		})
	}
}

func zipped(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	io.WriteString(z, "hello")
	z.Close()
}

func TestRequest(t *testing.T) {
	var got *http.Request
	var body string
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
	})
	for _, c := range []struct {
		c      Config
		method string
		body   string
	}{
		{Config{URL: u + "/a?b=c"}, "GET", ""},
		{Config{URL: u + "/a?b=c", Body: []byte("x")}, "POST", "x"},
		{Config{URL: u + "/a?b=c", Method: "PUT", Body: []byte{}}, "PUT", ""},
		{Config{URL: u + "/a?b=c", Method: "DELETE"}, "DELETE", ""},
		{Config{Request: func(_ context.Context, r *loadgen.Request) (*http.Request, error) {
			return http.NewRequest("PATCH", u+"/a?b=c", strings.NewReader(r.Prompt))
		}}, "PATCH", "the prompt"},
		{Config{Request: func(_ context.Context, r *loadgen.Request) (*http.Request, error) {
			return http.NewRequest("POST", u+"/a?b=c", nil)
		}}, "POST", ""},
	} {
		tgt := target(t, c.c)
		for range 2 {
			rec := do(t, tgt)
			require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
			assert.Equal(t, c.method, got.Method)
			assert.Equal(t, "/a?b=c", got.RequestURI)
			assert.Equal(t, c.body, body)
			assert.EqualValues(t, len(c.body), got.ContentLength)
			assert.Empty(t, got.TransferEncoding)
			assert.NotContains(t, got.Header, "Accept-Encoding")
		}
	}
	rec := do(t, target(t, Config{URL: strings.Replace(u, "//", "//me:pass@", 1), Header: http.Header{"x-a": {"1", "2"}, "Host": {"example.org"}}}))
	require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
	user, password, _ := got.BasicAuth()
	assert.Equal(t, "me pass", user+" "+password)
	assert.Equal(t, []string{"1", "2"}, got.Header["X-A"])
	assert.Equal(t, "example.org", got.Host)
}

// Config.Request may give the same request each time, to any number at once.
func TestRequestThatIsShared(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); r.Method == "POST" && string(b) != "hello" {
			w.WriteHeader(400)
		}
	})
	post, err := http.NewRequest("POST", u, strings.NewReader("hello"))
	require.NoError(t, err)
	get := &http.Request{Method: "GET", URL: post.URL} // without a header
	for _, r := range []*http.Request{post, get} {
		tgt := target(t, Config{Request: func(context.Context, *loadgen.Request) (*http.Request, error) { return r, nil }})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 3 {
					rec := do(t, tgt)
					assert.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
					assert.LessOrEqual(t, rec.Attempts, 1)
				}
			})
		}
		all.Wait()
	}
}

func TestRequestThatCannotBeMade(t *testing.T) {
	for want, f := range map[string]func(context.Context, *loadgen.Request) (*http.Request, error){
		"Config.Request: no template":                      func(context.Context, *loadgen.Request) (*http.Request, error) { return nil, errors.New("no template") },
		"Config.Request: it made no request, and no error": func(context.Context, *loadgen.Request) (*http.Request, error) { return nil, nil },
		"not for me": func(context.Context, *loadgen.Request) (*http.Request, error) {
			return nil, loadgen.Fail(goodput.ClientError, "not for me")
		},
		"Config.Request: the URL has to be a whole one, with http:// or https://": func(context.Context, *loadgen.Request) (*http.Request, error) {
			return http.NewRequest("GET", "/path", nil)
		},
		"Config.Request: GetBody: there is none": func(context.Context, *loadgen.Request) (*http.Request, error) {
			r, err := http.NewRequest("POST", "http://127.0.0.1:1/", strings.NewReader("x"))
			r.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("there is none") }
			return r, err
		},
	} {
		rec := do(t, target(t, Config{Request: f}))
		assert.Equal(t, goodput.ClientError, rec.Outcome)
		assert.Equal(t, want, rec.Detail)
	}
	tgt := target(t, Config{Request: func(context.Context, *loadgen.Request) (*http.Request, error) { return nil, nil }})
	assert.EqualError(t, tgt.Connect(t.Context(), 1), "httptarget: Config.URL does not say to which host")
	assert.Equal(t, "HTTP requests", tgt.Describe().Name)
}

func TestRedirects(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
			return
		}
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	})
	rec := do(t, target(t, Config{URL: u, Body: []byte("x")}))
	assert.Equal(t, goodput.ClientError, rec.Outcome)
	rec = do(t, target(t, Config{URL: u, Body: []byte("x"), Redirects: true, Check: func(_ *http.Response, body io.Reader) error {
		if b, _ := io.ReadAll(body); string(b) != "x" {
			return errors.New("it has lost its body")
		}
		return nil
	}}))
	assert.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
	rec = do(t, target(t, Config{URL: u, Redirects: true, Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("no further") }}}))
	assert.Equal(t, goodput.ClientError, rec.Outcome, rec.Detail)
	assert.Equal(t, "a redirect was refused: no further", rec.Detail)
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	var conns atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "500") {
			w.WriteHeader(500)
		}
		io.WriteString(w, strings.Repeat("x", 3000))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	for name, c := range map[string]Config{
		"read": {}, "refused": {Check: func(*http.Response, io.Reader) error { return nil }}, "500": {},
	} {
		c.URL = srv.URL + "/" + name
		// What follows an answer has 50 ms to come, which on a busy machine can be too little: then once more.
		require.Eventually(t, func() bool {
			conns.Store(0)
			tgt := target(t, c)
			require.NoError(t, tgt.Connect(t.Context(), 1))
			for range 5 {
				do(t, tgt)
			}
			return conns.Load() == 1
		}, time.Minute, time.Millisecond, name)
	}
}

// memory is a transport whose server is h.
func memory(t *testing.T, h http.HandlerFunc) *http.Client {
	return &http.Client{Transport: memnet.Serve(t, &http.Server{Handler: h})}
}

func TestTimes(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		client := memory(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * ms)
			flush(w, "")
			time.Sleep(10 * ms)
			flush(w, "a")
			time.Sleep(10 * ms)
			flush(w, "\nb\n")
			time.Sleep(10 * ms)
			flush(w, "c")
			time.Sleep(10 * ms)
		})
		rec := do(t, target(t, Config{URL: "http://h", Client: client, Stream: Lines}))
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		assert.Equal(t, 20*ms, rec.FirstByte)
		assert.Equal(t, []goodput.Token{{At: 30 * ms}, {At: 30 * ms}, {At: 50 * ms}}, rec.Tokens)
		assert.Equal(t, 50*ms, rec.End)
		rec = do(t, target(t, Config{URL: "http://h", Client: client}))
		assert.Equal(t, 20*ms, rec.FirstByte)
		assert.Equal(t, 50*ms, rec.End)
		assert.Empty(t, rec.Tokens)
	})
}

// Of a server that switches the protocol, though nobody asked it to, nothing is read: it would not end with the deadline.
func TestSwitchedProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		client := memory(t, func(w http.ResponseWriter, r *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if assert.NoError(t, err) {
				defer c.Close()
				io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
				<-over
			}
		})
		defer close(over)
		for _, success := range []func(int) bool{nil, func(int) bool { return true }} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			rec := loadgen.Do(ctx, target(t, Config{URL: "http://h", Client: client, Success: success}), nil)
			cancel()
			assert.Equal(t, map[bool]goodput.Outcome{true: goodput.ServerError, false: goodput.Success}[success == nil], rec.Outcome, rec.Detail)
			assert.Zero(t, rec.End)
		}
	})
}

func TestDeadlines(t *testing.T) {
	for name, first := range map[string]string{"before the header": "", "within the body": "a\n"} {
		synctest.Test(t, func(t *testing.T) {
			client := memory(t, func(w http.ResponseWriter, r *http.Request) {
				if first != "" {
					flush(w, first)
				}
				<-r.Context().Done()
			})
			tgt := target(t, Config{URL: "http://h", Client: client, Stream: Lines})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			rec := loadgen.Do(ctx, tgt, nil)
			cancel()
			assert.Equal(t, goodput.Timeout, rec.Outcome, name)
			assert.Equal(t, time.Second, rec.End)
			assert.Len(t, rec.Tokens, len(first)/2)

			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(time.Minute, cancel)
			rec = loadgen.Do(ctx, tgt, nil)
			assert.Equal(t, goodput.Cancelled, rec.Outcome, name)
			assert.Equal(t, time.Minute, rec.End)
		})
	}
	rec := do(t, target(t, Config{URL: "http://127.0.0.1:1"}))
	assert.Equal(t, goodput.ConnectionError, rec.Outcome)
	assert.Contains(t, rec.Detail, "refused")
}

func TestSecrets(t *testing.T) {
	const prompt = "what my neighbour said of me"
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.WriteHeader(400)
		fmt.Fprintf(w, "bad: %s %s %s", r.Header.Get("Authorization"), r.URL.Query().Get("sig"), b)
	})
	for _, body := range []string{prompt, `{"a":[{"b":"` + prompt + `"}]}`} {
		rec := do(t, target(t, Config{URL: u + "?sig=abcd-0123456789", Header: http.Header{"Authorization": {"Bearer sk-0123456789"}}, Body: []byte(body)}))
		assert.Equal(t, goodput.ClientError, rec.Outcome)
		assert.Contains(t, rec.Detail, "HTTP status 400: bad: ")
		for _, secret := range []string{"0123456789", "neighbour"} {
			assert.NotContains(t, rec.Detail, secret)
		}
	}
	echo := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	rec := do(t, target(t, Config{URL: echo, Body: []byte(prompt), Check: func(_ *http.Response, body io.Reader) error {
		b, _ := io.ReadAll(body)
		return fmt.Errorf("got %s", b)
	}}))
	assert.Equal(t, goodput.Malformed, rec.Outcome)
	assert.Equal(t, "got [redacted]", rec.Detail)
}

// Whatever a server makes of what it heard, and whoever finds it broken: the key and the text are in no record, a redirect's
// target included, and each answer comes to an end.
func TestSecretsInBrokenAnswers(t *testing.T) {
	const key, text = "q0123456789abcdef", "what my neighbour said" // a key that does not look like one
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, answer := range map[string]string{
		"no HTTP":              key + " " + text + "\r\n\r\n",
		"status line":          "HTTP/1.1 " + key + "\r\n\r\n",
		"header line":          ok + key + "\r\n\r\n",
		"header without end":   ok + strings.Repeat("X-A: "+key+"\r\n", 20_000),
		"length":               ok + "Content-Length: " + key + "\r\n\r\n",
		"length too long":      ok + "Content-Length: 1000\r\n\r\n" + key,
		"two lengths":          ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + key,
		"transfer encoding":    ok + "Transfer-Encoding: " + key + "\r\n\r\n" + key,
		"chunk":                ok + "Transfer-Encoding: chunked\r\n\r\n" + key + "\r\n",
		"chunk without end":    ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n" + key,
		"trailers without end": ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n" + strings.Repeat("X-A: "+key+"\r\n", 20_000),
		"content encoding":     ok + "Content-Encoding: " + key + "\r\n\r\n" + key,
		"no gzip":              ok + "Content-Encoding: gzip\r\n\r\n" + key,
		"early hints":          strings.Repeat("HTTP/1.1 103 Early Hints\r\nX-A: "+key+"\r\n\r\n", 20_000),
		"redirect to no URL":   "HTTP/1.1 307 OK\r\nLocation: http://%zz" + key + "\r\nContent-Length: 0\r\n\r\n",
		"redirect elsewhere":   "HTTP/1.1 307 OK\r\nLocation: http://me:" + key + "@127.0.0.1:1/" + key + "?k=" + key + "\r\nContent-Length: 0\r\n\r\n",
		"redirect to a scheme": "HTTP/1.1 307 OK\r\nLocation: " + key + "://h/\r\nContent-Length: 0\r\n\r\n",
		"redirects in a ring":  "HTTP/1.1 307 OK\r\nLocation: /" + key + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"status with text":     "HTTP/1.1 401 " + key + "\r\n\r\n" + `{"error":{"message":"` + key + ` \u0077hat my neighbour said"}}`,
	} {
		u := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			c, _, err := http.NewResponseController(w).Hijack()
			if assert.NoError(t, err) {
				io.WriteString(c, answer)
				c.Close()
			}
		})
		for _, stream := range []Stream{NoStream, SSE, Lines} {
			for _, redirects := range []bool{false, true} {
				rec := do(t, target(t, Config{URL: u + "/?key=" + key, Header: http.Header{"X-Api-Key": {key}}, Body: []byte(text), Stream: stream, Redirects: redirects}))
				line, err := rec.MarshalJSON()
				require.NoError(t, err)
				assert.NotEqual(t, goodput.Success, rec.Outcome, name)
				assert.NotContains(t, string(line), "0123456789", name)
				assert.NotContains(t, string(line), "neighbour", name)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	tgt := target(t, Config{URL: "http://user:secret@h:1/a?key=secret"})
	d := tgt.Describe()
	assert.Equal(t, "GET http://h:1/a", d.Name)
	assert.False(t, d.Tokens)
	for _, m := range []slo.Metric{slo.TTFT, slo.TTFO, slo.TPOT, slo.ITL, slo.Speed, slo.ServiceTTFT} {
		assert.False(t, d.Gives(m), m)
	}
	for _, m := range []slo.Metric{slo.E2E, slo.ServiceE2E, slo.Lag, slo.ErrorRate, slo.Attainment} {
		assert.True(t, d.Gives(m), m)
	}
	_, err := loadgen.Run(t.Context(), tgt, loadgen.Plan{SLO: slo.MustParse("ttft p95 < 1s"), Concurrency: 1, Requests: 1})
	assert.ErrorContains(t, err, "ttft", "refused before the first request")
	d = target(t, Config{URL: "http://h", Stream: SSE}).Describe()
	assert.True(t, d.Tokens)
	assert.True(t, d.Gives(slo.TTFT))
	assert.False(t, d.Gives("x_cost"), "which only the caller can measure")
	assert.Equal(t, "HTTP requests to http://h", target(t, Config{URL: "http://h/a", Request: func(context.Context, *loadgen.Request) (*http.Request, error) { return nil, nil }}).Describe().Name)
}

func TestNewRefuses(t *testing.T) {
	request := func(context.Context, *loadgen.Request) (*http.Request, error) { return nil, nil }
	piece := func([]byte) (Piece, error) { return Piece{}, nil }
	for _, c := range []struct {
		want string
		c    Config
	}{
		{"URL: is missing; for example http://127.0.0.1:8080/", Config{}},
		{"URL: has to begin with http:// or https://", Config{URL: "localhost:80"}},
		{"URL: has no host", Config{URL: "http:///a"}},
		{"URL: is not a URL", Config{URL: "http://u:secret@h:port"}},
		{"URL: has a fragment (#…), which no server gets to see", Config{URL: "http://h/#a"}},
		{"URL: has to begin with http:// or https://", Config{URL: "ftp://h", Request: request}},
		{"Request: makes the whole request: Method, Header and Body have no meaning beside it", Config{Request: request, Body: []byte("x")}},
		{`Method: "A B" is no method`, Config{URL: "http://h", Method: "A B"}},
		{"Header: the value of X-Key has a character that no header can carry", Config{URL: "http://h", Header: http.Header{"x-key": {"secret\n"}}}},
		{"MaxBody: is -1; it is a number of bytes, 0 for 64 MiB", Config{URL: "http://h", MaxBody: -1}},
		{"Stream: 9 is not known; NoStream, SSE and Lines are", Config{URL: "http://h", Stream: 9}},
		{"Piece: looks at the pieces of a stream, but Stream does not say which these are", Config{URL: "http://h", Piece: piece}},
		{"EndMarker: is set, but there is no Piece that could know one", Config{URL: "http://h", Stream: SSE, EndMarker: true}},
		{"Check: reads a whole body; what a stream says is for Piece to judge", Config{URL: "http://h", Stream: SSE, Check: func(*http.Response, io.Reader) error { return nil }}},
		{"HTTP2: is set, but it is the Client that chooses the protocol", Config{URL: "http://h", HTTP2: true, Client: &http.Client{}}},
	} {
		_, err := New(c.c)
		require.EqualError(t, err, "httptarget: Config."+c.want)
		require.NotContains(t, err.Error(), "secret")
		var field *ConfigError
		require.ErrorAs(t, err, &field)
		require.Error(t, errors.Unwrap(field))
	}
}
