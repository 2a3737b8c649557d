package capacity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/loadgen"
)

// Load is one step of a sweep: the rate of an open loop or the workers of a closed one.
type Load struct {
	Rate        float64 // requests/s, or
	Concurrency int
}

// String is like "8/s", or "8 at once".
func (l Load) String() string {
	if l.Rate > 0 {
		return figure.Number(l.Rate) + "/s"
	}
	return fmt.Sprintf("%d at once", l.Concurrency)
}

// Rates are the loads of an open loop, requests/s.
func Rates(rates ...float64) (loads []Load) {
	for _, r := range rates {
		loads = append(loads, Load{Rate: r})
	}
	return loads
}

// Concurrencies are the loads of a closed loop.
func Concurrencies(workers ...int) (loads []Load) {
	for _, n := range workers {
		loads = append(loads, Load{Concurrency: n})
	}
	return loads
}

// defaultLadder is how far the default ladder goes, 1, 2, 4 … requests/s, if it is not saturated before.
const defaultLadder = 1 << 20

// Sweep runs a plan at one load after the other and reads the curve. Either all loads are rates or all are concurrencies;
// none at all are 1, 2, 4, 8 … requests/s until the system is saturated (Saturated) or the client is not sound. The plan has no Arrivals and no
// Concurrency, for the sweep sets them; each step has a seed of its own.
//
// An open loop shows what a system can take: a closed one slows down with it. At a concurrency that is too high there is no
// backlog that grows, only answers that take longer.
//
// The error is about a plan, a load or an option that cannot be meant, a run that failed, or the context's cause where that
// ended the sweep; with the latter two there is a curve all the same, if a step was over.
func Sweep(ctx context.Context, run loadgen.Runner, p loadgen.Plan, loads []Load, opts ...Option) (*curve.Curve, error) {
	c, err := newConfig(opts, func(o Option) bool { return o.sweep }, "a search")
	if err != nil {
		return nil, err
	}
	if err := checkPlan(run, p); err != nil {
		return nil, err
	}
	if p.Concurrency > 0 {
		return nil, planError("Concurrency", "has to be 0: the loads say it")
	}
	if len(loads) == 0 {
		for rate := 1.0; rate <= defaultLadder; rate *= 2 {
			loads = append(loads, Load{Rate: rate})
		}
		c.stops = append(c.stops, Saturated(), unsound)
	}
	axis, err := axisOf(loads)
	if err != nil {
		return nil, err
	}
	points, stopped, err := steps(ctx, run, p, loads, c)
	if len(points) == 0 {
		return nil, err
	}
	read, e := curve.New(axis, points, curve.WithHeadroom(c.headroom))
	if e != nil {
		return nil, errors.Join(err, e)
	}
	read.Stopped = stopped
	return read, err
}

func axisOf(loads []Load) (curve.Axis, error) {
	for i, l := range loads {
		of := fmt.Sprintf("load %d", i)
		switch {
		case l.Rate != 0 && l.Concurrency != 0:
			return "", refuse(of, "a rate and a concurrency: give one of them")
		case (l.Rate != 0) != (loads[0].Rate != 0):
			return "", refuse(of, "%v, where load 0 is %v: a curve has one axis, rates or concurrencies", l, loads[0])
		case l.Concurrency < 0 || l.Rate < 0 || math.IsNaN(l.Rate) || math.IsInf(l.Rate, 0) || l.Rate == 0 && l.Concurrency == 0:
			return "", refuse(of, "none: give a rate or a concurrency above 0")
		}
	}
	if loads[0].Rate > 0 {
		return curve.Rate, nil
	}
	return curve.Concurrency, nil
}

// steps runs the plan at the loads, until there is a reason to stop.
func steps(ctx context.Context, run loadgen.Runner, p loadgen.Plan, loads []Load, c config) (points []curve.Point, stopped string, err error) {
	seeds := rand.New(rand.NewPCG(p.Seed, 0x7377656570))
	for i, l := range loads {
		if i > 0 {
			if err := pause(ctx, c.pause); err != nil {
				return points, "", err
			}
		}
		p.Seed = seeds.Uint64()
		at := float64(l.Concurrency)
		if p.Concurrency = l.Concurrency; l.Rate > 0 {
			at, p.Arrivals = l.Rate, c.arrivals(l.Rate, p.Seed)
		}
		res, err := once(ctx, run, p)
		if err != nil {
			return points, "", err
		}
		points = append(points, curve.Point{Load: at, Report: res.Report})
		if c.step != nil {
			c.step(points[i])
		}
		for _, stop := range c.stops {
			if why := stop(points); why != "" && i+1 < len(loads) {
				return points, fmt.Sprintf("after %d of %d loads, at %v: %s", i+1, len(loads), l, why), nil
			}
		}
	}
	return points, "", nil
}

// Stop says why a sweep is to end after the steps so far, the last one of which is new; "": it is not.
type Stop func(steps []curve.Point) string

// gainLeast is the part of the load's growth that throughput has to grow by.
const gainLeast = 0.1

// Saturated stops where throughput has grown by less than a tenth of what the load has, since the step before: more load
// gives longer queues and nothing else.
func Saturated() Stop {
	return func(steps []curve.Point) string {
		n := len(steps)
		if n < 2 || steps[n-1].Load <= steps[n-2].Load {
			return ""
		}
		a, b := steps[n-2], steps[n-1]
		if gain := b.Report.ThroughputRPS/a.Report.ThroughputRPS - 1; gain < gainLeast*(b.Load/a.Load-1) {
			return fmt.Sprintf("saturated: throughput is %s requests/s where it was %s at load %s", figure.Number(b.Report.ThroughputRPS),
				figure.Number(a.Report.ThroughputRPS), figure.Number(a.Load))
		}
		return ""
	}
}

// unsound stops where the client was not, for at more load it is not either.
func unsound(steps []curve.Point) string {
	if h := steps[len(steps)-1].Report.Health; h != nil && h.Verdict == goodput.Invalid {
		return "the client was not sound"
	}
	return ""
}

// Hopeless stops where the SLO is missed and less than this share of the requests was good.
func Hopeless(attainment float64) Stop {
	return func(steps []curve.Point) string {
		r := steps[len(steps)-1].Report
		if r.Verdict == goodput.Missed && r.Attainment < attainment {
			return fmt.Sprintf("the SLO is out of reach: %s of the requests were good, less than %s", figure.Share(r.Attainment), figure.Percent(attainment))
		}
		return ""
	}
}

// Errors stops where more than this share of the requests was no success.
func Errors(share float64) Stop {
	return func(steps []curve.Point) string {
		r := steps[len(steps)-1].Report
		if failed := 1 - float64(r.Outcomes[goodput.Success])/float64(r.Offered); failed > share {
			return fmt.Sprintf("%s of the requests failed, more than %s", figure.Share(failed), figure.Percent(share))
		}
		return ""
	}
}
