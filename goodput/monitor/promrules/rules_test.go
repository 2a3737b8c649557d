package promrules_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/slo"
)

// required: Prometheus' tools have to be there, and every plan is shown to them.
var required = os.Getenv("GOODPUT_PROMETHEUS") == "required"

// promtool is the path of Prometheus' own tool. Without it the test is skipped, unless GOODPUT_PROMETHEUS=required.
func promtool(t *testing.T) string {
	path, err := exec.LookPath("promtool")
	if err != nil {
		if required {
			require.NoError(t, err)
		}
		t.Skip("no promtool here: ", err)
	}
	return path
}

// one is an alert. Where the source is what a test is about it is enough; promtool is slow with all the derived ones.
var one = []monitor.Rule{{Severity: monitor.Page, Budget: 0.01, Long: time.Hour, Short: 5 * time.Minute}}

var plans = map[string]promrules.Plan{
	"all kinds":  {SLO: slo.MustParse("ttft p95 < 800ms, e2e p90 < 1s + 40ms/token, speed p99 >= 20tok/s, error_rate < 1%, attainment >= 90%"), Period: 24 * time.Hour},
	"labels":     {SLO: slo.MustParse("ttft p99 < 800ms"), Match: map[string]string{"job": "api", "cluster": `a"b`}, Labels: map[string]string{"team": "serving"}},
	"quarter":    {SLO: slo.MustParse("ttft p95 < 800ms"), Period: 90 * 24 * time.Hour},
	"short":      {SLO: slo.MustParse("ttft p95 < 800ms, error_rate < 1%"), Period: time.Hour},
	"own alerts": {SLO: slo.MustParse("ttft p99 < 800ms"), Alerts: []monitor.Rule{{Severity: monitor.Page, Budget: 0.02, Long: time.Hour, Short: 5 * time.Minute}}},
	"vllm":       {SLO: slo.MustParse("ttft p95 < 800ms, tpot p95 < 50ms, itl p99 < 60ms, e2e p95 < 200ms"), Source: promrules.VLLM, Alerts: one, Match: map[string]string{"model_name": "m"}},
	"odd period": {SLO: slo.MustParse("ttft p90 < 800ms"), Period: 3605*time.Second + 400*time.Microsecond},
	"odd names":  {SLO: oddlyNamed, Alerts: one, Match: map[string]string{"class": "$datasource", "job": oddly}, Labels: map[string]string{"team": "{{{ $labels.slo }}}", "none": ""}},
	"extreme": {SLO: slo.MustParse("error_rate < 99.9999999%, attainment >= 99.9999999%, ttft p99.9999 < 1ns"), Evidence: 100_000,
		Alerts: []monitor.Rule{{Budget: 1.0 / 720, Long: time.Hour, Short: 5 * time.Minute}}},
	"sglang": {SLO: slo.MustParse("ttft p95 < 1s, itl p99 < 60ms, e2e p95 < 9s, tpot p95 < 50ms, error_rate < 1%"), Source: promrules.SGLang, Alerts: one},
}

// What YAML, PromQL, a template and Grafana each take for something of their own.
const oddly = "{{ $value }} {{`x`}} $datasource [[datasource]] \"q\" 'q' \\ \n # ~: {a=\"b\"} 日本語\u2028\x00"

var oddlyNamed = func() slo.SLO {
	s := slo.MustParse("ttft p95 < 800ms, error_rate < 1%")
	s.Name = oddly + " \xff\uFFFD"
	return s
}()

