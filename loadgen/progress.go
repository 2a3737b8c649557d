package loadgen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// tickEvery is how often a plan's Progress is called, and records are handed on.
const tickEvery = time.Second

// Progress is how a run stands. Its counts are of the whole run so far, warm-up included.
type Progress struct {
	Elapsed  time.Duration // since the start of the run
	Offered  uint64        // requests that were due; = Ended + InFlight + Waiting
	Sent     uint64        // of them given to the target
	Waiting  int           // of them without a place in flight
	InFlight int
	Ended    uint64 // requests that were booked, whatever their outcome
	Success  uint64 // of them
	Good     uint64 // of them: those that met the SLO

	// Rates since the last call, requests/s.
	OfferedRate float64
	Throughput  float64 // ended; neither dropped nor unfinished
	Goodput     float64 // ended good

	Warmup   bool // the warm-up is not over
	Cooldown bool // the window is over, and the arrivals are not
	Drain    bool // the arrivals are over
	Done     bool // this is the last call

	// Where the arrivals will end, for a progress bar; 0 where nobody knows. The first of the two that is reached counts.
	TotalRequests uint64        // warm-up and cool-down by count included
	TotalTime     time.Duration // warm-up and cool-down by time included

	acc *goodput.Accumulator
}

// Report is the report of the window so far. It is nil in a warm-up by count and in one whose end is to be found.
func (p Progress) Report() *goodput.Report {
	if p.acc == nil {
		return nil
	}
	return p.acc.Report()
}

// ReportAt is Report with the confidence of verdicts and intervals that a caller wants who looks more than once, and
// spends his error over the looks: see [goodput.Accumulator.ReportAt].
func (p Progress) ReportAt(confidence float64) *goodput.Report {
	if p.acc == nil {
		return nil
	}
	return p.acc.ReportAt(confidence)
}

// String is a line for a log, without the counts that nobody follows a run by:
//
//	12s: warming up, 3 in flight, 118 of 120 good, goodput 9.8 of 10.0 requests/s
//
// The rates are those since the last call.
func (p Progress) String() string {
	phase := ""
	switch {
	case p.Done:
		phase = "over, "
	case p.Drain:
		phase = "draining, "
	case p.Cooldown:
		phase = "cooling down, "
	case p.Warmup:
		phase = "warming up, "
	}
	waiting := ""
	if p.Waiting > 0 {
		waiting = fmt.Sprintf("%d waiting, ", p.Waiting)
	}
	return fmt.Sprintf("%v: %s%d in flight, %s%d of %d good, goodput %.1f of %.1f requests/s", p.Elapsed.Round(100*time.Millisecond),
		phase, p.InFlight, waiting, p.Good, p.Ended, p.Goodput, p.Throughput)
}

// Fraction is how much of the arrivals is done, from 0 to 1; ok is false where the plan does not say when they end.
func (p Progress) Fraction() (share float64, ok bool) {
	if p.Drain || p.Done {
		return 1, true
	}
	if p.TotalRequests > 0 {
		share, ok = float64(p.Offered)/float64(p.TotalRequests), true
	}
	if p.TotalTime > 0 {
		share, ok = max(share, p.Elapsed.Seconds()/p.TotalTime.Seconds()), true
	}
	return min(share, 1), ok
}

// ticker calls a plan's Progress at a steady pace.
type ticker struct {
	f     func(Progress)
	at    time.Time // of the next call
	off   bool      // the Runner looks at the clock itself
	prior Progress
	flow  uint64 // what was throughput at the time of prior
	err   error
}

func newTicker(p *Plan, start time.Time) *ticker {
	return &ticker{f: p.Progress, at: start.Add(tickEvery)}
}

// next is when Progress is to be called.
func (t *ticker) next() (time.Time, bool) { return t.at, !t.off && t.f != nil }

// due says that it is to be called at now, and moves on.
func (t *ticker) due(now time.Time) bool {
	if t.off || t.f == nil || now.Before(t.at) {
		return false
	}
	t.at = nextTick(t.at, now)
	return true
}

// nextTick is the first tick after now: ticks that were missed are not made up for.
func nextTick(at, now time.Time) time.Time {
	return at.Add(now.Sub(at)/tickEvery*tickEvery + tickEvery)
}

// fill completes p with the rates since the last call.
func (t *ticker) fill(p *Progress, flow uint64) {
	if d := (p.Elapsed - t.prior.Elapsed).Seconds(); d > 0 {
		p.OfferedRate = float64(p.Offered-t.prior.Offered) / d
		p.Throughput = float64(flow-t.flow) / d
		p.Goodput = float64(p.Good-t.prior.Good) / d
	}
	t.prior, t.flow = *p, flow
}

// errProgressBlocked is that of a Progress which had not returned when nobody was to wait for it any longer.
var errProgressBlocked = errors.New("it had not come back " + callerGrace.String() + " after the run was cut off")

// callIn calls Progress in a goroutine of its own, and returns when it has returned, or when nobody is to wait for that any
// longer.
func (t *ticker) callIn(ctx context.Context, p Progress) error {
	if t.f == nil {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.call(p)
	}()
	if !back(ctx, done) {
		return errProgressBlocked
	}
	if t.err != nil {
		return t.err
	}
	return nil
}

// back waits until the caller's code has come back, which done says: once ctx is done, for callerGrace at most.
func back(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(callerGrace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// call calls Progress, which is the caller's code: one that panics is not called again.
func (t *ticker) call(p Progress) {
	if t.f == nil {
		return
	}
	f := t.f
	t.f, t.err = nil, &panicError{value: "it ended its goroutine (runtime.Goexit)"}
	defer func() {
		if v := recover(); v != nil {
			t.err = asPanic(v)
		}
	}()
	f(p)
	t.f, t.err = f, nil
}

// progress is how the run stands.
func (b *Book) progress() Progress {
	t := b.tally
	p := Progress{
		Elapsed: b.now.Sub(b.start), Offered: t.offered, Sent: t.sent, Waiting: b.waiting.len(), InFlight: b.inFlight,
		Ended: t.ended, Success: t.success, Good: t.good.Load(),
		Warmup: !b.sched.warm || b.now.Before(b.sched.from), Drain: b.sched.over, Done: b.result != nil, acc: t.acc,
	}
	p.Cooldown = b.sched.closed && !b.sched.over && !b.now.Before(b.sched.end)
	switch {
	case b.plan.Requests == 0 || b.plan.Cooldown > 0:
	case b.plan.Warmup == 0:
		p.TotalRequests = uint64(b.plan.Requests + b.plan.WarmupRequests + b.plan.CooldownRequests)
	case !p.Warmup:
		p.TotalRequests = uint64(b.sched.offered - b.sched.counted - b.sched.cooling + b.plan.Requests + b.plan.CooldownRequests)
	}
	if end, ok := b.sched.limit(); ok {
		p.TotalTime = end.Sub(b.start)
	}
	b.ticks.fill(&p, t.flow)
	return p
}
