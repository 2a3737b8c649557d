package llmsim_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// memoryListener is a net.Listener whose connections are pipes in memory: a loopback socket would stop a bubble's clock.
type memoryListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *memoryListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, errors.New("closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve serves h in memory until the test ends and returns a client of it.
func serve(t testing.TB, h http.Handler) *http.Client {
	l := &memoryListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	tr := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = srv.Close()
		<-done
	})
	return &http.Client{Transport: tr}
}

// event is one "data:" line of a stream and when it arrived, counted from when the request was made.
type event struct {
	at   time.Duration
	data string
}

// post posts body as a chat completion and reads the answer line by line.
func post(t testing.TB, client *http.Client, header http.Header, body string) (status int, events []event, rest string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sim/v1/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	for k, v := range header {
		req.Header[k] = v
	}
	start := time.Now()
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
			events = append(events, event{time.Since(start), data})
		} else if sc.Text() != "" {
			rest += sc.Text()
		}
	}
	require.NoError(t, sc.Err())
	return resp.StatusCode, events, rest
}
