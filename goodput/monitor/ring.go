package monitor

import (
	"math"
	"time"
)

// layout is what the rings of a class are: slots of so long, and so many of them.
var layout = [...]struct {
	width time.Duration
	slots int64
}{
	{time.Duration(slotWidth), 600},
	{10 * time.Second, 2160},
	{5 * time.Minute, 864},
	{time.Hour, 720},
	{12 * time.Hour, 744},
}

// slotWidth is that of the finest ring, ns.
const slotWidth = int64(time.Second)

// MaxWindow is the longest window that a monitor can look back on: 372 days, a year and some.
const MaxWindow = 372 * 24 * time.Hour

// DefaultPeriod is the period of the error budgets where nobody says another: 30 days.
const DefaultPeriod = 30 * 24 * time.Hour

// pageSlots is how many slots are kept together. It divides the length of every ring.
const pageSlots = 24

// A ring has counts by time, in slots of equal width that begin at multiples of it since 1970. They lie in pages that
// know their number, so that nothing has to be cleared when time passes: what is in a page of another number is gone.
// There are two pages more than the slots need: for the one that is being filled, and for one by a clock that is ahead.
type ring struct {
	width int64 // ns
	cols  int
	n     int64  // how many pages there can be
	pages []page // nil: no counts yet
}

type page struct {
	no   int64    // index of its first slot / pageSlots
	vals []uint64 // pageSlots × cols; nil: no counts

	// The sum of all slots, made when it is asked for: a long window is mostly of whole pages that do not change any more.
	sum   []uint64
	fresh bool // sum is that of vals
}

// total is the sum of all slots.
func (p *page) total(cols int) []uint64 {
	if !p.fresh {
		if p.sum == nil {
			p.sum = make([]uint64, cols)
		}
		clear(p.sum)
		addSlots(p.sum, p.vals, cols)
		p.fresh = true
	}
	return p.sum
}

// addSlots adds to total what is in some slots.
func addSlots(total, slots []uint64, cols int) {
	for ; len(slots) > 0; slots = slots[cols:] {
		for k, n := range slots[:len(total)] {
			total[k] += n
		}
	}
}

func newRings(cols int) (all [len(layout)]ring) {
	for i, l := range layout {
		all[i] = ring{width: int64(l.width), cols: cols, n: l.slots/pageSlots + 2}
	}
	return all
}

// slot is the place of the counts at instant t, made where it is not there yet; nil where t is too long ago.
func (r *ring) slot(t int64) []uint64 {
	i := floorDiv(t, r.width)
	no := floorDiv(i, pageSlots)
	p := r.page(no)
	switch {
	case p.vals == nil:
		p.no, p.vals = no, make([]uint64, pageSlots*r.cols)
	case p.no > no:
		return nil
	case p.no < no:
		p.no = no
		clear(p.vals)
	}
	p.fresh = false // whoever asks for a slot changes it
	return p.vals[mod(i, pageSlots)*r.cols:][:r.cols]
}

// page is the place of a page.
func (r *ring) page(no int64) *page {
	if r.pages == nil {
		r.pages = make([]page, r.n)
	}
	return &r.pages[mod(no, r.n)]
}

// sum adds to total what is in the slots first to last.
func (r *ring) sum(total []uint64, first, last int64) {
	if r.pages == nil {
		return
	}
	for no := floorDiv(first, pageSlots); no <= floorDiv(last, pageSlots); no++ {
		p := r.page(no)
		if p.vals == nil || p.no != no {
			continue
		}
		from, to := max(first, no*pageSlots), min(last, no*pageSlots+pageSlots-1)
		if to-from == pageSlots-1 {
			addSlots(total, p.total(r.cols), r.cols)
			continue
		}
		addSlots(total, p.vals[mod(from, pageSlots)*r.cols:(mod(to, pageSlots)+1)*r.cols], r.cols)
	}
}

// finest is the index of the finest ring that holds a window; the last where none does.
func finest(window time.Duration) int {
	for i, l := range layout {
		if int64(window) <= int64(l.width)*l.slots {
			return i
		}
	}
	return len(layout) - 1
}

// extent is the slots of a window up to now.
func extent(window time.Duration, now int64) (ring int, first, last int64) {
	ring = finest(window)
	width := int64(layout[ring].width)
	return ring, floorDiv(now-int64(window), width), floorDiv(now, width)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func mod(a, b int64) int { return int(a - floorDiv(a, b)*b) }

const never = math.MaxInt64
