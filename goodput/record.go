package goodput

import (
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// ReasonHeader is the HTTP response header in which admission control says why it refused a request. A 429 that
// carries it is [Rejected] and not [RateLimited]: see [OutcomeOfStatus].
const ReasonHeader = "Goodput-Reason"

// Token is one token event: an instant at which generated output arrived (text, reasoning, a tool call's name or
// arguments, a refusal, an audio transcript) and how many tokens it carried. A role-only chunk, an empty delta, a
// comment, a ping and a chunk with usage alone are no token events.
type Token struct {
	At time.Duration // from the record's Start
	N  int           // tokens; 0: nobody said, counted as 1
}

// Record is what one request did: one that was offered, whatever became of it, is one Record. A retry is no other
// Record: latency runs from the first attempt, and Attempts counts.
//
// Start is when the request was meant to begin, not when the client got round to it: the arrival's instant in an open
// loop, the instant at which the worker became free in a closed one, the entry into the handler in a server. Every
// Duration is an offset from it on one monotonic clock, so that a wait in the client is part of the latency, as it is
// for the user. What was not measured is absent: 0 where a field says so, and never a guess.
//
// Neither prompts nor answers are in a Record. See [Record.MarshalJSON] for its JSON, [RecordWriter] for files of
// records and [Accumulator.Observe] for what becomes of values that cannot be meant.
type Record struct {
	Class     string        // class of traffic, which may have an SLO of its own; "" is "default"
	Start     time.Time     // when it was meant to begin
	Sent      time.Duration // when the client really began to send it: the schedule lag, a wait for a place in flight included
	FirstByte time.Duration // first byte of the response's body, which may come long before a token; 0: none came, or nobody said

	Tokens      []Token       // token events in order of time; none where nobody saw the steps
	FirstOutput time.Duration // first token event that is not reasoning; 0: the first of all; < 0: there was reasoning only
	End         time.Duration // the end marker; without one the end of the body; or the failure

	InputTokens  int // as the server counted them; 0: nobody said
	OutputTokens int // likewise; where it is below what Tokens carry, those count

	Outcome  Outcome
	Finish   string // the server's finish reason, if it gave one
	Detail   string // the error, in one line, without secrets and without text of the request
	Attempts int    // how often it was sent; 0 and 1: once

	Custom map[slo.Metric]float64 // values of the caller's own metrics, x_…; lower is better
	Limits map[slo.Metric]float64 // thresholds that the request brought along, in the metric's base unit; they take the place of its class's
}
