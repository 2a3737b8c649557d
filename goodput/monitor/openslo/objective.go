package openslo

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/goodputkit/goodputkit/slo"
)

// objective is the one that an SLO is about. With an error it names the field.
func (f *file) objective(o *object[sloSpec], d *Document) (slo.Objective, string, error) {
	none, spec := slo.Objective{}, &o.Spec
	switch spec.BudgetingMethod {
	case occurrences:
	case "Timeslices", "RatioTimeslices":
		return none, "spec.budgetingMethod", fmt.Errorf("%s counts slices of time, and an objective is about requests: only %s can be meant",
			spec.BudgetingMethod, occurrences)
	default:
		return none, "spec.budgetingMethod", fmt.Errorf("%.40q is not %s", spec.BudgetingMethod, occurrences)
	}
	if n := len(spec.Objectives); n != 1 {
		return none, "spec.objectives", fmt.Errorf("there are %d, and each has to be an SLO of its own", n)
	}
	one := &spec.Objectives[0]
	if present(&one.TimeSliceTarget) || present(&one.TimeSliceWindow) {
		return none, "spec.objectives[0]", fmt.Errorf("there are no time slices where %s are counted", occurrences)
	}
	if present(&one.Indicator) || present(&one.IndicatorRef) || present(&one.CompositeWeight) {
		return none, "spec.objectives[0]", errors.New("it is of a composite SLO: each objective has to be an SLO of its own")
	}
	share, field, err := one.share()
	if err != nil {
		return none, "spec.objectives[0]." + field, err
	}
	sli, field, err := f.indicator(spec)
	if err != nil {
		return none, field, err
	}
	if present(&spec.AlertPolicies) {
		d.Warnings = append(d.Warnings, fmt.Errorf("left out: SLO %.70q: spec.alertPolicies", o.Metadata.Name))
	}
	return said(o.Metadata.Annotations, sli, one, share)
}

// share is the target in billionths.
func (o *objective) share() (n int64, field string, err error) {
	var x float64
	switch {
	case o.Target != nil && o.TargetPercent != nil:
		return 0, "target", errors.New("there is targetPercent, too")
	case o.Target != nil:
		x, field = *o.Target*1e9, "target"
	case o.TargetPercent != nil:
		x, field = *o.TargetPercent*1e7, "targetPercent"
	default:
		return 0, "target", errors.New("it has none")
	}
	switch n := math.Round(x); {
	case !(n > 0 && n < 1e9):
		return 0, field, errors.New("a share of the requests is above 0 and below all")
	case math.Abs(x-n) > 1e-3: // a product of two float64s of this size is nearer than a millionth
		return 0, field, errors.New("a share has at most nine decimals")
	default:
		return int64(n), "", nil
	}
}

// indicator is the SLO's own or the one that it refers to, with the queries that it has to have.
func (f *file) indicator(spec *sloSpec) (sli sliSpec, field string, err error) {
	switch {
	case spec.Indicator != nil && spec.IndicatorRef != "":
		return sli, "spec.indicatorRef", errors.New("there is an indicator, too")
	case spec.Indicator != nil:
		sli, field = spec.Indicator.Spec, "spec.indicator.spec"
	case spec.IndicatorRef == "":
		return sli, "spec.indicator", errors.New("there is neither one nor an indicatorRef")
	default:
		var ok bool
		if sli, ok = f.slis[spec.IndicatorRef]; !ok {
			return sli, "spec.indicatorRef", fmt.Errorf("there is no SLI %.70q in the file", spec.IndicatorRef)
		}
		field = "SLI " + strconv.Quote(spec.IndicatorRef) + ": spec"
	}
	r := sli.RatioMetric
	switch {
	case (sli.ThresholdMetric == nil) == (r == nil):
		return sli, field, errors.New("it has to have either a thresholdMetric or a ratioMetric")
	case r == nil:
		return sli, field, nil
	case r.Raw != nil && (r.Good != nil || r.Bad != nil || r.Total != nil):
		return sli, field + ".ratioMetric.raw", errors.New("there are other queries, too")
	case r.Raw != nil && r.RawType != "success" && r.RawType != "failure":
		return sli, field + ".ratioMetric.rawType", errors.New("it is success or failure")
	case r.Raw == nil && (r.Total == nil || (r.Good == nil) == (r.Bad == nil)):
		return sli, field + ".ratioMetric", errors.New("it has to have total and either good or bad, or raw")
	}
	return sli, field, nil
}

