package loadgen

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Ramp is a rate that goes from From to To in the time Over, and then stays: linearly, or with Exponential by the same factor
// in the same time. From 0, and to 0, where it ends, it can only go linearly. As the run-up to a steady load it belongs into a
// warm-up of at least Over; WarmupAuto looks at latencies, which need not show that the rate still rises. A ramp that ends in
// the window has the warning ErrRampUp.
//
// Even says how the rate becomes requests, as it does in Steps and Sine: evenly spaced, so that request i leaves when the
// integral of the rate reaches i, the first at once (what k6's ramping-arrival-rate does); or else, at random, as a Poisson
// process of that rate, which is what users do who do not know of each other.
type Ramp struct {
	From        float64       `json:"from"` // requests/s
	To          float64       `json:"to"`   // requests/s
	Over        time.Duration `json:"over_ns"`
	Exponential bool          `json:"exponential,omitempty"`
	Even        bool          `json:"even,omitempty"`
	Seed        uint64        `json:"seed"` // means nothing where Even
}

// Times are when the integral of the rate reaches the instants of a process of rate 1.
func (r Ramp) Times() iter.Seq[time.Duration] { return sequence(r.steps) }

func (r Ramp) steps() func() (time.Duration, bool) {
	over := r.Over.Seconds()
	slope, growth := (r.To-r.From)/over, 0.0
	total := (r.From + r.To) / 2 * over // the integral up to Over
	if r.Exponential && r.From != r.To {
		growth = math.Log(r.To/r.From) / over
		if d := (r.To - r.From) / r.From; math.Abs(d) < 0.5 { // the quotient is near 1, and rounded
			growth = math.Log1p(d) / over
		}
		total = (r.To - r.From) / growth
	}
	return timeChange(r.Even, r.Seed, func(n float64) float64 {
		switch {
		case n >= total:
			return over + (n-total)/r.To // To 0: never
		case growth != 0: // From (e^(growth t) − 1) / growth = n
			return math.Log1p(n*growth/r.From) / growth
		case n == 0:
			return 0
		default: // From t + slope t²/2 = n, without a difference of what is nearly the same
			return 2 * n / (r.From + math.Sqrt(max(0, r.From*r.From+2*slope*n)))
		}
	})
}

// Step is a rate for a time.
type Step struct {
	Rate float64       `json:"rate"` // requests/s; 0: a pause
	For  time.Duration `json:"for_ns,omitempty"`
}

// String is like "5/s for 1m0s".
func (s Step) String() string {
	if s.For == 0 {
		return perSecond(s.Rate)
	}
	return fmt.Sprintf("%s for %v", perSecond(s.Rate), s.For)
}

// Steps is one rate after the other, each for its time. With the last one the arrivals end; one without a time goes on for
// ever. Even is as for Ramp.
type Steps struct {
	Steps []Step `json:"steps"`
	Even  bool   `json:"even,omitempty"`
	Seed  uint64 `json:"seed"` // means nothing where Even
}

// Times are when the integral of the rate reaches the instants of a process of rate 1.
func (s Steps) Times() iter.Seq[time.Duration] { return sequence(s.steps) }

func (s Steps) steps() func() (time.Duration, bool) {
	i := 0                    // the step
	begin, before := 0.0, 0.0 // when it begins, and the integral up to there
	return timeChange(s.Even, s.Seed, func(n float64) float64 {
		for ; i < len(s.Steps); i++ {
			step := s.Steps[i]
			length := step.For.Seconds()
			if more := step.Rate * length; step.For > 0 {
				if n >= before+more { // what is due at the very end of a step begins the next
					begin, before = begin+length, before+more
					continue
				}
			}
			return begin + (n-before)/step.Rate
		}
		return math.Inf(1)
	})
}

// Sine is a rate that swings around Mean, from Mean − Amplitude to Mean + Amplitude and back in each Period, such as a day:
//
//	Mean + Amplitude sin(2π (t + Phase) / Period)
//
// A quarter of the period as Phase begins at the peak, three quarters in the trough. Even is as for Ramp.
type Sine struct {
	Mean      float64       `json:"mean"`      // requests/s
	Amplitude float64       `json:"amplitude"` // requests/s; at most Mean
	Period    time.Duration `json:"period_ns"`
	Phase     time.Duration `json:"phase_ns,omitempty"` // how far into its period the run begins
	Even      bool          `json:"even,omitempty"`
	Seed      uint64        `json:"seed"` // means nothing where Even
}

// Times are when the integral of the rate reaches the instants of a process of rate 1.
func (s Sine) Times() iter.Seq[time.Duration] { return sequence(s.steps) }

// With E = 2π (t + Phase)/Period + π/2 the rate is Mean (1 − e cos E), whose integral, in turns of 2π, is E − e sin E: the
// instant is the solution of Kepler's equation.
func (s Sine) steps() func() (time.Duration, bool) {
	const turn = 2 * math.Pi
	period, e := s.Period.Seconds(), s.Amplitude/s.Mean
	first := turn*(s.Phase.Seconds()/period) + math.Pi/2
	m0 := first - e*math.Sin(first)
	return timeChange(s.Even, s.Seed, func(n float64) float64 {
		whole, part := math.Modf(n / (s.Mean * period))
		return period * (whole + (kepler(turn*part+m0, e)-first)/turn)
	})
}

// kepler solves x − e sin x = m for x, 0 ≤ e ≤ 1, by Newton's method, which bisects where it would leave what brackets the
// solution.
func kepler(m, e float64) float64 {
	lo, hi := m-e, m+e
	x := m + e*math.Sin(m)
	for range 100 {
		f := x - e*math.Sin(x) - m
		if f > 0 {
			hi = x
		} else {
			lo = x
		}
		next := x - f/(1-e*math.Cos(x))
		if !(next >= lo && next <= hi) {
			next = lo + (hi-lo)/2
		}
		if next == x || f == 0 {
			break
		}
		x = next
	}
	return x
}

