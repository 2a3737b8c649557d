package admission

// Spare is the part of an error budget that lateness may use before anything is refused for it. An SLO lets a share of the
// requests be late: as long as no more than four fifths of that share were predicted to be, they are served, late as they
// may be. Only when there are more is there an overload, and then nobody is let through any more, because each refusal is
// paid from the same account.
//
// The zero Spare spares nobody. It is a state machine and belongs to one goroutine.
type Spare struct {
	Share   float64 // of the requests, that may be late
	balance float64 // requests
}

const (
	spareDebt  = 10.0 // requests that can be owed: how long an overload is remembered
	spareDrawn = 4.0  // owed, from which on it is an overload
	spareShare = 0.8  // of Share, that is used

	spareMost = 4.0 // requests that can be saved up
)

// Offered: a request has come.
func (s *Spare) Offered() { s.balance = min(s.balance+spareShare*s.Share, spareMost) }

// Let says whether one that is predicted to be late is let through nevertheless; it counts as one either way.
func (s *Spare) Let() bool {
	if s.balance >= 1 {
		s.balance--
		return true
	}
	s.balance = max(s.balance-1, -spareDebt)
	return false
}

// Overdrawn says that so many more were predicted to be late than the share allows that there is an overload.
func (s *Spare) Overdrawn() bool { return s.balance < -spareDrawn }

// spare says whether t, which is predicted to be late, is let through. It then stands behind all that can still be in time.
func (s *Scheduler) spare(t *Ticket) bool {
	if t.spared || !t.class.spare.Let() {
		return false
	}
	t.spared = true
	t.item.Deadline = t.Arrival.Add(t.budget * sparedTime)
	return true
}
