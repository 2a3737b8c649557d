package percentile

import (
	"math"
	"slices"
	"sort"

	"github.com/influxdata/tdigest"
)

const (
	// A list longer than listCap is squeezed to at most squeezed centroids.
	// With squeezed ones it has room for new values; 1,500 are usual.
	listCap  = slots - 2
	squeezed = 1920

	// A centroid in a tail, with r values between it and the end, may stand
	// for grade·(r/1000)² values. In a tail that falls like a power the
	// relative error of a value is in the order of √n/r, so this keeps it
	// the same along the tail.
	grade = 10

	// Up to fewValues there is room for centroids two thirds as large.
	fewValues = 1 << 15

	// maxHoles is how many gaps of the data get centroids that end at them.
	maxHoles = 15
	// pieces is how many clusters the body then has.
	pieces = 500

	// A gap counts that is wider than gapShare of its centroid, and than the
	// widest between as many uniform values is with a chance of gapChance.
	gapShare  = 1.0 / 16
	gapChance = 1e-3
)

// limits says for how many values a centroid may stand.
type limits struct {
	total uint64
	δ     float64
	tails float64 // grade/1000²
	unit  float64 // π/δ
}

func newLimits(total uint64, δ, grade float64) limits {
	if total < fewValues {
		δ, grade = δ*1.5, grade/1.5
	}
	return limits{total, δ, grade / 1e6, math.Pi / δ}
}

// tail returns the limit in the tail, r values from its end.
func (l limits) tail(r uint64) float64 {
	return min(max(1, l.tails*float64(r)*float64(r)), maxCount)
}

// k1 returns the weight of one unit of the k₁ scale function, r values from
// an end.
func (l limits) k1(r uint64) float64 {
	return max(1, l.unit*math.Sqrt(float64(r)*float64(l.total-r)))
}

// exceeded says whether n values after r others are more than twice the limit.
func (l limits) exceeded(r, n uint64) bool {
	if n <= 2 {
		return false
	}
	total, m := float64(int64(l.total)), float64(int64(n))/2
	mid := float64(int64(r)) + m
	q := min(mid, total-mid) - m
	return m > l.tails*q*q || m*m > l.unit*l.unit*mid*(total-mid)
}

// squeeze drops ends of a sorted list, in place, until it is short. Those that
// stay are not moved.
func squeeze(w *scratch, list []centroid, δ float64) []centroid {
	for g := float64(grade); ; g, δ = g*1.5, max(δ/1.2, minCompression) {
		list = squeezeOnce(w, list, g, δ)
		if len(list) <= squeezed {
			return list
		}
	}
}

func squeezeOnce(w *scratch, list []centroid, g, δ float64) []centroid {
	if len(list) < 3 {
		return list
	}
	last := len(list) - 1
	total := list[last].upto
	lim := newLimits(total, δ, g)
	if cap(w.keep) < len(list) {
		w.keep = make([]bool, cap(list))
	}
	keep := w.keep[:len(list)] // ends that stay
	clear(keep)

	// The tails, each from its end inwards, until k₁ asks for less.
	r := uint64(0) // values before left
	left := 0
	for left <= last && 2*r < total && lim.tail(r) <= lim.k1(r) {
		limit := uint64(lim.tail(r))
		for left++; left <= last && list[left].upto-r <= limit; left++ {
		}
		keep[left-1] = true
		r = list[left-1].upto
	}
	r = 0 // values after right
	right := last
	for right > 0 && 2*r < total && lim.tail(r) <= lim.k1(r) {
		keep[right] = true
		limit := uint64(lim.tail(r))
		for right--; right > 0 && total-list[right-1].upto-r <= limit; right-- {
		}
		r = total - list[right].upto
	}
	keep[0], keep[last-1], keep[last] = true, true, true

	// The body, in pieces between holes.
	hs := holes(list, lim)
	if δ = lim.δ; len(hs) > 0 {
		δ = min(δ, pieces/float64(len(hs)+1))
		left, right = 0, last // a hole in a tail has finer ends next to it
	}
	from := 0
	for _, h := range hs {
		w.cluster(list, from, h, left, right, δ)
		keep[h] = true // the first value after a hole
		from = h + 1
	}
	w.cluster(list, from, len(list), left, right, δ)
	keepGaps(list, keep, gapShare*max(1, g/(4*grade))) // the last to be given up
	return drop(list, keep)
}

// chanceGap is the share of the range of n uniform values that the widest gap
// between them exceeds with gapChance. For more values it is below gapShare.
var chanceGap = func() (shares [200]float64) {
	for i := range shares {
		n := float64(i)
		shares[i] = 1 - math.Pow(gapChance/n, 1/(n-1))
	}
	return shares
}()

