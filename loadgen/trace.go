package loadgen

import (
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
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
type Trace struct {
	mu     sync.Mutex
	sealed bool
	rec    goodput.Record
	output bool // a token event that was not reasoning was seen
	ended  bool // EndAt was called
	text   func(TextKind, string)
}

// NewTrace is a trace of a request that was meant to start at start.
func NewTrace(start time.Time) *Trace {
	t := &Trace{}
	t.rec.Start = start
	t.rec.Sent = -1
	return t
}

// Sent says that the request begins to be sent now. Without it, it is the entry into Do. The first call counts.
func (t *Trace) Sent() { t.SentAt(time.Now()) }

// SentAt is Sent at a given instant.
func (t *Trace) SentAt(at time.Time) {
	t.with(func() {
		if t.rec.Sent < 0 {
			t.rec.Sent = max(0, at.Sub(t.rec.Start))
		}
	})
}

// FirstByte says that the first byte of the response body is here. The first call counts.
func (t *Trace) FirstByte() { t.FirstByteAt(time.Now()) }

// FirstByteAt is FirstByte at a given instant.
func (t *Trace) FirstByteAt(at time.Time) {
	t.with(func() {
		if t.rec.FirstByte == 0 {
			t.rec.FirstByte = at.Sub(t.rec.Start)
		}
	})
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
	defer t.mu.Unlock()
	if t.sealed {
		return
	}
	off := at.Sub(t.rec.Start)
	t.rec.Tokens = append(t.rec.Tokens, goodput.Token{At: off, N: n})
	if output && !t.output {
		t.output = true
		if len(t.rec.Tokens) > 1 {
			t.rec.FirstOutput = off
		}
	}
}

// Text hands over a piece of the answer. It is dropped unless somebody asked for it.
func (t *Trace) Text(kind TextKind, s string) {
	t.with(func() {
		if t.text != nil {
			t.text(kind, s)
		}
	})
}

// WantsText says whether somebody asked for the text, so that a Target need not make strings that nobody reads.
func (t *Trace) WantsText() bool { return t.text != nil }

// Usage says how many tokens the server counted; 0: it did not say. The last call counts.
func (t *Trace) Usage(input, output int) {
	t.with(func() { t.rec.InputTokens, t.rec.OutputTokens = input, output })
}

// Finish says the server's finish reason. The last call counts.
func (t *Trace) Finish(reason string) { t.with(func() { t.rec.Finish = reason }) }

// Attempt says that the request is sent once more.
func (t *Trace) Attempt() {
	t.with(func() { t.rec.Attempts = max(1, t.rec.Attempts) + 1 })
}

// EndAt says when the end marker arrived. Without it, the end is Do's return.
func (t *Trace) EndAt(at time.Time) {
	t.with(func() { t.rec.End, t.ended = at.Sub(t.rec.Start), true })
}

func (t *Trace) with(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.sealed {
		f()
	}
}
