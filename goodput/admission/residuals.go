package admission

import "slices"

// residuals is how far the last first tokens were from what had been predicted, s: what is said of a deviation is said by their
// ranks, so that no distribution is taken for granted.
type residuals struct {
	last   [residualsKept]float64 // oldest at next, once it is full
	sorted [residualsKept]float64
	n      int
	next   int
}

// residualsKept is how many are kept: enough for one prompt alone to be as unlikely as fullUnlikely.
const residualsKept = 128

func (r *residuals) observe(x float64) {
	if r.n == residualsKept {
		i, _ := slices.BinarySearch(r.sorted[:], r.last[r.next])
		copy(r.sorted[i:], r.sorted[i+1:])
		r.n--
	}
	r.last[r.next] = x
	r.next = (r.next + 1) % residualsKept
	i, _ := slices.BinarySearch(r.sorted[:r.n], x)
	r.n++
	copy(r.sorted[i+1:r.n], r.sorted[i:])
	r.sorted[i] = x
}

// beyond is how likely another one is x at least, by rank: (1 + those that are) / (1 + n). It is never too small where residuals are
// exchangeable: Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World, 2005, chapter 2.
func (r *residuals) beyond(x float64) float64 {
	i, _ := slices.BinarySearch(r.sorted[:r.n], x)
	return float64(1+r.n-i) / float64(1+r.n)
}
