package admission

import (
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// judge gives the limit the verdicts of one that has ended.
func (s *Scheduler) judge(now time.Time, t *Ticket, o goodput.Outcome) {
	k := t.class
	out := max(t.out, t.n)
	if o == goodput.Success && out > 0 {
		k.output.observe(float64(out))
	}
	if o == goodput.Success {
		from := t.first
		if from.IsZero() {
			from = t.admitted // the line knows nothing of it
		}
		k.tail.observe(max(now.Sub(from), 0).Seconds())
	}
	if s.sudden(now, t, o) {
		return
	}
	good := o == goodput.Success
	blameless := blameless(o)
	late := false
	for _, r := range k.rules {
		if r.metric == slo.Attainment {
			continue
		}
		missed, known := s.missed(now, t, r, o, out)
		if !known {
			continue
		}
		late = late || missed
		if first := r.metric == slo.TTFT || r.metric == slo.TTFO || r.metric == slo.ServiceTTFT; !first || t.first.IsZero() {
			s.verdict(now, t, r, missed) // that on a first token was given with it
		}
	}
	for _, r := range k.rules {
		if r.metric == slo.Attainment && (late || !blameless) {
			s.verdict(now, t, r, late || !good)
		}
	}
}

// sudden says that a request failed without a token, in less than half of the time that its first one was predicted to take: the
// engine is broken, and not too busy. A limit that learnt from that would be at its floor when the engine is well again.
func (s *Scheduler) sudden(now time.Time, t *Ticket, o goodput.Outcome) bool {
	return (o == goodput.ServerError || o == goodput.ConnectionError) && t.first.IsZero() && s.line.w > lineEnough &&
		now.Sub(t.admitted).Seconds() < s.line.at(t.before)/2
}

// blameless says that a request that ended so is no evidence against the service, unless it was late before.
func blameless(o goodput.Outcome) bool {
	switch o {
	case goodput.ClientError, goodput.Malformed, goodput.Cancelled, goodput.Dropped, goodput.Unfinished:
		return true
	}
	return false
}

// missed is what an objective says of a request that ended so; known is false where that cannot be seen from here.
func (s *Scheduler) missed(now time.Time, t *Ticket, r rule, o goodput.Outcome, out int) (missed, known bool) {
	failed := o != goodput.Success
	if blameless(o) {
		if o == goodput.ClientError || o == goodput.Malformed {
			return false, false
		}
		failed = false
	}
	if first := r.metric == slo.TTFT || r.metric == slo.TTFO || r.metric == slo.ServiceTTFT; first && t.Whole && !failed {
		return false, false // nobody saw it
	}
	first := t.first
	if first.IsZero() {
		first = now // an answer of one piece
	}
	var late bool
	switch r.metric {
	case slo.TTFT, slo.TTFO:
		late = first.Sub(t.Arrival) > r.threshold.Duration(0)
		failed = failed && t.first.IsZero()
	case slo.ServiceTTFT:
		late = first.Sub(t.admitted) > r.threshold.Duration(0)
		failed = failed && t.first.IsZero()
	case slo.E2E:
		late = now.Sub(t.Arrival) > r.threshold.Duration(out)
	case slo.ServiceE2E:
		late = now.Sub(t.admitted) > r.threshold.Duration(out)
	case slo.ErrorRate:
		return failed, !blameless(o)
	default:
		if failed || blameless(o) {
			return failed, failed
		}
		return s.slow(now, t, r, out)
	}
	return late || failed, late || !blameless(o)
}

// slow is what an objective on the steps between tokens says.
func (s *Scheduler) slow(now time.Time, t *Ticket, r rule, out int) (missed, known bool) {
	if out == 1 {
		return false, true // there was no step
	}
	last, steps := t.last, out-t.n1
	if t.n == 0 { // no Tokens: the end is the last one's
		last, steps = now, out-1
	}
	if t.first.IsZero() || steps < 1 || t.n > 0 && t.n == t.n1 {
		return false, false // nobody saw them
	}
	took := last.Sub(t.first)
	switch r.metric {
	case slo.TPOT:
		limit, _ := r.threshold.Billionths()
		return took > 0 && (took.Nanoseconds()-1)/int64(steps) >= limit, true // took > limit·steps, which can be too great
	case slo.Speed:
		return float64(steps) < r.threshold.Limit*took.Seconds(), true
	}
	return t.slow, t.n > 0
}

// verdict gives the limit one piece of evidence.
func (s *Scheduler) verdict(now time.Time, t *Ticket, r rule, missed bool) {
	if t.spared && (r.metric == slo.TTFT || r.metric == slo.TTFO || r.metric == slo.E2E || r.metric == slo.Attainment) {
		return // it was late before it was sent, which says nothing of what is in flight
	}
	if s.config.Floor == 0 {
		s.limit.floor = min(max(floorSizes*s.size.mean, 1), s.limit.ceiling)
	}
	if s.limit.Observe(now, r.index, t.admitted, missed, s.cap.tokens, s.queue.Len() > 0) {
		s.cap.SetLimit(s.limit.Tokens())
	}
}
