package httpclient

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// A request that no server could be sent is the client's fault: it takes no connection, costs none, and is not repeated.
func TestImpossibleRequest(t *testing.T) {
	for name, spoil := range map[string]func(*http.Request){
		"method":        func(r *http.Request) { r.Method = "GE T" },
		"field's name":  func(r *http.Request) { r.Header["A b"] = []string{"c"} },
		"field's value": func(r *http.Request) { r.Header["A"] = []string{"b\nc"} },
		"trailer":       func(r *http.Request) { r.Trailer = http.Header{"A": {"b\nc"}} },
		"host":          func(r *http.Request) { r.Host = "a b" },
	} {
		for kind, o := range map[string]Options{"own": {}, "HTTP/2": {HTTP2: true}, "redirects": {Redirects: true}, "caller's": {Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}} {
			t.Run(name+" "+kind, func(t *testing.T) {
				srv, conns := server(t, startTLS(o.HTTP2), hello)
				if o.Client != nil {
					o.Client = &http.Client{Transport: srv.Client().Transport.(*http.Transport).Clone()}
				}
				c := client(t, o)
				if o.Client == nil {
					trust(c, srv)
				}
				good := target(c, http.MethodPost, srv.URL, "x")
				bad := loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, trace *loadgen.Trace) error {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader("x"))
					require.NoError(t, err)
					spoil(req)
					_, err = c.Do(ctx, req, trace)
					require.Error(t, err)
					return NewRedactor().Lost(ctx, err, nil)
				})
				rec := loadgen.Do(t.Context(), bad, nil)
				assert.Equal(t, goodput.ClientError, rec.Outcome, rec.Detail)
				assert.Zero(t, conns.Load())
				require.Equal(t, goodput.Success, loadgen.Do(t.Context(), good, nil).Outcome)
				rec = loadgen.Do(t.Context(), bad, nil)
				assert.Equal(t, goodput.ClientError, rec.Outcome, rec.Detail)
				assert.LessOrEqual(t, rec.Attempts, 1)
				assert.NotContains(t, rec.Detail, "b\nc")
				require.Equal(t, goodput.Success, loadgen.Do(t.Context(), good, nil).Outcome)
				assert.EqualValues(t, 1, conns.Load())
				if o.Client != nil {
					c.CloseIdleConnections()
				}
			})
		}
	}
}

// A request that is over before it begins is not sent, and costs no connection.
func TestPoolSendsNothingThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int32
		s := serveInMemory(func(w http.ResponseWriter, r *http.Request) { requests.Add(1) })
		defer s.srv.Close()
		c := s.pooled()
		defer c.CloseIdleConnections()
		over, cancel := context.WithCancelCause(t.Context())
		cancel(io.ErrClosedPipe)
		send := func() {
			req, err := http.NewRequestWithContext(over, http.MethodPost, "http://h/", strings.NewReader("x"))
			require.NoError(t, err)
			_, err = c.Do(over, req, loadgen.NewTrace(time.Now()))
			require.ErrorIs(t, err, io.ErrClosedPipe)
		}
		send()
		synctest.Wait()
		assert.Empty(t, s.addrs, "no connection was opened for it")
		require.Equal(t, goodput.Success, loadgen.Do(t.Context(), target(c, http.MethodGet, "http://h/", ""), nil).Outcome)
		for range 50 {
			send()
			require.Equal(t, 1, c.idle())
		}
		synctest.Wait()
		assert.EqualValues(t, 1, requests.Load())
		assert.EqualValues(t, 1, s.open.Load())
	})
}

// closing is a server that answers the first request of each connection, and of the second reads nothing but the header and
// closes. It counts the requests.
func closing(t *testing.T) (dial dialFunc, requests *atomic.Int32) {
	requests = new(atomic.Int32)
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			in := bufio.NewReader(server)
			for i := range 2 {
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				requests.Add(1)
				if i == 0 {
					io.Copy(io.Discard, req.Body)
					io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
				}
			}
		}()
		return client, nil
	}, requests
}

