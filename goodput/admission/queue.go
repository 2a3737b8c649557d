package admission

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// Queue is what waits: by priority, the highest first; within a priority the tenants in turn, by a [FairShare]; of one tenant
// the earliest deadline first. It refuses on arrival what it predicts to be late ([Queue.Wait] and [Late]), drops what has
// become late ([Queue.DropLate]), and sheds what came last of the lowest priority ([Queue.Last]).
//
// The zero Queue is empty. It is a state machine and belongs to one goroutine. Every method takes at most some logarithms of
// what waits, beside the number of priorities.
type Queue struct {
	levels []*level // highest priority first; none is empty
	due    dueHeap  // all, by deadline
	n      int
	tokens float64
	seq    uint64
}

// Item is something that waits. But for Data nothing of it may be changed while it waits.
type Item struct {
	Priority int       // higher is more important
	Tenant   string    // "": the one that has no name
	Weight   float64   // the tenant's; 1 where it is not above 0
	Deadline time.Time // of its first token; zero: it has none
	Tokens   float64   // what it will weigh
	Data     any

	seq        uint64
	level      *level
	inTenant   int // index there, plus 1; 0: it does not wait
	inDue      int // index there, plus 1; 0: no deadline
	prev, next *Item
}

type level struct {
	priority    int
	tokens      float64
	fair        FairShare
	first, last *Item // by arrival
}

// tenantQueue is what waits of one tenant in one level.
type tenantQueue struct {
	tokens float64
	items  itemHeap
}

// Len is how many wait.
func (q *Queue) Len() int { return q.n }

// Tokens is what waits, in tokens.
func (q *Queue) Tokens() float64 { return q.tokens }

// find is where the level of a priority is, or would be.
func (q *Queue) find(priority int) (int, bool) {
	return slices.BinarySearchFunc(q.levels, priority, func(l *level, p int) int { return cmp.Compare(p, l.priority) })
}

// Push puts an item in, which must not wait already.
func (q *Queue) Push(it *Item) {
	if it.inTenant > 0 {
		panic("admission: Queue.Push: the item waits already")
	}
	at, ok := q.find(it.Priority)
	if !ok {
		q.levels = slices.Insert(q.levels, at, &level{priority: it.Priority})
	}
	l := q.levels[at]
	s := l.fair.activate(it.Tenant, it.Weight)
	if s.queue == nil {
		s.queue = &tenantQueue{}
	}
	q.seq++
	it.seq, it.level = q.seq, l
	heap.Push(&s.queue.items, it)
	s.queue.tokens += it.Tokens
	l.tokens += it.Tokens
	q.tokens += it.Tokens
	q.n++
	if it.prev = l.last; it.prev != nil {
		it.prev.next = it
	} else {
		l.first = it
	}
	l.last = it
	if !it.Deadline.IsZero() {
		heap.Push(&q.due, it)
	}
}

// Remove takes an item out and says whether it waited.
func (q *Queue) Remove(it *Item) bool {
	l := it.level
	if it.inTenant == 0 || l == nil {
		return false
	}
	s := l.fair.all[it.Tenant]
	heap.Remove(&s.queue.items, it.inTenant-1)
	s.queue.tokens -= it.Tokens
	if it.inDue > 0 {
		heap.Remove(&q.due, it.inDue-1)
	}
	if it.prev != nil {
		it.prev.next = it.next
	} else {
		l.first = it.next
	}
	if it.next != nil {
		it.next.prev = it.prev
	} else {
		l.last = it.prev
	}
	it.prev, it.next, it.level = nil, nil, nil
	l.tokens -= it.Tokens
	q.tokens -= it.Tokens
	q.n--
	if len(s.queue.items) == 0 {
		s.queue = nil
		l.fair.Deactivate(it.Tenant)
	}
	if q.n == 0 {
		q.tokens = 0
	}
	if l.first == nil {
		l.tokens = 0
		// The level's counters say who had more than whom while somebody waited; when all is served, everybody starts anew.
		at, _ := q.find(l.priority)
		q.levels = slices.Delete(q.levels, at, at+1)
	}
	return true
}

