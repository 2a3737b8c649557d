package workload

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const draws = 200_000

// sample is draws lengths of a law, sorted.
func sample(l Lengths, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 99))
	xs := make([]float64, draws)
	for i := range xs {
		xs[i] = float64(l.Draw(r))
	}
	sort.Float64s(xs)
	return xs
}

// share is how much of a sorted sample is at most x.
func share(xs []float64, x float64) float64 {
	return float64(sort.Search(len(xs), func(i int) bool { return xs[i] > x })) / float64(len(xs))
}

// requireCDF compares a sample of whole numbers with its law's distribution function at each whole number: the
// Kolmogorov-Smirnov statistic. Its bound 1.95/√n is exceeded by a right law in one of a thousand samples; on a lattice
// in fewer.
func requireCDF(t *testing.T, xs []float64, cdf func(n float64) float64) {
	t.Helper()
	worst, at := 0.0, 0.0
	for n := xs[0] - 1; n <= xs[len(xs)-1]; n++ {
		if d := math.Abs(share(xs, n) - cdf(n)); d > worst {
			worst, at = d, n
		}
	}
	require.Lessf(t, worst, 1.95/math.Sqrt(float64(len(xs))), "the distribution functions are apart at %v", at)
}

func TestFixed(t *testing.T) {
	xs := sample(Fixed(128), 1)
	assert.Equal(t, []float64{128, 128}, []float64{xs[0], xs[draws-1]})
	assert.Equal(t, "fixed 128", Fixed(128).String())
}

func TestUniformFollowsItsLaw(t *testing.T) {
	u := Uniform{10, 250}
	xs := sample(u, 2)
	requireCDF(t, xs, func(n float64) float64 { return min(max((n-9)/241, 0), 1) })
	assert.Equal(t, []float64{10, 250}, []float64{xs[0], xs[draws-1]}, "both bounds are drawn")
	assert.Equal(t, 7, Uniform{7, 7}.Draw(rand.New(rand.NewPCG(1, 1))))
	assert.Equal(t, "uniform 10 to 250", u.String())
}

func TestLogNormalFollowsItsLaw(t *testing.T) {
	l := LogNormal{Median: 300, Sigma: 0.7}
	law := distuv.LogNormal{Mu: math.Log(300), Sigma: 0.7}
	requireCDF(t, sample(l, 3), func(n float64) float64 { return law.CDF(n + 0.5) })
	assert.Equal(t, "log-normal with median 300, sigma 0.7", l.String())
}

func TestLogNormalOfShortLengthsStaysAboveZero(t *testing.T) {
	xs := sample(LogNormal{Median: 1, Sigma: 1}, 4)
	assert.Equal(t, 1.0, xs[0])
	law := distuv.LogNormal{Sigma: 1}
	assert.InDelta(t, law.CDF(1.5), share(xs, 1), 0.005, "what rounds to 0 is 1")
}

func TestLogNormalByPercentile(t *testing.T) {
	for _, c := range []struct{ median, percent, tokens float64 }{{1020, 95, 4083}, {1020, 25, 396}, {129, 99.9, 900}} {
		l, err := LogNormalByPercentile(c.median, c.percent, c.tokens)
		require.NoError(t, err)
		law := distuv.LogNormal{Mu: math.Log(l.Median), Sigma: l.Sigma}
		assert.InEpsilon(t, c.tokens, law.Quantile(c.percent/100), 1e-9)
		assert.InEpsilon(t, c.median, law.Quantile(0.5), 1e-9)
	}
}

func TestLogNormalByMean(t *testing.T) {
	l, err := LogNormalByMean(1154.7, 900)
	require.NoError(t, err)
	law := distuv.LogNormal{Mu: math.Log(l.Median), Sigma: l.Sigma}
	assert.InEpsilon(t, 1154.7, law.Mean(), 1e-9)
	assert.InEpsilon(t, 900, law.StdDev(), 1e-9)
	xs := sample(l, 5)
	mean, sd := stat.MeanStdDev(xs, nil)
	assert.InDelta(t, 1154.7, mean, 4*900/math.Sqrt(draws))
	assert.InEpsilon(t, 900, sd, 0.03)

	same, err := LogNormalByMean(50, 0)
	require.NoError(t, err)
	assert.Equal(t, LogNormal{Median: 50}, same)
}

