package percentile

import (
	"runtime"
	"sync/atomic"
)

// A Local adds to a [Recorder] for one goroutine that adds much, at about
// half the cost of the recorder's own Add. It takes 8 kB. What it was given
// is in the recorder's snapshots at once. Close gives its memory back; that
// of one that was forgotten comes back when it is collected as garbage, and
// no value is lost.
type Local struct {
	l       *local
	cleanup runtime.Cleanup
}

// localValues is how many values a local holds: it is emptied when it is half
// full if nobody else has the recorder just then, and when it is full.
const localValues = 1024

// A local is a ring of which its goroutine writes the values and then n.
// Values up to n can be read, and done be changed, with the recorder locked.
type local struct {
	r    *Recorder
	n    atomic.Uint64
	done uint64
	ring [localValues]float64
}

// Local returns a handle for one goroutine.
func (r *Recorder) Local() *Local {
	l := &local{r: r}
	r.mu.Lock()
	r.locals[l] = struct{}{}
	r.mu.Unlock()
	h := &Local{l: l}
	h.cleanup = runtime.AddCleanup(h, (*local).retire, l)
	return h
}

// Add adds one value. NaN is counted apart and enters nothing.
func (h *Local) Add(x float64) {
	l := h.l
	n := l.n.Load()
	if x-x != 0 || n-l.done >= localValues/2 && !l.room(n) {
		l.r.Add(x)
	} else {
		l.ring[n%localValues] = x
		l.n.Store(n + 1)
	}
	runtime.KeepAlive(h) // the cleanup must not come before
}

// AddN adds n values that are all equal to x. Nothing is added if n is 0.
func (h *Local) AddN(x float64, n uint64) {
	if n > fewCopies {
		h.l.r.AddN(x, n)
		return
	}
	for range n {
		h.Add(x)
	}
}

// Close gives the handle's values and memory to the recorder. The handle must
// not be used any more; a second Close does nothing.
func (h *Local) Close() {
	if h.l != nil {
		h.cleanup.Stop()
		h.l.retire()
		h.l = nil
	}
}

// room empties the ring when it can do so without waiting. It returns false
// if there is no room for a value.
func (l *local) room(n uint64) bool {
	if l.r.mu.TryLock() {
		l.empty(n)
		l.r.mu.Unlock()
	}
	return n-l.done < localValues
}

// empty moves the values to the recorder, which is locked.
func (l *local) empty(n uint64) {
	i, j := l.done%localValues, n%localValues
	switch {
	case n == l.done:
	case i < j:
		l.r.addStage(l.ring[i:j])
	default:
		l.r.addStage(l.ring[i:])
		l.r.addStage(l.ring[:j])
	}
	l.done = n
}

// appendTo appends the values to xs, with the recorder locked.
func (l *local) appendTo(xs []float64) []float64 {
	for i, n := l.done, l.n.Load(); i < n; i++ {
		xs = append(xs, l.ring[i%localValues])
	}
	return xs
}

func (l *local) retire() {
	l.r.mu.Lock()
	l.empty(l.n.Load())
	delete(l.r.locals, l)
	l.r.mu.Unlock()
}
