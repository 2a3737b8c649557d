package percentile

import "sync"

// A scratch is the memory that sorting and squeezing need for a moment. All
// digests share a few.
type scratch struct {
	keys [2][]uint64
	list []centroid
	keep []bool
	k1   *clusterer
	acc  [slots]tally
	left []float64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func getScratch() *scratch  { return scratches.Get().(*scratch) }
func putScratch(w *scratch) { scratches.Put(w) }
