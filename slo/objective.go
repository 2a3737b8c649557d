package slo

import "fmt"

// Objective has three parts: what is measured, for which share of the requests it has to hold, and the limit. The
// population metrics, ErrorRate and Attainment, have no percentile (0).
//
// One request holds the objective when metric ≤ threshold, or ≥ where higher is better: inclusive, whichever of < and
// <= was written. A population holds it when enough of its requests do: see Reached.
type Objective struct {
	Metric     Metric
	Percentile Percentile
	Threshold  Threshold
}

// Reached reports whether a population of total requests holds the objective, compared in integers and not by a
// division. What count counts depends on the objective: requests within the threshold for one with a percentile,
// requests that did not succeed for ErrorRate, good requests for Attainment. A population of none holds no objective.
//
//	percentile   count · 10⁶ ≥ PPM · total
//	error_rate   count · 10⁹ ≤ threshold in billionths · total
//	attainment   count · 10⁹ ≥ threshold in billionths · total
func (o Objective) Reached(count, total uint64) bool {
	if !o.Metric.Population() {
		return o.Percentile.Reached(count, total)
	}
	if total == 0 {
		return false
	}
	limit, _ := o.Threshold.Billionths()
	share := uint64(max(limit, 0))
	if o.Metric.HigherIsBetter() {
		return !lessProduct(count, billion, total, share)
	}
	return !lessProduct(total, share, count, billion)
}

// Budget is the objective's error budget: the share of a population that may break it, in whole billionths. 50,000,000 of a P95, whose
// requests may be late or fail; 10,000,000 of error_rate < 1%; what an attainment leaves.
func (o Objective) Budget() (billionths int64) {
	if !o.Metric.Population() {
		return billion - int64(o.Percentile.PPM())*1000
	}
	limit, _ := o.Threshold.Billionths()
	if o.Metric.HigherIsBetter() {
		return billion - limit
	}
	return limit
}

// Validate refuses an objective with a part missing or with one that cannot be meant. The error says which part, and
// wraps ErrMetric, ErrPercentile or ErrThreshold.
func (o Objective) Validate() error {
	if err := o.check(); err != nil {
		return &invalidError{where: "objective " + quote(o.String()), err: o.advise(err)}
	}
	return nil
}

func (o Objective) check() error {
	if err := o.Metric.check(); err != nil {
		return err
	}
	if o.Metric.Population() {
		if o.Percentile != 0 {
			return noPercentile(o.Metric)
		}
	} else if err := o.Percentile.check(); err != nil {
		return err
	} else if err := o.Percentile.checkFor(o.Metric); err != nil {
		return err
	}
	return o.Threshold.check(o.Metric)
}

func noPercentile(m Metric) error {
	return problemf(ErrPercentile, "%s is judged on the population and has no percentile", m)
}

func (o Objective) comparison() string {
	if o.Metric.HigherIsBetter() {
		return ">="
	}
	return "<"
}

// String is the objective's canonical text: "ttft p95 < 800ms", "speed p95 >= 25tok/s", "e2e p95 < 1s + 40ms/token",
// "error_rate < 1%". Parse gives the objective back. The text of an invalid objective is for people only.
func (o Objective) String() string {
	percentile := ""
	if o.Percentile != 0 || !o.Metric.Population() {
		percentile = " " + o.Percentile.String()
	}
	if o.Metric.check() != nil || o.Threshold.check(o.Metric) != nil {
		per := ""
		if o.Threshold.PerToken != 0 {
			per = fmt.Sprintf(" + %v/token", o.Threshold.PerToken)
		}
		return fmt.Sprintf("%s%s %s %v%s", o.Metric, percentile, o.comparison(), o.Threshold.Limit, per)
	}
	return string(o.Metric) + percentile + " " + o.comparison() + " " + o.Threshold.text(o.Metric)
}

// MarshalText is the canonical text, or Validate's error.
func (o Objective) MarshalText() ([]byte, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return []byte(o.String()), nil
}

// UnmarshalText is ParseObjective. On an error o is left as it was.
func (o *Objective) UnmarshalText(text []byte) error {
	p, err := ParseObjective(string(text))
	if err == nil {
		*o = p
	}
	return err
}

// advise adds to an error of the objective the valid one that is nearest.
func (o Objective) advise(err error) error {
	if o.Metric.check() != nil {
		if o.Metric = o.Metric.nearest(); o.Metric == "" {
			return err
		}
	}
	if o.Percentile = o.Percentile.nearest(); o.Metric.Population() {
		o.Percentile = 0
	} else if o.Percentile.checkFor(o.Metric) != nil {
		o.Percentile = o.Percentile.rest()
	}
	if o.Threshold.check(o.Metric) != nil {
		if o.Threshold.PerToken = 0; o.Threshold.check(o.Metric) != nil {
			o.Threshold = exampleThreshold(o.Metric)
		}
	}
	return advise(err, o.String())
}

// exampleThreshold is one to show where there is none.
func exampleThreshold(m Metric) Threshold {
	switch m.kind() {
	case timeKind:
		if m == TPOT || m == ITL || m == Lag {
			return Threshold{Limit: 0.05}
		}
		return Threshold{Limit: 2}
	case speedKind:
		return Threshold{Limit: 25}
	case ratioKind:
		if m.HigherIsBetter() {
			return Threshold{Limit: 0.9}
		}
		return Threshold{Limit: 0.01}
	}
	return Threshold{Limit: 0.5}
}
