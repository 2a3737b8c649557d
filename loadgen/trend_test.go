package loadgen

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/goodputkit/goodputkit/internal/race"
)

// Of 160·2^k values none is left over, and the stretches are twentieths of the sequence.
func TestTrend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	differed, same := 0, 0
	for range 300 {
		n := 160 << (1 + r.IntN(4))
		rise := 3 * r.Float64()
		noise := 5 * r.Float64()
		xs := make([]float64, n)
		var got trend
		for i := range xs {
			xs[i] = 5 + rise*float64(i)/float64(n) + noise*r.NormFloat64()
			got.add(xs[i])
		}
		var means [20]float64
		for i := range means {
			means[i] = stat.Mean(xs[i*n/20:(i+1)*n/20], nil)
		}
		a, va := stat.MeanVariance(means[:10], nil)
		b, vb := stat.MeanVariance(means[10:], nil)
		first, second, differ := got.halves()
		require.InEpsilon(t, a, first, 1e-9)
		require.InEpsilon(t, b, second, 1e-9)
		require.Equal(t, math.Abs(b-a)/math.Sqrt((va+vb)/10) > 4 && math.Abs(b-a)/((a+b)/2) > 0.1, differ)
		if differ {
			differed++
		} else {
			same++
		}
		require.Less(t, len(got.sums), trendSums)
	}
	assert.Greater(t, differed, 20)
	assert.Greater(t, same, 100)

	for n, want := range map[int]bool{0: false, 199: false, 200: true, 219: true, 319: true, 321: true, 1_000_000: true} {
		var steps, none trend
		for i := range n {
			steps.add(float64(1 + 2*i/n))
			none.add(1)
		}
		_, _, differ := steps.halves()
		assert.Equal(t, want, differ, n)
		_, _, differ = none.halves()
		assert.False(t, differ, n)
	}
}

// An M/M/1 queue beyond its capacity has no steady state. MSER-5 finds one now and then, in a pause of the rise; the window then
// says of most of these that it was none. Of one that has a steady state it hardly ever does.
func TestWarmupAutoSeesATrend(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine, and many runs")
	}
	const seeds = 60
	for _, c := range []struct {
		rate                 float64
		d                    time.Duration
		fewest, most, unseen int // runs with a trend, and those in which neither warns
	}{
		{0.5, 1000 * time.Second, 0, 1, seeds},
		{0.7, 1000 * time.Second, 0, 1, seeds},
		{1.1, 1000 * time.Second, 10, seeds, 4},
		{1.3, 400 * time.Second, 8, seeds, 2},
	} {
		trends, missed := 0, 0
		for seed := range uint64(seeds) {
			p := auto(c.d)
			p.Timeout, p.Arrivals = 1000*time.Hour, Poisson{Rate: c.rate, Seed: seed + 1}
			res, err := Simulate(t.Context(), p, Description{}, &queue{service: exponential(1, seed+1000)})
			require.NoError(t, err)
			for _, w := range res.Report.Warnings {
				switch {
				case strings.Contains(w.Error(), "at the latest"):
					missed++
				case strings.Contains(w.Error(), "from its first half to its second the window's mean of e2e goes from "):
					assert.ErrorIs(t, w, ErrTransient)
					trends++
				}
			}
		}
		t.Logf("ρ = %v, %v: of %d runs %d end at the bound, and %d have a trend", c.rate, c.d, seeds, missed, trends)
		assert.GreaterOrEqual(t, trends, c.fewest, "ρ = %v", c.rate)
		assert.LessOrEqual(t, trends, c.most, "ρ = %v", c.rate)
		assert.LessOrEqual(t, seeds-missed-trends, c.unseen, "ρ = %v", c.rate)
	}
}
