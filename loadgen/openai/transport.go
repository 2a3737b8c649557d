package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
)

// maxHeader bounds the header of an answer, in bytes.
const maxHeader = 256 << 10

// newTransport is made for load: as many idle connections as there were requests at once, no compression, no proxy, no
// limit of time but the request's own.
func newTransport() *http.Transport {
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &http.Transport{
		DialContext:            (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
		Protocols:              &http1,
		MaxIdleConnsPerHost:    1 << 20,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// clients are what requests go through: the first attempt, and the second, which is to have a new connection. Where the
// caller's client has a transport of its own kind, nothing says how to get a new connection of it.
func clients(c *http.Client) (first, again *http.Client) {
	own := http.Client{Transport: newTransport()}
	if c != nil {
		own = *c
	}
	transport := own.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	fresh := own
	fresh.Transport = noRedirect{transport}
	if t, ok := transport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = -1 // it neither has nor keeps an idle connection
		fresh.Transport = noRedirect{t}
	}
	own.Transport = noRedirect{transport}
	return &own, &fresh
}

// noRedirect takes away what a client would follow, so that it returns every 3xx: also one whose Location is no URL.
type noRedirect struct{ http.RoundTripper }

func (n noRedirect) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := n.RoundTripper.RoundTrip(req)
	if err == nil && resp.StatusCode/100 == 3 {
		resp.Header.Del("Location")
	}
	return resp, err
}

func (n noRedirect) CloseIdleConnections() {
	if c, ok := n.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// send sends the request, a second time on a new connection where the first had met one that the server had closed. Its
// error is that of the last attempt.
func (t *Target) send(ctx context.Context, body []byte, trace *loadgen.Trace) (*http.Response, error) {
	var a attempt
	trace.Sent()
	resp, err := t.roundTrip(ctx, t.first, body, &a)
	if err == nil || ctx.Err() != nil || !a.stale(err) {
		return resp, err
	}
	trace.Attempt()
	return t.roundTrip(ctx, t.again, body, &attempt{})
}

func (t *Target) roundTrip(ctx context.Context, c *http.Client, body []byte, a *attempt) (*http.Response, error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { a.reused.Store(info.Reused) },
		GotFirstResponseByte: func() { a.answered.Store(true) },
	})
	req := (&http.Request{
		Method: http.MethodPost,
		URL:    t.url,
		Host:   t.host,
		Header: t.header.Clone(),
		// Without GetBody net/http cannot send it twice, which it would do without saying so.
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}).WithContext(ctx)
	resp, err := c.Do(req)
	var u *url.Error
	if errors.As(err, &u) {
		u.URL = "" // which may hold a secret
	}
	return resp, err
}

// attempt is what is known of a request's connection.
type attempt struct{ reused, answered atomic.Bool }

// stale says whether err is that of a kept-alive connection that the server had closed.
func (a *attempt) stale(err error) bool {
	var timeout net.Error
	var stream streamError
	return a.reused.Load() && !a.answered.Load() &&
		!(errors.As(err, &timeout) && timeout.Timeout()) && !errors.As(err, &stream)
}

// streamError is HTTP/2's error of one stream: its connection lives. net/http's own, which is not exported, fills in any
// type that has its fields.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (streamError) Error() string { return "stream error" }
