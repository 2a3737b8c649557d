package admission

import (
	"context"
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// Controller is a [Scheduler] by the clock: Admit blocks until a request may be sent or is refused. Its methods may be
// called from any goroutine. It has none of its own: those who wait are woken by those who end, or by a timer where time
// alone decides.
type Controller struct {
	mu    sync.Mutex
	s     *Scheduler
	timer *time.Timer // nil: nobody has waited yet
	due   time.Time   // when it fires; zero: it does not
}

// New is a controller with nothing in flight. The error names the field that cannot be meant.
func New(c Config) (*Controller, error) {
	s, err := NewScheduler(c)
	if err != nil {
		return nil, err
	}
	return &Controller{s: s}, nil
}

// Admit waits until the request may be sent. Its error is a *[RejectedError] where it may not, and the context's where that
// ended before; a deadline of the context counts as one of the first token. Each permit has to be given back with
// [Permit.Done], whatever happens to the request; [Controller.Do] sees to it.
func (c *Controller) Admit(ctx context.Context, r Request) (*Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &Permit{c: c}
	p.t.Request = r
	p.t.latest, _ = ctx.Deadline()
	c.mu.Lock()
	c.s.Arrive(time.Now(), &p.t)
	status := p.t.status
	if status == Waiting {
		p.wake = make(chan struct{})
		p.t.Data = p
	}
	c.settle()
	c.mu.Unlock()
	switch status {
	case Admitted:
		return p, nil
	case Refused:
		return nil, p.t.Err()
	}
	select {
	case <-p.wake:
		if err := p.t.Err(); err != nil {
			return nil, err
		}
		return p, nil
	case <-ctx.Done():
		c.mu.Lock()
		now := time.Now()
		c.s.Cancel(now, &p.t)
		c.s.Done(now, &p.t, goodput.Cancelled) // it may have been admitted in the meantime
		c.settle()
		c.mu.Unlock()
		return nil, ctx.Err()
	}
}

// settle wakes those that were decided, and sets the timer. c.mu is held.
func (c *Controller) settle() {
	if decided := c.s.Decided(); len(decided) > 0 {
		for _, t := range decided {
			close(t.Data.(*Permit).wake)
		}
		clear(decided) // nobody else is to keep the permits
	}
	at, ok := c.s.Next()
	if !ok || !c.due.IsZero() && !at.Before(c.due) {
		return // it may fire too early, and is then set anew
	}
	c.due = at
	if d := time.Until(at); c.timer == nil {
		c.timer = time.AfterFunc(d, c.tick)
	} else {
		c.timer.Reset(d)
	}
}

// tick is what the timer does.
func (c *Controller) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = time.Time{}
	c.s.Tick(time.Now())
	c.settle()
}

// Do admits a request and calls f with its permit, which is given back with the outcome that f returns, or as a server
// error where f panics. The error is that of [Controller.Admit].
func (c *Controller) Do(ctx context.Context, r Request, f func(p *Permit) goodput.Outcome) error {
	p, err := c.Admit(ctx, r)
	if err != nil {
		return err
	}
	o := goodput.ServerError
	defer func() { p.Done(o) }()
	o = f(p)
	return nil
}

// State is what the controller does now.
func (c *Controller) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s.State(time.Now())
}

// Close refuses, as [Closed], all that wait and all that come from now on. What is in flight stays, and its permits are
// still to be given back.
func (c *Controller) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.Close(time.Now())
	c.settle()
}

// Permit is the right to send one request. Its methods may be called from any goroutine, and do nothing once it was given back.
type Permit struct {
	c    *Controller
	t    Ticket
	wake chan struct{} // closed when it is decided; nil: it did not wait
}

// Grant is what the request got, which may be less than it asked for. Whoever sends it has to carry that out, or to say that it was
// not, with [Permit.Sent].
func (p *Permit) Grant() Grant { return p.t.Grant }

// Waited is how long it had waited when it was admitted, from its arrival on.
func (p *Permit) Waited() time.Duration { return p.t.admitted.Sub(p.t.Arrival) }

// FirstToken: the first token has come. Without it, and without [Permit.Tokens], the controller does not see what stands
// before a first token in the engine, and predicts nothing of it.
func (p *Permit) FirstToken() {
	p.tell(func(now time.Time) { p.c.s.FirstToken(now, &p.t) })
}

// Tokens: n more tokens have come, the first of which are the first token. From the gaps between them the controller knows
// the pace of what runs, and lets nothing in that would spoil it.
func (p *Permit) Tokens(n int) {
	p.tell(func(now time.Time) { p.c.s.Tokens(now, &p.t, n) })
}

// Usage is how many output tokens there were, where the engine says so.
func (p *Permit) Usage(output int) {
	p.tell(func(time.Time) { p.c.s.Usage(&p.t, output) })
}

// Sent: what was granted could not be carried out, or not in whole, and the request was sent with another limit of its output:
// maxOutputTokens, or 0, where it asks for what it had asked for. It counts for that from now on. [Permit.Grant] stays what was granted.
func (p *Permit) Sent(maxOutputTokens int) {
	p.tell(func(now time.Time) { p.c.s.Sent(now, &p.t, maxOutputTokens) })
}

// Done gives the permit back; the first call counts. Deferred with a failure and called with the outcome before that, it
// loses no permit to a panic:
//
//	defer p.Done(goodput.ServerError)
//	…
//	p.Done(goodput.Success)
func (p *Permit) Done(o goodput.Outcome) {
	p.tell(func(now time.Time) { p.c.s.Done(now, &p.t, o) })
}

func (p *Permit) tell(f func(now time.Time)) {
	p.c.mu.Lock()
	f(time.Now())
	p.c.settle()
	p.c.mu.Unlock()
}
