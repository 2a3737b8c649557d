package admission

import "time"

// Stall finds out that nothing ends although work is in flight: an engine that hangs, a connection that leads nowhere. More
// work would then wait for it, too.
//
// It belongs to one goroutine. After is how long nothing may happen; 0: it never finds any.
type Stall struct {
	After   time.Duration
	n       int
	since   time.Time // nothing has happened since
	stalled bool
}

// Start: a request was admitted.
func (s *Stall) Start(now time.Time) {
	if s.n++; s.n == 1 {
		s.since = now
	}
}

// Progress: a token or an answer came.
func (s *Stall) Progress(now time.Time) { s.since, s.stalled = now, false }

// End: a request is no longer in flight. That is no progress by itself: it may have been given up.
func (s *Stall) End() { s.n-- }

// Stalled says that nothing may be admitted. Where nothing is in flight any more, all of it given up, one request at a time
// may be, as a probe: the stall is over with the first progress.
func (s *Stall) Stalled(now time.Time) bool {
	if s.After > 0 && s.n > 0 && now.Sub(s.since) >= s.After {
		s.stalled = true
	}
	return s.stalled && s.n > 0
}

// Next is when a stall would be found if nothing happened before; ok is false where none can be.
func (s *Stall) Next() (at time.Time, ok bool) {
	return s.since.Add(s.After), s.After > 0 && s.n > 0 && !s.stalled
}
