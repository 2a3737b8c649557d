package admission

import (
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// FirstToken: the first token of t has come. It does nothing where it had come before, or t is not in flight.
func (s *Scheduler) FirstToken(now time.Time, t *Ticket) {
	if t.status != Admitted || !t.first.IsZero() {
		return
	}
	if t.Whole { // it came in pieces nevertheless
		s.stall.Progress(now)
		return
	}
	t.first, t.last = now, now
	s.feedback = true
	s.stall.Progress(now)
	s.cap.Visible(t.load)
	s.visible(t)
	s.passed.first(now, t)
	s.line.Observe(now, t.before, now.Sub(t.admitted))
	s.begun(now, t)
	for _, r := range t.class.rules {
		switch r.metric {
		case slo.TTFT, slo.TTFO:
			s.verdict(now, t, r, now.Sub(t.Arrival) > r.threshold.Duration(0))
		case slo.ServiceTTFT:
			s.verdict(now, t, r, now.Sub(t.admitted) > r.threshold.Duration(0))
		}
	}
	s.pump(now)
}

// Tokens: n tokens of t have come. The first of them are its first token, where [Scheduler.FirstToken] was not called before.
func (s *Scheduler) Tokens(now time.Time, t *Ticket, n int) {
	if t.status != Admitted || n <= 0 {
		return
	}
	n = min(n, mostTokens)
	if t.n == 0 || t.Whole {
		s.FirstToken(now, t)
		t.n, t.n1, t.last = n, n, now
		return
	}
	s.stall.Progress(now)
	t.n += n
	gap := now.Sub(t.last)
	t.last = now
	s.pace.Observe(now, gap, n)
	for _, r := range t.class.rules {
		if r.metric == slo.ITL && gap > 0 && (gap-1)/time.Duration(n) >= r.threshold.Duration(0) { // gap > limit·n, which can be too great
			t.slow = true
		}
	}
	if s.queue.Len()+s.aside.Len() > 0 {
		s.pump(now)
	}
}

// Usage is how many output tokens t had, where the engine says so; it counts in the verdict at the end.
func (s *Scheduler) Usage(t *Ticket, output int) {
	if t.status == Admitted && output > 0 {
		t.out = min(output, mostTokens)
	}
}

// Done: t, which was admitted, is over, and how it ended. It does nothing where t is not in flight.
func (s *Scheduler) Done(now time.Time, t *Ticket, o goodput.Outcome) {
	if t.status != Admitted {
		return
	}
	t.status = Ended
	s.stats.ended++
	pending := t.first.IsZero() && !t.Whole
	s.cap.End(t.load, !pending)
	if pending {
		s.visible(t)
	}
	t.class.running--
	s.stall.End()
	if n, _ := s.cap.InFlight(); n == 0 {
		s.pace.Reset()
	}
	switch o {
	case goodput.Timeout, goodput.Cancelled, goodput.ConnectionError, goodput.Dropped, goodput.Unfinished:
	default:
		s.feedback = true
		s.stall.Progress(now)
	}
	if t.first.IsZero() && o == goodput.Success { // an answer of one piece
		s.begun(now, t)
	}
	s.judge(now, t, o)
	s.pump(now)
}

// Cancel takes t, which waits, out. It does nothing where t does not wait.
func (s *Scheduler) Cancel(now time.Time, t *Ticket) {
	if t.status != Waiting || !s.waits(t).Remove(t.item) {
		return
	}
	t.status = Removed
	s.stats.removed++
	s.pump(now)
}
