package admission

import (
	"math"
	"time"
)

// Spare is the part of an error budget that lateness may use before anything is refused for it. An SLO lets a share of the
// requests be late, so that a burst which is soon over need cost nobody an answer. Four fifths of that share can be saved up,
// to 20 requests. When more than was saved is predicted to be late it is an overload and no burst, and nobody is let
// through any more until two have been saved again.
//
// The zero Spare spares nobody. It is a state machine and belongs to one goroutine.
type Spare struct {
	Share   float64 // of the requests, that may be late
	balance float64 // requests
	dry     bool
}

const (
	spareShare = 0.8  // of Share, that is used: what is predicted to be in time can be late, too
	spareMost  = 20.0 // requests that can be saved up
	spareWet   = 2.0  // saved up, from which on there is something to spare again
	spareTime  = 4    // budgets that one which is let through may wait
)

// Offered: a request has come.
func (s *Spare) Offered() {
	s.balance = min(s.balance+spareShare*s.Share, spareMost)
	s.dry = s.dry && s.balance < spareWet
}

// Let says whether one that is predicted to be late is let through nevertheless; it counts as one either way.
func (s *Spare) Let() bool {
	s.dry = s.dry || s.balance < 1
	s.balance = max(s.balance-1, 0)
	return !s.dry
}

// Dry says that more was predicted to be late than may be.
func (s *Spare) Dry() bool { return s.dry }

// spare says whether t, which is predicted to be late, is let through. It then stands aside until nothing else waits.
func (s *Scheduler) spare(t *Ticket) bool {
	if t.spared || !t.class.spare.Let() {
		return false
	}
	t.spared = true
	t.item.Deadline = t.Arrival.Add(min(t.budget, math.MaxInt64/spareTime) * spareTime)
	return true
}

// pumpAside refuses what stands aside and may no longer, and admits of it what may start.
func (s *Scheduler) pumpAside(now time.Time) {
	for {
		s.aside.DropLate(now, s.serviceOf, func(it *Item) {
			s.refuseWaiting(it.Data.(*Ticket), BecameLate, s.drain(s.queue.Tokens()))
		})
		it := s.aside.Head()
		if it == nil {
			return
		}
		switch t := it.Data.(*Ticket); {
		case t.class.spare.Dry():
			s.aside.Remove(it)
			s.refuseWaiting(t, BecameLate, s.drain(s.queue.Tokens()))
		case s.queue.Len() == 0 && s.can(now, t):
			s.aside.Pop()
			s.admitWaiting(now, t)
		default:
			return
		}
	}
}
