package loadgen

import (
	"errors"
	"time"
)

// schedule says when which request of a plan is due. It is a state machine: it reads no clock and starts nothing.
//
// What ends the arrivals is known no later than their last Start: the schedule looks one arrival and one request ahead.
// Where a sequence has nothing to give yet, it looks again whenever it is asked something.
type schedule struct {
	plan     *Plan
	start    time.Time
	arrivals *source[time.Duration] // nil: closed loop
	workload *source[*Request]
	next     *Request // the next request, which is there unless the arrivals are over or it is behind
	behind   bool     // it could not look ahead yet
	failed   error    // a sequence had nothing to give until the run was over:
	starved  bool     // the workload; else the arrivals

	at    time.Time       // open loop: when the next request is due
	ramp  int             // closed loop: workers that have begun
	ready fifo[time.Time] // closed loop: when each idle worker begins its next request

	offered  int       // requests so far
	counted  int       // of them after the warm-up
	last     time.Time // Start of the last one
	tied     int       // requests with that very Start
	fallen   int       // arrivals that came before the one before them
	from     time.Time // w0, once warm
	warm     bool      // it is known when the warm-up ends
	over     bool      // the arrivals have ended
	end      time.Time // when, once over
	included bool      // what starts or ends at end is still inside
}

func newSchedule(p *Plan, start time.Time, r *readers) *schedule {
	s := &schedule{plan: p, start: start, last: start, workload: p.requests(r), arrivals: p.arrivals(r), behind: true}
	if p.WarmupRequests == 0 {
		s.warm, s.from = true, start.Add(p.Warmup)
	}
	s.ahead()
	return s
}

// ahead finds out what comes next, or that nothing does, unless it has.
func (s *schedule) ahead() {
	if !s.behind || s.over {
		return
	}
	if s.plan.Requests > 0 && s.counted >= s.plan.Requests {
		s.finish(s.last, true)
		return
	}
	if s.next == nil {
		r, ok, pending := s.workload.pull()
		switch {
		case pending:
			return
		case !ok:
			s.finish(s.last, true)
			return
		}
		s.next = r
	}
	if s.arrivals == nil {
		s.behind = false
		return
	}
	d, ok, pending := s.arrivals.pull()
	switch {
	case pending:
		return
	case !ok:
		s.finish(s.last, true)
		return
	}
	s.behind = false
	if s.at = s.start.Add(d); s.at.Before(s.last) {
		s.at = s.last
		s.fallen++
	}
	s.warmUntil(s.at)
	if end, ok := s.bound(); ok && !s.at.Before(end) {
		s.finish(end, false)
	}
}

// pending says that requests could be due, for all one knows, if a sequence had something to give.
func (s *schedule) pending() bool {
	if s.ahead(); s.over || !s.behind {
		return false
	}
	_, _, some := s.worker()
	return s.arrivals != nil || some
}

// giveUp ends the arrivals where a sequence has held the run up.
func (s *schedule) giveUp() {
	s.failed, s.starved = errors.New("it had nothing to give before the run was over"), s.next == nil
	if end, ok := s.bound(); ok {
		s.finish(end, false)
	}
	s.finish(s.last, true)
}

// warmUntil notes that the next request starts at at, which ends a warm-up by count. Requests that started at that very
// instant are in the window too.
func (s *schedule) warmUntil(at time.Time) {
	if s.warm || s.offered < s.plan.WarmupRequests {
		return
	}
	s.warm, s.from = true, at
	if at.Equal(s.last) {
		s.counted = s.tied
	}
}

// bound is the end of Duration, where there is one and it is known.
func (s *schedule) bound() (time.Time, bool) {
	return s.from.Add(s.plan.Duration), s.warm && s.plan.Duration > 0
}

// finish ends the arrivals.
func (s *schedule) finish(at time.Time, included bool) {
	if s.over {
		return
	}
	s.over, s.end, s.included, s.next = true, at, included, nil
	s.close()
}

func (s *schedule) close() {
	s.workload.close()
	if s.arrivals != nil {
		s.arrivals.close()
	}
}

// cut ends the arrivals, and the window, at at if they have not ended before.
func (s *schedule) cut(at time.Time) {
	if end, ok := s.bound(); ok {
		s.finish(end, false)
	}
	s.finish(at, false)
	if s.end.After(at) {
		s.end, s.included = at, false
	}
}

// due is when the next request starts. It is not ok where that is not known yet: in a closed loop it can depend on the
// requests in flight.
func (s *schedule) due() (time.Time, bool) {
	if s.ahead(); s.over {
		return time.Time{}, false
	}
	if s.arrivals != nil {
		return s.at, !s.behind
	}
	at, _, ok := s.worker()
	if !ok {
		return at, false
	}
	// If the first idle worker would begin too late, so would the others.
	if end, bounded := s.bound(); bounded && !at.Before(end) {
		s.ready, s.ramp = fifo[time.Time]{}, s.plan.Concurrency
		return at, false
	}
	return at, !s.behind
}

// worker is when the first idle worker begins, and whether it is one that has not begun before.
func (s *schedule) worker() (at time.Time, ramp, ok bool) {
	if s.ramp < s.plan.Concurrency {
		// i/n of the ramp without overflow.
		i, n, d := time.Duration(s.ramp), time.Duration(s.plan.Concurrency), s.plan.RampUp
		at, ramp, ok = s.start.Add(d/n*i+d%n*i/n), true, true
	}
	if s.ready.len() > 0 && (!ok || s.ready.at(0).Before(at)) {
		at, ramp, ok = *s.ready.at(0), false, true
	}
	return at, ramp, ok
}

// take is the request that due announced.
func (s *schedule) take() (start time.Time, r *Request) {
	start = s.at
	if s.arrivals == nil {
		var ramp bool
		start, ramp, _ = s.worker()
		if ramp {
			s.ramp++
		} else {
			s.ready.pop()
		}
		s.warmUntil(start)
	}
	r, s.next, s.behind = s.next, nil, true
	if !start.Equal(s.last) {
		s.last, s.tied = start, 0
	}
	s.tied++
	s.offered++
	if s.warm && !start.Before(s.from) {
		s.counted++
	}
	s.ahead()
	return start, r
}

// free says that a request has ended at at: in a closed loop its worker is idle.
func (s *schedule) free(at time.Time) {
	if s.arrivals == nil && !s.over {
		s.ready.push(at.Add(s.plan.ThinkTime))
	}
}

// frontier is the earliest instant at which a request can still start; none: no more will. Nothing that is before it can
// turn out to be outside of the window.
func (s *schedule) frontier(now time.Time) (time.Time, bool) {
	at, ok := s.due()
	switch {
	case s.over:
		return time.Time{}, false
	case s.arrivals != nil && !ok:
		return s.last, true
	case s.arrivals == nil && !ok:
		at, _, ok = s.worker()
	}
	if s.arrivals == nil && (!ok || now.Before(at)) {
		return now, true
	}
	return at, true
}

// window is where the steady state ends, as far as that is known.
func (s *schedule) window() (end time.Time, included, known bool) {
	if s.ahead(); s.over {
		return s.end, s.included, true
	}
	end, known = s.bound()
	return end, false, known
}

// cutoff is when what is still in flight is cut off, as far as that is known.
func (s *schedule) cutoff() (time.Time, bool) {
	end, _, known := s.window()
	return end.Add(s.plan.Drain), known
}
