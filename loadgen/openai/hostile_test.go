package openai

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/sse"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
	"github.com/goodputkit/goodputkit/slo"
)

// within performs a request whose deadline ends it.
func within(t *testing.T, tgt *Target, d time.Duration) *goodput.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	rec, _ := doCtx(ctx, tgt, &loadgen.Request{Prompt: "x"})
	require.Equal(t, goodput.Timeout, rec.Outcome, rec.Detail)
	require.LessOrEqual(t, rec.End, d, "the deadline is the end, however late the answer to it")
	return rec
}

func TestEndlessBody(t *testing.T) {
	for name, c := range map[string]struct{ first, more string }{
		"tokens":     {"", deltas("x")},
		"comments":   {"", ": ping\n\n"},
		"a document": {`{"choices":[`, " "},
	} {
		t.Run(name, func(t *testing.T) {
			tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, c.first)
				for rc := http.NewResponseController(w); rc.Flush() == nil; {
					if _, err := io.WriteString(w, c.more); err != nil {
						return
					}
				}
			})
			tokens := name == "tokens"
			// On a busy machine even the first byte can take longer.
			rec := within(t, tgt, 50*time.Millisecond)
			for d := 100 * time.Millisecond; d < 4*time.Second && (rec.FirstByte == 0 || tokens && len(rec.Tokens) == 0); d *= 2 {
				rec = within(t, tgt, d)
			}
			assert.Positive(t, rec.FirstByte)
			assert.Equal(t, tokens, len(rec.Tokens) > 0)
		})
	}
}

func TestTooManyTokens(t *testing.T) {
	a := &answer{trace: loadgen.NewTrace(time.Now()), redact: httpclient.NewRedactor(), tokens: maxEvents - 1}
	ev := sse.Event{Data: []byte(choice(`"delta":{"content":"x"}`))}
	require.NoError(t, a.event(ev))
	require.EqualError(t, a.event(ev), "malformed: more than 1048576 token events")
}

func TestSilence(t *testing.T) {
	for name, said := range map[string]string{
		"no header":   "",
		"half a line": "HTTP/1.1 20",
		"half header": "HTTP/1.1 200 OK\r\nContent-Type: text/ev",
		"no body":     "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
		"half a body": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + deltas("x"),
		"half a JSON": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{",
		"a finish":    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + deltas("x") + stop,
		"only 1xx":    "HTTP/1.1 100 Continue\r\n\r\n",
		"half an event": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" +
			strings.TrimSuffix(done, "\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := raw(t, func(_ int, conn net.Conn, _ *http.Request) bool {
				io.WriteString(conn, said)
				io.Copy(io.Discard, conn)
				return false
			})
			within(t, target(t, Config{BaseURL: url}), 30*time.Millisecond)
		})
	}
}

// TestLostAtEachByte has the server close the connection, or reset it, after each byte of its answer.
func TestLostAtEachByte(t *testing.T) {
	body := deltas("x") + done
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	header := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	answer := header + chunked
	first := len(header) + strings.Index(chunked, "data") + 1  // so many bytes and the first of the body is there
	last := len(header) + strings.Index(chunked, "[DONE]") + 6 // and so many, and the marker is
	for how, closing := range map[string]func(net.Conn){
		"closed": func(net.Conn) {},
		"reset":  func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			url := raw(t, func(_ int, conn net.Conn, req *http.Request) bool {
				n, err := strconv.Atoi(req.Header.Get("X-Bytes"))
				assert.NoError(t, err)
				io.WriteString(conn, answer[:n])
				closing(conn)
				return false
			})
			for n := range answer {
				tgt, err := New(Config{BaseURL: url, Header: http.Header{"X-Bytes": {strconv.Itoa(n)}}})
				require.NoError(t, err)
				rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
				tgt.CloseIdleConnections()
				want := goodput.ConnectionError
				switch {
				case n >= last:
					want = goodput.Success
				case n >= first:
					want = goodput.Truncated
				}
				require.Equal(t, want, rec.Outcome, "after %d bytes: %s", n, rec.Detail)
				require.LessOrEqual(t, rec.Attempts, 1)
			}
		})
	}
}

