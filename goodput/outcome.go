package goodput

import "fmt"

// Outcome is how an offered request ended. Each ends in exactly one.
type Outcome uint8

// The outcomes. The zero Outcome is none of them: nobody said.
const (
	Success         Outcome = iota + 1 // 2xx, understood, complete
	Timeout                            // its own deadline passed; HTTP 408 or 504
	RateLimited                        // HTTP 429, or an in-stream error that says so
	Rejected                           // refused by admission control before any work
	ServerError                        // another 5xx, an in-stream error, a panic
	ClientError                        // another 4xx, a final 3xx
	ConnectionError                    // lost before the first byte of the body
	Cancelled                          // its own context was cancelled, or the client went away
	Truncated                          // lost after the first byte, no terminal marker, or cut at a length nobody asked for
	Empty                              // properly ended with not one output token
	Malformed                          // the body is not what the protocol says
	Dropped                            // never sent
	Unfinished                         // in flight when the run was cut off
)

// Outcomes is the number of outcomes plus one: the length of an array indexed by Outcome.
const outcomes = int(Unfinished) + 1

var outcomeNames = [outcomes]string{
	"", "success", "timeout", "rate_limited", "rejected", "server_error", "client_error", "connection_error",
	"cancelled", "truncated", "empty", "malformed", "dropped", "unfinished",
}

// String is the outcome's name: "success", "rate_limited", …
func (o Outcome) String() string {
	if o == 0 || int(o) >= outcomes {
		return fmt.Sprintf("Outcome(%d)", uint8(o))
	}
	return outcomeNames[o]
}
