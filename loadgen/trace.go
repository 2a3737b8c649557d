package loadgen

import (
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// TextKind says what a piece of generated text is.
type TextKind uint8

// The kinds of text.
const (
	Content TextKind = iota
	ReasoningText
	ToolArguments
	RefusalText
)

// Trace is what a Target tells of one request while it goes on. Its methods may be called from any goroutine; calls
// after the request was booked do nothing.
//
// A method without an instant takes time.Now itself. One whose name ends in At is given the instant, which is best that
// of the bytes' arrival, taken before they are parsed. An instant before Start counts as Start, and a token event before
// the last one counts as simultaneous with it: offsets never fall.
//
// No method allocates, but for the growth of the list of token events.
type Trace struct {
	mu     sync.Mutex
	sealed bool
	sent   bool
	byted  bool // a byte of the body was seen; FirstByte alone cannot say so at offset 0
	output bool // a token event that was not reasoning was seen
	some   bool // there was output of unknown length
	ended  bool // EndAt was called
	index  uint64
	ways   ways
	rec    goodput.Record
	text   func(TextKind, string)
}

// NewTrace is a trace of a request that was meant to start at start. A Target is given one; only a test of a Target's
// parts makes its own.
func NewTrace(start time.Time) *Trace {
	t := &Trace{}
	t.rec.Start = start
	return t
}

// Index is the request's place in its run, from 0, in order of Start; 0 outside of a run. Later turns are not counted:
// they have the Index of the request with which their session began. Requests that start in the same instant have an
// order by it that is the same each time, which that of their goroutines is not.
func (t *Trace) Index() uint64 { return t.index }

// since is the offset of an instant from Start, never negative.
func (t *Trace) since(at time.Time) time.Duration { return max(0, at.Sub(t.rec.Start)) }

// Sent says that the request begins to be sent now. Without it, it is the entry into Do. The first call counts.
func (t *Trace) Sent() {
	at := time.Now()
	t.mu.Lock()
	if !t.sealed && !t.sent {
		t.sent, t.rec.Sent = true, t.since(at)
	}
	t.mu.Unlock()
}

// FirstByte says that the first byte of the response body is here. The first call counts.
func (t *Trace) FirstByte() { t.FirstByteAt(time.Now()) }

// FirstByteAt is FirstByte at a given instant.
func (t *Trace) FirstByteAt(at time.Time) {
	t.mu.Lock()
	if !t.sealed && !t.byted {
		t.byted, t.rec.FirstByte = true, t.since(at)
	}
	t.mu.Unlock()
}

// Token says that n output tokens have arrived now, as one event; n = 0: nobody said how many.
func (t *Trace) Token(n int) { t.TokenAt(time.Now(), n) }

// TokenAt is Token at a given instant: that of the bytes' arrival.
func (t *Trace) TokenAt(at time.Time, n int) { t.token(at, n, true) }

// Reasoning says that n tokens of reasoning have arrived now: tokens, but no first output.
func (t *Trace) Reasoning(n int) { t.ReasoningAt(time.Now(), n) }

// ReasoningAt is Reasoning at a given instant.
func (t *Trace) ReasoningAt(at time.Time, n int) { t.token(at, n, false) }

func (t *Trace) token(at time.Time, n int, output bool) {
	t.mu.Lock()
	if !t.sealed {
		off, k := t.since(at), len(t.rec.Tokens)
		if k > 0 {
			off = max(off, t.rec.Tokens[k-1].At)
		}
		t.rec.Tokens = append(t.rec.Tokens, goodput.Token{At: off, N: max(0, n)})
		if output && !t.output {
			t.output = true
			if k > 0 {
				t.rec.FirstOutput = off
			}
		}
	}
	t.mu.Unlock()
}

// Text hands over a piece of the answer. It is dropped unless somebody asked for it: WithText, or a session.
func (t *Trace) Text(kind TextKind, s string) {
	if t.text == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock() // the receiver is the caller's code and may panic
	if !t.sealed {
		t.text(kind, s)
	}
}

// WantsText says whether somebody asked for the text, so that a Target need not make strings that nobody reads.
func (t *Trace) WantsText() bool { return t.text != nil }

// Output says that the answer has output of which nobody knows how many tokens it is, or when they came: it is not empty.
func (t *Trace) Output() {
	t.mu.Lock()
	if !t.sealed {
		t.some = true
	}
	t.mu.Unlock()
}

// Usage says how many tokens the server counted; 0: it did not say. The last call counts.
func (t *Trace) Usage(input, output int) {
	t.mu.Lock()
	if !t.sealed {
		t.rec.InputTokens, t.rec.OutputTokens = max(0, input), max(0, output)
	}
	t.mu.Unlock()
}

// Finish says the server's finish reason. The last call counts.
func (t *Trace) Finish(reason string) {
	t.mu.Lock()
	if !t.sealed {
		t.rec.Finish = reason
	}
	t.mu.Unlock()
}

// Attempt says that the request is sent once more.
func (t *Trace) Attempt() {
	t.mu.Lock()
	if !t.sealed {
		t.rec.Attempts = max(1, t.rec.Attempts) + 1
		t.ways = ways{}
	}
	t.mu.Unlock()
}

// Custom gives the value of one of the caller's own metrics, x_…; lower is better. The last call for a metric counts.
func (t *Trace) Custom(m slo.Metric, v float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return
	}
	if t.rec.Custom == nil {
		t.rec.Custom = map[slo.Metric]float64{}
	}
	t.rec.Custom[m] = v
}

// EndAt says when the request ended: the end marker's arrival, or that of the event that made it fail. Without it, the
// end is Do's return. The first call counts.
func (t *Trace) EndAt(at time.Time) {
	t.mu.Lock()
	if !t.sealed && !t.ended {
		t.ended, t.rec.End = true, t.since(at)
	}
	t.mu.Unlock()
}

// seal ends the trace and gives its record to the caller, whose it is from then on, and whether a byte of the body was
// seen. ok is false where it was sealed before. entry is when Do was entered, now when it returned.
func (t *Trace) seal(entry, now time.Time) (rec *goodput.Record, bytes, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return nil, false, false
	}
	t.sealed = true
	if !t.sent {
		t.rec.Sent = t.since(entry)
	}
	if !t.ended {
		t.rec.End = t.since(now)
	}
	if k := len(t.rec.Tokens); k > 0 {
		if !t.output {
			t.rec.FirstOutput = -1
		}
		t.rec.End = max(t.rec.End, t.rec.Tokens[k-1].At)
	}
	t.rec.End = max(t.rec.End, t.rec.Sent, t.rec.FirstByte)
	return &t.rec, t.byted || len(t.rec.Tokens) > 0, true
}
