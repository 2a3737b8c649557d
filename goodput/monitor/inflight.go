package monitor

import (
	"maps"
	"math"
	"math/bits"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// InFlight is a request between its beginning and its end. Its methods may be called from any goroutine. Whoever began a
// request has to end it, also where a handler panics: use defer.
type InFlight struct {
	m      *Monitor
	s      *shard
	c      *class
	start  int64
	limits map[slo.Metric]float64

	// s.mu is held to read or change what follows.
	sent, first, output int64   // instants; never: not yet
	missed              uint64  // objectives (by j) that were decided in flight
	when                []int64 // and when
	decided             int64   // when the first was, and with it the request; 0: none yet
	done                bool

	due        int64 // when the next objective is certainly missed; never: none is
	next, prev *InFlight
	bucket     int // in the wheel; −1: not in it
}

// Begin says that a request of a class has come in, at start or, if that is zero, now. It is offered from now on and, if it
// is still in flight at its deadline, bad from then on. Start should have a reading of the monotonic clock, as time.Now
// gives. So that a wall clock that jumps does no harm, one in the future is now, and one of more than an hour ago is an hour ago.
func (m *Monitor) Begin(class string, start time.Time) *InFlight {
	c, other := m.class(class)
	now := m.now()
	f := &InFlight{m: m, c: c, start: now, sent: never, first: never, output: never, due: never, bucket: -1}
	if !start.IsZero() {
		f.start = m.at(start, now)
	}
	s := m.lock()
	f.s = s
	one := m.cell(s, c, now)
	one.counts[cOffered]++
	if other {
		one.counts[c.only(tOther)]++
	}
	one.inFlight++
	s.wheel.plan(f)
	m.unlock(s)
	return f
}

// SetLimits gives the request thresholds of its own, in the place of its class's, as [goodput.Record.Limits] does: those that
// cannot be meant are not looked at.
func (f *InFlight) SetLimits(limits map[slo.Metric]float64) {
	limits = maps.Clone(limits)
	f.change(func() { f.limits = limits })
}

// Sent says when it was really sent, as an offset from its start: service_ttft and service_e2e count from then. Without
// it they have no deadline.
func (f *InFlight) Sent(at time.Duration) { f.change(func() { f.sent = f.after(at) }) }

// FirstToken says when the first token event came, as an offset from its start: no deadline for it comes any more.
func (f *InFlight) FirstToken(at time.Duration) {
	f.change(func() { f.first = min(f.first, f.after(at)) })
}

// FirstOutput says when the first token event came that was not reasoning, as an offset from its start. It is a first
// token, too.
func (f *InFlight) FirstOutput(at time.Duration) {
	f.change(func() {
		f.output = min(f.output, f.after(at))
		f.first = min(f.first, f.output)
	})
}

// after is the instant at an offset from the start; of one that cannot be meant the start, or never.
func (f *InFlight) after(at time.Duration) int64 {
	if int64(at) > never-f.start {
		return never
	}
	return f.start + int64(max(at, 0))
}

// change changes something on which deadlines depend.
func (f *InFlight) change(do func()) {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.done {
		return
	}
	do()
	s.wheel.plan(f)
}

// End says that the request is over, and books it: once, for only the first call counts. Its class is what Begin said, and
// its latencies, tokens and limits are the record's; nil is a record of a [goodput.ServerError] that ended now. What was
// missed at a deadline stays so, unless the record shows that it was not: that the request had ended by then, and End was
// told late.
func (f *InFlight) End(r *goodput.Record) {
	m, s, c := f.m, f.s, f.c
	now := m.now()
	if r == nil {
		r = &goodput.Record{End: time.Duration(now - f.start), Outcome: goodput.ServerError}
	}
	var v verdict
	c.judgeRecord(r, &v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.done {
		return
	}
	f.done = true
	one := m.cell(s, c, now)
	s.wheel.remove(f)
	ended := f.after(r.End)
	if f.due <= min(ended, now) || f.missed != 0 {
		m.mu.Lock()
		f.pass(min(ended, now))
		f.correct(&v, now)
		m.mu.Unlock()
	}
	one.inFlight--
	if f.decided != 0 {
		one.overdue--
	}
	c.ended(one.counts, &v, len(r.Limits) > 0)
	if f.decided == 0 {
		one.counts[cDecided]++
	}
	c.decide(one.counts, &v, f.missed)
}

// pass books the objectives that are missed by now, each at its deadline. Both locks are held.
func (f *InFlight) pass(now int64) {
	c := f.c
	for i := range c.watched {
		w := &c.watched[i]
		at := f.deadline(w)
		if at > now || f.missed&(1<<w.j) != 0 {
			continue
		}
		if f.when == nil {
			f.when = make([]int64, len(c.each))
		}
		f.missed |= 1 << w.j
		f.when[w.j] = at
		c.addOne(at, c.decided(w.j), 1)
		c.addOne(at, c.missed(w.j), 1)
	}
	if f.decided != 0 || f.missed == 0 {
		return
	}
	f.decided = never
	for of := f.missed; of != 0; of &= of - 1 {
		f.decided = min(f.decided, f.when[bits.TrailingZeros64(of)])
	}
	c.addOne(f.decided, cDecided, 1)
	c.total[c.only(tOverdue)]++
	f.s.cells[c.index].overdue++
}

// correct takes back what was decided in flight and was not so, by the record: it is decided now. Both locks are held.
func (f *InFlight) correct(v *verdict, now int64) {
	c := f.c
	for of := f.missed &^ v.missed; of != 0; of &= of - 1 {
		j := bits.TrailingZeros64(of)
		c.addOne(f.when[j], c.missed(j), -1)
		c.move(f.when[j], now, c.decided(j))
	}
	if v.good && f.decided != 0 {
		c.move(f.decided, now, cDecided)
	}
}

// deadline is the first instant at which an objective is certainly missed, by what is known of the request.
func (f *InFlight) deadline(w *watch) int64 {
	from, came := f.start, int64(never)
	switch w.metric {
	case slo.TTFT:
		came = f.first
	case slo.TTFO:
		came = f.output
	case slo.ServiceTTFT:
		from, came = f.sent, f.first
	case slo.ServiceE2E:
		from = f.sent
	}
	if from == never {
		return never
	}
	limit := w.limit
	if v, ok := f.limits[w.metric]; ok && v > 0 && !math.IsInf(v, 1) {
		limit, _ = slo.Threshold{Limit: v}.Billionths()
	}
	if limit > never-1-from || came <= from+limit {
		return never
	}
	return from + limit + 1
}

// A wheel has the requests in flight by when their next deadline is, so that those that are due are found without looking
// at the others: buckets of 125 ms, one lap of which is 64 s. A deadline further away waits in its bucket for a later lap.
// G. Varghese and T. Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 6.
type wheel struct {
	tick    int64 // up to which everything that was due is done
	n       int
	buckets [wheelBuckets]*InFlight
}

const (
	wheelBuckets = 512
	wheelTick    = int64(125 * time.Millisecond)
)

// plan puts a request where its next deadline is.
func (w *wheel) plan(f *InFlight) {
	due := int64(never)
	for i := range f.c.watched {
		one := &f.c.watched[i]
		if f.missed&(1<<one.j) == 0 {
			due = min(due, f.deadline(one))
		}
	}
	if due == f.due && f.bucket >= 0 {
		return
	}
	w.remove(f)
	f.due = due
	if due == never {
		return
	}
	f.bucket = int(max(due/wheelTick, w.tick) % wheelBuckets)
	head := &w.buckets[f.bucket]
	if f.next = *head; f.next != nil {
		f.next.prev = f
	}
	*head = f
	w.n++
}

func (w *wheel) remove(f *InFlight) {
	if f.bucket < 0 {
		return
	}
	if f.prev != nil {
		f.prev.next = f.next
	} else {
		w.buckets[f.bucket] = f.next
	}
	if f.next != nil {
		f.next.prev = f.prev
	}
	f.next, f.prev, f.bucket = nil, nil, -1
	w.n--
}

// sweep books what is due in a shard. Both locks are held.
func (m *Monitor) sweep(s *shard, now int64) {
	w := &s.wheel
	from, to := w.tick, now/wheelTick
	w.tick = max(from, to)
	if w.n == 0 {
		return
	}
	for t := max(from, to-wheelBuckets+1); t <= to; t++ {
		for f := w.buckets[t%wheelBuckets]; f != nil; {
			next := f.next
			if f.due <= now {
				f.pass(now)
				w.plan(f)
			}
			f = next
		}
	}
}
