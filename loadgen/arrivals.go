package loadgen

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Arrivals is when requests begin, as offsets from the start of the run: an open loop. Times is the same each time that
// it is called. The offsets do not fall.
//
// The processes of this package are plain structs; the package comment has a table of them. Each prints, marshals to JSON
// (UnmarshalArrivals reads it back) and is reproducible from its Seed: the random ones draw from math/rand/v2's PCG. None
// is rescaled so that the count comes out as rate × time: that would take from the process the very variation that a queue
// feels. A Seed of 0 means, in a Plan, one derived from the plan's Seed; elsewhere it is a seed like any other.
type Arrivals interface {
	Times() iter.Seq[time.Duration]
	String() string
}

// ArrivalsFunc makes Arrivals of a sequence of one's own, which has to give the same each time. It does not marshal.
type ArrivalsFunc iter.Seq[time.Duration]

// Times is f.
func (f ArrivalsFunc) Times() iter.Seq[time.Duration] { return iter.Seq[time.Duration](f) }

// String says that it is a function.
func (f ArrivalsFunc) String() string { return "a sequence of instants" }

// Validate refuses a nil function.
func (f ArrivalsFunc) Validate() error {
	if f == nil {
		return errors.New("ArrivalsFunc is nil")
	}
	return nil
}

// MarshalJSON is an error: a function is not data.
func (f ArrivalsFunc) MarshalJSON() ([]byte, error) {
	return nil, errors.New("loadgen: an ArrivalsFunc cannot be marshalled")
}

// Constant is an arrival every 1/Rate, the first at once.
type Constant struct {
	Rate float64 `json:"rate"` // requests/s
}

// Times are i/Rate, each computed by itself, so that no error adds up.
func (c Constant) Times() iter.Seq[time.Duration] { return sequence(c.steps) }

func (c Constant) steps() func() (time.Duration, bool) {
	i := -1.0
	return func() (time.Duration, bool) {
		i++
		return offset(i / c.Rate * 1e9)
	}
}

// Replay is the instants of a trace, at Speed times their speed.
type Replay struct {
	At    []time.Duration `json:"at_ns"`           // in order; the first need not be 0
	Speed float64         `json:"speed,omitempty"` // 0: 1
}

// Times are At / Speed.
func (r Replay) Times() iter.Seq[time.Duration] { return sequence(r.steps) }

func (r Replay) steps() func() (time.Duration, bool) {
	i, speed := -1, r.speed()
	return func() (time.Duration, bool) {
		if i++; i >= len(r.At) {
			return 0, false
		}
		if speed == 1 {
			return r.At[i], true
		}
		return offset(float64(r.At[i]) / speed)
	}
}

func (r Replay) speed() float64 {
	if r.Speed == 0 {
		return 1
	}
	return r.Speed
}

// stepper is what the processes of this package are beneath: a function that gives one instant after the other. A Book
// asks it directly, where it would need a coroutine for a sequence of the caller's.
type stepper interface {
	steps() func() (time.Duration, bool)
}

// sequence is the instants of a stepper.
func sequence(steps func() func() (time.Duration, bool)) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		next := steps()
		for d, ok := next(); ok && yield(d); d, ok = next() {
		}
	}
}

// source64 is a stream of random numbers, another one than a caller with the same seed is likely to have.
func source64(seed uint64) *rand.PCG { return rand.NewPCG(seed, 0x676f6f64707574) }

// century is more time than any plan takes.
const century = 100 * 365 * 24 * time.Hour

// offset is ns as a Duration, to the nearest; not ok where it does not fit. Up to 104 days every nanosecond has a float64
// of its own.
func offset(ns float64) (time.Duration, bool) {
	if !(ns <= float64(century)) {
		return 0, false
	}
	return time.Duration(math.Round(ns)), true
}

// String is like "constant 5/s".
func (c Constant) String() string { return "constant " + perSecond(c.Rate) }

// String is like "replay of 1000 instants over 1m0s, at speed 2".
func (r Replay) String() string {
	s := fmt.Sprintf("replay of %d instants", len(r.At))
	if n := len(r.At); n > 0 {
		s += fmt.Sprintf(" over %v", r.At[n-1])
	}
	if r.speed() != 1 {
		s += ", at speed " + number(r.Speed)
	}
	return s
}

func number(v float64) string    { return strconv.FormatFloat(v, 'g', -1, 64) }
func perSecond(v float64) string { return number(v) + "/s" }

// Validate refuses a rate that is none.
func (c Constant) Validate() error { return positive("Constant.Rate", c.Rate) }

// Validate refuses instants that are negative or fall, and a speed that is none.
func (r Replay) Validate() error {
	if r.Speed != 0 {
		if err := positive("Replay.Speed", r.Speed); err != nil {
			return err
		}
	}
	var last time.Duration
	for i, at := range r.At {
		if at < last {
			return fmt.Errorf("Replay.At[%d] is %v, before %v: sort them, and count from the start", i, at, last)
		}
		last = at
	}
	return nil
}

// positive wants a number that can be divided by and whose inverse is no surprise.
func positive(name string, v float64) error {
	const least, most = 1e-9, 1e9
	if !(v >= least && v <= most) {
		return fmt.Errorf("%s is %v, not between %g and %g", name, v, least, most)
	}
	return nil
}

// lasting wants a time that passes.
func lasting(name string, d time.Duration) error {
	if d <= 0 || d > century {
		return fmt.Errorf("%s is %v, not between 1ns and %v", name, d, century)
	}
	return nil
}

func (c Constant) endless() bool { return true }
