package percentile

import "math"

// A centroid stands for the values between the end of the one before it and
// its own. A sorted list of centroids is a distribution function of which the
// points (hi, upto) are known, and between each two of them the mean.
type centroid struct {
	hi   float64 // no value is greater
	upto uint64  // values ≤ hi in the list
	// mean is where the mean of the centroid's values lies between the end
	// of the one before (0) and hi (1). At 1 all values equal hi: an atom.
	// The first centroid and the last of a list are atoms.
	mean float32
}

// maxMean is the greatest mean of a centroid that is no atom.
const maxMean = 1 - 1.0/(1<<20)

func (c *centroid) atom() bool { return c.mean == 1 }

// A span is a centroid with what comes before it: n values in (lo, hi] with
// the relative mean f.
type span struct {
	lo, hi float64
	n      uint64
	f      float64
}

func spanAt(list []centroid, i int) span {
	c := &list[i]
	if i == 0 {
		return span{c.hi, c.hi, c.upto, 1}
	}
	p := &list[i-1]
	return span{p.hi, c.hi, c.upto - p.upto, float64(c.mean)}
}

func (s span) mean() float64 { return lerp(s.lo, s.hi, s.f) }

// curve is the shape of a span's quantile function: from 0 at t = 0 to 1 at
// t = 1, monotone, with the span's mean. It is t + c·t·(1−t) while that is
// monotone, then a power of t or of 1−t.
type curve struct {
	c float64 // |c| ≤ 1
	p float64 // > 2: c < −1: t^p; < −2: c > 1: 1−(1−t)^−p
}

// curve gives the value of rank i of n, i = 1 … n, at t = i/n; the mean of
// these n values is f.
func (s span) curve() curve {
	n := float64(s.n)
	c := 6 * (s.f - 0.5) // in the limit of many values
	if s.n > 1 && s.n < 1<<20 {
		c = (s.f - (n+1)/(2*n)) * 6 * n * n / (n*n - 1)
	}
	switch {
	case c < -1:
		g := max(0.5+c/6, 1/(2*(n+1)))
		return curve{c: -1, p: (1 - g) / g}
	case c > 1:
		g := max(0.5-c/6, 1/(2*(n+1)))
		return curve{c: 1, p: -(1 - g) / g}
	}
	return curve{c: c}
}

func (k curve) at(t float64) float64 {
	switch {
	case k.p > 2:
		return math.Pow(t, k.p)
	case k.p < -2:
		return 1 - math.Pow(1-t, -k.p)
	}
	return t + k.c*t*(1-t)
}

// inverse returns the t at which the curve reaches y.
func (k curve) inverse(y float64) float64 {
	switch {
	case k.p > 2:
		return math.Pow(y, 1/k.p)
	case k.p < -2:
		return 1 - math.Pow(1-y, -1/k.p)
	}
	// The root in [0, 1] of c·t² − (1+c)·t + y, without cancellation.
	b := 1 + k.c
	if y == 0 {
		return 0
	}
	return min(1, 2*y/(b+math.Sqrt(max(0, b*b-4*k.c*y))))
}

// area returns the integral of the curve from 0 to t.
func (k curve) area(t float64) float64 {
	switch {
	case k.p > 2:
		return math.Pow(t, k.p+1) / (k.p + 1)
	case k.p < -2:
		return t - (1-math.Pow(1-t, 1-k.p))/(1-k.p)
	}
	return t*t/2 + k.c*t*t*(0.5-t/3)
}

// lerp returns the point that lies t of the way from a to b.
func lerp(a, b, t float64) float64 {
	x := a + (b-a)*t
	if math.IsInf(b-a, 0) {
		x = a*(1-t) + b*t
	}
	return min(max(x, a), b)
}

// along returns how much of the way from a to b the point x lies.
func along(a, b, x float64) float64 {
	w := b - a
	if math.IsInf(w, 0) {
		return (x/2 - a/2) / (b/2 - a/2)
	}
	if w == 0 {
		return 1
	}
	return (x - a) / w
}

// split cuts a span that is no atom at lo < x < hi. Either part can be empty.
func (s span) split(x float64) (l, r span) {
	k := s.curve()
	t := k.inverse(along(s.lo, s.hi, x))
	n := min(uint64(t*float64(s.n)+0.5), s.n)
	l, r = span{s.lo, x, n, 0}, span{x, s.hi, s.n - n, 0}
	if n == 0 || n == s.n {
		// The mean moves with the ends.
		m := s.mean()
		if n == 0 {
			r.f = clampMean(along(x, s.hi, max(m, x)))
		} else {
			l.f = clampMean(along(s.lo, x, min(m, x)))
		}
		return l, r
	}
	// The mean of the left values, and by the whole mean that of the right.
	y := along(s.lo, s.hi, x)
	m := k.area(t)/t + y/(2*float64(n))
	l.f = clampMean(m / y)
	m = min(m, y)
	w := float64(n) / float64(s.n)
	r.f = clampMean(((s.f-w*m)/(1-w) - y) / (1 - y))
	return l, r
}

// clampMean keeps a relative mean within what is no atom.
func clampMean(f float64) float64 {
	if !(f > 0) { // NaN too
		return 1.0 / (1 << 20)
	}
	return min(f, maxMean)
}
