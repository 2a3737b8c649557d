package percentile

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Window holds the values of the last minutes, or of whatever span it was
// made for: a ring of digests, each for a slot of the span, of which the
// oldest leaves as a whole. Its snapshot covers the slot that now is in and
// those before it: between span·(1 − 1/slots) and span. A pause in the values
// leaves nothing stale.
//
// Any number of goroutines may use a window. Adding costs what it does in a
// [Recorder]. A window takes at most 50 kB for each slot that has values and
// 200 kB beside. Times must come from one clock and not jump ahead of it: a
// value moves the window to its time.
type Window struct {
	step   time.Duration
	origin time.Time // where slot 0 begins

	shards shards
	late   atomic.Uint64

	mu          sync.Mutex // for what follows
	ring        []windowSlot
	compression float64
	newest      int64 // the newest slot of all
}

// A windowSlot is a place in the ring with the slot that is there now.
type windowSlot struct {
	slot int64
	d    *Digest // nil: no values
}

// NewWindow returns an empty window of the given span, in slots. More slots
// follow the span more closely and take more memory; 12 is usual.
//
// It panics if there are no slots or more than 1,000, or if the span has less
// than a nanosecond for each.
func NewWindow(span time.Duration, slots int, opts ...Option) *Window {
	if slots < 1 || slots > 1000 || span < time.Duration(slots) {
		panic(fmt.Sprintf("percentile: a window of %v in %d slots", span, slots))
	}
	w := &Window{
		step:        span / time.Duration(slots),
		origin:      time.Now(),
		ring:        make([]windowSlot, slots),
		compression: apply(opts).compression,
		newest:      math.MinInt64 / 2, // no slot is so old
	}
	w.shards.init()
	return w
}

// slotOf returns the slot that t is in. It goes by the monotonic clock where t
// has a reading of it.
func (w *Window) slotOf(t time.Time) int64 {
	d := t.Sub(w.origin)
	s := int64(d / w.step)
	if d%w.step < 0 {
		s--
	}
	return s
}

// Add adds one value at the present time.
func (w *Window) Add(x float64) { w.AddAt(time.Now(), x) }

// AddN adds n values that are all equal to x at the present time.
func (w *Window) AddN(x float64, n uint64) { w.AddNAt(time.Now(), x, n) }

// AddAt adds one value at the time t, for those who have just read a clock. A
// value whose slot has left the window already is only counted; see
// [Window.Late].
func (w *Window) AddAt(t time.Time, x float64) {
	slot := w.slotOf(t)
	if !w.shards.home().put(x, slot) {
		w.shards.add(weighted{x, 1}, slot, w)
	}
}

// AddNAt adds n values that are all equal to x at the time t.
func (w *Window) AddNAt(t time.Time, x float64, n uint64) {
	switch n {
	case 0:
	case 1:
		w.AddAt(t, x)
	default:
		w.shards.add(weighted{x, min(n, maxCount)}, w.slotOf(t), w)
	}
}

// Late returns how many values came so late that their slot had left.
func (w *Window) Late() uint64 { return w.late.Load() }

// Snapshot returns a digest of the values of the last span. It is the
// caller's own.
func (w *Window) Snapshot() *Digest { return w.SnapshotAt(time.Now()) }

// SnapshotAt returns a digest of the values of the span that ends at t. Slots
// later than that are not in it.
func (w *Window) SnapshotAt(t time.Time) *Digest {
	var ds []*Digest
	last := w.slotOf(t)
	w.mu.Lock()
	for i := range w.shards.all {
		s := &w.shards.all[i]
		s.mu.Lock()
		w.take(s)
		s.mu.Unlock()
	}
	for _, e := range w.ring {
		if e.d != nil && e.slot <= last && e.slot > last-int64(len(w.ring)) {
			ds = append(ds, e.d.Clone())
		}
	}
	w.mu.Unlock()
	d := &Digest{compression: w.compression}
	for _, o := range ds {
		d.Merge(o)
	}
	return d
}

func (w *Window) empty(s *shard) bool {
	if !w.mu.TryLock() {
		return false
	}
	w.take(s)
	w.mu.Unlock()
	return true
}

// take moves what the shard holds to its slot, with both locked.
func (w *Window) take(s *shard) {
	if n := s.count(); n > 0 {
		if d := w.digest(s.slot, n); d != nil {
			d.AddSlice(s.buf[:s.n])
			for _, x := range s.rest(nil) {
				d.AddN(x.x, x.n)
			}
		}
	}
	s.clear()
}

func (w *Window) addDirectly(x weighted, slot int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.digest(slot, x.n); d != nil {
		d.AddN(x.x, x.n)
	}
}

// digest returns the digest of a slot, for n values to come. It is nil if the
// slot has left.
func (w *Window) digest(slot int64, n uint64) *Digest {
	if slot > w.newest {
		if e := w.at(w.newest); e.d != nil {
			e.d.trim() // hardly anything comes to it any more
		}
		w.newest = slot
	}
	e := w.at(slot)
	if slot <= w.newest-int64(len(w.ring)) {
		w.late.Add(n)
		return nil
	}
	if e.slot != slot || e.d == nil {
		*e = windowSlot{slot, &Digest{compression: w.compression}}
	}
	return e.d
}

func (w *Window) at(slot int64) *windowSlot {
	n := int64(len(w.ring))
	return &w.ring[(slot%n+n)%n]
}
