package prometheus3

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/slo"
)

var one = []monitor.Rule{{Severity: monitor.Page, Budget: 0.01, Long: time.Hour, Short: 5 * time.Minute}}

const oddly = "{{ $value }} {{`x`}} $datasource [[datasource]] \"q\" 'q' \\ \n # ~: {a=\"b\"} 日本語\u2028\x00"

func named(name, text string) slo.SLO {
	s := slo.MustParse(text)
	s.Name = name
	return s
}

var plans = map[string]promrules.Plan{
	"all kinds": {SLO: slo.MustParse("ttft p95 < 800ms, e2e p90 < 1s + 40ms/token, speed p99 >= 20tok/s, error_rate < 1%, attainment >= 90%"), Period: 24 * time.Hour},
	"short":     {SLO: slo.MustParse("ttft p95 < 800ms, error_rate < 1%"), Period: time.Hour},
	"odd names": {SLO: named(oddly+" \xff\uFFFD", "ttft p95 < 800ms, error_rate < 1%"), Alerts: one,
		Match: map[string]string{"class": "$datasource", "job": oddly}, Labels: map[string]string{"team": "{{{ $labels.slo }}}", "none": ""}},
	"vllm":   {SLO: slo.MustParse("ttft p95 < 800ms, tpot p95 < 50ms, itl p99 < 60ms, e2e p95 < 200ms"), Source: promrules.VLLM, Alerts: one, Match: map[string]string{"model_name": "m"}},
	"sglang": {SLO: slo.MustParse("ttft p95 < 1s, itl p99 < 60ms, e2e p95 < 9s"), Source: promrules.SGLang, Alerts: one},
}

