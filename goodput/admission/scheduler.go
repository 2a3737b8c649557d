package admission

import (
	"math"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// Scheduler puts the parts together: it is what a [Controller] decides by, as a state machine that is told what time it is.
// An event loop can drive it in virtual time. It belongs to one goroutine, and time must not go backwards.
//
// Whatever method is called, tickets that wait can be decided by it: [Scheduler.Decided] has them. Between calls only time
// passes, and [Scheduler.Next] is when that alone decides something: call [Scheduler.Tick] then.
type Scheduler struct {
	config  Config
	classes map[string]*class
	def     *class
	all     []*class

	cap                  Cap
	queue                Queue
	aside                Queue // predicted to be late, and let through
	limit                *Limit
	line                 Line
	pace                 Pace
	rate                 Rate
	stall                Stall
	input                typical
	size                 typical
	pending, pendingLast *Ticket // admitted, no first token yet, oldest first
	passed               passed

	feedback bool // something has come back
	closed   bool

	decided []*Ticket
	stats   counters
}

type counters struct {
	offered, admitted, degraded, ended, removed uint64
	refused                                     [16]uint64
}

const (
	shareAhead = 0.2  // of the budget, that the engine's own queue may take: what waits here can still be put in order
	shareLeast = 0.1  // of what the line's constant leaves of the budget, that it may take in any case: that constant is no queue
	sharePace  = 0.75 // of the tpot limit, that the pace may take: each sequence has a pace of its own
	deviations = 3.0  // of the line, that a prediction is on the safe side
	tailDevs   = 2.0  // of what follows a first token, that it may take longer than the mean, where an SLO on e2e says when all has to be over
	coldStart  = 32   // requests in flight before anything has come back
	floorSizes = 4.0  // requests of the mean size, that the default floor is
	shortRetry = 1e-3 // s, the least retry-after
	longRetry  = 60.0 // s, the greatest
	mostTokens = 1e9  // of a prompt or an output, that count: sums of them stay exact enough to be taken apart again
)

// NewScheduler is a scheduler with nothing in flight. The error names the field that cannot be meant.
func NewScheduler(c Config) (*Scheduler, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.MaxWaiting == 0 {
		c.MaxWaiting = defaultWaiting
	}
	if c.StallAfter == 0 {
		c.StallAfter = defaultStall
	}
	s := &Scheduler{config: c, classes: map[string]*class{}, stall: Stall{After: max(c.StallAfter, 0)}}
	var allowed []float64
	s.def, allowed = makeClass(slo.DefaultClass, c.SLO, Class{}, allowed)
	s.all = append(s.all, s.def)
	for name, k := range c.Classes {
		of := c.SLO
		if !k.SLO.IsZero() {
			of = k.SLO
		}
		var made *class
		made, allowed = makeClass(name, of, k, allowed)
		s.classes[name] = made
		s.all = append(s.all, made)
	}
	ceiling := math.Inf(1)
	if c.Ceiling > 0 {
		ceiling = c.Ceiling
	}
	floor := c.Floor
	if floor == 0 {
		floor = min(1, ceiling)
	}
	var err error
	if s.limit, err = NewLimit(floor, ceiling, allowed...); err != nil {
		return nil, err
	}
	s.cap.SetLimit(ceiling)
	return s, nil
}

func (s *Scheduler) class(name string) *class {
	if name == "" {
		name = slo.DefaultClass
	}
	if k := s.classes[name]; k != nil {
		return k
	}
	return s.def
}

// Arrive takes a request in, which is decided at once or waits: see the Status of t, which has to be new but for Request and
// Data. It returns t.
func (s *Scheduler) Arrive(now time.Time, t *Ticket) *Ticket {
	s.stats.offered++
	if t.Arrival.IsZero() || t.Arrival.After(now) {
		t.Arrival = now
	}
	k := s.class(t.Class)
	t.class = k
	t.load = s.load(t, t.MaxOutputTokens)
	t.asked = t.load.Output
	t.Grant = Grant{MaxOutputTokens: max(t.MaxOutputTokens, 0), Priority: plus(t.Priority, k.priority)}
	t.budget = s.budget(now, t)
	t.heed()
	k.spare.Offered()
	s.input.observe(t.load.Input)
	s.size.observe(t.load.Tokens())
	switch {
	case s.closed:
		s.refuse(t, Closed, longRetry)
	case s.stall.Stalled(now):
		s.refuse(t, Stalled, s.config.StallAfter.Seconds())
	case s.queue.Len() == 0 && s.can(now, t):
		s.admit(now, t)
	default:
		s.wait(now, t)
	}
	if s.aside.Len() > 0 {
		s.pumpAside(now)
	}
	if t.item != nil && t.status != Waiting { // its caller sees so by itself
		s.decided = slices.DeleteFunc(s.decided, func(x *Ticket) bool { return x == t })
	}
	return t
}

// load is what a request weighs.
func (s *Scheduler) load(t *Ticket, output int) Load {
	l := Load{float64(t.InputTokens), float64(output)}
	if l.Input <= 0 {
		l.Input = max(s.input.mean, 1)
	}
	if l.Output <= 0 {
		l.Output = max(t.class.output.mean, 1)
	}
	return Load{min(l.Input, mostTokens), min(l.Output, mostTokens)}
}

// budget is the time from the arrival to the first token: what the SLO says of it, or what an objective on e2e leaves of its
// limit when the rest of the answer is taken off.
func (s *Scheduler) budget(now time.Time, t *Ticket) time.Duration {
	switch {
	case t.Budget > 0:
		return sum(now.Sub(t.Arrival), t.Budget)
	case t.Budget < 0: // it is late already
		return max(now.Sub(t.Arrival)+t.Budget, 1)
	}
	k := t.class
	b := k.first
	if k.e2e != (slo.Threshold{}) {
		whole := max(k.e2e.Limit+k.e2e.PerToken*t.load.Output-k.tail.mean-tailDevs*k.tail.dev, 1e-9)
		if b == 0 || whole < b {
			b = whole
		}
	}
	return duration(b)
}

// service is how long the first token of t takes if it is admitted now, on the safe side. A longer prompt takes longer, and is
// therefore the first to be late when there is too much to do.
func (s *Scheduler) service(t *Ticket) time.Duration {
	return duration(s.line.at(s.cap.pendingTokens+t.load.Input) + deviations*s.line.dev)
}

func (s *Scheduler) serviceOf(it *Item) time.Duration { return s.service(it.Data.(*Ticket)) }

// can says whether t may start now.
func (s *Scheduler) can(now time.Time, t *Ticket) bool {
	if s.stall.Stalled(now) {
		return false
	}
	n, _ := s.cap.InFlight()
	if n == 0 {
		return true
	}
	if s.stall.stalled || !s.feedback && n >= coldStart || !s.cap.Fits(t.load) {
		return false
	}
	if pending, tokens := s.cap.Pending(); pending > 0 {
		if s.full(now) {
			return false
		}
		first := t.budget.Seconds()
		if k := t.class.service; k > 0 && (first == 0 || k < first) {
			first = k
		}
		if first > 0 && s.line.least(tokens+t.load.Input) > s.ahead(first) {
			return false
		}
	}
	if limit := s.perToken(t.class); limit > 0 && s.pace.n > 0 && s.pace.sum > sharePace*limit*s.pace.n {
		return false
	}
	return true
}

// ahead is how long, s, the first token of one that has so much time for it may take by what is pending. What takes no longer than another
// one by itself may all be served at once, and a service that has less than it can do at once stands idle: that is let through where the
// budget has room for it.
func (s *Scheduler) ahead(first float64) float64 {
	alone := s.line.leastA
	return max(shareAhead*first, alone+shareLeast*(first-alone), min(2*alone, first-deviations*s.line.dev))
}

// perToken is the tightest limit of a token, s, among the classes that run and the one that wants to; 0: there is none.
func (s *Scheduler) perToken(k *class) float64 {
	limit := k.perToken
	for _, c := range s.all {
		if c.running > 0 && c.perToken > 0 && (limit == 0 || c.perToken < limit) {
			limit = c.perToken
		}
	}
	return limit
}

// wait lets t wait, with what its ladder makes of it, or refuses it.
func (s *Scheduler) wait(now time.Time, t *Ticket) {
	s.rate.Waiting(now, s.rate.waiting)
	waited := now.Sub(t.Arrival).Seconds()
	slack := t.budget.Seconds() - waited
	alone := s.line.at(t.load.Input)
	if t.budget > 0 && alone > max(slack, t.class.ladder.budget().Seconds()-waited) {
		s.refuse(t, TooLong, s.drain(0))
		return
	}
	t.item = &Item{Priority: t.Grant.Priority, Tenant: t.Tenant, Weight: s.config.Weights[t.Tenant], Tokens: t.load.Tokens(), Data: t}
	if t.budget > 0 {
		service := s.service(t).Seconds()
		rate, known := s.rate.PerSecond()
		wait := 0.0
		if known {
			wait = s.queue.Wait(t.item.Priority, t.Tenant, t.item.Tokens, rate).Seconds()
		}
		pressure := 0.0
		switch {
		case slack > service:
			pressure = wait / (slack - service)
		case known || alone > slack: // it is late however short it waits
			pressure = math.Inf(1)
		}
		if step := t.class.ladder.Step(pressure); step > 0 {
			d := s.degrade(t, step)
			if d.LowerPriority > 0 {
				wait = s.queue.Wait(t.item.Priority, t.Tenant, t.item.Tokens, rate).Seconds()
			}
			slack = t.budget.Seconds() - waited
		}
		t.item.Deadline = t.Arrival.Add(t.budget)
		if known && wait+service > slack && !s.spare(t) {
			s.refuse(t, PredictedLate, wait+service-slack)
			return
		}
	}
	if s.queue.Len()+s.aside.Len() >= s.config.MaxWaiting {
		q := &s.aside // first what is late anyway
		if q.Len() == 0 || t.spared {
			q = &s.queue
		}
		last := q.Last()
		if last == nil || q == &s.queue && last.Priority >= t.item.Priority {
			s.refuse(t, QueueFull, s.drain(s.queue.Tokens()))
			return
		}
		q.Remove(last)
		s.refuseWaiting(last.Data.(*Ticket), Shed, s.drain(s.queue.Tokens()))
	}
	s.waits(t).Push(t.item)
	s.pump(now)
}

// waits is where t waits.
func (s *Scheduler) waits(t *Ticket) *Queue {
	if t.spared {
		return &s.aside
	}
	return &s.queue
}

func (s *Scheduler) admit(now time.Time, t *Ticket) {
	t.status, t.admitted = Admitted, now
	s.cap.Start(t.load)
	t.before = s.cap.pendingTokens
	s.limit.Use(s.cap.tokens)
	s.stall.Start(now)
	if t.Whole {
		s.cap.Visible(t.load)
	} else {
		s.invisible(t)
	}
	t.class.running++
	s.stats.admitted++
	if t.Grant.Degraded() {
		s.stats.degraded++
	}
}

// invisible puts t behind those that are pending.
func (s *Scheduler) invisible(t *Ticket) {
	if t.older = s.pendingLast; t.older != nil {
		t.older.newer = t
	} else {
		s.pending = t
	}
	s.pendingLast = t
	s.passed.started(t)
}

// admitWaiting admits one that its caller waits for.
func (s *Scheduler) admitWaiting(now time.Time, t *Ticket) {
	s.admit(now, t)
	s.decided = append(s.decided, t)
}

// visible takes t out of those that are pending.
func (s *Scheduler) visible(t *Ticket) {
	s.passed.gone(t)
	if t.older != nil {
		t.older.newer = t.newer
	} else {
		s.pending = t.newer
	}
	if t.newer != nil {
		t.newer.older = t.older
	} else {
		s.pendingLast = t.older
	}
	t.older, t.newer = nil, nil
}

// pump drops what is late, and admits what may be, until neither changes anything.
func (s *Scheduler) pump(now time.Time) {
	s.rate.Waiting(now, s.rate.waiting)
	for {
		s.queue.DropLate(now, s.serviceOf, func(it *Item) {
			t := it.Data.(*Ticket)
			if s.spare(t) {
				s.aside.Push(it)
			} else {
				s.refuseWaiting(t, BecameLate, s.drain(s.queue.Tokens()))
			}
		})
		it := s.queue.Head()
		if it == nil || !s.can(now, it.Data.(*Ticket)) {
			break
		}
		s.queue.Pop()
		s.rate.Admitted(it.Tokens)
		s.admitWaiting(now, it.Data.(*Ticket))
	}
	s.rate.Waiting(now, s.queue.Len() > 0)
	if s.aside.Len() > 0 {
		s.pumpAside(now)
	}
}

// Tick lets pass what time alone decides.
func (s *Scheduler) Tick(now time.Time) {
	s.stall.Stalled(now)
	s.pump(now)
}

// Next is the instant at which time alone decides something, if nothing happens before; ok is false where it does not.
func (s *Scheduler) Next() (at time.Time, ok bool) {
	for _, q := range []*Queue{&s.queue, &s.aside} {
		if due, some := q.Due(); some {
			due = due.Add(1 - s.serviceOf(q.due[0])) // the first nanosecond in which it is late
			if !ok || due.Before(at) {
				at, ok = due, true
			}
		}
	}
	return at, ok
}

// Decided is the tickets that waited and have been decided since the last call, in the order in which they were. The slice is
// valid until the next call of a method.
func (s *Scheduler) Decided() []*Ticket {
	d := s.decided
	s.decided = s.decided[:0]
	return d
}

// Close refuses all that wait and all that come from now on. What is in flight stays.
func (s *Scheduler) Close(now time.Time) {
	s.closed = true
	for _, q := range []*Queue{&s.queue, &s.aside} {
		for it := q.Head(); it != nil; it = q.Head() {
			q.Remove(it)
			s.refuseWaiting(it.Data.(*Ticket), Closed, longRetry)
		}
	}
	s.rate.Waiting(now, false)
}
