package httpclient

import (
	"context"
	"io"
	"net"
	"net/http"
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

// A connection that takes one request at a time has those beside it open others without waiting for it.
func TestHTTP2FullConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := memnet.Listen()
		var opened atomic.Int32
		srv := &http.Server{HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1}, Protocols: new(http.Protocols), Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				time.Sleep(10 * time.Millisecond)
			})}
		srv.Protocols.SetUnencryptedHTTP2(true)
		var serving sync.WaitGroup
		serving.Go(func() { srv.Serve(listener) })
		c := New(Options{HTTP2: true})
		c.plain.first.(*http.Transport).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return c.dialer.shared(ctx, "http", network, addr, func(ctx context.Context, network, addr string) (net.Conn, error) {
				opened.Add(1)
				return listener.Dial(ctx, network, addr)
			})
		}
		to := target(c, http.MethodPost, "http://server/", "x")
		require.Equal(t, goodput.Success, loadgen.Do(t.Context(), to, nil).Outcome)
		var all sync.WaitGroup
		for i := range 4 {
			time.Sleep(time.Millisecond) // the server has said how many it takes
			all.Go(func() {
				rec := loadgen.Do(t.Context(), to, nil)
				assert.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
				assert.Equal(t, 10*time.Millisecond, rec.End, "request %d did not wait", i)
			})
		}
		all.Wait()
		assert.EqualValues(t, 4, opened.Load())
		c.CloseIdleConnections()
		srv.Close()
		serving.Wait()
	})
}

// What a request waits for before it opens a connection beside one that is new.
func TestSharing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharing()
		wait := func(a *attempt) (time.Duration, error) {
			begin := time.Now()
			err := s.wait(a, "host:1")
			return time.Since(begin), err
		}
		asks := func(times int32) *attempt {
			a := newAttempt(t.Context(), nil)
			a.share()
			a.asked.Store(times)
			return a
		}
		waits := func(want time.Duration, err error, a *attempt) {
			t.Helper()
			took, got := wait(a)
			assert.Equal(t, want, took)
			assert.ErrorIs(t, got, err)
		}
		waits(0, nil, asks(1)) // the first of all
		s.opened("host:1")
		time.Sleep(showing / 4)
		waits(showing*3/4, nil, asks(1)) // net/http did not show it
		waits(0, nil, asks(1))           // and has had its time

		s.opened("host:1")
		a := asks(1)
		time.AfterFunc(time.Millisecond, func() { close(a.given) })
		waits(time.Millisecond, errShared, a)
		waits(0, nil, a) // it failed: net/http looks for another
		s.opened("host:1")
		a.asked.Store(0)
		waits(0, errShared, a)

		a = asks(1)
		time.AfterFunc(time.Millisecond, func() { s.wait(asks(2), "host:1") }) // another found it full
		waits(time.Millisecond, nil, a)
		s.opened("host:2")
		waits(0, nil, asks(1)) // which is another host's

		s.opened("host:1")
		time.AfterFunc(time.Millisecond, s.forgetAll)
		waits(time.Millisecond, nil, asks(1))
		s.opened("host:1")
		a = asks(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		a.Context = ctx
		waits(time.Millisecond, context.DeadlineExceeded, a)
	})
}
