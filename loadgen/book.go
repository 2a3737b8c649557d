package loadgen

import (
	"context"
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// Book is the part of carrying out a plan that every Runner shares, so that a plan means the same to each: it says which
// request is due when and how long it may take, and books each exactly once. It is a state machine: instants are its
// arguments, it reads no clock, starts no goroutine and sends nothing.
//
// A Runner asks Next for the instant at which there is something to do, and goes there: in real time it sleeps, in
// virtual time it first lets all that its system does until then come to pass. There it calls
//
//   - Stop until it returns nil: each Call that it returns has had its time, and is to be taken off the system and ended;
//   - Start until it returns nil: each Call that it returns is to be sent now.
//
// When a request has ended, by itself or because Stop said so, the Runner calls End with its record, and then Start again
// until it returns nil, for the end may have made room for another. The run is over when Next says so; then Result is
// what it found. Cut ends a run before its time. Simulate does all that for a system in virtual time.
//
// The instants of the calls may not fall: one before that of an earlier call counts as that. The methods may be called
// from any goroutine.
type Book struct {
	plan  Plan
	desc  Description
	start time.Time

	mu          sync.Mutex
	now         time.Time // the latest instant that was heard of
	sched       *schedule
	inFlight    int
	running     callList    // in flight, but
	stopping    callList    // those that Stop has given out
	waiting     fifo[*Call] // due, but without a place in flight
	cutAt       time.Time   // zero: not cut
	cut         error
	lateFrom    time.Time // when it was seen that the run was to be over, and requests could still be due; zero: not yet
	tally       *tally
	pending     []booking // to be booked once mu is free
	mostPending int       // of them, before nothing more starts; 0: any number
	asking      int       // sessions that are being asked for their next turn
	ticks       *ticker
	newCall     func() *Call
	run         context.Context // nothing more starts once it is done; nil: the Runner cuts the run off by itself
	result      *Result
	err         error
}

// NewBook opens the book of a run that starts at start, in real or virtual time, on a target that d describes. A plan
// that cannot be meant is refused with a *PlanError. Result has to be called in the end, whatever happens: it stops
// reading the plan's sequences.
func NewBook(p Plan, d Description, start time.Time) (*Book, error) {
	b, err := newBook(p, d, start, nil)
	if err == nil && b.tally.file != nil {
		b.tally.flush()
	}
	return b, err
}

// newBook is NewBook with the plan's sequences read ahead by r, if that is not nil.
func newBook(p Plan, d Description, start time.Time, r *readers) (*Book, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.checkGives(d); err != nil {
		return nil, err
	}
	load := p.load()
	p = p.withDefaults()
	b := &Book{plan: p, desc: d, start: start, now: start, ticks: newTicker(&p, start), newCall: func() *Call { return new(Call) }}
	var err error
	if b.tally, err = newTally(&b.plan, d, load, start); err != nil {
		return nil, err
	}
	b.sched = newSchedule(&b.plan, start, r)
	b.tally.follow(b.sched, b.now)
	return b, nil
}

// advance moves to now, which does not fall. All instants of a run have the time of day of its start and what has passed
// since by the monotonic clock: the system's time of day runs at another speed, and can be set meanwhile.
func (b *Book) advance(now time.Time) {
	if now.After(b.now) {
		b.now = b.start.Add(now.Sub(b.start))
	}
	if t := b.sched.transient; t != nil && !b.sched.warm && t.due(b.now) {
		b.tally.decide(b.sched, t.deadline, false)
		b.tally.follow(b.sched, b.now)
	}
}

// full says that no more requests may be in flight.
func (b *Book) full() bool { return b.plan.MaxInFlight > 0 && b.inFlight >= b.plan.MaxInFlight }

// cutoff is when what is in flight then is unfinished.
func (b *Book) cutoff() (time.Time, bool) {
	if !b.cutAt.IsZero() {
		return b.cutAt, true
	}
	return b.sched.cutoff()
}

// Next is the instant at which there is something to do unless a request ends before; one that has passed means now.
// ok is false when the run is over: nothing is in flight, and nothing more will start.
func (b *Book) Next() (at time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next(0)
}

// next is Next for a Runner whose system sees by itself when a request's time is over, and which Stop is to wait for that
// long.
func (b *Book) next(patience time.Duration) (at time.Time, ok bool) {
	first := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if b.sched.pending() {
		first(b.now.Add(b.plan.Timeout)) // whoever gives something says so
		if cut, some := b.cutoff(); some {
			if !b.lateFrom.IsZero() {
				cut = b.lateFrom.Add(grace)
			}
			first(cut)
		}
	}
	if due, some := b.sched.due(); some {
		first(due)
	}
	if b.waiting.len() > 0 {
		if b.full() {
			first((*b.waiting.at(0)).Deadline)
		} else {
			first(b.now)
		}
	}
	if c := b.running.first; c != nil {
		first(c.Deadline.Add(patience))
	}
	asking := b.asking > 0 && !b.sched.over
	if cut, some := b.cutoff(); some && (b.running.first != nil || b.waiting.len() > 0 || asking) {
		if !b.now.Before(cut) && b.waiting.len() == 0 {
			cut = cut.Add(patience)
		}
		first(cut)
	}
	if !ok {
		if b.inFlight == 0 && !asking {
			return at, false
		}
		first(b.now.Add(b.plan.Timeout)) // whoever stops them ends them, and a session that has a turn says so
	}
	if tick, some := b.ticks.next(); some {
		first(tick)
	}
	return at, ok
}

// Start is the next request that is to be sent at now, or nil where there is none. Requests that are due but have no
// place in flight are queued or dropped, as the plan says.
func (b *Book) Start(now time.Time) *Call {
	b.mu.Lock()
	defer b.unlock()
	b.advance(now)
	if b.ticks.due(b.now) {
		b.ticks.call(b.progress())
	}
	return b.startNext()
}

// clogged says that so many records wait to be booked, of requests that were never sent, that this is to come first.
func (b *Book) clogged() bool { return b.mostPending > 0 && len(b.pending) >= b.mostPending }

// startNext is the next request that is to be sent. It is nil too where the Book is clogged: Next then says now.
func (b *Book) startNext() *Call {
	// A client, or a sequence, that is late has a little more time for what was due: no request is left out in silence.
	late := false
	if cut, ok := b.cutoff(); ok && !b.now.Before(cut) && !b.sched.over {
		if late = true; b.lateFrom.IsZero() {
			b.lateFrom = b.now
		}
		if !b.now.Before(b.lateFrom.Add(grace)) {
			b.sched.giveUp()
		}
	}
	for b.waiting.len() > 0 && !b.clogged() {
		switch c := *b.waiting.at(0); {
		case b.passed(c, 0):
			b.waiting.pop()
			// It was never sent: it waited to its end.
			b.enter(c, &goodput.Record{Sent: b.now.Sub(c.Start), End: b.now.Sub(c.Start), Outcome: goodput.Timeout, Detail: "no place in flight before its deadline"})
			continue
		case b.full():
		default:
			b.waiting.pop()
			c.ready = b.now
			return b.hand(c)
		}
		break
	}
	for !b.clogged() {
		due, ok := b.sched.due()
		b.tally.follow(b.sched, b.now)
		if !ok || due.After(b.now) {
			if late && !b.sched.pending() { // a session has held the run up
				b.sched.giveUp()
			}
			return nil
		}
		if b.run != nil && b.run.Err() != nil { // however many are due: the Runner comes to cut the run off
			return nil
		}
		start, req, index := b.sched.take()
		c := b.newCall()
		c.Request, c.Start, c.Deadline, c.Index, c.ready = req, start, start.Add(b.plan.Timeout), index, start
		b.tally.offered++
		switch {
		case !b.full() && b.waiting.len() == 0:
			return b.hand(c)
		case b.plan.Overflow == Drop:
			b.enter(c, &goodput.Record{Outcome: goodput.Dropped, Detail: "over the limit of requests in flight"})
		default:
			b.waiting.push(c)
		}
	}
	return nil
}

func (b *Book) hand(c *Call) *Call {
	c.handed = b.now
	b.tally.sent++
	b.tally.flight.pass(b.now, b.inFlight)
	b.inFlight++
	b.running.push(c)
	return c
}

// passed says that the time of c has been over for that long.
func (b *Book) passed(c *Call, since time.Duration) bool {
	at := b.now.Add(-since)
	cut, ok := b.cutoff()
	return !at.Before(c.Deadline) || ok && !at.Before(cut)
}

// Stop is the next request in flight whose time is over at now: its deadline has passed, or the run is cut off. The
// Runner takes it off the system and calls End for it; the outcome and the end are the Book's to say. It is nil where
// there is none.
func (b *Book) Stop(now time.Time) *Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance(now)
	c := b.running.first
	if c == nil || !b.passed(c, 0) {
		return nil
	}
	b.hold(c)
	c.stopped = true
	return c
}

