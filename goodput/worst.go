package goodput

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	worstKept   = 16  // in a report; of each kind in an accumulator
	detailBytes = 256 // of a Detail that is kept
	finishBytes = 32
)

// worstOne is a bad request, copied without an allocation.
type worstOne struct {
	score   float64 // what it is ranked by: excess, or seconds to its end
	start   int64
	s       sample
	outcome Outcome
	missed  uint64
	excess  float64

	attempts             int
	detail               [detailBytes]byte
	finish               [finishBytes]byte
	detailLen, finishLen int
}

// worst keeps the requests with the highest scores, of two kinds: late and failed.
type worst struct {
	mu    sync.Mutex
	kinds [2]ranking
}

const (
	kindLate = iota
	kindFailed
)

type ranking struct {
	floor atomic.Uint64 // bits of the score that a request has to exceed; 0 while there is room
	kept  []worstOne
}

// wants says whether a request would be kept, without a lock.
func (w *worst) wants(kind int, score float64) bool {
	return score > math.Float64frombits(w.kinds[kind].floor.Load())
}

func (w *worst) offer(kind int, r *Record, s *sample, start int64, missed uint64, score, excess float64, outcome Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.kinds[kind].place(score)
	if one == nil {
		return
	}
	*one = worstOne{score: score, start: start, s: *s, outcome: outcome, missed: missed, excess: excess, attempts: r.Attempts}
	one.detailLen = copy(one.detail[:], r.Detail)
	one.finishLen = copy(one.finish[:], r.Finish)
	w.kinds[kind].lift()
}

// place is where a request of that score goes: a new place or the least one's; nil: nowhere.
func (k *ranking) place(score float64) *worstOne {
	if len(k.kept) < worstKept {
		k.kept = append(k.kept, worstOne{})
		return &k.kept[len(k.kept)-1]
	}
	least := k.least()
	if k.kept[least].score >= score {
		return nil
	}
	return &k.kept[least]
}

func (k *ranking) least() int {
	least := 0
	for i := range k.kept {
		if k.kept[i].score < k.kept[least].score {
			least = i
		}
	}
	return least
}

func (k *ranking) lift() {
	if len(k.kept) == worstKept {
		k.floor.Store(math.Float64bits(k.kept[k.least()].score))
	}
}

// copies are the requests kept so far.
func (w *worst) copies() (late, failed []worstOne) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(late, w.kinds[kindLate].kept...), append(failed, w.kinds[kindFailed].kept...)
}

func (w *worst) merge(late, failed []worstOne) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind, from := range [][]worstOne{late, failed} {
		for i := range from {
			if one := w.kinds[kind].place(from[i].score); one != nil {
				*one = from[i]
			}
			w.kinds[kind].lift()
		}
	}
}

// request is the report's view of it.
func (one *worstOne) request(class string, c *checker) WorstRequest {
	w := WorstRequest{
		Class: class, Start: time.Unix(0, one.start).UTC(), Outcome: one.outcome, Excess: one.excess,
		Values: map[string]float64{}, InputTokens: int(one.s.in), OutputTokens: int(one.s.n), Attempts: one.attempts,
		Detail: printable(one.detail[:one.detailLen]), Finish: printable(one.finish[:one.finishLen]),
	}
	for m := range mInput {
		if v := one.s.value(m); v != absent {
			w.Values[distributionNames[m]] = v
		}
	}
	for i, text := range c.text {
		if one.missed&(1<<i) != 0 {
			w.Missed = append(w.Missed, text)
		}
	}
	return w
}

// printable is text that can go into a report: valid UTF-8, not cut in the middle of a character.
func printable(b []byte) string { return strings.ToValidUTF8(string(b), "") }