const keptAlive = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// answer writes a whole answer after which the connection is of use.
func answerOn(conn net.Conn, body string) {
	fmt.Fprintf(conn, "%s%x\r\n%s\r\n0\r\n\r\n", keptAlive, len(body), body)
}

// TestClosedMeanwhile has the server close kept-alive connections when the next request is on its way.
func TestClosedMeanwhile(t *testing.T) {
	ok := deltas("x") + stop + done
	for _, c := range []struct {
		name     string
		c        Config
		second   func(conn net.Conn) // what the second request on a connection gets before it is closed
		after    string              // what new connections get after the first; empty: the same as the first
		outcome  goodput.Outcome
		attempts int
		conns    int
	}{
		{"closed", Config{}, func(net.Conn) {}, "", goodput.Success, 2, 2},
		{"reset", Config{}, func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }, "", goodput.Success, 2, 2},
		{"net/http is told to repeat", Config{Header: http.Header{"Idempotency-Key": {"1"}}}, func(net.Conn) {}, "", goodput.Success, 2, 2},
		{"a client of the caller's", Config{Client: &http.Client{Transport: &http.Transport{}}}, func(net.Conn) {}, "", goodput.Success, 2, 2},
		{"a transport of the caller's", Config{Client: &http.Client{Transport: roundTripper((&http.Transport{}).RoundTrip)}}, func(net.Conn) {}, "", goodput.Success, 2, 2},
		{"closed twice", Config{}, func(net.Conn) {}, "close", goodput.ConnectionError, 2, 2},
		{"after a byte", Config{}, func(c net.Conn) { io.WriteString(c, "H") }, "", goodput.ConnectionError, 0, 1},
		{"after a header", Config{}, func(c net.Conn) { io.WriteString(c, keptAlive) }, "", goodput.ConnectionError, 0, 1},
		{"after a token", Config{}, func(c net.Conn) { fmt.Fprintf(c, "%s%x\r\n%s\r\n", keptAlive, len(deltas("x")), deltas("x")) }, "", goodput.Truncated, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var conns atomic.Int32
			seen := map[int]int{}
			var mu sync.Mutex
			c.c.BaseURL = raw(t, func(n int, conn net.Conn, req *http.Request) bool {
				conns.Store(int32(n) + 1)
				mu.Lock()
				seen[n]++
				k := seen[n]
				mu.Unlock()
				switch {
				case k > 1:
					c.second(conn)
					return false
				case n > 0 && c.after != "":
					return false
				}
				answerOn(conn, ok)
				return true
			})
			tgt := target(t, c.c)
			rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
			require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
			require.LessOrEqual(t, rec.Attempts, 1)
			rec, _ = do(t, tgt, &loadgen.Request{Prompt: "x"})
			assert.Equal(t, c.outcome, rec.Outcome, rec.Detail)
			assert.Equal(t, c.attempts, rec.Attempts)
			assert.EqualValues(t, c.conns, conns.Load())
			if c.c.Client != nil {
				c.c.Client.CloseIdleConnections()
			}
		})
	}
}

// TestAllClosedMeanwhile has every idle connection dead: the second attempt must not meet the next of them.
func TestAllClosedMeanwhile(t *testing.T) {
	const n = 8
	var waiting sync.WaitGroup
	waiting.Add(n)
	url := raw(t, func(k int, conn net.Conn, req *http.Request) bool {
		if k >= n {
			answerOn(conn, deltas("y")+done)
			return false
		}
		if req.Header.Get("X-Seen") == "" {
			waiting.Done()
			waiting.Wait() // so that each needs a connection of its own
			answerOn(conn, deltas("x")+done)
			if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				io.Copy(io.Discard, req.Body)
			}
		}
		return false
	})
	tgt := target(t, Config{BaseURL: url})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
			assert.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		})
	}
	wg.Wait()
	for range n {
		rec, text := do(t, tgt, &loadgen.Request{Prompt: "x"})
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		require.Equal(t, 2, rec.Attempts)
		require.Equal(t, "y", text[loadgen.Content])
	}
}

