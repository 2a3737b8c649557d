package loadgen

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// varying is a process whose rate varies, and that rate, as its documentation says it, in requests/s at t s. Where the rate
// jumps, to is where the test ends.
type varying struct {
	a    func(even bool, seed uint64) Arrivals
	rate func(t float64) float64
	to   float64 // s
}

func varyings() []varying {
	const day = 86_400.
	steps := func(t float64) float64 {
		switch {
		case t < 100:
			return 20
		case t < 150:
			return 0
		case t < 200:
			return 300
		}
		return 50
	}
	return []varying{
		{
			func(even bool, seed uint64) Arrivals {
				return Ramp{From: 0, To: 200, Over: 200 * time.Second, Even: even, Seed: seed}
			},
			func(t float64) float64 { return min(t, 200) }, 300,
		},
		{
			func(even bool, seed uint64) Arrivals {
				return Ramp{From: 200, To: 10, Over: 190 * time.Second, Even: even, Seed: seed}
			},
			func(t float64) float64 { return max(200-t, 10) }, 400,
		},
		{
			func(even bool, seed uint64) Arrivals {
				return Ramp{From: 2, To: 200, Over: 300 * time.Second, Exponential: true, Even: even, Seed: seed}
			},
			func(t float64) float64 { return 2 * math.Pow(100, min(t/300, 1)) }, 400,
		},
		{
			func(even bool, seed uint64) Arrivals {
				return Ramp{From: 200, To: 2, Over: 300 * time.Second, Exponential: true, Even: even, Seed: seed}
			},
			func(t float64) float64 { return 200 * math.Pow(0.01, min(t/300, 1)) }, 600,
		},
		{
			func(even bool, seed uint64) Arrivals {
				return Steps{Steps: []Step{{20, 100 * time.Second}, {0, 50 * time.Second}, {300, 50 * time.Second}, {Rate: 50}}, Even: even, Seed: seed}
			},
			steps, 300,
		},
		{
			func(even bool, seed uint64) Arrivals {
				return Sine{Mean: 0.2, Amplitude: 0.15, Period: 24 * time.Hour, Phase: 18 * time.Hour, Even: even, Seed: seed}
			},
			func(t float64) float64 { return 0.2 + 0.15*math.Sin(2*math.Pi*(t+0.75*day)/day) }, 2 * day,
		},
		{
			func(even bool, seed uint64) Arrivals {
				return Sine{Mean: 50, Amplitude: 50, Period: time.Minute, Even: even, Seed: seed}
			},
			func(t float64) float64 { return 50 + 50*math.Sin(2*math.Pi*t/60) }, 600,
		},
	}
}

// until are the instants of a up to to, in s.
func until(a Arrivals, to float64) (at []float64) {
	for d := range a.Times() {
		if d.Seconds() >= to {
			break
		}
		at = append(at, d.Seconds())
	}
	return at
}

// integral is the integral of the rate from 0 to each of x, by Simpson's rule, in pieces of which none is longer than step.
func integral(rate func(float64) float64, x []float64, step float64) []float64 {
	sums, sum, last := make([]float64, len(x)), 0.0, 0.0
	for i, to := range x {
		for last < to {
			next := min(to, last+step)
			if edge := math.Floor(last/10)*10 + 10; edge > last && edge < next { // where rates have their corners
				next = edge
			}
			t := []float64{last, (last + next) / 2, math.Nextafter(next, 0)}
			sum += integrate.Simpsons(t, []float64{rate(t[0]), rate(t[1]), rate(t[2])})
			last = next
		}
		sums[i] = sum
	}
	return sums
}

// Evenly spaced, request i leaves when the integral of the rate is i, which is found here from the rate alone.
func TestVaryingEven(t *testing.T) {
	for _, v := range varyings() {
		a := v.a(true, 0)
		at := until(a, v.to)
		require.True(t, slices.IsSorted(at), "%v", a)
		for i, sum := range integral(v.rate, at, v.to/10_000) {
			if !assert.InDelta(t, float64(i), sum, 1e-4, "%v at %v s", a, at[i]) {
				break
			}
		}
		// None is missing at the end.
		assert.InDelta(t, float64(len(at)), math.Ceil(integral(v.rate, []float64{v.to}, v.to/10_000)[0]), 1.01, "%v", a)
	}
}

