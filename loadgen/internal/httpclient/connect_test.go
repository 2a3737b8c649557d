package httpclient

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConnect(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){"plain": (*httptest.Server).Start, "TLS": startTLS(false)} {
		t.Run(name, func(t *testing.T) {
			var busy sync.WaitGroup
			busy.Add(5)
			srv, conns := server(t, start, func(w http.ResponseWriter, r *http.Request) {
				busy.Done()
				busy.Wait() // so that each needs a connection of its own
				hello(w, r)
			})
			c := client(t, Options{})
			if name == "TLS" {
				trust(c, srv)
			}
			require.NoError(t, c.Connect(t.Context(), must(srv.URL), 5))
			require.Eventually(t, func() bool { return conns.Load() == 5 }, time.Minute, time.Millisecond, "the server has accepted them")
			n := run(t, target(c, http.MethodPost, srv.URL, "x"), 5, 5)
			assert.EqualValues(t, 5, n.Reused)
			assert.Zero(t, n.Opened)
			assert.Zero(t, n.Connect.N)
			assert.EqualValues(t, 5, conns.Load())
			busy.Add(5)
			n = run(t, target(c, http.MethodPost, srv.URL, "x"), 5, 5)
			assert.EqualValues(t, 5, n.Reused)
			assert.EqualValues(t, 5, conns.Load(), "and they are kept")
		})
	}
}

// TestConnectedAheadOpensNoMore: what was opened ahead is ready at once, so that no request opens another one while it waits. Only
// one that was closed has another in its place: net/http closes a connection whose request it hears 50 ms late of, which can be on a
// busy machine, once in ten thousand requests.
func TestConnectedAheadOpensNoMore(t *testing.T) {
	var opened, open atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
			opened.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	srv.Start()
	defer srv.Close()
	instead := 0
	for range 50 {
		c := client(t, Options{})
		require.NoError(t, c.Connect(t.Context(), must(srv.URL), 4))
		require.Eventually(t, func() bool { return open.Load() == 4 }, time.Minute, time.Millisecond)
		opened.Store(0)
		n := run(t, target(c, http.MethodPost, srv.URL, "x"), 20, 4)
		require.EqualValues(t, 20, n.Reused+n.Opened)
		require.LessOrEqual(t, n.Opened, uint64(opened.Load()), "its request may have got another one")
		instead += int(opened.Load())
		require.Eventually(t, func() bool { return open.Load() <= 4 }, time.Minute, time.Millisecond)
		c.CloseIdleConnections()
		require.Eventually(t, func() bool { return open.Load() == 0 }, time.Minute, time.Millisecond)
	}
	require.Less(t, instead, 10)
}

func TestAddress(t *testing.T) {
	for host, want := range map[string]string{"h": "h:80", "h:": "h:80", "h:81": "h:81", "[::1]": "[::1]:80", "[::1]:": "[::1]:80", "[::1]:81": "[::1]:81"} {
		assert.Equal(t, want, address("http", host), host)
	}
	assert.Equal(t, "h:443", address("https", "h"))
}

func TestConnectRefuses(t *testing.T) {
	srv, conns := server(t, (*httptest.Server).Start, hello)
	require.ErrorIs(t, New(Options{Client: srv.Client()}).Connect(t.Context(), must(srv.URL), 1), ErrCallersClient)
	c := client(t, Options{})
	assert.EqualError(t, c.Connect(t.Context(), must(srv.URL), -1), "-1 connections cannot be opened")
	assert.EqualError(t, c.Connect(t.Context(), must("http://bücher.example"), 1), "the host's name has to be written in ASCII (xn--…)")
	assert.NoError(t, c.Connect(t.Context(), must(srv.URL), 0))
	err := c.Connect(t.Context(), must("http://127.0.0.1:1"), 3)
	assert.ErrorContains(t, err, "0 of 3 connections opened: ")
	assert.ErrorContains(t, err, "refused")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, c.Connect(ctx, must(srv.URL), 3), context.Canceled)
	assert.LessOrEqual(t, conns.Load(), int32(1))
}
