// Package slotest is a service with a promise, and a unit test of the promise: would it be kept under load?
//
// Copy the test. It puts simulated traffic on the service, up to an hour of it, and judges it by the SLO that production
// is judged by. An hour takes a second or two, since it runs in a testing/synctest bubble, where time only passes while
// everybody sleeps. Nothing in the service knows of it: it uses timers and contexts like any other code.
//
// The service here answers questions by way of a backend that can do few at once and fails now and then. It has the
// three things on which SLOs are lost: a queue, a bound to the queue, and retries.
package slotest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrBusy says that the queue is full. The request was not begun.
var ErrBusy = errors.New("too many requests are waiting")

// Backend answers one question. It is called by as many goroutines as the service has workers.
type Backend func(ctx context.Context, question string) (answer string, err error)

// Service answers questions.
type Service struct {
	backend  Backend
	attempts int
	backoff  time.Duration
	admitted chan struct{} // who waits or is served
	workers  chan struct{} // who is served
}

// New is a service that has at most so many calls at the backend at once, and at most queue requests waiting for their
// turn; it calls the backend up to attempts times for a request, and waits for backoff before the second call, twice as
// long before each further one.
func New(b Backend, workers, queue, attempts int, backoff time.Duration) *Service {
	return &Service{
		backend:  b,
		attempts: attempts,
		backoff:  backoff,
		admitted: make(chan struct{}, workers+queue),
		workers:  make(chan struct{}, workers),
	}
}

// Answer answers a question. It is ErrBusy at once when the queue is full.
func (s *Service) Answer(ctx context.Context, question string) (string, error) {
	select {
	case s.admitted <- struct{}{}:
		defer func() { <-s.admitted }()
	default:
		return "", ErrBusy
	}
	select {
	case s.workers <- struct{}{}:
		defer func() { <-s.workers }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
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
