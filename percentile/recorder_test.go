package percentile

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func TestRecorderIsExactWhileFew(t *testing.T) {
	r := NewRecorder()
	rng := newRand(1)
	var xs []float64
	for range 1000 {
		xs = append(xs, rng.ExpFloat64())
		r.Add(xs[len(xs)-1])
	}
	requireExact(t, xs, r.Snapshot())
	r.AddN(2, 100)
	r.AddN(3, 3)
	r.AddN(9, 0)
	xs = append(xs, slices.Repeat([]float64{2}, 100)...)
	requireExact(t, append(xs, 3, 3, 3), r.Snapshot())
}

func TestRecorderOfSpecialValues(t *testing.T) {
	r := NewRecorder()
	l := r.Local()
	for _, add := range []func(float64){r.Add, l.Add} {
		add(math.NaN())
		add(math.Inf(1))
		add(math.Inf(-1))
		add(0)
	}
	r.AddN(math.Inf(1), 10)
	l.AddN(math.NaN(), 10)
	l.AddN(4, 3)
	d := r.Snapshot()
	assert.Equal(t, uint64(12), d.NaNs())
	assert.Equal(t, uint64(19), d.Count())
	assert.Equal(t, math.Inf(1), d.Max())
	assert.Equal(t, math.Inf(-1), d.Min())
	assert.Equal(t, 4.0, d.Quantile(6.0/18))
}

// Many goroutines that come and go, readers beside them: every value that was
// added before a snapshot is in it, and none twice.
func TestRecorderLosesNothing(t *testing.T) {
	const writers, rounds, each = 8, 10, 2500
	r := NewRecorder()
	var added atomic.Uint64 // values whose adding has returned
	var started atomic.Uint64
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				before := added.Load()
				d := r.Snapshot()
				after := started.Load()
				assert.GreaterOrEqual(t, d.Count(), before)
				assert.LessOrEqual(t, d.Count(), after)
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		})
	}
	var sum atomic.Uint64
	for round := range rounds {
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				l := r.Local()
				for i := range each {
					x := uint64(round*writers*each + w*each + i)
					started.Add(1)
					switch w {
					case 0:
						l.Add(float64(x))
					case 1:
						r.AddN(float64(x), 1)
					default:
						r.Add(float64(x))
					}
					added.Add(1)
					sum.Add(x)
				}
				if round%2 == 0 {
					l.Close()
					l.Close()
				}
			})
		}
		wg.Wait()
	}
	close(stop)
	readers.Wait()
	d := r.Snapshot()
	assert.Equal(t, uint64(writers*rounds*each), d.Count())
	assert.Equal(t, float64(sum.Load()), d.Sum())
	assert.Equal(t, 0.0, d.Min())
	assert.Equal(t, float64(writers*rounds*each-1), d.Max())
	assert.InEpsilon(t, 0.99*float64(writers*rounds*each-1), d.Quantile(0.99), 0.002)
}

func TestRecorderAccuracy(t *testing.T) {
	xs := laws[0].values(1, 200_000)
	r := NewRecorder()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			l := r.Local()
			defer l.Close()
			for j, x := range xs[i*len(xs)/4 : (i+1)*len(xs)/4] {
				if j%2 == 0 {
					l.Add(x)
				} else {
					r.Add(x)
				}
			}
		})
	}
	wg.Wait()
	requireWithin(t, sortedCopy(xs), r.Snapshot(), 1, boundedQ...)
}

func TestSnapshotIsTheCallersOwn(t *testing.T) {
	r := NewRecorder()
	for i := range 5000 {
		r.Add(float64(i))
	}
	d := r.Snapshot()
	r.Add(1e9)
	d.Add(-1)
	assert.Equal(t, 4999.0, d.Max())
	assert.Equal(t, 0.0, r.Snapshot().Min())
}

// Neither a goroutine's end nor that of a processor loses what it recorded.
func TestRecorderOutlivesGoroutinesAndProcessors(t *testing.T) {
	r := NewRecorder()
	add := func(n int) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { r.Add(1) })
		}
		wg.Wait()
	}
	old := runtime.GOMAXPROCS(4)
	add(100)
	runtime.GOMAXPROCS(1)
	runtime.GC()
	add(50)
	runtime.GOMAXPROCS(8)
	runtime.GC()
	add(25)
	runtime.GOMAXPROCS(old)
	assert.Equal(t, uint64(175), r.Snapshot().Count())
}

func TestForgottenLocalLosesNothing(t *testing.T) {
	r := NewRecorder()
	func() {
		l := r.Local()
		for i := range 700 {
			l.Add(float64(i))
		}
	}()
	assert.Equal(t, uint64(700), r.Snapshot().Count())
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.locals)
	}
	for range 1000 { // the cleanup runs on a goroutine of the runtime's
		runtime.GC()
		if count() == 0 {
			break
		}
		runtime.Gosched()
	}
	assert.Zero(t, count(), "its memory did not come back")
	assert.Equal(t, uint64(700), r.Snapshot().Count())
}

// While a reader has the recorder locked, values go on to be taken: a wait
// would end this test by a deadlock.
func TestAddDoesNotWaitForAReader(t *testing.T) {
	r := NewRecorder()
	l := r.Local()
	r.Add(1)
	r.mu.Lock()
	for range 7999 {
		r.Add(1)
	}
	for range localValues {
		l.Add(2)
	}
	r.mu.Unlock()
	assert.Equal(t, uint64(8000+localValues), r.Snapshot().Count())

	// More than all shards hold: then it waits, and loses nothing.
	r.mu.Lock()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 4 * shardValues {
			r.Add(1)
		}
	})
	for range 1000 {
		runtime.Gosched()
	}
	r.mu.Unlock()
	wg.Wait()
	assert.Equal(t, uint64(8000+localValues+4*shardValues), r.Snapshot().Count())
}

func TestRecorderAddDoesNotAllocate(t *testing.T) {
	r := NewRecorder()
	l := r.Local()
	xs := laws[0].values(2, 200_001)
	for _, x := range xs[:100_000] {
		r.Add(x)
		l.Add(x)
	}
	i := 0
	assert.Less(t, testing.AllocsPerRun(50_000, func() { r.Add(xs[i]); i++ }), 0.01)
	assert.Less(t, testing.AllocsPerRun(50_000, func() { l.Add(xs[i]); i++ }), 0.01)
}

func TestManyShards(t *testing.T) {
	for _, procs := range []int{1, 3, 64, 1000} {
		old := runtime.GOMAXPROCS(procs)
		var s shards
		s.init()
		runtime.GOMAXPROCS(old)
		assert.Equal(t, 0, len(s.all)&(len(s.all)-1), "a power of two")
		assert.GreaterOrEqual(t, s.size, 128)
		assert.Equal(t, shardValues, s.size*len(s.all))
	}
}

// Two goroutines that come upon the same shard do not keep it.
func TestPlacesChange(t *testing.T) {
	var s shards
	s.init()
	homes := map[*shard]bool{}
	for range 100_000 {
		homes[s.home()] = true
		s.miss()
	}
	assert.Greater(t, len(homes), 1)
	changes := 0
	for range 100_000 {
		f := s.factor.Load()
		s.miss()
		if s.factor.Load() != f {
			changes++
		}
	}
	assert.Equal(t, 1, changes, "less and less often")
}

// Two shards on one line of the cache would make their goroutines wait.
func TestShardHasItsLine(t *testing.T) {
	assert.Equal(t, uintptr(128), unsafe.Sizeof(shard{}))
}
