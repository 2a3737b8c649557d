package percentile

import (
	"math"
	"math/bits"
	"slices"
)

// sort sorts finite values. It puts them in order by the leading bits of
// their distances from the least, a byte at a time, and then each among its few
// equals.
func (w *scratch) sort(xs []float64) {
	if len(xs) < 128 {
		slices.Sort(xs)
		return
	}
	n := len(xs)
	if cap(w.keys[0]) < n {
		w.keys[0], w.keys[1] = make([]uint64, n), make([]uint64, n)
	}
	a, b := w.keys[0][:n], w.keys[1][:n]
	least, most := ^uint64(0), uint64(0)
	for i, x := range xs {
		k := key(x)
		a[i] = k
		least, most = min(least, k), max(most, k)
	}
	// Two bytes tell apart what lies within some octaves, else it takes three.
	top := bits.Len64(most - least)
	passes := 2
	if top > 52+5 {
		passes = 3
	}
	shift := max(0, top-8*passes)
	var count [3][256]uint32
	if passes == 2 {
		for i, k := range a {
			k -= least
			a[i] = k
			k >>= shift
			count[0][uint8(k)]++
			count[1][uint8(k>>8)]++
		}
	} else {
		for i, k := range a {
			k -= least
			a[i] = k
			k >>= shift
			count[0][uint8(k)]++
			count[1][uint8(k>>8)]++
			count[2][uint8(k>>16)]++
		}
	}
	for p := range passes {
		c := &count[p]
		var at uint32
		for i, m := range c {
			c[i] = at
			at += m
		}
		sh := shift + 8*p
		for _, k := range a {
			i := uint8(k >> sh)
			b[c[i]] = k
			c[i]++
		}
		a, b = b, a
	}
	// Insertion. Too many moves: the values differ in their last bits.
	moves := 8 * n
	for i := 1; i < n; i++ {
		k := a[i]
		j := i
		for ; j > 0 && a[j-1] > k; j-- {
			a[j] = a[j-1]
		}
		a[j] = k
		if moves -= i - j; moves < 0 {
			slices.Sort(a)
			break
		}
	}
	for i, k := range a {
		xs[i] = fromKey(k + least)
	}
}

// key maps floats to integers in the same order.
func key(x float64) uint64 {
	b := math.Float64bits(x)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

func fromKey(k uint64) float64 {
	return math.Float64frombits(k ^ (^uint64(int64(k)>>63) | 1<<63))
}
