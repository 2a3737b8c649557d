package httpclient

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"
)

// pool sends requests over HTTP/1.1, each on a connection that it has to itself: the one that became idle last, else a new
// one, unless another becomes idle before that is open. So does http.Transport, which takes longer for it, and sends
// some requests again. A pool repeats nothing.
type pool struct {
	transport *http.Transport                    // opens the connections
	keeps     bool                               // what has served a request, for another one
	ahead     func(scheme, addr string) net.Conn // one that was opened ahead, or nil; nil: there are none

	mu      sync.Mutex
	origins map[origin]*connections
	closing bool        // there was no request since CloseIdleConnections
	sweeper *time.Timer // nil: there is nothing to look for
}

// origin is where a connection goes to: the scheme and the host of a URL.
type origin struct{ scheme, host string }

// connections are those to one origin that serve no request, and the requests without a connection.
type connections struct {
	idle    []*conn
	waiting list.List                      // of *wanted
	opening map[*wanted]context.CancelFunc // what ends the opening of a connection, by for what that began
}

// spare is how many connections are being opened that nobody waits for.
func (cs *connections) spare() int { return len(cs.opening) - cs.waiting.Len() }

// conn is a connection of a pool's.
type conn struct {
	*http.ClientConn
	pool   *pool
	to     origin
	net    net.Conn
	reader *reader // whose answer it is reading
	hooks  httptrace.ClientTrace
	reused bool // it has served a request, or was idle: the server may have closed it
	sweeps int  // that have seen it idle
}

// wanted is a connection that a request waits for.
type wanted struct {
	to    origin
	place *list.Element // in the list; nil: there is a connection or an error in got, or the request is gone
	got   chan found    // has room for one
}

type found struct {
	*conn
	err error
}

// Idle connections are looked at each sweepEvery, and closed when mostIdle of these have seen them so: after 90 to 135 s.
const (
	sweepEvery = 45 * time.Second
	mostIdle   = 3
)

// dialed is where the context in which a connection is opened has room for it, or has the one that there is.
type dialed struct{}

func newPool(dial, dialTLS dialFunc, keeps bool) *pool {
	noted := func(dial dialFunc) dialFunc {
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			to, ok := ctx.Value(dialed{}).(*net.Conn)
			if ok && *to != nil {
				return *to, nil
			}
			c, err := dial(ctx, network, addr)
			if ok {
				*to = c
			}
			return c, err
		}
	}
	p := &pool{transport: newTransport(noted(dial), noted(dialTLS), false), keeps: keeps, origins: map[origin]*connections{}}
	if !keeps {
		p.transport.MaxIdleConnsPerHost = -1
	}
	return p
}

// serves says that a request to u is the pool's own affair: nobody else wants to hear of its connection, and net/http is not
// needed for the name of its host.
func (p *pool) serves(ctx context.Context, u *url.URL) bool {
	return hooksKey != nil && plainHost(u.Host) && httptrace.ContextClientTrace(ctx) == nil
}

// RoundTrip sends a request of an attempt's.
func (p *pool) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	if a == nil || !a.alone {
		return p.transport.RoundTrip(req)
	}
	c, err := p.take(ctx, origin{req.URL.Scheme, req.URL.Host})
	if err == nil {
		a.hooks.Store(&c.hooks)
		a.connection(c.reader, c.reused)
		c.reused = true
		var resp *http.Response
		if resp, err = c.RoundTrip(req); err == nil {
			a.pooled.Store(c)
			return resp, nil
		}
		a.leave()
		c.free()
		err = plain(err)
	}
	if req.Body != nil {
		req.Body.Close()
	}
	return nil, err
}

// plainHost says that a URL's host is a name in ASCII, or an address.
func plainHost(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return s != ""
}

// plain is err without the words that http.Transport takes off too.
func plain(err error) error {
	if strings.HasPrefix(err.Error(), "net/http: Transport failed to read from server: ") {
		for u := err; u != nil; u = errors.Unwrap(u) {
			if !strings.HasPrefix(u.Error(), "net/http: ") {
				return u
			}
		}
	}
	return err
}

