package llmsim

import (
	"sync"
	"time"
)

// live is a machine that follows the clock: that of the machine, or of the testing/synctest bubble in which it is used
// first. It has no goroutine of its own; a timer wakes it when something happens next.
type live struct {
	mu    sync.Mutex
	m     guarded
	zero  time.Time // the machine's zero: the first job's instant
	timer *time.Timer
	ids   uint64
	shut  bool
	mine  map[*call]struct{} // in the machine
	lost  []*call            // of them, those whose token function failed
}

// A call is a job in a live machine.
type call struct {
	id   uint64
	wake chan struct{} // capacity 1: there is something new
	step bool          // wake it at each token and not at the last alone

	// token is told each token as it comes, under live's lock; nil: nobody wants to know.
	token func(at time.Time, last bool)

	// Under live's lock.
	at    []time.Duration // when its tokens came out
	ended bool            // they all did
	err   error           // why no more will come
}

func newLive(model Model) (*live, error) {
	m, err := model.NewMachine()
	if err != nil {
		return nil, err
	}
	return &live{m: guarded{m: m}, mine: make(map[*call]struct{})}, nil
}

// submit gives the machine a job now. The error is the machine's, its fault, or errShut.
func (l *live) submit(c *call, j Job) error {
	c.wake = make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return errShut
	}
	if l.timer == nil {
		l.zero = time.Now()
		l.timer = time.AfterFunc(time.Hour, l.fire)
	}
	defer l.arm()
	now := time.Since(l.zero)
	l.collect(now)
	l.ids++
	c.id = l.ids
	j.ID, j.Data = c.id, c
	err := l.m.submit(now, j)
	if err == nil {
		l.mine[c] = struct{}{}
	}
	return err
}

// cancel takes a job out now, if it is still there.
func (l *live) cancel(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, in := l.mine[c]; !in {
		return
	}
	defer l.arm()
	now := time.Since(l.zero)
	l.collect(now)
	l.m.cancel(now, c.id)
	delete(l.mine, c)
}

// fire is what the timer does.
func (l *live) fire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return
	}
	defer l.arm()
	l.collect(time.Since(l.zero))
}

// collect hands out what has come of the machine until now.
func (l *live) collect(now time.Duration) { l.hand(l.m.advance(now)) }

// hand hands out tokens: all of them, even if a token function ends the goroutine.
func (l *live) hand(events []Event) {
	i := 0
	defer func() {
		if i < len(events) {
			l.hand(events[i:])
		}
	}()
	for i < len(events) {
		ev := events[i]
		i++
		c := ev.Data.(*call)
		c.at = append(c.at, ev.At)
		if ev.Last {
			c.ended = true
			delete(l.mine, c)
		}
		if c.step || ev.Last {
			c.notify()
		}
		if c.token != nil && c.err == nil {
			l.tell(c, l.zero.Add(ev.At), ev.Last)
		}
	}
}

// tell tells a token to its request's own function. Where that fails, so does the request.
func (l *live) tell(c *call, at time.Time, last bool) {
	done := false
	defer func() {
		if !done {
			c.err = faultOf("a token function", recover())
			l.lost = append(l.lost, c)
			c.notify()
		}
	}()
	c.token(at, last)
	done = true
}

// arm sets the timer to what happens next, once those are out whose token function failed. It comes after everything that
// asks the machine: where that was its end, also one in which the goroutine ends, it is everybody's.
func (l *live) arm() {
	defer func() {
		if l.m.fault != nil {
			l.breakOff(l.m.fault)
		}
	}()
	for _, c := range l.lost {
		if _, in := l.mine[c]; in {
			l.m.cancel(time.Since(l.zero), c.id)
			delete(l.mine, c)
		}
	}
	l.lost = l.lost[:0]
	if at, ok := l.m.next(); ok {
		l.timer.Reset(at - time.Since(l.zero))
	} else {
		l.timer.Stop()
	}
}

// breakOff is the end of all jobs.
func (l *live) breakOff(why error) {
	for c := range l.mine {
		c.err = why
		c.notify()
	}
	clear(l.mine)
}

// tokens is what has come of c beyond the first n tokens, and whether that was all, or why that is all that there will be.
func (l *live) tokens(c *call, n int) (at []time.Duration, ended bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.at[n:], c.ended, c.err
}

// down is why the machine takes no jobs; nil: it does.
func (l *live) down() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.shut:
		return errShut
	case l.m.fault != nil:
		return l.m.fault
	}
	return nil
}

// close breaks off all jobs and refuses others.
func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil && !l.shut {
		defer l.timer.Stop()
		now := time.Since(l.zero)
		l.collect(now)
		for c := range l.mine {
			l.m.cancel(now, c.id)
		}
	}
	l.shut = true
	l.breakOff(errShut)
}

func (l *live) stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil && !l.shut {
		defer l.arm()
		l.collect(time.Since(l.zero))
	}
	return l.m.stats()
}

func (c *call) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
