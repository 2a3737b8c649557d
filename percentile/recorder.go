package percentile

import "sync"

// A Recorder collects values from any number of goroutines, in at most 300 kB
// whatever their number. Its zero value is not usable; see [NewRecorder].
//
// Add puts the value into a buffer that hardly any other goroutine uses at
// the time, and does not wait for Snapshot. Once in a while it empties a
// buffer into a digest that all share, in about ten nanoseconds per value.
type Recorder struct {
	shards shards

	mu     sync.Mutex // for what follows
	d      Digest
	stage  []float64 // values not yet in d
	locals map[*local]struct{}
}

// stageValues is how many values are added to the digest at a time: the more,
// the less each costs.
const stageValues = 8192

// NewRecorder returns an empty recorder.
func NewRecorder(opts ...Option) *Recorder {
	r := &Recorder{shards: newShards(), locals: make(map[*local]struct{})}
	r.d.compression = apply(opts).compression
	return r
}

// Add adds one value. NaN is counted apart and enters nothing.
func (r *Recorder) Add(x float64) {
	if !r.shards.home().put(x, 0) {
		r.shards.add(weighted{x, 1}, 0, r)
	}
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
	// Memory is taken before the lock, for a short time under it.
	xs := make([]float64, 0, stageValues+shardValues)
	r.mu.Lock()
	d := r.d.Clone()
	xs = append(xs, r.stage...)
	for i := range r.shards.all {
		s := &r.shards.all[i]
		s.mu.Lock()
		xs = append(xs, s.buf[:s.n]...)
		s.addRest(d)
		s.mu.Unlock()
	}
	for l := range r.locals {
		xs = l.appendTo(xs)
	}
	r.mu.Unlock()
	d.load(xs)
	d.settle()
	return d
}

func (r *Recorder) tryLock() bool { return r.mu.TryLock() }
func (r *Recorder) lock()         { r.mu.Lock() }
func (r *Recorder) unlock()       { r.mu.Unlock() }

func (r *Recorder) take(s *shard) {
	r.addStage(s.buf[:s.n])
	s.addRest(&r.d)
	s.clear()
}

func (r *Recorder) addLocked(x weighted, _ int64) {
	if x.n == 1 && x.x-x.x == 0 {
		r.addStage([]float64{x.x})
		return
	}
	r.d.AddN(x.x, x.n)
}

// addStage adds finite values, with mu held.
func (r *Recorder) addStage(xs []float64) {
	if len(r.stage)+len(xs) > stageValues {
		r.d.load(r.stage)
		r.stage = r.stage[:0]
	}
	if n := len(r.stage) + len(xs); n > cap(r.stage) {
		r.stage = append(make([]float64, 0, min(max(n, 2*cap(r.stage)), stageValues)), r.stage...)
	}
	r.stage = append(r.stage, xs...)
}
