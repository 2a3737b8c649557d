package percentile

import "math"

// addSorted appends to dst the list with sorted values added. A value within
// a span is counted there, unless that then stands for too much; others
// become atoms. lim is for the values of both.
func addSorted(dst, list []centroid, xs []float64, lim limits) []centroid {
	b := builder{dst}
	added := uint64(0) // values of xs in dst
	j := 0
	for i := range list {
		c := &list[i]
		if j == len(xs) || xs[j] > c.hi { // by far the most frequent
			b.list = append(b.list, centroid{c.hi, c.upto + added, c.mean})
			continue
		}
		s := spanAt(list, i)
		j0 := j
		if c.atom() {
			for ; j < len(xs) && xs[j] < c.hi; j++ {
				b.atom(xs[j], 1)
			}
			for ; j < len(xs) && xs[j] == c.hi; j++ {
				s.n++
			}
			b.atom(c.hi, s.n)
			added += uint64(j - j0)
			continue
		}
		var add float64
		for ; j < len(xs) && xs[j] <= s.hi; j++ {
			add += xs[j] - s.lo
		}
		n := uint64(j - j0)
		if lim.exceeded(c.upto-s.n+added, s.n+n) {
			b.refine(s, spansOf(xs[j0:j]))
			added += n
			continue
		}
		width := s.hi - s.lo
		if width > math.MaxFloat64/(1<<32) { // the sum may have overflowed
			add, width = 0, 1
			for _, x := range xs[j0:j] {
				add += along(s.lo, s.hi, x)
			}
		}
		s.f = (s.f*float64(s.n) + add/width) / float64(s.n+n)
		added += n
		b.list = append(b.list, centroid{s.hi, c.upto + added, float32(clampMean(s.f))})
	}
	for ; j < len(xs); j++ {
		b.atom(xs[j], 1)
	}
	return b.list
}

// spansOf returns sorted values as atoms.
func spansOf(xs []float64) []span {
	ss := make([]span, 0, len(xs))
	for _, x := range xs {
		if k := len(ss) - 1; k >= 0 && ss[k].hi == x {
			ss[k].n++
			continue
		}
		ss = append(ss, span{x, x, 1, 1})
	}
	return ss
}

// mergeLists appends to dst the merge of two lists. The ends of base stay
// where they are, and what other has in a span of base is counted there, so
// that merging often does not blur base. A span that would stand for too much
// is cut at the ends of other. lim is for the values of both.
func mergeLists(dst, base, other []centroid, lim limits) []centroid {
	if len(base) == 0 {
		return append(dst, other...)
	}
	b := builder{dst}
	c := newCursor(other)
	var inside []span
	for i := range base {
		s := spanAt(base, i)
		if s.f == 1 {
			c.until(s.hi, false, b.span)
			c.until(s.hi, true, func(o span) { s.n += o.n })
			b.atom(s.hi, s.n)
			continue
		}
		inside = inside[:0]
		var n uint64
		var f float64
		c.until(s.hi, true, func(o span) {
			inside = append(inside, o)
			n += o.n
			f += along(s.lo, s.hi, o.mean()) * float64(o.n)
		})
		if lim.exceeded(b.upto(), s.n+n) {
			b.refine(s, inside)
			continue
		}
		s.f = (s.f*float64(s.n) + f) / float64(s.n+n)
		s.n += n
		b.span(s)
	}
	c.until(math.Inf(1), true, b.span)
	return b.list
}

// A cursor takes spans off a list, in order and cut where one likes.
type cursor struct {
	list []centroid
	i    int
	cur  span // what is left of list[i]
}

func newCursor(list []centroid) *cursor {
	c := &cursor{list: list, i: -1}
	c.next()
	return c
}

func (c *cursor) next() {
	if c.i++; c.i < len(c.list) {
		c.cur = spanAt(c.list, c.i)
	}
}

// until gives f what is left of the values below x, or up to x.
func (c *cursor) until(x float64, inclusive bool, f func(span)) {
	for c.i < len(c.list) {
		s := c.cur
		if s.hi < x || s.hi == x && (inclusive || s.f < 1) {
			f(s)
			c.next()
			continue
		}
		if s.f == 1 || s.lo >= x {
			return
		}
		l, r := s.split(x)
		if l.n > 0 {
			f(l)
		}
		c.cur = r
		if r.n == 0 {
			c.next()
		}
		return
	}
}

// A builder makes a list from values that come in order.
type builder struct{ list []centroid }

func (b *builder) upto() uint64 {
	if k := len(b.list); k > 0 {
		return b.list[k-1].upto
	}
	return 0
}

// atom adds n values equal to x.
func (b *builder) atom(x float64, n uint64) {
	k := len(b.list) - 1
	if k >= 0 && b.list[k].hi == x {
		e := &b.list[k]
		if e.atom() {
			e.upto += n
			return
		}
		// A span that ends here leaves its end to the atom.
		e.hi = math.Nextafter(x, math.Inf(-1))
		if e.hi == b.list[k-1].hi { // there is no room between
			e.hi, e.mean = x, 1
			e.upto += n
			return
		}
	}
	b.list = append(b.list, centroid{x, b.upto() + n, 1})
}

// span adds the values of s. Its mean is moved with its beginning where that
// is not the last end.
func (b *builder) span(s span) {
	k := len(b.list) - 1
	switch {
	case s.n == 0:
	case s.f == 1, k < 0, !(b.list[k].hi < s.hi):
		b.atom(s.hi, s.n)
	default:
		if lo := b.list[k].hi; lo != s.lo {
			s.f = along(lo, s.hi, s.mean())
		}
		b.list = append(b.list, centroid{s.hi, b.list[k].upto + s.n, float32(clampMean(s.f))})
	}
}

// refine adds the span s cut at the ends of the spans inside it, with their
// values.
func (b *builder) refine(s span, inside []span) {
	for _, o := range inside {
		var l span
		switch {
		case s.n == 0:
		case o.hi >= s.hi:
			l, s.n = s, 0
		default:
			l, s = s.split(o.hi)
		}
		if o.f == 1 {
			b.span(l)
			b.atom(o.hi, o.n)
			continue
		}
		// Both are in one span to the end of o.
		if n := o.n + l.n; l.n > 0 {
			lo := b.list[len(b.list)-1].hi
			f := along(lo, o.hi, o.mean())*float64(o.n) + along(lo, o.hi, l.mean())*float64(l.n)
			o = span{lo, o.hi, n, f / float64(n)}
		}
		b.span(o)
	}
	b.span(s)
}
