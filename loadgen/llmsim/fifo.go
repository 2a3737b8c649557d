package llmsim

import (
	"cmp"
	"slices"
)

// fifo is a queue of sequences.
type fifo struct {
	items []*Sequence // from head on
	head  int
}

func (q *fifo) len() int { return len(q.items) - q.head }

// push puts s behind all that came before it, or in the same instant with a rank that is not higher.
func (q *fifo) push(s *Sequence) {
	if q.head > 32 && q.head > len(q.items)/2 {
		q.items = slices.Delete(q.items, 0, q.head)
		q.head = 0
	}
	i := len(q.items)
	for i > q.head && q.items[i-1].arrived == s.arrived && q.items[i-1].job.Rank > s.job.Rank {
		i--
	}
	q.items = slices.Insert(q.items, i, s)
}

// pop takes out the head.
func (q *fifo) pop() {
	q.items[q.head] = nil
	q.head++
}

// unpop puts s at the head.
func (q *fifo) unpop(s *Sequence) {
	if q.head == 0 {
		q.items = slices.Insert(q.items, 0, s)
		return
	}
	q.head--
	q.items[q.head] = s
}

// remove takes out s, which as a rule is at the head.
func (q *fifo) remove(s *Sequence) {
	if q.items[q.head] == s {
		q.pop()
		return
	}
	i, _ := slices.BinarySearchFunc(q.items[q.head:], s, (*Sequence).queued)
	i += q.head
	q.items = slices.Delete(q.items, i, i+1)
}

// queued is the order of the queue: who was put at its head last; who came first; by rank; as they were submitted.
func (s *Sequence) queued(o *Sequence) int {
	return cmp.Or(cmp.Compare(o.front, s.front), cmp.Compare(s.arrived, o.arrived), cmp.Compare(s.job.Rank, o.job.Rank), cmp.Compare(s.nth, o.nth))
}
