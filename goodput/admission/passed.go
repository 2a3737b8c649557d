package admission

import "time"

const (
	fullUnlikely = 0.01 // how unlikely it is, where requests do not hinder each other, that the engine is taken for full
	fullLooked   = 8    // prompts that are looked at for it, the oldest
)

// passed tells a prompt that waits in the engine for its turn from one that is slow by itself: who was admitted later and has had
// a first token at an earlier instant has passed it, and so the engine was not full. What comes at one instant has passed nothing.
type passed struct {
	oldest        *Ticket // of those that are pending and have not been passed
	last          uint64  // order of the last that was admitted
	before, since uint64  // greatest order of those with a first token, before the instant at and since
	at            time.Time
}

// started is t, which is now the last of those that are pending.
func (p *passed) started(t *Ticket) {
	p.last++
	if t.order = p.last; p.oldest == nil {
		p.oldest = t
	}
}

// gone is t, which is about to leave those that are pending.
func (p *passed) gone(t *Ticket) {
	if p.oldest == t {
		p.oldest = t.newer
	}
}

// first is the first token of t.
func (p *passed) first(now time.Time, t *Ticket) {
	if now.After(p.at) {
		p.at, p.before = now, p.since
	}
	p.since = max(p.since, t.order)
}

// head is the oldest that is pending and has not been passed, or nil.
func (p *passed) head(now time.Time) *Ticket {
	order := p.before
	if now.After(p.at) {
		order = p.since
	}
	for p.oldest != nil && p.oldest.order <= order {
		p.oldest = p.oldest.newer
	}
	return p.oldest
}

// full says that prompts do not start although the line says so, nor any that came after them: the engine is full, of what nobody outside
// of it can count.
//
// One that is overdue is slow by itself now and then. That each of several takes so long is as likely as all of it multiplied, and the
// product of 1 over that, of those that are pending, is a martingale as long as they do not hinder each other: from the oldest of them on it
// comes to 1/fullUnlikely in one of 1/fullUnlikely times at most. Ville, Étude critique de la notion de collectif, 1939.
func (s *Scheduler) full(now time.Time) bool {
	if s.line.w <= lineEnough {
		return false
	}
	likely := 1.0
	for t, n := s.passed.head(now), 0; t != nil && n < fullLooked; t, n = t.newer, n+1 {
		if likely *= s.line.beyond(t.before, now.Sub(t.admitted)); likely <= fullUnlikely {
			return true
		}
	}
	return false
}
