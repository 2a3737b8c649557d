package percentile

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSort(t *testing.T) {
	r := newRand(1)
	w := new(scratch)
	for name, next := range map[string]func(i int) float64{
		"normal":     func(int) float64 { return r.NormFloat64() },
		"lognormal":  func(int) float64 { return math.Exp(r.NormFloat64()) },
		"any bits":   func(int) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(2000)-1000) },
		"equal":      func(int) float64 { return 3 },
		"two":        func(int) float64 { return float64(r.IntN(2)) },
		"last bits":  func(int) float64 { return 1 + float64(r.IntN(1<<20))*0x1p-52 },
		"two scales": func(i int) float64 { return float64(i%2)*1e9 + float64(r.IntN(1<<20))*0x1p-52 },
		"ascending":  func(i int) float64 { return float64(i) },
		"descending": func(i int) float64 { return -float64(i) },
	} {
		for _, n := range []int{0, 1, 2, 127, 128, 1000, 4096, 10_000} {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = next(i)
			}
			want := sortedCopy(xs)
			w.sort(xs)
			require.True(t, slices.Equal(want, xs), "%d %s", n, name)
		}
	}
}

func TestKeyIsInOrder(t *testing.T) {
	xs := []float64{math.Inf(-1), -math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0, math.SmallestNonzeroFloat64, 1, math.MaxFloat64, math.Inf(1)}
	for i, x := range xs {
		assert.Equal(t, math.Float64bits(x), math.Float64bits(fromKey(key(x))))
		if i > 0 {
			assert.Greater(t, key(x), key(xs[i-1]))
		}
	}
}

// A span's curve goes from end to end, rises, and has the mean it was made for.
func TestCurve(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 10, 1000, 1 << 30} {
		for _, f := range []float64{1e-6, 0.01, 0.2, 0.34, 0.5, 0.6, 0.7, 0.97, maxMean} {
			k := span{0, 1, n, f}.curve()
			require.InDelta(t, 0, k.at(0), 1e-12)
			require.InDelta(t, 1, k.at(1), 1e-12)
			prev, area := 0.0, 0.0
			const steps = 4096
			for i := range steps {
				u := (float64(i) + 1) / steps
				y := k.at(u)
				if y < prev {
					t.Fatalf("n=%d f=%v falls at %v", n, f, u)
				}
				area += (prev + y) / 2 / steps
				prev = y
				if i%16 == 0 {
					require.InDelta(t, y, k.at(k.inverse(y)), 1e-12, "n=%d f=%v", n, f)
				}
				if i%16 == 0 && k.p <= 100 && k.p >= -100 {
					require.InDelta(t, area, k.area(u), 1e-4, "n=%d f=%v t=%v", n, f, u)
				}
			}
			// The mean of n such values, where one can have it.
			lowest := 1 / float64(n)
			if n <= 1000 && n > 1 && f > 1.5*lowest && f < 0.99 {
				s := 0.0
				for i := range n {
					s += k.at((float64(i) + 1) / float64(n))
				}
				require.InDelta(t, f, s/float64(n), 0.02, "n=%d", n)
			}
		}
	}
}

func TestSplitKeepsCountAndMean(t *testing.T) {
	r := newRand(2)
	for range 10_000 {
		s := span{1, 1 + 3*r.Float64() + 0.01, r.Uint64N(1000) + 2, 0}
		s.f = clampMean(1/float64(s.n) + (1-1.5/float64(s.n))*r.Float64())
		x := s.lo + (s.hi-s.lo)*(0.001+0.998*r.Float64())
		a, b := s.split(x)
		require.Equal(t, s.n, a.n+b.n)
		require.Equal(t, []float64{s.lo, x, x, s.hi}, []float64{a.lo, a.hi, b.lo, b.hi})
		for _, p := range []span{a, b} {
			if p.n > 0 {
				require.True(t, p.f > 0 && p.f < 1)
			}
		}
		if a.n > 5 && b.n > 5 {
			mean := (a.mean()*float64(a.n) + b.mean()*float64(b.n)) / float64(s.n)
			require.InDelta(t, s.f, along(s.lo, s.hi, mean), 0.1)
		}
	}
}

// A span of the list never stands for more than four times what clustering would
// give it.
func TestNoSpanStandsForTooMuch(t *testing.T) {
	for _, l := range laws {
		d := New()
		closed := 0
		for i, x := range l.values(1, 200_000) {
			d.Add(x)
			if i%1000 > 0 {
				continue
			}
			lim := d.limits()
			lim.tails, lim.unit = 2*lim.tails, 2*lim.unit
			for i := range d.list {
				s := spanAt(d.list, i)
				ok := s.f == 1 || !lim.exceeded(d.list[i].upto-s.n, s.n)
				require.True(t, ok, "%s: %d values at rank %d of %d", l.name, s.n, d.list[i].upto, d.listed)
				if d.table != nil && d.table.valid && d.table.only[i] && s.f < 1 {
					closed++
				}
			}
		}
		if l.name == "lognormal" {
			assert.Positive(t, closed, "full spans take no more")
		}
	}
}

// Heavy values, none of which lies near another, are all at a gap.
func TestSqueezeOfNothingButGaps(t *testing.T) {
	d := New(WithCompression(minCompression))
	o := d.Clone()
	for i := range listCap {
		x := math.Ldexp(1+float64(i%256)/1e5, i/256)
		d.AddN(x, 1000)
		o.AddN(256*x, 1000)
	}
	d.Merge(o)
	require.LessOrEqual(t, len(d.list), listCap)
	require.Equal(t, uint64(2000*listCap), d.Count())
}

// A digest is small while it has little, and never great.
func TestMemory(t *testing.T) {
	size := func(d *Digest) int {
		n := 400 + 8*cap(d.buf) + 24*cap(d.list) + 16*cap(d.weighted)
		if d.table != nil {
			n += cells*2 + slots*9 + 64
		}
		return n
	}
	d := New()
	for range 10 {
		d.Add(1)
	}
	assert.Less(t, size(d), 1000)
	for _, l := range laws {
		d := New()
		for i, x := range l.values(1, 40_000) {
			d.Add(x)
			if i%4000 == 0 {
				d.Quantile(0.5)
				d.AddN(x, 10)
			}
		}
		assert.Less(t, size(d), 120_000, l.name)
	}

	r := NewRecorder()
	for _, x := range laws[0].values(2, 200_000) {
		r.Add(x)
	}
	for i := range r.shards.all { // the most that there can be
		s := &r.shards.all[i]
		s.mu.Lock()
		for s.n < r.shards.size && s.ready(0, r.shards.size, r) {
			s.add(weighted{1, 1})
		}
		for len(s.heavy) < shardHeavies {
			s.add(weighted{1, 10})
		}
		s.mu.Unlock()
	}
	n := size(&r.d) + 8*cap(r.stage) + 128*len(r.shards.all)
	for i := range r.shards.all {
		n += 8*cap(r.shards.all[i].buf) + 16*cap(r.shards.all[i].heavy)
	}
	for _, b := range append(r.full.spare, r.full.bufs...) {
		n += 8 * cap(b)
	}
	assert.Less(t, n, 300_000)
	assert.Less(t, size(r.Snapshot()), 120_000)
}
