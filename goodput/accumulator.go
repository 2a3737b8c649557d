package goodput

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodputkit/goodputkit/goodput/internal/classtable"
	"github.com/goodputkit/goodputkit/slo"
)

const (
	// DefaultConfidence is 1 − α of the verdict and the intervals that go with it.
	DefaultConfidence = 0.95

	// MaxClasses is how many classes a report tells apart. What comes beyond is booked under OtherClass. Classes that
	// WithClasses names always have a place.
	MaxClasses = 64
	// OtherClass is the class of requests whose own had no place left.
	OtherClass = classtable.Other

	maxCustom = 4 // custom metrics of a class, beside those in its SLO
)

// The years that a Start can be in. Together with maxOffset they keep every instant within an int64 of nanoseconds.
var (
	firstStart = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	lastStart  = time.Date(2150, 1, 1, 0, 0, 0, 0, time.UTC)
)

// An Accumulator judges records against an SLO and counts. It keeps no record but copies of the 16 worst: its memory is
// bounded by the number of classes and not by the length of the run or the number of processors. A class takes at most
// 2 MB, and 130 kB more for each custom metric; the buffers that all share take 0.25 MB. All methods may be called from
// any goroutine.
//
// It reads no clock. The zero value is of no use but for UnmarshalBinary; see [NewAccumulator].
type Accumulator struct {
	slo        slo.SLO
	set        slo.Set
	confidence float64
	windowed   bool
	checker    *checker // of the default SLO

	base    atomic.Pointer[time.Time] // what instants are measured from: with its monotonic reading, where it has one
	from    int64                     // of the window
	to      atomic.Int64              // of the window: the first instant that is outside; math.MaxInt64: open
	refused atomic.Uint64

	classes classtable.Table[*class] // made under mu
	unnamed atomic.Pointer[class]    // the default class, once it is needed

	cached sync.Pool // *shard: the one that this processor used last
	shards [maxShards]shard

	mu       sync.Mutex // after a shard's
	toGiven  time.Time  // WithWindow's end, at construction
	included bool       // the end of the window was given as an instant that is inside
	late     bool       // EndWindow came after something beyond it was booked
	seen     span       // of all records
}

// span is the time from the first Start to the last End, Unix time, ns.
type span struct {
	first, last int64
	any         bool
}

func (s *span) add(start, end int64) {
	if !s.any {
		*s = span{start, end, true}
	}
	s.first, s.last = min(s.first, start), max(s.last, end)
}

// An Option changes an Accumulator at its construction.
type Option func(*Accumulator)

// WithClasses gives classes SLOs of their own. A class that the set does not name is judged by the default SLO, under
// its own name. A class that it names is in every report; with no request in it, its verdict is "no data".
func WithClasses(set slo.Set) Option {
	return func(a *Accumulator) {
		a.set = make(slo.Set, len(set))
		for class, s := range set {
			a.set[class] = cloneSLO(s)
		}
	}
}

// WithWindow makes the window the steady state [from, to). Requests that start in it are the cohort; what ends in it
// is the flow. A zero to leaves the end open: see [Accumulator.EndWindow].
func WithWindow(from, to time.Time) Option {
	return func(a *Accumulator) {
		a.windowed = true
		a.base.Store(&from)
		a.toGiven = to
	}
}

// WithConfidence sets 1 − α of verdicts and intervals; the default is [DefaultConfidence].
func WithConfidence(confidence float64) Option {
	return func(a *Accumulator) { a.confidence = confidence }
}

// NewAccumulator returns an empty accumulator for records that s judges.
//
// It panics if s or a class's SLO is invalid (see [slo.SLO.Validate]), if the window's end is before its beginning or
// either is not between the years 1970 and 2150, or if the confidence is not between 0 and 1.
func NewAccumulator(s slo.SLO, opts ...Option) *Accumulator {
	a, err := newAccumulator(s, opts...)
	if err != nil {
		panic("goodput: " + err.Error())
	}
	return a
}

func newAccumulator(s slo.SLO, opts ...Option) (*Accumulator, error) {
	a := &Accumulator{slo: cloneSLO(s), confidence: DefaultConfidence}
	for _, o := range opts {
		o(a)
	}
	return a, a.init()
}

// init checks what the options said and makes the classes that the set names.
func (a *Accumulator) init() error {
	if err := a.slo.Validate(); err != nil {
		return fmt.Errorf("SLO: %w", err)
	}
	if err := a.set.Validate(); err != nil {
		return fmt.Errorf("WithClasses: %w", err)
	}
	if !(a.confidence > 0 && a.confidence < 1) {
		return fmt.Errorf("WithConfidence: %v is not between 0 and 1", a.confidence)
	}
	a.checker = compile(a.slo)
	a.to.Store(math.MaxInt64)
	if err := a.initWindow(); err != nil {
		return err
	}
	names := a.set.Classes()
	a.classes.Init(MaxClasses-len(slices.DeleteFunc(slices.Clone(names), classtable.AlwaysPlaced)), names, a.newClass)
	return nil
}

