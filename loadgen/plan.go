package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// Overflow says what becomes of a request that is due while MaxInFlight are in flight.
type Overflow uint8

// The ways.
const (
	Wait Overflow = iota + 1 // until one ends; the wait is in its latency, and its deadline runs
	Drop                     // not sent, booked as dropped
)

// String is "wait" or "drop".
func (o Overflow) String() string {
	switch o {
	case Wait:
		return "wait"
	case Drop:
		return "drop"
	}
	return fmt.Sprintf("Overflow(%d)", uint8(o))
}

// DefaultTimeout is the Timeout of a plan that says none.
const DefaultTimeout = 5 * time.Minute

// Plan is the load to make and the SLO to judge it by.
//
// # How much
//
// Either Arrivals says when requests begin, whatever became of those before (an open loop), or Concurrency says how many
// workers there are, each of which begins its next request ThinkTime after its last one has ended (a closed loop).
//
// The arrivals end with the first bound that is reached: so many Requests, the Duration, the end of the Workload, the end
// of Arrivals. One of them has to be there. What is in flight then may go on until Drain is over; what has not ended by
// then is booked as unfinished.
//
// # Sessions
//
// A request with a Next is the first turn of a session: see [Request] and [Conversation]. Arrivals and Workload are then
// of sessions, and a worker of a closed loop carries out one session after the other. A later turn starts a think time
// after the End of the one before it, which is not the plan's ThinkTime, and is a request like any other: it is among
// Requests, has a Timeout of its own, and waits or is dropped at MaxInFlight. A bound that ends the arrivals ends the
// sessions, too: no turn starts after it. Only where Workload or Arrivals end do the sessions that have begun go on to
// their last turn. A turn that fails ends its session; the report warns of how many that were (ErrSessions).
//
// # The window
//
// A plan with a Duration, a warm-up or a cool-down is judged over its steady state: from the end of the warm-up to the end
// of Duration or, if that is earlier, the last Start (included) or the instant at which the run was cut off
// (included where a request ended in it). Any other
// plan is judged over the whole run. Package goodput says which figures are of whom.
//
// With a cool-down the arrivals go on after the window, so that its last requests are served under load as the others
// were. The last Start is then the last one before the cool-down, and Drain begins with the end of the cool-down.
type Plan struct {
	SLO     slo.SLO // judges every class that Classes does not name
	Classes slo.Set

	Arrivals    Arrivals      // open loop, or
	Concurrency int           // closed loop: so many workers
	ThinkTime   time.Duration // of a worker between two requests; closed loop only
	RampUp      time.Duration // worker i of n starts at i/n of it; closed loop only

	// Workload is what is asked; nil: empty requests. One goroutine reads it, ahead of time; one that waits holds nothing
	// else up.
	Workload iter.Seq[*Request]
	Repeat   bool // begin the Workload again where it ends

	Requests int           // so many arrivals after the warm-up; 0: no bound
	Warmup   time.Duration // arrivals of this time come before Requests and Duration; WarmupAuto finds out how long
	// WarmupRequests is the same by count, in place of Warmup. Where the window begins is not known before it does, and
	// until then every record is held, without most of its token events: some 250 bytes. A warm-up of 200,000 requests takes
	// 50 MB; one by time takes none of that.
	WarmupRequests   int
	Duration         time.Duration // of the arrivals after the warm-up; 0: no bound
	Cooldown         time.Duration // arrivals of this time come after Requests or Duration; 0: none
	CooldownRequests int           // the same by count, in place of Cooldown
	Timeout          time.Duration // of a request, from its Start; 0: DefaultTimeout
	Drain            time.Duration // for what is in flight, from the end of the arrivals; 0: Timeout
	MaxInFlight      int           // at most so many at once, with Arrivals; then Overflow says Wait or Drop. 0: no limit
	Overflow         Overflow
	Seed             uint64 // of those Arrivals that have no Seed of their own. 0 is a seed like any other: a plan repeats itself

	// Progress is called each second, and once at the end, never by two goroutines at once. One that takes its time delays no
	// request, and misses calls; but Run does not return before it has: see there.
	Progress func(Progress)

	// Records takes a JSON line for each request, with the keys that package goodput documents; nil: none are written. They
	// are handed on each second, so that a run that is killed leaves a file (goodput.AllowIncomplete). A slow writer delays
	// no request: see ErrRecordsFile.
	Records io.Writer
}

