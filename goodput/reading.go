package goodput

import (
	"github.com/goodputkit/goodputkit/slo"
)

// A Reading is a record that has been read once, to be held against thresholds of all kinds. It is for questions that
// are asked after a run, of other thresholds than the SLO's: a [Judge] decides by an SLO, and says more.
type Reading struct {
	sample sample
	record *Record
}

// Read reads r, which must not change as long as the Reading is used. What cannot be meant is read as
// [Accumulator.Observe] says.
func (r *Record) Read() Reading { return Reading{measure(r), r} }

// Holds reports whether the request holds o, by its metric and threshold alone: exactly as an Accumulator compares, but
// for the outcome, the percentile and the threshold that the request may have brought along, none of which it looks at.
// Where the metric is undefined rule decides, "" being the default one; excluded says that it leaves the objective's
// share and decides nothing about good. A metric of a population is no request's and never holds.
func (v *Reading) Holds(o slo.Objective, rule slo.UndefinedRule) (holds, excluded bool) {
	k, ok := kindOf(o.Metric)
	if !ok || k.population() {
		return false, false
	}
	r := ruleOf(o, k, rule)
	within, undef := r.decide(&v.sample, v.record)
	return within, undef && r.undef == undefExcluded
}

// Own is the threshold on m that the request brought along, and whether it is one that can be meant. It counts only
// where the SLO of the request's class has an objective on m.
func (v *Reading) Own(m slo.Metric) (slo.Threshold, bool) {
	limit, ok := v.record.Limits[m]
	k, known := kindOf(m)
	if !ok || !known || k.population() || !usableLimit(k, limit) {
		return slo.Threshold{}, false
	}
	return slo.Threshold{Limit: limit}, true
}

// OutputTokens is N, of the definitions: as the server counted them or, where that is less, those that were seen. 0:
// nobody knows.
func (v *Reading) OutputTokens() uint64 { return uint64(v.sample.n) }

// Place is where an Accumulator that has observed the record has booked it: under which class, and whether it is in the
// cohort (its Start is in the window) and in the flow (its end is). A record that was refused is in neither.
func (a *Accumulator) Place(v *Reading) (class string, cohort, flow bool) {
	if !validStart(v.record.Start) {
		return "", false, false
	}
	c, _ := a.class(v.record.Class)
	start := a.at(v.record.Start)
	f := a.place(start, start+v.sample.e2e)
	return c.name, f&inCohort != 0, f&inFlow != 0
}

// Each has [ReadReport] call f for each record, after the Accumulator whose report it will return has observed it, so that
// more can be made of the records in the one pass. The record is f's to keep. [ReadRecords] alone does not call it.
func Each(f func(*Accumulator, *Record)) ReadOption { return func(r *RecordReader) { r.each = f } }
