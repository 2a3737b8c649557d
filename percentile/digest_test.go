package percentile

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/exp/stats"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

var someQ = []float64{0, 1e-4, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1}

// requireExact compares all that a digest says with its values.
func requireExact(t *testing.T, xs []float64, d *Digest) {
	t.Helper()
	xs = slices.Clone(xs)
	slices.Sort(xs)
	require.Equal(t, uint64(len(xs)), d.Count())
	require.Equal(t, xs[0], d.Min())
	require.Equal(t, xs[len(xs)-1], d.Max())
	want := stats.Quantiles(xs, someQ...)
	var s float64
	for _, x := range xs {
		s += x
	}
	require.InDelta(t, s, d.Sum(), 1e-9*(math.Abs(s)+1))
	require.InDelta(t, s/float64(len(xs)), d.Mean(), 1e-9*(math.Abs(s)+1))
	for i, q := range someQ {
		require.InDelta(t, want[i], d.Quantile(q), 1e-9*(math.Abs(want[i])+1e-3), "n=%d q=%v", len(xs), q)
	}
	ok := true
	for i, x := range xs {
		if i+1 == len(xs) || xs[i+1] != x {
			ok = ok && d.Rank(x) == float64(i+1)/float64(len(xs)) &&
				d.Rank(math.Nextafter(x, math.Inf(1))) == float64(i+1)/float64(len(xs))
		}
		if i == 0 || xs[i-1] != x {
			ok = ok && d.Rank(math.Nextafter(x, math.Inf(-1))) == float64(i)/float64(len(xs))
		}
		require.True(t, ok, "rank of %v of %d", x, len(xs))
	}
}

func TestExactWhileFew(t *testing.T) {
	r := newRand(1)
	for _, n := range []int{1, 2, 3, 10, 99, 500, 1000, 2000} {
		d := New()
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = r.NormFloat64() * 100
			d.Add(xs[i])
		}
		requireExact(t, xs, d)
	}
}

func TestExactWhileReadInBetween(t *testing.T) {
	r := newRand(2)
	d := New()
	var xs []float64
	for range 100 {
		xs = append(xs, math.Round(r.NormFloat64()*100)/10) // negative, zero, often equal
		d.Add(xs[len(xs)-1])
		requireExact(t, xs, d)
	}
}

func TestExactWhileFewAreDistinct(t *testing.T) {
	r := newRand(3)
	d := New()
	xs := make([]float64, 100_000)
	for i := range xs {
		xs[i] = float64(r.IntN(2000)) / 1000 // as many latencies are: rounded
	}
	d.AddSlice(xs)
	requireExact(t, xs, d)
}

// What AddSlice copies in bulk is, bit for bit, what Add would have made of it, wherever a piece ends.
func TestAddSliceIsLikeAdd(t *testing.T) {
	r := newRand(13)
	xs := make([]float64, 100_000)
	for i := range xs {
		xs[i] = r.ExpFloat64()
		if r.IntN(5000) == 0 {
			xs[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
		}
	}
	given := slices.Clone(xs)
	one, all := New(), New()
	for left := given; len(left) > 0; {
		n := min(r.IntN(3000), len(left))
		all.AddSlice(left[:n])
		left = left[n:]
	}
	for _, x := range xs {
		one.Add(x)
	}
	require.Positive(t, one.NaNs())
	want, err := one.MarshalBinary()
	require.NoError(t, err)
	got, err := all.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, want, got)
	for i := range xs {
		require.Equal(t, math.Float64bits(xs[i]), math.Float64bits(given[i]), "the slice is the caller's")
	}
}

func TestAddN(t *testing.T) {
	r := newRand(4)
	for range 20 {
		d := New()
		var xs []float64
		for {
			x, n := r.ExpFloat64(), r.IntN(12)
			if len(xs)+n > 1000 {
				break
			}
			d.AddN(x, uint64(n))
			xs = append(xs, slices.Repeat([]float64{x}, n)...)
		}
		requireExact(t, xs, d)
	}
}

func TestAddNIsLikeAddNTimes(t *testing.T) {
	r := newRand(5)
	a, b := New(), New()
	for range 30_000 {
		x, n := math.Exp(r.NormFloat64()), uint64(r.IntN(20))
		a.AddN(x, n)
		for range n {
			b.Add(x)
		}
	}
	require.Equal(t, b.Count(), a.Count())
	assert.InEpsilon(t, b.Sum(), a.Sum(), 1e-12)
	for _, q := range someQ {
		assert.InEpsilon(t, b.Quantile(q), a.Quantile(q), 0.004, "q=%v", q)
	}
}