// End says that c has ended, at now, and books its record. Of that the Runner gives what it saw: Sent (if later than the
// instant at which Start returned c), FirstByte, Tokens, FirstOutput, End, the token counts, Outcome and the rest; Start,
// Class and Limits are filled in. What had not ended by its deadline becomes a timeout, and what had not ended when the
// run was cut off unfinished, with what came later taken out; a success without a token, from a target that declares
// tokens, is empty. The second call for a request does nothing. The Book keeps nothing of rec.
//
// Where the request is a turn of a session, c.Text is to be there before, and End asks its Next for the one after.
func (b *Book) End(now time.Time, c *Call, rec *goodput.Record) {
	b.mu.Lock()
	b.advance(now)
	var f *following
	if !c.ended {
		f = b.endCall(c, rec)
	}
	b.unlock()
	if f != nil {
		defer func() { // also when the session ends the goroutine
			b.mu.Lock()
			defer b.mu.Unlock()
			b.resume(f)
		}()
		f.ask()
	}
}

// endCall books c. What it returns, if not nil, is to be asked for the next turn, and to be resumed.
func (b *Book) endCall(c *Call, rec *goodput.Record) *following {
	b.leave(c)
	b.enter(c, rec)
	return b.following(c, rec)
}

// booking is a record that is complete and counted. To judge and to write it takes longer than all the rest, and a
// writer can be slow: it is not done under the Book's lock.
type booking struct {
	observer
	rec *goodput.Record
}