// PlanError says that a plan cannot be meant, and why.
type PlanError struct {
	Field string // of Plan
	Err   error
}

func (e *PlanError) Error() string { return "loadgen: Plan." + e.Field + ": " + e.Err.Error() }

// Unwrap is what is wrong with the field.
func (e *PlanError) Unwrap() error { return e.Err }

func refuse(field, format string, args ...any) error {
	return &PlanError{field, fmt.Errorf(format, args...)}
}

// Validate refuses a plan that cannot be meant, with a *PlanError that names the field.
func (p Plan) Validate() error {
	if err := p.SLO.Validate(); err != nil {
		return &PlanError{"SLO", err}
	}
	if err := p.Classes.Validate(); err != nil {
		return &PlanError{"Classes", err}
	}
	for _, f := range []struct {
		name string
		n    int
	}{
		{"Concurrency", p.Concurrency}, {"Requests", p.Requests}, {"WarmupRequests", p.WarmupRequests},
		{"CooldownRequests", p.CooldownRequests}, {"MaxInFlight", p.MaxInFlight},
	} {
		if f.n < 0 {
			return refuse(f.name, "%d is negative", f.n)
		}
	}
	for _, f := range []struct {
		name string
		d    time.Duration
	}{
		{"ThinkTime", p.ThinkTime}, {"RampUp", p.RampUp}, {"Warmup", p.Warmup}, {"Duration", p.Duration},
		{"Cooldown", p.Cooldown}, {"Timeout", p.Timeout}, {"Drain", p.Drain},
	} {
		if f.d < 0 && !(f.name == "Warmup" && f.d == WarmupAuto) {
			return refuse(f.name, "%v is negative", f.d)
		}
	}
	for _, check := range []func() error{p.checkLoop, p.checkOverflow, p.checkBounds} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) checkLoop() error {
	switch {
	case p.Arrivals == nil && p.Concurrency == 0:
		return refuse("Arrivals", "there is no load: set Arrivals (open loop) or Concurrency (closed loop)")
	case p.Arrivals != nil && p.Concurrency > 0:
		return refuse("Concurrency", "a plan is an open loop (Arrivals) or a closed loop (Concurrency): to limit an open loop set MaxInFlight")
	case p.Arrivals != nil && p.ThinkTime > 0:
		return refuse("ThinkTime", "only a closed loop (Concurrency) has one")
	case p.Arrivals != nil && p.RampUp > 0:
		return refuse("RampUp", "only a closed loop (Concurrency) has one")
	}
	if v, ok := p.Arrivals.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return &PlanError{"Arrivals", err}
		}
	}
	return nil
}

func (p *Plan) checkOverflow() error {
	switch {
	case p.MaxInFlight > 0 && p.Arrivals == nil:
		return refuse("MaxInFlight", "only an open loop (Arrivals) has one: in a closed loop Concurrency is the limit")
	case p.MaxInFlight > 0 && p.Overflow == 0:
		return refuse("Overflow", "MaxInFlight is set: say Wait or Drop")
	case p.MaxInFlight == 0 && p.Overflow != 0:
		return refuse("Overflow", "%v without MaxInFlight: set both or neither", p.Overflow)
	case p.Overflow > Drop:
		return refuse("Overflow", "%v is neither Wait nor Drop", p.Overflow)
	}
	return nil
}

