package loadgen

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

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

// Weibull is a renewal process with Weibull-distributed gaps of mean 1/Rate, the first from the start of the run. A Shape of
// 1 is Poisson, less comes in bursts with long pauses between them, more is steadier. The squared coefficient of variation of
// the gaps is Γ(1+2/Shape) / Γ(1+1/Shape)² − 1.
type Weibull struct {
	Rate  float64 `json:"rate"` // requests/s
	Shape float64 `json:"shape"`
	Seed  uint64  `json:"seed"`
}

// Times are the sums of the gaps.
func (w Weibull) Times() iter.Seq[time.Duration] { return sequence(w.steps) }

func (w Weibull) steps() func() (time.Duration, bool) {
	r := rand.New(source64(w.Seed))
	scale := 1 / (w.Rate * math.Gamma(1+1/w.Shape))
	return renewal(func() float64 { return scale * math.Pow(r.ExpFloat64(), 1/w.Shape) })
}

// renewal gives the sums of gaps in seconds.
func renewal(gap func() float64) func() (time.Duration, bool) {
	t := 0.0
	return func() (time.Duration, bool) {
		t += gap() * 1e9
		return offset(t)
	}
}

// String is like "poisson 5/s, seed 1".
func (p Poisson) String() string {
	return fmt.Sprintf("poisson %s, seed %d", perSecond(p.Rate), p.Seed)
}

// String is like "gamma 5/s, burstiness 0.5, seed 1".
func (g Gamma) String() string {
	return fmt.Sprintf("gamma %s, burstiness %s, seed %d", perSecond(g.Rate), number(g.Burstiness), g.Seed)
}

// String is like "weibull 5/s, shape 0.5, seed 1".
func (w Weibull) String() string {
	return fmt.Sprintf("weibull %s, shape %s, seed %d", perSecond(w.Rate), number(w.Shape), w.Seed)
}

// Validate refuses a rate that is none.
func (p Poisson) Validate() error { return positive("Poisson.Rate", p.Rate) }

// Validate refuses a rate or a burstiness that is none. One below 0.01 is refused too: most of its gaps would be below a
// nanosecond, and any number of requests would arrive in one instant.
func (g Gamma) Validate() error {
	if err := positive("Gamma.Rate", g.Rate); err != nil {
		return err
	}
	const least, most = 0.01, 1e9
	if !(g.Burstiness >= least && g.Burstiness <= most) {
		return fmt.Errorf("Gamma.Burstiness is %v, not between %v and %g (1 is Poisson)", g.Burstiness, least, most)
	}
	return nil
}

// Validate refuses a rate or a shape that is none. A shape below 0.1 is refused too: half of its gaps would be shorter than
// the mean by a factor of more than 10⁸.
func (w Weibull) Validate() error {
	if err := positive("Weibull.Rate", w.Rate); err != nil {
		return err
	}
	const least, most = 0.1, 1000
	if !(w.Shape >= least && w.Shape <= most) {
		return fmt.Errorf("Weibull.Shape is %v, not between %v and %v (1 is Poisson)", w.Shape, least, most)
	}
	return nil
}

func (p Poisson) endless() bool { return true }
func (g Gamma) endless() bool   { return true }
func (w Weibull) endless() bool { return true }

func (p Poisson) seeded(seed uint64) Arrivals {
	p.Seed = cmp.Or(p.Seed, seed)
	return p
}

func (g Gamma) seeded(seed uint64) Arrivals {
	g.Seed = cmp.Or(g.Seed, seed)
	return g
}

func (w Weibull) seeded(seed uint64) Arrivals {
	w.Seed = cmp.Or(w.Seed, seed)
	return w
}
