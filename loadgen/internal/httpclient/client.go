package httpclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/goodputkit/goodputkit/loadgen"
)

// Options are what a target's user may choose of a Client.
type Options struct {
	Client    *http.Client // what requests go through; nil: a client of its own that is made for load
	HTTP2     bool         // speak HTTP/2, without TLS too, and not HTTP/1.1; not with a Client
	Redirects bool         // follow them, as Client or its default does

	// NoKernelTime has instants be those at which the client came to read, and not those at which the kernel saw bytes come.
	NoKernelTime bool

	Dial dialFunc // opens the connections of a client of its own, below TLS, for tests; nil: over the network
}

// Client sends requests. Any number of them may go on at once.
type Client struct {
	http   http.Client
	plain  *once   // its transport, where it does nothing beside; else nil
	dialer *dialer // nil: the connections are those of the caller's client
	http2  bool
}

// New is a client that has no connection yet.
func New(o Options) *Client {
	rt := &once{redirects: o.Redirects}
	c := &Client{http2: o.HTTP2}
	if o.Client == nil && !o.Redirects {
		c.plain = rt
	}
	if o.Client == nil {
		c.dialer = newDialer(o.HTTP2, !o.NoKernelTime && !o.HTTP2) // of a shared connection a read is not one request's
		if o.Dial != nil {
			c.dialer.over = o.Dial
		}
		d := c.dialer // what is sent again neither has nor keeps an idle connection
		if o.HTTP2 {
			rt.queue = newQueue()
			rt.first = newTransport(d.dial, d.dialTLS, true)
			again := newTransport(d.dialNew, d.dialTLSNew, true)
			again.MaxIdleConnsPerHost = -1
			rt.again = again
		} else {
			first := newPool(d.dial, d.dialTLS, true)
			first.ahead = d.take
			rt.first, rt.again = first, newPool(d.dialNew, d.dialTLSNew, false)
		}
	} else {
		c.http = *o.Client
		rt.first, rt.callers = o.Client.Transport, true
		if rt.first == nil {
			rt.first = http.DefaultTransport
		}
		rt.again = rt.first // where it is of a kind of its own, nothing says how to get a new connection of it
		if t, ok := rt.first.(*http.Transport); ok {
			t = t.Clone()
			t.MaxIdleConnsPerHost = -1
			rt.again = t
		}
	}
	c.http.Transport = rt
	if o.Redirects {
		c.http.CheckRedirect = follow(c.http.CheckRedirect)
	}
	return c
}

// Do sends req, which ctx ends, and tells trace when it was sent, where its time went and that it was sent again.
// It is sent a second time, on a new connection, where the first was a kept-alive one that the server had closed; for
// that a body needs its GetBody. The error, a *url.Error that does not say the URL, is that of the last attempt.
func (c *Client) Do(ctx context.Context, req *http.Request, trace *loadgen.Trace) (*http.Response, error) {
	if err := impossible(req); err != nil {
		trace.Sent()
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, &url.Error{Op: req.Method, Err: &ownError{"the request", err}}
	}
	return c.send(ctx, req, nil, trace)
}

// Send is Do with payload, which is in memory, as the body; nil: there is none. req itself, whose method and header were
// found to be possible, has none, stays as it is, and can be sent any number of times.
func (c *Client) Send(ctx context.Context, req *http.Request, payload []byte, trace *loadgen.Trace) (*http.Response, error) {
	if !c.direct(req) {
		req = req.WithContext(ctx)
		if c.dialer == nil { // what is the caller's may change it
			req.Header = req.Header.Clone()
		}
		if payload != nil {
			req.Body, req.ContentLength = memory(payload), int64(len(payload))
			req.GetBody = func() (io.ReadCloser, error) { return memory(payload), nil }
		}
	}
	return c.send(ctx, req, payload, trace)
}

// direct says that http.Client would only copy what there is.
func (c *Client) direct(req *http.Request) bool { return c.plain != nil && req.URL.User == nil }

func (c *Client) send(ctx context.Context, req *http.Request, payload []byte, trace *loadgen.Trace) (*http.Response, error) {
	trace.Sent()
	if c.direct(req) {
		resp, err := c.plain.send(ctx, req, payload, trace)
		if err != nil {
			err = &url.Error{Op: req.Method, Err: err}
		}
		return resp, err
	}
	resp, err := c.http.Do(req.WithContext(context.WithValue(ctx, traceKey{}, trace)))
	var u *url.Error
	if errors.As(err, &u) {
		u.URL = "" // which may hold a secret
	}
	return resp, err
}

