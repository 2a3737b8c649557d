package loadgen

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// Run carries a plan out on a target, in real time or in a synctest bubble's, and returns when it is over: when all
// requests have ended, or what had not was cut off. It returns an error and no Result for a plan that it refuses, a
// *PlanError, before the first request, and so for a context that is done before: the error is why. An error beside a Result
// (ErrSequence, ErrRecordsFile) is about a run that was carried out in part. A context that is cancelled meanwhile is no error:
// it cuts the run off, the report is of what there was, and Result.Cut says why.
//
// Each request has a goroutine of its own, which starts at an absolute instant: a client that is late leaves none out,
// and hurries, as far as it can with those in flight that it has begun, which go first: what waits to be begun takes no
// memory. Only where it has not come to all that was due a second after the run was to be over does that end, with
// the warning ErrBehind. How late it was is in each record's lag, and the report's Health judges it: see the package comment.
//
// A request's context ends at its deadline, and when the run is cut off; it has the values of ctx. A target that goes on
// for a second after that is booked without it. What its goroutine still says is ignored, but it is there until it
// returns.
//
// Records are written by a goroutine of its own, for which Run waits in the end: once ctx is done for 5 s at most, after
// which it returns without a writer that has not come back, and with ErrRecordsFile. So is Progress, whose last call comes
// when the one before has returned: one that has not come back 5 s after ctx was done, and the run over, is left alone and
// not called again, with the warning ErrProgress.
func Run(ctx context.Context, t Target, p Plan) (*Result, error) {
	if t == nil {
		return nil, errors.New("loadgen: the target is nil")
	}
	if err := notBegun(ctx); err != nil {
		return nil, err
	}
	seen := func() *machine { return nil }
	if inRealTime() {
		seen = watchMachine()
	}
	defer seen()
	start := time.Now()
	r := &client{target: t, run: ctx, pace: newPacer()}
	defer r.pace.stop()
	sequences := readers{notify: r.pace.wake}
	if p.Records != nil {
		s := newSpool(ctx, p.Records)
		defer s.stop()
		p.Records = s
	}
	b, err := newBook(p, describe(t), start, &sequences)
	if err != nil {
		return nil, err
	}
	b.ticks.off, b.mostPending = true, 256
	b.newCall, b.run = newJob, ctx
	r.b = b
	// The requests' contexts are not ctx's children: a request that ctx itself cancels could be booked before the Book knows
	// that the run is cut off. Nor are they one another's siblings, which would wait for one another to come and go.
	r.requests = context.WithoutCancel(ctx)
	// The loop waits for its pacer alone, and not for ctx too.
	defer context.AfterFunc(ctx, r.pace.wake)()
	unwatch, settle := r.watch(), r.flush()
	r.carryOut()
	r.booked.Wait()
	r.workers.dismiss()
	unwatch()
	settle()
	b.tally.machine = seen()
	defer sequences.wait()
	return b.Result()
}

// notBegun is the error of a run whose context is done before it begins.
func notBegun(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("loadgen: the run was not begun: %w", context.Cause(ctx))
}

// RunnerOf is Run on a target.
func RunnerOf(t Target) Runner {
	return func(ctx context.Context, p Plan) (*Result, error) { return Run(ctx, t, p) }
}

// client carries a plan out in real time.
type client struct {
	target   Target
	b        *Book
	run      context.Context // cuts the run off
	requests context.Context // has what requests see of it
	cut      bool            // what is in flight has no more time; guarded by b.mu
	booked   sync.WaitGroup  // requests that were sent and not booked yet
	tokens   sync.Pool       // *[]goodput.Token
	workers  workers
	pace     pacer
	until    time.Time // how long the loop sleeps; guarded by b.mu
	behind   bool      // more is due than the loop has started: what ends starts nothing beside; guarded by b.mu
}

// How many requests start at most before the loop lets all other goroutines run, the requests' own among them: of those
// that are due at once where it is on time, and while it is behind. A client from which more is asked than it can do would
// else begin ever more requests and end none: as it is, those that it has begun come first.
const (
	mostAtOnce = 1024
	mostBehind = 32
)

