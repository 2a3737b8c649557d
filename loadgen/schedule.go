package loadgen

import (
	"container/heap"
	"errors"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// schedule says when which request of a plan is due. It is a state machine: it reads no clock and starts nothing.
//
// What ends the window is known no later than its last Start, but where sessions may go on: the schedule looks one arrival
// and one request ahead. Where a sequence has nothing to give yet, it looks again whenever it is asked something.
type schedule struct {
	plan     *Plan
	start    time.Time
	arrivals *source[time.Duration] // nil: closed loop
	workload *source[*Request]
	next     *Request // the next new request, which is there unless no more will come or it is behind
	behind   bool     // it could not look ahead yet
	dry      bool     // no new request will come; later turns of sessions may
	late     bool     // of what was to come, some was due after the time was over
	failed   error    // a sequence had nothing to give until the run was over:
	starved  bool     // the workload; else the arrivals
	hopeless bool     // the client could not offer all that was due

	at    time.Time       // open loop: when the next new request is due
	ramp  int             // closed loop: workers that have begun
	ready fifo[time.Time] // closed loop: when each idle worker begins its next new request
	turns turns           // later turns of sessions that are due some time

	begun    uint64    // new requests so far
	sessions int       // of them those that have a Next
	open     int       // sessions whose next turn is not known yet
	heard    time.Time // the latest End after which a session did not go on
	broken   int       // sessions that ended before their last turn
	unsent   int       // their turns that were never due, at least
	why      error     // the first of them ended

	offered   int        // requests so far
	counted   int        // of them after the warm-up
	last      time.Time  // the latest Start
	tied      int        // requests with that very Start
	fallen    int        // arrivals that came before the one before them
	from      time.Time  // w0, once warm
	transient *transient // nil: the plan says itself when it is over
	warm      bool       // it is known when the warm-up ends
	closed    bool       // it is known when the window ends
	end       time.Time  // when, once closed
	included  bool       // what starts or ends at end is still inside
	foreseen  *foreseen  // nil: nobody knows what comes after the next request
	cooling   int        // requests in the cool-down
	over      bool       // the arrivals have ended
	stop      time.Time  // when, once over
}

func newSchedule(p *Plan, start time.Time, r *readers) *schedule {
	s := &schedule{plan: p, start: start, at: start, last: start, workload: p.requests(r), arrivals: p.arrivals(r), behind: true}
	if s.transient = newTransient(p, start); s.transient == nil && p.WarmupRequests == 0 {
		s.warm, s.from = true, start.Add(p.Warmup)
	}
	s.foreseen = newForeseen(p, start)
	s.ahead()
	return s
}

// ahead finds out what comes next, or that nothing does, unless it has.
func (s *schedule) ahead() {
	if !s.behind || s.dry || s.over {
		return
	}
	if s.next == nil {
		r, ok, pending := s.workload.pull()
		switch {
		case pending:
			return
		case !ok:
			s.runDry()
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
		s.runDry()
		return
	}
	s.behind = false
	if at := s.start.Add(d); at.Before(s.at) {
		s.fallen++
	} else {
		s.at = at
	}
	if f := s.foreseen; f != nil {
		f.follow(s)
	}
	alone := len(s.turns) == 0 && s.open == 0 // nothing can come before it
	if alone {
		s.warmUntil(s.at)
	}
	if alone || s.plan.Requests == 0 {
		s.closeAt(s.at)
	}
	s.tooLate()
}

// tooLate takes out what would start after the arrivals have ended: if the first would, so would the others.
func (s *schedule) tooLate() {
	end, ok := s.limit()
	if !ok {
		return
	}
	late := s.late
	if len(s.turns) > 0 && !s.turns[0].at.Before(end) {
		s.turns, s.late = nil, true
	}
	switch {
	case s.dry:
	case s.arrivals == nil:
		if at, _, some := s.worker(); some && !at.Before(end) {
			s.ready, s.ramp = fifo[time.Time]{}, s.plan.Concurrency
		}
	case !s.behind && !s.at.Before(end):
		s.late, s.dry, s.next = true, true, nil
	}
	if s.late != late {
		s.settle()
	}
}

// runDry notes that no new request will come.
func (s *schedule) runDry() {
	s.dry, s.next = true, nil
	s.settle()
}

// settle ends the arrivals where nothing more can come.
func (s *schedule) settle() {
	if s.over || !s.dry || s.open > 0 || len(s.turns) > 0 {
		return
	}
	if end, ok := s.limit(); s.late || ok && !s.heard.Before(end) {
		s.outOfTime()
		return
	}
	s.closeAt(s.heard)
	s.close(s.last, true)
	s.finish(s.last)
}

// outOfTime ends the arrivals at the end of the plan's time, where it has one; else at the last Start.
func (s *schedule) outOfTime() {
	if end, ok := s.bound(); ok {
		s.close(end, false)
	}
	s.close(s.last, true)
	if end, ok := s.limit(); ok {
		s.finish(end)
	}
	s.finish(s.last)
}

// pending says that requests could be due, for all one knows, if a sequence had something to give.
func (s *schedule) pending() bool {
	if s.ahead(); s.over || s.dry || !s.behind {
		return false
	}
	_, _, some := s.worker()
	return s.arrivals != nil || some
}

// giveUp ends the arrivals where a sequence, or a session, or the client, has held the run up until it is over.
func (s *schedule) giveUp() {
	switch _, ok := s.due(); {
	case s.pending():
		s.failed, s.starved = errors.New("it had nothing to give before the run was over"), s.next == nil
	case ok:
		s.hopeless = true
	}
	s.outOfTime()
}

// warmUntil notes that the next request starts at at, which ends a warm-up by count. Requests that started at that very
// instant are in the window too.
func (s *schedule) warmUntil(at time.Time) {
	if s.warm || s.transient != nil || s.offered < s.plan.WarmupRequests {
		return
	}
	s.warm, s.from = true, later(at, s.last)
	if s.from.Equal(s.last) {
		s.counted = s.tied
	}
}

// warmFrom notes where the steady state was found to begin.
func (s *schedule) warmFrom(at time.Time) {
	s.warm, s.from, s.counted = true, at, 0
	for _, start := range s.transient.starts {
		if !start.Before(at) {
			s.counted++
		}
	}
	s.transient.starts = nil
}

// outside says at now that a request with that Start began before the window, wherever that will begin: a warm-up by count
// ends with a request that is yet to start.
func (s *schedule) outside(start, now time.Time) bool {
	front, some := s.frontier(now)
	if s.warm {
		return start.Before(s.from)
	}
	return some && s.transient == nil && start.Before(front)
}

// inside says that one did not, and that it began before the window's end as far as that is known.
func (s *schedule) inside(start time.Time) bool {
	end, included, known := s.window()
	return s.warm && !start.Before(s.from) && (!known || start.Before(end) || included && start.Equal(end))
}

// bound is the end of Duration, where there is one and it is known.
func (s *schedule) bound() (time.Time, bool) {
	return s.from.Add(s.plan.Duration), s.warm && s.plan.Duration > 0
}

// limit is when the arrivals end, where that is a time and it is known: no request starts then or later.
func (s *schedule) limit() (time.Time, bool) {
	end, ok := s.bound()
	if s.closed {
		end, ok = s.end, true
	}
	return end.Add(s.plan.Cooldown), ok && s.plan.CooldownRequests == 0
}

// closeAt closes the window if a request that starts at at, or could, is beyond the end of Duration.
func (s *schedule) closeAt(at time.Time) {
	if end, ok := s.bound(); ok && !at.Before(end) {
		s.close(end, false)
	}
}

// close notes where the window ends: not before what was already counted as inside of it.
func (s *schedule) close(at time.Time, included bool) {
	if s.closed {
		return
	}
	if f := s.foreseen; f != nil && at.Before(f.reached) {
		at, included = f.reached, true
	}
	s.closed, s.end, s.included = true, at, included
}

// finish ends the arrivals.
func (s *schedule) finish(at time.Time) {
	if s.over {
		return
	}
	s.over, s.stop, s.next, s.turns = true, at, nil, nil
	s.closeSequences()
}

func (s *schedule) closeSequences() {
	s.workload.close()
	if s.arrivals != nil {
		s.arrivals.close()
	}
}

// cut ends the arrivals, and the window, at at if they have not ended before. included: something has ended at that very
// instant, and is in the window.
func (s *schedule) cut(at time.Time, included bool) {
	if end, ok := s.bound(); ok {
		s.close(end, false)
	}
	s.close(at, included)
	if s.end.After(at) {
		s.end, s.included = at, included
	}
	s.finish(at)
}

// due is when the next request starts. It is not ok where that is not known yet: in a closed loop, and in a session, it
// can depend on the requests in flight.
func (s *schedule) due() (at time.Time, ok bool) {
	if s.ahead(); !s.over {
		s.tooLate()
	}
	if s.over {
		return at, false
	}
	at, _, ok = s.first()
	return at, ok
}

// first is when the next request starts, as far as that is known, and whether it is the later turn of a session. Where
// such a one and a new request start in the same instant, the new one is the first.
func (s *schedule) first() (at time.Time, later, ok bool) {
	switch {
	case s.behind || s.dry:
	case s.arrivals != nil:
		at, ok = s.at, true
	default:
		at, _, ok = s.worker()
	}
	if len(s.turns) > 0 && (!ok || s.turns[0].at.Before(at)) {
		return s.turns[0].at, true, true
	}
	return at, false, ok
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

// take is the request that due announced, and the place among the new ones of the one with which its session began.
func (s *schedule) take() (start time.Time, r *Request, index uint64) {
	start, isTurn, _ := s.first()
	if isTurn {
		t := heap.Pop(&s.turns).(turn)
		r, index = t.request, t.session
	} else {
		if s.arrivals == nil {
			if _, ramp, _ := s.worker(); ramp {
				s.ramp++
			} else {
				s.ready.pop()
			}
		}
		r, index, s.next, s.behind = s.next, s.begun, nil, true
		s.begun++
		if r.Next != nil {
			s.sessions++
		}
	}
	if r.Next != nil {
		s.open++
	}
	s.count(start)
	s.ahead()
	s.settle()
	return start, r, index
}

// count counts a request, and ends the window or the arrivals where it is the last one.
func (s *schedule) count(start time.Time) {
	s.warmUntil(start)
	s.closeAt(start)
	if start.After(s.last) {
		s.last, s.tied = start, 0
	}
	if start.Equal(s.last) {
		s.tied++
	}
	s.offered++
	if s.transient != nil && !s.warm {
		s.transient.took(s.plan, start)
	}
	if s.closed && (s.included || !start.Before(s.end)) {
		s.cooling++
	} else if s.transient != nil && !s.warm || s.warm && !start.Before(s.from) { // nobody knows how many of the former are to count: no more than all
		s.counted++
	}
	if s.plan.Requests > 0 && s.counted >= s.plan.Requests {
		s.close(s.last, true)
	}
	switch {
	case !s.closed:
	case s.plan.Cooldown > 0:
	case s.plan.CooldownRequests == 0 && s.included, s.plan.CooldownRequests > 0 && s.cooling >= s.plan.CooldownRequests:
		s.finish(s.last)
	}
}

// ended says at now that c has ended at end. Where it was a turn that its session goes on after, resume says how; else its
// worker, in a closed loop, is idle.
func (s *schedule) ended(c *Call, o goodput.Outcome, end, now time.Time) {
	if c.Request.Next != nil {
		if o == goodput.Success && !s.over {
			c.goesOn = true
			return
		}
		s.open--
		s.heard = later(s.heard, end)
		if !s.over {
			s.breakOff(max(1, c.Request.Left), errTurnFailed)
		}
	}
	s.free(now)
}

// resume says at now how a session goes on: with a turn, or not at all.
func (s *schedule) resume(f *following, now time.Time) {
	s.open--
	switch {
	case s.over:
	case f.next.request != nil:
		heap.Push(&s.turns, f.next)
	default:
		s.heard = later(s.heard, f.end)
		if f.err != nil {
			s.breakOff(1, f.err)
		}
		s.free(now)
	}
}

// breakOff counts a session that ends before its last turn.
func (s *schedule) breakOff(unsent int, why error) {
	s.broken++
	s.unsent += unsent
	if s.why == nil || s.why == errTurnFailed {
		s.why = why
	}
}

// free says that a worker, in a closed loop, is idle.
func (s *schedule) free(now time.Time) {
	if s.arrivals == nil && !s.over && !s.dry {
		s.ready.push(now.Add(s.plan.ThinkTime))
	}
	s.settle()
}

// frontier is an instant that the window does not end before; none: it is known where it ends. It is no earlier than the
// last Start.
func (s *schedule) frontier(now time.Time) (time.Time, bool) {
	s.due()
	if s.closed {
		return time.Time{}, false
	}
	if s.sessions > 0 && (s.dry || s.plan.Requests > 0) {
		return s.last, true // the last request may be any turn, or there may be none
	}
	if s.arrivals != nil {
		switch {
		case s.behind:
			return s.last, true
		case s.foreseen != nil && s.warm && s.sessions == 0 && !s.at.After(now):
			return s.foreseen.until(s, now)
		}
		return s.at, true
	}
	at, _, ok := s.worker()
	if !ok || now.Before(at) {
		return now, true
	}
	return at, true
}

// window is where the steady state ends, as far as that is known.
func (s *schedule) window() (end time.Time, included, known bool) {
	if s.ahead(); s.closed {
		return s.end, s.included, true
	}
	if f := s.foreseen; f != nil && f.known {
		return f.end, f.included, true
	}
	end, known = s.bound()
	return end, false, known
}

// cutoff is when what is still in flight is cut off, as far as that is known.
func (s *schedule) cutoff() (time.Time, bool) {
	s.ahead()
	end, known := s.limit()
	if s.over {
		end, known = s.stop, true
	}
	return end.Add(s.plan.Drain), known
}