// memory is a body that net/http knows to be in memory.
func memory(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// OpensEach says that the caller's transport is to keep no connection.
func (c *Client) OpensEach() bool {
	t, ok := c.http.Transport.(*once).first.(*http.Transport)
	return ok && (t.DisableKeepAlives || t.MaxIdleConnsPerHost < 0)
}

// CloseIdleConnections closes the connections that no request is using.
func (c *Client) CloseIdleConnections() {
	c.http.CloseIdleConnections()
	if c.dialer != nil {
		c.dialer.close()
	}
}

// traceKey is where a request's context has its *loadgen.Trace.
type traceKey struct{}

func traceOf(ctx context.Context) *loadgen.Trace {
	t, _ := ctx.Value(traceKey{}).(*loadgen.Trace)
	return t
}

// once is a transport that repeats one thing, once. net/http would repeat more, without saying so.
type once struct {
	first, again http.RoundTripper
	callers      bool // they are the caller's
	redirects    bool
	queue        *queue // nil: a connection carries one request at a time
}

func (o *once) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	return o.send(ctx, req, nil, traceOf(ctx))
}

// send sends req, which ctx ends, with payload as its body if that is not nil.
func (o *once) send(ctx context.Context, req *http.Request, payload []byte, trace *loadgen.Trace) (*http.Response, error) {
	a := newAttempt(ctx, trace)
	if o.queue != nil {
		connected, err := o.queue.wait(ctx)
		if err != nil {
			if req.Body != nil {
				req.Body.Close()
			}
			return nil, err
		}
		a.connected = connected
		a.share()
		defer connected()
	}
	resp, err := o.attempt(o.first, req, payload, a)
	if err != nil && ctx.Err() == nil && a.stale(err) && !a.broken.Load() {
		if body, ok := repeated(req); ok {
			trace.Attempt()
			req = req.WithContext(ctx)
			req.Body = body
			a = newAttempt(ctx, trace)
			resp, err = o.attempt(o.again, req, payload, a)
		}
	}
	if err != nil && a.broken.Load() {
		err = &ownError{"the request's body", err}
	}
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols { // to which nobody asked: what comes is no body, and ctx does not end it
		resp.Body.Close()
		resp.Body = http.NoBody
	}
	if err == nil && resp.StatusCode/100 == 3 && !(o.redirects && leads(resp)) {
		resp.Header.Del("Location") // without it a client follows nothing; one that is no URL would be an error
	}
	return resp, err
}

// repeated is the body for a second attempt; not ok: there is none to be had.
func repeated(req *http.Request) (body io.ReadCloser, ok bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return req.Body, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	return body, err == nil
}

func (o *once) attempt(rt http.RoundTripper, req *http.Request, payload []byte, a *attempt) (*http.Response, error) {
	ctx := context.Context(a)
	if p, ok := rt.(*pool); ok && p.serves(a.Context, req.URL) {
		a.alone = true
	} else {
		ctx = a.watch(o.callers)
	}
	out := req.WithContext(ctx)
	again := req.GetBody
	out.GetBody = nil // without which net/http cannot send a body twice
	switch {
	case payload != nil:
		a.payload.Reset(payload)
		out.Body, out.ContentLength = io.NopCloser(&a.payload), int64(len(payload))
		again = func() (io.ReadCloser, error) { return memory(payload), nil }
	case out.Body == nil || out.Body == http.NoBody:
		if again = nil; !a.alone && o.twice(out.Method) { // so it gets one, of nothing
			out.Body, out.ContentLength, out.TransferEncoding = nothing{}, 0, []string{"identity"}
		}
	case !inMemory(out.Body, out.ContentLength):
		out.Body = &givenBody{ReadCloser: out.Body, length: out.ContentLength, broken: &a.broken}
	}
	if o.queue != nil && again != nil {
		unread(out, again)
	}
	resp, err := rt.RoundTrip(out)
	if resp != nil {
		if payload == nil {
			resp.Request = req
		}
		if a.conn != nil {
			a.body = arrivingBody{resp.Body, a}
			resp.Body = &a.body
		}
	}
	return resp, err
}

// twice says that net/http sends a request of this method twice, or more often, if it has no body.
func (o *once) twice(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return o.queue != nil // over HTTP/2, all that the server has not taken up
}

// nothing is a body that is empty, which net/http does not know.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
func (nothing) Close() error             { return nil }

func (o *once) CloseIdleConnections() {
	for _, rt := range []http.RoundTripper{o.first, o.again} {
		if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}