// job is a request on its way.
type job struct {
	call   Call
	trace  Trace
	tokens *[]goodput.Token // where the trace's token events stand
	text   answerText       // of the turn of a session

	mu     sync.Mutex
	cancel context.CancelFunc // ends its context; nil: there is none yet
	over   bool               // it is to end
}

// begin makes the context of what begins.
func (j *job) begin(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(parent, j.call.Deadline)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over {
		cancel()
	}
	j.cancel = cancel
	return ctx, cancel
}

// stop ends its context, also one that is yet to come.
func (j *job) stop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over = true
	if j.cancel != nil {
		j.cancel()
	}
}

// newJob is the call of a new job, which is its Data.
func newJob() *Call {
	j := new(job)
	j.call.Data, j.call.ways = j, &j.trace.ways
	return &j.call
}

// carryOut starts what is due until the run is over.
func (r *client) carryOut() {
	cut := false
	for most := mostAtOnce; ; {
		now := time.Now()
		if !cut && r.run.Err() != nil {
			r.b.Cut(now, context.Cause(r.run))
			cut = true
		}
		at, running, behind := r.attend(now, most)
		switch {
		case !running:
			return
		case behind:
			most = mostBehind
			runtime.Gosched()
		default:
			most = mostAtOnce
			r.pace.until(at)
		}
	}
}

// attend starts what is due, so many requests at most, cancels what is cut off, gives up targets that ignore that, and says
// when there is something to do again. behind: more is due now.
func (r *client) attend(now time.Time, most int) (at time.Time, running, behind bool) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.b.advance(now)
	if cut, ok := r.b.cutoff(); ok && !now.Before(cut) && !r.cut {
		r.cut = true // also for what a late client sends only now
		for c := r.b.running.first; c != nil; c = c.next {
			c.Data.(*job).stop()
		}
	}
	r.behind = r.startDue(most)
	for c := r.b.running.first; c != nil && r.b.passed(c, grace); c = r.b.running.first {
		r.abandon(c)
	}
	r.until, running = r.b.next(grace)
	if ks := r.b.take(); len(ks) > 0 {
		r.booked.Go(func() {
			for _, k := range ks {
				k.book()
			}
		})
	}
	return r.until, running, r.behind
}

// startDue starts what is due, so many requests at most, and says whether there may be more. The lock is held.
func (r *client) startDue(most int) (more bool) {
	for range most {
		c := r.b.startNext()
		if c == nil {
			return r.b.clogged()
		}
		r.workers.run(r.launch(c), r.perform)
	}
	return true
}

// startRoom starts the one request that the end of another has made room for, or that is due and to which the loop has not
// come; where the caller keeps it, to do it itself, it is returned. The lock is held.
func (r *client) startRoom(keep bool) (kept *job) {
	switch {
	case r.behind && r.b.plan.Arrivals != nil && r.b.waiting.len() == 0:
	case !keep:
		r.startDue(1)
	default:
		if c := r.b.startNext(); c != nil {
			return r.launch(c)
		}
	}
	return nil
}

// launch makes a request ready to be done.
func (r *client) launch(c *Call) *job {
	r.booked.Add(1)
	j := c.Data.(*job)
	j.trace.rec.Start, j.trace.index = c.Start, c.Index
	j.over = r.cut
	if j.tokens, _ = r.tokens.Get().(*[]goodput.Token); j.tokens == nil {
		j.tokens = new([]goodput.Token)
	}
	j.trace.rec.Tokens = (*j.tokens)[:0]
	if c.Request.Next != nil {
		j.trace.text = j.text.add
	}
	return j
}

// perform does a request, in a goroutine of its own, and returns the one that the goroutine is to do next, if any: in a
// closed loop the next of the same worker, which to hand to another goroutine would take longer than to book this one.
func (r *client) perform(j *job) (next *job) {
	ctx, cancel := j.begin(r.requests)
	entry := time.Now()
	var err error = errGoexit
	defer func() { // also when the target ends the goroutine
		if p := recover(); p != nil {
			err = asPanic(p)
		}
		now := time.Now()
		cancel()
		if rec, bytes, ok := j.trace.seal(entry, now); ok {
			rec.Outcome, rec.Detail = j.outcome(err, now, bytes)
			j.call.output = j.trace.some
			next = r.end(j, now, rec, err != errGoexit)
		}
	}()
	err = r.target.Do(ctx, j.call.Request, &j.trace)
	return
}

