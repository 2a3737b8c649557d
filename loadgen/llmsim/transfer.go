package llmsim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Transfer is what it takes to bring the KV cache of a prompt from a prefill engine to a decode engine: of n tokens
//
//	n · KVBytes / Bandwidth + Latency
//
// A prefill engine sends one after the other, in the order in which they were called for, each at the whole Bandwidth;
// during the Latency of one the next is being sent. What a decode engine receives is not limited.
type Transfer struct {
	KVBytes   int           // bytes of KV cache of a token; of OPT-13B in 16 bits 2 · 40 layers · 5120 · 2 = 819,200
	Bandwidth float64       // bytes/s that a prefill engine sends; math.Inf(1): no time at all
	Latency   time.Duration // of each transfer, beside its bytes
	Parallel  bool          // a prefill engine sends any number at once, each at the whole Bandwidth
}

// validate says what cannot be meant, for prompts of up to so many tokens.
func (t Transfer) validate(tokens int) error {
	var errs []string
	bad := func(format string, args ...any) { errs = append(errs, fmt.Sprintf(format, args...)) }
	if !(t.Bandwidth > 0) {
		bad("Bandwidth is %v bytes/s: it is above 0, math.Inf(1) for transfers in no time", t.Bandwidth)
	}
	if t.KVBytes < 0 || t.KVBytes == 0 && !math.IsInf(t.Bandwidth, 1) {
		bad("KVBytes is %d: a token's KV cache has at least one byte", t.KVBytes)
	}
	if t.Latency < 0 || t.Latency > maxStep {
		bad("Latency is %v: it is from 0 to %v", t.Latency, maxStep)
	}
	if longest := float64(tokens) * float64(t.KVBytes) / t.Bandwidth; len(errs) == 0 && longest > maxStep.Seconds() {
		bad("a full KV cache would be on its way for %.3g hours: Bandwidth is in bytes/s, and a transfer takes at most %v", longest/3600, maxStep)
	}
	return allOf("llmsim: Transfer: ", errs)
}

// sending is how long so many tokens keep a prefill engine busy with sending them, to the nearest nanosecond.
func (t Transfer) sending(tokens int) time.Duration {
	return time.Duration(math.Round(float64(tokens) * float64(t.KVBytes) / t.Bandwidth * float64(time.Second)))
}

// link is what a prefill engine sends over.
type link struct {
	t       Transfer
	queue   []*transit // called for, in order
	sending *transit   // the one of which bytes go out, until its until; began is when
	began   time.Duration
	flying  []*transit // there at their until, in order of it
}

// next is when something has been sent, or is there.
func (l *link) next() (at time.Duration, ok bool) {
	if l.sending != nil {
		at, ok = l.sending.until, true
	}
	if len(l.flying) > 0 && (!ok || l.flying[0].until < at) {
		at, ok = l.flying[0].until, true
	}
	return at, ok
}

// call puts a transfer in line, now. Calls of one instant go in order of the first tokens, in whatever order they are made.
func (l *link) call(now time.Duration, x *transit) {
	x.called = now
	if l.t.Parallel {
		l.fly(x, after(now, l.t.sending(x.prompt)))
		return
	}
	if s := l.sending; s != nil && l.began == now && earlier(x, s) < 0 {
		l.queue, l.sending = slices.Insert(l.queue, 0, s), nil // it has only just begun
	}
	i, _ := slices.BinarySearchFunc(l.queue, x, earlier)
	l.queue = slices.Insert(l.queue, i, x)
	l.send(now)
}

func earlier(a, b *transit) int {
	return cmp.Or(cmp.Compare(a.called, b.called), cmp.Compare(a.seq, b.seq))
}

// send begins with the first in line, unless one is being sent.
func (l *link) send(now time.Duration) {
	if l.sending != nil || len(l.queue) == 0 {
		return
	}
	l.sending, l.began = l.queue[0], now
	l.queue = slices.Delete(l.queue, 0, 1)
	l.sending.until = after(now, l.t.sending(l.sending.prompt))
}

// fly books a transfer whose last byte has gone at sent.
func (l *link) fly(x *transit, sent time.Duration) {
	x.until = after(sent, l.t.Latency)
	i, _ := slices.BinarySearchFunc(l.flying, x, func(a, b *transit) int {
		return cmp.Or(cmp.Compare(a.until, b.until), cmp.Compare(a.seq, b.seq))
	})
	l.flying = slices.Insert(l.flying, i, x)
}

// step is what happens at now: the next one is sent, and a transfer that is there is returned, if any is.
func (l *link) step(now time.Duration) *transit {
	for l.sending != nil && l.sending.until <= now {
		x := l.sending
		l.sending = nil
		l.fly(x, now)
		l.send(now)
	}
	if len(l.flying) == 0 || l.flying[0].until > now {
		return nil
	}
	x := l.flying[0]
	l.flying = slices.Delete(l.flying, 0, 1)
	return x
}

// cancel takes a transfer off. What was behind it moves up.
func (l *link) cancel(now time.Duration, x *transit) {
	if l.sending == x {
		l.sending = nil
		l.send(now)
		return
	}
	if i := slices.Index(l.queue, x); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
		return
	}
	i := slices.Index(l.flying, x)
	l.flying = slices.Delete(l.flying, i, i+1)
}
