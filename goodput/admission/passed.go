package admission

import "time"

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
