package monitor

import (
	"math/bits"
	"sync"

	"github.com/goodputkit/goodputkit/goodput"
)

// A monitor's shards hold the counts of the second that is passing, so that goroutines that tell it something at the
// same time wait for each other only where a shard's counts go to the rings; and the requests in flight.
const maxShards = 8

type shard struct {
	mu    sync.Mutex
	from  int64  // the slot of the finest ring that the cells are about; it ends a width later
	cells []cell // by class
	dirty []*class
	wheel wheel
}

// cell is the counts of a class in a shard.
type cell struct {
	counts            []uint64
	dirty             bool
	inFlight, overdue int64 // begun and not ended; of them decided
}

// lock locks a shard: the one that this processor used last or, where it would have to wait for that, another one.
func (m *Monitor) lock() *shard {
	s, _ := m.cached.Get().(*shard)
	if s == nil {
		s = &m.shards[0]
	}
	if s.mu.TryLock() {
		return s
	}
	for i := range m.shards {
		if other := &m.shards[i]; other.mu.TryLock() {
			return other
		}
	}
	s.mu.Lock()
	return s
}

func (m *Monitor) unlock(s *shard) {
	s.mu.Unlock()
	m.cached.Put(s)
}

// cell is the counts of a class in the second of now; those of the one before go to the rings. s is locked.
func (m *Monitor) cell(s *shard, c *class, now int64) *cell {
	if uint64(now-s.from) >= uint64(slotWidth) {
		m.mu.Lock()
		m.flush(s)
		m.sweep(s, now)
		m.mu.Unlock()
		s.from = now - now%slotWidth
	}
	for len(s.cells) <= c.index {
		s.cells = append(s.cells, cell{})
	}
	one := &s.cells[c.index]
	if !one.dirty {
		if one.counts == nil {
			one.counts = make([]uint64, c.cols())
		}
		one.dirty = true
		s.dirty = append(s.dirty, c)
	}
	return one
}

// flush empties a shard's cells into the rings. Both locks are held.
func (m *Monitor) flush(s *shard) {
	for _, c := range s.dirty {
		one := &s.cells[c.index]
		c.add(s.from, one.counts)
		clear(one.counts)
		one.dirty = false
	}
	s.dirty = s.dirty[:0]
}

// flight is how many requests of a class are in flight, and how many of them past a deadline.
type flight struct{ inFlight, overdue int64 }

// settle brings the rings up to now: with the cells of all shards, and with what was due in flight. It returns with mu
// held, so that what is read is of one instant.
func (m *Monitor) settle() (now int64, flights []flight) {
	for i := range m.shards {
		m.shards[i].mu.Lock()
	}
	m.mu.Lock()
	now = m.now()
	flights = make([]flight, len(m.classes.Load().All))
	for i := range m.shards {
		s := &m.shards[i]
		m.sweep(s, now)
		m.flush(s)
		for k := range s.cells {
			flights[k].inFlight += s.cells[k].inFlight
			flights[k].overdue += s.cells[k].overdue
		}
		s.mu.Unlock()
	}
	m.attend(now)
	return now, flights
}

// attend notes that the monitor was there up to now. mu is held.
func (m *Monitor) attend(now int64) {
	for i := range m.watched {
		r := &m.watched[i]
		from := max(m.seen, floorDiv(now, r.width)*r.width-r.width*layout[i].slots)
		for from < now {
			to := min(now, (floorDiv(from, r.width)+1)*r.width)
			if slot := r.slot(from); slot != nil {
				slot[0] = min(slot[0]+uint64(to-from), uint64(r.width)) // in a merged one is what others watched
			}
			from = to
		}
	}
	m.seen = max(m.seen, now)
}

// Observe books a record that has ended without [Monitor.Begin]: as offered, ended and decided now. It keeps nothing of
// it, and allocates nothing. What cannot be meant in it is put right as [goodput.Accumulator.Observe] does; but for its
// instants, which are not looked at: a record is booked when it comes.
func (m *Monitor) Observe(r *goodput.Record) {
	c, other := m.class(r.Class)
	var v verdict
	c.judgeRecord(r, &v)
	s := m.lock()
	one := m.cell(s, c, m.now())
	one.counts[cOffered]++
	if other {
		one.counts[c.only(tOther)]++
	}
	c.ended(one.counts, &v, len(r.Limits) > 0)
	one.counts[cDecided]++
	c.decide(one.counts, &v, 0)
	m.unlock(s)
}

// ended books the end of a request.
func (g *group) ended(to []uint64, v *verdict, limits bool) {
	to[cRecorded]++
	to[g.outcome(v.outcome)]++
	if limits {
		to[g.only(tLimits)]++
	}
	if !v.outcome.Throughput() {
		return
	}
	to[cEnded]++
	to[cOut] += v.out
	to[g.only(tIn)] += v.in
	if v.outcome != goodput.Success {
		return
	}
	to[cSuccess]++
	if v.good {
		to[cGood]++
		to[cGoodOut] += v.out
		to[g.only(tGoodIn)] += v.in
	}
	if v.first >= 0 {
		to[g.first(v.first)]++
	}
	for of := v.undefined; of != 0; of &= of - 1 {
		to[g.undefinedBy(bits.TrailingZeros64(of))]++
	}
}

// decide books of each objective what an end decides: all but what was at a deadline.
func (g *group) decide(to []uint64, v *verdict, before uint64) {
	for of := g.all() &^ before &^ v.excluded; of != 0; of &= of - 1 {
		j := bits.TrailingZeros64(of)
		to[g.decided(j)]++
		if v.missed&(1<<j) != 0 {
			to[g.missed(j)]++
		}
	}
}
