package loadgen

import "iter"

// requestsAhead is how many requests of a workload are made before they are due.
const requestsAhead = 64

// readAhead reads a workload in a goroutine of its own, so that the work of making a request does not delay the one
// before it. A panic of the sequence is passed on.
func readAhead(seq iter.Seq[*Request]) iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		requests, quit := make(chan *Request, requestsAhead), make(chan struct{})
		var failed *panicError // written before requests is closed
		go func() {
			defer close(requests)
			ended := false
			defer func() {
				switch p := recover(); {
				case p != nil:
					failed = asPanic(p)
				case !ended:
					failed = &panicError{value: "it ended its goroutine (runtime.Goexit)"}
				}
			}()
			for r := range seq {
				select {
				case requests <- r:
					continue
				case <-quit:
				}
				break
			}
			ended = true
		}()
		defer func() {
			close(quit)
			for range requests { // until the goroutine is gone
			}
		}()
		for r := range requests {
			if !yield(r) {
				return
			}
		}
		if failed != nil {
			panic(failed)
		}
	}
}
