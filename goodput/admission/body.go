package admission

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/chatevent"
	"github.com/goodputkit/goodputkit/internal/netfault"
	"github.com/goodputkit/goodputkit/internal/respwriter"
	"github.com/goodputkit/goodputkit/internal/sse"
)

// body is an answer that is watched. It is the handler's goroutine's.
type body struct {
	writer respwriter.Writer
	permit *Permit
	req    *http.Request
	tokens func([]byte) int

	code    int
	length  int64 // by the header; < 0: it does not say
	bytes   int64
	stream  bool // it is an event stream that can be read
	parser  sse.Parser
	figures chatevent.Stream
	n       int  // tokens written since the last flush
	one     bool // it is one piece, however it is flushed
	json    bool // it is one answer of OpenAI's APIs, perhaps
	whole   []byte

	usage    int             // output tokens, as the answer says
	fail     goodput.Outcome // what the answer says of itself; 0: nothing
	marked   bool            // its end was written
	complete bool            // and has left, while somebody was there to read it
	broken   error           // of the first write that failed
	returned bool
}

func (b *body) Before() {}

func (b *body) Status(code int) {
	b.code = code
	h := b.writer.Header()
	if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil {
		b.length = n
	}
	if e := h.Get("Content-Encoding"); code/100 != 2 || e != "" && e != "identity" {
		return
	}
	t, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	b.stream = t == "text/event-stream"
	b.one = t == "application/json"
	b.json = b.one && b.tokens == nil
}

func (b *body) Wrote(p []byte, err error) {
	if b.broken == nil && err != nil && !netfault.Mistaken(err) {
		b.broken = err
	}
	b.add(int64(len(p)))
	switch {
	case b.json:
		if len(b.whole)+len(p) > sse.DefaultLimit { // nothing is known of it then
			b.json, b.whole = false, nil
			return
		}
		b.whole = append(b.whole, p...)
	case b.stream && b.parser.Err() == nil:
		b.parser.Feed(p, time.Time{})
		for ev, ok := b.parser.Next(); ok; ev, ok = b.parser.Next() {
			b.event(ev.Data)
		}
	}
}

func (b *body) add(n int64) {
	if b.bytes += n; b.length >= 0 && b.bytes >= b.length {
		b.marked = true
	}
}

// event takes an event of a stream.
func (b *body) event(data []byte) {
	if b.tokens != nil {
		b.n += max(b.tokens(data), 0)
		b.marked = b.marked || string(data) == "[DONE]"
		return
	}
	e := chatevent.Read(data)
	b.marked = b.marked || e.Marker || e.Complete
	b.says(&e)
	switch {
	case e.Output, e.Reasoning:
		b.n += max(b.figures.Tokens(&e), 1)
	case e.Foreign, e.Malformed: // of another protocol
		b.n++
	}
}

// says takes what an event, or a whole answer, says beside its tokens.
func (b *body) says(e *chatevent.Event) {
	if e.Out > 0 {
		b.usage = e.Out
	}
	switch {
	case b.fail != 0:
	case e.Limited:
		b.fail = goodput.RateLimited
	case e.Failed:
		b.fail = goodput.ServerError
	case e.Cut:
		b.fail = goodput.Truncated
	}
}

func (b *body) Blind() bool { return !b.stream && !b.json && b.code != 0 }

func (b *body) Copied(n int64, _ error) { b.add(n) }

func (b *body) Flushed(err error) {
	switch {
	case err != nil:
		if b.broken == nil {
			b.broken = err
		}
		return
	case b.stream && b.n > 0:
		b.permit.Tokens(b.n)
		b.n = 0
	case !b.stream && !b.one && b.bytes > 0 && b.code/100 == 2:
		b.permit.FirstToken()
	}
	b.complete = b.complete || b.marked && b.req.Context().Err() == nil
}

// Hijacked ends it: what follows is no HTTP.
func (b *body) Hijacked() { b.permit.Done(b.status()) }

// end is deferred around the handler.
func (b *body) end() {
	o := goodput.ServerError
	defer func() { b.permit.Done(o) }() // whatever happens
	if b.returned {
		o = b.outcome()
		return
	}
	p := recover()
	if err, _ := p.(error); err == http.ErrAbortHandler || b.req.Context().Err() != nil {
		o = b.ended(goodput.Truncated)
	}
	if p != nil { // runtime.Goexit is no panic
		panic(p)
	}
}

// outcome is how the request ended whose handler has returned.
func (b *body) outcome() goodput.Outcome {
	if b.json {
		e := chatevent.Whole(b.whole)
		b.says(&e)
	}
	if b.n > 0 && b.broken == nil {
		b.permit.Tokens(b.n)
	}
	b.permit.Usage(b.usage)
	return b.ended(goodput.Success)
}

// ended is how the request ended, where nothing but its handler says so.
func (b *body) ended(otherwise goodput.Outcome) goodput.Outcome {
	status := b.status()
	ctx := b.req.Context().Err()
	switch {
	case b.complete && b.fail == 0:
		return status
	case errors.Is(ctx, context.DeadlineExceeded), errors.Is(b.broken, os.ErrDeadlineExceeded), errors.Is(b.broken, http.ErrHandlerTimeout):
		return goodput.Timeout
	case ctx != nil, b.broken != nil && netfault.Of(b.broken) == netfault.Lost:
		return goodput.Cancelled
	case b.fail != 0:
		return b.fail
	case status != goodput.Success:
		return status
	case b.broken != nil, otherwise != goodput.Success && b.bytes > 0:
		return goodput.Truncated
	case otherwise != goodput.Success:
		return goodput.ConnectionError
	case b.length > b.bytes && b.req.Method != http.MethodHead && b.code != http.StatusNotModified:
		return goodput.Truncated
	}
	return goodput.Success
}

// status is what its status says.
func (b *body) status() goodput.Outcome {
	if b.code == 0 || b.code == http.StatusSwitchingProtocols {
		return goodput.Success
	}
	return goodput.OutcomeOfStatus(b.code, b.writer.Header())
}
