package percentile

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// binomialCDF sums the probabilities, each by the one before.
func binomialCDF(n int, p float64, k int) float64 {
	if k >= n {
		return 1
	}
	logP := float64(n) * math.Log1p(-p)
	s := 0.0
	for i := 0; i <= k; i++ {
		s += math.Exp(logP)
		logP += math.Log(float64(n-i)/float64(i+1)) + math.Log(p/(1-p))
	}
	return s
}

func TestIntervalRanks(t *testing.T) {
	for _, n := range []int{1, 2, 5, 10, 60, 100, 500, 3000} {
		for _, q := range []float64{0.01, 0.5, 0.9, 0.95, 0.99, 0.999} {
			for _, confidence := range []float64{0.5, 0.9, 0.95, 0.99} {
				α := (1 - confidence) / 2
				l, u := intervalRanks(uint64(n), q, confidence)
				// x(l) is above the quantile with at most α, x(l+1) with more.
				if l >= 1 {
					require.LessOrEqual(t, binomialCDF(n, q, int(l)-1), α*(1+1e-9), "n=%d q=%v c=%v", n, q, confidence)
				}
				require.Greater(t, binomialCDF(n, q, int(l)), α*(1-1e-9), "n=%d q=%v c=%v", n, q, confidence)
				// x(u) is at or below it with at most α, x(u−1) with more.
				if u <= float64(n) {
					require.GreaterOrEqual(t, binomialCDF(n, q, int(u)-1), (1-α)*(1-1e-9), "n=%d q=%v c=%v", n, q, confidence)
				}
				if u >= 2 {
					require.Less(t, binomialCDF(n, q, int(u)-2), (1-α)*(1+1e-9), "n=%d q=%v c=%v", n, q, confidence)
				}
			}
		}
	}
}

// Where the expansion takes over it is at most a rank wider than the exact ranks.
func TestIntervalRanksOfMany(t *testing.T) {
	for _, n := range []int{5000, 50_000, 120_000} {
		for _, q := range []float64{0.5, 0.9, 0.99} {
			if float64(n)*q*(1-q) <= 1000 {
				continue
			}
			for _, confidence := range []float64{0.9, 0.95, 0.99} {
				α := (1 - confidence) / 2
				l, u := intervalRanks(uint64(n), q, confidence)
				require.LessOrEqual(t, binomialCDF(n, q, int(l)-1), α)
				require.Greater(t, binomialCDF(n, q, int(l)+2), α)
				require.GreaterOrEqual(t, binomialCDF(n, q, int(u)-1), 1-α)
				require.Less(t, binomialCDF(n, q, int(u)-4), 1-α)
			}
		}
	}
}

func TestIntervalCovers(t *testing.T) {
	r := newRand(1)
	const runs, n, q = 1000, 400, 0.95
	truth := -math.Log1p(-q)
	below, above := 0, 0
	for range runs {
		d := New()
		for range n {
			d.Add(r.ExpFloat64())
		}
		lo, hi := d.Interval(q, 0.95)
		x := d.Quantile(q)
		require.True(t, lo <= x && x <= hi)
		if truth < lo {
			below++
		}
		if truth > hi {
			above++
		}
	}
	// At most 2.5 % on each side; 3.5 standard deviations more by chance.
	limit := 0.025*runs + 3.5*math.Sqrt(0.025*runs)
	assert.Less(t, float64(below), limit)
	assert.Less(t, float64(above), limit)
	assert.Greater(t, below+above, runs/100, "much too wide")
}

// A percentile at a gap: the bracket spans it.
func TestIntervalAtAGap(t *testing.T) {
	for _, n := range []int{1000, 20_000} {
		d := New()
		xs := bimodal(newRand(2), n, 0.1)
		d.AddSlice(xs)
		slices.Sort(xs)
		lo, hi := d.Interval(0.95, 0.95)
		l, u := intervalRanks(uint64(n), 0.95, 0.95)
		assert.InEpsilon(t, xs[int(l)-1], lo, 0.01)
		assert.InEpsilon(t, xs[int(u)-1], hi, 0.01)
		assert.Less(t, lo, 0.15)
		assert.Greater(t, hi, 3.0)
	}
}

func TestIntervalThatTheSampleCannotBound(t *testing.T) {
	d := New()
	for i := range 50 {
		d.Add(float64(i))
	}
	lo, hi := d.Interval(0.99, 0.95)
	assert.Equal(t, math.Inf(1), hi, "50 values do not bound P99 from above")
	assert.Equal(t, 47.0, lo) // P(B ≤ 47) = 1.4 %, P(B ≤ 48) = 8.9 %
	lo, _ = d.Interval(0.01, 0.95)
	assert.Equal(t, math.Inf(-1), lo)
}

func TestIntervalOfNonsense(t *testing.T) {
	d := New()
	d.Add(1)
	for _, c := range [][2]float64{{0, 0.95}, {1, 0.95}, {math.NaN(), 0.95}, {-1, 0.9}, {0.5, 0}, {0.5, 1}, {0.5, math.NaN()}, {0.5, 95}} {
		lo, hi := d.Interval(c[0], c[1])
		assert.True(t, math.IsNaN(lo) && math.IsNaN(hi), "%v", c)
	}
}