func (a *Accumulator) initWindow() error {
	if !a.windowed {
		return nil
	}
	from := *a.base.Load()
	if !validStart(from) {
		return fmt.Errorf("WithWindow: from is %v, not between 1970 and 2150", from)
	}
	a.from = from.UnixNano()
	if a.toGiven.IsZero() {
		return nil
	}
	if !validStart(a.toGiven) || a.toGiven.Before(from) {
		return fmt.Errorf("WithWindow: to, %v, is before from, %v, or after 2150", a.toGiven, from)
	}
	a.to.Store(a.at(a.toGiven))
	return nil
}

func cloneSLO(s slo.SLO) slo.SLO {
	s.Objectives, s.Undefined = slices.Clone(s.Objectives), maps.Clone(s.Undefined)
	return s
}

func validStart(t time.Time) bool {
	s := t.Unix()
	return s >= firstStart.Unix() && s < lastStart.Unix()
}

// at is an instant as Unix time in ns, by the monotonic clock where t and the base both have a reading of it.
func (a *Accumulator) at(t time.Time) int64 {
	base := a.base.Load()
	if base == nil {
		base = a.setBase(t)
	}
	from, since := base.UnixNano(), int64(t.Sub(*base))
	if since > math.MaxInt64-from {
		return math.MaxInt64
	}
	return max(from+since, 0)
}

func (a *Accumulator) setBase(t time.Time) *time.Time {
	a.base.CompareAndSwap(nil, &t)
	return a.base.Load()
}

// EndWindow ends the steady state at to, which is outside of it. It has to be called not later than to, so that
// nothing beyond it has been observed; a report warns where something had ([ErrWindowEndedLate]). An end that is there
// already is only ever brought forward; one before the beginning leaves a window of no length. It panics if there is
// no window.
func (a *Accumulator) EndWindow(to time.Time) { a.endWindow(to, false) }

// EndWindowWith ends the steady state with the instant last, which is inside of it: that of the last Start, where the
// arrivals end before the time does. It has to be called not later than last, as [Accumulator.EndWindow] has.
func (a *Accumulator) EndWindowWith(last time.Time) { a.endWindow(last, true) }

func (a *Accumulator) endWindow(to time.Time, included bool) {
	if !a.windowed {
		panic("goodput: EndWindow of an accumulator without WithWindow")
	}
	a.drain()
	a.mu.Lock()
	defer a.mu.Unlock()
	outside := max(a.at(to), a.from)
	if included && outside < math.MaxInt64 {
		outside++
	}
	if outside >= a.to.Load() {
		return
	}
	a.to.Store(outside)
	a.included = included
	a.late = a.late || a.seen.any && a.seen.last >= outside
}

// Observe books one record. It keeps nothing of it, and allocates nothing.
//
// A record that cannot be meant as it stands is put right where that is possible, and the report warns how many there
// were ([Notes]):
//
//   - Start has to be between the years 1970 and 2150. A record without one has no place on the time line: it is
//     refused, and in no figure.
//   - A negative offset becomes 0, one above 100 years 100 years. A token event before its predecessor counts as
//     arriving with it. End is not before the last event, Sent not after the first one or End, FirstOutput within the
//     events.
//   - A negative token count is unknown, one above 2³¹ is 2³¹.
//   - No valid outcome is [ServerError].
//   - OutputTokens below the tokens seen gives way to these.
//   - A threshold of its own counts where it is a finite number (above 0, but for a custom metric) and the class's SLO
//     has an objective on that metric.
//   - A custom value that is NaN or infinite is absent. Beside the custom metrics in its SLO a class has percentiles of
//     the first 4 that come.
func (a *Accumulator) Observe(r *Record) {
	if !validStart(r.Start) {
		a.refused.Add(1)
		return
	}
	c, other := a.class(r.Class)
	var m sample
	m.measure(r)
	start := a.at(r.Start)
	e := entry{class: c.index, start: start, end: start + m.e2e, outcome: r.Outcome, first: -1, in: m.in, out: m.n}
	e.flags = a.place(e.start, e.end)
	if other {
		e.flags |= inOther
	}
	c.judge(&e, &m, r)

	s := a.lockShard(len(r.Tokens))
	if e.outcome == Success && e.has(inCohort) {
		if len(r.Tokens) > shardSteps {
			a.bookLong(s, c, &e, r, &m)
			s.mu.Unlock()
			a.cached.Put(s)
			return
		}
		s.addSteps(&e, r.Tokens, &m)
		if len(r.Custom) > 0 {
			c.addCustoms(s, &e, r)
		}
	}
	*s.next() = e
	s.mu.Unlock()
	a.cached.Put(s)
}

// place says what of a request is in the window.
func (a *Accumulator) place(start, end int64) (f flags) {
	if !a.windowed {
		return inCohort | inFlow
	}
	to := a.to.Load()
	if start >= a.from && start < to {
		f |= inCohort
	}
	if end >= a.from && end < to {
		f |= inFlow
	}
	return f
}

