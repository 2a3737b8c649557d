package loadgen

import (
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// elementsAhead is how many elements of a sequence of the plan's are made before they are due.
const elementsAhead = 64

// readers read the sequences of a plan ahead of time, each in a goroutine of its own, so that the work of making an
// element delays nothing, and one that waits for something holds nothing up.
type readers struct {
	notify func() // a sequence that had nothing to give has something, or has ended
	gone   []<-chan struct{}
}

// readAhead is the sequence, read by r.
func readAhead[T any](r *readers, seq iter.Seq[T]) *source[T] {
	elements, quit, gone := make(chan T, elementsAhead), make(chan struct{}), make(chan struct{})
	r.gone = append(r.gone, gone)
	var wanted atomic.Bool
	tell := func() {
		if wanted.CompareAndSwap(true, false) {
			r.notify()
		}
	}
	var failed *panicError // written before elements is closed
	go func() {
		defer close(gone)
		defer tell()
		defer close(elements)
		ended := false
		defer func() {
			switch p := recover(); {
			case p != nil:
				failed = asPanic(p)
			case !ended:
				failed = &panicError{value: "it ended its goroutine (runtime.Goexit)"}
			}
		}()
		for v := range seq {
			select {
			case elements <- v:
				tell()
				continue
			case <-quit:
			}
			break
		}
		ended = true
	}()
	s := &source[T]{stop: sync.OnceFunc(func() { close(quit) })}
	s.next = func() (v T, ok, pending bool) {
		for {
			select {
			case v, ok = <-elements:
				if !ok {
					s.err = failed
				}
				return v, ok, false
			default:
			}
			if wanted.Swap(true) { // and there was still nothing
				return v, false, true
			}
		}
	}
	return s
}

// wait returns when the goroutines are gone, which have been told to stop. A sequence that takes longer than grace is
// left alone.
func (r *readers) wait() {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for _, gone := range r.gone {
		select {
		case <-gone:
		case <-timer.C:
			return
		}
	}
}
