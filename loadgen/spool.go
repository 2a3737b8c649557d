package loadgen

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// mostSpooled is how many bytes may wait while as many are being written.
	mostSpooled = 8 << 20
	// callerGrace is how long a run whose context is done waits for its writer of records, and for its Progress.
	callerGrace = 5 * time.Second
)

var (
	errWriterExit    = errors.New("the writer ended its goroutine (runtime.Goexit)")
	errWriterBlocked = errors.New("the writer had not come back " + callerGrace.String() + " after the run was cut off")
)

// spool is what a run writes its records into. It takes them at once, and a goroutine of its own hands them to the writer:
// one that is slow, or never comes back, delays no request.
type spool struct {
	w    io.Writer
	ctx  context.Context // once it is done, close does not wait for ever
	work chan struct{}   // there is something to write; closed: nothing more will come
	stop func()          // closes work
	gone chan struct{}   // the goroutine has

	mu   sync.Mutex
	next []byte // is to be written
	err  error  // of the writer, which was not called again
}

func newSpool(ctx context.Context, w io.Writer) *spool {
	s := &spool{w: w, ctx: ctx, work: make(chan struct{}, 1), gone: make(chan struct{})}
	s.stop = sync.OnceFunc(func() { close(s.work) })
	go s.run()
	return s
}

// full says that no more than what was begun may be written now.
func (s *spool) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.next) >= mostSpooled
}

// Write takes p, unless the writer has failed. It never waits.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.next = append(s.next, p...)
	select {
	case s.work <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *spool) run() {
	defer close(s.gone)
	var p []byte
	for range s.work {
		s.mu.Lock()
		p, s.next = s.next, p[:0]
		s.mu.Unlock()
		if s.hand(p) != nil {
			return
		}
	}
}

// hand gives p to the writer, which is the caller's code and may panic.
func (s *spool) hand(p []byte) (err error) {
	err = errWriterExit
	defer func() {
		if v := recover(); v != nil {
			err = asPanic(v)
		}
		if err != nil {
			s.mu.Lock()
			s.err, s.next = err, nil
			s.mu.Unlock()
		}
	}()
	var n int
	if n, err = s.w.Write(p); err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}

// close returns when all is written, or cannot be: then it says why.
func (s *spool) close() error {
	s.stop()
	if !back(s.ctx, s.gone) {
		return errWriterBlocked
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
