package percentile

import "math"

// cells is the size of the table by which a value finds its centroid.
const cells = 4096

// slots is a power of two, with room for a list and its sentinel.
const slots = 2048

// A table gives for the leading bits of a value the first centroid that can
// hold it; few steps from there lead to the one that does.
type table struct {
	first  [cells]uint16
	signed bool   // some span begins below zero
	base   uint64 // the bits that the first cell stands for
	shift  uint
	ends   [slots]float64 // of the centroids, then +Inf
	only   [slots]bool    // which take no value but their end: atoms, full spans
	last   uint           // of the ends: that of +Inf
	valid  bool
}

func (t *table) build(list []centroid) {
	n := len(list)
	ends, only := &t.ends, &t.only
	a, b := n, 0 // the first span and the last
	for i := range list {
		c := &list[i]
		ends[i], only[i] = c.hi, c.atom()
		if !c.atom() {
			a, b = min(a, i), i
		}
	}
	ends[n], only[n] = math.Inf(1), true
	if a > b {
		a, b = 1, n-1
	}
	t.signed = math.Signbit(list[a-1].hi)
	from, to := t.bits(list[a-1].hi), t.bits(list[b].hi)
	t.shift = 0
	for (to>>t.shift)-(from>>t.shift) >= cells-1 {
		t.shift++
	}
	t.base = from >> t.shift
	// The number of centroids that end in cells before.
	clear(t.first[:])
	for _, x := range ends[:n] {
		t.first[t.cell(x)]++
	}
	var before uint16
	for c := range t.first[:] {
		n := t.first[c]
		t.first[c] = before
		before += n
	}
	t.last, t.valid = uint(n), true
}

// bits is in the order of the values from the first span on. Which of the lesser
// ones are greater in it does not matter: they are in no cell of a span.
func (t *table) bits(x float64) uint64 {
	if t.signed {
		return key(x)
	}
	return math.Float64bits(x)
}

func (t *table) cell(x float64) uint64 {
	k := t.bits(x) >> t.shift
	if k < t.base || !t.signed && math.Signbit(x) {
		return 0
	}
	return min(k-t.base, cells-1)
}

// A tally is what a batch brings to a centroid.
type tally struct {
	n   uint64
	sum float64
}

// count adds values to the list if they fall into a span of it or equal an
// atom, without a change of the list's ends. It returns the others, in memory
// of w; that is all of them if a span would stand for far too much, or if they
// are too few to be worth it.
func (d *Digest) count(w *scratch, xs []float64) []float64 {
	if len(xs) < batch/4 || d.listed < 8*batch {
		return xs
	}
	if d.table == nil {
		d.table = new(table)
	}
	if !d.table.valid {
		d.table.build(d.list)
	}
	if len(w.left) < len(xs) {
		w.left = make([]float64, max(len(xs), batch))
	}
	acc := w.acc[:len(d.list)]
	clear(acc)
	left := w.left[:d.table.tally(&w.acc, xs, w.left)]
	lim := newLimits(d.listed+uint64(len(xs)-len(left)), d.δ(), grade)
	if !d.table.closeFull(d.list, acc, lim) {
		return xs
	}
	fold(d.list, acc)
	d.listed += uint64(len(xs) - len(left))
	return left
}

// tally counts the values that fall into a span or equal an atom. It puts the
// others into left and returns their number.
func (t *table) tally(acc *[slots]tally, xs, left []float64) int {
	n := 0
	signed, base, shift := t.signed, t.base, t.shift%64
	for _, x := range xs {
		k := math.Float64bits(x)
		if signed {
			k = key(x)
		}
		var i uint
		if c := k>>shift - base; c < cells {
			// Nearly all are there in one step, and that does not branch.
			i = uint(t.first[c])
			i += above(x, t.ends[i%slots])
			if x > t.ends[i%slots] {
				i = t.search(x, i+1)
			}
		} else { // far out in a tail
			i = t.search(x, 0)
		}
		if t.only[i%slots] && x != t.ends[i%slots] {
			left[n] = x
			n++
			continue
		}
		a := &acc[i%slots]
		a.n++
		a.sum += x
	}
	return n
}

// search returns the first end from i on that is not below x.
func (t *table) search(x float64, i uint) uint {
	j := t.last
	for i < j {
		if m := (i + j) / 2; x > t.ends[m%slots] {
			i = m + 1
		} else {
			j = m
		}
	}
	return i
}

func above(x, end float64) uint {
	var i uint
	if x > end {
		i = 1
	}
	return i
}

// closeFull has the spans that with their tallies stand for too much take no
// more values: those to come are left, and cut the span when they are put into
// the list. It returns false if a span would stand for twice that much.
func (t *table) closeFull(list []centroid, acc []tally, lim limits) bool {
	acc = acc[:len(list)]
	twice := limits{lim.total, lim.δ, 2 * lim.tails, 2 * lim.unit}
	var added, before uint64
	for i := range list {
		n, upto := acc[i].n, list[i].upto
		if all := upto - before + n; n > 0 && !list[i].atom() && lim.exceeded(before+added, all) {
			if twice.exceeded(before+added, all) {
				return false
			}
			t.only[i] = true
		}
		added += n
		before = upto
	}
	return true
}

// fold adds the tallies to the list.
func fold(list []centroid, acc []tally) {
	acc = acc[:len(list)]
	var added, before uint64
	var lo float64
	for i := range list {
		c, t := &list[i], &acc[i]
		upto := c.upto
		if t.n > 0 && !c.atom() {
			// The old values and the new, as distances from lo.
			n, m, width := float64(int64(upto-before)), float64(int64(t.n)), c.hi-lo
			f := (float64(c.mean)*n*width + (t.sum - m*lo)) / ((n + m) * width)
			if f-f == 0 { // else the values are near the end of the floats
				c.mean = float32(clampMean(f))
			}
		}
		added += t.n
		lo, before = c.hi, upto
		c.upto = upto + added
	}
}
