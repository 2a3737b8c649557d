package goodputhttp

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/internal/respwriter"
)

// maxEvents bounds the token events of one record, and so its memory (1 MiB). What comes beyond is one event, the last.
const maxEvents = 1 << 16

// Tally is what is known of the answer to one request. A [TokenCounter] tells it what it finds in the body; a handler, which
// knows of its answer without looking for it, gets its own from [TallyOf]. In a server what is told counts from when
// the bytes have left for the client: from the next flush or, without one, the handler's return.
//
// Its methods may be called from any goroutine. What comes after the end of the request is ignored, and so is everything
// where there is no Tally (nil), so that a handler works without the middleware.
type Tally struct {
	mu   sync.Mutex
	done bool
	rec  goodput.Record
	gone atomic.Bool // when something was last written or flushed there was nobody any more to read it

	sent    int           // token events of rec that have left; the others wait for the next flush
	aged    int           // those that were written before all that is in since
	over    int           // tokens beyond maxEvents that wait
	marked  bool          // the end marker was written
	ended   time.Duration // and when it left; 0: it has not
	outputs int           // 1 + the first event with output; 0: none yet
	reasons bool          // there was reasoning

	fail   goodput.Outcome // what the answer says of itself; 0: nothing
	detail string

	open   atomic.Bool       // a handler has it: what is told can come from anywhere
	flight *monitor.InFlight // nil: nobody watches
	told   byte              // what it was told of: toldToken, toldOutput
}

const (
	toldToken = 1 + iota
	toldOutput
)

// TallyOf is that of the request which w answers; nil: no middleware of this package knows of it.
func TallyOf(w http.ResponseWriter) *Tally {
	if c, ok := respwriter.Find[*call](w); ok {
		c.open.Store(true)
		return &c.Tally
	}
	return nil
}

// Token is one token event with n tokens; 0: nobody says how many.
func (t *Tally) Token(n int) { t.event(n, false) }

// Reasoning is one token event of reasoning alone, with n tokens; 0: nobody says how many.
func (t *Tally) Reasoning(n int) { t.event(n, true) }

func (t *Tally) event(n int, reasoning bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.one(n, reasoning)
}

// one is event, with mu held.
func (t *Tally) one(n int, reasoning bool) {
	if t.done || t.marked {
		return
	}
	if reasoning {
		t.reasons = true
	} else if t.outputs == 0 {
		t.outputs = min(len(t.rec.Tokens), maxEvents-1) + 1
	}
	switch len(t.rec.Tokens) {
	case 0:
		t.rec.Tokens = make([]goodput.Token, 0, 32)
	case maxEvents:
		t.over += max(n, 1)
		return
	}
	t.rec.Tokens = append(t.rec.Tokens, goodput.Token{N: n})
}

// add is what an ownCounter found.
func (t *Tally) add(events int, marker bool) {
	if events == 0 && !marker {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found(events, marker)
}

// found is add, with mu held.
func (t *Tally) found(events int, marker bool) {
	for range events {
		t.one(0, false)
	}
	t.marked = t.marked || marker && !t.done
}

// Usage is how many tokens the request and its answer have, as the server counts them; 0: nobody says.
func (t *Tally) Usage(in, out int) {
	t.do(func() {
		if in > 0 {
			t.rec.InputTokens = in
		}
		if out > 0 {
			t.rec.OutputTokens = out
		}
	})
}

// Finish is why the answer ended, as the server says. Of several the last one stands.
func (t *Tally) Finish(reason string) { t.do(func() { t.rec.Finish = reason }) }

// EndMarker is the end of the answer, where its protocol marks it: it is complete, whatever becomes of the connection, and has no
// token events any more. The
// request ends when the marker leaves. In a server it comes too late where the client went away before.
func (t *Tally) EndMarker() { t.do(func() { t.marked = true }) }

// Fail is how the request ended, where that cannot be seen from the outside: an error in a body of status 200, say. It goes
// before the status. The first one stands. One that is no failure is [goodput.ServerError]. The detail is for people, in one line
// without secrets.
func (t *Tally) Fail(o goodput.Outcome, detail string) {
	t.do(func() {
		if t.fail != 0 {
			return
		}
		if !o.Valid() || o == goodput.Success {
			o, detail = goodput.ServerError, "failed with the outcome "+o.String()+": "+detail
		}
		t.fail, t.detail = o, detail
	})
}

func (t *Tally) do(what func()) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.done {
		what()
	}
}

// left: all that was told has left by then. mu is held.
func (t *Tally) left(at time.Duration) {
	t.leave(len(t.rec.Tokens), at)
	if t.over > 0 {
		last := &t.rec.Tokens[maxEvents-1]
		last.At, last.N = at, max(last.N, 1)+t.over
		t.over = 0
	}
	if t.marked && t.ended == 0 && !t.gone.Load() {
		t.ended = max(at, 1)
	}
}

// leave: the first n token events have left by then. mu is held.
func (t *Tally) leave(n int, at time.Duration) {
	for ; t.sent < n; t.sent++ {
		t.rec.Tokens[t.sent].At = at
	}
	if t.flight == nil || t.told == toldOutput || t.sent == 0 {
		return
	}
	switch {
	case 0 < t.outputs && t.outputs <= t.sent:
		t.told = toldOutput
		t.flight.FirstOutput(t.rec.Tokens[t.outputs-1].At)
	case t.told == 0:
		t.told = toldToken
		t.flight.FirstToken(t.rec.Tokens[0].At)
	}
}

// lost: what has not left by now never will. mu is held.
func (t *Tally) lost() { t.rec.Tokens, t.over = t.rec.Tokens[:t.sent], 0 }

// record is the finished record. mu is held.
func (t *Tally) record() *goodput.Record {
	r := t.rec
	if len(r.Tokens) > 0 && t.reasons {
		if r.FirstOutput = -1; 0 < t.outputs && t.outputs <= len(r.Tokens) {
			r.FirstOutput = max(r.Tokens[t.outputs-1].At, 1)
		}
	}
	return &r
}
