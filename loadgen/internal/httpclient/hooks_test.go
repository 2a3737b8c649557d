package httpclient

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type (
	otherKey struct{}
	moreKey  struct{}
)

// What a later httptrace could do with a context: its key is known where it asks for one and takes the hooks for an answer.
func TestKeyOf(t *testing.T) {
	type hooks = *httptrace.ClientTrace
	assert.NotNil(t, hooksKey, "of this Go release")
	assert.Equal(t, otherKey{}, keyOf(func(ctx context.Context) hooks {
		h, _ := ctx.Value(otherKey{}).(hooks)
		return h
	}))
	assert.Equal(t, otherKey{}, keyOf(func(ctx context.Context) hooks {
		if h, ok := ctx.Value(otherKey{}).(hooks); ok {
			return h
		}
		h, _ := ctx.Value(moreKey{}).(hooks)
		return h
	}), "and another one where it has none")
	assert.Nil(t, keyOf(func(context.Context) hooks { return nil }), "it asks for nothing")
	assert.Nil(t, keyOf(func(ctx context.Context) hooks {
		ctx.Value(otherKey{})
		h, _ := ctx.Value(moreKey{}).(hooks)
		return h
	}), "what it asks for first is not the hooks")
	assert.Nil(t, keyOf(func(ctx context.Context) hooks {
		h, _ := ctx.Value(otherKey{}).(*struct{ hooks })
		if h == nil {
			return nil
		}
		return h.hooks
	}), "it has them in something else")
	assert.Equal(t, otherKey{}, keyOf(func(ctx context.Context) hooks {
		if ctx.Err() != nil || ctx.Done() != nil {
			return nil
		}
		h, _ := ctx.Value(otherKey{}).(hooks)
		return h
	}), "it asks whether the context is over")
}

// Where the key is not known, the phases are known all the same, and net/http keeps the connections.
func TestPhasesWithoutHooks(t *testing.T) {
	known := hooksKey
	defer func() { hooksKey = known }()
	for _, hooksKey = range []any{known, nil} {
		synctest.Test(t, func(t *testing.T) {
			s := serveInMemory(answerAfter(10*time.Millisecond), 5*time.Millisecond)
			defer s.srv.Close()
			c := New(Options{Dial: s.dial})
			defer c.CloseIdleConnections()
			n := run(t, target(c, http.MethodPost, "http://h/", "x"), 2, 1)
			assert.EqualValues(t, 1, n.Opened)
			assert.EqualValues(t, 1, n.Reused)
			assert.InDelta(t, 0.005, n.Wait.Max, 1e-9)
			assert.EqualValues(t, 2, n.Write.N)
			assert.InDelta(t, 0.01, n.FirstByte.P50, 1e-9)
			if assert.EqualValues(t, 2, n.FirstByte.N); hooksKey == nil {
				assert.Zero(t, c.idle())
			} else {
				assert.Equal(t, 1, c.idle())
			}
		})
	}
}

// What was opened ahead is for its own address, and closed where no request can have it.
func TestAheadForItsAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveInMemory(answerAfter(0))
		defer s.srv.Close()
		c := New(Options{Dial: s.dial})
		require.NoError(t, c.Connect(t.Context(), must("http://a"), 2))
		require.NoError(t, c.Connect(t.Context(), must("http://b:81"), 1))
		for url, want := range map[string][2]uint64{"http://a:81/": {1, 0}, "http://b/": {1, 0}, "http://c/": {1, 0}, "http://a:80/": {0, 1}, "http://b:81/": {0, 1}, "http://a/": {0, 1}} {
			n := run(t, target(c, http.MethodPost, url, "x"), 1, 1)
			assert.Equal(t, want, [2]uint64{n.Opened, n.Reused}, url)
		}
		assert.Len(t, s.addrs, 6)
		require.NoError(t, c.Connect(t.Context(), must("http://a"), 3))
		c.CloseIdleConnections()
		synctest.Wait()
		assert.Zero(t, s.open.Load())
		n := run(t, target(c, http.MethodPost, "http://a/", "x"), 1, 1)
		assert.EqualValues(t, 1, n.Opened)
		c.CloseIdleConnections()

		a, b := net.Pipe()
		p := c.pool()
		p.ahead = func(string, string) net.Conn { return a }
		_, err := p.take(t.Context(), origin{"http", "[::1"})
		require.Error(t, err, "it is no address")
		_, err = b.Read(make([]byte, 1))
		assert.Error(t, err, "and so the connection is closed")
		c.CloseIdleConnections()
	})
}
