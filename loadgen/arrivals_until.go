package loadgen

import (
	"errors"
	"iter"
	"time"
)

// Until is a, ended by whoever runs the plan: once over says so, nothing more arrives, but for the one arrival that a
// Runner has looked ahead (where a is a sequence of the caller's own, and time is real, those that were read ahead). What
// is in flight may end, as the plan's Drain says, and the window ends with the last Start. over is asked from another
// goroutine than the caller's, for each arrival. It does not marshal.
func Until(a Arrivals, over func() bool) Arrivals {
	u := endedBy{a, over}
	if s, ok := a.(stepper); ok {
		return steppedEndedBy{u, s}
	}
	return u
}

type endedBy struct {
	Arrivals
	over func() bool
}

// Times are those of the arrivals, as long as it is not over.
func (u endedBy) Times() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for d := range u.Arrivals.Times() {
			if u.over() || !yield(d) {
				return
			}
		}
	}
}

// Validate is that of the arrivals.
func (u endedBy) Validate() error {
	if u.over == nil {
		return errors.New("Until: over is nil")
	}
	if v, ok := u.Arrivals.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	if u.Arrivals == nil {
		return errors.New("Until: there are no arrivals")
	}
	return nil
}

// MarshalJSON is an error: a function is not data.
func (u endedBy) MarshalJSON() ([]byte, error) {
	return nil, errors.New("loadgen: arrivals with an Until cannot be marshalled")
}

func (u endedBy) seeded(seed uint64) Arrivals {
	a := u.Arrivals
	if s, ok := a.(interface{ seeded(uint64) Arrivals }); ok {
		a = s.seeded(seed)
	}
	return Until(a, u.over)
}

// endless: over may never say so.
func (u endedBy) endless() bool { return endless(u.Arrivals) }

// steppedEndedBy is an endedBy of arrivals that are a stepper.
type steppedEndedBy struct {
	endedBy
	inner stepper
}

func (u steppedEndedBy) steps() func() (time.Duration, bool) {
	next := u.inner.steps()
	return func() (time.Duration, bool) {
		if u.over() {
			return 0, false
		}
		return next()
	}
}
