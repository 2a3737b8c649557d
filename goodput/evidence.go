package goodput

import "math"

// An evidence is what a share is judged by: batches in the order of Start, and how near their values come to the threshold
// of an objective whose percentile, as a share, is p.
type evidence struct {
	batches []batch
	reach   float64 // the greatest value over the threshold (of speed the threshold over the least); NaN: not known
	p       float64
	spread  float64 // from the least value to the greatest, over what is left from there to the threshold; NaN: not known
}

// withoutValues is e with nothing but its share.
func (e evidence) withoutValues() evidence {
	b := make([]batch, len(e.batches))
	for i, one := range e.batches {
		b[i] = batch{n: one.n, y: one.y}
	}
	return evidence{batches: b, reach: math.NaN(), spread: math.NaN()}
}

// evidence is what objective i is judged by.
func (k *books) evidence(chk *checker, i int) evidence {
	rule := &chk.rules[i]
	return evidence{k.batches(k.slices.within(i), k.slices.excluded(i), k.seriesOf(rule.metric)), k.reach(rule),
		targetOf(chk.slo.Objectives[i]), k.spread(rule)}
}

// evidenceOfGood is what the share of good requests is judged by: one piece for each objective that decides whether a
// request is good, with its values. That share, and so each of those that have to be in time for it, is held against the
// target; 0: against each objective's own. Where classes have objectives of their own (nil), e2e has to do.
func (k *books) evidenceOfGood(chk *checker, target float64) (all []evidence) {
	if chk == nil {
		return []evidence{{batches: k.batches(nGood, -1, 0), reach: math.NaN(), spread: math.NaN()}}
	}
	for i := range chk.rules {
		rule := &chk.rules[i]
		if rule.kind.population() {
			continue
		}
		one := evidence{k.batches(nGood, -1, k.seriesOf(rule.metric)), k.reach(rule), target, k.spread(rule)}
		if target == 0 {
			one.p = targetOf(chk.slo.Objectives[i])
		}
		all = append(all, one)
	}
	if all == nil {
		all = []evidence{{batches: k.batches(nGood, -1, -1), reach: math.NaN(), spread: math.NaN()}}
	}
	return all
}

// batches are the slices in which requests of the cohort started, with what a column counts in them, without those that
// another one counts (−1: none), and the values of a series (−1: none).
func (k *books) batches(column, excluded, series int) []batch {
	s := k.slices
	out := make([]batch, 0, s.n)
	for row := range s.n {
		n := s.count(row, nCohort)
		if excluded >= 0 {
			n -= s.count(row, excluded)
		}
		if n == 0 {
			continue
		}
		one := batch{n: float64(n), y: float64(s.count(row, column))}
		if series >= 0 {
			v := s.sums[(row*s.series+series)*3:][:3]
			one.k, one.x, one.x2 = v[0], v[1], v[2]
		}
		out = append(out, one)
	}
	return out
}

// reach is how near the values come to a threshold. It is not known where requests brought thresholds of their own.
func (k *books) reach(r *rule) float64 {
	if k.notes.Limits > 0 {
		return math.NaN()
	}
	limit := float64(r.limit) / 1e9
	if r.kind == kCustom {
		if d := k.customs[r.metric]; d != nil && r.custom > 0 && d.Min() >= 0 {
			return d.Max() / r.custom
		}
		return math.NaN()
	}
	d := k.distribution(int(r.kind))
	switch {
	case d == nil || limit <= 0: // a threshold that only grows with the output is above 0, by nobody knows how much
		return math.NaN()
	case r.kind == mSpeed:
		return limit / d.Min()
	}
	return d.Max() / limit
}

// spread is how far the values of a time reach from each other, in what is left of its threshold.
func (k *books) spread(r *rule) float64 {
	limit := float64(r.limit) / 1e9
	if k.notes.Limits > 0 || r.kind == kCustom || r.kind == mSpeed {
		return math.NaN()
	}
	d := k.distribution(int(r.kind))
	if d == nil || d.Max() >= limit {
		return math.NaN()
	}
	return (d.Max() - d.Min()) / (limit - d.Max())
}
