package percentile

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/race"
)

// A law makes value i of n.
type law struct {
	name string
	next func(r *rand.Rand, i, n int) float64
}

var laws = []law{
	{"lognormal", func(r *rand.Rand, _, _ int) float64 { return math.Exp(r.NormFloat64()) }},
	{"uniform", func(r *rand.Rand, _, _ int) float64 { return r.Float64() }},
	{"exponential", func(r *rand.Rand, _, _ int) float64 { return r.ExpFloat64() }},
	{"pareto", func(r *rand.Rand, _, _ int) float64 { return math.Pow(1-r.Float64(), -1/1.5) }},
	{"normal", func(r *rand.Rand, _, _ int) float64 { return 10 + 2*r.NormFloat64() }},
	{"sorted", func(_ *rand.Rand, i, _ int) float64 { return float64(i + 1) }},
	{"reversed", func(_ *rand.Rand, i, n int) float64 { return float64(n - i) }},
	{"constant", func(*rand.Rand, int, int) float64 { return 0.25 }},
	// Not stationary: a load that grows, and one that takes a step.
	{"growing", func(r *rand.Rand, i, n int) float64 {
		return (1 + 5*float64(i)/float64(n)) * math.Exp(r.NormFloat64())
	}},
	{"step", func(r *rand.Rand, i, n int) float64 {
		x := math.Exp(0.5 * r.NormFloat64())
		if i > n/2 {
			x *= 1.7
		}
		return x
	}},
	{"narrowing", func(r *rand.Rand, i, n int) float64 {
		return math.Exp((1 - 0.99*float64(i)/float64(n)) * r.NormFloat64())
	}},
	{"sawtooth", func(r *rand.Rand, i, _ int) float64 { return float64(i%5000) + 1 + r.Float64() }},
}

func (l law) values(seed uint64, n int) []float64 {
	r := newRand(seed)
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = l.next(r, i, n)
	}
	return xs
}

// valueBound is the relative error that is documented for a quantile.
func valueBound(q float64) float64 {
	switch {
	case q <= 0.99:
		return 0.002
	case q <= 0.999:
		return 0.005
	}
	return 0.01
}

// type7 is the quantile of sorted values, written down apart from the package.
func type7(sorted []float64, q float64) float64 {
	h := q * float64(len(sorted)-1)
	i := int(math.Floor(h))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (h-math.Floor(h))*(sorted[i+1]-sorted[i])
}

func sortedCopy(xs []float64) []float64 {
	xs = slices.Clone(xs)
	slices.Sort(xs)
	return xs
}

// requireWithin compares quantiles with those of sorted values, allowing times
// the documented bound.
func requireWithin(t *testing.T, sorted []float64, d *Digest, times float64, qs ...float64) {
	t.Helper()
	require.Equal(t, uint64(len(sorted)), d.Count())
	require.Equal(t, sorted[0], d.Min())
	require.Equal(t, sorted[len(sorted)-1], d.Max())
	for _, q := range qs {
		want, got := type7(sorted, q), d.Quantile(q)
		require.InEpsilon(t, want, got, times*valueBound(q), "P%v of %d", 100*q, len(sorted))
	}
}

var boundedQ = []float64{0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999}

func TestValueError(t *testing.T) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{1000, 5000, 10_000, 30_000, 100_000, 1_000_000} {
				if race.Enabled && n > 30_000 {
					continue // ten times as slow, and nothing here is at once
				}
				seeds := 3
				switch {
				case n == 1_000_000:
					seeds = 1
				case n > 10_000:
					seeds = 2
				}
				for seed := range seeds {
					xs := l.values(uint64(seed), n)
					d := New()
					d.AddSlice(xs)
					requireWithin(t, sortedCopy(xs), d, 1, boundedQ...)
				}
			}
		})
	}
}

// Where the values are about zero, a relative error means nothing.
func TestErrorAboutZero(t *testing.T) {
	for _, n := range []int{1000, 10_000, 100_000} {
		r := newRand(uint64(n))
		xs := make([]float64, n)
		d := New()
		for i := range xs {
			xs[i] = r.NormFloat64()
			d.Add(xs[i])
		}
		sorted := sortedCopy(xs)
		requireWithin(t, sorted, d, 1, 0.01, 0.05, 0.1, 0.9, 0.95, 0.99, 0.999, 0.9999)
		for q := 0.3; q < 0.7; q += 0.01 {
			require.InDelta(t, type7(sorted, q), d.Quantile(q), 0.003)
		}
	}
}

// Values below zero may be none, single ones at the end, many, or all.
func TestErrorAcrossZero(t *testing.T) {
	for _, less := range []float64{0.02, 0.2, 1, 1000} {
		for _, sign := range []float64{1, -1} {
			xs := laws[0].values(3, 200_000)
			for i := range xs {
				xs[i] = sign * (xs[i] - less)
			}
			d := New()
			d.AddSlice(xs)
			sorted := sortedCopy(xs)
			for _, q := range []float64{0, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1 - 1e-4, 1 - 1e-5, 1} {
				require.LessOrEqual(t, rankError(sorted, d.Quantile(q), q), 0.0005, "P%v less %v", 100*q, less)
			}
			require.InDelta(t, float64(sort.SearchFloat64s(sorted, 0))/200_000, d.Rank(0), 0.0005)
			require.Equal(t, sorted[10], d.Quantile(10.0/199_999))
		}
	}
}

