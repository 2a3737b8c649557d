package loadgen

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Warnings that a run adds to its report, for errors.Is.
var (
	ErrCut         = errors.New("the run was cut off before its plan was carried out")
	ErrInWarmup    = errors.New("the run ended in its warm-up")
	ErrInputTokens = errors.New("the server counted other input tokens than were asked for")
	ErrShortWarmup = errors.New("the warm-up is shorter than requests take")
	ErrTransient   = errors.New("no end of the transient was found: the window may have a part of it")
	ErrRampUp      = errors.New("the load was still ramping when the window began")
	ErrArrivals    = errors.New("the arrivals were not in order")
	ErrBehind      = errors.New("requests that were due were never offered")
	ErrSessions    = errors.New("sessions ended before their last turn")
	ErrProgress    = errors.New("Plan.Progress failed, and was not called again")
	ErrTimeout     = errors.New("requests timed out before they were late")
)

// Errors of a run that was carried out in part, for errors.Is. ErrRecordsFile is only a warning where the writer was too
// slow: at most 16 MiB wait for it, and records that come beyond are left out.
var (
	ErrSequence    = errors.New("a sequence of the plan failed, which ended the arrivals")
	ErrRecordsFile = errors.New("Plan.Records is incomplete")
)

var errAbandoned = errors.New("the runner ended while requests were in flight")

// Result is what a run found.
type Result struct {
	// Report has the client's health in it, and the run's warnings beside those of package goodput: ErrCut, ErrInWarmup,
	// ErrInputTokens, ErrShortWarmup, ErrTransient, ErrRampUp, ErrArrivals, ErrBehind, ErrSessions, ErrProgress,
	// ErrTimeout.
	Report *goodput.Report
	// Cut is why the run was cut off before its plan was carried out: the cause of its context. nil: it was not.
	Cut error
	// Elapsed is how long the run took, from its start to the end of its last request, or to where it was cut off.
	Elapsed time.Duration
	// Warmup is how long the warm-up took: the window begins so long after the start of the run. 0 where the window is the
	// whole run, or the run ended in its warm-up.
	Warmup time.Duration
}

// inputTokensOff says how far the server's count of input tokens may be from what was asked for: one in so many.
const inputTokensOff = 10

// result is what the run found, and what is to be said of it. Nothing is observed any more.
func (t *tally) result(b *Book) (*Result, error) {
	s := b.sched
	s.outOfTime() // a closed loop whose workers would all begin after it, for one
	if s.transient != nil && !s.warm {
		t.decide(s, b.now, true)
	}
	if t.acc == nil && !s.warm { // the warm-up never ended
		t.acc = t.accumulator(goodput.WithWindow(b.now, time.Time{}))
		t.shutWindow(b.now, false)
	}
	t.follow(s, b.now)
	if t.plan.steady() && !t.shut {
		t.shutWindow(s.end, s.included)
	}
	r := t.acc.Report()
	r.Health = t.health(b.now.Sub(b.start))
	if t.plan.steady() && s.warm {
		r.SetWarmup(s.from.Sub(b.start))
	}
	own := t.warnings(b, r)
	r.Warnings = append(r.Warnings, own...)
	err := t.failure(b)
	if e := t.closeRecords(r, own); err == nil {
		err = e
	}
	res := &Result{Report: r, Cut: b.cut, Elapsed: b.now.Sub(b.start)}
	if t.plan.steady() && s.warm {
		res.Warmup = s.from.Sub(b.start)
	}
	return res, err
}

