package compat

import (
	"math"
	"slices"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// undefinedRule is what becomes of a request that has no value of a metric.
type undefinedRule uint8

const (
	undefinedOurs     undefinedRule = iota // as the SLO says
	undefinedHolds                         // counts as 0
	undefinedMisses                        // not good
	undefinedExcluded                      // the request is in neither part of the share
)

// tpotRule is how time per output token is computed.
type tpotRule uint8

const (
	tpotOurs     tpotRule = iota // (last − first) / (N − n₁), of at least two events
	tpotMinusOne                 // (last − first) / (N − 1)
	tpotToEnd                    // (end − first) / (N − 1)
)

// rules are how requests are judged. The zero value is goodput's own.
type rules struct {
	known       []slo.Metric // of the objectives that are judged; nil: all
	noLimits    bool         // thresholds that a request brought along do not count
	stream      bool         // a success is what had a chunk before it ended or an error came
	fromSend    bool         // the clock starts with the send
	toLast      bool         // e2e ends with the last token event
	tpot        tpotRule
	chunks      bool // without usage, each chunk is one token
	undefined   undefinedRule
	noTokenless bool // answers without a token event are not in it
	oneToken    bool // an answer of one token has neither ttft nor tpot
	noDropped   bool // what was never sent is in no figure
	noCutOff    bool // what the end of the run cancelled is in no figure
	noFailed    bool // nor is what failed
}

// verdict is what rules say of one request.
type verdict uint8

const (
	out verdict = iota // in neither part of the share
	bad
	good
)

func (u *rules) knows(m slo.Metric) bool { return u.known == nil || slices.Contains(u.known, m) }

// success reports whether a request is one by these rules.
func (u *rules) success(w *row) bool {
	if u.stream {
		return w.streamed()
	}
	return w.outcome == goodput.Success
}

// counted reports whether a request is among those that these rules know of.
func (u *rules) counted(w *row) bool {
	switch {
	case u.noDropped && w.outcome == goodput.Dropped,
		u.noCutOff && w.cutOff(),
		u.noTokenless && w.outcome == goodput.Success && w.events == 0:
		return false
	}
	return true
}

// tokens are the output tokens by these rules; 0: nobody knows.
func (u *rules) tokens(w *row) int64 {
	if u.chunks && w.usage == 0 {
		return int64(w.events)
	}
	return int64(w.n)
}

func (u *rules) origin(w *row) int64 {
	if u.fromSend {
		return w.sent
	}
	return 0
}

// ttft is in ns; −1: undefined.
func (u *rules) ttft(w *row) int64 {
	if w.events == 0 || u.oneToken && w.seen < 2 {
		return -1
	}
	return w.first - u.origin(w)
}

func (u *rules) e2e(w *row) int64 {
	if u.toLast && w.events > 0 {
		return w.last - u.origin(w)
	}
	return w.end - u.origin(w)
}

// tpotOf is dt ns over n tokens; n = 0: undefined.
func (u *rules) tpotOf(w *row) (dt, n int64) {
	switch {
	case u.tpot == tpotOurs:
		if n = w.ownCount() - int64(w.n1); w.events < 2 || n < 1 {
			return 0, 0
		}
		return w.last - w.first, n
	case w.events == 0 || u.oneToken && w.seen < 2:
		return 0, 0
	}
	if n = u.tokens(w) - 1; n < 1 {
		return 0, 0
	}
	if u.tpot == tpotToEnd {
		return w.end - w.first, n
	}
	return w.last - w.first, n
}

// itlOf is the mean step of a request's tokens, each with its chunk's instant.
func (u *rules) itlOf(w *row) (dt, n int64) {
	if w.seen < 2 {
		return 0, 0
	}
	return w.last - w.first, int64(w.seen) - 1
}

// limit is an objective's threshold as integers.
type limit struct {
	metric slo.Metric
	ns     int64
	bit    uint64 // in row.missed and row.undefined
	scaled bool
}

func limitsOf(s slo.SLO) (all []limit) {
	for i, o := range s.Objectives {
		l := limit{metric: o.Metric, bit: 1 << i, scaled: o.Threshold.PerToken != 0}
		if o.Metric.IsTime() {
			l.ns = int64(math.Round(min(o.Threshold.Limit*1e9, float64(maxOffset))))
		}
		all = append(all, l)
	}
	return all
}

// judges reports whether an objective is among those judged: a threshold that grows with the answer is nobody else's.
func (u *rules) judges(l *limit) bool { return u.known == nil || u.knows(l.metric) && !l.scaled }

// judge says what becomes of a request.
func (u *rules) judge(w *row, limits []limit) verdict {
	if !u.counted(w) {
		return out
	}
	if !u.success(w) {
		if u.noFailed {
			return out
		}
		return bad
	}
	v := good
	for i := range limits {
		l := &limits[i]
		if !u.judges(l) {
			continue
		}
		if !u.noLimits {
			if w.missed&l.bit != 0 {
				v = bad
			}
			continue
		}
		switch u.holds(w, l) {
		case out:
			return out
		case bad:
			v = bad
		}
	}
	return v
}

// holds judges one objective; out: the request cannot be decided.
func (u *rules) holds(w *row, l *limit) verdict {
	dt, n := int64(0), int64(1)
	switch l.metric {
	case slo.TTFT:
		if dt = u.ttft(w); dt < 0 {
			n = 0
		}
	case slo.E2E:
		dt = u.e2e(w)
	case slo.TPOT:
		dt, n = u.tpotOf(w)
	case slo.ITL:
		dt, n = u.itlOf(w)
	}
	if n > 0 {
		return within(dt, n, l.ns)
	}
	switch u.undefined {
	case undefinedHolds:
		return good
	case undefinedMisses:
		return bad
	case undefinedExcluded:
		return out
	}
	if w.outcome != goodput.Success || w.undefined&l.bit == 0 { // of a success the SLO's rule decided
		return verdictOf(l.metric == slo.TPOT && w.n == 1)
	}
	return verdictOf(w.missed&l.bit == 0)
}

func verdictOf(ok bool) verdict {
	if ok {
		return good
	}
	return bad
}

// within compares dt/n ≤ limit in whole nanoseconds.
func within(dt, n, limit int64) verdict {
	if limit > math.MaxInt64/n { // no answer takes so long
		return good
	}
	return verdictOf(dt <= limit*n)
}
