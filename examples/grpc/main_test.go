package main

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// served runs f in a bubble, where time is free, with a connection in memory to such a server.
func served(t *testing.T, w writer, f func(t *testing.T, conn *grpc.ClientConn, stop func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener := bufconn.Listen(1 << 20)
		server := newServer(w)
		go server.Serve(listener)
		defer server.Stop()
		conn, err := connect("passthrough:memory", grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
		require.NoError(t, err)
		defer conn.Close()
		f(t, conn, server.Stop)
	})
}

func TestMeasure(t *testing.T) {
	w := writer{first: 20 * time.Millisecond, step: 5 * time.Millisecond, slots: make(chan struct{}, 8)}
	served(t, w, func(t *testing.T, conn *grpc.ClientConn, _ func()) {
		r, err := measure(t.Context(), conn, 20, 10*time.Second)
		require.NoError(t, err)
		assert.Equal(t, goodput.Met, r.Verdict, "%v", r)
		assert.Equal(t, r.Offered, r.Good)
		assert.InDelta(t, 0.020, r.Percentiles["ttft"].P99, 1e-6)
		assert.InDelta(t, 0.005, r.Percentiles["itl"].P99, 1e-6)
		assert.InDelta(t, 0.075, r.Percentiles["e2e"].P99, 1e-6, "twelve words")

		r, err = measure(t.Context(), conn, 400, 4*time.Second)
		require.NoError(t, err)
		assert.Equal(t, goodput.Missed, r.Verdict)
		assert.Equal(t, r.Offered-r.Good, r.Outcomes[goodput.RateLimited])
		assert.InDelta(t, 8/0.075, r.GoodputRPS, 8, "eight slots of 75 ms")
	})
}

func TestOutcomes(t *testing.T) {
	do := func(t *testing.T, conn *grpc.ClientConn, text string, timeout time.Duration) *goodput.Record {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		return loadgen.Do(ctx, target{conn}, &loadgen.Request{Prompt: text})
	}
	w := writer{first: time.Second, step: time.Second, slots: make(chan struct{}, 1)}
	served(t, w, func(t *testing.T, conn *grpc.ClientConn, stop func()) {
		rec := do(t, conn, "one two", time.Hour)
		assert.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		assert.Equal(t, []goodput.Token{{At: time.Second, N: 1}, {At: 2 * time.Second, N: 1}}, rec.Tokens)

		rec = do(t, conn, "one two", 1500*time.Millisecond)
		assert.Equal(t, goodput.Timeout, rec.Outcome, rec.Detail)
		assert.Len(t, rec.Tokens, 1)
		time.Sleep(time.Second) // the server has heard of it

		rec = do(t, conn, "", time.Hour)
		assert.Equal(t, goodput.ClientError, rec.Outcome)
		assert.Equal(t, "there is no text", rec.Detail)

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, cancel)
		rec = loadgen.Do(ctx, target{conn}, &loadgen.Request{Prompt: "one two"})
		assert.Equal(t, goodput.Cancelled, rec.Outcome, rec.Detail)
		time.Sleep(time.Second)

		time.AfterFunc(1500*time.Millisecond, stop)
		rec = do(t, conn, "one two", time.Hour)
		assert.Equal(t, goodput.Truncated, rec.Outcome, rec.Detail)
		rec = do(t, conn, "one two", time.Hour)
		assert.Equal(t, goodput.ConnectionError, rec.Outcome, rec.Detail)
	})
}
