package loadgen

import "time"

// pacer sleeps until instants. They are absolute: a late one makes none of those that follow late. One goroutine sleeps;
// any may wake it, also one that comes after stop.
type pacer interface {
	until(at time.Time) // returns at at, or before if wake was called since the last return
	wake()
	stop()
}

// timerPacer sleeps by a Go timer. It is for synctest bubbles, whose time only timers know, and for systems without a
// pacer of their own; there it is as exact as Go's timers are.
type timerPacer struct {
	timer *time.Timer
	woken chan struct{}
}

func newTimerPacer() *timerPacer { return &timerPacer{woken: make(chan struct{}, 1)} }

func (p *timerPacer) until(at time.Time) {
	d := time.Until(at)
	if d <= 0 {
		return
	}
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	select {
	case <-p.timer.C:
	case <-p.woken:
	}
}

func (p *timerPacer) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

func (p *timerPacer) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
