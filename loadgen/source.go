package loadgen

import (
	"iter"
	"time"
)

// source reads a sequence of the caller's one by one. A panic of the sequence ends it and is kept.
type source[T any] struct {
	next func() (v T, ok, pending bool)
	stop func()
	err  *panicError
}

// newSource is a sequence that is read when it is asked for something. Where r is not nil, r reads it ahead.
func newSource[T any](seq iter.Seq[T], r *readers) *source[T] {
	if r != nil {
		return readAhead(r, seq)
	}
	s := &source[T]{}
	next, stop := iter.Pull(func(yield func(T) bool) {
		defer func() {
			if p := recover(); p != nil {
				s.err = asPanic(p)
			}
		}()
		seq(yield)
	})
	return s.from(next, stop)
}

// from reads what next gives.
func (s *source[T]) from(next func() (T, bool), stop func()) *source[T] {
	s.next = func() (T, bool, bool) {
		v, ok := next()
		return v, ok, false
	}
	s.stop = stop
	return s
}

// pull is the next element. pending says that there is none yet, and nobody knows whether there will be; else ok is false
// at the end.
func (s *source[T]) pull() (v T, ok, pending bool) { return s.next() }

// close ends the sequence.
func (s *source[T]) close() { s.stop() }

// arrivals are those of a plan, one by one; nil in a closed loop.
func (p *Plan) arrivals(r *readers) *source[time.Duration] {
	switch a := p.Arrivals.(type) {
	case nil:
		return nil
	case stepper:
		return new(source[time.Duration]).from(a.steps(), func() {})
	default:
		return newSource(func(yield func(time.Duration) bool) { a.Times()(yield) }, r)
	}
}

// requests are those of a plan, one by one: repeated where it says so, and empty requests where it has no workload.
func (p *Plan) requests(r *readers) *source[*Request] {
	if p.Workload == nil {
		return new(source[*Request]).from(func() (*Request, bool) { return new(Request), true }, func() {})
	}
	return newSource(p.repeated(), r)
}

// repeated is the workload, again and again where the plan says so.
func (p *Plan) repeated() iter.Seq[*Request] {
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
