package httpclient

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
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

// target performs each request with c and reads its body, each byte's arrival a token where tokens is set.
func target(c *Client, method, u, body string) loadgen.TargetFunc {
	return func(ctx context.Context, _ *loadgen.Request, trace *loadgen.Trace) error {
		req, err := http.NewRequestWithContext(ctx, method, u, strings.NewReader(body))
		if err != nil {
			return err
		}
		if body == "" {
			req.Body, req.GetBody, req.ContentLength = nil, nil, 0
		}
		resp, err := c.Do(ctx, req, trace)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		in := NewBody(resp, trace)
		for buf := make([]byte, 100); ; {
			n, err := in.Read(buf)
			if n > 0 {
				trace.TokenAt(in.At, n)
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// run puts n requests on t, one after another or all at once, and is where their time went.
func run(t *testing.T, tgt loadgen.Target, n, concurrency int) *goodput.Network {
	t.Helper()
	res, err := loadgen.Run(t.Context(), tgt, loadgen.Plan{SLO: slo.MustParse("e2e p50 < 1h"), Requests: n, Concurrency: concurrency})
	require.NoError(t, err)
	require.EqualValues(t, n, res.Report.Outcomes[goodput.Success], "%v", res.Report.Outcomes)
	require.Zero(t, res.Report.Health.Retried)
	return res.Report.Health.Network
}

func server(t *testing.T, start func(*httptest.Server), h http.HandlerFunc) (srv *httptest.Server, conns *atomic.Int32) {
	t.Helper()
	conns = new(atomic.Int32)
	srv = httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	start(srv)
	t.Cleanup(srv.Close)
	return srv, conns
}

func client(t *testing.T, o Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func hello(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	io.WriteString(w, "hello")
}

// trust has the client's own connections trust srv.
func trust(c *Client, srv *httptest.Server) {
	c.dialer.tls.RootCAs = x509.NewCertPool()
	c.dialer.tls.RootCAs.AddCert(srv.Certificate())
}

func startTLS(h2 bool) func(*httptest.Server) {
	return func(s *httptest.Server) {
		s.EnableHTTP2 = h2
		s.StartTLS()
	}
}

func TestPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			time.Sleep(10 * time.Millisecond)
			w.WriteHeader(200)
			http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
			io.WriteString(w, "hello")
		})}
		l := memnet.Listen()
		go srv.Serve(l)
		defer srv.Close()
		c := New(Options{Client: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			time.Sleep(5 * time.Millisecond)
			return l.Dial(ctx, network, addr)
		}}}})
		defer c.CloseIdleConnections()
		const ms = 0.001
		n := run(t, target(c, http.MethodPost, "http://h/", "x"), 2, 1)
		assert.Equal(t, &goodput.Network{
			Opened: 1, Reused: 1,
			Wait:       goodput.PhaseTimes{N: 2, P50: 2.5 * ms, P99: 4.95 * ms, Max: 5 * ms}, // 5 ms and none
			Write:      goodput.PhaseTimes{N: 2},
			FirstByte:  goodput.PhaseTimes{N: 2, P50: 10 * ms, P99: 10 * ms, Max: 10 * ms},
			FirstToken: goodput.PhaseTimes{N: 2, P50: 20 * ms, P99: 20 * ms, Max: 20 * ms},
		}, n)
	})
}

func TestPhasesOfRealConnections(t *testing.T) {
	srv, _ := server(t, (*httptest.Server).Start, hello)
	byName := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	n := run(t, target(client(t, Options{}), http.MethodGet, byName, ""), 3, 1)
	assert.EqualValues(t, 1, n.Opened)
	assert.EqualValues(t, 2, n.Reused)
	for name, p := range map[string]goodput.PhaseTimes{"dns": n.DNS, "connect": n.Connect} {
		assert.EqualValues(t, 1, p.N, name)
		assert.Positive(t, p.Max, name)
		assert.LessOrEqual(t, p.Max, n.Wait.Max, name)
	}
	assert.Zero(t, n.TLS.N)
	assert.EqualValues(t, 3, n.FirstToken.N)

	srv, _ = server(t, startTLS(false), hello)
	own := client(t, Options{})
	trust(own, srv)
	for name, c := range map[string]*Client{"own": own, "the caller's": client(t, Options{Client: srv.Client()})} {
		n = run(t, target(c, http.MethodPost, srv.URL, "x"), 3, 1)
		assert.EqualValues(t, 1, n.TLS.N, name)
		assert.EqualValues(t, 1, n.Connect.N, name)
		assert.Positive(t, n.TLS.P50, name)
		assert.LessOrEqual(t, n.TLS.Max+n.Connect.Max, n.Wait.Max, name)
		assert.EqualValues(t, 2, n.Reused, name)
	}
}

