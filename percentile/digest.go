package percentile

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
)

const (
	// defaultCompression is the number of clusters between the tails.
	defaultCompression = 200
	minCompression     = 20
	maxCompression     = 1000

	// batch is how many values are collected before they are sorted.
	batch = 2048
)

// An Option changes a [Digest] or a [Recorder] at its construction.
type Option func(*options)

type options struct{ compression float64 }

// WithCompression sets the number of clusters that the digest has for the
// values between its tails. The default is 200; the tails, which decide how
// good the percentiles from P99 upwards are, do not depend on it.
//
// It panics if δ is not in [20, 1000].
func WithCompression(δ float64) Option {
	if !(δ >= minCompression && δ <= maxCompression) { // NaN too
		panic(fmt.Sprintf("percentile: compression %v is not in [%d, %d]", δ, minCompression, maxCompression))
	}
	return func(o *options) { o.compression = δ }
}

// A Digest holds the distribution of a stream of values in bounded memory:
// below 120 kB, whatever their number, and little when they are few.
//
// Its quantiles are exact while it holds at most 1,000 values, or at most
// 1,000 distinct ones. The zero value is an empty digest that is ready to
// use. It must not be copied by value; see [Digest.Clone].
//
// One goroutine at a time may change a digest. Methods that only read,
// being the source of a Merge included, may be called from several goroutines
// as long as none changes it.
type Digest struct {
	self *Digest // the address at first use, to find out copies

	buf  []float64  // finite values not yet in list
	list []centroid // sorted, squeezed from time to time

	listed         uint64 // finite values in list
	negInf, posInf uint64
	nans           uint64
	sum            sum // of the listed values

	compression float64 // 0: the default

	read atomic.Pointer[view] // what readers share; stale when its count differs
}

// New returns an empty digest.
func New(opts ...Option) *Digest {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	return &Digest{compression: o.compression}
}

// Add adds one value. NaN is counted apart and enters nothing.
func (d *Digest) Add(x float64) {
	if d.self != d {
		d.own()
	}
	if math.Float64bits(x)&expMask == expMask {
		d.addSpecial(x, 1)
		return
	}
	if len(d.buf) == batch {
		d.flush()
	}
	d.buf = append(d.buf, x)
}

// AddN adds n values that are all equal to x, in the time of one. Nothing is
// added if n is 0. A digest counts to 2⁶² and no further.
func (d *Digest) AddN(x float64, n uint64) {
	n = min(n, maxCount-min(maxCount, max(d.Count(), d.nans)))
	switch n {
	case 0:
		return
	case 1:
		d.Add(x)
		return
	}
	if d.self != d {
		d.own()
	}
	if math.Float64bits(x)&expMask == expMask {
		d.addSpecial(x, n)
		return
	}
	d.insert([]centroid{{x, n}})
}

const (
	expMask  = 0x7FF << 52 // the exponent of infinities and NaNs
	maxCount = 1 << 62
)

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
	if d.self != nil {
		panic("percentile: a Digest was copied by value; use Clone")
	}
	d.self = d
}

// flush moves the buffered values into the list.
func (d *Digest) flush() {
	if len(d.buf) == 0 {
		return
	}
	slices.Sort(d.buf)
	cs := make([]centroid, 0, len(d.buf))
	for _, x := range d.buf {
		cs = append(cs, centroid{x, 1})
	}
	d.buf = d.buf[:0]
	d.insert(cs)
}

// insert merges sorted centroids into the list.
func (d *Digest) insert(cs []centroid) {
	if len(cs) == 0 {
		return
	}
	for _, c := range cs {
		d.sum.addN(c.x, c.count())
	}
	d.absorb(cs)
}

// absorb merges sorted centroids into the list without counting their sum.
func (d *Digest) absorb(cs []centroid) {
	for _, c := range cs {
		d.listed += c.count()
	}
	d.list = mergeSorted(make([]centroid, 0, len(d.list)+len(cs)), d.list, cs)
	if len(d.list) > listCap {
		d.list = squeeze(d.list, d.listed, d.δ())
	}
}

func (d *Digest) δ() float64 {
	if d.compression == 0 {
		return defaultCompression
	}
	return d.compression
}

func (d *Digest) finite() uint64 { return d.listed + uint64(len(d.buf)) }

// Count returns how many values were added, infinities included, NaNs not.
func (d *Digest) Count() uint64 { return d.finite() + d.negInf + d.posInf }

// NaNs returns how many NaNs were added. They are in no other figure.
func (d *Digest) NaNs() uint64 { return d.nans }

// Sum returns the sum of the values: that of the exact values up to the
// rounding of a float64. It is 0 for an empty digest, and NaN where both
// infinities are in it.
func (d *Digest) Sum() float64 {
	if d.negInf > 0 || d.posInf > 0 {
		var s float64
		if d.negInf > 0 {
			s = math.Inf(-1)
		}
		if d.posInf > 0 {
			s += math.Inf(1)
		}
		return s
	}
	s := d.sum
	for _, x := range d.buf {
		s.add(x)
	}
	return s.value()
}

// Mean returns the arithmetic mean, NaN when the digest is empty.
func (d *Digest) Mean() float64 {
	n := d.Count()
	if n == 0 {
		return math.NaN()
	}
	return d.Sum() / float64(n)
}

// Min returns the least value, exactly; NaN when the digest is empty.
func (d *Digest) Min() float64 {
	switch {
	case d.negInf > 0:
		return math.Inf(-1)
	case d.finite() > 0:
		x := math.Inf(1)
		if d.listed > 0 {
			x = d.list[0].x // the ends of the list are atoms
		}
		for _, v := range d.buf {
			x = min(x, v)
		}
		return x
	case d.posInf > 0:
		return math.Inf(1)
	}
	return math.NaN()
}

// Max returns the greatest value, exactly; NaN when the digest is empty.
func (d *Digest) Max() float64 {
	switch {
	case d.posInf > 0:
		return math.Inf(1)
	case d.finite() > 0:
		x := math.Inf(-1)
		if d.listed > 0 {
			x = d.list[len(d.list)-1].x
		}
		for _, v := range d.buf {
			x = max(x, v)
		}
		return x
	case d.negInf > 0:
		return math.Inf(-1)
	}
	return math.NaN()
}

// Merge adds the values of o to d. o is not changed and may be d itself.
// Where the count would exceed 2⁶², nothing is added.
func (d *Digest) Merge(o *Digest) {
	if o.Count() > maxCount-min(maxCount, d.Count()) || o.nans > maxCount-min(maxCount, d.nans) {
		return
	}
	if d.self != d {
		d.own()
	}
	if d == o {
		o = o.Clone()
	}
	d.negInf += o.negInf
	d.posInf += o.posInf
	d.nans += o.nans
	if o.listed > 0 {
		d.sum.merge(o.sum)
		d.absorb(o.list)
	}
	for _, x := range o.buf {
		d.Add(x)
	}
	d.read.Store(nil)
}

// Clone returns a copy that shares nothing with d.
func (d *Digest) Clone() *Digest {
	c := &Digest{
		buf: slices.Clone(d.buf), list: slices.Clone(d.list),
		listed: d.listed, negInf: d.negInf, posInf: d.posInf, nans: d.nans,
		sum: d.sum, compression: d.compression,
	}
	c.self = c
	return c
}

// Reset empties the digest and keeps its memory for reuse.
func (d *Digest) Reset() {
	d.buf, d.list = d.buf[:0], d.list[:0]
	d.listed, d.negInf, d.posInf, d.nans = 0, 0, 0, 0
	d.sum = sum{}
	d.read.Store(nil)
}
