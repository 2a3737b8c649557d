package admission

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// MiddlewareConfig says how HTTP requests become requests of a [Controller].
type MiddlewareConfig struct {
	// Request is what is known of a request; nil: nothing. It is called before anything else; who reads the body for it has
	// to put it back. For bodies of OpenAI's APIs there is [ChatSizes.Request]. Without an Arrival, that is when the handler
	// was entered.
	Request func(req *http.Request) Request

	// Headers is the headers that are read for what a client says of its request; zero: none.
	Headers Headers

	// Tokens is how many tokens an event of an event stream carries, by its data; nil: of events of OpenAI's APIs those with
	// output carry what their usage or their log-probabilities say, or one, and a role, an empty delta or the usage carries
	// none; of other events each that is not empty carries one. The data must neither be kept nor changed.
	Tokens func(data []byte) int

	// Degrade carries out what a request was granted that is less than it asked for: it changes req, which next gets, and returns
	// what the client is told of that in [GrantedHeader] ("": nothing), and the most output tokens that req asks for now, which is what
	// it counts for ([Permit.Sent]); 0: as many as it did when it came. nil: it is next's, which finds the grant by [PermitOf].
	// For bodies of OpenAI's APIs there is [ChatSizes.Degrade].
	Degrade func(req *http.Request, g Grant) (granted string, maxOutputTokens int)

	// Refused answers a request that was refused; nil: [WriteRejection] does.
	Refused func(w http.ResponseWriter, req *http.Request, err *RejectedError)
}

// Middleware is next behind a controller: a request goes on when it is admitted, and its permit ends when next returns or
// panics, which is when its body has ended, streamed or not, or when it takes the connection over: what follows that is no
// HTTP, and nobody sees here when it is over. next finds the permit with [PermitOf], for what was granted. A panic goes on as it was.
//
// The first token is that of an event stream, or in any other body the first flush; tokens count from the flush after them.
// An answer without a flush, or in JSON, is one piece, and says nothing about first tokens. Of the answers of OpenAI's APIs, unless there is a Tokens,
// the usage is read, and an error in a body of status 200 is a failure.
//
// A request whose context ends while it waits is answered with 504 where that was its deadline, else with 499, which nobody
// reads. Over HTTP/1 the server notices that a client has gone away only when the request's body has been read to its end:
// [ChatSizes.Request] reads it.
//
// A client that reads nothing of its answer holds its permit as long as the server lets it: a context ends no write. The server's
// WriteTimeout does, or a deadline by [http.ResponseController.SetWriteDeadline].
//
// A middleware of package goodputhttp belongs around this one, and not into it: then each request is one record, also one that was
// refused (as [goodput.Rejected]), and its latency has its waiting in it.
//
//	measured.Handler(controller.Middleware(api, admission.MiddlewareConfig{Request: admission.ChatSizes{}.Request}))
func (c *Controller) Middleware(next http.Handler, config MiddlewareConfig) http.Handler {
	if config.Refused == nil {
		config.Refused = func(w http.ResponseWriter, _ *http.Request, err *RejectedError) { WriteRejection(w, err) }
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		entered := time.Now()
		said, bad := config.Headers.read(req.Header)
		if bad != nil {
			bad.write(w)
			return
		}
		var r Request
		if config.Request != nil {
			r = config.Request(req)
		}
		if r.Arrival.IsZero() {
			r.Arrival = entered
		}
		said.apply(&r, time.Since(r.Arrival))
		p, err := c.Admit(req.Context(), r)
		var rejected *RejectedError
		switch {
		case errors.As(err, &rejected):
			config.Refused(w, req, rejected)
			return
		case errors.Is(err, context.DeadlineExceeded):
			(&apiError{code: http.StatusGatewayTimeout, Type: "server_error", Code: "timeout", Message: "admission: the request's time was over before it could be sent"}).write(w)
			return
		case err != nil:
			w.WriteHeader(statusClientGone)
			return
		}
		b := &body{permit: p, req: req, tokens: config.Tokens, length: -1}
		defer b.end()
		watched := b.writer.Wrap(w, req, b)
		req = req.WithContext(context.WithValue(req.Context(), permitKey{}, p))
		if config.Degrade != nil && p.Grant().Degraded() {
			granted, most := config.Degrade(req, p.Grant())
			p.Sent(most)
			if granted != "" {
				b.writer.Keep(GrantedHeader, granted)
			}
		}
		next.ServeHTTP(watched, req)
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
