package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
)

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// dialer opens connections, and has those that were opened ahead.
type dialer struct {
	over dialFunc // a new connection, without TLS
	tls  tls.Config

	stamps   bool     // the kernel is to say when bytes come
	stamping *os.File // what keeps it at that
	sharing  *sharing // nil: a connection carries one request at a time

	mu    sync.Mutex
	ahead map[string][]net.Conn // by scheme and address
}

func newDialer(http2, stamps bool) *dialer {
	d := &dialer{over: (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext, ahead: map[string][]net.Conn{}}
	d.tls.NextProtos = []string{"http/1.1"}
	if d.stamps = stamps; stamps {
		d.stamping = stamping()
	}
	if http2 {
		d.tls.NextProtos = []string{"h2"}
		d.sharing = newSharing()
	}
	return d
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.shared(ctx, "http", network, addr, d.dialNew)
}

func (d *dialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.shared(ctx, "https", network, addr, d.dialTLSNew)
}

// shared is a connection that was opened ahead, or that dial opens, unless there is one to share.
func (d *dialer) shared(ctx context.Context, scheme, network, addr string, dial dialFunc) (c net.Conn, err error) {
	if d.sharing != nil {
		if err := d.sharing.wait(ctx, addr); err != nil {
			return nil, err
		}
	}
	if c = d.take(scheme, addr); c == nil {
		c, err = dial(ctx, network, addr)
	}
	if err == nil && d.sharing != nil {
		d.sharing.opened(addr)
	}
	return c, err
}

func (d *dialer) dialNew(ctx context.Context, network, addr string) (net.Conn, error) {
	if trace := traceOf(ctx); trace != nil {
		var h httptrace.ClientTrace
		watchDial(&h, trace)
		// The request's own hooks are not for what happens here, and to join the two is slow.
		ctx = httptrace.WithClientTrace(bare{ctx}, &h)
	}
	return d.connect(ctx, network, addr)
}

// connect opens a connection.
func (d *dialer) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.over(ctx, network, addr)
	if err == nil && d.stamps {
		c = stamp(c)
	}
	return c, err
}

// bare is a context without its values, but with its deadline.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

func (d *dialer) dialTLSNew(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.dialNew(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return d.handshake(ctx, c, addr)
}

func (d *dialer) handshake(ctx context.Context, c net.Conn, addr string) (net.Conn, error) {
	config := d.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(addr)
	begin := time.Now()
	t := tls.Client(c, config)
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, err
	}
	if trace := traceOf(ctx); trace != nil {
		trace.Phase(loadgen.PhaseTLS, time.Since(begin))
	}
	return t, nil
}

// aheadConn is a connection that was opened ahead.
type aheadConn struct{ net.Conn }

func isAhead(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	_, ok := c.(aheadConn)
	return ok
}

// take is the connection that was opened ahead last, which is the likeliest to live; nil: there is none.
func (d *dialer) take(scheme, addr string) net.Conn {
	key := scheme + " " + addr
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.ahead[key]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	list[len(list)-1], d.ahead[key] = nil, list[:len(list)-1]
	return c
}

func (d *dialer) close() {
	if d.sharing != nil {
		d.sharing.forgetAll()
	}
	d.mu.Lock()
	all := d.ahead
	d.ahead = map[string][]net.Conn{}
	d.mu.Unlock()
	for _, list := range all {
		for _, c := range list {
			c.Close()
		}
	}
}

// connecting is how many connections are opened at once: no more than a server's queue of those takes with ease.
const connecting = 64

// ErrCallersClient: connections cannot be opened ahead on a client that is not the target's own.
var ErrCallersClient = errors.New("connections are opened by the Client that the caller gave")

// Connect opens n connections to u's host, with TLS where u says so, for the requests that come first to use. Over
// HTTP/2 it opens one, which carries many requests. Its error says how many there are; they stay.
func (c *Client) Connect(ctx context.Context, u *url.URL, n int) error {
	d := c.dialer
	switch {
	case d == nil:
		return ErrCallersClient
	case n < 0:
		return fmt.Errorf("%d connections cannot be opened", n)
	case c.http2:
		n = min(n, 1)
	}
	for _, r := range u.Hostname() {
		if r >= 0x80 {
			return errors.New("the host's name has to be written in ASCII (xn--…)")
		}
	}
	addr := address(u.Scheme, u.Host)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := make(chan struct{}, connecting)
	var wg sync.WaitGroup
	var mu sync.Mutex
	opened := 0
	for range n {
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-places }()
			conn, err := d.open(ctx, u.Scheme, addr)
			if err != nil {
				cancel(err)
				return
			}
			mu.Lock()
			opened++
			mu.Unlock()
			d.mu.Lock()
			key := u.Scheme + " " + addr
			d.ahead[key] = append(d.ahead[key], conn)
			d.mu.Unlock()
		})
	}
	wg.Wait()
	if opened < n {
		return fmt.Errorf("%d of %d connections opened: %w", opened, n, context.Cause(ctx))
	}
	return nil
}

func (d *dialer) open(ctx context.Context, scheme, addr string) (net.Conn, error) {
	c, err := d.connect(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c = aheadConn{c}
	if scheme == "https" {
		return d.handshake(ctx, c, addr)
	}
	return c, nil
}
