package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Histogram is a law from counted bins. Bin i holds the lengths n with Edges[i] ≤ n < Edges[i+1], each as probable as
// the other, and has the probability Counts[i] over the sum of all.
type Histogram struct {
	Edges  []int     // in tokens, rising, one more than there are bins
	Counts []float64 // how many, or any weights
}

// Draw chooses a bin by its count and a length within it. It takes time proportional to the number of bins.
func (h Histogram) Draw(r *rand.Rand) int {
	sum := 0.0
	for _, c := range h.Counts {
		sum += c
	}
	u, bin := r.Float64()*sum, 0
	for i, c := range h.Counts {
		if c == 0 {
			continue
		}
		bin = i // the last that is not empty, should rounding leave u above every bin
		if u -= c; u < 0 {
			break
		}
	}
	return h.Edges[bin] + r.IntN(h.Edges[bin+1]-h.Edges[bin])
}

// Validate refuses edges that do not rise or lie outside 1 to MaxLength, a number of counts that is not that of the
// bins, and counts that are negative, not finite or all 0.
func (h Histogram) Validate() error {
	if len(h.Counts) == 0 || len(h.Edges) != len(h.Counts)+1 {
		return invalid("Histogram", "has %d edges and %d counts; want one edge more than counts, and a count",
			len(h.Edges), len(h.Counts))
	}
	for i, e := range h.Edges {
		if e < 1 || e > MaxLength+1 {
			return invalid("Histogram.Edges", "edge %d is %d tokens; want 1 to %d", i, e, MaxLength+1)
		}
		if i > 0 && e <= h.Edges[i-1] {
			return invalid("Histogram.Edges", "edge %d is %d after %d; want rising edges", i, e, h.Edges[i-1])
		}
	}
	sum := 0.0
	for i, c := range h.Counts {
		if !(c >= 0) {
			return invalid("Histogram.Counts", "count %d is %v; want 0 or more", i, c)
		}
		sum += c
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return invalid("Histogram.Counts", "their sum is %v; want it finite and above 0", sum)
	}
	return nil
}

// String is such as "histogram of 12 bins from 1 to 4096".
func (h Histogram) String() string {
	if len(h.Edges) == 0 {
		return "histogram of no bins"
	}
	return fmt.Sprintf("histogram of %d bins from %d to %d", len(h.Counts), h.Edges[0], h.Edges[len(h.Edges)-1]-1)
}
