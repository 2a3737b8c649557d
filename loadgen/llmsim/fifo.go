package llmsim

import "slices"

// fifo is a queue of sequences.
type fifo struct {
	items []*sequence // from head on
	head  int
}

func (q *fifo) len() int { return len(q.items) - q.head }

// push puts s behind all that came before it, or in the same instant with a rank that is not higher.
func (q *fifo) push(s *sequence) {
	if q.head > 32 && q.head > len(q.items)/2 {
		q.items = slices.Delete(q.items, 0, q.head)
		q.head = 0
	}
	i := len(q.items)
	for i > q.head && q.items[i-1].arrived == s.arrived && q.items[i-1].Rank > s.Rank {
		i--
	}
	q.items = slices.Insert(q.items, i, s)
}

// peek is the head of the queue, nil where it is empty.
func (q *fifo) peek() *sequence {
	if q.len() == 0 {
		return nil
	}
	return q.items[q.head]
}

// pop takes out the head.
func (q *fifo) pop() {
	q.items[q.head] = nil
	q.head++
}

// unpop puts back what the last pop took out, with no push in between.
func (q *fifo) unpop(s *sequence) {
	q.head--
	q.items[q.head] = s
}

// remove takes out s, which is near the head where the one that waited longest gives up first.
func (q *fifo) remove(s *sequence) {
	i := q.head + slices.Index(q.items[q.head:], s)
	if i == q.head {
		q.pop()
		return
	}
	q.items = slices.Delete(q.items, i, i+1)
}