// At random, the integrals of the rate between arrivals are exponential with mean 1 and independent, which is what makes it a
// Poisson process of that rate; and the count in each window has the mean and the variance of its law.
func TestVaryingPoisson(t *testing.T) {
	for _, v := range varyings() {
		a := v.a(false, 1)
		at := until(a, v.to)
		require.True(t, slices.IsSorted(at), "%v", a)
		sums := integral(v.rate, at, v.to/10_000)
		g := make([]float64, len(sums))
		var last float64
		for i, s := range sums {
			g[i], last = s-last, s
		}
		assertKS(t, g, distuv.Exponential{Rate: 1}.CDF, a)
		assert.InDelta(t, 0, stat.Correlation(g[1:], g[:len(g)-1], nil), 4/math.Sqrt(float64(len(g))), "%v", a)

		const windows, seeds = 100, 10
		edges := make([]float64, windows)
		for i := range edges {
			edges[i] = v.to * float64(i+1) / windows
		}
		laws := integral(v.rate, edges, v.to/10_000)
		for i := windows - 1; i > 0; i-- {
			laws[i] -= laws[i-1]
		}
		var all []float64 // (count − mean) / standard deviation
		means := make([]float64, windows)
		for seed := range uint64(seeds) {
			n := make([]float64, windows)
			for _, at := range until(v.a(false, seed), v.to) {
				n[int(at/v.to*windows)]++
			}
			for i := range n {
				means[i] += n[i] / seeds
				if laws[i] > 5 {
					all = append(all, (n[i]-laws[i])/math.Sqrt(laws[i]))
				}
			}
		}
		for i, law := range laws {
			assert.InDelta(t, law, means[i], 1e-9+4*math.Sqrt(law/seeds), "%v, window %d", a, i)
		}
		mean, variance := stat.MeanVariance(all, nil)
		assert.InDelta(t, 0, mean, 4/math.Sqrt(float64(len(all))), "%v", a)
		assert.InDelta(t, 1, variance, 4*math.Sqrt(2.2/float64(len(all))), "%v", a)
	}
}

// The rate at a point: gaps of evenly spaced arrivals are its inverse there.
func TestVaryingRateAtEachPoint(t *testing.T) {
	for _, v := range varyings() {
		a := v.a(true, 0)
		at := until(a, v.to)
		worst := 0.0
		for i := 1; i < len(at); i++ {
			gap, rate := at[i]-at[i-1], v.rate((at[i]+at[i-1])/2)
			if before, after := v.rate(at[i-1]), v.rate(at[i]); math.Abs(after-before) > 0.02*rate {
				continue // it changes too much within the gap
			}
			worst = max(worst, math.Abs(gap*rate-1))
		}
		assert.Less(t, worst, 1e-3, "%v", a)
	}
}

// What ends does, before the instant at which it ends; what has no rate at its end says so.
func TestVaryingEnds(t *testing.T) {
	down := Ramp{From: 10, To: 0, Over: 2 * time.Second, Even: true}
	assert.Len(t, take(down, 99), 10)
	assert.False(t, endless(down))
	assert.True(t, endless(Ramp{From: 0, To: 1, Over: 1}))
	two := Steps{Steps: []Step{{2, time.Second}, {0, time.Hour}, {1, 2 * time.Second}, {0, time.Second}}, Even: true}
	assert.Equal(t, []time.Duration{0, 500 * ms, 3601 * time.Second, 3602 * time.Second}, take(two, 99))
	assert.False(t, endless(two))
	two.Steps = two.Steps[:3]
	two.Steps[2].For = 0
	assert.True(t, endless(two))
	assert.Equal(t, 3603*time.Second, take(two, 5)[4])
	assert.True(t, endless(Sine{Mean: 1, Period: 1}))
	n := 0
	for range (Ramp{From: 10, To: 0, Over: 10 * time.Hour}).Times() {
		n++
	}
	assert.InDelta(t, 180_000, n, 4*math.Sqrt(180_000))
}

// Flat ones are those of a constant rate, and none comes out otherwise for being nearly flat or far on.
func TestVaryingAtItsLimits(t *testing.T) {
	for _, a := range []Arrivals{
		Ramp{From: 7, To: 7, Over: time.Minute, Even: true}, Ramp{From: 7, To: 7, Over: time.Minute, Exponential: true, Even: true},
		Ramp{From: 7, To: 7 + 1e-14, Over: time.Hour, Even: true}, Ramp{From: 7, To: 7 + 1e-14, Over: time.Hour, Exponential: true, Even: true},
		Sine{Mean: 7, Period: time.Minute, Phase: time.Second, Even: true}, Steps{Steps: []Step{{7, time.Second}, {7, time.Minute}, {Rate: 7}}, Even: true},
	} {
		for i, d := range take(a, 20_000) {
			if !assert.InDelta(t, float64(i)/7*1e9, float64(d), 3, "%v", a) {
				break
			}
		}
	}
	// A million days on, a day is still a day.
	s := Sine{Mean: 1. / 86_400, Amplitude: 0.9 / 86_400, Period: 24 * time.Hour, Even: true}
	at := take(s, 30_000)
	for i, d := range at {
		require.InDelta(t, float64(i)*86_400e9, float64(d), 1e4)
	}
}

