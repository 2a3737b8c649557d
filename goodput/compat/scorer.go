package compat

import (
	"errors"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/percentile"
	"github.com/goodputkit/goodputkit/slo"
)

// ErrRefused: records that have no Start, or one that is not between the years 1970 and 2150, are in no figure.
var ErrRefused = errors.New("records without a usable start")

// An Option changes how a [Scorer] scores.
type Option func(*Scorer)

// WithVLLMDuration is the duration that vLLM itself measured, as its result file says: its rates divide by that in place
// of the time from the first Start to the last end, which is as much of it as records tell.
func WithVLLMDuration(d time.Duration) Option {
	return func(s *Scorer) { s.vllmDuration = d.Seconds() }
}

// A Scorer takes records in and scores them by every tool's rules. It keeps 88 bytes a request, and digests of the steps
// between tokens. One goroutine may use it at a time.
type Scorer struct {
	slo          slo.SLO
	limits       []limit
	acc          *goodput.Accumulator
	own          *goodput.Judge
	base         time.Time // of the first record; rows count from it
	rows         []row
	refused      uint64
	vllmDuration float64 // s; 0: not known
	untimed      bool    // the first send or the last end is not known: vllmDuration is all there is

	chunks, errored *percentile.Digest // gaps between chunks: of successes, and of streams that ended in an error
	tokens          *percentile.Digest // steps between tokens of successes, each at its chunk's instant
}

// NewScorer scores by s, over the whole run; classes of requests are not told apart, for no other tool does. It panics if
// s is invalid (see [slo.SLO.Validate]). Of an SLO's objectives each tool judges those that it knows.
func NewScorer(s slo.SLO, opts ...Option) *Scorer {
	c := &Scorer{slo: s, own: goodput.NewJudge(s, nil), acc: goodput.NewAccumulator(s),
		chunks: percentile.New(), errored: percentile.New(), tokens: percentile.New()}
	c.slo = c.own.SLO("")
	c.limits = limitsOf(c.slo)
	for _, o := range opts {
		o(c)
	}
	return c
}

// usable reports whether a Start is one that differences can be formed of.
func usable(start time.Time) bool {
	y := start.UTC().Year()
	return y >= 1970 && y < 2150
}

// Observe takes one record, and keeps nothing of it. What cannot be meant in it is put right as
// [goodput.Accumulator.Observe] says.
func (s *Scorer) Observe(r *goodput.Record) {
	if !usable(r.Start) {
		s.refused++
		return
	}
	plain := *r
	plain.Class = ""
	s.acc.Observe(&plain)
	if s.base.IsZero() {
		s.base = r.Start
	}
	w := row{start: int64(r.Start.Sub(s.base))}
	w.read(r, func(gap int64, n uint32) {
		v := float64(gap) / 1e9
		switch r.Outcome {
		case goodput.Success:
			s.chunks.Add(v)
			s.tokens.Add(v)
			s.tokens.AddN(0, uint64(n-1))
		case goodput.ServerError, goodput.RateLimited, goodput.Rejected:
			s.errored.Add(v)
		}
	})
	if w.outcome == goodput.Success && w.n1 > 1 {
		s.tokens.AddN(0, uint64(w.n1-1))
	}
	v := s.own.Judge(&plain)
	for i := range s.limits {
		if v.Misses(i) {
			w.missed |= 1 << i
		}
		if v.Undefined(i) {
			w.undefined |= 1 << i
		}
	}
	s.rows = append(s.rows, w)
}

// share counts the requests that rules know of, and the good ones.
func (s *Scorer) share(u *rules) (n, ok uint64) {
	for i := range s.rows {
		switch u.judge(&s.rows[i], s.limits) {
		case good:
			ok++
			n++
		case bad:
			n++
		}
	}
	return n, ok
}

// changed counts the requests of which two sets of rules say something else.
func (s *Scorer) changed(a, b *rules) (n uint64) {
	for i := range s.rows {
		if a.judge(&s.rows[i], s.limits) != b.judge(&s.rows[i], s.limits) {
			n++
		}
	}
	return n
}

// count counts the requests of which f is true.
func (s *Scorer) count(f func(*row) bool) (n uint64) {
	for i := range s.rows {
		if f(&s.rows[i]) {
			n++
		}
	}
	return n
}

// span is the time from the earliest to the latest of two instants of the requests of which f is true, in s; NaN where
// there is none, or no time between them.
func (s *Scorer) span(f func(*row) bool, from, to func(*row) int64) float64 {
	if s.untimed {
		if s.vllmDuration > 0 {
			return s.vllmDuration
		}
		return math.NaN()
	}
	first, last, any := int64(math.MaxInt64), int64(math.MinInt64), false
	for i := range s.rows {
		if w := &s.rows[i]; f(w) {
			first, last, any = min(first, w.start+from(w)), max(last, w.start+to(w)), true
		}
	}
	if !any || last <= first {
		return math.NaN()
	}
	return float64(last-first) / 1e9
}

func (w *row) wasSent() bool   { return w.outcome != goodput.Dropped }
func (w *row) isSuccess() bool { return w.outcome == goodput.Success }
func atStart(*row) int64       { return 0 }
func atSent(w *row) int64      { return w.sent }
func atEnd(w *row) int64       { return w.end }
