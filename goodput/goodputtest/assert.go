package goodputtest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// TestingT is what an assertion fails: a *testing.T, or a recorder.
type TestingT = assert.TestingT

// helper is what a *testing.T has, too. Whoever calls Helper is passed over where the test's line is looked for, so each function
// on the way to a failure calls it itself.
type helper interface{ Helper() }

// Meets asserts that the report's sample holds each objective of an SLO's text: enough of its requests were within the threshold,
// as [slo.Objective.Reached] counts. The report has to have counted the threshold, with the same rule for undefined values; the
// percentile may be another one. Error rate and attainment it has always counted, attainment by its own SLO.
func Meets(t TestingT, r *goodput.Report, text string) bool {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	return each(t, r, text, func(c *counted) string {
		if c.objective.Reached(c.count, c.n) {
			return ""
		}
		return c.short()
	})
}

// MeetsSurely asserts the verdict: that the sample shows of the system, at the report's confidence, that it meets each objective
// of an SLO's text. The report has to have judged that very objective. It fails, too, where the report says that its figures
// show the client and not the system (an invalid [goodput.ClientHealth]).
func MeetsSurely(t TestingT, r *goodput.Report, text string) bool {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	return each(t, r, text, func(c *counted) string {
		switch {
		case c.judged == nil:
			return fmt.Sprintf("%v was not judged: the report's SLO is %v; judge the run by an SLO that has it, or ask Meets for the sample", c.objective, c.report.SLO)
		case r.Health != nil && r.Health.Verdict == goodput.Invalid:
			return fmt.Sprintf("%v: the report shows the client and not the system: %s", c.objective, strings.Join(r.Health.Reasons, "; "))
		case c.judged.Verdict == goodput.Met:
			return ""
		case !c.judged.Holds:
			return c.short()
		}
		return c.unsure()
	})
}

// GoodputAtLeast asserts the report's goodput, in requests/s over its window. A window of no length has none.
func GoodputAtLeast(t TestingT, r *goodput.Report, rps float64) bool {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	switch {
	case absent(r) != "":
		return assert.Fail(t, absent(r))
	case !(rps > 0) || math.IsInf(rps, 1):
		return assert.Fail(t, fmt.Sprintf("a goodput of at least %v requests/s asks for nothing: it has to be a number above 0", rps))
	case r.GoodputRPS >= rps:
		return true
	case math.IsNaN(r.GoodputRPS):
		return assert.Fail(t, fmt.Sprintf("no goodput: the window has no length, and %s requests ended in it; at least %s/s were asked for",
			figure.Count(r.Flow.Ended), figure.Number(rps)))
	}
	var b lines
	b.add("", "goodput is %s requests/s, at least %s were asked for: %s short", digits(r.GoodputRPS), digits(rps), figure.Share(1-r.GoodputRPS/rps))
	b.add("sample", "%s of %s requests that ended in %s were good; throughput %s/s, attainment %s (%s)", figure.Count(r.Flow.Good),
		figure.Count(r.Flow.Ended), figure.Seconds(r.WindowS), digits(r.ThroughputRPS), figure.Share(r.Attainment), interval(r.AttainmentCI, r.Confidence))
	var lost []string
	for _, cause := range slices.Sorted(maps.Keys(r.Lost)) {
		lost = append(lost, figure.Count(r.Lost[cause])+" "+figure.Clean(cause, 80))
	}
	if len(lost) > 0 {
		b.add("lost", "%s", strings.Join(lost, ", "))
	}
	b.worst(r, func(*goodput.WorstRequest) bool { return true })
	return assert.Fail(t, b.String())
}

// absent says why there is no report; "": there is one.
func absent(r *goodput.Report) string {
	switch {
	case r == nil:
		return "there is no report: nil"
	case r.SLO.IsZero() && len(r.Classes) == 0:
		return "there is no report: it is empty, and no SLO has judged anything in it"
	}
	return ""
}

