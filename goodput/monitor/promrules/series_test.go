package promrules_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/slo"
)

// evaluate has promtool evaluate a plan's rules on series of a sample a minute, and expressions at instants.
func evaluate(t *testing.T, p promrules.Plan, series map[string]string, want ...string) {
	evaluateEvery(t, "1m", p, series, want...)
}

// evaluateEvery is evaluate with another interval.
func evaluateEvery(t *testing.T, every string, p promrules.Plan, series map[string]string, want ...string) {
	tool := promtool(t)
	rules, err := p.Rules()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), rules.YAML(), 0o600))
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [rules.yaml]\nevaluation_interval: %s\ntests:\n- interval: %s\n  input_series:\n", every, every)
	for name, values := range series {
		fmt.Fprintf(&b, "  - {series: '%s', values: '%s'}\n", name, strings.TrimSpace(values))
	}
	b.WriteString("  promql_expr_test:\n")
	for _, w := range want { // at; expression; value or none
		f := strings.Split(w, "; ")
		samples := "[]"
		if f[2] != "none" {
			samples = "[{labels: '{}', value: " + f[2] + "}]"
		}
		fmt.Fprintf(&b, "  - {eval_time: %s, expr: '%s', exp_samples: %s}\n", f[0], f[1], samples)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "test.yaml"), []byte(b.String()), 0o600))
	out, err := exec.Command(tool, "test", "rules", filepath.Join(dir, "test.yaml")).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Of series that are made by hand the rules say what one can reckon: replicas are added up, one that starts again or joins makes no
// share another, a scrape that is missing neither, and where nobody came there is no share.
func TestSharesOfSeriesByHandByPromtool(t *testing.T) {
	s := slo.MustParse("ttft p95 < 800ms")
	s.Name = "s"
	of := func(name, instance string) string {
		return fmt.Sprintf(`goodput_objective_%s{slo="s",objective="ttft p95 < 800ms",class="default",instance="%s"}`, name, instance)
	}
	bad := func(w string) string { return "round(sum(objective:goodput_bad:ratio_rate" + w + "), 0.0001)" }
	evaluate(t, promrules.Plan{SLO: s, Alerts: one}, map[string]string{
		// A fifth is bad of one, which starts again after 30 minutes, and nothing of three times as many of another; of which a scrape is missing.
		of("requests_total", "a"):        "0+10x30 0+10x29 290+0x60",
		of("within_requests_total", "a"): "0+8x30 0+8x29 232+0x60",
		of("requests_total", "b"):        "0+30x30 _ 960+30x28 2700+0x60",
		of("within_requests_total", "b"): "0+30x30 _ 960+30x28 2700+0x60",
		// Another joins at 40 minutes; all is bad there.
		of("requests_total", "c"):        "_x40 0+40x19 760+0x60",
		of("within_requests_total", "c"): "_x40 0+0x80",
	},
		"25m; "+bad("5m")+"; 0.05",   // 10 of 50 + 150
		"32m; "+bad("5m")+"; 0.0421", // 8 of 40 + 150: what a counted in the minute in which it ended nobody saw
		"36m; "+bad("5m")+"; 0.05",
		"59m; "+bad("5m")+"; 0.525", // 5 × (2 + 40) of 5 × 80
		"110m; "+bad("5m")+"; none", // 0 of 0: no share, and no NaN
		"110m; sum(slo:goodput_attainment:ratio_rate5m); none",
		`110m; count(ALERTS{alertstate="firing"}); none`,
	)
	evaluate(t, promrules.Plan{SLO: s, Alerts: one}, map[string]string{"up": "1x60"}, "50m; count(objective:goodput_requests:increase5m); none",
		`50m; count(ALERTS); none`)
}

// Between two edges nobody knows: what alerts is the lower bound of the bad share, and beside it is the upper one. The true share, which
// whoever makes the series knows, is between the two.
func TestBoundsOfSeriesByHandByPromtool(t *testing.T) {
	series := map[string]string{ // of 100 requests a minute 75 take up to 0.75 s, 10 up to 0.8 s, 5 up to 1 s and 10 longer: 15 % are bad
		`vllm:time_to_first_token_seconds_count{model_name="m"}`:                      "0+100x70",
		`vllm:time_to_first_token_seconds_bucket{model_name="m",le="0.75"}`:           "0+75x70",
		`vllm:time_to_first_token_seconds_bucket{model_name="m",le="1.0"}`:            "0+90x70", // as Python's client writes it
		`vllm:time_to_first_token_seconds_bucket{model_name="m",le="10.0"}`:           "0+100x70",
		`vllm:e2e_request_latency_seconds_count{model_name="m"}`:                      "0+100x70",
		`vllm:e2e_request_latency_seconds_bucket{model_name="m",le="0.3"}`:            "0+60x70",
		`vllm:request_time_per_output_token_seconds_count{model_name="m"}`:            "0+100x70",
		`vllm:request_time_per_output_token_seconds_bucket{model_name="m",le="0.05"}`: "0+97x70",
	}
	p := promrules.Plan{SLO: slo.MustParse("ttft p90 < 800ms, e2e p90 < 200ms, tpot p90 < 50ms"), Source: promrules.VLLM,
		Alerts: []monitor.Rule{{Severity: monitor.Page, Budget: 1.2 / 720, Long: time.Hour, Short: 5 * time.Minute}}} // above 12 % bad
	of := func(name, objective string) string {
		return fmt.Sprintf(`round(sum(objective:goodput_%s{objective="%s"}), 0.0001)`, name, objective)
	}
	evaluate(t, p, series,
		"65m; "+of("bad:ratio_rate1h", "ttft p90 < 800ms")+"; 0.1",
		"65m; "+of("bad_upper:ratio_rate1h", "ttft p90 < 800ms")+"; 0.25",
		"65m; "+of("bad:ratio_rate1h", "e2e p90 < 200ms")+"; 0.4",
		"65m; "+of("bad_upper:ratio_rate1h", "e2e p90 < 200ms")+"; 1", // below the first edge
		"65m; "+of("bad:ratio_rate1h", "tpot p90 < 50ms")+"; 0.03",
		"65m; count(objective:goodput_bad_upper:ratio_rate1h{objective=\"tpot p90 < 50ms\"}); none", // an edge: there is nothing between
		`65m; count(ALERTS{alertstate="firing",objective="ttft p90 < 800ms"}); none`,                // it is 15 %, and only 10 % surely
		`65m; count(ALERTS{alertstate="firing",objective="e2e p90 < 200ms"}); 1`,
		"65m; round(sum(objective:goodput_error_budget_left:ratio{objective=\"tpot p90 < 50ms\"}), 0.0001); 0.7",
	)
}