// The equation that a sine is the solution of, also where its rate is 0.
func TestKepler(t *testing.T) {
	for _, e := range []float64{0, 0.1, 0.5, 0.99, 1} {
		for m := -1.0; m < 20; m += 0.01 {
			x := kepler(m, e)
			require.InDelta(t, m, x-e*math.Sin(x), 1e-14*max(1, m))
		}
		assert.InDelta(t, 2*math.Pi, kepler(2*math.Pi, e), 1e-5)
	}
}

// The counts of an MMPP have its mean rate, its index of dispersion in windows of any length and, far from a switch, the gaps
// of a Poisson process; with equal rates it is one.
func TestMMPP(t *testing.T) {
	for _, m := range []MMPP{
		{Quiet: Step{20, 2 * time.Second}, Burst: Step{200, 500 * ms}},
		{Quiet: Step{0, time.Second}, Burst: Step{100, time.Second}},
		{Quiet: Step{50, 100 * ms}, Burst: Step{50, 10 * ms}},
	} {
		l0, l1, r0, r1 := m.Quiet.Rate, m.Burst.Rate, 1/m.Quiet.For.Seconds(), 1/m.Burst.For.Seconds()
		rate := (l0*r1 + l1*r0) / (r0 + r1)
		const seeds = 20
		for _, window := range []time.Duration{100 * ms, time.Second, 10 * time.Second} {
			var all []float64
			for seed := range uint64(seeds) {
				m.Seed = seed
				all = append(all, counts(take(m, 20_000), window)...)
			}
			st := (r0 + r1) * window.Seconds()
			dispersion := 1 + 2*r0*r1*(l0-l1)*(l0-l1)/(math.Pow(r0+r1, 3)*rate)*(1-(1-math.Exp(-st))/st)
			mean, variance := stat.MeanVariance(all, nil)
			assert.InEpsilon(t, rate, mean/window.Seconds(), 0.05, "%v in %v", m, window)
			assert.InEpsilon(t, dispersion, variance/mean, 0.1, "%v in %v", m, window)
		}
	}
	// Of two states, both are begun in by their share of time: the very first window is like any other.
	m := MMPP{Quiet: Step{1, 3 * time.Second}, Burst: Step{100, time.Second}}
	var first []float64
	for m.Seed = range uint64(4000) {
		n := 0.0
		for range until(m, 0.2) {
			n++
		}
		first = append(first, n)
	}
	mean, variance := stat.MeanVariance(first, nil)
	assert.InDelta(t, 0.2*(3*1+1*100)/4, mean, 4*math.Sqrt(variance/4000))

	equal := MMPP{Quiet: Step{200, 10 * ms}, Burst: Step{200, 20 * ms}, Seed: 1}
	assertKS(t, gaps(take(equal, 50_000)), distuv.Exponential{Rate: 200}.CDF, equal)
	assert.True(t, endless(equal))
}

// A seed gives the same instants, another one others, and evenly spaced arrivals have none.
func TestVaryingSeeds(t *testing.T) {
	for _, v := range varyings() {
		assert.Equal(t, take(v.a(false, 7), 1000), take(v.a(false, 7), 1000))
		assert.NotEqual(t, take(v.a(false, 7), 1000), take(v.a(false, 8), 1000))
		assert.Equal(t, take(v.a(true, 7), 1000), take(v.a(true, 8), 1000))
	}
	m := MMPP{Quiet: Step{1, time.Second}, Burst: Step{9, time.Second}, Seed: 7}
	assert.Equal(t, take(m, 1000), take(m, 1000))
	for _, a := range []Arrivals{Weibull{Rate: 1, Shape: 1}, MMPP{}, Ramp{}, Steps{}, Sine{}} {
		p := Plan{Arrivals: a, Seed: 3}.withDefaults()
		assert.NotEqual(t, a, p.Arrivals, "a seed of 0 is derived from the plan's")
		assert.Equal(t, p.Arrivals, Plan{Arrivals: p.Arrivals, Seed: 4}.withDefaults().Arrivals)
	}
}

