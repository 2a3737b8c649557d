package percentile

import "sync"

// A Recorder collects values from any number of goroutines.
type Recorder struct {
	mu sync.Mutex
	d  Digest
}

// NewRecorder returns an empty recorder.
func NewRecorder(opts ...Option) *Recorder {
	r := &Recorder{}
	r.d.compression = New(opts...).compression
	return r
}

// Add adds one value. NaN is counted apart and enters nothing.
func (r *Recorder) Add(x float64) {
	r.mu.Lock()
	r.d.Add(x)
	r.mu.Unlock()
}

// AddN adds n values that are all equal to x.
func (r *Recorder) AddN(x float64, n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.d.AddN(x, n)
}

// Snapshot returns a digest of all values added so far. It is the caller's.
func (r *Recorder) Snapshot() *Digest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.d.Clone()
}
