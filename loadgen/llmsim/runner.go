package llmsim

import (
	"context"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// Runner carries plans out on an engine of these parameters by an event loop, in virtual time: each plan on an engine
// of its own that is idle at first. It gives the records that a Target gives in a testing/synctest bubble, and is the same
// each time. Requests become jobs as they do with a Target. Parameters that Params.Validate refuses are refused with its
// error, before the first request.
func Runner(p Params) loadgen.Runner {
	return func(ctx context.Context, plan loadgen.Plan) (*loadgen.Result, error) {
		e, err := NewEngine(p)
		if err != nil {
			return nil, err
		}
		return loadgen.Simulate(ctx, plan, description(p), &system{p: p, e: e})
	}
}

// system is an engine as loadgen.Simulate drives it.
type system struct {
	p       Params
	e       *Engine
	zero    time.Time // the engine's: when the first request came
	refused []*running
	at      time.Time // when those came
	free    []*running
}

// running is a request in the system.
type running struct {
	call *loadgen.Call
	job  Job
	lead time.Duration // from the request's Start to the engine's zero
	rec  goodput.Record
}

// Start submits a request. What the engine refuses ends with an event at the same instant.
func (s *system) Start(now time.Time, c *loadgen.Call) {
	if s.zero.IsZero() {
		s.zero = now
	}
	r := s.take()
	c.Data, r.call, r.lead = r, c, s.zero.Sub(c.Start)
	r.job, r.rec.Finish = job(s.p, c.Request)
	r.job.ID, r.job.Rank, r.job.Data = c.Index, c.Index, r
	if err := s.e.Submit(now.Sub(s.zero), r.job); err != nil {
		status := refusal(s.p, r.job, err)
		r.rec.Outcome = goodput.ClientError
		if status.Rejected {
			r.rec.Outcome = goodput.Rejected
		}
		r.rec.Finish, r.rec.Detail, r.rec.End = "", status.Error(), now.Sub(c.Start)
		s.refused, s.at = append(s.refused, r), now
	}
}

// Next is the instant of a refusal, or the end of the step under way.
func (s *system) Next() (time.Time, bool) {
	if len(s.refused) > 0 {
		return s.at, true
	}
	at, ok := s.e.Next()
	return s.zero.Add(at), ok
}

// Step ends what was refused, and hands out the tokens that have come.
func (s *system) Step(now time.Time, end func(*loadgen.Call, *goodput.Record)) {
	for _, r := range s.refused {
		end(r.call, &r.rec)
		s.free = append(s.free, r)
	}
	s.refused = s.refused[:0]
	for _, ev := range s.e.Advance(now.Sub(s.zero)) {
		r := ev.Data.(*running)
		at := r.lead + ev.At
		if len(r.rec.Tokens) == 0 {
			r.rec.FirstByte = at
		}
		r.rec.Tokens = append(r.rec.Tokens, goodput.Token{At: at, N: 1})
		if ev.Last {
			r.rec.End, r.rec.Outcome = at, goodput.Success
			r.rec.InputTokens, r.rec.OutputTokens = r.job.Prompt, r.job.Output
			if r.call.Request.Next != nil {
				r.call.Text = answerText(r.job.Output)
			}
			end(r.call, &r.rec)
			s.free = append(s.free, r)
		}
	}
}

// Stop takes a request out. Where it is not the run that is cut off, it was the request's deadline.
func (s *system) Stop(now time.Time, c *loadgen.Call) *goodput.Record {
	r := c.Data.(*running)
	s.e.Cancel(now.Sub(s.zero), r.job.ID)
	s.free = append(s.free, r)
	r.rec.Finish = ""
	r.rec.Outcome, r.rec.Detail = goodput.Timeout, context.DeadlineExceeded.Error()
	return &r.rec
}

func (s *system) take() *running {
	n := len(s.free)
	if n == 0 {
		return &running{}
	}
	r := s.free[n-1]
	s.free = s.free[:n-1]
	r.rec = goodput.Record{Tokens: r.rec.Tokens[:0]}
	return r
}