// each asserts something of each objective in text.
func each(t TestingT, r *goodput.Report, text string, broken func(*counted) string) bool {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	s, err := slo.Parse(text)
	switch {
	case err != nil:
		return assert.Fail(t, err.Error())
	case absent(r) != "":
		return assert.Fail(t, absent(r))
	}
	var all []string
	for _, o := range s.Objectives {
		c, missing := count(r, o, s.Undefined[o.Metric])
		switch {
		case missing != "":
			all = append(all, missing)
		case c.n == 0:
			all = append(all, fmt.Sprintf("%v: no data is no pass: no request started in the window, or the rule for undefined values excludes all of them", o))
		default:
			if message := broken(c); message != "" {
				all = append(all, message)
			}
		}
	}
	if len(all) == 0 {
		return true
	}
	return assert.Fail(t, strings.Join(all, "\n"))
}

// counted is what a report has counted that decides an objective.
type counted struct {
	report    *goodput.Report
	objective slo.Objective
	count, n  uint64                   // as slo.Objective.Reached wants them
	by        *goodput.ObjectiveResult // what was counted; nil: of error rate and attainment
	judged    *goodput.ObjectiveResult // the verdict on this very objective; nil: there is none
}

// count finds it, or says why there is none and what to do.
func count(r *goodput.Report, o slo.Objective, undefined slo.UndefinedRule) (*counted, string) {
	c := &counted{report: r, objective: o, n: r.Offered}
	for i := range r.Objectives {
		by := &r.Objectives[i]
		if by.Objective.Metric != o.Metric || by.Objective.Threshold != o.Threshold || r.SLO.Undefined[o.Metric] != undefined {
			continue
		}
		c.by = by
		if by.Objective.Percentile == o.Percentile {
			c.judged = by
			break
		}
	}
	switch {
	case o.Metric == slo.ErrorRate:
		c.count = r.Offered - r.Outcomes[goodput.Success]
		return c, ""
	case o.Metric == slo.Attainment:
		c.count = r.Good
		return c, ""
	case c.by != nil:
		c.count, c.n = c.by.Within, c.by.N
		return c, ""
	}
	if len(r.Objectives) == 0 && len(r.Classes) > 0 {
		return nil, fmt.Sprintf("%v was not counted over all classes, each of which has an SLO of its own: assert it of one (%s) by Report.Classes",
			o, strings.Join(slices.Sorted(maps.Keys(r.Classes)), ", "))
	}
	what := ""
	if c := slices.IndexFunc(r.Objectives, func(by goodput.ObjectiveResult) bool {
		return by.Objective.Metric == o.Metric && by.Objective.Threshold == o.Threshold
	}); c >= 0 {
		what = " with that rule for undefined values"
	}
	return nil, fmt.Sprintf("%v was not counted%s: the report's SLO is %v, and a share of any other threshold cannot be had from it afterwards; "+
		"judge the run by an SLO that has %v", o, what, r.SLO, o)
}

// short says of an objective that the sample does not hold how far it is from that.
func (c *counted) short() string {
	var b lines
	o := c.objective
	share := figure.Share(float64(c.count)/float64(c.n), float64(o.Percentile)/100, o.Threshold.Limit)
	switch o.Metric {
	case slo.ErrorRate:
		b.add("", "%v does not hold: %s of %s requests failed, at most %s may: %s fewer", o, share, figure.Count(c.n),
			figure.Percent(o.Threshold.Limit), figure.Count(c.count-c.edge()))
	case slo.Attainment:
		b.add("", "%v does not hold: %s of %s requests are good, %s have to be: %s more", o, share, figure.Count(c.n),
			figure.Percent(o.Threshold.Limit), figure.Count(c.edge()-c.count))
	default:
		b.add("", "%v does not hold: %s of %s requests are in time, %s have to be: %s more", o, share, figure.Count(c.n),
			figure.Percent(float64(o.Percentile)/100), figure.Count(c.edge()-c.count))
	}
	c.sample(&b)
	return b.String()
}

