package percentile

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/exp/stats"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

var someQ = []float64{0, 1e-4, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1}

func TestExactUpTo1000(t *testing.T) {
	r := newRand(1)
	for _, n := range []int{1, 2, 3, 10, 99, 500, 1000} {
		d := New()
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = r.NormFloat64() * 100
			d.Add(xs[i])
		}
		want := stats.Quantiles(xs, someQ...)
		for i, q := range someQ {
			assert.InDelta(t, want[i], d.Quantile(q), 1e-9, "n=%d q=%v", n, q)
		}
		slices.Sort(xs)
		for i, x := range xs {
			assert.Equal(t, float64(i+1)/float64(n), d.Rank(x))
			assert.Equal(t, float64(i)/float64(n), d.Rank(math.Nextafter(x, math.Inf(-1))))
		}
		assert.Equal(t, uint64(n), d.Count())
		assert.Equal(t, xs[0], d.Min())
		assert.Equal(t, xs[n-1], d.Max())
	}
}

func TestAddNExact(t *testing.T) {
	d := New()
	var xs []float64
	r := newRand(2)
	for len(xs) < 990 {
		x, n := r.ExpFloat64(), uint64(r.IntN(10))
		d.AddN(x, n)
		for range n {
			xs = append(xs, x)
		}
	}
	require.Equal(t, uint64(len(xs)), d.Count())
	want := stats.Quantiles(xs, someQ...)
	for i, q := range someQ {
		assert.InDelta(t, want[i], d.Quantile(q), 1e-9, "q=%v", q)
	}
	var s float64
	for _, x := range xs {
		s += x
	}
	assert.InDelta(t, s, d.Sum(), 1e-9)
}

func TestEmpty(t *testing.T) {
	var d Digest
	for _, x := range []float64{d.Quantile(0.5), d.Rank(1), d.Mean(), d.Min(), d.Max()} {
		assert.True(t, math.IsNaN(x))
	}
	lo, hi := d.Interval(0.5, 0.95)
	assert.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	assert.Zero(t, d.Sum())
	d.AddN(3, 0)
	d.Add(math.NaN())
	assert.Zero(t, d.Count())
	assert.Equal(t, uint64(1), d.NaNs())
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 200_000} {
		r := newRand(3)
		d := New()
		for range n {
			d.Add(math.Exp(r.NormFloat64()))
		}
		data, err := d.MarshalBinary()
		require.NoError(t, err)
		assert.LessOrEqual(t, len(data), 24<<10)
		t.Logf("%d values: %d bytes", n, len(data))
		var back, js Digest
		require.NoError(t, back.UnmarshalBinary(data))
		assert.Equal(t, d.Count(), back.Count())
		assert.Equal(t, d.Sum(), back.Sum())
		again, _ := back.MarshalBinary()
		assert.Equal(t, data, again)
		j, err := d.MarshalJSON()
		require.NoError(t, err)
		require.NoError(t, js.UnmarshalJSON(j))
		again, _ = js.MarshalBinary()
		assert.Equal(t, data, again)
		for i := range data {
			require.ErrorIs(t, back.UnmarshalBinary(data[:i]), ErrEncoding)
		}
	}
}

func TestLarge(t *testing.T) {
	r := newRand(4)
	xs := make([]float64, 200_000)
	d := New()
	for i := range xs {
		xs[i] = math.Exp(r.NormFloat64())
		d.Add(xs[i])
	}
	slices.Sort(xs)
	for _, q := range someQ {
		want := stats.Quantiles(xs, q)[0]
		assert.InEpsilon(t, want, d.Quantile(q), 0.01, "q=%v", q)
	}
}
