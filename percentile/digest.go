package percentile

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	defaultCompression = 250 // see WithCompression
	minCompression     = 20
	maxCompression     = 500

	// A digest sorts its values in batches of this size.
	batch = 4096
	// Values that come with a count above fewCopies wait in a list of their own.
	weightedBatch = 64
	fewCopies     = 4

	maxCount = 1 << 62
)

// An Option changes a [Digest], [Recorder] or [Window] at its construction.
type Option func(*options)

type options struct{ compression float64 }

func apply(opts []Option) options {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithCompression sets the number of clusters that a digest has for the
// values between its tails. The tails, which decide how good the percentiles
// from P99 upwards are, do not depend on it as long as there is room.
//
// The default is 250, by BenchmarkValueError: 125 makes the error at the median
// of 10,000 values 1.4 times as large, and that at P90 of 100,000 1.5 times.
// 500 makes them 0.7 and 0.8 times as large, but takes room from the tails, and
// the error at P99 of 100,000 becomes 1.2 times as large.
//
// It panics if δ is not in [20, 500].
func WithCompression(δ float64) Option {
	if !(δ >= minCompression && δ <= maxCompression) { // NaN too
		panic(fmt.Sprintf("percentile: compression %v is not in [%d, %d]", δ, minCompression, maxCompression))
	}
	return func(o *options) { o.compression = δ }
}

// A Digest holds the distribution of a stream of values in bounded memory:
// below 120 kB whatever their number, and little when they are few.
//
// The zero value is an empty digest that is ready to use. A digest must not
// be copied by value, which go vet and Add find out, the latter with a panic; see
// [Digest.Clone]. A copy also lacks MarshalJSON and MarshalBinary: put a pointer
// into what is to be marshalled.
//
// One goroutine at a time may change a digest. Methods that only read may be
// called from several, as long as none changes it; being the source of a
// Merge is reading.
type Digest struct {
	self  *Digest // the address at first use, to find out copies
	buf   []float64
	n     int    // buf[:n] are finite values
	taken uint64 // finite values that are not in buf[:n]

	weighted []weighted // values with a count

	negInf, posInf, nans uint64

	compression float64 // 0: the default

	// What follows changes when a reader settles the digest: mu is for readers
	// among each other. settled is the finite count up to which list is whole.
	mu      sync.Mutex
	settled atomic.Uint64
	done    int        // buf[:done] are in list
	summed  int        // buf[:summed] are in sum
	doneW   int        // weighted[:doneW] are in list
	list    []centroid // sorted, squeezed when it is too long
	listed  uint64     // values in list
	table   *table     // of list, once it is worth it
	sum     sum        // of the values in list, and of buf[:summed]
}

type weighted struct {
	x float64
	n uint64
}

// New returns an empty digest.
func New(opts ...Option) *Digest {
	return &Digest{compression: apply(opts).compression}
}

// Add adds one value. NaN is counted apart and enters nothing.
func (d *Digest) Add(x float64) {
	if d.self == d && d.n < len(d.buf) && x-x == 0 { // x is finite
		d.buf[d.n] = x
		d.n++
		return
	}
	d.addSlow(x)
}

func (d *Digest) addSlow(x float64) {
	d.own()
	if x-x != 0 {
		d.addSpecial(x, 1)
		return
	}
	switch {
	case d.n < len(d.buf):
	case len(d.buf) < batch:
		d.buf = append(d.buf, make([]float64, max(len(d.buf), 16))...)
	default:
		d.flush()
	}
	d.buf[d.n] = x
	d.n++
}

// AddSlice adds each of the values, at less cost than Add.
func (d *Digest) AddSlice(xs []float64) {
	d.own()
	for len(xs) > 0 {
		n := copyFinite(d.buf[d.n:], xs)
		d.n += n
		if xs = xs[n:]; len(xs) > 0 { // the buffer is full, or the value is not finite
			d.addSlow(xs[0])
			xs = xs[1:]
		}
	}
}

// copyFinite copies values as far as there is room and they are finite.
func copyFinite(dst, src []float64) int {
	n := min(len(dst), len(src))
	for i, x := range src[:n] {
		if x-x != 0 {
			return i
		}
		dst[i] = x
	}
	return n
}

// AddN adds n values that are all equal to x, at the cost of a few. Nothing
// is added if n is 0. A digest counts to 2⁶² and no further.
func (d *Digest) AddN(x float64, n uint64) {
	if n <= fewCopies && x-x == 0 {
		for range n {
			d.Add(x)
		}
		return
	}
	d.own()
	n = min(n, maxCount-min(maxCount, max(d.Count(), d.nans)))
	switch {
	case n == 0:
	case x-x != 0:
		d.addSpecial(x, n)
	default:
		if len(d.weighted) == weightedBatch {
			d.flush()
		}
		d.weighted = append(d.weighted, weighted{x, n})
		d.taken += n
	}
}

func (d *Digest) addSpecial(x float64, n uint64) {
	switch {
	case x > 0:
		d.posInf += n
	case x < 0:
		d.negInf += n
	default:
		d.nans += n
	}
}

// own notes the address of a digest at its first use.
func (d *Digest) own() {
	if d.self == nil {
		d.self = d
	}
	if d.self != d {
		panic("percentile: a Digest was copied by value; use Clone")
	}
}

// settle puts what is buffered into the list. Several readers may do so.
func (d *Digest) settle() {
	n := d.finite()
	if d.settled.Load() == n {
		return
	}
	d.mu.Lock()
	if d.settled.Load() != n {
		w := getScratch()
		d.insert(w, d.buf[d.done:d.countFresh(w)])
		d.done, d.summed = d.n, d.n
		putScratch(w)
		d.addWeighted(d.weighted[d.doneW:])
		d.doneW = len(d.weighted)
		d.settled.Store(n)
	}
	d.mu.Unlock()
}

// flush makes room in the buffers. Few values that ask for a change of the
// list may stay.
func (d *Digest) flush() {
	w := getScratch()
	left := d.buf[d.done:d.countFresh(w)]
	if len(left) > batch/4 {
		d.insert(w, left)
		left = nil
	}
	putScratch(w)
	d.taken += uint64(d.n - len(left))
	d.n = copy(d.buf, left)
	d.done, d.summed = 0, d.n
	d.addWeighted(d.weighted[d.doneW:])
	d.weighted, d.doneW = d.weighted[:0], 0
}

// countFresh counts the values that were not yet looked at. Those that are
// left stay in buf, whose end it returns.
func (d *Digest) countFresh(w *scratch) int {
	fresh := d.buf[d.summed:d.n]
	d.sum.addAll(fresh)
	return d.summed + copy(fresh, d.count(w, fresh))
}

// load adds finite values at once, past the buffer, and reorders xs.
func (d *Digest) load(xs []float64) {
	d.own()
	if d.summed < d.n {
		d.flush()
	}
	w := getScratch()
	d.sum.addAll(xs)
	left := d.count(w, xs)
	if len(left) > batch/4 {
		d.insert(w, left)
		left = nil
	}
	d.taken += uint64(len(xs) - len(left))
	if n := d.n + len(left); n > len(d.buf) {
		d.buf = append(make([]float64, 0, n), d.buf...)[:n]
	}
	d.n += copy(d.buf[d.n:], left)
	d.summed = d.n
	if d.n-d.done > batch/4 {
		d.insert(w, d.buf[d.done:d.n])
		d.taken += uint64(d.n)
		d.n, d.done, d.summed = 0, 0, 0
	}
	putScratch(w)
	d.unsettle()
}

// insert makes centroids of finite values, and reorders xs.
func (d *Digest) insert(w *scratch, xs []float64) {
	for c := range slices.Chunk(xs, batch) {
		w.sort(c)
		d.listed += uint64(len(c))
		d.set(w, addSorted(w.list[:0], d.list, c, d.limits()))
	}
}

func (d *Digest) addWeighted(ws []weighted) {
	if len(ws) == 0 {
		return
	}
	for _, c := range ws {
		d.sum.addN(c.x, c.n)
	}
	w := getScratch()
	defer putScratch(w)
	atoms := atomsOf(ws)
	d.listed += atoms[len(atoms)-1].upto
	d.set(w, mergeLists(w.list[:0], d.list, atoms, d.limits()))
}

// atomsOf sorts the values and returns them as a list.
func atomsOf(ws []weighted) []centroid {
	slices.SortFunc(ws, func(a, b weighted) int {
		if a.x < b.x {
			return -1
		}
		if a.x > b.x {
			return 1
		}
		return 0
	})
	b := builder{make([]centroid, 0, len(ws))}
	for _, c := range ws {
		b.atom(c.x, c.n)
	}
	return b.list
}

// set makes a list that was built in w.list the digest's own.
func (d *Digest) set(w *scratch, list []centroid) {
	w.list = list
	if len(list) > listCap {
		list = squeeze(w, list, d.δ())
	}
	if cap(d.list) < len(list) {
		n := max(len(list), min(2*cap(d.list), listCap))
		d.list = make([]centroid, 0, n)
	}
	d.list = append(d.list[:0], list...)
	if d.table != nil {
		d.table.valid = false
	}
}

func (d *Digest) δ() float64 {
	if d.compression == 0 {
		return defaultCompression
	}
	return d.compression
}

func (d *Digest) limits() limits { return newLimits(d.listed, d.δ(), grade) }

func (d *Digest) finite() uint64 { return d.taken + uint64(d.n) }

// Count returns how many values were added, infinities included, NaNs not.
func (d *Digest) Count() uint64 { return d.finite() + d.negInf + d.posInf }

// NaNs returns how many NaNs were added. They are in no other figure.
func (d *Digest) NaNs() uint64 { return d.nans }

// Sum returns the sum of the values, correct to the rounding of a float64
// whatever their number. It is 0 for an empty digest, and NaN where both
// infinities are in it.
func (d *Digest) Sum() float64 {
	d.settle()
	x := d.sum.value()
	if d.negInf > 0 {
		x = math.Inf(-1)
	}
	if d.posInf > 0 {
		if d.negInf > 0 {
			return math.NaN()
		}
		x = math.Inf(1)
	}
	return x
}

// Mean returns the arithmetic mean. It is NaN when the digest is empty.
func (d *Digest) Mean() float64 { return d.Sum() / float64(d.Count()) }

// Min returns the least value, exactly. It is NaN when the digest is empty.
func (d *Digest) Min() float64 {
	if d.Count() == 0 {
		return math.NaN()
	}
	if d.negInf > 0 {
		return math.Inf(-1)
	}
	if d.finite() == 0 {
		return math.Inf(1)
	}
	d.settle()
	return d.list[0].hi
}

// Max returns the greatest value, exactly. It is NaN when the digest is empty.
func (d *Digest) Max() float64 {
	if d.Count() == 0 {
		return math.NaN()
	}
	if d.posInf > 0 {
		return math.Inf(1)
	}
	if d.finite() == 0 {
		return math.Inf(-1)
	}
	d.settle()
	return d.list[len(d.list)-1].hi
}

// Merge adds the values of o to d. o is not changed; it may be d itself, and
// may be nil. d keeps its own compression. Where the count would exceed 2⁶²,
// nothing is added.
func (d *Digest) Merge(o *Digest) {
	d.own()
	if o == nil || o.Count()+d.Count() > maxCount || o.nans+d.nans > maxCount {
		return
	}
	o.settle()
	if o.listed > 0 {
		base, other := d.list, o.list
		if d.listed < o.listed {
			base, other = other, base
		}
		d.taken += o.listed
		d.listed += o.listed
		d.sum.merge(o.sum)
		w := getScratch()
		d.set(w, mergeLists(w.list[:0], base, other, d.limits()))
		putScratch(w)
		d.unsettle()
	}
	d.negInf += o.negInf
	d.posInf += o.posInf
	d.nans += o.nans
}

// unsettle makes the next reader settle.
func (d *Digest) unsettle() { d.settled.Store(math.MaxUint64) }

// Clone returns a copy that shares nothing with d.
func (d *Digest) Clone() *Digest {
	d.settle()
	c := &Digest{
		taken: d.listed, list: slices.Clone(d.list), listed: d.listed, sum: d.sum,
		negInf: d.negInf, posInf: d.posInf, nans: d.nans,
		compression: d.compression,
	}
	c.self = c
	c.settled.Store(c.listed)
	return c
}

// trim gives back all memory but that of the list.
func (d *Digest) trim() {
	d.settle()
	d.taken += uint64(d.n)
	d.buf, d.n, d.done, d.summed = nil, 0, 0, 0
	d.weighted, d.doneW = nil, 0
	d.table = nil
	if cap(d.list) > len(d.list)+len(d.list)/4 {
		d.list = append(make([]centroid, 0, len(d.list)), d.list...)
	}
}

// Reset empties the digest and keeps its memory for reuse.
func (d *Digest) Reset() {
	d.own()
	d.n, d.taken, d.done, d.summed, d.doneW = 0, 0, 0, 0, 0
	d.weighted, d.list, d.listed = d.weighted[:0], d.list[:0], 0
	d.negInf, d.posInf, d.nans = 0, 0, 0
	d.sum, d.table = sum{}, nil
	d.settled.Store(0)
}
