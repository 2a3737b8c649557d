package loadgen

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// MMPP is a Markov-modulated Poisson process of two states: a Poisson process with the rate of either state, in which it stays
// for an exponential time of the mean For. It makes bursts that last. One of the rates may be 0: then it is on and off. The run
// begins in either state with the share of time that the process spends in it, so that the counts follow one law from the start.
//
// With λ₀ and λ₁ for the rates and r₀ and r₁ for those of leaving, 1/For, the mean rate is λ = (λ₀r₁ + λ₁r₀) / (r₀ + r₁), and the
// index of dispersion of the counts, their variance over their mean in a time t, which is 1 for Poisson, is
//
//	1 + 2 r₀r₁(λ₀−λ₁)² / ((r₀+r₁)³ λ) · (1 − (1 − e^−(r₀+r₁)t) / ((r₀+r₁)t))
//
// (Fischer and Meier-Hellstern: The Markov-modulated Poisson process cookbook, Performance Evaluation 18, 1993).
type MMPP struct {
	Quiet Step   `json:"quiet"`
	Burst Step   `json:"burst"`
	Seed  uint64 `json:"seed"`
}

// Times are the instants in either state, in order.
func (m MMPP) Times() iter.Seq[time.Duration] { return sequence(m.steps) }

func (m MMPP) steps() func() (time.Duration, bool) {
	r := rand.New(source64(m.Seed))
	states := [2]struct{ rate, leave float64 }{
		{m.Quiet.Rate, 1 / m.Quiet.For.Seconds()},
		{m.Burst.Rate, 1 / m.Burst.For.Seconds()},
	}
	now := 0
	if r.Float64()*(states[0].leave+states[1].leave) < states[0].leave {
		now = 1
	}
	return renewal(func() (gap float64) {
		for { // what comes first, an arrival or the end of the stay: neither has a memory
			s := states[now]
			gap += r.ExpFloat64() / (s.rate + s.leave)
			if r.Float64()*(s.rate+s.leave) < s.rate {
				return gap
			}
			now = 1 - now
		}
	})
}

// String is like "mmpp 5/s for 10s and 50/s for 1s on average, seed 1".
func (m MMPP) String() string {
	return fmt.Sprintf("mmpp %v and %v on average, seed %d", m.Quiet, m.Burst, m.Seed)
}

// Validate refuses rates and times that are none, two rates of 0, and stays that are so short for the rates that a thousand
// of each bring less than one arrival: nothing tells that from Poisson.
func (m MMPP) Validate() error {
	for _, s := range []struct {
		name string
		Step
	}{{"MMPP.Quiet", m.Quiet}, {"MMPP.Burst", m.Burst}} {
		if err := positiveOrZero(s.name+".Rate", s.Rate); err != nil {
			return err
		}
		if err := lasting(s.name+".For", s.For); err != nil {
			return err
		}
	}
	if m.Quiet.Rate == 0 && m.Burst.Rate == 0 {
		return errors.New("MMPP.Quiet.Rate and MMPP.Burst.Rate are both 0: nothing would arrive")
	}
	if some := m.Quiet.Rate*m.Quiet.For.Seconds() + m.Burst.Rate*m.Burst.For.Seconds(); some < 1e-3 {
		return fmt.Errorf("MMPP: a stay in each state brings %.2g arrivals, less than 0.001: a Poisson process of the mean rate is the same", some)
	}
	return nil
}

func (m MMPP) endless() bool { return true }

func (m MMPP) seeded(seed uint64) Arrivals {
	m.Seed = cmp.Or(m.Seed, seed)
	return m
}
