package monitor

import (
	"math/bits"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// A group is an SLO with the classes that it judges: the default's, or a single class with an SLO of its own.
type group struct {
	name  string
	slo   slo.SLO
	judge *goodput.Judge

	each     []int  // index in the SLO of each objective that is about a request; j is an index in this
	excluded uint64 // those (by j) whose rule for an undefined value is that it is excluded
	watched  []watch
	objects  []objective
}

// objective is one that has a budget.
type objective struct {
	slo.Objective
	text    string
	allowed float64 // share of the decided that may be bad
	j       int     // index in each; −1: it is about the population
}

// A watch is an objective that can be violated before the request has ended.
type watch struct {
	j      int
	metric slo.Metric
	limit  int64 // ns; never: it grows with the output
}

func newGroup(name string, s slo.SLO) *group {
	g := &group{name: name, slo: s, judge: goodput.NewJudge(s, nil)}
	for i, o := range s.Objectives {
		one := objective{Objective: o, text: o.String(), allowed: Allowed(o), j: -1}
		if !o.Metric.Population() {
			one.j = len(g.each)
			g.each = append(g.each, i)
			rule := s.Undefined[o.Metric]
			if rule == slo.UndefinedExcluded {
				g.excluded |= 1 << one.j
			}
			g.watch(one, rule)
		}
		g.objects = append(g.objects, one)
	}
	return g
}

func (g *group) watch(o objective, rule slo.UndefinedRule) {
	limit, perToken := o.Threshold.Billionths()
	if perToken != 0 {
		limit = never // but by a limit that the request brings along
	}
	switch o.Metric {
	case slo.TTFT, slo.TTFO, slo.ServiceTTFT:
		if rule == slo.UndefinedHolds || rule == slo.UndefinedExcluded {
			return // none at all may do no harm
		}
	case slo.E2E, slo.ServiceE2E:
	default:
		return
	}
	g.watched = append(g.watched, watch{o.j, o.Metric, limit})
}

// all is the mask of the objectives that are about a request.
func (g *group) all() uint64 { return 1<<len(g.each) - 1 }

// verdict is what the SLO says of a record that ended.
type verdict struct {
	outcome                     goodput.Outcome
	good                        bool
	first                       int    // j of the objective under which a success is lost; −1: none
	missed, undefined, excluded uint64 // by j
	in, out                     uint64
}

// judgeRecord fills v.
func (g *group) judgeRecord(r *goodput.Record, v *verdict) {
	var of goodput.Values
	by := g.judge.Measure(r, &of)
	*v = verdict{outcome: r.Outcome, good: by.Good, first: -1, in: uint64(of.InputTokens()), out: uint64(of.OutputTokens())}
	if !v.outcome.Valid() {
		v.outcome = goodput.ServerError
	}
	if v.outcome != goodput.Success {
		v.missed = g.all()
		return
	}
	for j, i := range g.each {
		bit := uint64(1) << j
		if by.Undefined(i) {
			v.undefined |= bit
			v.excluded |= bit & g.excluded
		}
		if by.Misses(i) {
			v.missed |= bit
		}
	}
	if v.missed != 0 {
		v.first = bits.TrailingZeros64(v.missed)
	}
}
