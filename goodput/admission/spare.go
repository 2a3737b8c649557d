package admission

import (
	"math"
	"time"
)

// Spare is the part of an error budget that lateness may use before anything is refused for it. An SLO lets a share of the
// requests be late, so that a burst which is soon over need cost nobody an answer. Four fifths of that share are saved up, to
// 100 requests, and can be spent: at most 8 at once, and then twice as fast as they are saved. When more is predicted to be
// late than may be, it is an overload and no burst, and nobody is let through any more until four may be again. What is saved lasts
// for the hour in which the load is a little too high; what is at hand is soon gone where it is much too high, whatever was saved.
//
// The zero Spare spares nobody. It is a state machine and belongs to one goroutine.
type Spare struct {
	Share  float64 // of the requests, that may be late; 0 and what is no share: none
	saved  float64 // requests
	atHand float64 // of them, that may be spent at once
	dry    bool
}

const (
	spareShare = 0.8   // of Share, that is used: what is predicted to be in time can be late, too
	spareMost  = 100.0 // requests that can be saved up
	spareHand  = 8.0   // requests that can be spent at once
	spareSpeed = 2.0   // by how much faster than it is saved it may be spent
	spareWet   = 4.0   // that may be spent, from which on somebody is let through again
	spareTime  = 4     // budgets that one which is let through may wait
)

// Offered: a request has come.
func (s *Spare) Offered() {
	if !(s.Share > 0) {
		return
	}
	s.saved = min(s.saved+spareShare*s.Share, spareMost)
	s.atHand = min(s.atHand+spareSpeed*spareShare*s.Share, spareHand)
	s.dry = s.dry && s.left() < spareWet
}

// Let says whether one that is predicted to be late is let through nevertheless. One that is not delays the time at which
// somebody is again, and costs nothing of what was saved.
func (s *Spare) Let() bool {
	s.dry = s.dry || s.left() < 1
	s.atHand = max(s.atHand-1, 0)
	if !s.dry {
		s.saved--
	}
	return !s.dry
}

// InTime: one that was let through was in time nevertheless. It has cost nothing.
func (s *Spare) InTime() {
	if !(s.Share > 0) {
		return
	}
	s.saved = min(s.saved+1, spareMost)
	s.atHand = min(s.atHand+1, spareHand)
	s.dry = s.dry && s.left() < spareWet
}

// left is how many may be late now.
func (s *Spare) left() float64 { return min(s.saved, s.atHand) }

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

// begun gives back what was spent for t, whose answer has begun, where that is in time.
func (s *Scheduler) begun(now time.Time, t *Ticket) {
	if t.spared && now.Sub(t.Arrival) <= t.budget {
		t.class.spare.InTime()
	}
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
