package llmsim

import (
	"sync"
	"time"
)

// live is a machine that follows the clock: that of the machine, or of the testing/synctest bubble in which it is used
// first. It has no goroutine of its own; a timer wakes it when something happens next.
type live struct {
	mu    sync.Mutex
	m     Machine
	zero  time.Time // the machine's zero: the first job's instant
	timer *time.Timer
	ids   uint64
	shut  bool
	mine  map[*call]struct{} // in the machine
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
	cut   bool            // the machine was shut down
}

func newLive(model Model) (*live, error) {
	m, err := model.NewMachine()
	if err != nil {
		return nil, err
	}
	return &live{m: m, mine: make(map[*call]struct{})}, nil
}

// submit gives the machine a job now. The error is the machine's, or errShut.
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
	now := time.Since(l.zero)
	l.collect(now)
	l.ids++
	c.id = l.ids
	j.ID, j.Data = c.id, c
	err := l.m.Submit(now, j)
	if err == nil {
		l.mine[c] = struct{}{}
	}
	l.arm()
	return err
}

// cancel takes a job out now, and says whether it was still there.
func (l *live) cancel(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.cut {
		return false
	}
	now := time.Since(l.zero)
	l.collect(now)
	was := l.m.Cancel(now, c.id)
	delete(l.mine, c)
	l.arm()
	return was
}

// fire is what the timer does.
func (l *live) fire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return
	}
	l.collect(time.Since(l.zero))
	l.arm()
}

// collect hands out what has come of the machine until now.
func (l *live) collect(now time.Duration) {
	for _, ev := range l.m.Advance(now) {
		c := ev.Data.(*call)
		c.at = append(c.at, ev.At)
		if ev.Last {
			c.ended = true
			delete(l.mine, c)
		}
		if c.token != nil {
			c.token(l.zero.Add(ev.At), ev.Last)
		}
		if c.step || ev.Last {
			c.notify()
		}
	}
}

// arm sets the timer to what happens next.
func (l *live) arm() {
	if at, ok := l.m.Next(); ok {
		l.timer.Reset(at - time.Since(l.zero))
	} else {
		l.timer.Stop()
	}
}

// tokens is what has come of c beyond the first n tokens, and whether that was all, or all that there will be.
func (l *live) tokens(c *call, n int) (at []time.Duration, ended, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.at[n:], c.ended, c.cut
}

// close cuts all jobs off and refuses others.
func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	var now time.Duration
	if l.timer != nil && !l.shut {
		l.timer.Stop()
		now = time.Since(l.zero)
		l.collect(now)
	}
	l.shut = true
	for c := range l.mine {
		c.cut = true
		l.m.Cancel(now, c.id)
		c.notify()
	}
	clear(l.mine)
}

func (l *live) stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil && !l.shut {
		l.collect(time.Since(l.zero))
	}
	return l.m.Stats()
}

func (c *call) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
