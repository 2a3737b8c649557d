package percentile

import "sync"

// A Recorder collects values from any number of goroutines, in at most 300 kB
// whatever their number. Its zero value is not usable; see [NewRecorder].
//
// Add puts the value into a buffer that hardly any other goroutine uses at the
// time, and does not wait for Snapshot or for others that add, as long as they
// leave room for 4,000 values. Full buffers are emptied into a digest by one
// of the goroutines that add, in less than ten nanoseconds per value.
type Recorder struct {
	shards shards

	mu     sync.Mutex // for what follows
	d      Digest
	stage  []float64 // values that d gets next
	locals map[*local]struct{}

	// Full buffers, and empty ones to go on with. Who has mu may lock full.mu
	// and who has a shard's may try to.
	full struct {
		mu    sync.Mutex
		bufs  [][]float64
		rest  []weighted
		spare [][]float64
		made  int // spares, the full ones included
	}
}

// stageValues is how many values the digest gets at a time: the more, the less
// each costs.
const stageValues = 8192

// NewRecorder returns an empty recorder.
func NewRecorder(opts ...Option) *Recorder {
	r := &Recorder{locals: make(map[*local]struct{})}
	r.shards.init()
	r.d.compression = apply(opts).compression
	return r
}

// Add adds one value. NaN is counted apart and enters nothing.
func (r *Recorder) Add(x float64) {
	// As shard.put does, but in place.
	if s := r.shards.home(); x-x == 0 && s.mu.TryLock() {
		if n := s.n; n < len(s.buf) {
			s.buf[n] = x
			s.n = n + 1
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
	r.shards.add(weighted{x, 1}, 0, r)
}

// AddN adds n values that are all equal to x. Nothing is added if n is 0.
func (r *Recorder) AddN(x float64, n uint64) {
	if n <= fewCopies {
		for range n {
			r.Add(x)
		}
		return
	}
	r.shards.add(weighted{x, min(n, maxCount)}, 0, r)
}

// Snapshot returns a digest of all values whose adding had returned, and of
// some that are being added. It is the caller's own.
func (r *Recorder) Snapshot() *Digest {
	// Most of the memory is taken before the locks.
	xs := make([]float64, 0, stageValues+2*shardValues) // locals may need more
	var rest []weighted
	r.mu.Lock()
	d := r.d.Clone()
	xs = append(xs, r.stage...)
	for l := range r.locals {
		xs = l.appendTo(xs)
	}
	r.full.mu.Lock()
	for _, b := range r.full.bufs {
		xs = append(xs, b...)
	}
	rest = append(rest, r.full.rest...)
	for i := range r.shards.all {
		s := &r.shards.all[i]
		s.mu.Lock()
		xs = append(xs, s.buf[:s.n]...)
		rest = s.rest(rest)
		s.mu.Unlock()
	}
	r.full.mu.Unlock()
	r.mu.Unlock()
	d.load(xs)
	for _, w := range rest {
		d.AddN(w.x, w.n)
	}
	d.trim()
	return d
}

// empty gives the shard an empty buffer for its full one.
func (r *Recorder) empty(s *shard) bool {
	for range 2 {
		if !r.full.mu.TryLock() {
			return false
		}
		f := &r.full
		if len(f.spare) == 0 && f.made < len(r.shards.all)/2 {
			f.spare = append(f.spare, make([]float64, r.shards.size))
			f.made++
		}
		n := len(f.spare)
		if n > 0 {
			f.bufs = append(f.bufs, s.buf[:s.n])
			f.rest = s.rest(f.rest)
			s.buf, f.spare = f.spare[n-1], f.spare[:n-1]
			s.clear()
		}
		f.mu.Unlock()
		if n > len(r.shards.all)/4 {
			return true
		}
		// There is work to do: for one.
		if r.mu.TryLock() {
			r.drain()
			r.mu.Unlock()
		}
		if n > 0 {
			return true
		}
	}
	return false
}

// drain moves the full buffers to the stage, with mu locked. It holds up
// others no longer than it takes to copy them.
func (r *Recorder) drain() {
	f := &r.full
	for more := true; more; {
		f.mu.Lock()
		for len(f.bufs) > 0 {
			b := f.bufs[len(f.bufs)-1]
			if len(r.stage)+len(b) > stageValues {
				break
			}
			r.addStage(b)
			f.bufs = f.bufs[:len(f.bufs)-1]
			f.spare = append(f.spare, b[:cap(b)])
		}
		for _, w := range f.rest {
			r.d.AddN(w.x, w.n)
		}
		f.rest = f.rest[:0]
		more = len(f.bufs) > 0
		f.mu.Unlock()
		if more {
			r.loadStage()
		}
	}
}

func (r *Recorder) addDirectly(x weighted, _ int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x.n == 1 && x.x-x.x == 0 {
		r.addStage([]float64{x.x})
		return
	}
	r.d.AddN(x.x, x.n)
}

// addStage adds finite values, with mu locked.
func (r *Recorder) addStage(xs []float64) {
	if len(r.stage)+len(xs) > stageValues {
		r.loadStage()
	}
	if n := len(r.stage) + len(xs); n > cap(r.stage) {
		r.stage = append(make([]float64, 0, min(max(n, 2*cap(r.stage)), stageValues)), r.stage...)
	}
	r.stage = append(r.stage, xs...)
}

func (r *Recorder) loadStage() {
	r.d.load(r.stage)
	r.stage = r.stage[:0]
}
