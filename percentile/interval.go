package percentile

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval returns a confidence interval of the q-quantile of whatever the
// values are a sample of. It is distribution-free: the number of sample values
// below the true quantile is binomial, so two order statistics enclose it with
// at least the confidence asked for, each side missing with at most half of
// the rest (David and Nagaraja, "Order Statistics", 3rd ed., section 7.1).
// The values have to be independent: latencies of neighbouring requests are
// not, and their interval is too narrow.
//
// Where the sample is too small for a bound, that bound is infinite. Both are
// NaN when the digest is empty, q is not in (0, 1) or confidence is not in (0, 1).
func (d *Digest) Interval(q, confidence float64) (lo, hi float64) {
	n := d.Count()
	if n == 0 || !(q > 0 && q < 1) || !(confidence > 0 && confidence < 1) {
		return math.NaN(), math.NaN()
	}
	l, u := intervalRanks(n, q, confidence)
	lo, hi = math.Inf(-1), math.Inf(1)
	if l >= 1 {
		lo = d.at(l - 1)
	}
	if u <= float64(n) {
		hi = d.at(u - 1)
	}
	return lo, hi
}

// intervalRanks returns the 1-based ranks of the enclosing order statistics;
// 0 and n+1 where there is none.
func intervalRanks(n uint64, q, confidence float64) (l, u float64) {
	α := (1 - confidence) / 2
	nf := float64(n)
	if nf*q*(1-q) > 1000 {
		// Cornish and Fisher's expansion, one rank to the outside.
		z := distuv.UnitNormal.Quantile(α)
		mid, sd, skew := nf*q, math.Sqrt(nf*q*(1-q)), (1-2*q)*(z*z-1)/6
		l = max(0, math.Floor(mid+z*sd+skew-0.5))
		u = min(nf+1, math.Ceil(mid-z*sd+skew+1.5))
		return l, u
	}
	// cdf(k) = P(B ≤ k) for B binomial(n, q).
	cdf := func(k float64) float64 {
		if k >= nf {
			return 1
		}
		return mathext.RegIncBeta(nf-k, k+1, 1-q)
	}
	// l: the greatest with P(B ≤ l−1) ≤ α. u: the least with P(B ≤ u−1) ≥ 1−α.
	l = search(0, nf, func(k float64) bool { return cdf(k) > α })
	u = search(0, nf, func(k float64) bool { return cdf(k) >= 1-α }) + 1
	return l, u
}

// search returns the least integer in [lo, hi] for which ok, hi if none.
func search(lo, hi float64, ok func(float64) bool) float64 {
	for lo < hi {
		if m := math.Floor((lo + hi) / 2); ok(m) {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}