// What goes through net/http is as what goes through the pool: repeated once, in the open, and with a connection that is known.
func TestNamesBeyondASCII(t *testing.T) {
	for _, host := range []string{"h", "bücher.example"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			t.Run(method+" "+host, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					dial, requests := closing(t)
					c := New(Options{})
					first, again := newPool(dial, nil, true), newPool(dial, nil, false)
					defer c.CloseIdleConnections()
					c.plain.first, c.plain.again = first, again
					body := ""
					if method == http.MethodPost {
						body = "x"
					}
					tgt := target(c, method, "http://"+host+"/", body)
					n := run(t, tgt, 1, 1)
					require.NotNil(t, n)
					assert.EqualValues(t, 1, n.Opened)
					rec := loadgen.Do(t.Context(), tgt, nil)
					assert.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
					assert.Equal(t, 2, rec.Attempts)
					assert.EqualValues(t, 3, requests.Load())
				})
			})
		}
	}
}

// What is sent again gets a new connection, and not one that another such request has done with.
func TestPoolKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveInMemory(answerAfter(10*time.Millisecond), 0, time.Second)
		defer s.srv.Close()
		c := New(Options{})
		c.plain.first = newPool(s.dial, nil, false)
		defer c.CloseIdleConnections()
		tgt := target(c, http.MethodPost, "http://h/", "x")
		var wg sync.WaitGroup
		var recs [2]*goodput.Record
		for i := range recs {
			wg.Go(func() { recs[i] = loadgen.Do(t.Context(), tgt, nil) })
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		assert.Equal(t, 10*time.Millisecond, recs[0].End)
		assert.Equal(t, time.Second+10*time.Millisecond, recs[1].End, "a connection of its own, and no other")
		synctest.Wait()
		assert.Zero(t, s.open.Load())
	})
}

// A server that takes a connection more slowly than a request has time gets one all the same, and a few more at most.
func TestPoolOpensForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveInMemory(answerAfter(time.Millisecond), 3*time.Second)
		defer s.srv.Close()
		c := s.pooled()
		defer c.CloseIdleConnections()
		one := func() goodput.Outcome {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			return loadgen.Do(ctx, target(c, http.MethodPost, "http://h/", "x"), nil).Outcome
		}
		assert.Equal(t, goodput.Timeout, one())
		s.mu.Lock()
		s.delays = []time.Duration{3 * time.Second}
		s.mu.Unlock()
		assert.Equal(t, goodput.Success, one())
		time.Sleep(3 * time.Second)
		assert.Equal(t, 2, c.idle())
		assert.Len(t, s.addrs, 2)
	})
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		c := New(Options{})
		c.plain.first = newPool(func(ctx context.Context, _, _ string) (net.Conn, error) {
			dials.Add(1)
			defer dials.Add(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil, true)
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				assert.Equal(t, goodput.Timeout, loadgen.Do(ctx, target(c, http.MethodPost, "http://h/", "x"), nil).Outcome)
			})
		}
		wg.Wait()
		synctest.Wait()
		assert.EqualValues(t, connecting, dials.Load())
		c.CloseIdleConnections()
		synctest.Wait()
		assert.Zero(t, dials.Load())
		time.Sleep(sweepEvery + time.Second)
		synctest.Wait()
		assert.Empty(t, c.pool().origins)
		assert.Nil(t, c.pool().sweeper)
	})
}

func TestHostWithABlank(t *testing.T) {
	_, err := Header(http.Header{}, http.Header{"Host": {"a b"}})
	assert.EqualError(t, err, "the value of Host has a blank in it")
}

// done is a context that ends in a way of its own.
type done struct {
	context.Context
	c chan struct{}
}

func (d done) Done() <-chan struct{} { return d.c }

// Requests that fail leave nothing at a context that goes on after them.
func TestNothingStaysAtTheContext(t *testing.T) {
	for name, script := range map[string]script{"lost": scripts["closes at once"], "answered": scripts["keeps"], "bad": scripts["no HTTP"]} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which ends with no goroutine in it
				s := &scripted{script: script}
				c := New(Options{})
				c.plain.first, c.plain.again = newPool(s.dial, nil, true), newPool(s.dial, nil, false)
				for range 3 {
					loadgen.Do(done{t.Context(), make(chan struct{})}, target(c, http.MethodGet, "http://h/", ""), nil)
				}
				c.CloseIdleConnections()
				s.wg.Wait()
			})
		})
	}
}
