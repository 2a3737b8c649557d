package httpclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen"
)

// script is what a server does with the n-th request of a connection, from 1 on, whose header it has read; false: it closes the
// connection.
type script func(conn net.Conn, n int, req *http.Request) bool

// say is a script that reads the request and writes its n-th text, or the last one.
func say(goesOn bool, texts ...string) script {
	return func(conn net.Conn, n int, req *http.Request) bool {
		io.Copy(io.Discard, req.Body)
		_, err := io.WriteString(conn, texts[min(n, len(texts))-1])
		return goesOn && err == nil
	}
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

func after(n int, first, then script) script {
	return func(conn net.Conn, i int, req *http.Request) bool {
		if i <= n {
			return first(conn, i, req)
		}
		return then(conn, i, req)
	}
}

// slowly writes the pieces of a text, separated by a bar, 30 ms apart.
func slowly(text string) script {
	return func(conn net.Conn, _ int, req *http.Request) bool {
		io.Copy(io.Discard, req.Body)
		for piece := range strings.SplitSeq(text, "|") {
			if _, err := io.WriteString(conn, piece); err != nil {
				return false
			}
			time.Sleep(30 * time.Millisecond)
		}
		return true
	}
}

var scripts = map[string]script{
	"keeps":                     say(true, fine),
	"closes":                    say(false, fine),
	"closes, and says so":       say(false, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"),
	"says that it closes":       say(true, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"),
	"closes at the next":        after(1, say(true, fine), func(net.Conn, int, *http.Request) bool { return false }),
	"reads the next and closes": after(1, say(true, fine), say(false, "")),
	"closes at once":            func(net.Conn, int, *http.Request) bool { return false },
	"half a header next":        after(1, say(true, fine), say(false, "HTTP/1.1 200 OK\r\nConte")),
	"half a status next":        after(1, say(true, fine), say(false, "HT")),
	"early hints":               say(true, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"+fine),
	"continue":                  say(true, "HTTP/1.1 100 Continue\r\n\r\n"+fine),
	"endless hints":             say(true, strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", MaxHeader/20)+fine),
	"another protocol":          say(true, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nabc"),
	"another protocol, no name": say(true, "HTTP/1.1 101 Switching Protocols\r\n\r\n"),
	"no content":                say(true, "HTTP/1.1 204 No Content\r\n\r\n"),
	"no content, with some":     say(true, "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nhi"),
	"not modified, with some":   say(true, "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nhi"),
	"hints after the answer":    say(true, fine+"HTTP/1.1 103 Early Hints\r\n\r\n"),
	"two, and no more":          after(2, say(true, fine), func(net.Conn, int, *http.Request) bool { return false }),
	"not modified":              say(true, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
	"empty":                     say(true, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
	"header alone":              say(true, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
	"old":                       say(false, "HTTP/1.0 200 OK\r\n\r\nhi"),
	"old, keeps":                say(true, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi"),
	"old, does not":             say(true, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"),
	"to the end":                say(false, "HTTP/1.1 200 OK\r\n\r\nhi"),
	"chunks":                    say(true, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
	"trailers":                  say(true, "HTTP/1.1 200 OK\r\nTrailer: A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nA: b\r\n\r\n"),
	"bad chunks":                say(true, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\nhi\r\n0\r\n\r\n"),
	"too few chunks":            say(false, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"),
	"too short":                 say(false, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi"),
	"two lengths":               say(true, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 2\r\n\r\nhi"),
	"more than asked":           say(true, fine+fine),
	"some more than asked":      say(true, fine+"x"),
	"time is over":              say(true, fine+"HTTP/1.1 408 Request Timeout\r\n\r\n"),
	"no HTTP":                   say(true, "hello\r\n\r\n"),
	"big header":                say(true, "HTTP/1.1 200 OK\r\nA: "+strings.Repeat("a", MaxHeader)+"\r\n\r\n"),
	"gzip":                      say(true, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi"),
	"busy":                      say(true, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\nhi"),
	"elsewhere":                 say(true, "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 2\r\n\r\nhi"),
	"before the body": func(conn net.Conn, _ int, req *http.Request) bool {
		io.WriteString(conn, fine)
		io.Copy(io.Discard, req.Body)
		return true
	},
	"before the body, and closes": func(conn net.Conn, _ int, _ *http.Request) bool {
		io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
		time.Sleep(time.Millisecond) // else it is chance what net/http sees first, the answer or that it cannot write
		return false
	},
	"after the body's time": func(conn net.Conn, _ int, req *http.Request) bool {
		io.WriteString(conn, fine)
		time.Sleep(80 * time.Millisecond) // longer than net/http waits for a write before it gives the connection up
		io.Copy(io.Discard, req.Body)
		return true
	},
	"slow hints":   slowly("HTTP/1.1 103 Early Hints\r\n\r\n|HTTP/1.1 102 Processing\r\n\r\n|" + fine),
	"slow header":  slowly("HTTP/1.1 200 |OK\r\nContent-Length: 2|\r\n\r\nhi"),
	"slow body":    slowly("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nh|ello|!"),
	"slow trailer": slowly("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n|0\r\n|\r\n"),
	"silent": func(conn net.Conn, _ int, req *http.Request) bool {
		io.Copy(io.Discard, req.Body)
		io.Copy(io.Discard, conn)
		return false
	},
}

// scripted is a server over pipes that follows a script.
type scripted struct {
	script   script
	dials    func(ctx context.Context, n int32) error // before the n-th connection; nil: they open at once
	wg       sync.WaitGroup
	opened   atomic.Int32
	requests atomic.Int32
	mu       sync.Mutex
	seen     []string // of the requests, what is in their first line and header
}

func (s *scripted) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n := s.opened.Add(1)
	if s.dials != nil {
		if err := s.dials(ctx, n); err != nil {
			return nil, err
		}
	}
	client, server := net.Pipe()
	s.wg.Go(func() {
		defer server.Close()
		in := bufio.NewReader(server)
		for n := 1; ; n++ {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			s.requests.Add(1)
			s.mu.Lock()
			s.seen = append(s.seen, fmt.Sprintf("%s %s %s %v %v", req.Method, req.URL, req.Host, req.Header, req.ContentLength))
			s.mu.Unlock()
			if !s.script(server, n, req) {
				return
			}
		}
	})
	return client, nil
}

// ask is how the requests of a comparison are made.
type ask struct {
	method string
	body   string
	bare   bool // the body cannot be had a second time
	header http.Header
	limit  time.Duration // 0: none
	close  time.Duration // when idle connections are closed; 0: not
	apart  time.Duration // from one request to the next
	user   string
}

var asks = map[string]ask{
	"GET":              {method: http.MethodGet},
	"HEAD":             {method: http.MethodHead},
	"POST":             {method: http.MethodPost, body: "x"},
	"POST, bare":       {method: http.MethodPost, body: "x", bare: true},
	"POST, long":       {method: http.MethodPost, body: strings.Repeat("x", 1<<16)},
	"POST, expects":    {method: http.MethodPost, body: "x", header: http.Header{"Expect": {"100-continue"}}},
	"GET, closes":      {method: http.MethodGet, header: http.Header{"Connection": {"close"}}},
	"GET, gzip":        {method: http.MethodGet, header: http.Header{"Accept-Encoding": {"gzip"}}},
	"GET, 25 ms":       {method: http.MethodGet, limit: 25 * time.Millisecond},
	"POST, 45 ms":      {method: http.MethodPost, body: "x", limit: 45 * time.Millisecond},
	"GET, closed":      {method: http.MethodGet, close: 45 * time.Millisecond},
	"GET, overlapping": {method: http.MethodGet, apart: 5 * time.Millisecond},
	"GET, user":        {method: http.MethodGet, user: "me:secret@"},
}

// did is what became of the requests.
type did struct {
	Records  []string
	Opened   int32
	Requests int32
	Seen     []string
}

// comparison makes requests one after the other, or overlapping, and says what became of them. ahead connections were opened
// before.
func comparison(t *testing.T, pooled bool, ahead int, s *scripted, q ask) did {
	c := New(Options{Dial: s.dial})
	if !pooled {
		first, again := newTransport(c.dialer.dial, nil, false), newTransport(c.dialer.dialNew, nil, false)
		again.MaxIdleConnsPerHost = -1
		c.plain.first, c.plain.again = first, again
	}
	require.NoError(t, c.Connect(t.Context(), must("http://h"), ahead))
	tgt := loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, trace *loadgen.Trace) error {
		var body io.Reader
		if q.body != "" {
			body = strings.NewReader(q.body)
		}
		req, err := http.NewRequestWithContext(ctx, q.method, "http://"+q.user+"h/", body)
		require.NoError(t, err)
		if q.bare {
			req.GetBody = nil
		}
		for name, v := range q.header {
			req.Header[name] = v
		}
		resp, err := c.Do(ctx, req, trace)
		if err != nil {
			return NewRedactor().Lost(ctx, err, nil)
		}
		defer resp.Body.Close()
		in := NewBody(resp, trace)
		if resp.StatusCode/100 != 2 {
			return NewRedactor().Status(ctx, resp, in, nil)
		}
		all, err := io.ReadAll(in)
		if err != nil {
			return NewRedactor().Lost(ctx, err, nil)
		}
		if fmt.Sprint(resp.Trailer) == "map[A:[b]]" {
			all = append(all, "+trailer"...)
		}
		return loadgen.Fail(7, fmt.Sprintf("%s %q %v %v", resp.Proto, all, resp.Header, resp.ContentLength))
	})
	var got did
	if q.close > 0 {
		timer := time.AfterFunc(q.close, c.CloseIdleConnections)
		defer timer.Stop()
	}
	if q.apart == 0 {
		q.apart = 200 * time.Millisecond
	}
	records := make([]string, 4)
	var wg sync.WaitGroup
	for i := range records {
		wg.Go(func() {
			limit := q.limit
			if limit == 0 {
				limit = 199 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			rec := loadgen.Do(ctx, tgt, nil)
			// Which of the two ends of a connection net/http sees first is chance.
			rec.Detail = strings.ReplaceAll(rec.Detail, io.ErrClosedPipe.Error(), "EOF")
			records[i] = fmt.Sprint(rec.Outcome, rec.Detail, " attempts ", max(1, rec.Attempts), " first byte ", rec.FirstByte, " end ", rec.End)
		})
		time.Sleep(q.apart)
	}
	wg.Wait()
	c.CloseIdleConnections()
	time.Sleep(time.Second)
	s.wg.Wait() // each connection is closed
	got.Records, got.Opened, got.Requests, got.Seen = records, s.opened.Load(), s.requests.Load(), s.seen
	return got
}

// TestPoolAndTransport compares the pool with http.Transport, by what servers over pipes may do and by how requests are made: the
// same becomes of each, after the same number of attempts and at the same instant, over as many connections.
func TestPoolAndTransport(t *testing.T) {
	log.SetOutput(io.Discard) // to which net/http tells of answers to nothing
	defer log.SetOutput(os.Stderr)
	for name, script := range scripts {
		for how, q := range asks {
			t.Run(name+", "+how, func(t *testing.T) {
				var got [2]did
				for i := range got {
					synctest.Test(t, func(t *testing.T) { got[i] = comparison(t, i == 1, 0, &scripted{script: script}, q) })
				}
				assert.Equal(t, got[0], got[1])
			})
		}
	}
}

// TestPoolAndTransportAhead is that for connections that were opened ahead.
func TestPoolAndTransportAhead(t *testing.T) {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	for name, script := range scripts {
		for how, q := range asks {
			t.Run(name+", "+how, func(t *testing.T) {
				var got [2]did
				for i := range got {
					synctest.Test(t, func(t *testing.T) { got[i] = comparison(t, i == 1, 2, &scripted{script: script}, q) })
				}
				assert.Equal(t, got[0], got[1])
			})
		}
	}
}

// TestWithoutHooks is that for a pool that does not know where httptrace has a context's hooks.
func TestWithoutHooks(t *testing.T) {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	known := hooksKey
	defer func() { hooksKey = known }()
	for name, script := range scripts {
		for _, how := range []string{"GET", "POST", "GET, overlapping", "GET, 25 ms"} {
			t.Run(name+", "+how, func(t *testing.T) {
				var got [2]did
				for i := range got {
					if hooksKey = known; i == 0 {
						hooksKey = nil
					}
					synctest.Test(t, func(t *testing.T) { got[i] = comparison(t, true, 1, &scripted{script: script}, asks[how]) })
				}
				assert.Equal(t, got[0], got[1])
			})
		}
	}
}

// TestPoolAndTransportOpen is that for connections that open late, or not at all.
func TestPoolAndTransportOpen(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errors.New("connection refused"))}
	sleep := func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for name, dials := range map[string]func(ctx context.Context, n int32) error{
		"refused":        func(context.Context, int32) error { return refused },
		"first refused":  func(_ context.Context, n int32) error { return map[bool]error{true: refused}[n == 1] },
		"second refused": func(_ context.Context, n int32) error { return map[bool]error{true: refused}[n == 2] },
		"slow":           func(ctx context.Context, _ int32) error { return sleep(ctx, 31*time.Millisecond) },
		"late": func(ctx context.Context, n int32) error {
			return sleep(ctx, map[bool]time.Duration{true: 150 * time.Millisecond}[n > 1])
		},
		"first late": func(ctx context.Context, n int32) error {
			return sleep(ctx, map[bool]time.Duration{true: 150 * time.Millisecond}[n == 1])
		},
		"never": func(ctx context.Context, _ int32) error { return sleep(ctx, time.Hour) },
		"slow, refused": func(ctx context.Context, n int32) error {
			if err := sleep(ctx, 13*time.Millisecond); err != nil || n%2 > 0 {
				return err
			}
			return refused
		},
		"deaf": func(context.Context, int32) error { time.Sleep(300 * time.Millisecond); return nil },
	} {
		for how, q := range asks {
			for _, script := range []string{"keeps", "slow body", "closes at the next"} {
				t.Run(strings.Join([]string{name, how, script}, ", "), func(t *testing.T) {
					var got [2]did
					for i := range got {
						synctest.Test(t, func(t *testing.T) {
							got[i] = comparison(t, i == 1, 0, &scripted{script: scripts[script], dials: dials}, q)
						})
					}
					assert.Equal(t, got[0], got[1])
				})
			}
		}
	}
}