// TestNewConnectionIsNotRepeated: a server that hangs up on every request is not asked twice.
func TestNewConnectionIsNotRepeated(t *testing.T) {
	var calls atomic.Int32
	tgt := target(t, Config{BaseURL: raw(t, func(int, net.Conn, *http.Request) bool { calls.Add(1); return false })})
	rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
	assert.Equal(t, goodput.ConnectionError, rec.Outcome)
	assert.Equal(t, "EOF", rec.Detail)
	assert.LessOrEqual(t, rec.Attempts, 1)
	assert.EqualValues(t, 1, calls.Load())
}

func TestConnectionIsUsedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"stream":              {200, deltas("x") + stop + done},
		"more after the end":  {200, deltas("x") + done + strings.Repeat(deltas("late"), 100)},
		"no marker":           {200, deltas("x") + stop},
		"document":            {200, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}`},
		"status":              {500, `{"error":{"message":"boom"}}`},
		"a failure of words":  {503, strings.Repeat("x", httpclient.MaxErrorBody)},
		"a failure of nobody": {502, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int32
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
				http.NewResponseController(w).Flush()
			}))
			srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					conns.Add(1)
				}
			}
			srv.Start()
			defer srv.Close()
			tgt := target(t, Config{BaseURL: srv.URL})
			for range 10 {
				rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
				require.Equal(t, c.status == 200, rec.Outcome == goodput.Success, rec.Detail)
			}
			assert.EqualValues(t, 1, conns.Load())
		})
	}
}

func TestGzip(t *testing.T) {
	zip := func(b string) []byte {
		var buf bytes.Buffer
		w, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
		io.WriteString(w, b)
		w.Close()
		return buf.Bytes()
	}
	body := deltas("a", "b") + stop + done
	doc := `{"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}`
	broken := zip(body)
	broken[len(broken)-6] ^= 0xff // of the checksum
	corrupt := zip(body)
	corrupt[20] ^= 0xff
	for _, c := range []struct {
		name, encoding string
		status         int
		body           []byte
		outcome        goodput.Outcome
		detail         string
		text           string
	}{
		{"stream", "gzip", 200, zip(body), goodput.Success, "", "ab"},
		{"members", "gzip", 200, append(zip(deltas("a")), zip(deltas("b")+stop+done)...), goodput.Success, "", "ab"},
		{"by its old name", "X-GZip", 200, zip(body), goodput.Success, "", "ab"},
		{"document", "gzip", 200, zip(doc), goodput.Success, "", "ab"},
		{"failure", "gzip", 400, zip(`{"error":{"message":"boom"}}`), goodput.ClientError, "HTTP status 400: boom", ""},
		{"a failure that cannot be read", "br", 400, zip(`{"error":{"message":"boom"}}`), goodput.ClientError, "HTTP status 400", ""},
		{"none", "identity", 200, []byte(body), goodput.Success, "", "ab"},
		{"not gzip", "gzip", 200, []byte(body), goodput.Malformed, "the body is not gzip, though its header says so", ""},
		{"corrupt", "gzip", 200, corrupt, goodput.Malformed, "the body is not gzip, though its header says so", ""},
		{"cut", "gzip", 200, zip(body)[:30], goodput.Truncated, "unexpected EOF", ""},
		{"nothing", "gzip", 200, nil, goodput.Truncated, "the body is empty", ""},
		{"another", "br", 200, zip(body), goodput.Malformed, "the content encoding is neither identity nor gzip", ""},
		{"a bomb", "gzip", 200, zip(`{"a":"` + strings.Repeat("x", 16<<20)), goodput.Malformed, "the body is longer than 16777216 bytes", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", c.encoding)
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(c.status)
				w.Write(c.body)
			})
			rec, text := do(t, tgt, &loadgen.Request{Prompt: "x"})
			assert.Equal(t, c.outcome, rec.Outcome)
			assert.Equal(t, c.detail, rec.Detail)
			assert.Equal(t, c.text, text[loadgen.Content])
			assert.Equal(t, len(c.body) > 0 && c.encoding != "br", rec.FirstByte > 0)
		})
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{300, 301, 302, 303, 307, 308} {
		for _, location := range []string{"", "/elsewhere", "http://[bad", "%zz"} {
			for name, client := range map[string]*http.Client{"own": nil, "the caller's": {Transport: &http.Transport{}}} {
				var calls atomic.Int32
				tgt := served(t, Config{Client: client}, func(w http.ResponseWriter, r *http.Request) {
					calls.Add(1)
					if location != "" {
						w.Header().Set("Location", location)
					}
					w.WriteHeader(status)
				})
				rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
				assert.Equal(t, goodput.ClientError, rec.Outcome, "%d %q %s: %s", status, location, name, rec.Detail)
				assert.EqualValues(t, 1, calls.Load())
				if client != nil {
					client.CloseIdleConnections()
				}
			}
		}
	}
}

