package llmsim

import (
	"fmt"
	"time"
)

// Replicas is several engines behind a Router, each with a queue, a batch and a KV cache of its own. A job goes to one
// engine when it comes, and stays there. With one engine it is that engine, to the nanosecond.
//
// The engines need not be alike: they serve one model, by the same Params.Model and DefaultOutput, on machines of any kind.
// A job that fits into some of the KV caches alone goes to one of those, where the router is one of this package.
type Replicas struct {
	Engines []Params // slices.Repeat([]Params{p}, n) are n alike
	Router  Router   // nil: RoundRobin
}

var _ Model = Replicas{}

// NewMachine is the engines, idle, and a router that remembers nothing. The error says which engine cannot be meant, that
// there is none, or that they do not serve the same.
func (r Replicas) NewMachine() (Machine, error) {
	c := &cluster{}
	p, err := newPool("Replicas", r.Engines, r.Router, &c.now)
	if err != nil {
		return nil, err
	}
	if err := alike(r.Engines); err != nil {
		return nil, err
	}
	c.pool = p
	return c, nil
}

// Info calls several engines by their number, their model and their router, as "4 × opt-13b, round robin".
func (r Replicas) Info() Info {
	if len(r.Engines) == 0 {
		return Info{}
	}
	i := r.Engines[0].Info()
	if len(r.Engines) > 1 {
		i.Name = fmt.Sprintf("%d × %s, %s", len(r.Engines), i.Name, routerName(r.Router))
	}
	return i
}

func routerName(r Router) string {
	if r == nil {
		r = RoundRobin{}
	}
	return r.String()
}

// cluster is the machine of Replicas.
type cluster struct {
	pool   *pool
	now    time.Duration
	events []Event
	given  bool // events were given out
	free   []*placed
}

// Submit hands a job over to the engine that the router names. Beside an engine's errors there is ErrRoute.
func (c *cluster) Submit(now time.Duration, j Job) error {
	c.run(now)
	if c.find(j.ID) != nil {
		panic("llmsim: two jobs with one ID")
	}
	p := c.take(j)
	err := c.pool.submit(p)
	if err != nil {
		c.recycle(p)
	}
	return err
}

// Cancel takes a job out, as Engine.Cancel does.
func (c *cluster) Cancel(now time.Duration, id uint64) bool {
	c.run(now)
	p := c.find(id)
	if p == nil {
		return false
	}
	c.pool.cancel(p)
	c.recycle(p)
	return true
}

// find is the job of that ID, nil where there is none.
func (c *cluster) find(id uint64) *placed {
	for _, r := range c.pool.replicas {
		if s := r.e.jobs[id]; s != nil {
			return s.job.Data.(*placed)
		}
	}
	return nil
}

// Next is the next end of a step.
func (c *cluster) Next() (time.Duration, bool) { return c.pool.next() }

// Advance brings all engines to the instant to. Tokens of one instant are in the order of the engines.
func (c *cluster) Advance(to time.Duration) []Event {
	c.run(to)
	c.given = true
	return c.events
}

// Stats is the sum of the engines'.
func (c *cluster) Stats() Stats { return c.pool.stats() }

// run completes the steps that end by to.
func (c *cluster) run(to time.Duration) {
	if c.given {
		c.events, c.given = c.events[:0], false
	}
	for at, ok := c.pool.next(); ok && at <= to; at, ok = c.pool.next() {
		c.now = at
		for _, r := range c.pool.replicas {
			if end, busy := r.e.Next(); busy && end == at {
				c.collect(r, r.e.Advance(at))
			}
		}
	}
	c.now = max(c.now, to)
}

// collect books the tokens of an engine.
func (c *cluster) collect(r *Replica, events []Event) {
	for _, ev := range events {
		p := ev.Data.(*placed)
		r.token(p)
		ev.Data = p.data
		c.events = append(c.events, ev)
		if ev.Last {
			c.recycle(p)
		}
	}
}

func (c *cluster) take(j Job) *placed {
	var p *placed
	if n := len(c.free); n > 0 {
		p = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		p = &placed{}
	}
	p.job, p.data = j, j.Data
	p.job.Data = p
	return p
}

func (c *cluster) recycle(p *placed) {
	*p = placed{}
	c.free = append(c.free, p)
}
