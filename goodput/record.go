package goodput

import (
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// ReasonHeader is the HTTP response header in which admission control says why it refused a request. A 429 that
// carries it is Rejected and not RateLimited.
const ReasonHeader = "Goodput-Reason"

// Token is one token event: the instant, as an offset from Start, and how many tokens it carried. N = 0: nobody said,
// counted as 1.
type Token struct {
	At time.Duration
	N  int
}

// Record is what one request did. Start is when it was meant to start; every Duration is an offset from Start.
type Record struct {
	Class        string        // class of traffic; "" is "default"
	Start        time.Time     // when it was meant to start
	Sent         time.Duration // when the client really began to send it
	FirstByte    time.Duration // first byte of the response body; 0: none came, or nobody said
	Tokens       []Token       // in order of time
	FirstOutput  time.Duration // 0: the first token event; later where reasoning came first; < 0: reasoning only
	End          time.Duration
	InputTokens  int // 0: nobody said
	OutputTokens int // 0: nobody said
	Outcome      Outcome
	Finish       string                 // the server's finish reason, if any
	Detail       string                 // the error in one line, no secrets
	Attempts     int                    // 0 and 1: the first was the only one
	Custom       map[slo.Metric]float64 // values of the caller's own metrics, x_…
	Limits       map[slo.Metric]float64 // thresholds that this request brought along, in the metric's base unit
}
