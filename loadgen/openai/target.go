package openai

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// Target puts requests on one endpoint. Any number of them may go on at once. New makes one.
type Target struct {
	url      *url.URL
	endpoint Endpoint
	model    string
	stream   bool
	request  *http.Request // but for its body
	common   common
	client   *httpclient.Client
	redact   *httpclient.Redactor
	scratch  sync.Pool // of *scratch
}

var (
	_ loadgen.Target    = (*Target)(nil)
	_ loadgen.Describer = (*Target)(nil)
)

// Do performs one request. A nil error is a complete answer; any other says by its type what became of the request: a
// *loadgen.StatusError, a *loadgen.OutcomeError, the error of ctx, or that of the connection.
func (t *Target) Do(ctx context.Context, req *loadgen.Request, trace *loadgen.Trace) error {
	q, err := t.query(req)
	if err != nil {
		return err
	}
	resp, err := t.client.Send(ctx, t.request, q.body, trace)
	if err != nil {
		return t.redact.Lost(ctx, err, q.body)
	}
	defer resp.Body.Close()
	in := httpclient.NewBody(resp, trace)
	if resp.StatusCode/100 != 2 {
		return t.redact.Status(ctx, resp, in, q.body)
	}
	s := t.scratch.Get().(*scratch)
	defer func() {
		s.reset()
		t.scratch.Put(s)
	}()
	a := &s.answer
	a.begin(t, &q, resp, trace)
	err = a.read(ctx, in, s)
	a.report()
	if err == nil {
		in.Drain(s.buf)
		return nil
	}
	if ctx.Err() == nil || !httpclient.IsLoss(err) { // when the failure was seen; a deadline ends where it is
		trace.EndAt(a.end)
	}
	return t.redact.Lost(ctx, err, q.body)
}

// Describe says that the target yields tokens, but for embeddings, and, where nothing is streamed, that no one sees them
// arrive. It gives none of the caller's own metrics: a target that adds some has a Describe of its own, or none.
func (t *Target) Describe() loadgen.Description {
	return loadgen.Description{
		Name:   fmt.Sprintf("%s of model %q at %s://%s%s", t.endpoint, t.model, t.url.Scheme, t.url.Host, t.url.EscapedPath()),
		Tokens: t.endpoint != Embeddings,
		Gives:  httpclient.Gives(t.stream),

		OpensEach: t.client.OpensEach(),
	}
}

// Connect opens n connections ahead of a run, with TLS where the URL says so, so that the first n requests at once need
// not wait for theirs. Over HTTP/2 it opens one. They count as connections that had been there before, and one that the
// server has closed by then is replaced as such. The error says how many were opened, and they stay; of a Client of the
// caller's it can open none.
func (t *Target) Connect(ctx context.Context, n int) error {
	if err := t.client.Connect(ctx, t.url, n); err != nil {
		return fmt.Errorf("openai: %w", err)
	}
	return nil
}

// CloseIdleConnections closes the connections that no request is using.
func (t *Target) CloseIdleConnections() { t.client.CloseIdleConnections() }
