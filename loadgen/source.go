package loadgen

import "iter"

// source reads a sequence of the caller's one by one. A panic of the sequence ends it and is kept.
type source[T any] struct {
	next func() (T, bool)
	stop func()
	err  *panicError
}

func newSource[T any](seq iter.Seq[T]) *source[T] {
	s := &source[T]{}
	s.next, s.stop = iter.Pull(func(yield func(T) bool) {
		defer func() {
			if p := recover(); p != nil {
				s.err = asPanic(p)
			}
		}()
		seq(yield)
	})
	return s
}

func (s *source[T]) pull() (T, bool) { return s.next() }

// close ends the sequence.
func (s *source[T]) close() { s.stop() }

// requests is the workload of a plan: repeated where it says so, and empty requests where it has none.
func (p *Plan) requests() iter.Seq[*Request] {
	if p.Workload == nil {
		return func(yield func(*Request) bool) {
			for yield(&Request{}) {
			}
		}
	}
	return func(yield func(*Request) bool) {
		for {
			some := false
			for r := range p.Workload {
				if r == nil {
					r = &Request{}
				}
				some = true
				if !yield(r) {
					return
				}
			}
			if !p.Repeat || !some {
				return
			}
		}
	}
}