func TestAddNHuge(t *testing.T) {
	d := New()
	d.AddN(1, math.MaxUint64)
	require.Equal(t, uint64(1)<<62, d.Count())
	d.AddN(2, 1000)
	d.AddN(math.NaN(), 10) // what cannot be counted is not
	require.Equal(t, uint64(1)<<62, d.Count())
	require.Equal(t, 1.0, d.Quantile(0.5))
	o := d.Clone()
	d.Merge(o)
	require.Equal(t, uint64(1)<<62, d.Count())
}

func TestEmpty(t *testing.T) {
	for name, d := range map[string]*Digest{"New": New(), "zero": {}} {
		t.Run(name, func(t *testing.T) {
			d.AddN(3, 0)
			for _, x := range []float64{d.Quantile(0.5), d.Rank(1), d.Mean(), d.Min(), d.Max()} {
				assert.True(t, math.IsNaN(x))
			}
			lo, hi := d.Interval(0.5, 0.95)
			assert.True(t, math.IsNaN(lo) && math.IsNaN(hi))
			assert.Zero(t, d.Sum())
			assert.Zero(t, d.Count())
			d.Add(2)
			assert.Equal(t, 2.0, d.Quantile(0.99))
		})
	}
}

func TestQuantileOutOfRange(t *testing.T) {
	d := New()
	d.Add(1)
	for _, q := range []float64{math.NaN(), -1e-300, 1.0000001, math.Inf(1), math.Inf(-1)} {
		assert.True(t, math.IsNaN(d.Quantile(q)), "q=%v", q)
	}
}

func TestNaNEntersNothing(t *testing.T) {
	d := New()
	d.Add(1)
	d.Add(math.NaN())
	d.AddN(math.NaN(), 5)
	d.Add(3)
	assert.Equal(t, uint64(6), d.NaNs())
	requireExact(t, []float64{1, 3}, d)
	assert.True(t, math.IsNaN(d.Rank(math.NaN())))

	only := New()
	only.Add(math.NaN())
	assert.Zero(t, only.Count())
	assert.True(t, math.IsNaN(only.Quantile(0.5)))
	only.Merge(d)
	assert.Equal(t, uint64(7), only.NaNs())
}

func TestInfinitiesBoundTheExtremes(t *testing.T) {
	inf := math.Inf(1)
	d := New()
	for _, x := range []float64{-inf, 1, 2, inf, inf} {
		d.Add(x)
	}
	assert.Equal(t, uint64(5), d.Count())
	assert.Equal(t, -inf, d.Min())
	assert.Equal(t, inf, d.Max())
	assert.True(t, math.IsNaN(d.Sum()))
	for q, want := range map[float64]float64{
		0: -inf, 0.1: -inf, 0.25: 1, 0.375: 1.5, 0.5: 2, 0.51: inf, 0.75: inf, 1: inf,
	} {
		assert.Equal(t, want, d.Quantile(q), "q=%v", q)
	}
	assert.Equal(t, 0.2, d.Rank(-inf))
	assert.Equal(t, 0.2, d.Rank(0))
	assert.Equal(t, 0.6, d.Rank(2))
	assert.Equal(t, 0.6, d.Rank(math.MaxFloat64))
	assert.Equal(t, 1.0, d.Rank(inf))

	both := New()
	both.AddN(-inf, 7)
	both.AddN(inf, 7)
	assert.Equal(t, -inf, both.Quantile(0.48))
	assert.Equal(t, inf, both.Quantile(0.52))
	assert.Equal(t, 0.5, both.Rank(12))

	late := New() // a timeout counted as infinite: P95 is finite, P99 is not
	for range 97 {
		late.Add(0.1)
	}
	late.AddN(inf, 3)
	assert.Equal(t, 0.1, late.Quantile(0.95))
	assert.Equal(t, inf, late.Quantile(0.99))
	assert.Equal(t, inf, late.Mean())
}

func TestExtremeMagnitudes(t *testing.T) {
	xs := []float64{-math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1e-300, 1, math.MaxFloat64}
	d := New()
	d.AddSlice(xs)
	assert.Equal(t, xs[0], d.Quantile(0))
	assert.Equal(t, xs[7], d.Quantile(1))
	for i, x := range xs {
		assert.Equal(t, float64(i+1)/8, d.Rank(x))
	}
	// So many that they are squeezed and counted.
	r := newRand(6)
	for range 300_000 {
		d.Add(math.Ldexp(r.NormFloat64(), r.IntN(2000)-1000))
	}
	prev := math.Inf(-1)
	for q := 0.0; q <= 1; q += 0.001 {
		x := d.Quantile(q)
		require.False(t, math.IsNaN(x) || math.IsInf(x, 0), "q=%v: %v", q, x)
		require.GreaterOrEqual(t, x, prev)
		prev = x
	}
}