func (p *Plan) checkBounds() error {
	switch {
	case p.Warmup != 0 && p.WarmupRequests > 0:
		return refuse("WarmupRequests", "the warm-up has a length (Warmup) or a count, not both")
	case p.Cooldown > 0 && p.CooldownRequests > 0:
		return refuse("CooldownRequests", "the cool-down has a length (Cooldown) or a count, not both")
	case p.Cooldown > 0 && p.Requests == 0 && p.Duration == 0:
		return refuse("Cooldown", "there is nothing that it comes after: set Requests or Duration")
	case p.CooldownRequests > 0 && p.Requests == 0 && p.Duration == 0:
		return refuse("CooldownRequests", "there is nothing that they come after: set Requests or Duration")
	case p.Repeat && p.Workload == nil:
		return refuse("Repeat", "there is no Workload to repeat")
	case p.Requests == 0 && p.Duration == 0 && (p.Workload == nil || p.Repeat) && endless(p.Arrivals):
		return refuse("Requests", "nothing ends the run: set Requests or Duration, or give a Workload that ends, without Repeat")
	}
	// One sum of all that the run can take has to fit.
	rest := time.Duration(math.MaxInt64)
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"Warmup", max(0, p.Warmup)}, {"Duration", p.Duration}, {"Cooldown", p.Cooldown}, {"Timeout", p.Timeout}, {"Drain", p.Drain}, {"RampUp", p.RampUp}, {"ThinkTime", p.ThinkTime}} {
		const most = 100 * 365 * 24 * time.Hour
		if f.d > most || f.d > rest {
			return refuse(f.name, "%v is too long", f.d)
		}
		rest -= f.d
	}
	return nil
}

// endless says that arrivals are known to go on for ever. A closed loop does (nil).
func endless(a Arrivals) bool {
	if e, ok := a.(interface{ endless() bool }); ok {
		return e.endless()
	}
	return a == nil
}

// withDefaults is the plan with its zeros spelt out.
func (p Plan) withDefaults() Plan {
	if p.Timeout == 0 {
		p.Timeout = DefaultTimeout
	}
	if p.Drain == 0 {
		p.Drain = p.Timeout
	}
	if s, ok := p.Arrivals.(interface{ seeded(uint64) Arrivals }); ok {
		p.Arrivals = s.seeded(mix(p.Seed))
	}
	return p
}

// mix spreads a seed over all bits, so that plans seeded 1, 2, 3 … share nothing, and is never 0. It is the finaliser of
// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
func mix(seed uint64) uint64 {
	z := seed + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return max(1, z^z>>31)
}

// load is the load of a plan that was asked for, for people.
func (p *Plan) load() string {
	if p.Arrivals != nil {
		s := p.Arrivals.String()
		if full := p.withDefaults(); full.Arrivals.String() != s {
			s += fmt.Sprintf(", plan's seed %d", p.Seed)
		}
		if p.MaxInFlight > 0 {
			s += fmt.Sprintf(", at most %d in flight, else %v", p.MaxInFlight, p.Overflow)
		}
		return s
	}
	s := fmt.Sprintf("closed loop of %d", p.Concurrency)
	if p.ThinkTime > 0 {
		s += fmt.Sprintf(", think time %v", p.ThinkTime)
	}
	return s
}

// steady says that the window is the steady state and not the whole run.
func (p *Plan) steady() bool {
	return p.Duration > 0 || p.Warmup != 0 || p.WarmupRequests > 0 || p.Cooldown > 0 || p.CooldownRequests > 0
}

// ErrNotGiven is wrapped by the error of a plan whose SLO needs a metric that the target cannot give.
var ErrNotGiven = errors.New("the target does not give this metric")

// checkGives refuses an SLO on a metric that the target cannot give: its objective would be missed by every request.
func (p *Plan) checkGives(d Description) error {
	if d.Gives == nil {
		return nil
	}
	check := func(field string, s slo.SLO) error {
		for _, o := range s.Objectives {
			switch o.Metric {
			case slo.E2E, slo.ServiceE2E, slo.Lag, slo.ErrorRate, slo.Attainment: // are measured here
				continue
			}
			if !d.Gives(o.Metric) {
				name := d.Name
				if name == "" {
					name = "the target"
				}
				return &PlanError{field, fmt.Errorf("%s: %w: %s", o, ErrNotGiven, name)}
			}
		}
		return nil
	}
	if err := check("SLO", p.SLO); err != nil {
		return err
	}
	for _, class := range p.Classes.Classes() {
		if err := check(fmt.Sprintf("Classes[%q]", class), p.Classes[class]); err != nil {
			return err
		}
	}
	return nil
}

// A Runner carries a plan out. It returns an error and no Result for a plan that it refuses, or a context that is done before
// it begins, and both where the run was carried out in part. A context that is cancelled meanwhile is no error: it cuts the run
// off, and Result.Cut says so.
type Runner func(ctx context.Context, p Plan) (*Result, error)