func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	rec, _ := do(t, target(t, Config{BaseURL: "http://" + l.Addr().String()}), &loadgen.Request{})
	assert.Equal(t, goodput.ConnectionError, rec.Outcome)
	assert.Contains(t, rec.Detail, "refused")

	quiet := log.New(io.Discard, "", 0)
	srv := httptest.NewUnstartedServer(streaming(done))
	srv.Config.ErrorLog = quiet
	srv.StartTLS()
	defer srv.Close()
	rec, _ = do(t, target(t, Config{BaseURL: srv.URL}), &loadgen.Request{})
	assert.Equal(t, goodput.ConnectionError, rec.Outcome, "nobody vouches for the certificate")
	assert.Contains(t, rec.Detail, "certificate")
	rec, _ = do(t, target(t, Config{BaseURL: srv.URL, Client: srv.Client()}), &loadgen.Request{})
	assert.Equal(t, goodput.Empty, rec.Outcome, rec.Detail)

	plain := httptest.NewServer(streaming(done))
	defer plain.Close()
	rec, _ = do(t, target(t, Config{BaseURL: strings.Replace(plain.URL, "http:", "https:", 1)}), &loadgen.Request{})
	assert.Equal(t, goodput.ConnectionError, rec.Outcome, "no TLS spoken there: %s", rec.Detail)

	for _, c := range []struct {
		err  error
		want goodput.Outcome
	}{
		{&net.DNSError{Err: "no such host", Name: "nowhere.invalid", IsNotFound: true}, goodput.ConnectionError},
		{os.NewSyscallError("socket", syscall.EMFILE), goodput.Dropped},
		{os.NewSyscallError("connect", syscall.EADDRNOTAVAIL), goodput.Dropped},
		{os.NewSyscallError("connect", syscall.ETIMEDOUT), goodput.ConnectionError},
	} {
		client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: c.err}
		}}}
		rec, _ = do(t, target(t, Config{BaseURL: "http://h", Client: client}), &loadgen.Request{})
		assert.Equal(t, c.want, rec.Outcome, rec.Detail)
		assert.LessOrEqual(t, rec.Attempts, 1)
	}
}

func TestClientOfTheCallers(t *testing.T) {
	block := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-block:
		}
	}))
	defer srv.Close()
	defer close(block)
	for name, client := range map[string]*http.Client{
		"timeout":        {Transport: &http.Transport{}, Timeout: 20 * time.Millisecond},
		"header timeout": {Transport: &http.Transport{ResponseHeaderTimeout: 20 * time.Millisecond}},
	} {
		rec, _ := do(t, target(t, Config{BaseURL: srv.URL, Client: client}), &loadgen.Request{})
		assert.Equal(t, goodput.Timeout, rec.Outcome, "%s: %s", name, rec.Detail)
		client.CloseIdleConnections()
	}
}

func TestHTTP2(t *testing.T) {
	var calls atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 3 {
			panic(http.ErrAbortHandler) // resets the stream, and not the connection
		}
		assert.Equal(t, 2, r.ProtoMajor)
		streaming(deltas("a")+stop+done)(w, r)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	tgt := target(t, Config{BaseURL: srv.URL, Client: srv.Client()})
	for range 2 {
		rec, text := do(t, tgt, &loadgen.Request{Prompt: "x"})
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		require.Equal(t, "a", text[loadgen.Content])
	}
	rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
	assert.Equal(t, goodput.ConnectionError, rec.Outcome, rec.Detail)
	assert.LessOrEqual(t, rec.Attempts, 1, "a stream that was reset is no connection that was closed")
	assert.EqualValues(t, 3, calls.Load())
}

