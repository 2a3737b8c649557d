package posthoc

import (
	"slices"
	"sort"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// axisScales are the thresholds of a side of the surface, where nobody names them, as shares of the SLO's.
var axisScales = []float64{0.4, 0.6, 0.8, 1, 1.25, 1.6, 2}

// What they are where the SLO has none.
var (
	usualTTFT = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}
	usualTPOT = []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond}
)

// axis is one side of a surface.
type axis struct {
	metric slo.Metric
	rule   slo.UndefinedRule
	judged bool // the SLO has an objective on the metric
	at     []time.Duration
	own    int // the SLO's own threshold: the tightest of those on the metric; −1: it has none
}

func newAxis(m slo.Metric, of slo.SLO, given, usual []time.Duration) axis {
	a := axis{metric: m, rule: of.Undefined[m], at: slices.Clone(given), own: -1}
	var tightest time.Duration
	for _, o := range of.Objectives {
		if t := o.Threshold.Duration(0); o.Metric == m && (!a.judged || t < tightest) {
			a.judged, tightest = true, t
		}
	}
	switch {
	case len(given) > 0:
	case a.judged:
		for _, f := range axisScales {
			s, _ := scaleOf(f)
			a.at = append(a.at, s.threshold(m, slo.Within(tightest)).Duration(0))
		}
	default:
		a.at = slices.Clone(usual)
	}
	if a.judged {
		a.at = append(a.at, tightest)
	}
	slices.Sort(a.at)
	a.at = slices.Compact(a.at)
	if a.judged {
		a.own, _ = slices.BinarySearch(a.at, tightest)
	}
	return a
}

// first is the index of the tightest threshold that the request holds; len(a.at) where it holds none. A threshold that it brought
// along takes the place of all of them.
func (a *axis) first(r *goodput.Record, v *goodput.Values) int {
	holds := func(t slo.Threshold) bool {
		within, excluded := v.Holds(slo.Objective{Metric: a.metric, Threshold: t}, a.rule)
		return within || excluded
	}
	if own, ok := r.Limit(a.metric); ok && a.judged {
		if holds(own) {
			return 0
		}
		return len(a.at)
	}
	return sort.Search(len(a.at), func(i int) bool { return holds(slo.Within(a.at[i])) })
}

// grid counts requests by the tightest thresholds that they hold.
type grid struct {
	ttft, tpot axis
	good, flow [][]uint64      // by the indices of the axes
	withTTFT   uint64          // successes of the cohort that have a ttft
	others     []slo.Objective // on one request, and on other metrics
}

func newGrid(of slo.SLO, ttft, tpot []time.Duration) *grid {
	g := &grid{ttft: newAxis(slo.TTFT, of, ttft, usualTTFT), tpot: newAxis(slo.TPOT, of, tpot, usualTPOT)}
	for range g.ttft.at {
		g.good, g.flow = append(g.good, make([]uint64, len(g.tpot.at))), append(g.flow, make([]uint64, len(g.tpot.at)))
	}
	for _, o := range of.Objectives {
		if m := o.Metric; m != slo.TTFT && m != slo.TPOT && !m.Population() {
			g.others = append(g.others, o)
		}
	}
	return g
}

// observe counts a success.
func (g *grid) observe(r *goodput.Record, v *goodput.Values, of slo.SLO, cohort, flow bool) {
	if _, seen := v.Value(slo.TTFT); seen && cohort {
		g.withTTFT++
	}
	for _, o := range g.others {
		if own, ok := r.Limit(o.Metric); ok {
			o.Threshold = own
		}
		if within, excluded := v.Holds(o, of.Undefined[o.Metric]); !within && !excluded {
			return
		}
	}
	i, j := g.ttft.first(r, v), g.tpot.first(r, v)
	if i == len(g.ttft.at) || j == len(g.tpot.at) {
		return
	}
	if cohort {
		g.good[i][j]++
	}
	if flow {
		g.flow[i][j]++
	}
}

func (g *grid) merge(o *grid) {
	g.withTTFT += o.withTTFT
	for i := range g.good {
		for j := range g.good[i] {
			g.good[i][j] += o.good[i][j]
			g.flow[i][j] += o.flow[i][j]
		}
	}
}

// sums are how many hold the thresholds at each place of a grid, or tighter ones.
func sums(of [][]uint64) [][]uint64 {
	all := make([][]uint64, len(of))
	for i := range of {
		all[i] = make([]uint64, len(of[i]))
		row := uint64(0)
		for j, n := range of[i] {
			row += n
			all[i][j] = row
			if i > 0 {
				all[i][j] += all[i-1][j]
			}
		}
	}
	return all
}

// Surface is attainment and goodput over thresholds on ttft and tpot in place of the SLO's, all its other objectives as they
// are: chosen after the run, each of its figures but that at Own. A threshold that a request brought along stays its own.
type Surface struct {
	TTFT       []float64   // thresholds, s, from the tightest: a row each
	TPOT       []float64   // thresholds, s/token, from the tightest: a column each
	Own        [2]int      // where the SLO's own thresholds are, whose figures are the report's; −1: it has none on that metric
	Good       [][]uint64  // of the cohort
	Attainment [][]float64 // Good / offered
	GoodputRPS [][]float64 // requests/s; NaN where the window has no length
}

func (g *grid) surface(offered uint64, seconds float64) *Surface {
	if g == nil || g.withTTFT == 0 {
		return nil
	}
	s := &Surface{Own: [2]int{g.ttft.own, g.tpot.own}, Good: sums(g.good)}
	for _, t := range g.ttft.at {
		s.TTFT = append(s.TTFT, t.Seconds())
	}
	for _, t := range g.tpot.at {
		s.TPOT = append(s.TPOT, t.Seconds())
	}
	flow := sums(g.flow)
	for i := range s.Good {
		s.Attainment = append(s.Attainment, nil)
		s.GoodputRPS = append(s.GoodputRPS, nil)
		for j := range s.Good[i] {
			s.Attainment[i] = append(s.Attainment[i], share(s.Good[i][j], offered))
			s.GoodputRPS[i] = append(s.GoodputRPS[i], rate(flow[i][j], seconds))
		}
	}
	return s
}