func TestHistogramFollowsItsLaw(t *testing.T) {
	h := Histogram{Edges: []int{1, 2, 10, 100, 101}, Counts: []float64{5, 0, 90, 5}}
	require.NoError(t, h.Validate())
	requireCDF(t, sample(h, 6), func(n float64) float64 {
		switch {
		case n < 1:
			return 0
		case n < 10:
			return 0.05
		case n < 100:
			return 0.05 + 0.9*(n-9)/90
		}
		return 1
	})
	assert.Equal(t, "histogram of 4 bins from 1 to 100", h.String())
	assert.Equal(t, "histogram of no bins", Histogram{}.String())
}

func TestPercentilesFollowTheirLaw(t *testing.T) {
	p := Percentiles{{0, 1}, {50, 100}, {75, 100}, {100, 1000}}
	require.NoError(t, p.Validate())
	xs := sample(p, 7)
	requireCDF(t, xs, func(n float64) float64 {
		switch {
		case n < 1:
			return 0
		case n < 100:
			return 0.5 * math.Log(n) / math.Log(100)
		case n < 1000:
			return 0.75 + 0.25*math.Log(n/100)/math.Log(10)
		}
		return 1
	})
	assert.Equal(t, "percentiles P0 1, P50 100, P75 100, P100 1000", p.String())
}

// The law gives back the percentiles that it was made from.
func TestAzureShapesReproduceThePercentiles(t *testing.T) {
	for _, s := range []Shape{AzureConversation(), AzureCode()} {
		for _, l := range []Lengths{s.Input, s.Output} {
			xs, points := sample(l, 8), l.(Percentiles)
			for i, p := range points {
				if i+1 < len(points) && points[i+1].Tokens == p.Tokens {
					continue // P0 of a minimum that P1 shares
				}
				q := p.Percent / 100
				if q == 0 {
					q = 1 / float64(draws) / 2
				}
				assert.InDeltaf(t, q, share(xs, p.Tokens), 4*math.Sqrt(q*(1-q)/draws)+0.002, "%s: P%v", s.Name, p.Percent)
			}
			assert.LessOrEqual(t, xs[draws-1], points[len(points)-1].Tokens)
			assert.GreaterOrEqual(t, xs[0], points[0].Tokens)
		}
		assert.Contains(t, s.String(), s.Name+": input percentiles")
	}
}

func TestAzureMeansAreThoseOfTheComment(t *testing.T) {
	mean := func(l Lengths) float64 { return stat.Mean(sample(l, 9), nil) }
	conv, code := AzureConversation(), AzureCode()
	assert.InEpsilon(t, 1142, mean(conv.Input), 0.01)
	assert.InEpsilon(t, 208, mean(conv.Output), 0.01)
	assert.InEpsilon(t, 2042, mean(code.Input), 0.01)
	assert.InEpsilon(t, 30.6, mean(code.Output), 0.02)
}

func TestTruncatedIsTheConditionalLaw(t *testing.T) {
	law := distuv.LogNormal{Mu: math.Log(300), Sigma: 1}
	l := Truncated{LogNormal{300, 1}, 100, 1000}
	require.NoError(t, l.Validate())
	lo, hi := law.CDF(99.5), law.CDF(1000.5)
	xs := sample(l, 10)
	requireCDF(t, xs, func(n float64) float64 {
		return min(max((law.CDF(n+0.5)-lo)/(hi-lo), 0), 1)
	})
	assert.GreaterOrEqual(t, xs[0], 100.0)
	assert.LessOrEqual(t, xs[draws-1], 1000.0)
	assert.Equal(t, "log-normal with median 300, sigma 1, from 100 to 1000", l.String())
}

func TestTruncatedEndsWhateverTheLaw(t *testing.T) {
	// Never validated, and with nothing within the bounds.
	n := Truncated{Fixed(5), 10, 20}.Draw(rand.New(rand.NewPCG(1, 1)))
	assert.Equal(t, 10, n)
}

func TestLawsAreRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		l    interface{ Validate() error }
		want string
	}{
		{Fixed(0), "Fixed: is 0 tokens; want 1 to 4194304"},
		{Fixed(MaxLength + 1), "Fixed: is 4194305"},
		{Uniform{0, 5}, "Uniform.Min: is 0"},
		{Uniform{1, MaxLength + 1}, "Uniform.Max: is 4194305"},
		{Uniform{9, 8}, "Uniform: Min 9 is above Max 8"},
		{LogNormal{0, 1}, "LogNormal.Median: is 0"},
		{LogNormal{nan, 1}, "LogNormal.Median: is NaN"},
		{LogNormal{inf, 1}, "LogNormal.Median: is +Inf"},
		{LogNormal{9, -1}, "LogNormal.Sigma: is -1"},
		{LogNormal{9, nan}, "LogNormal.Sigma: is NaN"},
		{LogNormal{9, 6}, "LogNormal.Sigma: is 6"},
		{Histogram{}, "Histogram: has 0 edges and 0 counts"},
		{Histogram{[]int{1, 2, 3}, []float64{1}}, "Histogram: has 3 edges and 1 counts"},
		{Histogram{[]int{0, 2}, []float64{1}}, "edge 0 is 0 tokens"},
		{Histogram{[]int{1, MaxLength + 2}, []float64{1}}, "edge 1 is 4194306 tokens"},
		{Histogram{[]int{2, 2}, []float64{1}}, "edge 1 is 2 after 2"},
		{Histogram{[]int{1, 2}, []float64{0}}, "their sum is 0"},
		{Histogram{[]int{1, 2, 3}, []float64{1, -1}}, "count 1 is -1"},
		{Histogram{[]int{1, 2}, []float64{nan}}, "count 0 is NaN"},
		{Histogram{[]int{1, 2}, []float64{inf}}, "their sum is +Inf"},
		{Percentiles{}, "want a first point at 0 percent"},
		{Percentiles{{0, 1}, {99, 5}}, "and a last at 100"},
		{Percentiles{{1, 1}, {100, 5}}, "want a first point at 0 percent"},
		{Percentiles{{0, 0.5}, {100, 5}}, "P0 is 0.5 tokens"},
		{Percentiles{{0, 1}, {100, nan}}, "P100 is NaN tokens"},
		{Percentiles{{0, 1}, {50, 5}, {50, 6}, {100, 7}}, "point 2 is at 50 percent after 50"},
		{Percentiles{{0, 1}, {nan, 5}, {100, 7}}, "point 1 is at NaN"},
		{Percentiles{{0, 1}, {50, 5}, {100, 4}}, "P100 is 4 tokens, less than P50 with 5"},
		{Truncated{nil, 1, 2}, "Truncated.Lengths: is nil"},
		{Truncated{Fixed(0), 1, 2}, "Truncated.Lengths: workload: Fixed: is 0 tokens"},
		{Truncated{Fixed(5), 0, 2}, "Truncated.Min: is 0"},
		{Truncated{Fixed(5), 3, 2}, "Truncated: Min 3 is above Max 2"},
		{Truncated{Fixed(5), 6, 9}, "0 of 2000 lengths of fixed 5 lie from 6 to 9"},
	} {
		err := c.l.Validate()
		require.ErrorContains(t, err, c.want)
		var oe *OptionError
		require.ErrorAs(t, err, &oe)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestLogNormalConstructorsRefuse(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct{ median, percent, tokens float64 }{
		{100, 50, 200}, {100, 0, 200}, {100, 100, 200}, {100, nan, 200}, {100, 95, 50}, {100, 5, 200}, {0, 95, 50},
		{nan, 95, 5}, {inf, 95, 5}, {100, 95, inf}, {100, 95, nan}, {0.5, 95, 0.6}, {1, 51, 1e9},
	} {
		_, err := LogNormalByPercentile(c.median, c.percent, c.tokens)
		assert.Error(t, err, "%v", c)
	}
	for _, c := range [][2]float64{{0, 1}, {-1, 1}, {nan, 1}, {10, -1}, {10, nan}, {inf, 1}, {10, inf}, {1, 1}} {
		_, err := LogNormalByMean(c[0], c[1])
		assert.Error(t, err, "%v", c)
	}
}