func TestValueErrorOfTenMillion(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("takes seconds")
	}
	// To sort so many would take longer than the rest: they are counted in 10⁶
	// equal shares of the law instead.
	const n, shares = 10_000_000, 1_000_000
	pareto := func(p float64) float64 { return math.Pow(1-p, -1/1.5) }
	r := newRand(1)
	d := New()
	counts := make([]int32, shares)
	for range n {
		p := r.Float64()
		counts[int(p*shares)]++
		d.Add(pareto(p))
	}
	for _, q := range boundedQ {
		// The sample's own quantile, to within 10⁻⁶ in p.
		rank, i := int32(q*(n-1)), 0
		for ; rank >= counts[i]; i++ {
			rank -= counts[i]
		}
		want := pareto((float64(i) + float64(rank)/float64(counts[i])) / shares)
		assert.InEpsilon(t, want, d.Quantile(q), 2*valueBound(q), "P%v", 100*q)
	}
}

// rankError is how far the values around x are from rank q, as a share.
func rankError(sorted []float64, x, q float64) float64 {
	below := float64(sort.SearchFloat64s(sorted, x))
	upto := float64(sort.Search(len(sorted), func(i int) bool { return sorted[i] > x }))
	r := q * float64(len(sorted)-1)
	return max(below-1-r, r-upto, 0) / float64(len(sorted))
}

func bimodal(r *rand.Rand, n int, spread float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		m := 0.1
		if r.Float64() >= 0.95 {
			m = 5
		}
		xs[i] = m * math.Exp(spread*r.NormFloat64())
	}
	return xs
}

func TestRankErrorAtAGap(t *testing.T) {
	for _, spread := range []float64{0, 0.02, 0.1, 0.3} {
		for _, n := range []int{1000, 10_000, 30_000, 100_000, 1_000_000} {
			if race.Enabled && n > 30_000 {
				continue
			}
			xs := bimodal(newRand(uint64(n)), n, spread)
			d := New()
			d.AddSlice(xs)
			slices.Sort(xs)
			for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999} {
				bound := 1e-4
				if q != 0.95 { // not at the gap
					bound += 2 / float64(n)
				}
				require.LessOrEqual(t, rankError(xs, d.Quantile(q), q), bound, "P%v of %d, spread %v", 100*q, n, spread)
			}
		}
	}
}

// A gap is one of several as well as the only one.
func TestRankErrorOfManyModes(t *testing.T) {
	const n = 100_000
	for _, modes := range []int{3, 8, 16} {
		r := newRand(uint64(modes))
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = 10 + float64(r.IntN(modes)) + 0.02*r.NormFloat64()
		}
		d := New()
		d.AddSlice(xs)
		slices.Sort(xs)
		for q := 0.001; q < 1; q += 0.001 {
			require.LessOrEqual(t, rankError(xs, d.Quantile(q), q), 4e-4, "P%v of %d modes", 100*q, modes)
		}
	}
}

func TestErrorAfterManyMerges(t *testing.T) {
	parts, each, some := 1000, 1000, laws[:8]
	if race.Enabled {
		each, some = 100, laws[:1]
	}
	for _, l := range some {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			xs := l.values(1, parts*each)
			sorted := sortedCopy(xs)
			r := newRand(2)
			orders := []string{"random"}
			switch l.name {
			case "lognormal", "sorted", "reversed": // of the latter, each part is a stretch of its own
				orders = []string{"forward", "backward", "random", "tree"}
			}
			for _, order := range orders {
				requireWithin(t, sorted, mergeAll(partsOf(xs, parts), order, r), 1.5, boundedQ...)
			}
			// Larger parts, squeezed before they are merged.
			requireWithin(t, sorted, mergeAll(partsOf(xs, 50), "random", r), 1.5, boundedQ...)
		})
	}
	t.Run("gap", func(t *testing.T) {
		xs := bimodal(newRand(3), parts*each, 0.1)
		d := mergeAll(partsOf(xs, parts), "random", newRand(4))
		slices.Sort(xs)
		for _, q := range []float64{0.5, 0.9, 0.95, 0.99} {
			require.LessOrEqual(t, rankError(xs, d.Quantile(q), q), 1.5e-4, "P%v", 100*q)
		}
	})
}

// partsOf returns digests of n equal parts of the values.
func partsOf(xs []float64, n int) []*Digest {
	ds := make([]*Digest, n)
	for i := range ds {
		ds[i] = New()
		ds[i].AddSlice(xs[i*len(xs)/n : (i+1)*len(xs)/n])
	}
	return ds
}

func mergeAll(ds []*Digest, order string, r *rand.Rand) *Digest {
	switch order {
	case "backward":
		slices.Reverse(ds)
	case "random":
		r.Shuffle(len(ds), func(i, j int) { ds[i], ds[j] = ds[j], ds[i] })
	case "tree":
		for len(ds) > 1 {
			k := (len(ds) + 1) / 2
			for i := range len(ds) - k {
				ds[i].Merge(ds[k+i])
			}
			ds = ds[:k]
		}
		return ds[0]
	}
	d := New()
	for _, o := range ds {
		d.Merge(o)
	}
	return d
}

// Quantile is a function that only rises, Rank its inverse.
func TestQuantileAndRankAgree(t *testing.T) {
	for _, l := range laws {
		xs := l.values(5, 40_000)
		d := New()
		d.AddSlice(xs)
		n := float64(len(xs))
		prev, prevRank := math.Inf(-1), 0.0
		for q := 0.0; q <= 1; q += 1.0 / 1024 {
			x := d.Quantile(q)
			require.GreaterOrEqual(t, x, prev, "%s q=%v", l.name, q)
			rank := d.Rank(x)
			require.GreaterOrEqual(t, rank, prevRank, "%s q=%v", l.name, q)
			if l.name != "constant" {
				require.InDelta(t, q, rank, 2/n, "%s q=%v", l.name, q)
			}
			prev, prevRank = x, rank
		}
	}
}
