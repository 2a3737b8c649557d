package admission

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/respwriter"
	"github.com/goodputkit/goodputkit/internal/sse"
)

// RetryAfterMsHeader is the header in which a refusal says, in milliseconds, when it may be worth another try. Clients of
// OpenAI's API read it before Retry-After.
const RetryAfterMsHeader = "Retry-After-Ms"

// MiddlewareConfig says how HTTP requests become requests of a [Controller].
type MiddlewareConfig struct {
	// Request is what is known of a request; nil: nothing. It is called before anything else; who reads the body for it has
	// to put it back.
	Request func(req *http.Request) Request

	// Tokens is how many tokens an event of an event stream carries, by its data; nil: one each but for an empty one and
	// [DONE]. The data must neither be kept nor changed.
	Tokens func(data []byte) int

	// Refused answers a request that was refused; nil: [WriteRejection] does.
	Refused func(w http.ResponseWriter, req *http.Request, err *RejectedError)
}

// Middleware is next behind a controller: a request goes on when it is admitted, and its permit ends when next returns or
// panics, which is when its body has ended, streamed or not. next finds the permit with [PermitOf], for what was granted.
//
// The first token is that of an event stream, or in any other body the first flush; tokens count from the flush after them.
// An answer without a flush is one piece, and says nothing about first tokens. A request whose context ends while it waits
// is answered with 504 where that was its deadline, else with 499, which nobody reads. A panic goes on as it was.
func (c *Controller) Middleware(next http.Handler, config MiddlewareConfig) http.Handler {
	if config.Tokens == nil {
		config.Tokens = oneToken
	}
	if config.Refused == nil {
		config.Refused = func(w http.ResponseWriter, _ *http.Request, err *RejectedError) { WriteRejection(w, err) }
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var r Request
		if config.Request != nil {
			r = config.Request(req)
		}
		p, err := c.Admit(req.Context(), r)
		var rejected *RejectedError
		switch {
		case errors.As(err, &rejected):
			config.Refused(w, req, rejected)
			return
		case errors.Is(err, context.DeadlineExceeded):
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		case err != nil:
			w.WriteHeader(statusClientGone)
			return
		}
		b := &body{permit: p, req: req, tokens: config.Tokens}
		defer b.end()
		next.ServeHTTP(b.writer.Wrap(w, req, b), req.WithContext(context.WithValue(req.Context(), permitKey{}, p)))
		b.returned = true
	})
}

// statusClientGone is nginx's, for a client that has gone away.
const statusClientGone = 499

type permitKey struct{}

// PermitOf is the permit of a request behind a [Controller.Middleware], by its context, or nil.
func PermitOf(ctx context.Context) *Permit {
	p, _ := ctx.Value(permitKey{}).(*Permit)
	return p
}

// oneToken is one token for each event that carries something.
func oneToken(data []byte) int {
	if len(data) == 0 || string(data) == "[DONE]" {
		return 0
	}
	return 1
}

// WriteRejection answers a request that was refused: 429, or 503 where nothing can be served at all; Retry-After in whole
// seconds, rounded up, [RetryAfterMsHeader], [goodput.ReasonHeader], and a body like an error of OpenAI's API.
func WriteRejection(w http.ResponseWriter, err *RejectedError) {
	code, kind := http.StatusTooManyRequests, "rate_limit_error"
	if err.Reason.NothingServed() {
		code, kind = http.StatusServiceUnavailable, "server_error"
	}
	ms := max((err.RetryAfter+time.Millisecond-1)/time.Millisecond, 1)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Retry-After", strconv.FormatInt(int64((ms+999)/1000), 10))
	h.Set(RetryAfterMsHeader, strconv.FormatInt(int64(ms), 10))
	h.Set(goodput.ReasonHeader, string(err.Reason))
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	text, _ := json.Marshal(struct {
		Error detail `json:"error"`
	}{detail{err.Error(), kind, nil, string(err.Reason)}})
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n'))
}

// body is an answer that is watched. It is the handler's goroutine's.
type body struct {
	writer respwriter.Writer
	permit *Permit
	req    *http.Request
	tokens func([]byte) int

	code     int
	some     bool // of the body was written
	stream   bool // it is an event stream that can be read
	parser   sse.Parser
	n        int // tokens written since the last flush
	failed   bool
	returned bool
}

func (b *body) Before() {}

func (b *body) Status(code int) {
	b.code = code
	h := b.writer.Header()
	t, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	encoding := h.Get("Content-Encoding")
	b.stream = code/100 == 2 && t == "text/event-stream" && (encoding == "" || encoding == "identity")
}

func (b *body) Wrote(p []byte, err error) {
	b.failed = b.failed || err != nil
	b.some = b.some || len(p) > 0
	if !b.stream || b.parser.Err() != nil {
		return
	}
	b.parser.Feed(p, time.Time{})
	for ev, ok := b.parser.Next(); ok; ev, ok = b.parser.Next() {
		b.n += max(b.tokens(ev.Data), 0)
	}
}

func (b *body) Blind() bool { return !b.stream && b.code != 0 }

func (b *body) Copied(n int64, _ error) { b.some = b.some || n > 0 }

func (b *body) Flushed(err error) {
	switch {
	case err != nil:
		b.failed = true
	case b.stream && b.n > 0:
		b.permit.Tokens(b.n)
		b.n = 0
	case !b.stream && b.some && b.code/100 == 2:
		b.permit.FirstToken()
	}
}

func (b *body) Hijacked() {}

// end is deferred around the handler.
func (b *body) end() {
	if b.returned {
		if b.n > 0 && !b.failed {
			b.permit.Tokens(b.n)
		}
		b.permit.Done(b.outcome())
		return
	}
	p := recover()
	o := goodput.ServerError
	if b.req.Context().Err() != nil {
		o = b.gone()
	} else if err, _ := p.(error); err == http.ErrAbortHandler {
		o = goodput.ConnectionError
		if b.some {
			o = goodput.Truncated
		}
	}
	b.permit.Done(o)
	if p != nil { // runtime.Goexit is no panic
		panic(p)
	}
}

func (b *body) outcome() goodput.Outcome {
	switch {
	case b.req.Context().Err() != nil:
		return b.gone()
	case b.code != 0 && b.code != http.StatusSwitchingProtocols:
		if o := goodput.OutcomeOfStatus(b.code, b.writer.Header()); o != goodput.Success {
			return o
		}
	}
	if b.failed {
		return goodput.Cancelled
	}
	return goodput.Success
}

// gone is how a request ended whose context has.
func (b *body) gone() goodput.Outcome {
	if errors.Is(b.req.Context().Err(), context.DeadlineExceeded) {
		return goodput.Timeout
	}
	return goodput.Cancelled
}
