package percentile

import (
	"math"
	"sort"
)

// Quantile returns the q-quantile, 0 ≤ q ≤ 1: type 7 of Hyndman and Fan, the
// linear interpolation between the order statistics around rank q·(n−1).
// It is NaN when the digest is empty and when q is not in [0, 1].
func (d *Digest) Quantile(q float64) float64 {
	n := d.Count()
	if n == 0 || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	return d.at(q * float64(n-1))
}

// at returns the value at a rank in [0, count-1].
func (d *Digest) at(r float64) float64 {
	d.settle()
	if d.negInf > 0 || d.posInf > 0 {
		lo, hi := math.Floor(r), math.Ceil(r)
		a, b := d.side(lo), d.side(hi)
		switch {
		case a == 0 && b == 0:
		case a == b || lo == hi:
			if a == 0 {
				break
			}
			return math.Inf(a)
		case a < 0 && b > 0: // a step from one end of the line to the other
			if r-lo < 0.5 {
				return math.Inf(-1)
			}
			return math.Inf(1)
		default:
			return math.Inf(a + b)
		}
		r -= float64(d.negInf)
	}
	list := d.list
	// The centroid with the value of rank ⌈r⌉. The value before it has rank first−1.
	i := sort.Search(len(list)-1, func(i int) bool { return float64(list[i].upto) >= r+1 })
	s := spanAt(list, i)
	t := r - (float64(list[i].upto-s.n) - 1)
	if s.f == 1 {
		return lerp(s.lo, s.hi, min(t, 1))
	}
	return lerp(s.lo, s.hi, s.curve().at(min(t/float64(s.n), 1)))
}

// side says which infinity is at a rank; 0: none.
func (d *Digest) side(r float64) int {
	switch {
	case r < float64(d.negInf):
		return -1
	case r >= float64(d.negInf+d.finite()):
		return 1
	}
	return 0
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
	return min(1, (float64(d.negInf)+d.below(x))/float64(n)) // the sum is rounded, beyond 2⁵³ to too much
}

// below returns how many finite values are ≤ x.
func (d *Digest) below(x float64) float64 {
	d.settle()
	list := d.list
	// i is the first centroid that ends above x.
	i := sort.Search(len(list), func(i int) bool { return list[i].hi > x })
	if i == len(list) {
		return float64(d.listed)
	}
	s := spanAt(list, i)
	before := float64(list[i].upto - s.n)
	if s.f == 1 || x <= s.lo {
		return before
	}
	// Between the k-th value and the next there are k; the curve is at k to k+1.
	return before + max(0, s.curve().inverse(along(s.lo, s.hi, x))*float64(s.n)-0.5)
}
