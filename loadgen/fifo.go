package loadgen

// fifo is a queue in a ring that grows as it must. The zero fifo is empty.
type fifo[T any] struct {
	ring []T
	head int
	n    int
}

func (q *fifo[T]) len() int { return q.n }

// at is the i-th from the head.
func (q *fifo[T]) at(i int) *T { return &q.ring[(q.head+i)%len(q.ring)] }

func (q *fifo[T]) push(v T) {
	if q.n == len(q.ring) {
		ring := make([]T, max(8, 2*q.n))
		for i := range q.n {
			ring[i] = *q.at(i)
		}
		q.ring, q.head = ring, 0
	}
	q.n++
	*q.at(q.n - 1) = v
}

func (q *fifo[T]) pop() T {
	var zero T
	p := q.at(0)
	v := *p
	*p = zero
	q.head, q.n = (q.head+1)%len(q.ring), q.n-1
	return v
}
