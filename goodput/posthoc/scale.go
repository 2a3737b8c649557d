package posthoc

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// The scales that there are: numbers of four digits from MinScale to below 100.
const (
	MinScale = 0.001
	MaxScale = 99.99
)

// scale is the index of a scale: 0 is MinScale, and one more is one more in the fourth digit.
type scale int

const (
	perDecade = 9000
	decades   = 5
	scales    = decades * perDecade
	never     = scale(scales) // at no scale
	one       = scale(3 * perDecade)
)

// fraction is the scale as digits/over, in whole numbers.
func (s scale) fraction() (digits, over uint64) {
	over = 1_000_000
	for range int(s) / perDecade {
		over /= 10
	}
	return uint64(1000 + int(s)%perDecade), over
}

func (s scale) float() float64 {
	digits, over := s.fraction()
	return float64(digits) / float64(over)
}

// text is the scale with no zeros at its end.
func text(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

// scaleOf is the scale that f is; an error where it is none.
func scaleOf(f float64) (scale, error) {
	if !(f >= MinScale*(1-1e-9) && f <= MaxScale*(1+1e-9)) {
		return 0, fmt.Errorf("scale %v is not from %v to %v", f, MinScale, MaxScale)
	}
	s := scale(sort.Search(scales, func(i int) bool { return scale(i).float() >= f*(1-1e-9) }))
	if near := s.float(); math.Abs(near-f) > 1e-9*f {
		return 0, fmt.Errorf("scale %v has more than four digits: %v has not", f, text(near))
	}
	return s, nil
}

// billion is what thresholds are counted in: nanoseconds, 1e-9 tokens/s.
const billion = 1e9

// threshold is t, of m, at the scale.
func (s scale) threshold(m slo.Metric, t slo.Threshold) slo.Threshold {
	if s == one || m.Population() {
		return t
	}
	if m.Custom() {
		if f := s.float(); t.Limit >= 0 {
			t.Limit *= f
		} else {
			t.Limit /= f
		}
		// An SLO's threshold is finite; beyond the greatest float64 nothing is.
		t.Limit = min(max(t.Limit, -math.MaxFloat64), math.MaxFloat64)
		return t
	}
	digits, over := s.fraction()
	limit, per := t.Billionths()
	if m.HigherIsBetter() {
		return slo.Threshold{Limit: float64(times(limit, over, digits, slo.MaxSpeed*billion)) / billion}
	}
	most := int64(slo.MaxTime / time.Nanosecond)
	return slo.Threshold{Limit: float64(times(limit, digits, over, most)) / billion, PerToken: float64(times(per, digits, over, most)) / billion}
}

// times is v·a/b, a half rounded up, for a v that is not negative. It is at least 1 and at most most, as thresholds of an SLO
// are; a v that is beyond these, as one that a request brought along may be, stays what it is where it would get further out.
func times(v int64, a, b uint64, most int64) int64 {
	top := uint64(max(v, most))
	hi, lo := bits.Mul64(uint64(v), a)
	lo, carry := bits.Add64(lo, b/2, 0)
	hi += carry
	q := top
	if hi < b {
		q, _ = bits.Div64(hi, lo, b)
	}
	return int64(min(max(q, uint64(min(v, 1))), top))
}

// near is a scale close to f; which one matters to nobody but least.
func near(f float64) scale {
	switch {
	case !(f > MinScale): // NaN too
		return 0
	case f >= MaxScale:
		return never - 1
	}
	decade := int(math.Log10(f / MinScale))
	digits := math.Ceil(f / MinScale * 1000 / math.Pow10(decade))
	return min(max(scale(decade*perDecade+int(digits)-1000), 0), never-1)
}

// least is the least scale at which holds; once it does, it does at every greater one. It is looked for from a guess outwards, so that
// a good one takes two questions.
func least(guess scale, holds func(scale) bool) scale {
	lo, hi := scale(-1), never // holds at hi if at any, and not at lo
	if holds(guess) {
		hi = guess
		for at, step := guess-1, scale(1); at >= 0; at, step = at-step, 2*step {
			if !holds(at) {
				lo = at
				break
			}
			hi = at
		}
	} else {
		lo = guess
		for at, step := guess+1, scale(1); at < never; at, step = at+step, 2*step {
			if holds(at) {
				hi = at
				break
			}
			lo = at
		}
	}
	return lo + 1 + scale(sort.Search(int(hi-lo)-1, func(i int) bool { return holds(lo + 1 + scale(i)) }))
}

// Scaled is s with every threshold on one request at a scale, as the figures of this package are counted. Fixed before the
// next run, it is what that one can be judged by. It is an error if the scale is not from MinScale to MaxScale or has more
// than four digits.
func Scaled(s slo.SLO, by float64) (slo.SLO, error) {
	at, err := scaleOf(by)
	if err != nil {
		return slo.SLO{}, fmt.Errorf("posthoc: %w", err)
	}
	return at.slo(s), nil
}

func (s scale) slo(of slo.SLO) slo.SLO {
	if s == one {
		return of
	}
	of.Name = ""
	of.Objectives, of.Undefined = slices.Clone(of.Objectives), maps.Clone(of.Undefined)
	for i := range of.Objectives {
		of.Objectives[i] = s.objective(of.Objectives[i])
	}
	return of
}

func (s scale) objective(o slo.Objective) slo.Objective {
	o.Threshold = s.threshold(o.Metric, o.Threshold)
	return o
}

// counts are how many have each scale as their least one.
type counts struct {
	pages [decades]*[perDecade]uint64
}

func (c *counts) add(s scale, n uint64) {
	if s >= never || n == 0 {
		return
	}
	page := &c.pages[s/perDecade]
	if *page == nil {
		*page = new([perDecade]uint64)
	}
	(*page)[s%perDecade] += n
}

func (c *counts) merge(o *counts) {
	for i, page := range o.pages {
		if page == nil {
			continue
		}
		if c.pages[i] == nil {
			c.pages[i] = new([perDecade]uint64)
		}
		for j, n := range page {
			c.pages[i][j] += n
		}
	}
}

// walk calls f for each scale that some have as their least, in order, with how many have it or a lower one, until f
// returns false.
func (c *counts) walk(f func(s scale, upTo uint64) bool) {
	var sum uint64
	for i, page := range c.pages {
		if page == nil {
			continue
		}
		for j, n := range page {
			if n == 0 {
				continue
			}
			sum += n
			if !f(scale(i*perDecade+j), sum) {
				return
			}
		}
	}
}

// upTo is, for each of some scales in order, how many have that or a lower one as their least.
func (c *counts) upTo(steps []scale) []uint64 {
	all := make([]uint64, len(steps))
	i, last := 0, uint64(0)
	c.walk(func(at scale, sum uint64) bool {
		for ; i < len(steps) && steps[i] < at; i++ {
			all[i] = last
		}
		last = sum
		return i < len(steps)
	})
	for ; i < len(steps); i++ {
		all[i] = last
	}
	return all
}

// reach is the least scale at which enough have theirs; never where not all of them are enough.
func (c *counts) reach(enough func(n uint64) bool) scale {
	at := never
	if enough(0) {
		return 0
	}
	c.walk(func(s scale, sum uint64) bool {
		if enough(sum) {
			at = s
			return false
		}
		return true
	})
	return at
}
