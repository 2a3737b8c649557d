package llmsim

import "slices"

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

// leave takes out the n sequences that do not wait any more, which as a rule are at the head.
func (q *fifo) leave(n int) {
	for ; n > 0 && q.items[q.head].state != waiting; n-- {
		q.pop()
	}
	if n > 0 {
		rest := slices.DeleteFunc(q.items[q.head:], func(s *Sequence) bool { return s.state != waiting })
		q.items = q.items[:q.head+len(rest)]
	}
}

// remove takes out s, which is near the head where the one that waited longest gives up first.
func (q *fifo) remove(s *Sequence) {
	i := q.head + slices.Index(q.items[q.head:], s)
	if i == q.head {
		q.pop()
		return
	}
	q.items = slices.Delete(q.items, i, i+1)
}
