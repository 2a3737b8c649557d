package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// queue has the requests that come first wait for the connection of the very first, which over HTTP/2 carries them too.
// Without it each of a burst opens one of its own.
type queue struct {
	led   atomic.Bool
	ready chan struct{}
	open  func()
}

func newQueue() *queue {
	q := &queue{ready: make(chan struct{})}
	q.open = sync.OnceFunc(func() { close(q.ready) })
	return q
}

// wait waits until a request may go on. It is to call connected when it has a connection, or will have none.
func (q *queue) wait(ctx context.Context) (connected func(), err error) {
	if q.led.CompareAndSwap(false, true) {
		return q.open, nil
	}
	select {
	case <-q.ready:
		return func() {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// showing is how long net/http has to show a new connection to all requests.
const showing = time.Second

// sharing has the requests that come while a connection is new wait for it too. net/http hands a new connection to the
// request that asked for it and only then shows it to the others: one that looks in between, even after an answer over
// that connection, would open another.
type sharing struct {
	mu    sync.Mutex
	fresh map[string]fresh // by address, the connection that was opened last
}

type fresh struct {
	until time.Time     // until when it may not be shown yet
	past  chan struct{} // closed: it is not waited for any more
}

func newSharing() *sharing { return &sharing{fresh: map[string]fresh{}} }

// errShared ends the opening of a connection that nobody waits for any more.
var errShared = errors.New("the request has another connection")

// wait waits, before a connection to addr is opened, whether the one that was opened last does for the request of ctx too.
func (s *sharing) wait(ctx context.Context, addr string) error {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	s.mu.Lock()
	f := s.fresh[addr]
	s.mu.Unlock()
	left := time.Until(f.until)
	switch {
	case a == nil || left <= 0:
		return nil
	case a.useless():
		s.forget(addr)
		return nil
	case a.has():
		return errShared
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-a.given:
		return errShared
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.past:
	case <-timer.C:
	}
	return nil
}

// opened says that net/http is given a new connection to addr.
func (s *sharing) opened(addr string) {
	s.mu.Lock()
	s.fresh[addr] = fresh{time.Now().Add(showing), make(chan struct{})}
	s.mu.Unlock()
}

// forget has nobody wait for the connection to addr that was opened last: it does not do for all, or is closed.
func (s *sharing) forget(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.fresh[addr]; ok {
		close(f.past)
		delete(s.fresh, addr)
	}
}

func (s *sharing) forgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.fresh {
		close(f.past)
	}
	clear(s.fresh)
}

// unread lets net/http have the body of req anew as long as nobody has read of it: a connection that is full takes none.
func unread(req *http.Request, again func() (io.ReadCloser, error)) {
	b := body{req.Body, new(atomic.Bool)}
	req.Body = b
	req.GetBody = func() (io.ReadCloser, error) {
		if b.read.Load() {
			return nil, errors.New("the request was refused after it had been sent, and is not sent again")
		}
		fresh, err := again()
		return body{fresh, b.read}, err
	}
}

type body struct {
	io.ReadCloser
	read *atomic.Bool
}

func (b body) Read(p []byte) (int, error) {
	b.read.Store(true)
	return b.ReadCloser.Read(p)
}