// Prometheus' own tool takes the rules, and the tests of them that are written beside them hold.
func TestPromtoolTakesRulesAndTests(t *testing.T) {
	tool := promtool(t)
	for name, p := range plans {
		t.Run(name, func(t *testing.T) {
			if name != "short" && !required {
				t.Skip("promtool takes seconds for each of the others: GOODPUT_PROMETHEUS=required has it take them")
			}
			dir := t.TempDir()
			rules, err := p.Rules()
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), rules.YAML(), 0o600))
			out, err := exec.Command(tool, "check", "rules", "--lint-fatal", filepath.Join(dir, "rules.yaml")).CombinedOutput()
			require.NoError(t, err, "%s", out)
			tests := rules.Tests("rules.yaml")
			require.NotEmpty(t, tests)
			args := []string{"test", "rules"}
			for file, text := range tests {
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
				args = append(args, filepath.Join(dir, file))
			}
			out, err = exec.Command(tool, args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// A test that is written must be able to fail: with another threshold in the rules it does.
func TestTheWrittenTestsCanFail(t *testing.T) {
	tool := promtool(t)
	rules, err := plans["short"].Rules()
	require.NoError(t, err)
	for i := range rules.Group.Rules {
		if rules.Group.Rules[i].Alert != "" {
			rules.Group.Rules[i].Expr = "vector(1) > 2"
		}
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), rules.YAML(), 0o600))
	for file, text := range rules.Tests("rules.yaml") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
		out, err := exec.Command(tool, "test", "rules", filepath.Join(dir, file)).CombinedOutput()
		require.Error(t, err, "%s", out)
	}
}

// The rules are YAML that reads back, and its alerts are the derived ones.
func TestAlertsAreTheDerivedOnes(t *testing.T) {
	s := slo.MustParse("ttft p95 < 800ms")
	rules, err := promrules.Plan{SLO: s}.Rules()
	require.NoError(t, err)
	var file struct{ Groups []promrules.Group }
	require.NoError(t, yaml.Unmarshal(rules.YAML(), &file))
	require.Equal(t, []promrules.Group{rules.Group}, file.Groups)
	var alerts []promrules.Rule
	for _, r := range file.Groups[0].Rules {
		if r.Alert != "" {
			alerts = append(alerts, r)
		}
	}
	require.NotContains(t, alerts[0].Labels["slo"], "{{")
	derived := monitor.DefaultRules(s.Objectives[0], monitor.DefaultPeriod)
	require.Len(t, alerts, len(derived))
	require.Equal(t, "GoodputBudgetBurnPage1h", alerts[0].Alert)
	require.Contains(t, alerts[0].Expr, "> 0.5\n", "of a P95 the fast one is at half bad, where 14.4 would need 72 %")
	require.Equal(t, "page", alerts[0].Labels["severity"])
}

// Whatever the SLO is called, an alert's label is that: Prometheus takes it for a template, which says so. promtool shows it, in TestPromtoolTakesRulesAndTests.
func TestLabelsAreNoTemplates(t *testing.T) {
	rules, err := plans["odd names"].Rules()
	require.NoError(t, err)
	for _, r := range rules.Group.Rules {
		if r.Alert == "" {
			require.Equal(t, oddly+" ??", r.Labels["slo"], "what is recorded is no template")
			continue
		}
		require.NotContains(t, r.Labels, "none", "to Prometheus it is no label")
		for name, want := range map[string]string{"slo": oddly + " ??", "team": "{{{ $labels.slo }}}"} {
			var got strings.Builder
			parsed, err := template.New(name).Parse(r.Labels[name])
			require.NoError(t, err)
			require.NoError(t, parsed.Execute(&got, nil))
			require.Equal(t, want, got.String())
		}
	}
}

// No two rules record the same, whatever the period and the windows are.
func TestNothingIsRecordedTwice(t *testing.T) {
	p := promrules.Plan{SLO: slo.MustParse("ttft p99 < 800ms"), Period: time.Hour + 100, Alerts: []monitor.Rule{{Severity: monitor.Page, Budget: 1, Long: time.Hour, Short: time.Minute}}}
	all := maps.Clone(plans)
	all["period"] = p
	for name, p := range all {
		rules, err := p.Rules()
		require.NoError(t, err)
		had := map[string]bool{}
		for _, r := range rules.Group.Rules {
			key := fmt.Sprint(r.Record, r.Alert, r.Labels)
			require.False(t, had[key], "%s: %s", name, key)
			had[key] = true
		}
	}
}