// judge decides what becomes of a request: good, late or lost, and whether it is among the worst.
func (c *class) judge(e *entry, m *sample, r *Record) {
	chk := c.checker
	if !e.outcome.Valid() {
		e.outcome = ServerError
		e.flags |= hadNoOutcome
	}
	if m.repaired {
		e.flags |= wasRepaired
	}
	if m.usageBelow {
		e.flags |= hadUsageBelow
	}
	if len(r.Limits) > 0 {
		var used int
		if used, e.ignoredLimits = chk.ownLimits(r.Limits); used > 0 {
			e.flags |= hadLimits
		}
	}
	switch e.outcome {
	case Success:
		e.judged = chk.judge(m, r)
		e.missed = e.judged.missed(chk)
		if e.missed == 0 {
			e.flags |= isGood
		} else {
			e.first = int8(bits.TrailingZeros64(e.missed))
		}
		for i := range e.values {
			e.values[i] = m.value(i)
		}
	case Unfinished:
		if chk.undecided(m, r) {
			e.flags |= isUndecided
		}
	}
	if e.has(inCohort) && !e.has(isGood) {
		c.offerWorst(e, m, r)
	}
}

func (c *class) offerWorst(e *entry, m *sample, r *Record) {
	kind, score, excess := kindFailed, float64(m.e2e)/1e9, math.NaN()
	if e.outcome == Success {
		kind, excess = kindLate, c.checker.excess(e.missed, m, r)
		score = excess
	}
	if !(score > 1e-9) { // NaN too
		score = 1e-9
	}
	if c.worst.wants(kind, score) {
		c.worst.offer(kind, r, m, e.start, e.missed, score, excess, e.outcome)
	}
}

// lockShard locks a shard that has room for one more record with so many tokens: the one that this processor used last
// or, where it would have to wait for that, another one.
func (a *Accumulator) lockShard(tokens int) *shard {
	tokens = min(tokens, shardSteps)
	s, _ := a.cached.Get().(*shard)
	if s == nil {
		s = &a.shards[0]
	}
	if a.tryShard(s, tokens) {
		return s
	}
	for i := range a.shards {
		if other := &a.shards[i]; a.tryShard(other, tokens) {
			return other
		}
	}
	s.mu.Lock() // all are in use, or full while somebody is at the books
	if s.full(tokens) {
		a.mu.Lock()
		a.book(s)
		a.mu.Unlock()
	}
	return s
}

// tryShard locks a shard and makes room in it, if that can be done without waiting.
func (a *Accumulator) tryShard(s *shard, tokens int) bool {
	if !s.mu.TryLock() {
		return false
	}
	if s.full(tokens) {
		if !a.mu.TryLock() {
			s.mu.Unlock()
			return false
		}
		a.book(s)
		a.mu.Unlock()
	}
	return true
}

// book empties a shard into the books of its records' classes. Both locks are held.
func (a *Accumulator) book(s *shard) {
	if len(s.entries) == 0 {
		return
	}
	steps, multi, customs, classes := s.steps, s.multi, s.customs, a.classes.Load().All
	for i := range s.entries {
		e := &s.entries[i]
		a.see(e)
		classes[e.class].book(e, steps[:e.steps], multi[:e.multi], customs[:e.customs])
		steps, multi, customs = steps[e.steps:], multi[e.multi:], customs[e.customs:]
	}
	s.empty()
}

// see notes when a record was. One that was placed before EndWindow, and is beyond the end that this gave, is in the
// figures all the same. mu is held.
func (a *Accumulator) see(e *entry) {
	a.seen.add(e.start, e.end)
	to := a.to.Load()
	a.late = a.late || e.has(inCohort) && e.start >= to || e.has(inFlow) && e.end >= to
}

// bookLong books a record with more steps than a shard holds.
func (a *Accumulator) bookLong(s *shard, c *class, e *entry, r *Record, m *sample) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.book(s)
	if len(r.Custom) > 0 {
		c.addCustoms(s, e, r)
	}
	a.see(e)
	c.book(e, nil, nil, s.customs)
	s.empty()
	if m.repaired { // what an instant is depends on all before it
		var all shard
		all.addSteps(e, r.Tokens, m)
		c.addSteps(all.steps, all.multi)
		return
	}
	for i := 0; i+1 < len(r.Tokens); i += shardSteps {
		s.addSteps(e, r.Tokens[i:min(i+shardSteps+1, len(r.Tokens))], m)
		c.addSteps(s.steps, s.multi)
		s.empty()
	}
}

// drain empties all shards. Records whose Observe has returned are in the books afterwards.
func (a *Accumulator) drain() {
	for i := range a.shards {
		s := &a.shards[i]
		s.mu.Lock()
		a.mu.Lock()
		a.book(s)
		a.mu.Unlock()
		s.mu.Unlock()
	}
}