// TestHTTP2OfItsOwn has many streams at once on one connection, some of which are reset.
func TestHTTP2OfItsOwn(t *testing.T) {
	const n = 40
	var conns, calls atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, 2, r.ProtoMajor)
		io.Copy(io.Discard, r.Body)
		write(w, deltas("a"))
		if calls.Add(1)%4 == 0 {
			panic(http.ErrAbortHandler)
		}
		write(w, deltas("b")+stop+done)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	tgt := target(t, Config{BaseURL: srv.URL, HTTP2: true})
	res, err := loadgen.Run(t.Context(), tgt, loadgen.Plan{SLO: slo.MustParse("e2e p50 < 1h"), Concurrency: n, Requests: 5 * n})
	require.NoError(t, err)
	assert.EqualValues(t, 5*n*3/4, res.Report.Outcomes[goodput.Success], res.Report.Outcomes)
	assert.EqualValues(t, 5*n/4, res.Report.Outcomes[goodput.Truncated], res.Report.Outcomes)
	assert.Zero(t, res.Report.Health.Retried)
	assert.EqualValues(t, 5*n, res.Report.Health.Network.Opened+res.Report.Health.Network.Reused)
	assert.EqualValues(t, 1, conns.Load(), "a burst does not open one for each")
}

func TestHugeHeader(t *testing.T) {
	tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X", strings.Repeat("x", httpclient.MaxHeader+1))
		streaming(deltas("a")+done)(w, r)
	})
	rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
	assert.Equal(t, goodput.ConnectionError, rec.Outcome)
	assert.Contains(t, rec.Detail, "exceeded 262144 bytes")
}

func TestHugeLine(t *testing.T) {
	tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, deltas("a")+"data: ")
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
	assert.Equal(t, goodput.Malformed, rec.Outcome)
	assert.Equal(t, "sse: a line or an event of more than 1048576 bytes", rec.Detail)
	assert.Len(t, rec.Tokens, 1)
}

