package capacity

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/goodputkit/goodputkit/loadgen"
)

// falling is a system whose limit is 64 requests/s at the first probe, and less by a share of that at each one after it.
func falling(share float64) loadgen.Runner {
	n := 0
	return func(ctx context.Context, p loadgen.Plan) (*loadgen.Result, error) {
		limit := 64 * (1 - share*float64(n))
		n++
		return made(func(rate float64) float64 { return 1 / (1 + 9*math.Exp(20*(1-rate/limit))) }, nil)(ctx, p)
	}
}

func TestSearchOfASystemThatGetsWorse(t *testing.T) {
	l, err := Search(t.Context(), falling(0.05), madePlan(), WithArrivals(constant), WithStart(16))
	require.NoError(t, err)
	require.NotEmpty(t, l.Warnings)
	require.ErrorIs(t, l.Warnings[0], ErrDrift)
	assert.Regexp(t, `^the system got worse while it was searched: .+ missed e2e p90 < 100ms at .+/s \(probe \d+\), and later .+ at .+/s \(probe \d+\)`, l.Warnings[0].Error())

	l, err = Search(t.Context(), falling(0), madePlan(), WithArrivals(constant), WithStart(16))
	require.NoError(t, err)
	assert.InEpsilon(t, 64, l.Rate, 0.03)
	assert.Empty(t, l.Warnings)
}

func TestDriftIsThatOfALaterProbeAtNoHigherRate(t *testing.T) {
	good, bad := observation{50, 0.05, 4000, 1000}, observation{50, 0.15, 4000, 1000}
	at := func(rate float64, o observation) observation { o.rate = rate; return o }
	for name, c := range map[string]struct {
		of   []observation
		want bool
	}{
		"the same rate":            {[]observation{good, bad}, true},
		"a lower one":              {[]observation{good, at(49, bad)}, true},
		"a higher one":             {[]observation{good, at(51, bad)}, false},
		"better":                   {[]observation{bad, good}, false},
		"the same":                 {[]observation{good, good}, false},
		"nothing bad":              {[]observation{at(50, observation{0, 0, 100, 100}), at(50, observation{0, 0, 100, 100})}, false},
		"one":                      {[]observation{good}, false},
		"few requests that differ": {[]observation{{50, 0.05, 4000, 20}, {50, 0.15, 4000, 20}}, false},
	} {
		d, ok := probed(c.of...).worse()
		assert.Equal(t, c.want, ok, name)
		if c.want {
			assert.Equal(t, [2]int{1, 2}, d.nth, name)
		}
	}
}

// Of 15 and 30 bad ones among 100 each the pooled standard error is √(0.225·0.775·0.02) = 0.05905, that of one each
// √(0.1275/100 + 0.21/100) = 0.05809.
func TestApart(t *testing.T) {
	a, b := observation{1, 0.15, 100, 100}, observation{1, 0.30, 100, 100}
	assert.InDelta(t, 0.15/0.0590550, apart(a, b), 1e-4)
	assert.InDelta(t, -0.15/0.0590550, apart(b, a), 1e-4)
	// 2 of 7 beside none of 400: one each, √(0.2857·0.7143/7) = 0.17075.
	assert.InDelta(t, 0.285714/0.170747, apart(observation{1, 0, 400, 400}, observation{1, 2.0 / 7, 7, 7}), 1e-4)
}

// A system that stays as it is, whose requests are bad independently of each other, is warned of in 1 % of its searches at most: of
// 1,000 that are more than 20 are seen once in a thousand times.
func TestNoFalseDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alarms := 0
	for range 1000 {
		var of []observation
		for i := range 15 {
			rate := 50 + float64(i%2) // by turns, as a search does; each is repeated
			n := 200 + 2000*r.Float64()
			bad := distuv.Binomial{N: float64(int(n)), P: 0.08 + 0.02*float64(i%2), Src: r}.Rand()
			of = append(of, observation{rate, bad / float64(int(n)), float64(int(n)), float64(int(n))})
		}
		if _, ok := probed(of...).worse(); ok {
			alarms++
		}
	}
	assert.LessOrEqual(t, alarms, 20)
}
