package goodputhttp

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// books is a sink that keeps what it gets.
type books struct {
	mu   sync.Mutex
	all  []goodput.Record
	more chan struct{}
}

func newBooks() *books { return &books{more: make(chan struct{}, 1000)} }

func (b *books) Observe(r *goodput.Record) {
	b.mu.Lock()
	b.all = append(b.all, *r)
	b.mu.Unlock()
	b.more <- struct{}{}
}

// one is the only record, which may be on its way: a client can have its answer before the handler returns.
func (b *books) one(t *testing.T) goodput.Record {
	t.Helper()
	select {
	case <-b.more:
	case <-time.After(10 * time.Second):
		require.Fail(t, "no record")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Len(t, b.all, 1, "booked once")
	return b.all[0]
}

// none says that nothing was booked.
func (b *books) none(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, b.all)
}

// pipes are a listener and a dialler in memory, which a bubble's clock does not wait for.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
	case <-ctx.Done():
	}
	client.Close()
	server.Close()
	return nil, net.ErrClosed
}

// serve serves h in a bubble and gives a transport to it, until the test ends.
func serve(t *testing.T, h http.Handler) *http.Transport {
	p := newPipes()
	s := &http.Server{Handler: h, ErrorLog: quiet}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(p)
	}()
	tr := &http.Transport{DialContext: p.dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.Close()
		<-done
	})
	return tr
}

func newMonitor(t *testing.T, promise string) *monitor.Monitor {
	m, err := monitor.New(slo.MustParse(promise))
	require.NoError(t, err)
	return m
}
