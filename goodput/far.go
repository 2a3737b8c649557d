package goodput

import (
	"math"
	"slices"

	"github.com/goodputkit/goodputkit/slo"
)

// What neighbours that are alike cannot hide: a share that is short of its target by far, and values that are far within
// their threshold.

// farFrom reports whether a share is so far short of its target that a run too short to have an interval shows it all the
// same. A run above the system's capacity is always of that kind: its queue grows to the end, and no batch is like the one
// before; there the second half decides. Else the few batches that are left are taken as an AR(1) sequence, however much
// they correlate. That is crude, and so nothing is met by it.
func farFrom(b []batch, o slo.Objective, confidence float64) bool {
	b = slices.Clone(b)
	for len(b) >= minBatches {
		b = pairs(b)
	}
	all := sum(b)
	if all.n == 0 {
		return false
	}
	if len(b) < fewBatches {
		return short(wilson(all.y/all.n, min(all.n, minSample-1), normalQuantile(confidence)), o)
	}
	if rising(b) {
		half := b[len(b)/2:]
		if late := sum(half); short(wilson(late.y/late.n, float64(len(half)), normalQuantile(confidence)), o) {
			return true
		}
	}
	e := residuals(b, func(b batch) (float64, float64) { return b.y, b.n })
	stretch := autoregression(min(max(correlation(e), 0), 0.9))
	p := all.y / all.n
	phi := max(1, ratio(e, all.n, p*(1-p))*stretch)
	t := studentQuantile(confidence, max(1, float64(len(b)-1)/stretch))
	return short(wilson(p, all.n/phi, t), o)
}

// short reports whether all of an interval of its share misses an objective.
func short(ci [2]float64, o slo.Objective) bool {
	if o.Metric == slo.ErrorRate {
		return ci[0] > targetOf(o)
	}
	return ci[1] < targetOf(o)
}

// rising reports whether the batches' values grow to the end, as above the capacity: whether their rank correlation with
// time, Kendall's τ, is above 0.8. Fewer than ten batches, or pairs of them, say too little.
func rising(b []batch) bool {
	up, n := 0, 0
	for i := range b {
		for j := range i {
			if b[i].k == 0 || b[j].k == 0 {
				continue
			}
			switch before, after := b[j].x/b[j].k, b[i].x/b[i].k; {
			case after > before:
				up++
			case after < before:
				up--
			}
			n++
		}
	}
	return n >= 10*9/2 && float64(up) > 0.8*float64(n)
}

// farWithin reports whether the values stay so far within their threshold that it does not matter how alike neighbours
// are. If they had an exponential distribution whose p-quantile is the threshold, then n independent ones would all stay
// within reach of it with probability
//
//	(1 − (1−p)^reach)ⁿ
//
// and if less of the distribution lies near 0, as where each request takes some time to serve, with less. One value alone,
// or thousands that are alike, have to stay within 1/28 of the threshold of a P95 at α = 10 %; ten independent ones within
// half of it.
//
// Values that hardly differ do not show what they would be distributed like: those that would have to move two hundred
// times as far as they did in the whole run are far within too.
func (e evidence) farWithin(alpha float64) bool {
	if e.spread <= farSpread {
		return true
	}
	if !(e.reach >= 0 && e.reach < 1) {
		return false
	}
	return independentValues(e.batches)*math.Log1p(-math.Pow(1-e.p, e.reach)) <= math.Log(alpha)
}

// farSpread is the two-hundredth of that.
const farSpread = 1.0 / 200

// doubtful is by how much the number of independent values is taken to be overestimated: what few batches show of their
// correlation is less than there is. With 4, an M/M/1 queue at the SLO line is "met" in no more than 5 % of short runs.
const doubtful = 4

// independentValues is how many independent values those of the batches are worth, at least; 0 where there are none.
func independentValues(b []batch) float64 {
	all := sum(b)
	variance := all.variance()
	if all.k == 0 || variance == 0 {
		return all.k
	}
	b = slices.Clone(b)
	values := func(b batch) (float64, float64) { return b.x, b.k }
	e := residuals(b, values)
	for len(b)/2 >= minBatches && neumann(e) > neumannZ {
		b = pairs(b)
		e = residuals(b, values)
	}
	if len(b) < fewBatches {
		return 1
	}
	phi := max(1, ratio(e, all.k, variance)*autoregression(max(0, correlation(e))))
	return max(1, all.k/phi/doubtful)
}
