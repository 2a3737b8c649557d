package llmsim

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// EarliestDeadline is Chunked in another order: output tokens first, and then prompts by when their first token is due
// (Job.Deadline), whether they wait or are begun. Those that nobody gave a deadline come after those that have one; last
// come the hopeless, whose first token would be late even if they were next (see Step.Soonest). Among equals the one that
// came first is first. Where the next in order does not fit into the batch, nobody else enters it, nor with a
// step that preempts; nor does a step take in what would make it end too late for one who is in it.
//
// The SLO that a plan is judged by is no deadline: where neither TTFT nor a job has one, the order is that of Chunked. A request
// whose Limits have a TTFT brings it to the engine as its job's deadline. Both count from when the engine got it.
//
// Where everybody's deadline can be met one after the other, this order meets all (Jackson, 1955). The deadlines of those
// who are late already mean nothing in it, which is what keeps the others in time past saturation. vLLM's priority
// scheduling with the deadline as priority is this order without that last rule.
type EarliestDeadline struct {
	TTFT time.Duration // the Deadline of jobs that have none; 0: they have none
}

// Plan plans a step.
func (p EarliestDeadline) Plan(s *Step) {
	s.DecodeAll()
	if s.Budget() == 0 {
		return
	}
	s.ranks = s.ranks[:0]
	for q := range s.Prefilling() {
		r := rank{q: q, class: undated}
		if at, dated := p.due(q); dated {
			r.class, r.at = due, at
		}
		s.ranks = append(s.ranks, r)
	}
	var w *waitlist
	if s.Places() > 0 && s.Preempted() == 0 {
		w = s.e.waitlist(p)
		defer w.restore()
	}
	until := time.Duration(math.MaxInt64) // when the step has to end, for those in it who are in time
	for s.Budget() > 0 {
		first := -1 // of those in the batch, who go before those who wait where they are due at one instant
		for i := range s.ranks {
			if first < 0 || s.ranks[i].before(s.ranks[first]) {
				first = i
			}
		}
		r, waits := rank{}, false
		if w != nil {
			r, waits = w.next()
		}
		switch {
		case first >= 0 && (!waits || !r.before(s.ranks[first])):
			r, waits = s.ranks[first], false
		case !waits:
			return
		}
		if r.class == due && r.q.generated == 0 && s.Soonest(r.q) > r.at { // because of those before it, or anyway
			if waits {
				w.giveUp(r, s.e.now)
			} else {
				s.ranks[first].class = hopeless
			}
			continue
		}
		n := min(r.q.Remaining(), s.Budget())
		if s.endWith(r.q, n) > until {
			return
		}
		if !s.Compute(r.q) { // it waits, and so do all others that do
			w = nil
			continue
		}
		if r.class == due && r.q.Remaining() == n {
			until = min(until, r.at)
		}
		if waits {
			w.take()
		} else {
			s.ranks = slices.Delete(s.ranks, first, first+1)
		}
	}
}

// due is when the first token of q is due; dated is false where nobody said.
func (p EarliestDeadline) due(q *Sequence) (at time.Duration, dated bool) {
	within := cmp.Or(q.job.Deadline, p.TTFT)
	if within == 0 {
		return 0, false
	}
	return later(q.arrived, within), true
}

// rank is a sequence's place in the order of EarliestDeadline.
type rank struct {
	q     *Sequence
	class class
	at    time.Duration // when it is due, where that counts
}

type class uint8

const (
	due class = iota
	undated
	hopeless
)

func (r rank) before(o rank) bool {
	if r.class != o.class {
		return r.class < o.class
	}
	return r.at < o.at
}

// waitlist is those who wait in the order of EarliestDeadline, kept from step to step: a plan looks at those that are next, and
// at none of the others.
//
// Who is late is so because of what else the step holds, and can be in time in the next one, so that it has to be asked each
// time. But who would be late on an idle engine is late for ever, and is not asked again: its place is among the hopeless.
type waitlist struct {
	p     EarliestDeadline
	e     *Engine
	heaps [4]deadlines // by kind
	kinds []int        // what take and giveUp took out of the heaps, to be put back once the step is planned: the heap,
	taken []*Sequence  // and who
	late  []*Sequence  // of these, those that are late in this step alone, the next one first
	nth   int          // how many of late are taken
}

// The kinds of those who wait. Who was thrown out after its first token is due when that was, and never late.
const (
	again = iota
	inTime
	anyTime
	never
)

// waitlist is the engine's own, for that policy.
func (e *Engine) waitlist(p EarliestDeadline) *waitlist {
	if w := e.waits; w != nil && w.p == p {
		return w
	}
	e.waits = &waitlist{p: p, e: e}
	for _, q := range e.queue.items[e.queue.head:] {
		e.waits.add(q)
	}
	return e.waits
}