// Head is the item whose turn it is, or nil.
func (q *Queue) Head() *Item {
	if q.n == 0 {
		return nil
	}
	return q.levels[0].fair.active[0].queue.items[0]
}

// Pop takes out the item whose turn it is, and charges its tenant. It is nil where nothing waits.
func (q *Queue) Pop() *Item {
	it := q.Head()
	if it != nil {
		it.level.fair.Charge(it.Tenant, it.Tokens)
		q.Remove(it)
	}
	return it
}

// charge charges the tenant of an item that was taken out for more than it weighed, or less. Where nobody waits any more, everybody
// has started anew.
func (q *Queue) charge(it *Item, tokens float64) {
	if at, ok := q.find(it.Priority); ok {
		q.levels[at].fair.Charge(it.Tenant, tokens)
	}
}

// Last is the item that came last of those with the lowest priority, or nil: the one to shed first.
func (q *Queue) Last() *Item {
	if q.n == 0 {
		return nil
	}
	return q.levels[len(q.levels)-1].last
}

// Ahead is how many tokens would be served before an item of a priority and a tenant that comes now: all of the higher
// priorities, and of its own no more than what waits there, nor than each tenant's turn for what waits of its own.
func (q *Queue) Ahead(priority int, tenant string, tokens float64) (ahead float64) {
	for _, l := range q.levels {
		if l.priority < priority {
			break
		}
		if l.priority > priority {
			ahead += l.tokens
			continue
		}
		others, own := l.fair.Active(), 0.0
		if s := l.fair.all[tenant]; s != nil && s.queue != nil {
			own = s.queue.tokens
			others--
		}
		ahead += min(l.tokens, own+float64(others)*(own+tokens))
	}
	return ahead
}

// Wait is how long an item that comes now is predicted to wait, where rate is what is served, in tokens a second: what is ahead
// of it over the rate. It is 0 where the rate is not known (not above 0).
func (q *Queue) Wait(priority int, tenant string, tokens, rate float64) time.Duration {
	if !(rate > 0) {
		return 0
	}
	return duration(q.Ahead(priority, tenant, tokens) / rate)
}

// Late says whether something that is to have its first token by the deadline is predicted to miss it, where it waits and is
// then served for so long. Nothing is late for a zero deadline.
func Late(now, deadline time.Time, wait, service time.Duration) bool {
	return !deadline.IsZero() && now.Add(wait).Add(service).After(deadline)
}

// DropLate takes out, in order of deadline, what would be late if it were served now, and calls drop for each: service is how
// long the first token of an item takes then. It stops at the first that is not late.
func (q *Queue) DropLate(now time.Time, service func(*Item) time.Duration, drop func(*Item)) {
	for len(q.due) > 0 {
		it := q.due[0]
		if !Late(now, it.Deadline, 0, service(it)) {
			return
		}
		q.Remove(it)
		drop(it)
	}
}

// Due is the earliest deadline of all that wait; ok is false where none has one.
func (q *Queue) Due() (deadline time.Time, ok bool) {
	if len(q.due) == 0 {
		return time.Time{}, false
	}
	return q.due[0].Deadline, true
}

// before is the order of deadlines: none is later than any, and of two that are equal the first that came is first.
func before(a, b *Item) bool {
	if !a.Deadline.Equal(b.Deadline) {
		return !a.Deadline.IsZero() && (b.Deadline.IsZero() || a.Deadline.Before(b.Deadline))
	}
	return a.seq < b.seq
}

type itemHeap []*Item

func (h itemHeap) Len() int           { return len(h) }
func (h itemHeap) Less(i, j int) bool { return before(h[i], h[j]) }
func (h itemHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].inTenant, h[j].inTenant = i+1, j+1
}
func (h *itemHeap) Push(x any) {
	it := x.(*Item)
	*h = append(*h, it)
	it.inTenant = len(*h)
}
func (h *itemHeap) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	it.inTenant = 0
	return it
}

type dueHeap []*Item

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return before(h[i], h[j]) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].inDue, h[j].inDue = i+1, j+1
}
func (h *dueHeap) Push(x any) {
	it := x.(*Item)
	*h = append(*h, it)
	it.inDue = len(*h)
}
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	it.inDue = 0
	return it
}
