package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
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
)

// inMemoryServer serves over pipes: dial opens one once it has waited for as long as its next delay says, or for none.
type inMemoryServer struct {
	*memnet.Listener
	srv    http.Server
	mu     sync.Mutex
	delays []time.Duration
	addrs  []string // that were dialed
	open   atomic.Int32
}

func serveInMemory(h http.HandlerFunc, delays ...time.Duration) *inMemoryServer {
	s := &inMemoryServer{Listener: memnet.Listen(), delays: delays}
	s.srv.Handler = h
	s.srv.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed:
			s.open.Add(-1)
		}
	}
	go s.srv.Serve(s)
	return s
}

func (s *inMemoryServer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	s.mu.Lock()
	s.addrs = append(s.addrs, addr)
	var d time.Duration
	if len(s.delays) > 0 {
		d, s.delays = s.delays[0], s.delays[1:]
	}
	s.mu.Unlock()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Dial(ctx, network, addr)
}

// pooled is a client whose pool dials the server.
func (s *inMemoryServer) pooled() *Client {
	c := New(Options{})
	p := newPool(s.dial, nil, true)
	c.http.Transport.(*once).first, c.plain.first = p, p
	return c
}

func (c *Client) pool() *pool { return c.plain.first.(*pool) }

func (c *Client) idle() (n int) {
	p := c.pool()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cs := range p.origins {
		n += len(cs.idle)
	}
	return n
}

func answerAfter(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(d)
		io.WriteString(w, "hello")
	}
}

// A request whose connection takes long to open takes one that becomes idle before; its own then is the next one's.
func TestPoolTakesWhatIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveInMemory(answerAfter(10*time.Millisecond), 0, time.Second)
		defer s.srv.Close()
		c := s.pooled()
		defer c.CloseIdleConnections()
		tgt := target(c, http.MethodPost, "http://h/", "x")
		var wg sync.WaitGroup
		var recs [2]*goodput.Record
		for i := range recs {
			time.Sleep(time.Millisecond)
			wg.Go(func() { recs[i] = loadgen.Do(t.Context(), tgt, nil) })
		}
		wg.Wait()
		assert.Equal(t, goodput.Success, recs[0].Outcome, recs[0].Detail)
		assert.Equal(t, 10*time.Millisecond, recs[0].End)
		assert.Equal(t, goodput.Success, recs[1].Outcome, recs[1].Detail)
		assert.Equal(t, 19*time.Millisecond, recs[1].End, "9 ms for the first one's connection, 10 ms for the answer")
		assert.Equal(t, 1, c.idle())
		time.Sleep(time.Second)
		assert.Equal(t, 2, c.idle())
		assert.Equal(t, []string{"h:80", "h:80"}, s.addrs)
		for _, c := range c.pool().origins[origin{"http", "h"}].idle {
			assert.True(t, c.reused, "the server may have closed it, whether a request has used it or not")
		}
	})
}

// A connection that was to be opened for a request that is gone is given up when idle ones are closed.
func TestPoolGivesUpOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveInMemory(answerAfter(0), time.Hour)
		defer s.srv.Close()
		c := s.pooled()
		defer c.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rec := loadgen.Do(ctx, target(c, http.MethodPost, "http://h/", "x"), nil)
		assert.Equal(t, goodput.Timeout, rec.Outcome, rec.Detail)
		assert.Equal(t, time.Second, rec.End)
		synctest.Wait() // the bubble ends with no goroutine in it
		assert.Zero(t, s.open.Load())
	})
}

// Connections are closed once they have been idle for long, and nothing is kept of an origin without any.
func TestPoolClosesWhatIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveInMemory(answerAfter(0))
		defer s.srv.Close()
		c := s.pooled()
		tgt := target(c, http.MethodGet, "http://h/", "")
		require.Equal(t, goodput.Success, loadgen.Do(t.Context(), tgt, nil).Outcome)
		time.Sleep(80 * time.Second)
		require.Equal(t, goodput.Success, loadgen.Do(t.Context(), tgt, nil).Outcome)
		time.Sleep(89 * time.Second)
		assert.EqualValues(t, 1, s.open.Load(), "it was used again")
		time.Sleep(mostIdle*sweepEvery - 88*time.Second)
		assert.Zero(t, s.open.Load())
		assert.Len(t, s.addrs, 1)
		assert.Empty(t, c.pool().origins)
		assert.Nil(t, c.pool().sweeper)

		s.srv.IdleTimeout = time.Second
		require.Equal(t, goodput.Success, loadgen.Do(t.Context(), tgt, nil).Outcome)
		s.srv.SetKeepAlivesEnabled(false) // closes it
		synctest.Wait()
		assert.Equal(t, 1, c.idle())
		time.Sleep(sweepEvery + time.Millisecond)
		assert.Zero(t, c.idle(), "the server has closed it")
	})
}