// outcome is that of a target which returned err at now.
func (j *job) outcome(err error, now time.Time, bytes bool) (o goodput.Outcome, detail string) {
	defer unreadable(&o, &detail)
	if errors.Is(err, context.Canceled) && !now.Before(j.call.Deadline) {
		err = context.DeadlineExceeded // the run was cut off in the same instant: whichever the target heard of first
	}
	return outcomeOf(err, nil, bytes)
}

// end books a request that has ended and starts what it made room for. The goroutine that did it, if it goes on, is to do
// next.
func (r *client) end(j *job, now time.Time, rec *goodput.Record, goesOn bool) (next *job) {
	r.b.mu.Lock()
	r.b.advance(now)
	if (rec.Outcome == goodput.Cancelled || rec.Outcome == goodput.Timeout) && r.run.Err() != nil {
		r.b.cutOff(context.Cause(r.run)) // the target has heard of it first
	}
	j.call.Text = j.text.String()
	f := r.b.endCall(&j.call, rec)
	next = r.goOn(goesOn && f == nil)
	// The room for its token events is free again.
	const most = 1 << 14
	if t := rec.Tokens[:0]; cap(t) <= most {
		*j.tokens = t
		rec.Tokens = nil
		r.tokens.Put(j.tokens)
	}
	r.booked.Done()
	if f != nil {
		defer func() { // also when the session ends the goroutine
			r.b.mu.Lock()
			r.b.resume(f)
			r.goOn(false)
		}()
		f.ask()
	}
	return next
}

// goOn starts what has become due, or returns it, as startRoom does, wakes the loop up where it sleeps too long, gives the
// lock back and books.
func (r *client) goOn(keep bool) (kept *job) {
	kept = r.startRoom(keep)
	at, running := r.b.next(grace)
	early := !running || at.Before(r.until)
	ks := r.b.take()
	r.b.mu.Unlock()
	if early {
		r.pace.wake()
	}
	for _, k := range ks {
		k.book()
	}
	return kept
}

// abandon books a request whose target ignores that its context is done. The lock is held.
func (r *client) abandon(c *Call) {
	j := c.Data.(*job)
	rec, _, ok := j.trace.seal(c.handed, r.b.now)
	if !ok { // it returns this very moment, and waits for the lock to be booked
		r.b.hold(c)
		return
	}
	c.stopped = true // whatever the trace says, it never came to an end: no session goes on after it
	r.b.endCall(c, rec)
	r.booked.Done() // attend books it
}

// watch calls the plan's Progress until stop is called.
func (r *client) watch() (stop func()) {
	if r.b.plan.Progress == nil {
		return func() {}
	}
	return r.eachSecond(func() {
		r.b.mu.Lock()
		r.b.advance(time.Now())
		now, ticks := r.b.progress(), r.b.ticks
		r.b.mu.Unlock()
		ticks.call(now)
	}, func() {
		r.b.mu.Lock()
		r.b.ticks = &ticker{off: true, err: errProgressBlocked}
		r.b.mu.Unlock()
	})
}

// flush hands the records on until stop is called, so that they outlive a process that does not end by itself: the header
// at once.
func (r *client) flush() (stop func()) {
	if r.b.tally.file == nil {
		return func() {}
	}
	r.b.tally.flush()
	return r.eachSecond(r.b.tally.flush, nil)
}

// eachSecond calls f in a goroutine until stop is called, which waits for it: where that can take for ever, until it is to
// be left alone, and calls leave.
func (r *client) eachSecond(f, leave func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	p := newTimerPacer()
	go func() {
		defer close(done)
		defer p.stop()
		for at := r.b.start.Add(tickEvery); ; at = nextTick(at, time.Now()) {
			p.until(at)
			select {
			case <-quit:
				return
			default:
			}
			f()
		}
	}()
	return func() {
		close(quit)
		p.wake()
		if leave == nil {
			<-done
		} else if !back(r.run, done) {
			leave()
		}
	}
}
