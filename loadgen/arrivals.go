package loadgen

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Arrivals is when requests begin, as offsets from the start of the run: an open loop. Times is the same each time that
// it is called. The offsets do not fall.
//
// The processes of this package are plain structs. Each prints, marshals to JSON (UnmarshalArrivals reads it back) and is
// reproducible from its Seed: the random ones draw from math/rand/v2's PCG. None is rescaled so that the count comes out
// as rate × time: that would take from the process the very variation that a queue feels. A Seed of 0 means, in a Plan,
// one derived from the plan's Seed; elsewhere it is a seed like any other.
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

// Poisson is a process without memory: the gaps are exponential with mean 1/Rate, the first from the start of the run.
type Poisson struct {
	Rate float64 `json:"rate"` // requests/s
	Seed uint64  `json:"seed"`
}

// Times are the sums of the gaps.
func (p Poisson) Times() iter.Seq[time.Duration] { return sequence(p.steps) }

func (p Poisson) steps() func() (time.Duration, bool) {
	r := rand.New(source64(p.Seed))
	return renewal(func() float64 { return r.ExpFloat64() / p.Rate })
}

// Gamma is a renewal process with gamma-distributed gaps of mean 1/Rate and shape Burstiness, the first from the start of
// the run. The squared coefficient of variation of the gaps is 1/Burstiness: 1 is Poisson, less comes in bursts, more is
// steadier. It is the burstiness of vLLM's benchmark, without that one's rescaling.
type Gamma struct {
	Rate       float64 `json:"rate"` // requests/s
	Burstiness float64 `json:"burstiness"`
	Seed       uint64  `json:"seed"`
}

// Times are the sums of the gaps.
func (g Gamma) Times() iter.Seq[time.Duration] { return sequence(g.steps) }

func (g Gamma) steps() func() (time.Duration, bool) {
	return renewal(distuv.Gamma{Alpha: g.Burstiness, Beta: g.Burstiness * g.Rate, Src: source64(g.Seed)}.Rand)
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

// renewal gives the sums of gaps in seconds.
func renewal(gap func() float64) func() (time.Duration, bool) {
	t := 0.0
	return func() (time.Duration, bool) {
		t += gap() * 1e9
		return offset(t)
	}
}

// source64 is a stream of random numbers, another one than a caller with the same seed is likely to have.
func source64(seed uint64) *rand.PCG { return rand.NewPCG(seed, 0x676f6f64707574) }

// offset is ns as a Duration, to the nearest; not ok where it does not fit. Up to 104 days every nanosecond has a float64
// of its own.
func offset(ns float64) (time.Duration, bool) {
	const most = 100 * 365 * 24 * time.Hour
	if !(ns <= float64(most)) {
		return 0, false
	}
	return time.Duration(math.Round(ns)), true
}

// String is like "constant 5/s".
func (c Constant) String() string { return "constant " + perSecond(c.Rate) }

// String is like "poisson 5/s, seed 1".
func (p Poisson) String() string {
	return fmt.Sprintf("poisson %s, seed %d", perSecond(p.Rate), p.Seed)
}

// String is like "gamma 5/s, burstiness 0.5, seed 1".
func (g Gamma) String() string {
	return fmt.Sprintf("gamma %s, burstiness %s, seed %d", perSecond(g.Rate), number(g.Burstiness), g.Seed)
}

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

// Validate refuses a rate that is none.
func (p Poisson) Validate() error { return positive("Poisson.Rate", p.Rate) }

// Validate refuses a rate or a burstiness that is none.
func (g Gamma) Validate() error {
	if err := positive("Gamma.Rate", g.Rate); err != nil {
		return err
	}
	if err := positive("Gamma.Burstiness", g.Burstiness); err != nil {
		return fmt.Errorf("%w (1 is Poisson)", err)
	}
	return nil
}

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

func (c Constant) endless() bool { return true }
func (p Poisson) endless() bool  { return true }
func (g Gamma) endless() bool    { return true }

func (p Poisson) seeded(seed uint64) Arrivals {
	if p.Seed == 0 {
		p.Seed = seed
	}
	return p
}

func (g Gamma) seeded(seed uint64) Arrivals {
	if g.Seed == 0 {
		g.Seed = seed
	}
	return g
}
