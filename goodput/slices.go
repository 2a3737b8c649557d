package goodput

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// maxSlices is how many time slices are kept. When a run outgrows them, neighbours are added together in pairs.
const maxSlices = 512

// firstWidth is the width of a slice at first, ns: so short that a run of a few requests has several.
const firstWidth = 1000

// The counts of a slice. Those of the time line are of every record; what starts with n is of the cohort.
const (
	cOffered    = iota // started in the slice
	cEnded             // ended in it: throughput
	cSuccess           // ended in it with success
	cGood              // ended in it, good
	cTokens            // output tokens of what ended in it
	cGoodTokens        // output tokens of what ended in it, good
	nCohort            // started in it, and in the window
	nFailed            // of them: no success
	nGood              // of them: good
	sliceCounts
)

// timeSlices are counts and sums by time, in equal slices of width ns that begin at multiples of it after anchor. All
// slices of an accumulator have one anchor, so that two sets of them can be added at the coarser width of the two.
//
// The counts of one slice are sliceCounts integers and then, for each objective, the requests within and those
// excluded. The sums are, for each series, the number of values, their sum and the sum of their squares.
type timeSlices struct {
	anchor, width int64
	lo            int64 // index of the first slice
	n             int   // slices from lo on
	objectives    int
	series        int
	counts        []uint64  // n × (sliceCounts + 2·objectives)
	sums          []float64 // n × 3·series
}

func newSlices(anchor int64, objectives, series int) *timeSlices {
	return &timeSlices{anchor: anchor, width: firstWidth, objectives: objectives, series: series}
}

func (s *timeSlices) stride() int { return sliceCounts + 2*s.objectives }

// row is the slice of instant t: its place, for count and sum. There is none before the first instant.
func (s *timeSlices) row(t int64) int {
	i := floorDiv(t-s.anchor, s.width)
	if at := i - s.lo; at >= 0 && at < int64(s.n) {
		return int(at)
	}
	for !s.cover(i, i) {
		s.coarsen()
		i = floorDiv(t-s.anchor, s.width)
	}
	return int(i - s.lo)
}

// cover makes room for the slices first to last, if there can be.
func (s *timeSlices) cover(first, last int64) bool {
	if s.n == 0 {
		s.lo = first
	}
	lo, hi := min(s.lo, first), max(s.lo+int64(s.n)-1, last)
	if uint64(hi)-uint64(lo) >= maxSlices {
		return false
	}
	n := int(hi-lo) + 1
	front := int(s.lo - lo)
	s.counts = stretch(s.counts, front, n, s.stride())
	s.sums = stretch(s.sums, front, n, 3*s.series)
	s.lo, s.n = lo, n
	return true
}

// stretch gives v room for n rows, the first front of them new.
func stretch[T uint64 | float64](v []T, front, n, stride int) []T {
	had := len(v)
	if n*stride > cap(v) {
		longer := make([]T, had, min(max(n, 2*had/max(stride, 1)), maxSlices)*stride)
		copy(longer, v)
		v = longer
	}
	v = v[:n*stride] // zeros: nothing is ever left beyond the end
	if front > 0 {
		copy(v[front*stride:], v[:had])
		clear(v[:front*stride])
	}
	return v
}

// coarsen doubles the width: the slices 2i and 2i+1 become slice i.
func (s *timeSlices) coarsen() {
	if s.n > 0 {
		lo := floorDiv(s.lo, 2)
		n := int(floorDiv(s.lo+int64(s.n)-1, 2)-lo) + 1
		s.counts = halve(s.counts, s.n, n, s.stride(), s.lo)
		s.sums = halve(s.sums, s.n, n, 3*s.series, s.lo)
		s.lo, s.n = lo, n
	}
	s.width *= 2
}

// halve adds the rows of v, the first of which has index lo, in pairs in place, and leaves zeros behind them.
func halve[T uint64 | float64](v []T, rows, halves, stride int, lo int64) []T {
	to := floorDiv(lo, 2)
	for i := range rows {
		j := int(floorDiv(lo+int64(i), 2) - to)
		from, into := v[i*stride:(i+1)*stride], v[j*stride:(j+1)*stride]
		if i == j {
			continue
		}
		for k := range from {
			into[k] += from[k]
			from[k] = 0
		}
	}
	return v[:halves*stride]
}

