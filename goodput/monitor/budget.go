package monitor

import (
	"math"
	"slices"
	"time"
)

// Burn is how an objective fared in a window. Rate is the burn rate: 1 spends the error budget in just the period, and so
// does any other number in a period divided by it. It is at most 1 / allowed, where all requests are bad.
//
//	rate = (bad / total) / (1 − target)
type Burn struct {
	Window time.Duration `json:"-"` // "window_s" in JSON, in seconds
	Bad    uint64        `json:"bad"`
	Total  uint64        `json:"total"`
	Share  Figure        `json:"bad_share"` // bad / total; absent where total is 0
	Rate   Figure        `json:"rate"`
}

// Budget is the error budget of an objective over the period up to now: of the requests in it so many may be bad. It is counted
// by requests, and not as a mean of shorter windows' shares.
//
//	left = 1 − bad / ((1 − target) · total)
type Budget struct {
	Bad   uint64 `json:"bad"`
	Total uint64 `json:"total"`
	Left  Figure `json:"left"` // 1: all; 0: none; below 0: overspent; absent where total is 0
}

// ObjectiveState is an objective with its budget and its burn rates.
type ObjectiveState struct {
	Objective string  `json:"objective"` // canonical text
	Allowed   float64 `json:"allowed"`   // share that may be bad
	Budget    Budget  `json:"budget"`
	Burns     []Burn  `json:"burns"` // over the windows of the state
}

// SLOState is an SLO with the classes that it judges: all those that have none of their own share the default's. Its
// budgets are those of its objectives: of a percentile what is left of 100 %, of error_rate the threshold, and for the requests
// that are not good, whatever they miss, that of an attainment objective. An SLO that has no such objective says nothing about
// how many may be good together, so there is no budget for it.
type SLOState struct {
	Name       string           `json:"name"` // "default", or the class; see [Monitor.SLONames]
	SLO        string           `json:"slo"`
	Objectives []ObjectiveState `json:"objectives"`
}

// reading is what is read of a monitor at one instant; each class's sums over a window are made once.
type reading struct {
	m       *Monitor
	now     int64
	flights []flight
	sums    map[sumKey][]uint64
}

type sumKey struct {
	of any // a class or a group
	d  time.Duration
}

// read settles, and returns with mu held.
func (m *Monitor) read() *reading {
	now, flights := m.settle()
	return &reading{m, now, flights, map[sumKey][]uint64{}}
}

// class is the counts of a class in a window.
func (r *reading) class(c *class, d time.Duration) []uint64 {
	key := sumKey{c, d}
	n, ok := r.sums[key]
	if !ok {
		i, first, last := extent(d, r.now)
		n = make([]uint64, c.ringCols())
		c.rings[i].sum(n, first, last)
		r.sums[key] = n
	}
	return n
}

// group is the counts of all classes of a group.
func (r *reading) group(g *group, d time.Duration) []uint64 {
	key := sumKey{g, d}
	n, ok := r.sums[key]
	if !ok {
		n = make([]uint64, g.ringCols())
		for _, c := range r.m.classes.Load().All {
			if c.group == g {
				addSlots(n, r.class(c, d), len(n))
			}
		}
		r.sums[key] = n
	}
	return n
}

// all is what the classes of all groups have in common.
func (r *reading) all(d time.Duration) []uint64 {
	n := make([]uint64, base)
	for _, g := range r.m.groups {
		addSlots(n, r.group(g, d), g.ringCols())
	}
	return n
}

// bad is how many of how many were bad by an objective.
func (o *objective) bad(g *group, n []uint64) (bad, total uint64) {
	switch {
	case o.j >= 0:
		return n[g.missed(o.j)], n[g.decided(o.j)]
	case o.Metric.HigherIsBetter(): // attainment
		return n[cDecided] - n[cGood], n[cDecided]
	}
	return n[cRecorded] - n[cSuccess], n[cRecorded]
}

func (r *reading) burn(g *group, o *objective, d time.Duration) Burn {
	bad, total := o.bad(g, r.group(g, d))
	share := ratio(bad, total)
	return Burn{Window: d, Bad: bad, Total: total, Share: share, Rate: share / Figure(o.allowed)}
}

func (r *reading) budget(g *group, o *objective) Budget {
	b := r.burn(g, o, r.m.period)
	return Budget{Bad: b.Bad, Total: b.Total, Left: 1 - b.Rate}
}

// SLONames are the names of the SLOs: the default's first, then the classes that have one of their own. The default's is "default"
// or, where a class of that name has its own, "default SLO".
func (m *Monitor) SLONames() []string {
	var all []string
	for _, g := range m.groups {
		all = append(all, g.name)
	}
	return all
}

// An ObjectiveBurn is a burn rate of one objective.
type ObjectiveBurn struct {
	SLO       string  `json:"slo"` // its name
	Objective string  `json:"objective"`
	Allowed   float64 `json:"allowed"`
	Burn
}

// Burns are the burn rates of all objectives over the last d, the default SLO's first. An error wraps [ErrWindow]: d is
// not between 1 s and [MaxWindow].
func (m *Monitor) Burns(d time.Duration) ([]ObjectiveBurn, error) {
	if err := checkWindow(d); err != nil {
		return nil, err
	}
	r := m.read()
	defer m.mu.Unlock()
	var all []ObjectiveBurn
	for _, g := range m.groups {
		for i := range g.objects {
			o := &g.objects[i]
			all = append(all, ObjectiveBurn{g.name, o.text, o.allowed, r.burn(g, o, d)})
		}
	}
	return all, nil
}

// shown are the windows of a state.
func (m *Monitor) shown() []time.Duration {
	all := slices.DeleteFunc(slices.Clone(windows), func(d time.Duration) bool { return d >= m.period })
	return append(all, m.period)
}

// wilsonLower is the lower end of the Wilson score interval of a share at z standard deviations.
//
//	(p + z²/2n − z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)
//
// E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
func wilsonLower(bad, total uint64, z float64) float64 {
	if total == 0 {
		return math.NaN()
	}
	n := float64(total)
	p := float64(bad) / n
	return max(0, (p+z*z/(2*n)-z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n)))/(1+z*z/n))
}
