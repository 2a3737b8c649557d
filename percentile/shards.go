package percentile

import (
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	// shardValues is how many values the shards hold together.
	shardValues = 8192
	maxShards   = 64
	// shardHeavies is how many values with a count a shard holds.
	shardHeavies = 32
)

// shards buffer the values of many goroutines. A goroutine uses the first one
// that is free, beginning with one of its own, and does not wait for others.
type shards struct {
	all    []shard       // their number is a power of two
	size   int           // values in each
	factor atomic.Uint64 // makes a goroutine's place a shard

	_      [64]byte // what follows is written, and not on the line of the above
	misses atomic.Uint64
	_      [64]byte
}

// A shard is used under its mutex. It has a line of the cache to itself.
type shard struct {
	mu    sync.Mutex
	n     int
	buf   []float64 // buf[:n] are values; it grows to the full size
	slot  int64     // of a Window: all that is in the shard belongs to it
	heavy []weighted

	negInf, posInf, nans uint64

	_ [32]byte
}

// A center is where the values of shards go.
type center interface {
	// empty empties a locked shard if it can do so without waiting.
	empty(s *shard) bool
	// addDirectly adds one value for which there is no shard; it may wait.
	addDirectly(x weighted, slot int64)
}

// init makes the shards, for the processors that there are.
func (b *shards) init() {
	n := min(max(4*runtime.GOMAXPROCS(0), 8), maxShards)
	n = 1 << bits.Len(uint(n-1))
	b.all, b.size = make([]shard, n), shardValues/n
	b.factor.Store(0x9E3779B97F4A7C15)
}

// home returns the shard that a goroutine tries first.
func (b *shards) home() *shard { return &b.all[b.spot()&uint(len(b.all)-1)] }

// spot returns a number that stays the same for a goroutine for a while and
// that few others share: by the place of its stack.
func (b *shards) spot() uint {
	var x byte
	return uint(uint64(uintptr(unsafe.Pointer(&x)))>>11*b.factor.Load()) >> 40
}

// miss notes that a shard was in use by another. All places change then, each
// time that there were twice as many misses: two that have the same do not
// keep it, and many goroutines are not kept moving.
func (b *shards) miss() {
	if n := b.misses.Add(1); n&(n-1) == 0 {
		b.factor.Store(b.factor.Load()*0x5851F42D4C957F2D | 1)
	}
}

// put adds x to the shard if it can be done at once.
func (s *shard) put(x float64, slot int64) bool {
	if x-x != 0 || !s.mu.TryLock() {
		return false
	}
	ok := s.n < len(s.buf) && s.slot == slot
	if ok {
		s.buf[s.n] = x
		s.n++
	}
	s.mu.Unlock()
	return ok
}

// add adds a value to any shard, and empties it first if it must.
func (b *shards) add(x weighted, slot int64, c center) {
	i := b.spot()
	for k := range uint(len(b.all)) {
		s := &b.all[(i+k)&uint(len(b.all)-1)]
		if !s.mu.TryLock() {
			if k == 0 {
				b.miss()
			}
			continue
		}
		ok := s.ready(slot, b.size, c)
		if ok {
			s.add(x)
		}
		s.mu.Unlock()
		if ok {
			return
		}
	}
	c.addDirectly(x, slot) // all are in use, or full
}

// ready makes room for a value, if that can be done without waiting.
func (s *shard) ready(slot int64, size int, c center) bool {
	if s.slot != slot && s.count() == 0 {
		s.slot = slot
	}
	if s.slot != slot || s.n == size || len(s.heavy) == shardHeavies {
		if !c.empty(s) {
			return false
		}
		s.slot = slot
	}
	if s.n == len(s.buf) {
		b := make([]float64, min(max(2*s.n, 32), size))
		copy(b, s.buf)
		s.buf = b
	}
	return true
}

func (s *shard) add(x weighted) {
	switch {
	case x.x-x.x == 0 && x.n == 1:
		s.buf[s.n] = x.x
		s.n++
	case x.x-x.x == 0:
		if s.heavy == nil {
			s.heavy = make([]weighted, 0, shardHeavies)
		}
		s.heavy = append(s.heavy, x)
	case x.x > 0:
		s.posInf = min(s.posInf+x.n, maxCount)
	case x.x < 0:
		s.negInf = min(s.negInf+x.n, maxCount)
	default:
		s.nans = min(s.nans+x.n, maxCount)
	}
}

// rest appends to ws all that the shard holds but the values in buf.
func (s *shard) rest(ws []weighted) []weighted {
	ws = append(ws, s.heavy...)
	for _, w := range []weighted{{math.Inf(-1), s.negInf}, {math.Inf(1), s.posInf}, {math.NaN(), s.nans}} {
		if w.n > 0 {
			ws = append(ws, w)
		}
	}
	return ws
}

// count returns how many values the shard holds, NaNs included.
func (s *shard) count() uint64 {
	n := uint64(s.n) + s.negInf + s.posInf + s.nans
	for _, w := range s.heavy {
		n += w.n
	}
	return n
}

func (s *shard) clear() {
	s.n, s.heavy = 0, s.heavy[:0]
	s.negInf, s.posInf, s.nans = 0, 0, 0
}
