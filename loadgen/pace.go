package loadgen

import "time"

// pacer sleeps until instants, in real time or in a synctest bubble's.
type pacer struct{ timer *time.Timer }

// until returns at at, or before if wake has something. Instants are absolute: a late one makes none of those that follow
// late.
func (p *pacer) until(at time.Time, wake <-chan struct{}) {
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
	case <-wake:
	}
}

func (p *pacer) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