// warnings are what the run has to say of itself.
func (t *tally) warnings(b *Book, r *goodput.Report) (ws []error) {
	s := b.sched
	warn := func(err error, format string, args ...any) {
		ws = append(ws, fmt.Errorf("%w: %s", err, fmt.Sprintf(format, args...)))
	}
	if b.cut != nil {
		warn(ErrCut, "after %v: %s", b.cutAt.Sub(b.start), clean(b.cut.Error()))
	}
	if t.plan.steady() {
		from := s.from.Sub(b.start)
		switch p99 := r.Percentiles[string(slo.E2E)].P99; {
		case !s.warm || s.counted == 0:
			warn(ErrInWarmup, "no request began after it")
		case s.transient != nil && s.transient.missed:
			warn(ErrTransient, "the warm-up ended after %v at the latest", from)
		case s.transient != nil: // was found in full view of how long requests take
			if a, b, differ := s.transient.window.halves(); differ {
				warn(ErrTransient, "from its first half to its second the window's mean of e2e goes from %v to %v", seconds(a), seconds(b))
			}
		case from.Seconds() < p99:
			warn(ErrShortWarmup, "%v, where the P99 of e2e is %v: the window has requests that found the system emptier than it was to become", from, seconds(p99))
		}
		if up := t.plan.RampUp; s.warm && t.plan.Concurrency > 1 && from < up/time.Duration(t.plan.Concurrency)*time.Duration(t.plan.Concurrency-1) {
			warn(ErrRampUp, "RampUp takes %v, the warm-up %v", up, from)
		}
		// One that goes on to the end of the window is the load that was asked for.
		if a, ok := t.plan.Arrivals.(Ramp); ok && s.warm && a.From != a.To && from < a.Over && b.start.Add(a.Over).Before(s.end) {
			warn(ErrRampUp, "the arrivals' ramp takes %v, the warm-up %v", a.Over, from)
		}
	}
	if t.asked > 0 {
		if off := int64(t.counted) - int64(t.asked); max(off, -off) > int64(t.asked/inputTokensOff) {
			warn(ErrInputTokens, "%d where %d were asked for, %+.1f %%", t.counted, t.asked, 100*float64(off)/float64(t.asked))
		}
	}
	if s.fallen > 0 {
		warn(ErrArrivals, "%d came before the one before them, and were taken for simultaneous with it", s.fallen)
	}
	if s.hopeless {
		warn(ErrBehind, "%v after the run was to be over the client had not come to them", b.now.Sub(b.lateFrom).Round(time.Millisecond))
	}
	if s.broken > 0 {
		warn(ErrSessions, "%d of %d, the first because %s: %d turns or more were never offered", s.broken, s.sessions, clean(s.why.Error()), s.unsent)
	}
	if n := t.leftOut.Load(); n > 0 {
		warn(ErrRecordsFile, "%d of %d records were left out, for the writer was too slow", n, t.offered)
	}
	if b.ticks.err != nil {
		ws = append(ws, progressWarning(b.ticks.err))
	}
	if o, ok := t.plan.beyondTimeout(); ok && r.Outcomes[goodput.Timeout] > 0 {
		warn(ErrTimeout, "Timeout is %v, and %v would have let them take longer", t.plan.Timeout, o)
	}
	return ws
}

// beyondTimeout is an objective whose threshold a request cannot reach before it times out, and whether there is one.
func (p *Plan) beyondTimeout() (slo.Objective, bool) {
	slos := []slo.SLO{p.SLO}
	for _, class := range slices.Sorted(maps.Keys(p.Classes)) {
		slos = append(slos, p.Classes[class])
	}
	for _, s := range slos {
		for _, o := range s.Objectives {
			switch o.Metric {
			case slo.TTFT, slo.TTFO, slo.E2E, slo.ServiceTTFT, slo.ServiceE2E:
				if o.Threshold.Limit > p.Timeout.Seconds() {
					return o, true
				}
			}
		}
	}
	return slo.Objective{}, false
}

func progressWarning(err error) error { return fmt.Errorf("%w: %s", ErrProgress, clean(err.Error())) }

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond)
}

// failure is what a sequence of the plan failed with, if one did.
func (t *tally) failure(b *Book) error {
	s := b.sched
	fail := func(field string, err error) error {
		return fmt.Errorf("loadgen: %w: %s: %s", ErrSequence, field, clean(err.Error()))
	}
	switch {
	case s.workload.err != nil:
		return fail("Workload", s.workload.err)
	case s.arrivals != nil && s.arrivals.err != nil:
		return fail("Arrivals", s.arrivals.err)
	case s.failed != nil && s.starved:
		return fail("Workload", s.failed)
	case s.failed != nil:
		return fail("Arrivals", s.failed)
	}
	return nil
}

// closeRecords ends the file of records.
func (t *tally) closeRecords(r *goodput.Report, own []error) error {
	if t.file == nil {
		return nil
	}
	n := t.leftOut.Load()
	f := goodput.RecordsFooter{Complete: n == 0, LeftOut: n, Health: r.Health}
	if t.plan.steady() {
		f.Window = r.Window
	}
	for _, w := range own {
		f.Warnings = append(f.Warnings, w.Error())
	}
	err := t.file.Close(f)
	if t.spool != nil {
		if e := t.spool.close(); err == nil {
			err = e
		}
	}
	if broken := t.broken.Load(); broken != nil {
		err = *broken
	}
	if err != nil {
		return fmt.Errorf("loadgen: %w: %w", ErrRecordsFile, err)
	}
	return nil
}
