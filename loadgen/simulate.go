package loadgen

import (
	"context"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// System is what load is put on in virtual time: a state machine that is told what time it is. Simulate drives it.
type System interface {
	// Start gives the system a request, at now.
	Start(now time.Time, c *Call)
	// Next is the instant of the system's next event; ok is false where nothing will happen by itself.
	Next() (at time.Time, ok bool)
	// Step lets the event at now, which Next announced, happen. It calls end for each request that it ends.
	Step(now time.Time, end func(c *Call, rec *goodput.Record))
	// Stop takes a request off the system at now, before its end, and is what it has done so far. Outcome and End are the
	// caller's to say.
	Stop(now time.Time, c *Call) *goodput.Record
}

// Simulate carries a plan out on a system in virtual time, which passes as fast as the events can be worked off, and is
// the same each time. d is what the system says of itself. What happens at one instant happens in this order: the
// system's own events, then deadlines, then new requests.
//
// The run starts at the Unix epoch. A context that is cancelled, by the plan's Progress say, cuts it off at the instant
// that it has come to; one that is done before is an error.
func Simulate(ctx context.Context, p Plan, d Description, s System) (*Result, error) {
	if err := notBegun(ctx); err != nil {
		return nil, err
	}
	now := time.Unix(0, 0).UTC()
	b, err := NewBook(p, d, now)
	if err != nil {
		return nil, err
	}
	b.run = ctx
	defer b.Result() // whatever panics: the plan's sequences are to be closed
	end := func(c *Call, rec *goodput.Record) { b.End(now, c, rec) }
	for {
		if ctx.Err() != nil {
			b.Cut(now, context.Cause(ctx))
		}
		at, running := b.Next()
		if !running {
			return b.Result()
		}
		if event, ok := s.Next(); ok && event.Before(at) {
			at = event
		}
		now = later(now, at)
		for event, ok := s.Next(); ok && !event.After(now); event, ok = s.Next() {
			s.Step(now, end)
		}
		for c := b.Stop(now); c != nil; c = b.Stop(now) {
			b.End(now, c, s.Stop(now, c))
		}
		for c := b.Start(now); c != nil; c = b.Start(now) {
			s.Start(now, c)
		}
	}
}
