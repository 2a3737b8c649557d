package openai

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
	"github.com/goodputkit/goodputkit/slo"
)

// keptNone is why a connection is not used again once in a while: what follows an answer, and what net/http has to say of the
// request, has 50 ms to come, which on a busy machine can be too little. Then it is done once more.
const keptNone = "no connection was kept"

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
			require.Eventually(t, func() bool {
				var conns atomic.Int32
				var again atomic.Bool
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
						again.Store(true)
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
				if again.Load() {
					assert.Equal(t, c.outcome, rec.Outcome, rec.Detail)
					assert.Equal(t, c.attempts, rec.Attempts)
					assert.EqualValues(t, c.conns, conns.Load())
				}
				if c.c.Client != nil {
					c.c.Client.CloseIdleConnections()
				}
				return again.Load()
			}, time.Minute, ms, keptNone)
		})
	}
}

// TestAllClosedMeanwhile has every idle connection dead: the second attempt must not meet the next of them.
func TestAllClosedMeanwhile(t *testing.T) {
	const n = 8
	require.Eventually(t, func() bool {
		var waiting sync.WaitGroup
		waiting.Add(n)
		url := raw(t, func(k int, conn net.Conn, req *http.Request) bool {
			if k >= n {
				answerOn(conn, deltas("y")+done)
				return false
			}
			waiting.Done()
			waiting.Wait() // so that each needs a connection of its own
			answerOn(conn, deltas("x")+done)
			if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				io.Copy(io.Discard, req.Body)
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
		twice := 0
		for range n {
			rec, text := do(t, tgt, &loadgen.Request{Prompt: "x"})
			require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
			require.Equal(t, "y", text[loadgen.Content])
			require.LessOrEqual(t, rec.Attempts, 2)
			twice += rec.Attempts / 2
		}
		return twice == n
	}, time.Minute, ms, keptNone)
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
			require.Eventually(t, func() bool {
				conns.Store(0)
				tgt := target(t, Config{BaseURL: srv.URL})
				for range 10 {
					rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
					require.Equal(t, c.status == 200, rec.Outcome == goodput.Success, rec.Detail)
				}
				return conns.Load() == 1
			}, time.Minute, ms, keptNone)
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