// Each alert is in a test, also where the long windows of two are written alike.
func TestEachAlertIsTested(t *testing.T) {
	p := promrules.Plan{SLO: slo.MustParse("ttft p95 < 800ms"), Alerts: []monitor.Rule{
		{Severity: monitor.Page, Budget: 0.01, Long: time.Hour, Short: 5 * time.Minute},
		{Severity: monitor.Ticket, Budget: 0.005, Long: time.Hour + time.Microsecond, Short: 6 * time.Minute},
		{Severity: monitor.Ticket, Budget: 0.01, Long: 2 * time.Hour, Short: 6 * time.Minute},
	}}
	rules, err := p.Rules()
	require.NoError(t, err)
	var all []byte
	for _, text := range rules.Tests("rules.yaml") {
		all = append(all, text...)
	}
	for _, r := range rules.Group.Rules {
		if r.Alert != "" {
			require.Contains(t, string(all), "alertname: "+r.Alert+"\n")
		}
	}
}

// The file says how often to scrape for each of its windows to have enough samples.
func TestRulesSayHowOftenToScrape(t *testing.T) {
	for name, want := range map[string]string{"short": "2s500ms; keep samples for 1h", "labels": "1m15s; keep samples for 30d", "odd period": "2s503ms; keep samples for 1h5s"} {
		rules, err := plans[name].Rules()
		require.NoError(t, err)
		require.Contains(t, string(rules.YAML()), "\n# Scrape and evaluate at least every "+want+", or the budget", name)
		for _, r := range rules.Group.Rules {
			for _, m := range regexp.MustCompile(`\[([0-9a-z]+)\]`).FindAllStringSubmatch(r.Expr, -1) {
				w, err := time.ParseDuration(strings.Replace(m[1], "30d", "720h", 1))
				if err != nil { // of days
					continue
				}
				require.GreaterOrEqual(t, w, 4*rules.ScrapeInterval(), r.Expr)
			}
		}
	}
}

// A share is written in as many digits as tell it from none and from all.
func TestAlertsSayTheirThresholds(t *testing.T) {
	rules, err := plans["extreme"].Rules()
	require.NoError(t, err)
	var said []string
	for _, r := range rules.Group.Rules {
		if r.Alert != "" {
			require.Equal(t, "GoodputBudgetBurn1h", r.Alert)
			require.NotContains(t, r.Labels, "severity")
			said = append(said, r.Annotations["description"])
		}
	}
	require.Equal(t, []string{
		"Over 1h and over 5m more than 0.0000001% of the requests break attainment >= 99.9999999%, where 0.0000001% may: 0.139% of the budget in 1h.",
		"Over 1h and over 5m more than 0.0001% of the requests break ttft p99.9999 < 1ns, where 0.0001% may: 0.139% of the budget in 1h.",
	}, said[len(said)-2:])
}

