package loadgen

import (
	"context"
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Target is what load is put on.
type Target interface {
	// Do performs one request and tells trace what happened, when it happened. It returns when the request is over; a
	// nil error is a success. It has to return soon after ctx is done. Who calls it gives each request a ctx of its own, and
	// cancels that once Do has returned: a target may leave at it what is to go with the request.
	Do(ctx context.Context, req *Request, trace *Trace) error
}

// TargetFunc makes a Target of a function.
type TargetFunc func(context.Context, *Request, *Trace) error

// Do calls f.
func (f TargetFunc) Do(ctx context.Context, req *Request, trace *Trace) error {
	return f(ctx, req, trace)
}

// Describer is what a Target implements that knows what it can give. Of one that does not, nothing is assumed.
type Describer interface {
	Describe() Description
}

// Description is what a Target says of itself.
type Description struct {
	Name   string                // one line, no secrets
	Tokens bool                  // it yields output tokens: an answer without one is empty and not a success
	Gives  func(slo.Metric) bool // which metrics it can give; nil: not said. A plan whose SLO needs another is refused
	// OpensEach says that it is to open a connection for each request: the client's health does not hold that against it.
	OpensEach bool
}

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"` // "system", "user", "assistant", "tool"
	Content string `json:"content"`
}

// Request is one request to make.
type Request struct {
	Class                  string         // class of traffic; "" is "default"
	Prompt                 string         // what is asked: a text, or
	Messages               []Message      // a conversation
	InputTokens, MaxTokens int            // 0: unknown, no limit
	Body                   map[string]any // extra fields of the request
	// Limits are thresholds of its own, in the metric's base unit: for this request they take the place of its class's.
	Limits map[slo.Metric]float64
	// Next makes the request the turn of a session: in a run, once it has ended with success, Next says the turn after it
	// and the think time until that starts, counted from its End; nil: the session is over. A turn that fails ends its
	// session. Next is called from the request's goroutine, can be called from several at once where several sessions
	// have it, and has to be soon back. Outside of a run it is not called.
	Next func(Answer) (*Request, time.Duration)
	Left int // how many turns come after this one, where that is known: to count those that a failure leaves out
}

// StatusError is an answer whose HTTP status is no success.
type StatusError struct {
	Code     int
	Rejected bool   // admission control refused it; of an answer over HTTP, see goodput.OutcomeOfStatus
	Detail   string // one line, no secrets
}

// Error is the status, and the detail where there is one.
func (e *StatusError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("HTTP status %d", e.Code)
	}
	return fmt.Sprintf("HTTP status %d: %s", e.Code, e.Detail)
}

// OutcomeError is an outcome that a Target names itself.
type OutcomeError struct {
	Outcome goodput.Outcome
	Detail  string // one line, no secrets
}

// Error is the outcome and the detail.
func (e *OutcomeError) Error() string { return e.Outcome.String() + ": " + e.Detail }

// Fail is an error that makes o the outcome of the request. Only a cancelled context and a deadline that has passed go
// before it, unless o is itself Dropped, Cancelled, Unfinished or Timeout. A Success cannot fail.
func Fail(o goodput.Outcome, detail string) error { return &OutcomeError{o, detail} }
