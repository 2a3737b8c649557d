package capacity

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/loadgen"
)

// An Option changes a search or a sweep. One that the other alone has is refused.
type Option struct {
	name          string
	search, sweep bool
	apply         func(*config)
}

// config is what options change.
type config struct {
	arrivals   func(rate float64, seed uint64) loadgen.Arrivals
	pause      time.Duration
	headroom   float64
	start      float64
	least      float64
	most       float64
	confidence float64
	precision  float64
	probes     int
	watch      func(*Probe)
	step       func(curve.Point)
	stops      []Stop
}

// The defaults of a search.
const (
	DefaultStart     = 1.0  // requests/s: the first probe's
	DefaultPrecision = 0.03 // half of the interval's width over the limit
	DefaultProbes    = 15
	DefaultLeast     = 1.0 / 64 // of the first rate: the lowest one that is tried
	DefaultMost      = 1e6      // requests/s: the highest one that is tried
)

func defaults() config {
	return config{
		arrivals: func(rate float64, seed uint64) loadgen.Arrivals { return loadgen.Poisson{Rate: rate, Seed: seed} },
		headroom: curve.DefaultHeadroom, start: DefaultStart, most: DefaultMost,
		confidence: goodput.DefaultConfidence, precision: DefaultPrecision, probes: DefaultProbes,
	}
}

// WithArrivals chooses the process of an open loop by its rate, in requests/s, and a seed, which is another one for each
// run. The default is loadgen.Poisson.
func WithArrivals(process func(rate float64, seed uint64) loadgen.Arrivals) Option {
	return Option{"WithArrivals", true, true, func(c *config) { c.arrivals = process }}
}

// WithPause lets the system rest for so long between two runs, beside the plan's Drain at the end of each; the default is
// not at all. The time is real, also where the Runner's is virtual.
func WithPause(d time.Duration) Option {
	return Option{"WithPause", true, true, func(c *config) { c.pause = d }}
}

// WithHeadroom is what the recommended load keeps free of the goodput limit, as a share; the default is
// curve.DefaultHeadroom.
func WithHeadroom(share float64) Option {
	return Option{"WithHeadroom", true, true, func(c *config) { c.headroom = share }}
}

// WithStart is the first probe's rate, requests/s; the default is DefaultStart. The nearer it is to the limit, the fewer
// probes it takes.
func WithStart(rate float64) Option {
	return Option{"WithStart", true, false, func(c *config) { c.start = rate }}
}

// WithRange bounds the rates that are tried, requests/s; the defaults are DefaultLeast times the first rate, and DefaultMost.
func WithRange(least, most float64) Option {
	return Option{"WithRange", true, false, func(c *config) { c.least, c.most = least, most }}
}

// WithConfidence is 1 − α of the limit's interval and of each probe's verdict; the default is goodput.DefaultConfidence.
func WithConfidence(confidence float64) Option {
	return Option{"WithConfidence", true, false, func(c *config) { c.confidence = confidence }}
}

// WithPrecision ends the search when half of the interval's width is at most this share of the limit; the default is
// DefaultPrecision.
func WithPrecision(share float64) Option {
	return Option{"WithPrecision", true, false, func(c *config) { c.precision = share }}
}

// WithProbes ends the search after so many probes, however wide the interval; the default is DefaultProbes.
func WithProbes(n int) Option {
	return Option{"WithProbes", true, false, func(c *config) { c.probes = n }}
}

// OnProbe is told of each probe of a search when it is over, in the search's goroutine.
func OnProbe(f func(*Probe)) Option {
	return Option{"OnProbe", true, false, func(c *config) { c.watch = f }}
}

// OnStep is told of each step of a sweep when it is over, in the sweep's goroutine.
func OnStep(f func(curve.Point)) Option {
	return Option{"OnStep", false, true, func(c *config) { c.step = f }}
}

// WithStop ends a sweep early, after the first step at which one of them says why.
func WithStop(stops ...Stop) Option {
	return Option{"WithStop", false, true, func(c *config) { c.stops = append(c.stops, stops...) }}
}

// OptionError is an option, or a load of a sweep, that cannot be meant.
type OptionError struct {
	Option string
	Err    error
}

func (e *OptionError) Error() string { return "capacity: " + e.Option + ": " + e.Err.Error() }

// Unwrap is what is wrong with it.
func (e *OptionError) Unwrap() error { return e.Err }

func refuse(option, format string, args ...any) error {
	return &OptionError{option, fmt.Errorf(format, args...)}
}

// newConfig is what the options make of the defaults.
func newConfig(opts []Option, allowed func(Option) bool, other string) (config, error) {
	c := defaults()
	for _, o := range opts {
		if o.apply == nil {
			return c, refuse("Option", "the zero value is none: use the functions of this package")
		}
		if !allowed(o) {
			return c, refuse(o.name, "is for %s alone", other)
		}
		o.apply(&c)
	}
	if c.least == 0 {
		c.least = c.start * DefaultLeast
	}
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	switch {
	case c.arrivals == nil:
		return c, refuse("WithArrivals", "the function is nil")
	case slices.ContainsFunc(c.stops, func(s Stop) bool { return s == nil }):
		return c, refuse("WithStop", "the function is nil")
	case c.pause < 0:
		return c, refuse("WithPause", "%v is negative", c.pause)
	case !(c.headroom >= 0 && c.headroom < 1):
		return c, refuse("WithHeadroom", "%v is not a share from 0 to below 1: 0.2 leaves 20 %% free", c.headroom)
	case !positive(c.start):
		return c, refuse("WithStart", "%v is no rate: give requests/s above 0", c.start)
	case !positive(c.least) || !positive(c.most) || c.least > c.start || c.most < c.start:
		return c, refuse("WithRange", "from %v to %v does not have the first rate in it, %v requests/s (WithStart)", c.least, c.most, c.start)
	case !(c.confidence > 0 && c.confidence < 1):
		return c, refuse("WithConfidence", "%v is not between 0 and 1", c.confidence)
	case !(c.precision > 0 && c.precision < 1):
		return c, refuse("WithPrecision", "%v is not a share between 0 and 1: 0.03 is 3 %%", c.precision)
	case c.probes < 1:
		return c, refuse("WithProbes", "%d is below 1", c.probes)
	}
	return c, nil
}