// Where a threshold is no edge of an engine's histogram the rules say that they bound, and by how much.
func TestBoundsSayHowFarTheEdgesAre(t *testing.T) {
	rules, err := plans["vllm"].Rules()
	require.NoError(t, err)
	require.Empty(t, rules.Warnings)
	require.Len(t, rules.Bounds, 4)
	b := rules.Bounds[0]
	require.Equal(t, [2]float64{0.75, 1}, [2]float64{b.Below, b.Above})
	require.False(t, b.Exact())
	require.Equal(t, "ttft p95 < 800ms is no bucket edge of vllm:time_to_first_token_seconds, which bounds it: the edges about it are 0.75s (-6.25%) and 1s (+25%)", b.String())
	require.Contains(t, string(rules.YAML()), b.String())
	require.True(t, rules.Bounds[1].Exact(), "50ms is an edge")
	require.Contains(t, rules.Bounds[2].String(), "steps between tokens")
	require.Equal(t, [2]float64{0, 0.3}, [2]float64{rules.Bounds[3].Below, rules.Bounds[3].Above}, "below the first edge")
	require.Contains(t, string(rules.YAML()), "objective:goodput_bad_upper:ratio_rate1h")

	rules, err = plans["sglang"].Rules()
	require.NoError(t, err)
	require.Len(t, rules.Warnings, 2)
	for _, w := range rules.Warnings {
		require.ErrorIs(t, w, promrules.ErrUnsupported)
	}
	require.Len(t, rules.Bounds, 3)
}

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	s := slo.MustParse("ttft p90 < 800ms")
	for want, p := range map[string]promrules.Plan{
		"SLO":                              {},
		"Source":                           {SLO: s, Source: "tgi"},
		"Period":                           {SLO: s, Period: time.Minute},
		"Evidence: -1":                     {SLO: s, Evidence: -1},
		"Confidence: 1":                    {SLO: s, Confidence: 1},
		`"slo" is no label name, or taken`: {SLO: s, Labels: map[string]string{"slo": "x"}},
		`"a-b" is no label name`:           {SLO: s, Match: map[string]string{"a-b": "x"}},
		`"__name__" is no label name`:      {SLO: s, Match: map[string]string{"__name__": "x"}},
		`"alertname" is no label name`:     {SLO: s, Labels: map[string]string{"alertname": "x"}},
		`"outcome" is no label name`:       {SLO: s, Match: map[string]string{"outcome": "success"}},
		"the label team is no UTF-8":       {SLO: s, Labels: map[string]string{"team": "\xff"}},
		"the label job is no UTF-8":        {SLO: s, Match: map[string]string{"job": "\uFFFD"}},
		`the severity "{{"`:                {SLO: s, Alerts: []monitor.Rule{{Severity: "{{", Budget: 0.005, Long: time.Hour, Short: 5 * time.Minute}}},
		`no objective "ttft p90 < 0.8s", as it stands in "ttft p90 < 800ms"`: {SLO: s, Alerts: []monitor.Rule{{Budget: 0.005, Long: time.Hour, Short: 5 * time.Minute, Objective: "ttft p90 < 0.8s"}}},
		`no objective "ttft p95 < 800ms"`:                                    {SLO: s, Alerts: []monitor.Rule{{Budget: 0.005, Long: time.Hour, Short: 5 * time.Minute, Objective: "ttft p95 < 800ms"}}},
		"9600h0m0s is not between 1h and 372d":                               {SLO: s, Period: 400 * 24 * time.Hour},
		"cannot fire":                                                        {SLO: s, Alerts: []monitor.Rule{{Severity: monitor.Page, Budget: 0.02, Long: time.Hour, Short: 5 * time.Minute}}},
		"severity page and a long window of 1h, which nobody could tell apart": {SLO: slo.MustParse("ttft p99 < 800ms"), Alerts: []monitor.Rule{
			{Severity: monitor.Page, Budget: 0.02, Long: time.Hour, Short: 5 * time.Minute},
			{Severity: monitor.Page, Budget: 0.03, Long: time.Hour + time.Microsecond, Short: 6 * time.Minute},
		}},
	} {
		_, err := p.Rules()
		require.ErrorIs(t, err, promrules.ErrPlan, want)
		require.ErrorContains(t, err, want)
	}
	_, err := promrules.Plan{SLO: slo.MustParse("ttft p95 < 700h, error_rate < 1%"), Source: promrules.VLLM}.Rules()
	require.ErrorIs(t, err, promrules.ErrUnsupported, "beyond the last edge")
	_, err = promrules.Plan{SLO: s, Alerts: []monitor.Rule{{Budget: 0.02, Long: time.Hour, Short: 5 * time.Minute}}}.Rules()
	require.ErrorIs(t, err, monitor.ErrUnreachable, "14.4 of a P90 cannot be")
}

