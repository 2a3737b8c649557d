package httptarget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// Target puts requests on one service. Any number of them may go on at once. New makes one.
type Target struct {
	c       Config
	url     *url.URL      // nil: Request knows
	same    *http.Request // each time, but for the payload
	payload []byte        // its body; nil: none
	client  *httpclient.Client
	buffers sync.Pool // of *buffer
}

var (
	_ loadgen.Target    = (*Target)(nil)
	_ loadgen.Describer = (*Target)(nil)
)

// buffer is what is read into. It grows once it was full: what comes in small pieces, as a stream of tokens does, needs little,
// and there can be many streams.
type buffer struct{ b []byte }

const leastRead, mostRead = 1 << 10, 8 << 10 // bytes

func (b *buffer) filled(n int) {
	if n == len(b.b) && n < mostRead {
		b.b = make([]byte, mostRead)
	}
}

// Do performs one request. A nil error is a good answer that is complete; any other says by its type what became of the
// request: a *loadgen.StatusError, a *loadgen.OutcomeError, the error of ctx, or that of the connection.
func (t *Target) Do(ctx context.Context, req *loadgen.Request, trace *loadgen.Trace) error {
	r, err := t.request(ctx, req)
	if err != nil {
		return err
	}
	var resp *http.Response
	if r == t.same {
		resp, err = t.client.Send(ctx, r, t.payload, trace)
	} else {
		resp, err = t.client.Do(ctx, r, trace)
	}
	if err != nil {
		return lost(ctx, err, r)
	}
	defer resp.Body.Close()
	a := &answer{c: &t.c, req: r, resp: resp, trace: trace}
	if len(r.Header["Accept-Encoding"]) == 0 || r.Header["Accept-Encoding"][0] == "" {
		a.body = httpclient.NewBody(resp, trace)
	} else {
		a.body = httpclient.NewRawBody(resp, trace)
	}
	switch good := resp.StatusCode/100 == 2; {
	case t.c.Success == nil && !good, t.c.Success != nil && !t.c.Success(resp.StatusCode):
		if good {
			err = loadgen.Fail(goodput.Malformed, fmt.Sprintf("HTTP status %d is no success", resp.StatusCode))
			break
		}
		return redactor(r).Status(ctx, resp, a.body, sent(r))
	default:
		buf := t.buffers.Get().(*buffer)
		defer t.buffers.Put(buf)
		if err = a.read(buf); err == nil {
			trace.EndAt(a.end)
			a.body.Drain(buf.b)
			return nil
		}
	}
	if !a.end.IsZero() && (ctx.Err() == nil || !httpclient.IsLoss(err)) { // when the failure was seen; a deadline ends where it is
		trace.EndAt(a.end)
	}
	return lost(ctx, err, r)
}

// request is the next request.
func (t *Target) request(ctx context.Context, req *loadgen.Request) (*http.Request, error) {
	if t.c.Request == nil {
		return t.same, nil
	}
	r, err := t.c.Request(ctx, req)
	var named *loadgen.OutcomeError
	switch {
	case errors.As(err, &named):
		return nil, err
	case err != nil:
		return nil, loadgen.Fail(goodput.ClientError, "Config.Request: "+err.Error())
	case r == nil || r.URL == nil:
		return nil, loadgen.Fail(goodput.ClientError, "Config.Request: it made no request, and no error")
	case r.URL.Scheme != "http" && r.URL.Scheme != "https" || r.URL.Host == "":
		return nil, loadgen.Fail(goodput.ClientError, "Config.Request: the URL has to be a whole one, with http:// or https://")
	}
	r = r.WithContext(ctx) // a copy: it may be the same one each time
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if r.Body != nil && r.GetBody != nil { // and the body of that one may have been read
		body, err := r.GetBody()
		r.Body.Close()
		if err != nil {
			return nil, loadgen.Fail(goodput.ClientError, "Config.Request: GetBody: "+err.Error())
		}
		r.Body = body
	}
	return r, nil
}

// lost is the error of a request that failed with err.
func lost(ctx context.Context, err error, r *http.Request) error {
	return redactor(r).Lost(ctx, err, sent(r))
}

// redactor knows the secrets of a request; there is time for that once it has failed.
func redactor(r *http.Request) *httpclient.Redactor {
	d := httpclient.NewRedactor()
	d.AddHeader(r.Header)
	d.AddURL(r.URL)
	return d
}

// sent is the body of a request, as far as it can be had again.
func sent(r *http.Request) []byte {
	if r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	b, _ := io.ReadAll(io.LimitReader(body, httpclient.MaxQuoted))
	return b
}

// Describe says which request it is, and whether it yields tokens. It gives none of the caller's own metrics: a target
// that adds some has a Describe of its own, or none.
func (t *Target) Describe() loadgen.Description {
	tokens := t.c.Stream != NoStream
	d := loadgen.Description{Name: "HTTP requests", Tokens: tokens, Gives: httpclient.Gives(tokens), OpensEach: t.client.OpensEach()}
	switch {
	case t.c.Request == nil:
		d.Name = fmt.Sprintf("%s %s://%s%s", t.c.Method, t.url.Scheme, t.url.Host, t.url.EscapedPath())
	case t.url != nil:
		d.Name = fmt.Sprintf("HTTP requests to %s://%s", t.url.Scheme, t.url.Host)
	}
	return d
}

// Connect opens n connections to URL's host ahead of a run, with TLS where it says so, so that the first n requests at
// once need not wait for theirs. Over HTTP/2 it opens one. They count as connections that had been there before, and one
// that the server has closed by then is replaced as such. The error says how many were opened, and they stay; of a Client
// of the caller's, or without a URL, it can open none.
func (t *Target) Connect(ctx context.Context, n int) error {
	if t.url == nil {
		return errors.New("httptarget: Config.URL does not say to which host")
	}
	if err := t.client.Connect(ctx, t.url, n); err != nil {
		return fmt.Errorf("httptarget: %w", err)
	}
	return nil
}

// CloseIdleConnections closes the connections that no request is using.
func (t *Target) CloseIdleConnections() { t.client.CloseIdleConnections() }
