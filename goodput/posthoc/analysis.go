package posthoc

import (
	"maps"
	"math"
	"slices"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Label is what every figure of this package is, in text and in JSON.
const Label = "chosen after the run"

// Analysis is a run, and what it would have been by other thresholds. All of it but Report is chosen after the run.
type Analysis struct {
	Report     *goodput.Report // by the SLO that was fixed before the run: the result
	Attainment float64         // the share that View.Attains is about
	Total      View            // of all requests
	Classes    []View          // of each class, by name, where the report has classes
}

// View is what one population would have been by other thresholds: chosen after the run.
type View struct {
	Class      string     // "" for the total
	SLO        slo.SLO    // that the scales are of; of a total whose classes have their own: the default one
	Offered    uint64     // requests of the cohort
	Curve      []Step     // from the lowest scale
	Tightest   Bound      // the least scale at which the sample meets the SLO; of a total whose classes have their own, those of each class that had requests
	Attains    Bound      // the least scale at which Analysis.Attainment of the requests are good
	Objectives []Tightest // each objective alone; none in a total whose classes have SLOs of their own
	Surface    *Surface   // nil where no success has a ttft, and in a total whose classes have SLOs of their own
}

// Step is a point of the SLO-scale curve: chosen after the run, but for that at scale 1, whose figures are the report's.
type Step struct {
	Scale           float64 // of all thresholds
	Good            uint64  // of the cohort
	Attainment      float64 // Good / offered; NaN: nobody was offered
	GoodputRPS      float64 // requests/s; NaN: the window has no length
	TokenGoodputTPS float64 // output tokens/s; likewise
	Holds           bool    // the sample meets the SLO; no verdict on the system
	Objectives      []Share // in the SLO's order; none in a total whose classes have SLOs of their own
}

// Share is what an objective would have been at a scale: chosen after the run. It is counted as goodput.ObjectiveResult is.
type Share struct {
	N      uint64  // requests in the share
	Count  uint64  // within the threshold; of error_rate: that failed; of attainment: that are good
	Share  float64 // Count / N; NaN: of nobody
	Holds  bool
	Scales bool // whether it depends on the scale at all: error_rate does not
}

// State says what a Bound is.
type State string

// The states.
const (
	Found  State = "found"
	AtMost State = "at most" // it holds at MinScale already, or does not depend on the scale
	Never  State = "never"   // it does not hold at MaxScale either: too many requests failed
	NoData State = "no data" // there were no requests
)

// Bound is a least scale: chosen after the run. Below 1 there was room between the SLO and what the run did; above 1 it
// takes an SLO that is so much looser.
type Bound struct {
	State State
	Scale float64 // NaN where it never holds or there is no data
}

// Tightest is the tightest threshold at which the sample meets an objective: chosen after the run.
type Tightest struct {
	Objective slo.Objective // as it was fixed before the run
	Bound
	At slo.Objective // Objective at Scale; zero where there is no Scale. Of a request with thresholds of its own they are scaled instead
}

func boundOf(s scale, offered uint64) Bound {
	switch {
	case offered == 0:
		return Bound{NoData, math.NaN()}
	case s == never:
		return Bound{Never, math.NaN()}
	case s == 0:
		return Bound{AtMost, s.float()}
	}
	return Bound{Found, s.float()}
}

func share(n, of uint64) float64 {
	if of == 0 {
		return math.NaN()
	}
	return float64(n) / float64(of)
}

func rate(n uint64, seconds float64) float64 {
	if !(seconds > 0) {
		return math.NaN()
	}
	return float64(n) / seconds
}

func (st *Study) analysis(r *goodput.Report) *Analysis {
	a := &Analysis{Report: r, Attainment: st.attainment}
	all := &population{slo: st.slo}
	if len(st.set) == 0 { // one SLO judges all
		all.objectives, all.surface = make([]objectiveCounts, len(st.slo.Objectives)), newGrid(st.slo, st.ttft, st.tpot)
	}
	for _, p := range st.classes {
		all.merge(p)
	}
	a.Total = st.view(r, all, all.tightest(r))
	if len(r.Classes) == 0 {
		return a
	}
	tightest := scale(0)
	for _, name := range slices.Sorted(maps.Keys(r.Classes)) {
		of, p := r.Classes[name], st.population(name)
		at := p.tightest(of)
		v := st.view(of, p, at)
		v.Class = name
		a.Classes = append(a.Classes, v)
		if of.Offered > 0 {
			tightest = max(tightest, at)
		}
	}
	if len(st.set) > 0 { // the total is met where each class is
		a.Total = st.view(r, all, tightest)
	}
	return a
}

// view is what is seen of a population, whose counts at scale 1 are those of its report.
func (st *Study) view(r *goodput.Report, p *population, tightest scale) View {
	v := View{SLO: p.slo, Offered: r.Offered, Surface: p.surface.surface(r.Offered, r.WindowS), Tightest: boundOf(tightest, r.Offered)}
	good, flow, tokens := p.good.upTo(st.steps), p.flow.upTo(st.steps), p.flowTokens.upTo(st.steps)
	for i, s := range st.steps {
		step := Step{Scale: s.float(), Good: good[i], GoodputRPS: rate(flow[i], r.WindowS),
			TokenGoodputTPS: rate(tokens[i], r.WindowS), Holds: r.Offered > 0 && s >= tightest}
		step.Attainment = share(step.Good, r.Offered)
		v.Curve = append(v.Curve, step)
	}
	for i := range p.objectives {
		for k, s := range p.shares(i, st.steps, good, r) {
			v.Curve[k].Objectives = append(v.Curve[k].Objectives, s)
		}
	}
	target := slo.Objective{Metric: slo.Attainment, Threshold: slo.Threshold{Limit: st.attainment}}
	v.Attains = boundOf(p.good.reach(func(n uint64) bool { return target.Reached(n, r.Offered) }), r.Offered)
	for i := range p.objectives {
		o, n := p.slo.Objectives[i], p.n(i, r)
		at := p.reach(i, r)
		t := Tightest{Objective: o, Bound: boundOf(at, n)}
		if n == 0 {
			v.Tightest = Bound{NoData, math.NaN()}
		} else if at < never {
			t.At = at.objective(o)
		}
		v.Objectives = append(v.Objectives, t)
	}
	return v
}

// n is how many requests are in the share of an objective.
func (p *population) n(i int, r *goodput.Report) uint64 { return r.Offered - p.objectives[i].excluded }

func failed(r *goodput.Report) uint64 { return r.Offered - r.Outcomes[goodput.Success] }

// shares are an objective's at each step, where so many are good.
func (p *population) shares(i int, steps []scale, good []uint64, r *goodput.Report) (all []Share) {
	o, n := p.slo.Objectives[i], p.n(i, r)
	var counted []uint64
	switch o.Metric {
	case slo.ErrorRate:
	case slo.Attainment:
		counted = good
	default:
		counted = p.objectives[i].within.upTo(steps)
	}
	for k := range steps {
		count := failed(r)
		if counted != nil {
			count = counted[k]
		}
		all = append(all, Share{N: n, Count: count, Share: share(count, n), Holds: o.Reached(count, n), Scales: counted != nil})
	}
	return all
}

// reach is the least scale at which the sample meets an objective.
func (p *population) reach(i int, r *goodput.Report) scale {
	o, n := p.slo.Objectives[i], p.n(i, r)
	reached := func(count uint64) bool { return o.Reached(count, n) }
	switch o.Metric {
	case slo.ErrorRate:
		if reached(failed(r)) {
			return 0
		}
		return never
	case slo.Attainment:
		return p.good.reach(reached)
	}
	return p.objectives[i].within.reach(reached)
}

// tightest is the least scale at which the sample meets every objective; never where one has nobody in its share.
func (p *population) tightest(r *goodput.Report) scale {
	s := scale(0)
	for i := range p.objectives {
		s = max(s, p.reach(i, r))
	}
	return s
}