// testFile is a file of unit tests for promtool, as far as this project writes it.
type testFile struct {
	RuleFiles []string       `yaml:"rule_files"`
	Every     model.Duration `yaml:"evaluation_interval"`
	Tests     []struct {
		Name   string         `yaml:"name"`
		Every  model.Duration `yaml:"interval"`
		Series []struct {
			Series string `yaml:"series"`
			Values string `yaml:"values"`
		} `yaml:"input_series"`
		Alerts []struct {
			At     model.Duration `yaml:"eval_time"`
			Name   string         `yaml:"alertname"`
			Expect []struct {
				Labels      map[string]string `yaml:"exp_labels"`
				Annotations map[string]string `yaml:"exp_annotations"`
			} `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
		Values []struct {
			Expr   string         `yaml:"expr"`
			At     model.Duration `yaml:"eval_time"`
			Expect []struct {
				Labels string  `yaml:"labels"`
				Value  float64 `yaml:"value"`
			} `yaml:"exp_samples"`
		} `yaml:"promql_expr_test"`
	} `yaml:"tests"`
}

// unitTests runs a file of them, and says what is not as expected.
func unitTests(t *testing.T, rules, text []byte) (faults []string) {
	var f testFile
	require.NoError(t, yaml.Unmarshal(text, &f))
	require.NotEmpty(t, f.Tests)
	for _, test := range f.Tests {
		s, err := newServer(rules)
		require.NoError(t, err)
		for _, one := range test.Series {
			require.NoError(t, s.write(one.Series, one.Values, time.Duration(test.Every)))
		}
		var last time.Duration
		for _, a := range test.Alerts {
			last = max(last, time.Duration(a.At))
		}
		checked := 0
		for now := time.Duration(0); now <= last; now += time.Duration(f.Every) {
			require.NoError(t, s.evaluate(now))
			for _, a := range test.Alerts {
				if time.Duration(a.At) != now {
					continue
				}
				checked++
				var want, got []string
				for _, e := range a.Expect {
					want = append(want, fmt.Sprintf("%q %q", e.Labels, e.Annotations))
				}
				for _, fires := range s.alerts {
					if fires.name == a.Name {
						got = append(got, fmt.Sprintf("%q %q", fires.labels, fires.annotations))
					}
				}
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(want, got) {
					faults = append(faults, fmt.Sprintf("%s: %s at %v:\n%s\nin place of\n%s", test.Name, a.Name, now, strings.Join(got, "\n"), strings.Join(want, "\n")))
				}
			}
		}
		require.Equal(t, len(test.Alerts), checked)
		for _, v := range test.Values {
			vector, err := s.query(v.Expr, time.Duration(v.At))
			require.NoError(t, err)
			var want, got []string
			for _, e := range v.Expect {
				l, err := s.parser.ParseMetric(e.Labels)
				require.NoError(t, err)
				want = append(want, fmt.Sprint(l, e.Value))
			}
			for _, one := range vector {
				got = append(got, fmt.Sprint(one.Metric, one.F))
			}
			if !slices.Equal(want, got) {
				faults = append(faults, fmt.Sprintf("%s: %s at %v: %q in place of %q", test.Name, v.Expr, v.At, got, want))
			}
		}
	}
	return faults
}

// Prometheus 3 reads each plan's rules, and the unit tests that are written beside them hold.
func TestTheWrittenTestsHold(t *testing.T) {
	for name, p := range plans {
		t.Run(name, func(t *testing.T) {
			rules, err := p.Rules()
			require.NoError(t, err)
			for file, text := range rules.Tests("rules.yaml") {
				require.Empty(t, unitTests(t, rules.YAML(), text), file)
			}
		})
	}
}

// They can fail: with a threshold that nothing reaches they do.
func TestTheWrittenTestsCanFail(t *testing.T) {
	rules, err := plans["short"].Rules()
	require.NoError(t, err)
	for i := range rules.Group.Rules {
		if rules.Group.Rules[i].Alert != "" {
			rules.Group.Rules[i].Expr = "vector(1) > 2"
		}
	}
	for _, text := range rules.Tests("rules.yaml") {
		require.NotEmpty(t, unitTests(t, rules.YAML(), text))
	}
}

// number is the one value of a vector, to four decimals; NaN where there is none.
func number(t *testing.T, v promql.Vector, err error) float64 {
	t.Helper()
	require.NoError(t, err)
	require.LessOrEqual(t, len(v), 1)
	if len(v) == 0 {
		return math.NaN()
	}
	return math.Round(v[0].F*1e4) / 1e4
}

// Of series that are made by hand the rules say what one can reckon, with left-open windows too: replicas are added up, one that starts again
// or joins makes no share another, and where nobody came there is no share.
func TestSharesOfSeriesByHand(t *testing.T) {
	rules, err := promrules.Plan{SLO: named("s", "ttft p95 < 800ms"), Alerts: one}.Rules()
	require.NoError(t, err)
	s, err := newServer(rules.YAML())
	require.NoError(t, err)
	for of, values := range map[string]string{
		`requests_total{instance="a"`:        "0+10x30 0+10x29 290+0x60", // starts again after 30 minutes; a fifth is bad
		`within_requests_total{instance="a"`: "0+8x30 0+8x29 232+0x60",
		`requests_total{instance="b"`:        "0+30x30 _ 960+30x28 2700+0x60", // a scrape is missing; nothing is bad
		`within_requests_total{instance="b"`: "0+30x30 _ 960+30x28 2700+0x60",
		`requests_total{instance="c"`:        "_x40 0+40x19 760+0x60", // joins at 40 minutes; all is bad
		`within_requests_total{instance="c"`: "_x40 0+0x80",
	} {
		require.NoError(t, s.write("goodput_objective_"+of+`,slo="s",objective="ttft p95 < 800ms",class="default"}`, values, time.Minute))
	}
	for now := time.Duration(0); now <= 110*time.Minute; now += time.Minute {
		require.NoError(t, s.evaluate(now))
	}
	at := func(minute int, expr string) float64 {
		v, err := s.query(expr, time.Duration(minute)*time.Minute)
		return number(t, v, err)
	}
	const bad = "sum(objective:goodput_bad:ratio_rate5m)"
	require.Equal(t, 0.05, at(25, bad)) // 10 of 50 + 150
	require.Equal(t, 0.05, at(36, bad))
	require.Equal(t, 0.525, at(59, bad)) // 5 × (2 + 40) of 5 × 80
	require.Equal(t, 200.0, at(25, "sum(objective:goodput_requests:increase5m)"))
	require.Equal(t, 400.0, at(59, "sum(objective:goodput_requests:increase5m)"))
	require.True(t, math.IsNaN(at(110, bad)), "0 of 0: no share")
	require.True(t, math.IsNaN(at(110, "sum(slo:goodput_attainment:ratio_rate5m)")))
	require.True(t, math.IsNaN(at(110, "count(ALERTS)")))
}

// A monitor and the rules on its counters, as Prometheus 3 evaluates them, say the same of traffic that is good and bad by turns: of each window
// that the monitor has too the shares and, wherever they are well beyond a threshold or well below it, whether the alert fires.
func TestTheMonitorAgrees(t *testing.T) {
	const every = 15 * time.Second
	set := named("s", "e2e p95 < 1s, error_rate < 1%, attainment >= 90%")
	var fires, silent, shares int
	synctest.Test(t, func(t *testing.T) {
		m, err := monitor.New(set, monitor.WithPeriod(24*time.Hour), monitor.WithRules(
			monitor.Rule{Severity: monitor.Page, Budget: 2.0 / 72, Long: 20 * time.Minute, Short: 2 * time.Minute, Objective: "e2e p95 < 1s"},
			monitor.Rule{Severity: monitor.Page, Budget: 5.0 / 72, Long: 20 * time.Minute, Short: 2 * time.Minute, Objective: "error_rate < 1%"},
			monitor.Rule{Severity: monitor.Page, Budget: 1.5 / 72, Long: 20 * time.Minute, Short: 2 * time.Minute, Objective: "attainment >= 90%"}))
		require.NoError(t, err)
		rules, err := promrules.Plans(m)[0].Rules()
		require.NoError(t, err)
		s, err := newServer(rules.YAML())
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(7, 1))
		var rate, late, failed float64
		for step := range int(3 * time.Hour / every) {
			now := time.Duration(step) * every
			if step%60 == 0 { // another traffic every quarter of an hour
				rate, late, failed = []float64{2, 8}[rng.IntN(2)], []float64{0, 0.02, 0.2, 0.6}[rng.IntN(4)], []float64{0, 0.003, 0.03, 0.3}[rng.IntN(4)]
			}
			for _, o := range set.Objectives {
				within, requests := exported(m.Counters(), o)
				of := fmt.Sprintf(`{slo="s",objective="%s",class="default"}`, o)
				for name, n := range map[string]uint64{"requests_total": requests, "within_requests_total": within} {
					l, err := s.parser.ParseMetric("goodput_objective_" + name + of)
					require.NoError(t, err)
					s.of(l).add(now, float64(n), nil)
				}
			}
			require.NoError(t, s.evaluate(now))
			for _, a := range m.Alerts() {
				if step < 100 || step%4 != 0 || a.Short.Total < 100 {
					continue // it begins, or has too few for an increase that is extrapolated
				}
				got := func(w string) float64 {
					v, err := s.query(fmt.Sprintf(`objective:goodput_bad:ratio_rate%s{objective="%s"}`, w, a.Objective), now)
					return number(t, v, err)
				}
				// Of the long window Prometheus 3 sees 80 of 81 samples, and the monitor's slot is up to 10 s longer: two intervals of 80 at most
				// are one's and not the other's.
				require.InDelta(t, float64(a.Long.Share), got("20m"), 2.0/80)
				shares++
				least := min(float64(a.Lower), float64(a.Short.Share)) / a.Threshold
				over := least > 1.15 && a.Long.Bad >= 8
				if !over && least > 0.85 {
					continue // at the line
				}
				firing := slices.ContainsFunc(s.alerts, func(x alert) bool { return x.labels["objective"] == a.Objective })
				require.Equal(t, over, firing, "%s at %v", a.Objective, now)
				if over {
					require.Equal(t, monitor.Firing, a.State)
					fires++
				} else {
					silent++
				}
			}
			for end := time.Now().Add(every); ; {
				next := time.Duration(rng.ExpFloat64() / rate * float64(time.Second))
				if left := time.Until(end); next > left {
					time.Sleep(left)
					break
				}
				time.Sleep(next)
				r := &goodput.Record{Outcome: goodput.Success, Start: time.Now(), End: 100 * time.Millisecond}
				switch {
				case rng.Float64() < failed:
					r.Outcome = goodput.ServerError
				case rng.Float64() < late:
					r.End = 2 * time.Second
				}
				m.Observe(r)
			}
		}
	})
	t.Log(fires, silent, shares)
	require.Greater(t, fires, 20)
	require.Greater(t, silent, 20)
	require.Greater(t, shares, 100)
}

// exported are an objective's counters as package goodputprom exports them.
func exported(c *monitor.Counters, o slo.Objective) (within, requests uint64) {
	if len(c.Classes) == 0 {
		return 0, 0
	}
	k := c.Classes[0]
	switch o.Metric {
	case slo.ErrorRate:
		return k.Outcomes[goodput.Success], k.Recorded
	case slo.Attainment:
		return k.Good, k.Decided
	}
	return k.Objectives[0].Within, k.Objectives[0].Decided
}