func TestHTTP2(t *testing.T) {
	proto2 := func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, 2, r.ProtoMajor)
		hello(w, r)
	}
	plain, conns := server(t, func(s *httptest.Server) {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	}, proto2)
	c := client(t, Options{HTTP2: true})
	n := run(t, target(c, http.MethodPost, plain.URL, "x"), 20, 4)
	assert.EqualValues(t, 20, n.Opened+n.Reused)
	assert.EqualValues(t, 1, conns.Load(), "those that come first share one too")

	conns.Store(0)
	ahead := client(t, Options{HTTP2: true})
	require.NoError(t, ahead.Connect(t.Context(), must(plain.URL), 9))
	n = run(t, target(ahead, http.MethodGet, plain.URL, ""), 20, 1)
	assert.EqualValues(t, 20, n.Reused)
	assert.EqualValues(t, 1, conns.Load(), "one is enough")

	secure, conns := server(t, startTLS(true), proto2)
	c = client(t, Options{HTTP2: true})
	trust(c, secure)
	require.NoError(t, c.Connect(t.Context(), must(secure.URL), 2))
	n = run(t, target(c, http.MethodPost, secure.URL, "x"), 20, 1)
	assert.EqualValues(t, 20, n.Reused)
	assert.EqualValues(t, 1, conns.Load())

	// A server that goes away between two requests, and one that takes its stream back.
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		requests := 0
		var srv *httptest.Server
		srv, _ = server(t, startTLS(true), func(w http.ResponseWriter, r *http.Request) {
			switch requests++; requests {
			case 2:
				srv.CloseClientConnections()
			case 4:
				panic(http.ErrAbortHandler)
			default:
				hello(w, r)
			}
		})
		c = client(t, Options{HTTP2: true})
		trust(c, srv)
		for i, want := range []struct {
			outcome  goodput.Outcome
			attempts int
		}{{goodput.Success, 0}, {goodput.Success, 2}, {goodput.ConnectionError, 0}} {
			rec := loadgen.Do(t.Context(), target(c, method, srv.URL, ""), nil)
			assert.Equal(t, want.outcome, rec.Outcome, "%s, request %d: %s", method, i, rec.Detail)
			assert.Equal(t, want.attempts, rec.Attempts, "%s, request %d", method, i)
		}
		assert.Equal(t, 4, requests)
	}

	old, _ := server(t, startTLS(false), hello)
	c = client(t, Options{HTTP2: true})
	trust(c, old)
	rec := loadgen.Do(t.Context(), target(c, http.MethodPost, old.URL, "x"), nil)
	assert.Equal(t, goodput.ConnectionError, rec.Outcome, "no HTTP/2 spoken there: %s", rec.Detail)
}

func TestQueue(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	q := newQueue()
	connected, err := q.wait(done)
	require.NoError(t, err, "the first has nobody to wait for")
	_, err = q.wait(done)
	require.ErrorIs(t, err, context.Canceled)
	connected()
	connected()
	_, err = q.wait(t.Context())
	require.NoError(t, err)
}

func must(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// TestConnectionsAheadThatDied: the server has closed them all before the first request.
func TestConnectionsAheadThatDied(t *testing.T) {
	addr, closed := raw(t, 3)
	c := client(t, Options{})
	require.NoError(t, c.Connect(t.Context(), must(addr), 3))
	require.Eventually(t, func() bool { return closed.Load() == 3 }, time.Minute, time.Millisecond)
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		rec := loadgen.Do(t.Context(), target(c, method, addr, ""), nil)
		assert.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		assert.Equal(t, 2, rec.Attempts, method)
	}
}