func TestArrivalsRefuse(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	sec := time.Second
	for _, c := range []struct {
		a    interface{ Validate() error }
		says string
	}{
		{Weibull{0, 1, 0}, "Weibull.Rate is 0"},
		{Weibull{nan, 1, 0}, "Weibull.Rate is NaN"},
		{Weibull{1, 0, 0}, "Weibull.Shape is 0, not between 0.1 and 1000 (1 is Poisson)"},
		{Weibull{1, inf, 0}, "Weibull.Shape is +Inf"},
		{Weibull{1, nan, 0}, "Weibull.Shape is NaN"},
		{Gamma{1, 1e-3, 0}, "Gamma.Burstiness is 0.001, not between 0.01 and 1e+09 (1 is Poisson)"},
		{Gamma{1, nan, 0}, "Gamma.Burstiness is NaN"},
		{MMPP{Quiet: Step{-1, sec}, Burst: Step{1, sec}}, "MMPP.Quiet.Rate is -1"},
		{MMPP{Quiet: Step{1, sec}, Burst: Step{inf, sec}}, "MMPP.Burst.Rate is +Inf"},
		{MMPP{Quiet: Step{1, 0}, Burst: Step{1, sec}}, "MMPP.Quiet.For is 0s"},
		{MMPP{Quiet: Step{1, sec}, Burst: Step{1, -sec}}, "MMPP.Burst.For is -1s"},
		{MMPP{Quiet: Step{0, sec}, Burst: Step{0, sec}}, "are both 0"},
		{MMPP{Quiet: Step{1, 1}, Burst: Step{1, 1}}, "2e-09 arrivals, less than 0.001"},
		{Ramp{From: -1, To: 1, Over: sec}, "Ramp.From is -1"},
		{Ramp{From: 1, To: nan, Over: sec}, "Ramp.To is NaN"},
		{Ramp{From: 1e10, To: 1, Over: sec}, "Ramp.From is 1e+10"},
		{Ramp{From: 0, To: 0, Over: sec}, "are both 0"},
		{Ramp{From: 0, To: 1, Over: sec, Exponential: true}, "Ramp.From is 0, not between 1e-09 and 1e+09 (an exponential ramp has no 0)"},
		{Ramp{From: 1, To: 0, Over: sec, Exponential: true}, "Ramp.To is 0"},
		{Ramp{From: 1, To: 2}, "Ramp.Over is 0s"},
		{Ramp{From: 1, To: 2, Over: math.MaxInt64}, "Ramp.Over is 2562047h47m16.854775807s"},
		{Steps{}, "Steps.Steps has no step with a rate"},
		{Steps{Steps: []Step{{0, sec}}}, "Steps.Steps has no step with a rate"},
		{Steps{Steps: []Step{{1, sec}, {-1, sec}}}, "Steps.Steps[1].Rate is -1"},
		{Steps{Steps: []Step{{1, 0}, {1, sec}}}, "Steps.Steps[0].For is 0s"},
		{Steps{Steps: []Step{{1, -sec}}}, "Steps.Steps[0].For is -1s"},
		{Steps{Steps: []Step{{1, sec}, {0, 0}}}, "Steps.Steps[1] is a pause without an end"},
		{Steps{Steps: []Step{{1, century}, {1, century}}}, "Steps.Steps[1].For is 876000h0m0s: all steps together"},
		{Sine{Mean: 0, Period: sec}, "Sine.Mean is 0"},
		{Sine{Mean: 1, Amplitude: 2, Period: sec}, "Sine.Amplitude is 2, not between 0 and the mean, 1"},
		{Sine{Mean: 1, Amplitude: nan, Period: sec}, "Sine.Amplitude is NaN"},
		{Sine{Mean: 1, Amplitude: -1, Period: sec}, "Sine.Amplitude is -1"},
		{Sine{Mean: 1}, "Sine.Period is 0s"},
		{Sine{Mean: 1, Period: sec, Phase: sec}, "Sine.Phase is 1s, not within a period, 1s"},
		{Sine{Mean: 1, Period: sec, Phase: -1}, "Sine.Phase is -1ns"},
	} {
		assert.ErrorContains(t, c.a.Validate(), c.says, "%+v", c.a)
	}
	assert.NoError(t, MMPP{Quiet: Step{0, sec}, Burst: Step{10, sec}}.Validate())
	assert.NoError(t, Sine{Mean: 1, Amplitude: 1, Period: sec}.Validate())
}
