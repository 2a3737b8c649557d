package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// Target puts requests on one endpoint. Any number of them may go on at once. New makes one.
type Target struct {
	url      *url.URL
	endpoint Endpoint
	model    string
	stream   bool
	header   http.Header
	host     string
	fields   map[string]json.RawMessage // of every request's body
	fixed    []byte                     // the same, joined
	first    *http.Client
	again    *http.Client
	redact   *redactor
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
	resp, err := t.send(ctx, q.body, trace)
	if err != nil {
		return t.lost(ctx, err, q.body)
	}
	defer resp.Body.Close()
	s := t.scratch.Get().(*scratch)
	defer func() {
		s.reset()
		t.scratch.Put(s)
	}()
	in := newInput(resp, trace)
	if resp.StatusCode/100 != 2 {
		return t.status(ctx, resp, in, s, q.body)
	}
	a := newAnswer(t, q, resp, trace)
	err = a.read(ctx, in, s)
	a.report()
	if err == nil {
		in.drain(s.buf)
		return nil
	}
	if ctx.Err() == nil || !isLoss(err) { // when the failure was seen; a deadline ends where it is
		trace.EndAt(a.end)
	}
	return t.lost(ctx, err, q.body)
}

// Describe says that the target yields tokens, but for embeddings, and, where nothing is streamed, that no one sees them
// arrive.
func (t *Target) Describe() loadgen.Description {
	d := loadgen.Description{
		Name:   fmt.Sprintf("%s of model %q at %s://%s%s", t.endpoint, t.model, t.url.Scheme, t.url.Host, t.url.EscapedPath()),
		Tokens: t.endpoint != Embeddings,
	}
	if !t.stream {
		d.Gives = func(m slo.Metric) bool {
			switch m {
			case slo.TTFT, slo.TTFO, slo.TPOT, slo.ITL, slo.Speed, slo.ServiceTTFT:
				return false
			}
			return true
		}
	}
	return d
}

// CloseIdleConnections closes the connections that no request is using.
func (t *Target) CloseIdleConnections() {
	t.first.CloseIdleConnections()
	t.again.CloseIdleConnections()
}
