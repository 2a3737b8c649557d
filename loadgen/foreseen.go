package loadgen

import "time"

// foreseen is how far ahead of the requests that were offered the window goes on: a client that is behind books what ends
// meanwhile, and to hold it until all is offered that was due until then would take the more memory the further it is behind.
// It takes the instants from a second run of the arrivals, and has nothing of the requests.
type foreseen struct {
	next     func() (time.Duration, bool)
	at       time.Time // of the last arrival that was looked at
	begun    uint64    // arrivals that were looked at
	counted  int       // of them after the warm-up, once
	counting bool      // it is known when that was over
	reached  time.Time // the window was said not to end before

	known    bool // where it ends:
	end      time.Time
	included bool
}

// mostSteps is how many arrivals are looked at for one request that is booked: where more are due for each one than that, the
// others wait.
const mostSteps = 256

// newForeseen is nil where what comes depends on more than the plan: on sequences of the caller's, which may end, or on
// sessions, whose turns count.
func newForeseen(p *Plan, start time.Time) *foreseen {
	a, ok := p.Arrivals.(stepper)
	if _, until := p.Arrivals.(steppedEndedBy); !ok || until || p.Workload != nil && (!p.Repeat || p.Requests > 0) {
		return nil
	}
	return &foreseen{next: a.steps(), at: start}
}

// follow keeps up with the schedule, which has just looked one arrival ahead: step by step, so that there is little to catch
// up with when the client falls behind.
func (f *foreseen) follow(s *schedule) {
	if f.begun <= s.begun {
		f.step(s)
	}
}

// until is schedule.frontier of an open loop whose next request was due before now.
func (f *foreseen) until(s *schedule, now time.Time) (at time.Time, some bool) {
	for n := 0; n < mostSteps && !f.known && !f.at.After(now); n++ {
		f.step(s)
	}
	switch {
	case f.known && f.end.Before(now):
		now = f.end
	case !f.known && f.at.Before(now):
		now = f.at
	}
	f.reached = later(f.reached, now)
	return now, !f.known
}

// step looks one arrival further.
func (f *foreseen) step(s *schedule) {
	if s.warm && !f.counting { // until now both have come equally far, but for the one arrival that s looks ahead
		f.counting, f.counted = true, s.counted
		if f.begun > s.begun && !f.at.Before(s.from) {
			f.counted++
		}
	}
	d, ok := f.next()
	if !ok {
		f.known, f.end, f.included = true, f.at, true
		return
	}
	f.begun++
	f.at = later(f.at, s.start.Add(d))
	if !f.counting {
		return
	}
	if end, ok := s.bound(); ok && !f.at.Before(end) {
		f.known, f.end, f.included = true, end, false
		return
	}
	if !f.at.Before(s.from) {
		f.counted++
	}
	if s.plan.Requests > 0 && f.counted >= s.plan.Requests {
		f.known, f.end, f.included = true, f.at, true
	}
}