func TestSumIsAccurate(t *testing.T) {
	d := New()
	for range 1_000_000 {
		d.Add(0.1)
	}
	assert.InEpsilon(t, 100_000.0, d.Sum(), 1e-14)
	d.Add(1e16)
	for range 10_000 {
		d.Add(1)
	}
	d.Add(-1e16)
	assert.InDelta(t, 110_000, d.Sum(), 1)

	var s sum
	for range 2 {
		s.add(math.MaxFloat64)
	}
	assert.Equal(t, math.Inf(1), s.value())
}

func TestCopyIsFoundOut(t *testing.T) {
	d := New()
	for i := range 100 {
		d.Add(float64(i))
	}
	var c Digest
	reflect.ValueOf(&c).Elem().Set(reflect.ValueOf(d).Elem()) // go vet finds c = *d
	assert.PanicsWithValue(t, "percentile: a Digest was copied by value; use Clone", func() { c.Add(1) })
	assert.Panics(t, func() { c.AddN(1, 10) })
	assert.Panics(t, func() { c.AddSlice([]float64{1}) })
	assert.Panics(t, func() { c.Merge(New()) })
	assert.Equal(t, uint64(100), d.Count())
	assert.Equal(t, 99.0, d.Max())
}

func TestCompressionOutOfRange(t *testing.T) {
	for _, δ := range []float64{math.NaN(), 0, -1, 19, 501, 1e12, math.Inf(1)} {
		assert.Panics(t, func() { WithCompression(δ) }, "%v", δ)
	}
	d := New(WithCompression(20))
	r := newRand(7)
	for range 100_000 {
		d.Add(r.ExpFloat64())
	}
	assert.InDelta(t, math.Ln2, d.Quantile(0.5), 0.02)
}

func TestCloneAndReset(t *testing.T) {
	d := New()
	for i := range 10_000 {
		d.Add(float64(i))
	}
	c := d.Clone()
	d.Add(1e9)
	assert.Equal(t, uint64(10_000), c.Count())
	assert.Equal(t, 9999.0, c.Max())
	c.Add(-5)
	assert.Equal(t, 0.0, d.Min())
	d.Reset()
	assert.Zero(t, d.Count())
	assert.True(t, math.IsNaN(d.Quantile(0.5)))
	for _, x := range []float64{3, 1, 2} {
		d.Add(x)
	}
	requireExact(t, []float64{1, 2, 3}, d)
}

func TestMergeLeavesItsSource(t *testing.T) {
	r := newRand(8)
	a, b := New(), New()
	for range 50_000 {
		a.Add(math.Exp(r.NormFloat64()))
		b.Add(math.Exp(r.NormFloat64()))
	}
	b.AddN(3, 17)
	b.Add(math.Inf(1))
	before, err := b.MarshalBinary()
	require.NoError(t, err)
	a.Merge(b)
	after, err := b.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.Equal(t, uint64(100_018), a.Count())
	a.Add(5) // nor does a change of the one reach the other
	after, err = b.MarshalBinary()
	require.NoError(t, err)
	assert.Equal(t, before, after)

	a.Merge(nil)
	a.Merge(a)
	assert.Equal(t, uint64(200_038), a.Count())
}

func TestMergeSmall(t *testing.T) {
	r := newRand(9)
	d := New()
	var xs []float64
	for range 100 {
		o := New()
		for range r.IntN(15) {
			xs = append(xs, r.NormFloat64())
			o.Add(xs[len(xs)-1])
		}
		d.Merge(o)
	}
	requireExact(t, xs, d)
}

// Readers of one digest, and merges from it, at the same time: for the race
// detector.
func TestReadersAtOnce(t *testing.T) {
	r := newRand(10)
	for _, n := range []int{10, 3000, 100_000} {
		d := New()
		for range n {
			d.Add(math.Exp(r.NormFloat64()))
		}
		d.AddN(4, 9)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				o := New()
				o.Merge(d)
				_, _ = d.MarshalBinary()
				assert.Equal(t, o.Quantile(0.99), d.Quantile(0.99))
				assert.Equal(t, uint64(n+9), d.Clone().Count())
				assert.Equal(t, o.Sum(), d.Sum())
				assert.Equal(t, o.Max(), d.Max())
				assert.Equal(t, o.Rank(1), d.Rank(1))
			})
		}
		wg.Wait()
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	r := newRand(11)
	d := New()
	xs := make([]float64, 200_000)
	for i := range xs {
		xs[i] = math.Exp(r.NormFloat64())
	}
	d.AddSlice(xs)
	i := 0
	allocs := testing.AllocsPerRun(100_000, func() {
		d.Add(xs[i])
		i++
	})
	assert.Less(t, allocs, 0.01)
}
