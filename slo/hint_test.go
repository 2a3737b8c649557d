package slo

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What an error says to write keeps what the user wrote, and the whole text is read once it stands in the place of the item
// at fault.
func TestAdviceKeepsWhatWasWritten(t *testing.T) {
	for _, c := range []struct {
		item string
		want string // alternatives between bars
	}{
		// Thresholds.
		{"x_cost p95 < 3s", "x_cost p95 < 3"},
		{"x_cost p90 < 5 usd", "x_cost p90 < 5"},
		{"x_cost p95 < 1_000", "x_cost p95 < 1000"},
		{"x_cost p95 > 2.5e-3", "x_cost p95 < -2.5e-3|x_cost p95 < 2.5e-3"},
		{"X_Score p95 > 0.8", "x_score p95 < -0.8|x_score p95 < 0.8"},
		{"5 > x_cost p95", "x_cost p95 < 5"},
		{"ttft p95 < 1e3ms", "ttft p95 < 1000ms"},
		{"ttft p95 < 3sec", "ttft p95 < 3s"},
		{"ttft p95 < 3 seconds", "ttft p95 < 3s"},
		{"ttft p95 < 2d", "ttft p95 < 48h"},
		{"ttft p95 < 800h", "ttft p95 < 720h"},
		{"ttft p95 < 1m30", "ttft p95 < 1m30s"},
		{"ttft p95 < 1 200ms", "ttft p95 < 1200ms"},
		{"ttft p95 < -3s", "ttft p95 < 3s"},
		{"ttft p95 < 3s/token", "ttft p95 < 3s"},
		{"ttft p95 < 3", "ttft p95 < 3s|ttft p95 < 3ms"},
		{"tpot p95 < 0.05", "tpot p95 < 0.05s|tpot p95 < 0.05ms"},
		{"ttft p95 < 3lightyears", "ttft p95 < 3s|ttft p95 < 3ms"},
		{"e2e p90 < 3s + 40", "e2e p90 < 3s + 40ms/token"},
		{"e2e p90 < 3s + 40ms/request", "e2e p90 < 3s + 40ms/token"},
		{"e2e p90 < 3s 40ms per token", "e2e p90 < 3s + 40ms/token"},
		{"e2e p95 < 40ms * tokens", "e2e p95 < 40ms/token"},
		{"e2e p90 < 3s + 40 ms x output_tokens", "e2e p90 < 3s + 40ms/token"},
		{"service_e2e p90 < 40ms × tokens", "service_e2e p90 < 40ms/token"},
		{"speed p90 > 30", "speed p90 >= 30tok/s"},
		{"speed p90 < 30 tps", "speed p90 >= 30tok/s"},
		{"tokens per second p90 > 30", "speed p90 >= 30tok/s"},
		{"ttft p95 < ３s", "ttft p95 < 3s"},
		{"ttft p95 < ٣s", "ttft p95 < 3s"},
		{"ttft\u200b p95 < 3s", "ttft p95 < 3s"},
		{"ttft p95 < 0,3s", "ttft p95 < 0.3s"},
		{"ttft p95 < 1,300ms", "ttft p95 < 1300ms"},
		{"x_cost p95 < 0,3", "x_cost p95 < 0.3"},

		// Shares.
		{"error_rate < 0", "error_rate < 0.1%"},
		{"error_rate < 0%", "error_rate < 0.1%"},
		{"error_rate < 3", "error_rate < 3%"},
		{"error_rate < 0.03", "error_rate < 3%|error_rate < 0.03%"},
		{"error_rate < 3 percent", "error_rate < 3%"},
		{"error_rate < 3‰", "error_rate < 0.3%"},
		{"error_rate p95 < 3%", "error_rate < 3%"},
		{"error rate < 3%", "error_rate < 3%"},
		{"availability >= 99%", "error_rate < 1%"},
		{"success_rate >= 99.95%", "error_rate < 0.05%"},
		{"Success Rate > 97", "error_rate < 3%"},
		{"availability >= 0.999", "error_rate < 0.1%"},
		{"availability >= 100%", "error_rate < 0.1%"},
		{"timeout_rate < 3%", "error_rate < 3%"},
		{"5xx rate < 3%", "error_rate < 3%"},
		{"http_5xx_ratio < 3%", "error_rate < 3%"},
		{"server errors < 3%", "error_rate < 3%"},
		{"rate_limited_rate < 3%", "error_rate < 3%"},
		{"apdex > 0.9", "attainment >= 90%"},
		{"goodput >= 97%", "attainment >= 97%"},
		{"attainment >= 0.97", "attainment >= 97%"},
		{"attainment >= 100%", "attainment >= 99.9%"},
		{"goodput > 5 requests/s", "attainment >= 90%"}, // is no share

		// Percentiles.
		{"speed p5 > 30 tok/s", "speed p95 >= 30tok/s"},
		{"speed p0.1 > 30 tok/s", "speed p90 >= 30tok/s"},
		{"speed p1 > 30", "speed p99 >= 30tok/s"},
		{"speed p5, p10 > 30tok/s", "speed p95 >= 30tok/s, speed p90 >= 30tok/s"},
		{"min speed > 30 tok/s", "speed p99.9 >= 30tok/s"},
		{"max(speed) > 30 tok/s", "speed p95 >= 30tok/s"},
		{"worst speed > 30 tok/s", "speed p99.9 >= 30tok/s"},
		{"ttft p90,p99 < 1s", "ttft p90 < 1s, ttft p99 < 1s"},
		{"p50, p90 , p99 ttft < 1s", "ttft p50 < 1s, ttft p90 < 1s, ttft p99 < 1s"},
		{"ttft, e2e p90 < 1s", "ttft p90 < 1s, e2e p90 < 1s"},
		{"ttft p95, e2e p90 < 1s", "ttft p95 < 2s"}, // the first has none
		{"e2e median < 3s", "e2e p50 < 3s"},
		{"max(ttft) < 3s", "ttft p99.9 < 3s"},
		{"avg(ttft) < 3s", "ttft p95 < 3s"},
		{"ttft < 3s", "ttft p95 < 3s"},
		{"ttft < 3s p90", "ttft p90 < 3s"},
		{"ttft 90% < 3s", "ttft p90 < 3s"},
		{"90% of ttft < 3s", "ttft p90 < 3s"},
		{"ttft < 3s for 90% of requests", "ttft p90 < 3s"},
		{"ttft 90 < 3s", "ttft p90 < 3s"},
		{"ttft 0.9 < 3s", "ttft p90 < 3s"},
		{"ttft p0.9 < 3s", "ttft p90 < 3s"},
		{"ttft p 90 < 3s", "ttft p90 < 3s"},
		{"ttft p(90) < 3s", "ttft p90 < 3s"},
		{"ttft tp90 < 3s", "ttft p90 < 3s"},
		{"ttft 90th percentile < 3s", "ttft p90 < 3s"},
		{"90th percentile ttft < 3s", "ttft p90 < 3s"},
		{"ttft p100 < 3s", "ttft p99.9 < 3s"},
		{"ttft p999 < 3s", "ttft p99.9 < 3s"},
		{"ttft p99.99999 < 3s", "ttft p99.9999 < 3s"},
		{"ttft p90 p99 < 3s", "ttft p90 < 3s, ttft p99 < 3s"},
		{"ttft_p90 < 3s", "ttft p90 < 3s"},
		{"p90_ttft < 3s", "ttft p90 < 3s"},
		{"TTFT.P99.9 < 3s", "ttft p99.9 < 3s"},

		// Metrics.
		{"latency p90 < 3s", "e2e p90 < 3s"},
		{"e2e latency p90 < 3s", "e2e p90 < 3s"},
		{"time to first token p90 < 3s", "ttft p90 < 3s"},
		{"inter-token latency p90 < 30ms", "itl p90 < 30ms"},
		{"tttf p90 < 3s", "ttft p90 < 3s"},
		{"p90 < 3s", "ttft p90 < 3s|e2e p90 < 3s"},
		{"humidity p90 < 3s", "ttft p90 < 3s|e2e p90 < 3s"},
		{"humidity p90 < 3", "x_humidity p90 < 3"},
		{"x_a-b p90 < 3", "x_a_b p90 < 3"},
		{"throughput > 100", ""},
		{"hello", ""},

		// The form.
		{"p(90)<500", "ttft p90 < 500ms|e2e p90 < 500ms"},
		{"histogram_quantile(0.9, ttft) < 0.8", "ttft p90 < 0.8s"},
		{"histogram_quantile(0.99, sum(rate(vllm:time_to_first_token_seconds_bucket[5m])) by (le)) < 0.8", "ttft p99 < 0.8s"},
		{"ttft p90 < 3s or e2e p95 < 8s", "ttft p90 < 3s, e2e p95 < 8s"},
		{"ttft p90 < 3s || e2e p95 < 8s", "ttft p90 < 3s, e2e p95 < 8s"},
		{"p90(ttft)<500", "ttft p90 < 500s|ttft p90 < 500ms"},
		{"http_req_duration: p(90)<500", "e2e p90 < 500ms"},
		{"ttft:700 e2el:7000", "ttft p95 < 700ms, e2e p95 < 7000ms"},
		{"ttft p90 < 3s e2e p95 < 8s", "ttft p90 < 3s, e2e p95 < 8s"},
		{"p90(ttft) < 3s p95(e2e) < 8s", "ttft p90 < 3s, e2e p95 < 8s"},
		{"ttft p90 < 3s and e2e p95 < 8s && error_rate < 2%", "ttft p90 < 3s, e2e p95 < 8s, error_rate < 2%"},
		{"ttft p90 < 3s，e2e p95 < 8s", "ttft p90 < 3s, e2e p95 < 8s"},
		{"ttft e2e p90 < 3s", "ttft p90 < 3s, e2e p90 < 3s"},
		{"3s > ttft p90", "ttft p90 < 3s"},
		{"ttft p90 > 3s", "ttft p90 < 3s"},
		{"ttft p90 = 3s", "ttft p90 < 3s"},
		{"ttft p90 ≦ 3s", "ttft p90 < 3s"},
		{"ttft p90 3s", "ttft p90 < 3s"},
		{"ttft p90 below 3s", "ttft p90 < 3s"},
		{"ttft (p90) < 3s", "ttft p90 < 3s"},
		{`"ttft p90 < 3s"`, "ttft p90 < 3s"},
		{"--slo ttft p90 < 3s", "ttft p90 < 3s"},

		// Rules.
		{"undefined lag excluded", "undefined tpot: excluded"},
		{"undefined ttfo ignored", "undefined ttfo: excluded"},
		{"undefined: ttfo misses", "undefined ttfo: misses"},
	} {
		const before, after = "service_e2e p75 < 9s, ttfo p75 < 9s; ", "\nitl p75 < 9s"
		for _, around := range [][2]string{{"", ""}, {before, after}} {
			text := around[0] + c.item + around[1]
			_, err := Parse(text)
			at := checkParseError(t, text, err)
			require.Equal(t, c.want, strings.Join(advice(err), "|"), "%q: %v", text, err)
			if c.want == "" {
				continue
			}
			require.True(t, strings.HasSuffix(err.Error(), ": write "+strings.Join(advice(err), " or ")), err)
			if strings.HasPrefix(c.want, "undefined tpot") || around[0] == "" && strings.HasPrefix(c.want, "undefined") {
				continue // there has to be an objective on it
			}
			assert.GreaterOrEqual(t, at.Pos, len(around[0]), text)
			assert.LessOrEqual(t, at.Pos, len(around[0]+c.item), text)
			for _, write := range advice(err) {
				mended, err := Parse(around[0] + write + around[1])
				require.NoError(t, err, text)
				assert.NoError(t, mended.Validate())
			}
		}
	}
}

