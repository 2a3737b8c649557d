package promrules

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
)

// The shape of promtool's unit tests.
type testFile struct {
	RuleFiles          []string   `yaml:"rule_files"`
	EvaluationInterval string     `yaml:"evaluation_interval"`
	Tests              []unitTest `yaml:"tests"`
}

type unitTest struct {
	Name   string      `yaml:"name"`
	Every  string      `yaml:"interval"`
	Input  []series    `yaml:"input_series"`
	Alerts []alertTest `yaml:"alert_rule_test"`
	Values []valueTest `yaml:"promql_expr_test,omitempty"`
}

type series struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type alertTest struct {
	At     string          `yaml:"eval_time"`
	Name   string          `yaml:"alertname"`
	Expect []expectedAlert `yaml:"exp_alerts"`
}

type expectedAlert struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

type valueTest struct {
	Expr   string          `yaml:"expr"`
	At     string          `yaml:"eval_time"`
	Expect []expectedValue `yaml:"exp_samples"`
}

type expectedValue struct {
	Labels string  `yaml:"labels"`
	Value  float64 `yaml:"value"`
}

// Tests are unit tests of the rules for promtool, by file name: one for each long window, since a file has one evaluation
// interval. rulesFile is what the rules' file is called from where the tests are. Each alert is shown traffic that is all good, then all bad, and
// good again: it has to be silent, to fire, and to end with its short window. Another sees no traffic at all, and must not fire.
func (r *Rules) Tests(rulesFile string) map[string][]byte {
	byLong := map[time.Duration][]alert{}
	for _, a := range r.alerts {
		long := a.rule.Long.Round(time.Millisecond) // as it is written
		byLong[long] = append(byLong[long], a)
	}
	files := map[string][]byte{}
	for _, long := range slices.Sorted(maps.Keys(byLong)) {
		// Half of the shortest of the short windows, which then has three samples; whole seconds.
		every := long
		for _, a := range byLong[long] {
			every = min(every, a.rule.Short/2)
		}
		every = max(every.Truncate(time.Second), time.Second)
		file := testFile{RuleFiles: []string{rulesFile}, EvaluationInterval: exposition.Duration(every)}
		file.Tests = r.unitTests(byLong[long], every)
		files["goodput-rules-"+exposition.Duration(long)+".test.yaml"] = encode(file)
	}
	return files
}

// perInterval is how many requests there are between two samples, of n in a long window: a hundred, or as many more as the evidence asks
// for. Where all n are bad the lower bound of their share is n/(n + z²), which is above θ from z²·θ/(1 − θ) on.
func (r *Rules) perInterval(alerts []alert, n int) int {
	need := 2 * float64(r.plan.Evidence)
	for _, a := range alerts {
		limit := a.rule.Threshold(monitor.Allowed(a.objective), r.plan.Period)
		need = max(need, 2*math.Pow(r.plan.z(), 2)*limit/(1-limit))
	}
	return max(100, int(math.Ceil(need/float64(n))))
}

// unitTests are those of the alerts with one long window.
func (r *Rules) unitTests(alerts []alert, every time.Duration) []unitTest {
	n := int(alerts[0].rule.Long/every) + 1 // samples of a long window
	per := r.perInterval(alerts, n)
	calm := 0
	for _, a := range alerts {
		calm = max(calm, int(a.rule.Short/every)+2)
	}
	at := func(samples int) string { return exposition.Duration(time.Duration(samples) * every) }
	w := exposition.Duration(alerts[0].rule.Long)
	busy := unitTest{Name: "the alerts over " + w + " fire when all are bad, and end", Every: exposition.Duration(every)}
	quiet := unitTest{Name: "the alerts over " + w + " say nothing without requests", Every: exposition.Duration(every)}
	input := func(name, values string) {
		if !slices.ContainsFunc(busy.Input, func(s series) bool { return s.Series == name }) {
			busy.Input = append(busy.Input, series{name, values})
			quiet.Input = append(quiet.Input, series{name, fmt.Sprintf("0x%d", n)})
		}
	}
	fires := map[string][]expectedAlert{}
	for _, a := range alerts {
		total, within := r.inputs(a)
		input(total, fmt.Sprintf("0+%dx%d", per, 2*n+calm))
		for _, series := range within {
			input(series, fmt.Sprintf("0+%dx%d %d+0x%d %d+%dx%d", per, n, n*per, n-1, n*per, per, calm))
		}
		fires[a.written.Alert] = append(fires[a.written.Alert], expectedAlert{a.labels, a.written.Annotations})
		bad := "objective:goodput_bad:ratio_rate" + w + r.plan.recorded(a.objective)
		busy.Values = append(busy.Values, valueTest{bad, at(n), []expectedValue{{bad, 0}}}, valueTest{bad, at(2 * n), []expectedValue{{bad, 1}}})
		quiet.Values = append(quiet.Values, valueTest{bad, at(n), []expectedValue{}})
	}
	for _, name := range slices.Sorted(maps.Keys(fires)) {
		silent := alertTest{at(n), name, []expectedAlert{}}
		busy.Alerts = append(busy.Alerts, silent, alertTest{at(2 * n), name, fires[name]}, alertTest{at(2*n + calm), name, []expectedAlert{}})
		quiet.Alerts = append(quiet.Alerts, silent)
	}
	return []unitTest{busy, quiet}
}

// inputs are the series that an alert is computed from: of all requests, and of those within.
func (r *Rules) inputs(a alert) (total string, within []string) {
	p := &r.plan
	match := func(more string) string {
		s := p.selector()
		if s == "{}" || more == "" {
			return "{" + s[1:len(s)-1] + more + "}"
		}
		return s[:len(s)-1] + "," + more + "}"
	}
	if p.Source == Goodput {
		of := p.own() + ",objective=" + strconv.Quote(a.objective.String())
		if _, one := p.Match["class"]; !one {
			of += `,class="default"`
		}
		return "goodput_objective_requests_total" + match(of), []string{"goodput_objective_within_requests_total" + match(of)}
	}
	edges := []float64{a.bound.Above}
	if !a.bound.Exact() && a.bound.Below > 0 {
		edges = append(edges, a.bound.Below)
	}
	for _, e := range edges {
		within = append(within, a.bound.Metric+"_bucket"+match(fmt.Sprintf("le=%q", number(e))))
	}
	return a.bound.Metric + "_count" + match(""), within
}
