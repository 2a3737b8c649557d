package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
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
