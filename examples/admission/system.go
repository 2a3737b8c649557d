package main

import (
	"context"
	"errors"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

// job is a request on its way through a policy and an engine.
type job struct {
	ticket  admission.Ticket // of the one policy that has them
	call    *loadgen.Call
	rec     goodput.Record
	in, out int
	started bool
	over    bool
}

// policy is what stands before the engine. It calls start or refuse of its system for each job that arrives, then or later.
type policy interface {
	arrive(now time.Time, j *job)
	token(now time.Time, j *job)
	end(now time.Time, j *job, o goodput.Outcome) // it had been started
	leave(now time.Time, j *job)                  // it had not, and its client has gone
	next() (at time.Time, ok bool)                // when time alone changes something
	tick(now time.Time)
}

// system is a simulated engine behind a policy, as loadgen.Simulate drives it.
type system struct {
	engine    *llmsim.Engine
	policy    policy
	scale     func(now time.Time) int // of output lengths; nil: 1
	each      func(j *job)            // each that is over
	watch     func(now time.Time)     // after each step
	zero, now time.Time
	refused   []*job
	at        time.Time // when those were

	offered, refusals int
	lastRefusal       time.Time
	err               error
}

func (s *system) start(j *job) {
	j.started = true
	err := s.engine.Submit(s.now.Sub(s.zero), llmsim.Job{ID: j.call.Index, Rank: j.call.Index, Prompt: j.in, Output: j.out, Data: j})
	s.err = errors.Join(s.err, err)
}

func (s *system) refuse(j *job) {
	s.refusals++
	s.lastRefusal = s.now
	j.over = true
	j.rec.Outcome, j.rec.End = goodput.Rejected, s.now.Sub(j.call.Start)
	s.refused, s.at = append(s.refused, j), s.now
}

// Start is a request that arrives.
func (s *system) Start(now time.Time, c *loadgen.Call) {
	if s.zero.IsZero() {
		s.zero = now
	}
	s.now = now
	s.offered++
	j := &job{call: c, in: max(1, c.Request.InputTokens), out: max(1, c.Request.MaxTokens)}
	if s.scale != nil {
		j.out *= s.scale(now)
	}
	c.Data = j
	s.policy.arrive(now, j)
}

// Next is a refusal, a step's end, or when the policy has something to do.
func (s *system) Next() (time.Time, bool) {
	if len(s.refused) > 0 {
		return s.at, true
	}
	at, ok := s.engine.Next()
	t := s.zero.Add(at)
	if n, some := s.policy.next(); some && (!ok || n.Before(t)) {
		return later(n, s.now), true
	}
	return t, ok
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Step hands out what has come.
func (s *system) Step(now time.Time, end func(*loadgen.Call, *goodput.Record)) {
	s.now = now
	for _, ev := range append([]llmsim.Event(nil), s.engine.Advance(now.Sub(s.zero))...) {
		j := ev.Data.(*job)
		t := s.zero.Add(ev.At)
		at := t.Sub(j.call.Start)
		if len(j.rec.Tokens) == 0 {
			j.rec.FirstByte = at
		}
		j.rec.Tokens = append(j.rec.Tokens, goodput.Token{At: at, N: 1})
		s.policy.token(t, j)
		if ev.Last {
			j.over = true
			j.rec.End, j.rec.Outcome, j.rec.InputTokens, j.rec.OutputTokens = at, goodput.Success, j.in, j.out
			s.policy.end(t, j, goodput.Success)
			s.finish(j, end)
		}
	}
	if at, ok := s.policy.next(); ok && !at.After(now) {
		s.policy.tick(now)
	}
	refused := s.refused
	s.refused = nil
	for _, j := range refused {
		s.finish(j, end)
	}
	if s.watch != nil {
		s.watch(now)
	}
}

func (s *system) finish(j *job, end func(*loadgen.Call, *goodput.Record)) {
	if s.each != nil {
		s.each(j)
	}
	end(j.call, &j.rec)
}

// Stop is a request whose deadline has passed.
func (s *system) Stop(now time.Time, c *loadgen.Call) *goodput.Record {
	j := c.Data.(*job)
	s.now = now
	if !j.over {
		j.over = true
		if j.started {
			s.engine.Cancel(now.Sub(s.zero), c.Index)
			s.policy.end(now, j, goodput.Timeout)
		} else {
			s.policy.leave(now, j)
		}
	}
	j.rec.Outcome = goodput.Timeout
	return &j.rec
}

// run is one run of a policy under a load, in virtual time.
func run(ctx context.Context, o slo.SLO, l load, d time.Duration, put func(*system) error) (*goodput.Report, *system, error) {
	e, err := llmsim.NewEngine(llmsim.OPT13B())
	if err != nil {
		return nil, nil, err
	}
	s := &system{engine: e}
	if err := put(s); err != nil {
		return nil, nil, err
	}
	res, err := loadgen.Simulate(ctx, l.plan(o, d), loadgen.Description{Name: "opt-13b behind a policy", Tokens: true}, s)
	if err = errors.Join(err, s.err); err != nil {
		return nil, nil, err
	}
	return res.Report, s, nil
}
