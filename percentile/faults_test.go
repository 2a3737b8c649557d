package percentile

import (
	"math"
	"testing"

	"github.com/influxdata/tdigest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What github.com/influxdata/tdigest, on which a digest stands, does wrong or
// leaves to its caller. Each is here as it should be. That of values copied,
// of reads that race and of a merge that changes its source are in
// digest_test.go, that of the order of merges in accuracy_test.go.

func TestQuantileOfNaNDoesNotPanic(t *testing.T) {
	d := New()
	d.AddSlice([]float64{1, 2, 3})
	assert.True(t, math.IsNaN(d.Quantile(math.NaN())))
}

func TestInfinitiesDoNotSpoilTheRest(t *testing.T) {
	d := New()
	xs := laws[0].values(1, 100_000)
	d.AddSlice(xs)
	d.Add(math.Inf(1))
	d.Add(math.Inf(-1))
	assert.InEpsilon(t, 1, d.Quantile(0.5), 0.02)
	assert.InEpsilon(t, math.Exp(2.326), d.Quantile(0.99), 0.05)
	for q := 0.001; q < 0.999; q += 0.001 {
		require.False(t, math.IsNaN(d.Quantile(q)) || math.IsInf(d.Quantile(q), 0))
	}
}

func TestTopQuantiles(t *testing.T) {
	// Its own quantile gives the maximum to all above the last centroid's middle.
	raw := tdigest.NewWithCompression(100)
	d := New()
	xs := laws[0].values(2, 200_000)
	for _, x := range xs {
		raw.Add(x, 1)
	}
	d.AddSlice(xs)
	sorted := sortedCopy(xs)
	want := type7(sorted, 0.9999)
	assert.InEpsilon(t, want, d.Quantile(0.9999), 1e-9)
	assert.Greater(t, math.Abs(raw.Quantile(0.9999)/want-1), 0.01, "the fault is gone, and with it a reason for the tails")
}

func TestMinimumAndMaximumAreValues(t *testing.T) {
	d := New()
	for i := range 1_000_000 {
		d.Add(float64((i*7919)%1_000_000) + 0.5)
	}
	assert.Equal(t, 0.5, d.Min())
	assert.Equal(t, 999_999.5, d.Max())
	assert.Equal(t, 0.5, d.Quantile(0))
	assert.Equal(t, 999_999.5, d.Quantile(1))
}

func TestRankOfDuplicates(t *testing.T) {
	d := New()
	d.AddN(5, 1000)
	assert.Equal(t, 0.0, d.Rank(4.999))
	assert.Equal(t, 1.0, d.Rank(5))
	d.AddN(7, 3000)
	assert.Equal(t, 0.25, d.Rank(5))
	assert.Equal(t, 0.25, d.Rank(6.9))
	assert.Equal(t, 1.0, d.Rank(7))

	// One value that is most of a great many.
	r := newRand(3)
	d = New()
	for range 100_000 {
		d.Add(0.1)
		d.Add(0.1)
		d.Add(math.Exp(r.NormFloat64()))
	}
	below := 0.5 * math.Erfc(2.302585/math.Sqrt2) / 3
	assert.InDelta(t, below, d.Rank(0.0999999), 0.001)
	assert.InDelta(t, below+2.0/3, d.Rank(0.1), 0.001)
	assert.Equal(t, 0.1, d.Quantile(0.01))
	assert.Equal(t, 0.1, d.Quantile(0.66))
}

func TestSmallSamplesAreExactWhateverTheCompression(t *testing.T) {
	d := New(WithCompression(20))
	xs := laws[0].values(4, 1000)
	d.AddSlice(xs)
	requireExact(t, xs, d)
}

// Squeezing meets lists of every kind and always makes them short.
func FuzzSqueeze(f *testing.F) {
	f.Add(uint64(1), 20.0, uint8(0), uint8(1))
	f.Add(uint64(2), 250.0, uint8(10), uint8(60))
	f.Add(uint64(3), 500.0, uint8(3), uint8(20))
	f.Fuzz(func(t *testing.T, seed uint64, δ float64, values, counts uint8) {
		if !(δ >= minCompression && δ <= maxCompression) {
			return
		}
		r := newRand(seed)
		d := New(WithCompression(δ))
		var n uint64
		for range 3 * batch {
			x := math.Ldexp(r.NormFloat64(), int(values)*(r.IntN(9)-4))
			c := r.Uint64() >> (64 - max(1, counts%56))
			if c+d.Count() >= maxCount {
				break
			}
			d.AddN(x, c)
			n += c
		}
		require.Equal(t, n, d.Count())
		d.settle()
		require.LessOrEqual(t, len(d.list), listCap)
		prev := centroid{hi: math.Inf(-1)}
		for i, c := range d.list {
			require.Greater(t, c.hi, prev.hi)
			require.Greater(t, c.upto, prev.upto)
			require.True(t, c.mean > 0 && (c.mean == 1 || c.mean <= maxMean), "mean %v", c.mean)
			require.False(t, (i == 0 || i == len(d.list)-1) && !c.atom())
			prev = c
		}
		require.Equal(t, n, prev.upto)
	})
}

// FuzzMerge compares digests that are merged with the sorted values.
func FuzzMerge(f *testing.F) {
	f.Add(uint64(1), uint16(3), uint16(500), uint8(0))
	f.Add(uint64(2), uint16(40), uint16(3000), uint8(1))
	f.Add(uint64(3), uint16(2), uint16(20_000), uint8(3))
	f.Add(uint64(4), uint16(100), uint16(100), uint8(5))
	f.Fuzz(func(t *testing.T, seed uint64, parts, each uint16, kind uint8) {
		r := newRand(seed)
		l := laws[int(kind)%len(laws)]
		n := min(int(parts)%128+1, 400_000/(int(each)+1)+1)
		var xs []float64
		ds := make([]*Digest, n)
		for i := range ds {
			ds[i] = New()
			k := r.IntN(int(each) + 1)
			for j := range k {
				x := l.next(r, i*k+j, n*k)
				ds[i].Add(x)
				xs = append(xs, x)
			}
		}
		if len(xs) == 0 {
			return
		}
		d := mergeAll(ds, []string{"forward", "backward", "random", "tree"}[r.IntN(4)], r)
		sorted := sortedCopy(xs)
		if len(xs) <= 1000 {
			requireExact(t, xs, d)
		}
		require.Equal(t, uint64(len(xs)), d.Count())
		require.Equal(t, sorted[0], d.Min())
		require.Equal(t, sorted[len(sorted)-1], d.Max())
		// The weight of a centroid in the middle, at the most: there, parts
		// of a law that is not the same all the time leave steps and gaps.
		// Where it is the same, far less.
		iid := int(kind)%len(laws) < 5
		bound := 0.0126
		if iid {
			bound = 0.001
		}
		for q := 0.0; q <= 1; q += 0.01 {
			e := rankError(sorted, d.Quantile(q), q)
			require.LessOrEqual(t, e, bound+10/float64(len(xs)), "q=%v of %d %s", q, len(xs), l.name)
		}
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
			if iid {
				// Fuzzing looks for the worst of many: twice the bound for merges.
				want := type7(sorted, q)
				require.InEpsilon(t, want, d.Quantile(q), 3*valueBound(q), "P%v of %d %s", 100*q, len(xs), l.name)
			}
		}
	})
}