// keepGaps keeps both ends of a gap that would be more than a share of the
// width of a centroid, and is wider than chance leaves between values. Values
// that come to lie in the gap later, as those of another digest may, would
// otherwise take some of the centroid's there with them.
func keepGaps(list []centroid, keep []bool, share float64) {
	for a := 1; a < len(list); {
		b := a
		for !keep[b] {
			b++
		}
		if b > a { // list[a:b+1] would become one
			wide := share
			if n := list[b].upto - list[a-1].upto; n < uint64(len(chanceGap)) {
				wide = max(share, chanceGap[n])
			}
			wide *= list[b].hi - list[a-1].hi
			for k := a; k <= b; k++ {
				if list[k].atom() && list[k].hi-list[k-1].hi > wide {
					keep[k-1], keep[k] = true, true
				}
			}
		}
		a = b + 1
	}
}

// drop removes the ends that are not kept, in place, and gives their values
// to the next one that is.
func drop(list []centroid, keep []bool) []centroid {
	out := 0
	for a := 0; a < len(list); {
		b := a
		for !keep[b] {
			b++
		}
		c := list[b] // list[a:b+1] becomes one
		if b > a {
			p := list[out-1] // a > 0, since the first is kept
			lo, from := p.hi, p.upto
			var f float64
			for _, e := range list[a : b+1] {
				m := lerp(p.hi, e.hi, float64(e.mean))
				f += along(lo, c.hi, m) * float64(e.upto-p.upto)
				p = e
			}
			c.mean = float32(clampMean(f / float64(c.upto-from)))
		}
		list[out] = c
		out++
		a = b + 1
	}
	return list[:out]
}

// holes returns the places in the list that follow a wide gap, in order.
func holes(list []centroid, lim limits) []int {
	// Where the tails are single values anyhow, gaps are nothing special.
	i := sort.Search(len(list), func(i int) bool { return lim.tail(list[i].upto) >= 2 })
	j := sort.Search(len(list), func(i int) bool { return lim.tail(lim.total-list[i].upto) < 2 })
	if j-i < 3 {
		return nil
	}
	// Widths are compared in the logarithm, linear near zero.
	scale := math.Abs(list[(i+j)/2].hi) / 1000
	if scale == 0 {
		scale = max(math.Abs(list[i].hi), math.Abs(list[j-1].hi)) / 1000
	}
	if scale == 0 || math.IsInf(1/scale, 0) {
		return nil
	}
	width := func(a, b float64) float64 { // a < b
		switch x, y := (a+scale)/scale, (b+scale)/scale; {
		case a >= 0:
			return math.Log(y / x)
		case b <= 0:
			return math.Log((2 - x) / (2 - y))
		default:
			return math.Log(2-x) + math.Log(y)
		}
	}
	wide := width(list[i].hi, list[j-1].hi) / 64
	ratio := math.Exp(wide)
	type hole struct {
		k     int
		width float64
	}
	var hs []hole
	for k := i + 1; k < j; k++ {
		a, b := list[k-1].hi, list[k].hi
		if !list[k].atom() || a >= 0 && b+scale < (a+scale)*ratio {
			continue // without a logarithm
		}
		if w := width(a, b); w > wide {
			hs = append(hs, hole{k, w})
		}
	}
	slices.SortFunc(hs, func(a, b hole) int {
		if a.width > b.width {
			return -1
		}
		return 1
	})
	hs = hs[:min(len(hs), maxHoles)]
	ks := make([]int, len(hs))
	for i, h := range hs {
		ks[i] = h.k
	}
	slices.Sort(ks)
	return ks
}

// clusterer is what clustering needs for its work.
type clusterer struct {
	t  *tdigest.TDigest
	cs tdigest.CentroidList
}

// cluster marks in w.keep the ends of the clusters that list[i:j] has by the
// k₁ scale function. What it has of the tails, before left and after right, is
// one each.
func (w *scratch) cluster(list []centroid, i, j, left, right int, δ float64) {
	if i >= j {
		return
	}
	if w.k1 == nil {
		// Room for the longest list, so that it is processed in one go.
		w.k1 = &clusterer{t: tdigest.NewWithCompression((listCap + batch + 1) / 8)}
	}
	t, cs := w.k1.t, w.k1.cs[:0]
	t.Compression = δ
	t.Reset()
	tail := uint64(0)
	for k := i; k < j; k++ {
		s := spanAt(list, k)
		if k != j-1 && (k < left-1 || k > right) {
			tail += s.n
			continue
		}
		cs = append(cs, tdigest.Centroid{Mean: s.mean(), Weight: float64(s.n + tail)})
		tail = 0
	}
	t.AddCentroidList(cs)
	cs = t.Centroids(cs[:0])
	w.k1.cs = cs

	// Each cluster is a run of the list.
	var upto float64
	if i > 0 {
		upto = float64(list[i-1].upto)
	}
	k := i
	for _, c := range cs {
		upto += c.Weight
		for k+1 < j && float64(list[k+1].upto) <= upto+0.5 {
			k++
		}
		w.keep[k] = true
	}
	w.keep[j-1] = true
}
