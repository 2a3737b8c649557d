package goodput

import "github.com/goodputkit/goodputkit/slo"

// Holds reports whether the request holds o, by its metric and threshold alone: exactly as an Accumulator compares, but
// for the outcome, the percentile and the threshold that the request may have brought along, none of which it looks at.
// Where the metric is undefined rule decides, "" being the default one; excluded says that it leaves the objective's
// share and decides nothing about good. A metric of a population is no request's and never holds.
//
// It is for questions that are asked after a run, of other thresholds than the SLO's: a [Judge] decides by an SLO.
func (v *Values) Holds(o slo.Objective, rule slo.UndefinedRule) (holds, excluded bool) {
	k, ok := kindOf(o.Metric)
	if !ok || k.population() {
		return false, false
	}
	r := ruleOf(o, k, rule)
	within, undef := r.decide(&v.s, &Record{Custom: v.custom})
	return within, undef && r.undef == undefExcluded
}

// Limit is the threshold on m that the request brought along, and whether it is one that can be meant. It takes the place
// of its class's, and counts only where the SLO of the class has an objective on m.
func (r *Record) Limit(m slo.Metric) (slo.Threshold, bool) {
	limit, ok := r.Limits[m]
	k, known := kindOf(m)
	if !ok || !known || k.population() || !usableLimit(k, limit) {
		return slo.Threshold{}, false
	}
	return slo.Threshold{Limit: limit}, true
}

// Place is where an Accumulator that has observed r has booked it: under which class, and whether it is in the cohort (its
// Start is in the window) and in the flow (its end is). v is r.Measure(). A record that was refused is in neither.
func (a *Accumulator) Place(r *Record, v *Values) (class string, cohort, flow bool) {
	if !validStart(r.Start) {
		return "", false, false
	}
	c, _ := a.class(r.Class)
	start := a.at(r.Start)
	f := a.place(start, start+v.s.e2e)
	return c.name, f&inCohort != 0, f&inFlow != 0
}

// Each has [ReadReport] call f for each record, after the Accumulator whose report it will return has observed it, so that
// more can be made of the records in the one pass. The record is f's to keep. [ReadRecords] alone does not call it.
func Each(f func(*Accumulator, *Record)) ReadOption { return func(r *RecordReader) { r.each = f } }
