package curve

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// State says whether a curve crosses the SLO line.
type State string

// The states.
const (
	Crosses State = "crosses"  // between two loads that were measured
	AtLeast State = "at least" // met at every load: the limit is no lower than the highest
	Below   State = "below"    // met at none: the limit is lower than the lowest
	Unknown State = "unknown"  // no load has anything to judge
)

// Crossing is the load at which an SLO, or one objective, stops being met.
type Crossing struct {
	State State
	Load  float64 // interpolated; NaN where the curve does not cross
	// Lo and Hi are the bracket: the last load at which the sample meets it and the next one, at which it does not. Where the
	// limit is at least Lo, Hi is NaN; where it is below Hi, Lo is.
	Lo, Hi    float64
	Objective string     // that stops being met first, with its class where classes have SLOs of their own; "": the curve does not cross
	Shown     [2]float64 // the highest load whose verdict is met, below the lowest whose verdict is missed, and that one; NaN: none
}

// Step is the goodput limit of one objective, if it were held at a percentile.
type Step struct {
	Class      string // "" where all are judged by one SLO
	Objective  slo.Objective
	Percentile slo.Percentile
	Crossing
}

// stepsAt are the percentiles that an objective is read at, beside its own.
var stepsAt = []slo.Percentile{slo.P50, slo.P90, slo.P95, slo.P99}

// judged is one objective at one load.
type judged struct {
	class     string
	objective slo.Objective
	bad, n    float64
	leaves    float64 // the share that may be bad
}

// holds reports whether the sample meets it. Counts are whole numbers, and a share that is exactly the target meets it.
func (j judged) holds() bool { return j.n > 0 && j.bad <= j.leaves*j.n+1e-6 }

// logit of the bad share, with half a request added to either side.
func (j judged) logit() float64 { return math.Log((j.bad + 0.5) / (j.n - j.bad + 0.5)) }

func (j judged) line() float64 { return math.Log(j.leaves / (1 - j.leaves)) }

func (j judged) name() string {
	if j.class == "" {
		return j.objective.String()
	}
	return j.class + ": " + j.objective.String()
}

// objectives are those of a load, their counts added over its replicates.
func (l load) objectives() (all []judged) {
	for i, r := range l.reports {
		k := 0
		each(r, func(class string, o goodput.ObjectiveResult) {
			j := judged{class: class, objective: o.Objective, n: float64(o.N), leaves: 1 - o.Target}
			if o.N > 0 {
				j.bad = math.Round((1 - o.Share) * j.n)
			}
			if o.Objective.Metric == slo.ErrorRate {
				j.bad, j.leaves = j.n-j.bad, o.Target
			}
			if i == 0 {
				all = append(all, j)
			} else if k < len(all) {
				all[k].bad, all[k].n = all[k].bad+j.bad, all[k].n+j.n
			}
			k++
		})
	}
	return all
}

// each calls f for each objective of a report or, where classes have SLOs of their own, of each class.
func each(r *goodput.Report, f func(class string, o goodput.ObjectiveResult)) {
	for _, o := range r.Objectives {
		f("", o)
	}
	if len(r.Objectives) > 0 {
		return
	}
	for _, class := range slices.Sorted(maps.Keys(r.Classes)) {
		for _, o := range r.Classes[class].Objectives {
			f(class, o)
		}
	}
}

// cross finds where the objectives that only returns of a load, or all of them, stop being met.
func (c *Curve) cross(loads []load, only func([]judged) []judged) Crossing {
	all := only == nil
	if all {
		only = func(j []judged) []judged { return j }
	}
	x := Crossing{State: Unknown, Load: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Shown: [2]float64{math.NaN(), math.NaN()}}
	var before []judged
	for _, l := range loads {
		now := only(l.objectives())
		if len(now) == 0 || slices.ContainsFunc(now, func(j judged) bool { return j.n == 0 }) {
			continue
		}
		held := !slices.ContainsFunc(now, func(j judged) bool { return !j.holds() })
		switch {
		case held && math.IsNaN(x.Hi):
			x.State, x.Lo, before = AtLeast, l.at, now
		case held && all:
			c.Warnings = append(c.Warnings, fmt.Errorf("%w: %s and %s", ErrNotMonotone, c.Axis.Text(l.at), c.Axis.Text(x.Hi)))
		case !held && math.IsNaN(x.Hi):
			if x.Hi = l.at; x.State == Unknown {
				x.State = Below
				continue
			}
			x.State = Crosses
			x.between(before, now)
		}
	}
	if all {
		x.shown(loads)
	}
	return x
}

// between interpolates: the first of the objectives to cross decides.
func (x *Crossing) between(lo, hi []judged) {
	for i := range min(len(lo), len(hi)) {
		if hi[i].holds() {
			continue
		}
		a, b, at := lo[i].logit(), hi[i].logit(), hi[i].line()
		share := 0.0
		if b > a {
			share = min(max((at-a)/(b-a), 0), 1)
		}
		if load := x.Lo + share*(x.Hi-x.Lo); math.IsNaN(x.Load) || load < x.Load {
			x.Load, x.Objective = load, hi[i].name()
		}
	}
}

// shown is what the verdicts show.
func (x *Crossing) shown(loads []load) {
	verdict := func(l load, v goodput.Verdict) bool {
		return !slices.ContainsFunc(l.reports, func(r *goodput.Report) bool { return r.Verdict != v })
	}
	for _, l := range loads {
		switch {
		case verdict(l, goodput.Missed):
			x.Shown[1] = l.at
			return
		case verdict(l, goodput.Met):
			x.Shown[0] = l.at
		}
	}
}

// steps are the goodput limits of each objective at each percentile, its own among them.
func (c *Curve) steps(loads []load) (all []Step) {
	if len(loads) == 0 {
		return nil
	}
	for i, j := range loads[0].objectives() {
		if j.objective.Metric.Population() {
			continue
		}
		at := slices.Clone(stepsAt)
		if p := j.objective.Percentile; !slices.Contains(at, p) {
			at = append(at, p)
			slices.Sort(at)
		}
		for _, p := range at {
			x := c.cross(loads, func(all []judged) []judged {
				if i >= len(all) {
					return nil
				}
				one := all[i]
				one.leaves = 1 - float64(p.PPM())/1e6
				one.objective.Percentile = p
				return []judged{one}
			})
			all = append(all, Step{Class: j.class, Objective: j.objective, Percentile: p, Crossing: x})
		}
	}
	return all
}
