package main

import (
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/slo"
)

// capped lets a number of requests in flight, and a number wait, first come first served; what is more it refuses.
type capped struct {
	s              *system
	flight, places int
	n              int
	queue          []*job
}

func (c *capped) arrive(_ time.Time, j *job) {
	switch {
	case c.n < c.flight:
		c.n++
		c.s.start(j)
	case len(c.queue) < c.places:
		c.queue = append(c.queue, j)
	default:
		c.s.refuse(j)
	}
}

func (c *capped) end(time.Time, *job, goodput.Outcome) {
	c.n--
	if len(c.queue) > 0 {
		j := c.queue[0]
		c.queue = c.queue[1:]
		c.n++
		c.s.start(j)
	}
}

func (c *capped) leave(_ time.Time, j *job) {
	c.queue = slices.DeleteFunc(c.queue, func(x *job) bool { return x == j })
}
func (c *capped) token(time.Time, *job)   {}
func (c *capped) next() (time.Time, bool) { return time.Time{}, false }
func (c *capped) tick(time.Time)          {}

// fixed is a cap on the requests in flight, with places to wait.
func fixed(flight, places int) func(*system) error {
	return func(s *system) error {
		s.policy = &capped{s: s, flight: flight, places: places}
		return nil
	}
}

// defended is package admission.
type defended struct {
	s         *system
	scheduler *admission.Scheduler
	blind     bool // it hears of no tokens
}

// defend puts an admission.Scheduler before the engine.
func defend(o slo.SLO) func(*system) error {
	return func(s *system) error {
		scheduler, err := admission.NewScheduler(admission.Config{SLO: o})
		s.policy = &defended{s: s, scheduler: scheduler}
		return err
	}
}

func (d *defended) arrive(now time.Time, j *job) {
	j.ticket.Request = admission.Request{InputTokens: j.in, MaxOutputTokens: j.out}
	j.ticket.Data = j
	if d.scheduler.Arrive(now, &j.ticket); j.ticket.Status() != admission.Waiting {
		d.decided(&j.ticket)
	}
	d.settle()
}

// settle carries out what was decided.
func (d *defended) settle() {
	for _, t := range d.scheduler.Decided() {
		d.decided(t)
	}
}

func (d *defended) decided(t *admission.Ticket) {
	if j := t.Data.(*job); t.Status() == admission.Admitted {
		d.s.start(j)
	} else {
		d.s.refuse(j)
	}
}

func (d *defended) token(now time.Time, j *job) {
	if !d.blind {
		d.scheduler.Tokens(now, &j.ticket, 1)
		d.settle()
	}
}

func (d *defended) end(now time.Time, j *job, o goodput.Outcome) {
	d.scheduler.Done(now, &j.ticket, o)
	d.settle()
}

func (d *defended) leave(now time.Time, j *job) {
	d.scheduler.Cancel(now, &j.ticket)
	d.settle()
}

func (d *defended) next() (time.Time, bool) { return d.scheduler.Next() }

func (d *defended) tick(now time.Time) {
	d.scheduler.Tick(now)
	d.settle()
}