func (s *timeSlices) add(row, column int, n uint64) { s.counts[row*s.stride()+column] += n }

func (s *timeSlices) count(row, column int) uint64 { return s.counts[row*s.stride()+column] }

// total is a column's sum.
func (s *timeSlices) total(column int) (n uint64) {
	for row := range s.n {
		n += s.count(row, column)
	}
	return n
}

func (s *timeSlices) within(objective int) int { return sliceCounts + 2*objective }

func (s *timeSlices) excluded(objective int) int { return sliceCounts + 2*objective + 1 }

func (s *timeSlices) value(row, series int, x float64) {
	v := s.sums[(row*s.series+series)*3:][:3]
	v[0]++
	v[1] += x
	v[2] += x * x
}

func (s *timeSlices) clone() *timeSlices {
	c := *s
	c.counts = slices.Clone(s.counts)
	c.sums = slices.Clone(s.sums)
	return &c
}

// merge adds o, which is not changed, column by column as far as both have them: the slices of a total have no
// objectives where its classes' differ.
func (s *timeSlices) merge(o *timeSlices) {
	if o.n == 0 {
		return
	}
	if o.width != s.width || !s.cover(o.lo, o.lo+int64(o.n)-1) {
		o = o.clone()
	}
	for o.width < s.width {
		o.coarsen()
	}
	for s.width < o.width {
		s.coarsen()
	}
	for !s.cover(o.lo, o.lo+int64(o.n)-1) {
		s.coarsen()
		o.coarsen()
	}
	at := int(o.lo - s.lo)
	for i := range o.n {
		addTo(s.counts[(at+i)*s.stride():][:s.stride()], o.counts[i*o.stride():][:o.stride()])
		addTo(s.sums[(at+i)*3*s.series:][:3*s.series], o.sums[i*3*o.series:][:3*o.series])
	}
}

func addTo[T uint64 | float64](to, from []T) {
	for i := range min(len(to), len(from)) {
		to[i] += from[i]
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// appendBinary writes width, lo, n and each row: its counts, and its sums where somebody of the cohort started in it. The
// anchor and the numbers of columns are the accumulator's to know.
func (s *timeSlices) appendBinary(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(s.width))
	b = binary.AppendVarint(b, s.lo)
	b = binary.AppendUvarint(b, uint64(s.n))
	for row := range s.n {
		for _, v := range s.counts[row*s.stride():][:s.stride()] {
			b = binary.AppendUvarint(b, v)
		}
		if s.count(row, nCohort) > 0 {
			for _, v := range s.sums[row*3*s.series:][:3*s.series] {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
		}
	}
	return b
}

var errSlices = errors.New("damaged time slices")

func (s *timeSlices) decode(d *decoder) {
	width, lo, n := d.Uvarint(), d.Varint(), d.Uvarint()
	if !d.OK() {
		return
	}
	power := width / firstWidth
	switch {
	case power == 0 || width%firstWidth != 0 || power&(power-1) != 0 || width > math.MaxInt64:
		d.Fail(errSlices)
	case n > maxSlices || lo < math.MinInt64/int64(width) || lo > math.MaxInt64/int64(width)-maxSlices:
		d.Fail(errSlices)
	}
	if !d.Room(n, s.stride()) { // a count takes at least a byte
		return
	}
	s.width, s.lo, s.n = int64(width), lo, int(n)
	s.counts = make([]uint64, s.n*s.stride())
	s.sums = make([]float64, s.n*3*s.series)
	totals := make([]uint64, s.stride())
	for row := range s.n {
		counts := s.counts[row*s.stride():][:s.stride()]
		for i := range counts {
			counts[i] = d.count()
			if totals[i] += counts[i]; totals[i] > maxCounted {
				d.Fail(errCounted)
				return
			}
		}
		if counts[nCohort] == 0 {
			continue
		}
		sums := s.sums[row*3*s.series:][:3*s.series]
		for i := range sums {
			sums[i] = d.Float()
		}
	}
}
