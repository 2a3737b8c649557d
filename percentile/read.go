package percentile

import (
	"math"
	"slices"
	"sort"
)

// A view is a digest's state put in order for reading. It is immutable.
type view struct {
	count, nans uint64
	negInf      uint64
	posInf      uint64
	list        []centroid
	first       []uint64 // rank of each centroid's first value among the finite ones
	finite      uint64
}

// look returns the view of the digest as it is now.
func (d *Digest) look() *view {
	if v := d.read.Load(); v != nil && v.count == d.Count() {
		return v
	}
	b := slices.Clone(d.buf)
	slices.Sort(b)
	cs := make([]centroid, len(b))
	for i, x := range b {
		cs[i] = centroid{x, 1}
	}
	v := &view{count: d.Count(), negInf: d.negInf, posInf: d.posInf, finite: d.finite()}
	v.list = mergeSorted(make([]centroid, 0, len(d.list)+len(cs)), d.list, cs)
	v.first = make([]uint64, len(v.list))
	var r uint64
	for i, c := range v.list {
		v.first[i] = r
		r += c.count()
	}
	d.read.Store(v)
	return v
}

// Quantile returns the q-quantile, 0 ≤ q ≤ 1: type 7 of Hyndman and Fan, the
// linear interpolation between the order statistics around rank q·(n−1).
// It is NaN when the digest is empty and when q is not in [0, 1].
func (d *Digest) Quantile(q float64) float64 {
	n := d.Count()
	if n == 0 || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	return d.look().at(q * float64(n-1))
}

// at returns the value at a rank in [0, count-1].
func (v *view) at(r float64) float64 {
	if v.negInf > 0 || v.posInf > 0 {
		lo, hi := math.Floor(r), math.Ceil(r)
		a, b := v.side(lo), v.side(hi)
		if a != 0 || b != 0 {
			switch {
			case a == b || lo == hi:
				return math.Inf(a)
			case a < 0 && b > 0: // a step from one end of the line to the other
				if r-lo < 0.5 {
					return math.Inf(-1)
				}
				return math.Inf(1)
			}
			return math.Inf(a + b)
		}
		r -= float64(v.negInf)
	}
	return v.finiteAt(r)
}

// side says which infinity is at a rank; 0: none.
func (v *view) side(r float64) int {
	switch {
	case r < float64(v.negInf):
		return -1
	case r >= float64(v.negInf+v.finite):
		return 1
	}
	return 0
}

// finiteAt returns the value at a rank among the finite values.
func (v *view) finiteAt(r float64) float64 {
	// i is the last centroid that begins at or before r.
	i := sort.Search(len(v.first), func(i int) bool { return float64(v.first[i]) > r }) - 1
	lo, hi := v.knots(i)
	switch {
	case r < lo:
		i--
		_, lo2 := v.knots(i)
		return lerp(v.list[i].x, v.list[i+1].x, (r-lo2)/(lo-lo2))
	case r <= hi || i+1 == len(v.list):
		return v.list[i].x
	}
	next, _ := v.knots(i + 1)
	return lerp(v.list[i].x, v.list[i+1].x, (r-hi)/(next-hi))
}

// knots returns the ranks between which the value is that of centroid i: an
// atom's first and last, the middle of any other.
func (v *view) knots(i int) (lo, hi float64) {
	f, n := float64(v.first[i]), float64(v.list[i].count())
	if v.list[i].atom() {
		return f, f + n - 1
	}
	return f + (n-1)/2, f + (n-1)/2
}

func lerp(a, b, t float64) float64 {
	x := a + (b-a)*t
	if math.IsInf(b-a, 0) {
		x = a*(1-t) + b*t
	}
	return min(max(x, a), b)
}

// Rank returns the share of values that are ≤ x: exact while quantiles are.
// It is NaN when the digest is empty and for NaN. A share of requests within
// a threshold is better counted than estimated.
func (d *Digest) Rank(x float64) float64 {
	n := d.Count()
	if n == 0 || math.IsNaN(x) {
		return math.NaN()
	}
	if math.IsInf(x, 1) {
		return 1
	}
	below := float64(d.negInf)
	if !math.IsInf(x, -1) {
		below += d.look().finiteRank(x)
	}
	return below / float64(n)
}

// finiteRank returns how many finite values are ≤ x.
func (v *view) finiteRank(x float64) float64 {
	// i is the last centroid at or below x.
	i := sort.Search(len(v.list), func(i int) bool { return v.list[i].x > x }) - 1
	switch {
	case i < 0:
		return 0
	case i+1 == len(v.list):
		return float64(v.finite)
	}
	a, b := v.list[i], v.list[i+1]
	_, lo := v.knots(i)
	hi, _ := v.knots(i + 1)
	if a.atom() {
		if b.atom() || a.x == x {
			return lo + 1
		}
		lo += 0.5
	}
	if b.atom() {
		hi -= 0.5
	}
	// A rank counts from the middle of a value; half a value more is below x.
	return lo + 0.5 + (hi-lo)*(x-a.x)/(b.x-a.x)
}
