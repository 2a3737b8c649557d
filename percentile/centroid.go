package percentile

import (
	"sync"

	"github.com/influxdata/tdigest"
)

// A centroid stands for count values with mean x. Where all of them are equal
// to x it is an atom; else the flag spread is set in n.
type centroid struct {
	x float64
	n uint64
}

const spread = 1 << 63

func (c centroid) count() uint64 { return c.n &^ spread }
func (c centroid) atom() bool    { return c.n&spread == 0 }

// join returns the centroid of both. a lies below b.
func join(a, b centroid) centroid {
	n := a.count() + b.count()
	if a.x == b.x {
		return centroid{a.x, n | a.n&spread | b.n&spread}
	}
	// Not a.x + (b.x-a.x)·w: the difference of two finite values can overflow.
	w := float64(b.count()) / float64(n)
	x := a.x*(1-w) + b.x*w
	return centroid{min(max(x, a.x), b.x), n | spread}
}

// mergeSorted appends the merge of two sorted lists to dst. Atoms of the same
// value become one.
func mergeSorted(dst, a, b []centroid) []centroid {
	put := func(c centroid) {
		if k := len(dst) - 1; k >= 0 && dst[k].x == c.x && dst[k].atom() && c.atom() {
			dst[k].n += c.n
			return
		}
		dst = append(dst, c)
	}
	for len(a) > 0 && len(b) > 0 {
		if b[0].x < a[0].x {
			put(b[0])
			b = b[1:]
		} else {
			put(a[0])
			a = a[1:]
		}
	}
	for _, c := range a {
		put(c)
	}
	for _, c := range b {
		put(c)
	}
	return dst
}

const (
	listCap = 3072 // a list above this is squeezed

	// A tail is the tailRank values next to an end. In it a centroid may hold
	// grade·(r/1000)² values, r being its rank from that end. The relative
	// error of a value at rank r, in a tail that falls like a power, is in the
	// order of √n/r, so that this keeps it constant.
	tailRank = 8192
	grade    = 4
)

// squeeze joins neighbours of a sorted list, in place.
func squeeze(list []centroid, total uint64, δ float64) []centroid {
	half := total / 2
	out := list[:0]
	// The lower tail.
	var r uint64
	i := 0
	for i < len(list) && r < tailRank && r+list[i].count() <= half {
		c := list[i]
		i++
		limit := tailLimit(r)
		for i < len(list) && c.count()+list[i].count() <= limit && r+c.count()+list[i].count() <= half {
			c = join(c, list[i])
			i++
		}
		r += c.count()
		out = append(out, c)
	}
	// The upper tail, gathered in the list's own end.
	var s uint64
	j, k := len(list), len(list)
	for j > i && s < tailRank && s+list[j-1].count() <= half {
		j--
		c := list[j]
		limit := tailLimit(s)
		for j > i && c.count()+list[j-1].count() <= limit && s+c.count()+list[j-1].count() <= half {
			j--
			c = join(list[j], c)
		}
		s += c.count()
		k--
		list[k] = c
	}
	out = cluster(out, list[i:j], δ)
	return append(out, list[k:]...)
}

func tailLimit(r uint64) uint64 {
	x := float64(r) / 1000
	return uint64(grade * x * x)
}

// clusterer is what clustering needs for its work.
type clusterer struct {
	t  *tdigest.TDigest
	cs tdigest.CentroidList
}

var clusterers sync.Pool

// cluster appends to dst the centroids of list, clustered by the k₁ scale
// function. dst may be the memory before list.
func cluster(dst, list []centroid, δ float64) []centroid {
	if len(list) < 2 {
		return append(dst, list...)
	}
	w, _ := clusterers.Get().(*clusterer)
	if w == nil || w.t.Compression != δ {
		w = &clusterer{t: tdigest.NewWithCompression(δ)}
	}
	defer clusterers.Put(w)
	w.t.Reset()
	w.cs = w.cs[:0]
	for _, c := range list {
		w.cs = append(w.cs, tdigest.Centroid{Mean: c.x, Weight: float64(c.count())})
	}
	w.t.AddCentroidList(w.cs)
	w.cs = w.t.Centroids(w.cs[:0])

	// Each cluster is a run of the list. Going by the runs keeps the counts
	// integers, and a centroid that stayed alone as it is.
	var in, out float64
	i := 0
	for k, g := range w.cs {
		out += g.Weight
		c := list[i]
		in += float64(c.count())
		for i++; i < len(list) && (k == len(w.cs)-1 || in+float64(list[i].count())/2 < out); i++ {
			in += float64(list[i].count())
			c = join(c, list[i])
		}
		dst = append(dst, c)
		if i == len(list) {
			break
		}
	}
	return dst
}
