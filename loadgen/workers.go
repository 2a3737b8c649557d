package loadgen

import "sync"

// mostIdle bounds the goroutines that wait for another request.
const mostIdle = 4096

// workers are goroutines that do jobs. One that is done waits for another, for a new one would have to grow its stack
// again; where none waits, there is a new one. A job never waits for a worker. What a job returns its worker does next.
type workers struct {
	mu   sync.Mutex
	idle []chan *job // the last one to have become idle is the first to get a job
	over bool
}

func (w *workers) run(j *job, do func(*job) *job) {
	w.mu.Lock()
	n := len(w.idle)
	if n == 0 {
		w.mu.Unlock()
		go w.work(j, do)
		return
	}
	jobs := w.idle[n-1]
	w.idle = w.idle[:n-1]
	w.mu.Unlock()
	jobs <- j // has room
}

func (w *workers) work(j *job, do func(*job) *job) {
	jobs := make(chan *job, 1)
	for {
		for j != nil {
			j = do(j)
		}
		if !w.rest(jobs) {
			return
		}
		if j = <-jobs; j == nil {
			return
		}
	}
}

// rest says that jobs' worker has nothing to do. It may end where there are enough of them.
func (w *workers) rest(jobs chan *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || len(w.idle) >= mostIdle {
		return false
	}
	w.idle = append(w.idle, jobs)
	return true
}

// dismiss ends all that are idle, and the others when they are.
func (w *workers) dismiss() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for _, jobs := range w.idle {
		close(jobs)
	}
	w.idle = nil
}