// The same SLO of two jobs has rules that record two things, two alerts and two dashboards.
func TestTheSameSLOOfTwoJobsIsNotOne(t *testing.T) {
	had, uids := map[string]bool{}, map[string]bool{}
	for _, job := range []string{"a", "b", ""} {
		p := promrules.Plan{SLO: slo.MustParse("ttft p95 < 800ms"), Alerts: one, Match: map[string]string{"job": job}}
		rules, err := p.Rules()
		require.NoError(t, err)
		for _, r := range rules.Group.Rules {
			key := fmt.Sprint(r.Record, r.Alert, r.Labels)
			require.False(t, had[key], key)
			had[key] = true
			require.Equal(t, job, r.Labels["job"])
			if r.Alert != "" {
				require.Equal(t, strings.Count(r.Expr, "{"), strings.Count(r.Expr, fmt.Sprintf("job=%q}", job)))
			}
		}
		for _, panel := range dashboardOf(t, p).Panels {
			for _, target := range panel.Targets {
				require.Contains(t, target.Expr, fmt.Sprintf("job=%q", job))
			}
		}
		var d struct{ UID string }
		require.NoError(t, json.Unmarshal(rules.Dashboard(), &d))
		require.False(t, uids[d.UID])
		uids[d.UID] = true
	}
}

// A monitor's plans have its own alerts: the same rules, and the same evidence.
func TestPlansHaveTheMonitorsAlerts(t *testing.T) {
	rule := monitor.Rule{Severity: "call", Budget: 0.01, Long: time.Hour, Short: 5 * time.Minute}
	own := rule
	own.Objective, own.Long = "itl p95 < 1s", 2*time.Hour
	m, err := monitor.New(slo.MustParse("ttft p95 < 800ms, itl p95 < 1s"), monitor.WithRules(rule, own), monitor.WithEvidence(17, 0.9),
		monitor.WithClasses(slo.Set{"batch": slo.MustParse("e2e p95 < 1m")}))
	require.NoError(t, err)
	alerts := m.Alerts()
	for _, p := range promrules.Plans(m) {
		rules, err := p.Rules()
		require.NoError(t, err)
		for _, r := range rules.Group.Rules {
			if r.Alert != "" {
				a := alerts[0]
				alerts = alerts[1:]
				require.Equal(t, a.Objective, r.Labels["objective"])
				require.Equal(t, "GoodputBudgetBurnCall"+strings.TrimSuffix(a.Rule.Long.String(), "0m0s"), r.Alert)
				require.Contains(t, r.Expr, ">= 17\n")
			}
		}
	}
	require.Empty(t, alerts, "each has a rule")
	m, err = monitor.New(slo.MustParse("ttft p95 < 800ms"), monitor.WithRules())
	require.NoError(t, err)
	rules, err := promrules.Plans(m)[0].Rules()
	require.NoError(t, err)
	require.NotContains(t, string(rules.YAML()), "alert:", "none were asked for")
}

// The rules of a monitor's SLOs are told apart, though two have the same objectives: by label, group and dashboard.
func TestPlansOfAMonitorAreToldApart(t *testing.T) {
	same := slo.MustParse("ttft p95 < 800ms")
	named := same
	named.Name = "chat"
	m, err := monitor.New(same, monitor.WithPeriod(24*time.Hour), monitor.WithClasses(slo.Set{"gold": same, "silver": same, slo.DefaultClass: named}))
	require.NoError(t, err)
	groups, uids, alerts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	plans := promrules.Plans(m)
	require.Len(t, plans, 4)
	for _, p := range plans {
		require.True(t, p.SLO.Equal(same))
		require.Equal(t, 24*time.Hour, p.Period)
		rules, err := p.Rules()
		require.NoError(t, err)
		groups[rules.Group.Name] = true
		var d struct{ UID string }
		require.NoError(t, json.Unmarshal(rules.Dashboard(), &d))
		require.LessOrEqual(t, len(d.UID), 40)
		uids[d.UID] = true
		for _, r := range rules.Group.Rules {
			if r.Alert != "" {
				key := fmt.Sprint(r.Alert, r.Labels)
				require.False(t, alerts[key], key)
				alerts[key] = true
			}
		}
	}
	require.Len(t, groups, 4)
	require.Len(t, uids, 4)
	require.Equal(t, same.Fingerprint(), plans[0].SLO.Name, "the default's, which a class of that name does not hide")
	require.Equal(t, same.Fingerprint()+"/gold", plans[2].SLO.Name)
}