// TestSecrets has servers quote the key, in every place where they can say something, and looks for it in the record.
func TestSecrets(t *testing.T) {
	const key = `sk-Top"Secret<0123456789>&\/x`
	const prompt = "My \"private\" question\nis about the weather in Oslo."
	quoted, _ := json.Marshal(key)
	inJSON := strings.Trim(string(quoted), `"`)
	allEscaped := ""
	for _, r := range key {
		allEscaped += fmt.Sprintf(`\u%04x`, r)
	}
	echo, _ := json.Marshal(map[string]any{"detail": []any{map[string]any{"msg": "Field required", "input": map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": prompt}}}}}})
	echoOnly, _ := json.Marshal(map[string]any{"seen": map[string]any{"content": prompt}})
	for name, answer := range map[string]string{
		"401":                   "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n\r\n" + `{"error":{"message":"Incorrect API key provided: ` + inJSON + `."}}`,
		"401 in other words":    "HTTP/1.1 401 Unauthorized\r\n\r\n" + `{"key":"` + inJSON + `"}`,
		"401, escaped":          "HTTP/1.1 401 Unauthorized\r\n\r\n" + `{"key":"` + allEscaped + `"}`,
		"401, escaped message":  "HTTP/1.1 401 Unauthorized\r\n\r\n" + `{"error":{"message":"` + allEscaped + `"}}`,
		"401 without JSON":      "HTTP/1.1 401 Unauthorized\r\n\r\nBad key: Bearer " + key,
		"401, cut within":       "HTTP/1.1 401 Unauthorized\r\n\r\n" + strings.Repeat(" ", httpclient.MaxErrorBody-15) + key,
		"401, long":             "HTTP/1.1 401 Unauthorized\r\n\r\n" + strings.Repeat("x", httpclient.MaxDetail-12) + key,
		"401, as a reason":      "HTTP/1.1 401 " + key + "\r\n\r\n",
		"422 with the request":  "HTTP/1.1 422 Unprocessable\r\n\r\n" + string(echo),
		"422 with the prompt":   "HTTP/1.1 422 Unprocessable\r\n\r\n" + string(echoOnly),
		"422 with plain prompt": "HTTP/1.1 422 Unprocessable\r\n\r\ncannot answer: " + prompt,
		"redirect":              "HTTP/1.1 302 Found\r\nLocation: http://h/?key=" + "sk-1" + "\r\n\r\n" + key,
		"no HTTP":               key + "\r\n\r\n",
		"no header":             "HTTP/1.1 200 OK\r\n" + key + "\r\n\r\n",
		"length":                "HTTP/1.1 200 OK\r\nContent-Length: " + key + "\r\n\r\n",
		"encoding":              "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + key + "\r\n\r\n",
		"error event":           keptAlive200 + stream(`{"error":{"message":"no `+inJSON+`"}}`),
		"error of another form": keptAlive200 + stream(`{"error":{"key":"`+allEscaped+`"}}`),
		"named error":           keptAlive200 + "event: error\ndata: " + key + "\n\n",
		"malformed":             keptAlive200 + stream("key "+key),
		"malformed, cut within": keptAlive200 + stream(strings.Repeat("x", 70)+key),
		"malformed, escaped":    keptAlive200 + stream(`["`+allEscaped+`"]`),
		"malformed choices":     keptAlive200 + stream(`{"choices":"`+allEscaped+`"}`),
		"malformed document":    keptAlive200 + `{"a": ` + key,
		"finish reason":         keptAlive200 + deltas("x") + stream(choice(`"finish_reason":"`+inJSON+`"`), "[DONE]"),
	} {
		t.Run(name, func(t *testing.T) {
			url := raw(t, func(_ int, conn net.Conn, req *http.Request) bool {
				assert.Equal(t, "Bearer "+key, req.Header.Get("Authorization"))
				io.WriteString(conn, answer)
				return false
			})
			tgt := target(t, Config{BaseURL: url + "/v1?key=query-secret-1", APIKey: key})
			rec, _ := do(t, tgt, &loadgen.Request{Prompt: prompt})
			if name != "finish reason" {
				assert.NotEqual(t, goodput.Success, rec.Outcome)
				assert.NotEmpty(t, rec.Detail)
			}
			assert.LessOrEqual(t, len(rec.Detail), 256)
			assert.NotContains(t, rec.Detail, "\n")
			line, err := rec.MarshalJSON()
			require.NoError(t, err)
			for _, secret := range []string{key, inJSON, key[:8], key[8:], "Secret", "query-secret", "private", "weather", "u0053\\u0065"} {
				assert.NotContains(t, string(line), secret)
				assert.NotContains(t, rec.Detail, secret)
				assert.NotContains(t, rec.Finish, secret)
			}
			if strings.HasPrefix(name, "401,") || name == "401" {
				assert.True(t, strings.HasPrefix(rec.Detail, "HTTP status 401"), rec.Detail)
			}
		})
	}
}

const keptAlive200 = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

// A server may quote any part of a prompt.
func TestSecretsWithinThePrompt(t *testing.T) {
	words := strings.Fields(strings.Repeat("Ærlig talt: the \"quick\" brown fox\nknows 1,234 private things about <Oslo> & me. ", 3))
	for i := range words {
		words[i] += fmt.Sprint(i)
	}
	prompt := strings.Join(words, " ")
	inJSON, _ := json.Marshal(prompt)
	for _, text := range []string{prompt, string(inJSON[1 : len(inJSON)-1])} {
		for from := 0; from+40 <= len(text); from += 7 {
			quote := text[from : from+40]
			tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(400)
				fmt.Fprintf(w, "cannot read '%s' of the prompt", quote)
			})
			rec, _ := do(t, tgt, &loadgen.Request{Messages: []loadgen.Message{{Role: "system", Content: "Be short."}, {Role: "user", Content: prompt}}})
			before, _, cut := strings.Cut(strings.TrimPrefix(rec.Detail, "HTTP status 400: cannot read '"), "[redacted]")
			assert.True(t, cut, rec.Detail)
			assert.Less(t, len(before), 16, rec.Detail) // JSON can be escaped in more ways than one
		}
	}
}

func TestSecretsElsewhere(t *testing.T) {
	for name, c := range map[string]Config{
		"header":      {Header: http.Header{"api-key": {"abcd-0123456789"}}},
		"bearer":      {Header: http.Header{"Authorization": {"Bearer abcd-0123456789"}}},
		"basic":       {Header: http.Header{"Authorization": {"Basic dTphYmNkLTAxMjM0NTY3ODk="}}},
		"cookie":      {Header: http.Header{"Cookie": {"abcd-0123456789"}}},
		"query":       {BaseURL: "/v1?sig=abcd-0123456789"},
		"long query":  {BaseURL: "/v1?x=0123456789-0123456789"},
		"body":        {Body: map[string]any{"api_key": "abcd-0123456789"}},
		"nested body": {Body: map[string]any{"extra": []any{map[string]any{"auth": map[string]string{"token": "abcd-0123456789"}}}}},
		"escaped key": {APIKey: "abcd-0123456789"},
	} {
		tgt := served(t, c, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			fmt.Fprintf(w, "bad: %s %s", r.URL.RawQuery, r.Header)
			if r.URL.Query().Get("x") == "" {
				fmt.Fprint(w, " abcd-0123456789")
			}
		})
		rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
		assert.Equal(t, goodput.ClientError, rec.Outcome)
		assert.Contains(t, rec.Detail, "bad: ")
		assert.NotContains(t, rec.Detail, "0123456789", name)
	}
	tgt := target(t, Config{BaseURL: "http://abcd-0123456789@h"})
	assert.Equal(t, "[redacted]", tgt.redact.Line("abcd-0123456789", nil, false), "a user alone is the key")
	url := raw(t, func(_ int, conn net.Conn, req *http.Request) bool {
		io.WriteString(conn, "HTTP/1.1 401 No\r\n\r\nuser: "+req.Header.Get("Authorization")+" p4ssw0rd me@")
		return false
	})
	rec, _ := do(t, target(t, Config{BaseURL: strings.Replace(url, "//", "//me:p4ssw0rd@", 1)}), &loadgen.Request{})
	assert.Regexp(t, `^HTTP status 401: user: Basic ?\[redacted\] \[redacted\] me@$`, rec.Detail)
}

func TestStatusDetail(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"boom\nbang","type":"t"}}`: "HTTP status 500: boom bang",
		`{"error":"boom"}`:                             "HTTP status 500: boom",
		`{"message":"boom"}`:                           "HTTP status 500: boom",
		`{"detail":"boom"}`:                            "HTTP status 500: boom",
		`{"detail":[{"msg":"boom"}]}`:                  "HTTP status 500: boom",
		`[{"error":{"message":"boom"}}]`:               "HTTP status 500: boom",
		`{"error":{"message":""},"x":1e999}`:           "HTTP status 500",
		`{"error":{"message":""},"x":1}`:               `HTTP status 500: {"error":{"message":""},"x":1}`,
		"<html>\r\n\t<b>boom</b>\x00\u202e\xff</html>": "HTTP status 500: <html> <b>boom</b> \uFFFD</html>",
		"":                        "HTTP status 500",
		strings.Repeat("é", 3000): "HTTP status 500: " + strings.Repeat("é", 108) + "…",
		strings.Repeat("[", 5000): "HTTP status 500: " + strings.Repeat("[", 217) + "…",
		`{"error":{"message":"` + strings.Repeat("x", 300): "HTTP status 500: " + `{"error":{"message":"` + strings.Repeat("x", 196) + "…",
	} {
		tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			io.WriteString(w, body)
		})
		rec, _ := do(t, tgt, &loadgen.Request{})
		assert.Equal(t, goodput.ServerError, rec.Outcome)
		assert.Equal(t, want, rec.Detail)
	}
}