// The advice for one objective is one.
func TestAdviceForOneObjective(t *testing.T) {
	for text, want := range map[string]string{
		"ttft p90 < 3":               "ttft p90 < 3s|ttft p90 < 3ms",
		"ttft p90 < 3s e2e p95 < 8s": "ttft p90 < 3s",
	} {
		_, err := ParseObjective(text)
		assert.Equal(t, want, strings.Join(advice(err), "|"))
	}
}

func TestAdviceInVLLMsForm(t *testing.T) {
	for pair, want := range map[string]string{
		"ttft:700ms": "ttft:700", "ttft=700": "ttft:700", "tpot:0.05s": "tpot:50", "e2e:7000": "e2el:7000", "tttf:700": "ttft:700",
		"ttft:-7": "ttft:7", "e2el:0": "e2el:800", "ttft": "ttft:800", "tpot:99999999999": "tpot:800",
	} {
		_, err := ParseVLLM(pair, P95)
		require.Error(t, err, pair)
		assert.Equal(t, want, strings.Join(advice(err), "|"), pair)
		assert.NoError(t, readable(want))
	}
}

// What a program made is advised of in the same way.
func TestAdviceForValues(t *testing.T) {
	for want, o := range map[string]Objective{
		"ttft p95 < 3s":       {TTFT, 0.95, Threshold{Limit: 3}},
		"e2e p99.9 < 3s":      {E2E, 999, Threshold{Limit: 3}},
		"ttft p90 < 2s":       {TTFT, 90, Threshold{Limit: -3}},
		"ttft p90 < 3s":       {TTFT, 90, Threshold{3, 0.1}},
		"error_rate < 3%":     {ErrorRate, 95, Threshold{Limit: 0.03}},
		"attainment >= 90%":   {Attainment, 0, Threshold{Limit: 1}},
		"tpot p90 < 30ms":     {"TPOT", 90, Threshold{Limit: 0.03}},
		"x_cost p95 < 3":      {"x_cost", 100.5, Threshold{Limit: 3}},
		"speed p90 >= 5tok/s": {Speed, 90, Threshold{5, 1}},
		"speed p95 >= 5tok/s": {Speed, 5, Threshold{Limit: 5}},
	} {
		err := o.Validate()
		require.Error(t, err)
		assert.Equal(t, want, strings.Join(advice(err), "|"))
		assert.NoError(t, readable(want))
		err = SLO{Objectives: []Objective{o}}.Validate()
		assert.ErrorContains(t, err, ": write "+want)
	}
	assert.Empty(t, advice(errors.New("another")))
}
