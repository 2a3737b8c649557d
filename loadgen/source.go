package loadgen

import (
	"iter"
	"time"
)

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

// arrivals are those of a plan, one by one; nil in a closed loop.
func (p *Plan) arrivals() *source[time.Duration] {
	switch a := p.Arrivals.(type) {
	case nil:
		return nil
	case stepper:
		return &source[time.Duration]{next: a.steps(), stop: func() {}}
	default:
		return newSource(func(yield func(time.Duration) bool) { a.Times()(yield) })
	}
}

// requests are those of a plan, one by one: repeated where it says so, and empty requests where it has no workload.
func (p *Plan) requests() *source[*Request] {
	if p.Workload == nil {
		return &source[*Request]{next: func() (*Request, bool) { return new(Request), true }, stop: func() {}}
	}
	return newSource(p.repeated())
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
