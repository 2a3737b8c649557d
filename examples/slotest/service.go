// Package slotest is a service with a promise, and a unit test of the promise: would it be kept under load?
//
// Copy the test. It puts simulated traffic on the service, up to an hour of it, and judges it by the SLO that production
// is judged by. An hour takes a second or two, since it runs in a testing/synctest bubble, where time only passes while
// everybody sleeps. Nothing in the service knows of it: it uses timers and contexts like any other code.
//
// The service here answers questions by way of a backend that can do few at once and fails now and then. It has what SLOs
// are lost on: a queue, a bound to the queue (admission), retries, and an autoscaler, which is always late.
package slotest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrBusy says that the queue is full. The request was not begun.
var ErrBusy = errors.New("too many requests are waiting")

// Backend answers one question. It is called by as many goroutines as the service has workers.
type Backend func(ctx context.Context, question string) (answer string, err error)

// Service answers questions.
type Service struct {
	backend  Backend
	queue    int
	attempts int
	backoff  time.Duration

	mu      sync.Mutex
	workers int
	busy    int
	waiting []chan struct{} // first come, first served; who is served is told by closing it
}

// New is a service that has at most so many calls at the backend at once, and at most queue requests waiting for their
// turn; it calls the backend up to attempts times for a request, and waits for backoff before the second call, twice as
// long before each further one.
func New(b Backend, workers, queue, attempts int, backoff time.Duration) *Service {
	return &Service{backend: b, workers: workers, queue: queue, attempts: attempts, backoff: backoff}
}

// Answer answers a question. It is ErrBusy at once when the queue is full.
func (s *Service) Answer(ctx context.Context, question string) (string, error) {
	if err := s.admit(ctx); err != nil {
		return "", err
	}
	defer s.leave()
	var errs []error
	for i := range s.attempts {
		if i > 0 {
			select {
			case <-time.After(s.backoff << (i - 1)):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		answer, err := s.backend(ctx, question)
		if err == nil {
			return answer, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("%d attempts: %w", s.attempts, errors.Join(errs...))
}

// admit waits for a worker.
func (s *Service) admit(ctx context.Context) error {
	s.mu.Lock()
	if s.busy < s.workers {
		s.busy++
		s.mu.Unlock()
		return nil
	}
	if len(s.waiting) >= s.queue {
		s.mu.Unlock()
		return ErrBusy
	}
	turn := make(chan struct{})
	s.waiting = append(s.waiting, turn)
	s.mu.Unlock()

	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.waiting {
		if w == turn {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			return ctx.Err()
		}
	}
	s.busy-- // it was this one's turn in the same moment: the next one's, then
	s.serve()
	return ctx.Err()
}

func (s *Service) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.serve()
}

// serve gives free workers to who waits. mu is held.
func (s *Service) serve() {
	for s.busy < s.workers && len(s.waiting) > 0 {
		s.busy++
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
}

// Scale changes how many workers there are. One that is busy and too many goes when it is done.
func (s *Service) Scale(workers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers = workers
	s.serve()
}

// Load is how many workers there are, and how many requests are being served or wait.
func (s *Service) Load() (workers, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workers, s.busy + len(s.waiting)
}