// So it is over TLS.
func TestSecureConnectionsAheadThatDied(t *testing.T) {
	srv, conns := server(t, startTLS(false), hello)
	c := client(t, Options{})
	trust(c, srv)
	require.NoError(t, c.Connect(t.Context(), must(srv.URL), 3))
	require.Eventually(t, func() bool { return conns.Load() == 3 }, time.Minute, time.Millisecond)
	srv.CloseClientConnections()
	for i, attempts := range []int{2, 2, 2, 0} {
		rec := loadgen.Do(t.Context(), target(c, http.MethodPost, srv.URL, "x"), nil)
		assert.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		assert.Equal(t, attempts, rec.Attempts, "request %d", i)
	}
	assert.EqualValues(t, 7, conns.Load(), "what is sent again keeps no connection")
	assert.Equal(t, 1, c.idle())
}

// raw is a server that closes its first dead connections at once, and answers the requests on the others. closed counts the
// former.
func raw(t *testing.T, dead int) (addr string, closed *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed = new(atomic.Int32)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if n < dead {
				conn.Close()
				closed.Add(1)
				continue
			}
			wg.Go(func() {
				defer conn.Close()
				for r := bufio.NewReader(conn); ; {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return "http://" + l.Addr().String(), closed
}

// TestNothingIsRepeatedInSilence has every kept-alive connection die when it is used again. net/http would send a GET, and
// whatever says it is idempotent, until it is through.
func TestNothingIsRepeatedInSilence(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodDelete, http.MethodPost} {
		for _, body := range []string{"", "x"} {
			var mu sync.Mutex
			var requests, head []string
			var waiting sync.WaitGroup
			waiting.Add(3)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			var served sync.WaitGroup
			served.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					served.Go(func() {
						defer conn.Close()
						r := bufio.NewReader(conn)
						for i := 0; ; i++ {
							req, err := http.ReadRequest(r)
							if err != nil {
								return
							}
							io.Copy(io.Discard, req.Body)
							mu.Lock()
							requests = append(requests, req.Method)
							head = append(head, strings.Join(req.TransferEncoding, ","))
							n := len(requests)
							mu.Unlock()
							if i > 0 {
								return // it dies with the request read and not answered
							}
							if n <= 3 {
								waiting.Done()
								waiting.Wait()
							}
							io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
						}
					})
				}
			})
			c := New(Options{})
			tgt := target(c, method, "http://"+l.Addr().String(), body)
			run(t, tgt, 3, 3)
			rec := loadgen.Do(t.Context(), tgt, nil)
			assert.Equal(t, goodput.Success, rec.Outcome, "%s %q: %s", method, body, rec.Detail)
			assert.Equal(t, 2, rec.Attempts)
			assert.Len(t, requests, 5, "three, one that met a dead connection, and its repetition")
			for _, te := range head {
				assert.Empty(t, te, method)
			}
			c.CloseIdleConnections()
			l.Close()
			served.Wait()
		}
	}
}

func TestProxies(t *testing.T) {
	before := http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost
	rt := New(Options{Client: &http.Client{}}).http.Transport.(*once)
	assert.Equal(t, before, http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost)
	assert.NotNil(t, rt.again.(*http.Transport).Proxy, "the caller's proxy stays")
	rt = New(Options{}).http.Transport.(*once)
	assert.Nil(t, rt.first.(*pool).transport.Proxy)
	assert.Nil(t, rt.again.(*pool).transport.Proxy)
}

func TestRedirects(t *testing.T) {
	srv, _ := server(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
			return
		}
		b, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.Method+string(b))
	})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, body := range []string{"", "x"} {
			for _, follow := range []bool{false, true} {
				req, err := http.NewRequestWithContext(t.Context(), method, srv.URL, strings.NewReader(body))
				require.NoError(t, err)
				if body == "" {
					req.Body, req.GetBody = nil, nil
				}
				resp, err := client(t, Options{Redirects: follow}).Do(t.Context(), req, loadgen.NewTrace(time.Now()))
				require.NoError(t, err)
				b, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if !follow {
					assert.Equal(t, 307, resp.StatusCode)
					continue
				}
				assert.Equal(t, method+body, string(b))
			}
		}
	}
}

func TestTLSThatFails(t *testing.T) {
	srv, _ := server(t, startTLS(false), hello)
	rec := loadgen.Do(t.Context(), target(client(t, Options{}), http.MethodGet, srv.URL, ""), nil)
	assert.Equal(t, goodput.ConnectionError, rec.Outcome)
	assert.Contains(t, rec.Detail, "certificate")
	err := client(t, Options{}).Connect(t.Context(), must(srv.URL), 2)
	var cert *tls.CertificateVerificationError
	assert.ErrorAs(t, err, &cert)
}