// edge is the count of the request that decides: the least that suffices or, of the error rate, the most that may fail.
func (c *counted) edge() uint64 {
	reached := func(k uint64) bool { return c.objective.Reached(k, c.n) }
	failing := c.objective.Metric == slo.ErrorRate
	lo, hi := uint64(0), c.n+1
	for lo < hi { // the first that is reached or, of the error rate, that is not
		if mid := lo + (hi-lo)/2; reached(mid) != failing {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if failing {
		return lo - 1
	}
	return lo
}

// unsure says of an objective that the sample holds why that shows nothing.
func (c *counted) unsure() string {
	var b lines
	b.add("", "%v holds of the sample, and that does not show that the system meets it: %s of %s requests, a longer run may", c.objective,
		figure.Share(c.judged.Share, c.judged.Target), figure.Count(c.n))
	c.sample(&b)
	for _, w := range c.report.Warnings {
		if !errors.Is(w, goodput.ErrUndefined) { // those are said of their objective
			b.add("warning", "%s", figure.Clean(w.Error(), 300))
		}
	}
	return b.String()
}

// sample says what the share is worth and what is beyond it.
func (c *counted) sample(b *lines) {
	r := c.report
	if j := c.judged; j != nil {
		text := interval(j.CI, r.Confidence) + ", verdict " + figure.Clean(string(j.Verdict), 20)
		if j.EffectiveN < float64(c.n) {
			text += fmt.Sprintf("; worth %s independent requests", figure.Number(math.Floor(j.EffectiveN)))
		}
		b.add("interval", "%s", text)
	}
	var rest, failed []string
	var failures uint64
	if c.by != nil && c.by.Missed > 0 {
		rest = append(rest, figure.Count(c.by.Missed)+" late")
	}
	if c.objective.Metric == slo.Attainment && r.Late > 0 {
		rest = append(rest, figure.Count(r.Late)+" late")
	}
	for _, o := range goodput.Outcomes() {
		if n := r.Outcomes[o]; o != goodput.Success && n > 0 {
			failures += n
			failed = append(failed, figure.Count(n)+" "+o.String())
		}
	}
	if failures > 0 {
		rest = append(rest, figure.Count(failures)+" failed: "+strings.Join(failed, ", "))
	}
	if len(rest) > 0 {
		b.add("the rest", "%s", strings.Join(rest, ", "))
	}
	metric := string(c.objective.Metric)
	if d, ok := r.Percentiles[metric]; ok && !c.objective.Metric.Population() {
		v := value(c.objective.Metric)
		b.add(metric, "P50 %s, P95 %s, at most %s, of %s successes", v(d.P50), v(d.P95), v(d.Max), figure.Count(d.N))
	}
	for _, w := range r.Warnings {
		if c.by != nil && errors.Is(w, goodput.ErrUndefined) && strings.HasSuffix(w.Error(), " "+c.by.Objective.String()) {
			b.add("warning", "%s", figure.Clean(w.Error(), 300))
		}
	}
	b.worst(r, func(w *goodput.WorstRequest) bool {
		switch {
		case w.Outcome != goodput.Success:
			return true
		case c.by != nil:
			return slices.Contains(w.Missed, c.by.Objective.String())
		}
		return c.objective.Metric == slo.Attainment
	})
}

// value prints a value of a metric.
func value(m slo.Metric) func(float64) string {
	switch {
	case m.IsTime():
		return figure.Seconds
	case m == slo.Speed:
		return func(v float64) string { return figure.Number(v) + " tok/s" }
	}
	return figure.Number
}

func interval(ci [2]float64, confidence float64) string {
	if math.IsNaN(ci[0]) {
		return "no interval: neighbours are too much alike"
	}
	return fmt.Sprintf("%s to %s (%s confidence)", figure.Share(ci[0]), figure.Share(ci[1]), figure.Percent(confidence))
}

func digits(v float64) string { return figure.Fixed(v, figure.Decimals(v, 4)) }
