package compat

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"

	"github.com/goodputkit/goodputkit/slo"
)

// MLPerf's conditions of the server scenario.
const (
	serverPercentile = 0.99
	serverConfidence = 0.99
	serverDuration   = int64(600e9) // ns
)

// serverRun is what MLPerf says of a run whose distributions are in out.
func (s *Scorer) serverRun(out *Score) *ServerRun {
	u := s.rulesOf(MLPerf)
	r := &ServerRun{Constraints: out.Completed > 0, EarlyStopping: out.Completed > 0}
	r.OneToken = s.count(func(w *row) bool { return w.isSuccess() && (w.events == 0 || w.n < 2) })
	for i := range s.limits {
		l := &s.limits[i]
		if !u.judges(l) {
			continue
		}
		p99, over := out.TTFT.P99, uint64(0)
		switch l.metric {
		case slo.TPOT:
			p99 = out.TPOT.P99
		case slo.E2E:
			p99 = out.E2E.P99
		}
		for i := range s.rows {
			if w := &s.rows[i]; u.counted(w) && u.success(w) && w.n > 1 && serverValue(&u, w, l.metric) > l.ns {
				over++
			}
		}
		r.Constraints = r.Constraints && math.Round(p99*1e9) <= float64(l.ns)
		if need := minPassing(over) + over; need > out.Completed {
			r.EarlyStopping = false
			r.MoreSamples = max(r.MoreSamples, need-out.Completed)
		}
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range s.rows {
		first, last = min(first, s.rows[i].start), max(last, s.rows[i].start)
	}
	r.Duration = len(s.rows) > 0 && last-first >= serverDuration
	return r
}

func serverValue(u *rules, w *row, m slo.Metric) int64 {
	switch m {
	case slo.TTFT:
		return u.ttft(w)
	case slo.TPOT:
		if dt, n := u.tpotOf(w); n > 0 {
			return dt / n
		}
		return 0
	}
	return u.e2e(w)
}

// minPassing is the least h for which, were the share above the limit 1 − p, no more than t of h + t samples above it
// would be at most a 1 − c event: the binomial's distribution function, I_p(h, t+1) ≤ 1 − c, with p = c = 0.99.
// loadgen/early_stopping.cc (MinPassingQueriesFinder) searches for the same h.
func minPassing(t uint64) uint64 {
	odds := func(h int) float64 { return mathext.RegIncBeta(float64(h), float64(t)+1, serverPercentile) }
	hi := 1
	for odds(hi) >= 1-serverConfidence {
		hi *= 2
	}
	return uint64(sort.Search(hi, func(h int) bool { return h > 0 && odds(h) < 1-serverConfidence }))
}