// said is the objective that the annotations and the fields say together.
func said(notes map[string]string, sli sliSpec, one *objective, share int64) (o slo.Objective, field string, err error) {
	text, m := notes[objectiveNote], slo.Metric(notes[metricNote])
	note := "metadata.annotations[" + metricNote + "]"
	if text != "" {
		note = "metadata.annotations[" + objectiveNote + "]"
		if o, err = slo.ParseObjective(text); err != nil {
			return o, note, err
		}
		if m != "" && m != o.Metric {
			return o, note, fmt.Errorf("%s is not of %.40q, as %s says", o, string(m), metricNote)
		}
		m = o.Metric
	}
	if m == "" {
		return o, "metadata.annotations", fmt.Errorf("neither a query nor a ratio says what makes a request good: add %s, such as \"ttft p95 < 800ms\", or %s, such as %q",
			objectiveNote, metricNote, string(slo.TTFT))
	}
	if err := m.Validate(); err != nil {
		return o, note, err
	}
	if r := sli.RatioMetric; r != nil {
		if text == "" {
			return ofRatio(m, share, note)
		}
		if err := r.checkQueries(o); err != nil {
			return o, "spec.indicator", err
		}
	} else {
		by, field, err := one.ofThreshold(m, share)
		if err != nil {
			return by, field, err
		}
		if text == "" {
			return by, "", nil
		}
		if by.String() != o.String() {
			return o, note, fmt.Errorf("%s is not %s, as op, value and target say", o, by)
		}
	}
	if target(o) != share {
		return o, note, fmt.Errorf("%s asks for %s%%, and the target is %s%%", o, percent(target(o)), percent(share))
	}
	return o, "", nil
}

// ofRatio is the objective of a share: of the successes or of the good.
func ofRatio(m slo.Metric, share int64, note string) (slo.Objective, string, error) {
	o := slo.Objective{Metric: m}
	switch m {
	case slo.ErrorRate:
		o.Threshold.Limit = float64(1e9-share) / 1e9
	case slo.Attainment:
		o.Threshold.Limit = float64(share) / 1e9
	default:
		return o, note, fmt.Errorf("a ratio does not say the threshold of %s: write the whole in %s", m, objectiveNote)
	}
	return o, note, o.Validate()
}

// ofThreshold is the objective of a thresholdMetric of a request's own values.
func (o *objective) ofThreshold(m slo.Metric, share int64) (slo.Objective, string, error) {
	const field = "spec.objectives[0]."
	by := slo.Objective{Metric: m, Percentile: slo.Percentile(float64(share/1e3) / 1e4)}
	ops := [2]string{"lt", "lte"}
	if m.HigherIsBetter() {
		ops = [2]string{"gt", "gte"}
	}
	switch {
	case m.Population():
		return by, "spec.indicator.spec.thresholdMetric", fmt.Errorf("%s is a share of requests, and no request has a value of it: it is of a ratioMetric", m)
	case o.Value == nil:
		return by, field + "value", errors.New("a thresholdMetric has one")
	case o.Op != ops[0] && o.Op != ops[1]:
		return by, field + "op", fmt.Errorf("%.20q is neither %s nor %s, as it has to be of %s", o.Op, ops[0], ops[1], m)
	case share%1e3 != 0:
		return by, field + "target", errors.New("a percentile has at most four decimals, and so a target six")
	}
	by.Threshold.Limit = *o.Value
	return by, field + "value", by.Validate()
}

// checkQueries refuses queries on this library's counters that are of another objective.
func (r *ratioMetric) checkQueries(o slo.Objective) error {
	good, total := r.Good.query(), r.Total.query()
	if !strings.Contains(good, ownCounters) && !strings.Contains(total, ownCounters) {
		return nil
	}
	of := "objective=" + strconv.Quote(o.String())
	for _, q := range []struct{ query, counter string }{{good, withinCounter}, {total, totalCounter}} {
		if !strings.Contains(q.query, q.counter+"{") || !strings.Contains(q.query, of) {
			return fmt.Errorf("the queries are not those of %s: on %s and %s, with %s", o, withinCounter, totalCounter, of)
		}
	}
	return nil
}

// query is the metric's where it has one as Prometheus' have; else "".
func (m *metric) query() string {
	if m == nil || m.MetricSource.Spec.Kind != yaml.MappingNode {
		return ""
	}
	all := m.MetricSource.Spec.Content
	for i := 0; i+1 < len(all); i += 2 {
		if all[i].Value == "query" && all[i+1].Kind == yaml.ScalarNode {
			return all[i+1].Value
		}
	}
	return ""
}
