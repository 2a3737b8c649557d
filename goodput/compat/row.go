package compat

import (
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// A row is what the rules need of one record, as integers: nanoseconds and tokens.
type row struct {
	start             int64 // from the Scorer's base
	sent, end         int64 // from start
	first, last       int64 // token events, from start; −1: none
	missed, undefined uint64
	n                 uint32 // output tokens: the server's count, else those seen; 0: nobody knows
	usage             uint32 // the server's count; 0: nobody said
	seen, n1          uint32 // tokens of all events, and of the first
	events            uint32
	in                uint32
	outcome           goodput.Outcome
}

const (
	maxOffset = int64(100 * 365 * 24 * time.Hour)
	maxTokens = 1<<31 - 1
)

// read puts right what cannot be meant as goodput.Accumulator.Observe documents, and hands each step to step, with the
// tokens that came after it.
func (w *row) read(r *goodput.Record, step func(gap int64, n uint32)) {
	w.sent, w.end = offset(r.Sent), offset(r.End)
	w.first, w.last = -1, -1
	var last, seen int64
	for i, t := range r.Tokens {
		at := min(max(int64(t.At), last), maxOffset)
		n := uint32(max(count(t.N), 1))
		if i == 0 {
			w.first, w.n1 = at, n
		} else {
			step(at-last, n)
		}
		last = at
		seen = min(seen+int64(n), maxTokens)
	}
	w.events, w.seen = uint32(min(len(r.Tokens), maxTokens)), uint32(seen)
	if w.events > 0 {
		w.last = last
	}
	w.end = max(w.end, w.last)
	w.sent = min(w.sent, w.end)
	if w.events > 0 {
		w.sent = min(w.sent, w.first)
	}
	w.usage, w.in = count(r.OutputTokens), count(r.InputTokens)
	if w.n = w.usage; w.n == 0 {
		w.n = w.seen
	}
	w.outcome = r.Outcome
	if !w.outcome.Valid() {
		w.outcome = goodput.ServerError
	}
}

func offset(d time.Duration) int64 { return min(max(int64(d), 0), maxOffset) }

func count(n int) uint32 { return uint32(min(max(n, 0), maxTokens)) }

// ownCount is the output tokens by goodput's definition: never below those seen.
func (w *row) ownCount() int64 { return int64(max(w.n, w.seen)) }

// streamed reports whether an error could have come in a stream whose first chunk had been seen.
func (w *row) streamed() bool {
	switch w.outcome {
	case goodput.Success, goodput.ServerError, goodput.RateLimited, goodput.Rejected:
		return w.events > 0
	}
	return false
}

// cutOff reports whether the end of the run, or of its context, ended the request and not the server.
func (w *row) cutOff() bool {
	return w.outcome == goodput.Unfinished || w.outcome == goodput.Cancelled
}