// add puts in q, which waits from now on.
func (w *waitlist) add(q *Sequence) {
	kind := anyTime
	if at, dated := w.p.due(q); dated {
		q.due = at
		if kind = inTime; q.generated > 0 {
			kind = again
		}
	} else {
		q.due = 0
	}
	w.heaps[kind].push(q)
}

// remove takes out q, which waits no more.
func (w *waitlist) remove(q *Sequence) {
	for i := range w.heaps {
		if h := w.heaps[i]; q.place < len(h) && h[q.place] == q {
			w.heaps[i].remove(q.place)
			return
		}
	}
}

// next is who is first in order.
func (w *waitlist) next() (r rank, ok bool) {
	kind := w.kind()
	switch {
	case kind < 0:
		return rank{}, false
	case kind == never && w.lateFirst():
		return rank{w.late[w.nth], hopeless, w.late[w.nth].due}, true
	}
	q := w.heaps[kind][0]
	return rank{q, [...]class{due, due, undated, hopeless}[kind], q.due}, true
}

// kind is that of who is first in order; -1: nobody is.
func (w *waitlist) kind() int {
	a, b := w.heaps[again], w.heaps[inTime]
	switch {
	case len(a) > 0 && (len(b) == 0 || a[0].sooner(b[0])):
		return again
	case len(b) > 0:
		return inTime
	case len(w.heaps[anyTime]) > 0:
		return anyTime
	case len(w.heaps[never]) > 0 || w.nth < len(w.late):
		return never
	}
	return -1
}

// lateFirst says whether the first of the hopeless is one that is late in this step alone.
func (w *waitlist) lateFirst() bool {
	h := w.heaps[never]
	return w.nth < len(w.late) && (len(h) == 0 || w.late[w.nth].sooner(h[0]))
}

// take is for who is first in order: the step has it.
func (w *waitlist) take() {
	kind := w.kind()
	if kind == never && w.lateFirst() {
		w.nth++
		return
	}
	w.out(kind)
}

// out takes the first out of a heap for as long as the step is planned.
func (w *waitlist) out(kind int) *Sequence {
	q := w.heaps[kind].remove(0)
	w.kinds, w.taken = append(w.kinds, kind), append(w.taken, q)
	return q
}

// giveUp is for who is first in order, which is due and late.
func (w *waitlist) giveUp(r rank, now time.Duration) {
	if now > r.at-w.e.p.soonest(r.q) {
		w.heaps[inTime].remove(0)
		w.heaps[never].push(r.q)
		return
	}
	w.late = append(w.late, w.out(inTime))
}

// restore puts back what was taken: whoever enters with the step leaves when it begins.
func (w *waitlist) restore() {
	for i, q := range w.taken {
		w.heaps[w.kinds[i]].push(q)
		w.taken[i] = nil
	}
	clear(w.late)
	w.kinds, w.taken, w.late, w.nth = w.kinds[:0], w.taken[:0], w.late[:0], 0
}

// soonest is how long it takes at least, from the beginning of a step, to the next output token of q, which waits.
func (p *Params) soonest(q *Sequence) time.Duration {
	if p.BlockTokens > 0 {
		return p.Base // who knows what the cache will have
	}
	n := q.Remaining()
	steps := max(1, (n+p.TokenBudget-1)/p.TokenBudget)
	return later(p.span(int64(n), pairs(q.done(), n), 0, 0), times(steps-1, p.Base))
}

// deadlines is a heap of those who wait, the first in order at its root. Each knows its place in it.
type deadlines []*Sequence

// sooner is the order: by when they are due, and among equals as they are in the queue.
func (q *Sequence) sooner(o *Sequence) bool {
	if q.due != o.due {
		return q.due < o.due
	}
	return q.queued(o) < 0
}

func (h *deadlines) push(q *Sequence) {
	*h = append(*h, q)
	q.place = len(*h) - 1
	h.up(q.place)
}

// remove takes out the i-th of the heap.
func (h *deadlines) remove(i int) *Sequence {
	s := *h
	last := len(s) - 1
	h.swap(i, last)
	q := s[last]
	s[last] = nil
	*h = s[:last]
	if i < last {
		h.down(i)
		h.up(i)
	}
	return q
}

func (h deadlines) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h deadlines) up(i int) {
	for i > 0 && h[i].sooner(h[(i-1)/2]) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h deadlines) down(i int) {
	for {
		c := 2*i + 1
		if c+1 < len(h) && h[c+1].sooner(h[c]) {
			c++
		}
		if c >= len(h) || !h[c].sooner(h[i]) {
			return
		}
		h.swap(i, c)
		i = c
	}
}
