// Package memnet has HTTP spoken in memory, for tests: in a synctest bubble a socket of the system would stop the clock.
package memnet

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Listener is a [net.Listener] of pipes. [Listener.Dial] opens them.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// Listen returns a listener that nobody else knows.
func Listen() *Listener {
	closed := make(chan struct{})
	return &Listener{make(chan net.Conn), closed, sync.OnceFunc(func() { close(closed) })}
}

// Accept returns the server's end of the next connection, or [net.ErrClosed].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial, and no connection that there is. It may be called again.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr is no address that could be dialled.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// Dial returns the client's end of a connection once the other has been accepted: it is a DialContext, whatever network and
// address it is asked for. Of a listener that is closed its error is [net.ErrClosed].
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Serve has s serve in memory, and says nothing of its errors, until the test ends. The transport to it ends with it.
func Serve(t testing.TB, s *http.Server) *http.Transport {
	s.ErrorLog = log.New(io.Discard, "", 0)
	l := Listen()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l)
	}()
	tr := &http.Transport{DialContext: l.Dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = s.Close()
		<-served
	})
	return tr
}
