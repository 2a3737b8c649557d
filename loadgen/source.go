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
	s.next, s.stop = iter.Pull(seq)
	return s
}

func (s *source[T]) pull() (v T, ok bool) {
	if s.next == nil {
		return v, false
	}
	defer func() {
		if p := recover(); p != nil {
			s.err, s.next, s.stop = asPanic(p), nil, nil
			var none T
			v, ok = none, false
		}
	}()
	if v, ok = s.next(); !ok {
		s.close()
	}
	return v, ok
}

// close ends the sequence.
func (s *source[T]) close() {
	if s.next == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			s.err = asPanic(p)
		}
	}()
	stop := s.stop
	s.next, s.stop = nil, nil
	stop()
}

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
