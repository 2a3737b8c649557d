package goodput

import (
	"fmt"
	"strings"
)

// Outcome is how an offered request ended. Each ends in exactly one. Its text form, in JSON too, is its name:
// "success", "rate_limited", and so on. The zero Outcome is none of them: nobody said. An [Accumulator] books a record
// without a valid outcome as [ServerError] ("any other error") and says in a warning how many there were.
type Outcome uint8

// The outcomes. Where several fit, see the order of precedence in the package comment.
const (
	Success         Outcome = iota + 1 // 2xx, body understood, terminal marker seen, output complete
	Timeout                            // its own deadline, counted from Start, passed; or HTTP 408 or 504
	RateLimited                        // HTTP 429, or an in-stream error that says so
	Rejected                           // refused by admission control before any work
	ServerError                        // any other 5xx, an in-stream error event, a panic, any other error
	ClientError                        // any other 4xx, a final 3xx
	ConnectionError                    // lost before the first byte of the body
	Cancelled                          // its own context was cancelled, or the client went away
	Truncated                          // lost after the first byte, no terminal marker, or cut at a length nobody asked for
	Empty                              // properly ended with not one output token, from a target that declares tokens
	Malformed                          // the body is not what the protocol says
	Dropped                            // the client never sent it
	Unfinished                         // still in flight when the run was cut off
)

// outcomes is the length of an array indexed by Outcome.
const outcomes = int(Unfinished) + 1

var outcomeNames = [outcomes]string{
	"", "success", "timeout", "rate_limited", "rejected", "server_error", "client_error", "connection_error",
	"cancelled", "truncated", "empty", "malformed", "dropped", "unfinished",
}

// Outcomes returns every outcome there is, in the order of their declaration.
func Outcomes() []Outcome {
	all := make([]Outcome, 0, outcomes-1)
	for o := Success; int(o) < outcomes; o++ {
		all = append(all, o)
	}
	return all
}

// Valid reports whether o is one of the outcomes.
func (o Outcome) Valid() bool { return o > 0 && int(o) < outcomes }

// Throughput reports whether a request that ended so counts as throughput: all but [Dropped] and [Unfinished] do,
// for those two never ended.
func (o Outcome) Throughput() bool { return o.Valid() && o != Dropped && o != Unfinished }

// String is the outcome's name. An invalid one prints as Outcome(n).
func (o Outcome) String() string {
	if !o.Valid() {
		return fmt.Sprintf("Outcome(%d)", uint8(o))
	}
	return outcomeNames[o]
}

// OutcomeOfStatus is how a request ended whose answer had that HTTP status; header is the answer's http.Header, of which
// Retry-After and [ReasonHeader] matter, or nil.
//
//	2xx                                    Success, unless the body says otherwise
//	408, 504                               Timeout
//	429                                    RateLimited; with ReasonHeader Rejected
//	503 with Retry-After                   Rejected
//	any other 3xx and 4xx                  ClientError
//	anything else                          ServerError
//
// A 101, which answers no request, is a ServerError, too: whoever has a connection taken over on purpose, as for a websocket, books a success, as
// package goodputhttp does.
//
// A request that got no answer has no status: its deadline that passed is a [Timeout], a cancelled context [Cancelled], a
// connection that was lost [ConnectionError] before the first byte of the body and [Truncated] after it. Package loadgen's
// Do tells them apart by the error.
func OutcomeOfStatus(code int, header map[string][]string) Outcome {
	has := func(key string) bool { return len(header[key]) > 0 && header[key][0] != "" }
	switch {
	case code == 408, code == 504:
		return Timeout
	case code == 429 && has(ReasonHeader), code == 503 && has("Retry-After"):
		return Rejected
	case code == 429:
		return RateLimited
	case 200 <= code && code < 300:
		return Success
	case 300 <= code && code < 500:
		return ClientError
	}
	return ServerError
}

// ParseOutcome is the outcome of that name. Any other text is an [*OutcomeError].
func ParseOutcome(name string) (Outcome, error) {
	for o := 1; o < outcomes; o++ {
		if outcomeNames[o] == name {
			return Outcome(o), nil
		}
	}
	return 0, &OutcomeError{Name: name}
}

// MarshalText is the outcome's name. An invalid outcome is an [*OutcomeError].
func (o Outcome) MarshalText() ([]byte, error) {
	if !o.Valid() {
		return nil, &OutcomeError{Name: o.String()}
	}
	return []byte(outcomeNames[o]), nil
}

// UnmarshalText takes an outcome's name; see [ParseOutcome].
func (o *Outcome) UnmarshalText(text []byte) error {
	p, err := ParseOutcome(string(text))
	if err != nil {
		return err
	}
	*o = p
	return nil
}

// OutcomeError is a text that names no outcome.
type OutcomeError struct{ Name string }

func (e *OutcomeError) Error() string {
	return fmt.Sprintf("goodput: no such outcome: %.40q (one of %s)", e.Name, strings.Join(outcomeNames[1:], ", "))
}
