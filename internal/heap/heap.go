// Package heap measures the heap, for tests of what memory a run takes.
package heap

import (
	"math"
	"runtime"
	"runtime/metrics"
)

// Live is how many bytes of the heap are in use: the least of a few collections, each of which also counts what is allocated
// while it goes on.
func Live() uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		runtime.GC()
		s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(s)
		least = min(least, s[0].Value.Uint64())
	}
	return least
}
