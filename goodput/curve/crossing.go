package curve

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
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
	nth       int // of the objectives of the class
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
	return figure.Clean(j.class, 60) + ": " + j.objective.String()
}

// compare orders objectives by class, as those of a load are; 0 says that it is the same one.
func (j judged) compare(o judged) int {
	return cmp.Or(cmp.Compare(j.class, o.class), cmp.Compare(j.nth, o.nth))
}

// same finds an objective among those of a load: a class may have had no requests at it.
func same(all []judged, j judged) (judged, bool) {
	i, ok := slices.BinarySearchFunc(all, j, judged.compare)
	if !ok {
		return judged{}, false
	}
	return all[i], true
}

// objectives are those of a load, their counts added over its replicates.
func (l *load) objectives() (all []judged) {
	for _, r := range l.reports {
		class, nth := "", -1
		for name, o := range r.AllObjectives() {
			if nth++; name != class {
				class, nth = name, 0
			}
			j := judged{class: class, nth: nth, objective: o.Objective, n: float64(o.N), leaves: 1 - o.Target}
			if o.N > 0 {
				j.bad = math.Round((1 - o.Share) * j.n)
			}
			if o.Objective.Metric == slo.ErrorRate {
				j.bad, j.leaves = j.n-j.bad, o.Target
			}
			all = append(all, j)
		}
	}
	slices.SortStableFunc(all, judged.compare)
	added := all[:0]
	for _, j := range all {
		if n := len(added); n > 0 && added[n-1].compare(j) == 0 {
			added[n-1].bad, added[n-1].n = added[n-1].bad+j.bad, added[n-1].n+j.n
			continue
		}
		added = append(added, j)
	}
	return added
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
		now := only(l.judged)
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
	for _, j := range hi {
		if j.holds() {
			continue
		}
		share := 0.0 // of an objective that nobody judged at Lo: no more is known than that the others hold there
		if before, known := same(lo, j); known {
			if a, b, at := before.logit(), j.logit(), j.line(); b > a {
				share = min(max((at-a)/(b-a), 0), 1)
			}
		}
		if load := x.Lo + share*(x.Hi-x.Lo); math.IsNaN(x.Load) || load < x.Load {
			x.Load, x.Objective = load, j.name()
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
	var every []judged
	for _, l := range loads {
		every = append(every, l.judged...)
	}
	slices.SortStableFunc(every, judged.compare)
	for _, j := range slices.CompactFunc(every, func(a, b judged) bool { return a.compare(b) == 0 }) {
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
				one, ok := same(all, j)
				if !ok {
					return nil
				}
				one.leaves = 1 - float64(p.PPM())/1e6
				one.objective.Percentile = p
				return []judged{one}
			})
			all = append(all, Step{Class: j.class, Objective: j.objective, Percentile: p, Crossing: x})
		}
	}
	return all
}