// take is a connection for a request.
func (p *pool) take(ctx context.Context, to origin) (*conn, error) {
	if ctx.Err() != nil { // else it could be sent all the same, and would cost the connection
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	p.closing = false
	cs := p.of(to)
	for n := len(cs.idle); n > 0; n = len(cs.idle) {
		c := cs.idle[n-1]
		cs.idle[n-1], cs.idle = nil, cs.idle[:n-1]
		if c.Err() == nil {
			p.mu.Unlock()
			return c, nil
		}
	}
	if p.ahead != nil {
		if c := p.ahead(to.scheme, address(to.scheme, to.host)); c != nil {
			p.mu.Unlock()
			return p.open(ctx, to, c)
		}
	}
	w := &wanted{to: to, got: make(chan found, 1)}
	w.place = cs.waiting.PushBack(w)
	opening, stop := context.WithCancel(context.WithoutCancel(ctx))
	if cs.opening == nil {
		cs.opening = map[*wanted]context.CancelFunc{}
	}
	cs.opening[w] = stop
	p.mu.Unlock()
	go func() {
		defer stop()
		c, err := p.open(opening, to, nil)
		if !p.opened(w, found{c, err}) && err == nil {
			c.free()
		}
	}()
	return p.wait(ctx, w)
}

// wait waits for the connection that is being opened for a request, or for any other. One that is opened for nobody any more
// is for those that come next: else a server that is slower to take a connection than a request has time would never get one.
// Of too many of these it is given up.
func (p *pool) wait(ctx context.Context, w *wanted) (*conn, error) {
	select {
	case f := <-w.got:
		return f.conn, f.err
	case <-ctx.Done():
		if !p.leave(w) {
			if f := <-w.got; f.err == nil {
				f.free()
			}
		}
		return nil, context.Cause(ctx)
	}
}

// open opens a connection, on top of given where that is not nil.
func (p *pool) open(ctx context.Context, to origin, given net.Conn) (*conn, error) {
	c := &conn{pool: p, to: to, net: given}
	var err error
	if c.ClientConn, err = p.transport.NewClientConn(context.WithValue(ctx, dialed{}, &c.net), to.scheme, address(to.scheme, to.host)); err != nil {
		if given != nil {
			given.Close()
		}
		return nil, err
	}
	if c.reader = stampedOf(c.net); c.reader == nil {
		c.reader = new(reader) // which does not hear when bytes come
	}
	c.reused = isAhead(c.net)
	// One request after the other: net/http lets none have the connection before the one before was written.
	c.hooks.WroteRequest = func(info httptrace.WroteRequestInfo) {
		if a := c.reader.attempt.Load(); a != nil {
			a.wroteRequest(info)
		}
	}
	c.hooks.GotFirstResponseByte = func() {
		if a := c.reader.attempt.Load(); a != nil {
			a.firstByte()
		}
	}
	return c, nil
}

// opened says what became of the connection that was to be opened for w, and gives it to that request, unless it has got
// something before.
func (p *pool) opened(w *wanted, f found) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of(w.to).opening, w)
	return p.giveLocked(w, f)
}

// leave says that the request wants nothing any more; false: it has got something before.
func (p *pool) leave(w *wanted) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	cs := p.of(w.to)
	left := p.giveLocked(w, found{})
	if stop := cs.opening[w]; stop != nil && (!p.keeps || p.closing || cs.spare() > connecting) {
		stop()
	}
	return left
}

// giveLocked gives f to the request that wants it, unless it has got something before. The lock is held.
func (p *pool) giveLocked(w *wanted, f found) bool {
	if w.place == nil {
		return false
	}
	p.of(w.to).waiting.Remove(w.place)
	w.place = nil
	w.got <- f
	return true
}

// free says that c serves no request. It is the next one's, unless it is closed, or about to be, or nothing is kept.
func (c *conn) free() {
	if c.Available() == 0 {
		return
	}
	p := c.pool
	if !p.keeps {
		c.Close()
		return
	}
	p.mu.Lock()
	cs := p.of(c.to)
	first := cs.waiting.Front()
	closing := first == nil && p.closing
	switch {
	case first != nil:
		p.giveLocked(first.Value.(*wanted), found{conn: c})
	case !closing:
		c.sweeps, c.reused = 0, true
		cs.idle = append(cs.idle, c)
	}
	p.mu.Unlock()
	if closing {
		c.Close()
	}
}

// of is the connections to an origin. The lock is held.
func (p *pool) of(to origin) *connections {
	cs := p.origins[to]
	if cs == nil {
		cs = &connections{}
		p.origins[to] = cs
		if p.sweeper == nil {
			p.sweeper = time.AfterFunc(sweepEvery, p.sweep)
		}
	}
	return cs
}

// sweep closes what has been idle for long, and forgets the origins that nobody has to do with.
func (p *pool) sweep() {
	p.closeIdle(func(c *conn) bool {
		c.sweeps++
		return c.sweeps >= mostIdle || c.Err() != nil
	}, func() {
		if p.sweeper = nil; len(p.origins) > 0 {
			p.sweeper = time.AfterFunc(sweepEvery, p.sweep)
		}
	})
}

// CloseIdleConnections closes the connections that serve no request, and those that will not, until there is a request again;
// what is being opened for nobody is given up.
func (p *pool) CloseIdleConnections() {
	p.transport.CloseIdleConnections()
	p.closeIdle(func(*conn) bool { return true }, func() {
		p.closing = true
		for _, cs := range p.origins {
			for w, stop := range cs.opening {
				if w.place == nil {
					stop()
				}
			}
		}
		if len(p.origins) == 0 && p.sweeper != nil && p.sweeper.Stop() { // else a sweep waits for the lock
			p.sweeper = nil
		}
	})
}

// closeIdle closes the idle connections that old names, and then, with the lock, does rest.
func (p *pool) closeIdle(old func(*conn) bool, rest func()) {
	var all []*conn
	p.mu.Lock()
	for to, cs := range p.origins {
		kept := cs.idle[:0]
		for _, c := range cs.idle {
			if old(c) {
				all = append(all, c)
			} else {
				kept = append(kept, c)
			}
		}
		clear(cs.idle[len(kept):])
		if cs.idle = kept; len(kept) == 0 && len(cs.opening) == 0 { // a request that waits has one opened
			delete(p.origins, to)
		}
	}
	rest()
	p.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}