// timeChange is a process of a rate that varies: instant, which does not fall, is when the integral of the rate reaches a
// number, in s. At the instants of a process of rate 1, it gives one of that rate; of a Poisson process a Poisson process
// (Çinlar: Introduction to Stochastic Processes, 1975, section 4.7).
func timeChange(even bool, seed uint64, instant func(n float64) float64) func() (time.Duration, bool) {
	n, gap := 0.0, rand.New(source64(seed)).ExpFloat64
	if even {
		n, gap = -1, func() float64 { return 1 }
	}
	var last time.Duration
	return func() (time.Duration, bool) {
		n += gap()
		at, ok := offset(instant(n) * 1e9)
		last = max(last, at) // whatever was rounded
		return last, ok
	}
}

// String is like "ramp linearly from 1/s to 10/s over 1m0s, seed 1".
func (r Ramp) String() string {
	how := "linearly"
	if r.Exponential {
		how = "exponentially"
	}
	return fmt.Sprintf("ramp %s from %s to %s over %v, %s", how, perSecond(r.From), perSecond(r.To), r.Over, spacing(r.Even, r.Seed))
}

// String is like "steps of 5/s for 1m0s, 10/s, seed 1". Of more than eight steps it says how many there are.
func (s Steps) String() string {
	text := "steps of "
	const most = 8
	for i, step := range s.Steps[:min(len(s.Steps), most)] {
		if i > 0 {
			text += ", "
		}
		text += step.String()
	}
	if n := len(s.Steps) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text + ", " + spacing(s.Even, s.Seed)
}

// String is like "sine 10/s ± 5/s over 24h0m0s, from 6h0m0s on, seed 1".
func (s Sine) String() string {
	from := ""
	if s.Phase > 0 {
		from = fmt.Sprintf(" from %v on,", s.Phase)
	}
	return fmt.Sprintf("sine %s ± %s over %v,%s %s", perSecond(s.Mean), perSecond(s.Amplitude), s.Period, from, spacing(s.Even, s.Seed))
}

func spacing(even bool, seed uint64) string {
	if even {
		return "evenly spaced"
	}
	return fmt.Sprintf("seed %d", seed)
}

// Validate refuses rates and a time that are none, and an exponential ramp from or to 0.
func (r Ramp) Validate() error {
	rate, hint := positiveOrZero, ""
	if r.Exponential {
		rate, hint = positive, " (an exponential ramp has no 0)"
	}
	if err := rate("Ramp.From", r.From); err != nil {
		return fmt.Errorf("%w%s", err, hint)
	}
	if err := rate("Ramp.To", r.To); err != nil {
		return fmt.Errorf("%w%s", err, hint)
	}
	if r.From == 0 && r.To == 0 {
		return errors.New("Ramp.From and Ramp.To are both 0: nothing would arrive")
	}
	return lasting("Ramp.Over", r.Over)
}

// Validate refuses a rate or a time that is none, and steps in which nothing would arrive.
func (s Steps) Validate() error {
	var all time.Duration
	for i, step := range s.Steps {
		name := fmt.Sprintf("Steps.Steps[%d]", i)
		if err := positiveOrZero(name+".Rate", step.Rate); err != nil {
			return err
		}
		switch forever := step.For == 0 && i == len(s.Steps)-1; {
		case forever && step.Rate == 0:
			return fmt.Errorf("%s is a pause without an end: leave it out", name)
		case forever:
			continue
		}
		if err := lasting(name+".For", step.For); err != nil {
			return err
		}
		if step.For > century-all {
			return fmt.Errorf("%s.For is %v: all steps together take more than %v", name, step.For, century)
		}
		all += step.For
	}
	if !slices.ContainsFunc(s.Steps, func(s Step) bool { return s.Rate > 0 }) {
		return errors.New("Steps.Steps has no step with a rate: nothing would arrive")
	}
	return nil
}

// Validate refuses a rate or a time that is none, an amplitude above the mean and a phase that is not within a period.
func (s Sine) Validate() error {
	if err := positive("Sine.Mean", s.Mean); err != nil {
		return err
	}
	if !(s.Amplitude >= 0 && s.Amplitude <= s.Mean) {
		return fmt.Errorf("Sine.Amplitude is %v, not between 0 and the mean, %v: no rate is negative", s.Amplitude, s.Mean)
	}
	if err := lasting("Sine.Period", s.Period); err != nil {
		return err
	}
	if s.Phase < 0 || s.Phase >= s.Period {
		return fmt.Errorf("Sine.Phase is %v, not within a period, %v", s.Phase, s.Period)
	}
	return nil
}

// positiveOrZero is positive, or 0.
func positiveOrZero(name string, v float64) error {
	if v == 0 {
		return nil
	}
	return positive(name, v)
}

func (r Ramp) endless() bool { return r.To > 0 }
func (s Sine) endless() bool { return true }
func (s Steps) endless() bool {
	return len(s.Steps) > 0 && s.Steps[len(s.Steps)-1].For == 0
}

func (r Ramp) seeded(seed uint64) Arrivals {
	r.Seed = cmp.Or(r.Seed, seed)
	return r
}

func (s Steps) seeded(seed uint64) Arrivals {
	s.Seed = cmp.Or(s.Seed, seed)
	return s
}

func (s Sine) seeded(seed uint64) Arrivals {
	s.Seed = cmp.Or(s.Seed, seed)
	return s
}
