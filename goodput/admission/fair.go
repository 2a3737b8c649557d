package admission

import (
	"container/heap"
	"maps"
)

// FairShare says whose turn it is: that of the active tenant who has had least, in tokens over its weight. It is the virtual
// token counter of Sheng et al., Fairness in Serving Large Language Models, OSDI 2024, algorithm 2: a tenant that becomes
// active again is lifted to the least counter of the active ones, so that nobody saves up for a burst while idle; and between
// two tenants that are active all the time what they had differs by no more than two of the greatest requests. What idle
// tenants had is forgotten where there are more than 65,536 of them.
//
// The zero FairShare has no tenants. It is a state machine and belongs to one goroutine.
type FairShare struct {
	all    map[string]*share
	active shareHeap
	floor  float64 // the least counter of the active ones, when it was last known
	seq    uint64
	scan   int // so many tenants, and the idle ones are looked through
}

// leastWeight and mostWeight are how far weights may be from each other, so that what a tenant had stays a number that a token more
// changes.
const leastWeight, mostWeight = 1e-6, 1e6

// mostIdle is how many idle tenants are remembered for what they had. Where there are more, names come that never come again.
const mostIdle = 1 << 16

type share struct {
	tenant string
	had    float64
	weight float64
	since  uint64 // breaks ties: who became active first
	index  int    // in the heap; < 0: not active
	queue  *tenantQueue
}

// Activate says that a tenant wants something, with its weight (1 where it is not above 0; at least 1e-6 and at most 1e6). It
// does nothing where the tenant is active already, but for the weight.
func (f *FairShare) Activate(tenant string, weight float64) { f.activate(tenant, weight) }

func (f *FairShare) activate(tenant string, weight float64) *share {
	if !(weight > 0) {
		weight = 1
	}
	s := f.all[tenant]
	if s == nil {
		s = &share{tenant: tenant, index: -1}
		if f.all == nil {
			f.all = map[string]*share{}
		}
		f.all[tenant] = s
	}
	s.weight = min(max(weight, leastWeight), mostWeight)
	if s.index >= 0 {
		return s
	}
	if len(f.active) > 0 {
		f.floor = f.active[0].had
	}
	s.had = max(s.had, f.floor)
	f.seq++
	s.since = f.seq
	heap.Push(&f.active, s)
	return s
}

// Deactivate says that a tenant wants nothing for now.
func (f *FairShare) Deactivate(tenant string) {
	s := f.all[tenant]
	if s == nil || s.index < 0 {
		return
	}
	f.floor = f.active[0].had
	heap.Remove(&f.active, s.index)
	if len(f.all) > f.scan {
		f.forget()
	}
}

// forget forgets the idle tenants whose counter says nothing any more, because they would be lifted to the floor; or all of
// them, where they are too many. It comes again when there are twice as many as are left.
func (f *FairShare) forget() {
	f.forgetWhere(func(s *share) bool { return s.had <= f.floor })
	if len(f.all)-len(f.active) > mostIdle {
		f.forgetWhere(func(*share) bool { return true })
	}
	f.scan = max(2*len(f.all), 1024)
}

func (f *FairShare) forgetWhere(idle func(*share) bool) {
	maps.DeleteFunc(f.all, func(_ string, s *share) bool { return s.index < 0 && idle(s) })
}

// Charge counts what a tenant was given, in tokens.
func (f *FairShare) Charge(tenant string, tokens float64) {
	s := f.all[tenant]
	if s == nil {
		return
	}
	s.had += tokens / s.weight
	if s.index >= 0 {
		heap.Fix(&f.active, s.index)
	}
}

// Next is the active tenant whose turn it is; ok is false where none is active.
func (f *FairShare) Next() (tenant string, ok bool) {
	if len(f.active) == 0 {
		return "", false
	}
	return f.active[0].tenant, true
}

// Active is how many tenants are active.
func (f *FairShare) Active() int { return len(f.active) }

type shareHeap []*share

func (h shareHeap) Len() int { return len(h) }
func (h shareHeap) Less(i, j int) bool {
	if h[i].had != h[j].had {
		return h[i].had < h[j].had
	}
	return h[i].since < h[j].since
}
func (h shareHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *shareHeap) Push(x any) {
	s := x.(*share)
	s.index = len(*h)
	*h = append(*h, s)
}
func (h *shareHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	s.index = -1
	return s
}