// CloseIdleConnections closes what is idle, and what becomes so before there is another request.
func TestPoolCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveInMemory(answerAfter(time.Second))
		defer s.srv.Close()
		c := s.pooled()
		tgt := target(c, http.MethodPost, "http://h/", "x")
		require.Equal(t, goodput.Success, loadgen.Do(t.Context(), tgt, nil).Outcome)
		assert.EqualValues(t, 1, s.open.Load())
		go loadgen.Do(t.Context(), tgt, nil)
		time.Sleep(time.Second / 2)
		c.CloseIdleConnections()
		synctest.Wait()
		assert.EqualValues(t, 1, s.open.Load(), "it is in use")
		time.Sleep(time.Second)
		assert.Zero(t, s.open.Load())
		require.Equal(t, goodput.Success, loadgen.Do(t.Context(), tgt, nil).Outcome)
		assert.Equal(t, 1, c.idle())
		c.CloseIdleConnections()
		synctest.Wait()
		assert.Zero(t, s.open.Load())
	})
}

// What the pool does not do itself net/http does: the names of hosts that are not in ASCII, and what somebody else wants to hear
// of the request.
func TestPoolLeavesToNetHTTP(t *testing.T) {
	require.NotNil(t, hooksKey, "or else it leaves everything to net/http")
	synctest.Test(t, func(t *testing.T) {
		s := serveInMemory(answerAfter(0))
		defer s.srv.Close()
		c := s.pooled()
		defer c.CloseIdleConnections()
		for range 2 {
			rec := loadgen.Do(t.Context(), target(c, http.MethodGet, "http://bücher.example/", ""), nil)
			require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		}
		var reused []bool
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = append(reused, i.Reused) }})
		for range 2 {
			rec := loadgen.Do(ctx, target(c, http.MethodGet, "http://[::1]:81/", ""), nil)
			require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		}
		assert.Equal(t, []string{"xn--bcher-kva.example:80", "[::1]:81"}, s.addrs)
		assert.Equal(t, []bool{false, true}, reused)
		assert.Zero(t, c.idle())
		rec := loadgen.Do(t.Context(), target(c, http.MethodGet, "http://[::1]", ""), nil)
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		assert.Equal(t, "[::1]:80", s.addrs[2])
		assert.Equal(t, 1, c.idle())
	})
}

// closes counts how often a body is closed.
type closes struct {
	io.Reader
	n atomic.Int32
}

func (c *closes) Close() error { c.n.Add(1); return nil }

func TestPoolWithoutConnection(t *testing.T) {
	broken := errors.New("there is none")
	p := newPool(func(context.Context, string, string) (net.Conn, error) { return nil, broken }, nil, true)
	defer p.CloseIdleConnections()
	body := &closes{Reader: strings.NewReader("x")}
	a := newAttempt(t.Context(), loadgen.NewTrace(time.Now()))
	a.alone = true
	req, err := http.NewRequestWithContext(a, http.MethodPost, "http://h/", body)
	require.NoError(t, err)
	_, err = p.RoundTrip(req)
	assert.ErrorIs(t, err, broken)
	assert.EqualValues(t, 1, body.n.Load())
}

// TestPoolKeepsCount has requests come and go at random, some of them before they have a connection and some within their answer:
// no connection is lost, or serves two.
func TestPoolKeepsCount(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){"plain": (*httptest.Server).Start, "TLS": startTLS(false)} {
		for _, ahead := range []int{0, 30} {
			t.Run(fmt.Sprintf("%s, %d opened ahead", name, ahead), func(t *testing.T) { keepsCount(t, start, ahead) })
		}
	}
}

func keepsCount(t *testing.T, start func(*httptest.Server), ahead int) {
	var open atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "hel")
		http.NewResponseController(w).Flush()
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		io.WriteString(w, "lo")
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(srv)
	defer srv.Close()
	c, each := client(t, Options{}), 100
	if srv.TLS != nil {
		trust(c, srv)
		each = 16 // a handshake takes long
	}
	require.NoError(t, c.Connect(t.Context(), must(srv.URL), ahead))
	tgt := target(c, http.MethodPost, srv.URL, "x")
	var ok, gone atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if i%4 > 0 { // the fourth has all the time that it needs
					cancel()
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rand.IntN(1500))*time.Microsecond)
				}
				switch rec := loadgen.Do(ctx, tgt, nil); rec.Outcome {
				case goodput.Success:
					ok.Add(1)
				case goodput.Timeout:
					gone.Add(1)
				default:
					t.Errorf("%v: %s", rec.Outcome, rec.Detail)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	assert.Positive(t, ok.Load())
	assert.Positive(t, gone.Load())
	idle := func() (n int) {
		c.dialer.mu.Lock()
		defer c.dialer.mu.Unlock()
		for _, list := range c.dialer.ahead {
			n += len(list)
		}
		return n + c.idle()
	}
	require.Eventually(t, func() bool { return int(open.Load()) == idle() }, time.Minute, time.Millisecond, "%d are open, %d idle", open.Load(), idle())
	rec := loadgen.Do(t.Context(), tgt, nil)
	assert.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
	c.CloseIdleConnections()
	require.Eventually(t, func() bool { return open.Load() == 0 }, time.Minute, time.Millisecond)
}