func (k booking) book() { k.observe(k.rec) }

// take is what is to be booked, by the caller and without the lock.
func (b *Book) take() []booking {
	ks := b.pending
	b.pending = nil
	return ks
}

// unlock gives the lock back and books what is to be booked.
func (b *Book) unlock() {
	ks := b.take()
	b.mu.Unlock()
	for _, k := range ks {
		k.book()
	}
}

// hold takes c out of those that Stop can return.
func (b *Book) hold(c *Call) {
	c.remove()
	b.stopping.push(c)
}

// leave takes c out of those in flight.
func (b *Book) leave(c *Call) {
	b.tally.flight.pass(b.now, b.inFlight)
	b.inFlight--
	c.remove()
}

// enter completes the record, and counts it.
func (b *Book) enter(c *Call, rec *goodput.Record) {
	c.ended = true
	rec.Start = c.Start
	label(rec, c.Request)
	if !c.handed.IsZero() {
		rec.Sent = max(rec.Sent, c.handed.Sub(c.Start))
	}
	limit, late := b.plan.Timeout, goodput.Timeout
	if cut, ok := b.cutoff(); ok && cut.Before(c.Deadline) {
		limit, late = max(0, cut.Sub(c.Start)), goodput.Unfinished
	}
	if c.stopped {
		rec.End = max(rec.End, limit)
	}
	if rec.Outcome != goodput.Dropped {
		expire(rec, limit, late)
		if !c.output {
			settle(rec, b.desc)
		}
	}
	b.sched.ended(c, rec.Outcome, c.Start.Add(rec.End), b.now)
	b.pending = append(b.pending, booking{b.tally.end(c, rec, b.sched, b.now), rec})
}

// Cut ends the run at now: nothing more starts, and Stop returns all that is in flight. cause is said in the result.
func (b *Book) Cut(now time.Time, cause error) {
	b.mu.Lock()
	defer b.unlock()
	b.advance(now)
	b.cutOff(cause)
}

func (b *Book) cutOff(cause error) {
	if !b.cutAt.IsZero() {
		return
	}
	if cut, ok := b.sched.cutoff(); ok && !b.now.Before(cut) {
		return // the drain was over before
	}
	b.cutAt, b.cut = b.now, cause
	b.sched.cut(b.now, b.tally.heard.Equal(b.now))
	b.tally.follow(b.sched, b.now)
}

// Result closes the book, at the instant of the last call, and is what the run found. What is still in flight is cut off.
// The error is about a run that was carried out in part: a sequence of the plan's failed, which ended the arrivals, or
// the records could not be written. There is a Result all the same.
func (b *Book) Result() (*Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.result != nil {
		return b.result, b.err
	}
	if b.inFlight > 0 {
		b.cutOff(errAbandoned)
	}
	b.mostPending = 0
	for b.startNext() != nil { // the queue
	}
	for _, l := range []*callList{&b.running, &b.stopping} {
		for c := l.first; c != nil; c = l.first {
			b.leave(c)
			c.stopped = true
			b.enter(c, &goodput.Record{Outcome: goodput.Unfinished})
		}
	}
	for _, k := range b.take() {
		k.book()
	}
	b.sched.closeSequences()
	b.result, b.err = b.tally.result(b)
	if b.ticks.off { // it is real time that passes
		if err := b.ticks.callIn(b.run, b.progress()); err != nil {
			b.result.Report.Warnings = append(b.result.Report.Warnings, progressWarning(err))
		}
		return b.result, b.err
	}
	b.ticks.call(b.progress())
	return b.result, b.err
}
