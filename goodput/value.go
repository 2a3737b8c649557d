package goodput

import (
	"math"
	"math/bits"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// Bounds of what a record can say; see [Accumulator.Observe].
const (
	maxOffset = int64(100 * 365 * 24 * time.Hour) // of an instant from Start, and of Start from the start of a file; ns
	maxTokens = int64(1) << 31                    // of a request, and of one event
)

// A sample is what one pass over a record yields: the metrics as integers (ns, tokens), with what cannot be meant put
// right. Everything that is judged is judged from it.
type sample struct {
	sent, e2e   int64 // ns
	first, last int64 // first and last token event, ns; −1 where there is none
	ttfo        int64 // first output, ns; −1: undefined
	events      int64 // k, token events
	n1          int64 // tokens of the first event
	n           int64 // N, output tokens; 0: nobody knows
	in          int64 // input tokens; 0: nobody said

	// The worst step is gap ns over tokens: kept as a fraction, because that decides exactly. 0 tokens: no step.
	gap, gapTokens int64

	repaired   bool // something was put right
	usageBelow bool // the server's usage is below the tokens seen
}

// measure reads a record into an empty sample. What cannot be meant is put right as Observe documents.
func (s *sample) measure(r *Record) {
	s.e2e = s.offset(r.End)
	s.sent = s.offset(r.Sent)
	s.first, s.last, s.ttfo = -1, -1, -1
	var seen, last, gap, gapTokens int64
	for i := range r.Tokens {
		at, n := s.event(&r.Tokens[i], last)
		switch {
		case i == 0:
			s.first, s.n1 = at, n
		case n == gapTokens:
			gap = max(gap, at-last)
		case gapTokens == 0 || less(gap, n, at-last, gapTokens): // a worse step: gap/gapTokens < (at−last)/n
			gap, gapTokens = at-last, n
		}
		last = at
		seen = min(seen+n, maxTokens)
	}
	if len(r.Tokens) > 0 {
		s.last = last
	}
	s.gap, s.gapTokens = gap, gapTokens
	s.finish(r, seen)
}

// event is an event's instant, never before the last one's (0 where there is none), and its tokens.
func (s *sample) event(t *Token, last int64) (at, n int64) {
	at, n = int64(t.At), int64(t.N)
	if at < last || at > maxOffset || n < 0 || n > maxTokens {
		s.repaired = true
		at, n = min(max(at, last), maxOffset), min(n, maxTokens)
	}
	return at, max(n, 1)
}

// finish sets what is known after the last event.
func (s *sample) finish(r *Record, seen int64) {
	s.events = int64(len(r.Tokens))
	s.in = s.count(r.InputTokens)
	s.n = s.count(r.OutputTokens)
	if s.n < seen {
		s.usageBelow = s.n > 0
		s.n = seen
	}
	if s.e2e < s.last { // the end cannot come before the last token
		s.e2e = s.last
		s.repaired = true
	}
	latest := s.e2e
	if s.events > 0 {
		latest = s.first
		s.output(r.FirstOutput)
	}
	if s.sent > latest { // nothing can come back before it was sent
		s.sent = latest
		s.repaired = true
	}
}

func (s *sample) output(first time.Duration) {
	switch at := int64(first); {
	case at < 0: // reasoning only
	case at == 0:
		s.ttfo = s.first
	default:
		s.ttfo = min(max(at, s.first), s.last)
		s.repaired = s.repaired || s.ttfo != at
	}
}

func (s *sample) offset(d time.Duration) int64 {
	if d < 0 || int64(d) > maxOffset {
		s.repaired = true
		return min(max(int64(d), 0), maxOffset)
	}
	return int64(d)
}

func (s *sample) count(n int) int64 {
	if n < 0 || int64(n) > maxTokens {
		s.repaired = true
		return min(max(int64(n), 0), maxTokens)
	}
	return int64(n)
}

// later is the number of tokens after the first event, where there was a later event; 0: tpot and speed are undefined.
func (s *sample) later() int64 {
	if s.events < 2 {
		return 0
	}
	return s.n - s.n1
}

// less reports a·b < c·d for non-negative numbers, exactly.
func less(a, b, c, d int64) bool {
	hi1, lo1 := bits.Mul64(uint64(a), uint64(b))
	hi2, lo2 := bits.Mul64(uint64(c), uint64(d))
	return hi1 < hi2 || hi1 == hi2 && lo1 < lo2
}

// The metrics that every report has percentiles of, and the token counts; custom metrics come after them.
const (
	mTTFT = iota
	mTTFO
	mTPOT
	mITL
	mE2E
	mSpeed
	mLag
	mServiceTTFT
	mServiceE2E
	mInput
	mOutput
	builtins
)

var distributionNames = [builtins]string{
	string(slo.TTFT), string(slo.TTFO), string(slo.TPOT), string(slo.ITL), string(slo.E2E), string(slo.Speed),
	string(slo.Lag), string(slo.ServiceTTFT), string(slo.ServiceE2E), "input_tokens", "output_tokens",
}

// absent marks a value that there is not. No metric of a request is negative.
const absent = -1

// value is the metric with that index in its own unit; absent where it is undefined. For itl it is the worst step.
func (s *sample) value(m int) float64 {
	switch m {
	case mTTFT:
		return seconds(s.first)
	case mTTFO:
		return seconds(s.ttfo)
	case mTPOT:
		if n := s.later(); n > 0 {
			return float64(s.last-s.first) / float64(n) / 1e9
		}
	case mITL:
		if s.gapTokens > 0 {
			return float64(s.gap) / float64(s.gapTokens) / 1e9
		}
	case mE2E:
		return seconds(s.e2e)
	case mSpeed:
		if n, dt := s.later(), s.last-s.first; n > 0 && dt > 0 {
			return float64(n) * 1e9 / float64(dt) // rounded once, so that one at a threshold is not below it
		}
	case mLag:
		return seconds(s.sent)
	case mServiceTTFT:
		if s.first >= 0 {
			return seconds(s.first - s.sent)
		}
	case mServiceE2E:
		return seconds(s.e2e - s.sent)
	case mInput:
		if s.in > 0 {
			return float64(s.in)
		}
	case mOutput:
		if s.n > 0 {
			return float64(s.n)
		}
	}
	return absent
}

func seconds(ns int64) float64 {
	if ns < 0 {
		return absent
	}
	return float64(ns) / 1e9
}

// Value is the record's value of a metric in the metric's unit (see package slo), and whether it has one: an undefined
// or unknown value is absent and never 0. For itl it is the worst step, on which a request is judged. error_rate and
// attainment are of a population and so no record's. A custom value that is NaN or infinite is absent. Times that
// cannot be meant are read as [Accumulator.Observe] says. Who wants several values takes [Record.Measure].
func (r *Record) Value(m slo.Metric) (float64, bool) {
	v := r.Measure()
	return v.Value(m)
}

// Values are the metrics and the token counts of one record, from one pass over it. They share the record's Custom.
type Values struct {
	s      sample
	custom map[slo.Metric]float64
}

// Measure reads the record once. What cannot be meant is put right as [Accumulator.Observe] says. It allocates nothing.
func (r *Record) Measure() (v Values) {
	v.s.measure(r)
	v.custom = r.Custom
	return v
}

// Value is the value of a metric, as [Record.Value] gives it.
func (v *Values) Value(m slo.Metric) (float64, bool) {
	k, ok := kindOf(m)
	switch {
	case !ok || k.population():
		return 0, false
	case k == kCustom:
		return customOf(v.custom, m)
	}
	x := v.s.value(int(k))
	if x == absent {
		return 0, false
	}
	return x, true
}

// InputTokens is how many tokens the request had, as the server counted them; 0: nobody said.
func (v *Values) InputTokens() int { return int(v.s.in) }

// OutputTokens is N of the definitions, how many tokens were generated: the server's count or, where there is none or it is
// below the tokens that were seen, those. 0: nobody knows.
func (v *Values) OutputTokens() int { return int(v.s.n) }

func (r *Record) custom(m slo.Metric) (float64, bool) { return customOf(r.Custom, m) }

func customOf(custom map[slo.Metric]float64, m slo.Metric) (float64, bool) {
	v, ok := custom[m]
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}
