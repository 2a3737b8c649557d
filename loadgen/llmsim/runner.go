package llmsim

import (
	"context"
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// Runner carries plans out on a model by an event loop, in virtual time: each plan on a machine of its own that is idle at
// first. It gives the records that a Target gives in a testing/synctest bubble, and is the same each time. Requests become
// jobs as they do with a Target. A model that cannot be meant is refused with the error of its NewMachine, before the first
// request. A *FaultError is of a run that the model's own code has cut off.
func Runner(m Model) loadgen.Runner {
	return func(ctx context.Context, plan loadgen.Plan) (*loadgen.Result, error) {
		machine, err := m.NewMachine()
		if err != nil {
			return nil, err
		}
		ctx, cut := context.WithCancelCause(ctx)
		defer cut(nil)
		s := &system{info: m.Info(), m: guarded{m: machine}, cut: cut}
		res, err := loadgen.Simulate(ctx, plan, description(s.info), s)
		switch fault := s.m.fault; {
		case fault == nil:
			return res, err
		case err == nil:
			return res, fault
		default:
			return res, fmt.Errorf("%w; %w", fault, err)
		}
	}
}

// system is a machine as loadgen.Simulate drives it.
type system struct {
	info    Info
	m       guarded
	cut     context.CancelCauseFunc // cuts the run off; nil: it did
	zero    time.Time               // the machine's: when the first request came
	now     time.Time               // the latest instant that was heard of
	refused []*running
	at      time.Time // when those came
	free    []*running
}

// running is a request in the system.
type running struct {
	call *loadgen.Call
	job  Job
	lead time.Duration // from the request's Start to the machine's zero
	rec  goodput.Record
}

// Start submits a request. What the machine refuses ends with an event at the same instant.
func (s *system) Start(now time.Time, c *loadgen.Call) {
	if s.zero.IsZero() {
		s.zero = now
	}
	s.now = now
	r := s.take()
	c.Data, r.call, r.lead = r, c, s.zero.Sub(c.Start)
	r.job, r.rec.Finish = job(s.info, c.Request)
	r.job.ID, r.job.Rank, r.job.Data = c.Index, c.Index, r
	if err := s.m.submit(now.Sub(s.zero), r.job); err != nil && s.m.fault == nil {
		status := statusOf(err)
		r.rec.Outcome = outcomeOf(status)
		r.rec.Finish, r.rec.Detail, r.rec.End = "", status.Error(), now.Sub(c.Start)
		s.refused, s.at = append(s.refused, r), now
	}
}

// Next is the instant of a refusal, or of what the machine does next; after its fault, now.
func (s *system) Next() (time.Time, bool) {
	if len(s.refused) > 0 {
		return s.at, true
	}
	at, ok := s.m.next()
	if s.m.fault != nil {
		return s.now, s.cut != nil
	}
	return s.zero.Add(at), ok
}

// Step ends what was refused, and hands out the tokens that have come. After a fault it cuts the run off.
func (s *system) Step(now time.Time, end func(*loadgen.Call, *goodput.Record)) {
	for _, r := range s.refused {
		end(r.call, &r.rec)
		s.free = append(s.free, r)
	}
	s.refused = s.refused[:0]
	if s.m.fault != nil {
		s.cut(s.m.fault)
		s.cut = nil
		return
	}
	s.now = now
	for _, ev := range s.m.advance(now.Sub(s.zero)) {
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
	s.now = now
	s.m.cancel(now.Sub(s.zero), r.job.ID)
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
