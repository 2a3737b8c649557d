package slo

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var kinds = []error{ErrSyntax, ErrTooLong, ErrEmpty, ErrMetric, ErrPercentile, ErrComparison, ErrThreshold, ErrDuplicate, ErrUndefined}

// checkParseError holds for every error that a text can have.
func checkParseError(t *testing.T, text string, err error) *ParseError {
	t.Helper()
	var at *ParseError
	require.ErrorAs(t, err, &at, "%q", text)
	require.GreaterOrEqual(t, at.Pos, 0, "%q", text)
	require.LessOrEqual(t, at.Pos, len(text), "%q", text)
	piece, _ := strings.CutSuffix(at.Piece, "…") // a shortened one, or one that ends so itself
	require.True(t, strings.HasPrefix(text[at.Pos:], piece), "%q: %q is not at %d", text, at.Piece, at.Pos)
	require.LessOrEqual(t, len(at.Piece), maxPiece+len("…"))
	n := 0
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			n++
		}
	}
	require.Equal(t, 1, n, "%q: %v wraps %d kinds", text, err, n)
	require.NotContains(t, err.Error(), "\n", "%q", text)
	for _, r := range err.Error() {
		require.True(t, strconv.IsPrint(r), "%q: %q would reach a terminal", text, r)
	}
	require.Less(t, len(err.Error()), 600, "%q", text)
	for _, write := range advice(err) {
		require.Contains(t, err.Error(), write)
		require.NoError(t, readable(write), "%q: %v", text, err)
	}
	return at
}

// advice is what an error says to write.
func advice(err error) []string {
	var p *problem
	if errors.As(err, &p) {
		return p.write
	}
	return nil
}

// readable reports whether what an error says to write is read, as an objective, as several, or as a rule beside one.
func readable(write string) error {
	if metric, _, ok := strings.Cut(strings.TrimPrefix(write, "undefined "), ":"); ok && strings.HasPrefix(write, "undefined ") {
		write = Objective{Metric(metric), P95, exampleThreshold(Metric(metric))}.String() + ", " + write
	} else if ok {
		_, err := ParseVLLM(write, P95)
		return err
	}
	_, err := Parse(write)
	return err
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		text string
		kind error
		at   string // the piece at fault
		says string
	}{
		// A part that is missing.
		{"ttft < 2s", ErrPercentile, "ttft", "the percentile is missing: write ttft p95 < 2s"},
		{"speed > 2tok/s", ErrPercentile, "speed", "write speed p95 >= 2tok/s"},
		{"x_cost < 2", ErrPercentile, "x_cost", "write x_cost p95 < 2"},
		{"p95 < 2s", ErrMetric, "p95", "the metric is missing"},
		{"p95() < 2s", ErrMetric, "p95()", "the metric is missing"},
		{"< 2s", ErrMetric, "", "the metric is missing"},
		{"ttft p95", ErrThreshold, "ttft p95", "no comparison with a threshold: write ttft p95 < 2s"},
		{"ttft p95 2s", ErrComparison, "ttft p95 2s", "no comparison before the threshold: write ttft p95 < 2s"},
		{"ttft p95 2 s", ErrComparison, "ttft p95 2 s", "no comparison before the threshold"},
		{"error_rate 1%", ErrComparison, "error_rate 1%", "write error_rate < 1%"},
		{"ttft", ErrPercentile, "ttft", "write ttft p95 < 2s"},
		{"ttft avg", ErrPercentile, "avg", "a mean hides"},
		{"hello", ErrMetric, "hello", "unknown metric"},
		{"ttft p95 <", ErrThreshold, "", "the threshold is missing"},
		{"x_cost p95 <", ErrThreshold, "", "the threshold is missing"},
		{"error_rate", ErrThreshold, "error_rate", "write error_rate < 1%"},
		{"", ErrEmpty, "", "at least one objective"},
		{" ,;\n", ErrEmpty, "", "at least one objective"},
		{"undefined tpot: holds", ErrEmpty, "", "at least one objective"},
		{"ttft p95\n< 2s", ErrThreshold, "ttft p95", "no comparison"},

		// A mean, and what else is no percentile.
		{"avg(ttft) < 2s", ErrPercentile, "avg", "a mean hides the slow requests"},
		{"ttft mean < 2s", ErrPercentile, "mean", "a mean hides the slow requests"},
		{"average ttft p95 < 2s", ErrPercentile, "average", "a mean hides the slow requests"},
		{"MEAN(e2e) < 2s", ErrPercentile, "MEAN", "write e2e p95 < 2s"},
		{"median(ttft) < 2s", ErrPercentile, "median", "the median is p50"},
		{"max(ttft) < 2s", ErrPercentile, "max", "p99.9"},
		{"ttft minimum < 2s", ErrPercentile, "minimum", "one request's good luck"},
		{"ttft stddev < 2s", ErrPercentile, "stddev", "a deviation"},
		{"sum(ttft) < 2s", ErrPercentile, "sum", "a sum"},
		{"min speed > 2tok/s", ErrPercentile, "min", "one request's bad luck"},
		{"speed max > 2tok/s", ErrPercentile, "max", "one request's good luck"},
		{"speed p5 > 2tok/s", ErrPercentile, "p5", "asks only 5% of the requests to be so fast; all but the slowest 5% is p95: write speed p95 >= 2tok/s"},
		{"speed p49.9 > 2tok/s", ErrPercentile, "p49.9", "write speed p50.1 >= 2tok/s"},
		{"ttft p90, p99 < 2s", ErrSyntax, "ttft p90, p99 < 2s", "one metric, one percentile and one threshold: write ttft p90 < 2s, ttft p99 < 2s"},
		{"histogram_quantile(0.95, ttft) < 2", ErrSyntax, "histogram_quantile(0.95, ttft) < 2", "PromQL"},
		{"ttft p0 < 2s", ErrPercentile, "p0", "above 0 and below 100"},
		{"ttft p100 < 2s", ErrPercentile, "p100", "below 100"},
		{"ttft p100.0 < 2s", ErrPercentile, "p100.0", "below 100"},
		{"ttft p999 < 2s", ErrPercentile, "p999", "write ttft p99.9 < 2s"},
		{"ttft p9999 < 2s", ErrPercentile, "p9999", "write ttft p99.99 < 2s"},
		{"ttft p999999 < 2s", ErrPercentile, "p999999", "write ttft p99.9999 < 2s"},
		{"ttft p9999999 < 2s", ErrPercentile, "p9999999", "write ttft p95 < 2s"},
		{"ttft p150 < 2s", ErrPercentile, "p150", "below 100: write ttft p95 < 2s"},
		{"ttft p100.5 < 2s", ErrPercentile, "p100.5", "below 100: write ttft p95 < 2s"},
		{"ttft p-5 < 2s", ErrPercentile, "p-5", "above 0"},
		{"ttft p+5 < 2s", ErrPercentile, "p+5", "a p and a number"},
		{"ttft p9.9.9 < 2s", ErrPercentile, "p9.9.9", "a p and a number"},
		{"ttft p95x < 2s", ErrPercentile, "p95x", "a p and a number"},
		{"ttft p99.99999 < 2s", ErrPercentile, "p99.99999", "four decimals"},
		{"ttft p1.00001 < 2s", ErrPercentile, "p1.00001", "four decimals"},
		{"ttft p0.95 < 2s", ErrPercentile, "p0.95", "write ttft p95 < 2s"},
		{"ttft p9" + strings.Repeat("9", 400) + " < 2s", ErrPercentile, "p9" + strings.Repeat("9", 38) + "…", "below 100"},
		{"ttft p95 p99 < 2s", ErrPercentile, "p99", "write ttft p95 < 2s, ttft p99 < 2s"},
		{"ttft 95% < 2s", ErrPercentile, "95%", "such as p95"},
		{"ttft q95 < 2s", ErrPercentile, "q95", "such as p95"},
		{"error_rate p95 < 1%", ErrPercentile, "p95", "has no percentile: write error_rate < 1%"},
		{"p95(attainment) > 90%", ErrPercentile, "p95", "has no percentile: write attainment >= 90%"},

		// Metrics.
		{"tttf p95 < 2s", ErrMetric, "tttf", "write ttft "},
		{"p95(ttfb) < 2s", ErrMetric, "ttfb", "write ttft "},
		{"e2el p95 < 2s", ErrMetric, "e2el", "write e2e "},
		{"latency p95 < 2s", ErrMetric, "latency", "write e2e "},
		{"error-rate < 1%", ErrMetric, "error-rate", "write error_rate "},
		{"servicettft p95 < 2s", ErrMetric, "servicettft", "write service_ttft "},
		{"inter_token_latency p95 < 2s", ErrMetric, "inter_token_latency", "write itl "},
		{"timeout_rate < 1%", ErrMetric, "timeout_rate", "error_rate counts every request that did not succeed"},
		{"5xx_rate < 1%", ErrMetric, "5xx_rate", "no objective is about one outcome"},
		{"4xx_rate < 1%", ErrMetric, "4xx_rate", "no objective is about one outcome"},
		{"404s < 1%", ErrMetric, "404s", "no objective is about one outcome"},
		{"throughput > 100", ErrMetric, "throughput", "a load is no objective"},
		{"rps > 100", ErrMetric, "rps", "a load is no objective"},
		{"qps > 100", ErrMetric, "qps", "a load is no objective"},
		{"request_rate > 100", ErrMetric, "request_rate", "a load is no objective"},
		{"requests_per_second > 100", ErrMetric, "requests_per_second", "a load is no objective"},
		{"503s < 1%", ErrMetric, "503s", "no objective is about one outcome"},
		{"apdex > 0.9", ErrMetric, "apdex", "the share of requests that is good is attainment: write attainment >= 90%"},
		{"humidity p95 < 2s", ErrMetric, "humidity", "one of ttft, ttfo, tpot"},
		{"ttft_p95 < 2s", ErrMetric, "ttft_p95", "write ttft p95 < 2s"},
		{"TTFT.P99.9 < 2s", ErrMetric, "TTFT.P99.9", "write ttft p99.9 < 2s"},
		{"x_ p95 < 1", ErrMetric, "x_", "write x_cost"},
		{"x_a-b p95 < 1", ErrMetric, "x_a-b", "'-' cannot stand in a metric's name"},
		{"x_é p95 < 1", ErrMetric, "x_é", "'é' cannot stand"},
		{"x_" + strings.Repeat("a", MaxMetricName-1) + " p95 < 1", ErrMetric, "x_" + strings.Repeat("a", 38) + "…", "65 bytes, at most 64"},
		{strings.Repeat("t", 1000) + " p95 < 1s", ErrMetric, strings.Repeat("t", 40) + "…", "one of ttft"},

		// Comparisons.
		{"speed p95 < 25tok/s", ErrComparison, "<", "higher is better for speed: write speed p95 >= 25tok/s"},
		{"attainment <= 90%", ErrComparison, "<=", "higher is better"},
		{"ttft p95 > 2s", ErrComparison, ">", "lower is better for ttft: write ttft p95 < 2s"},
		{"error_rate ≥ 1%", ErrComparison, "≥", "lower is better"},
		{"x_cost p95 > 1", ErrComparison, ">", "of a value of which more is better observe the negative: write x_cost p95 < -1 or x_cost p95 < 1"},
		{"ttft p95 = 2s", ErrComparison, "=", "one of < <="},
		{"ttft p95 == 2s", ErrComparison, "==", "one of < <="},
		{"ttft p95 =< 2s", ErrComparison, "=<", "one of < <="},
		{"ttft p95 << 2s", ErrComparison, "<<", "one of < <="},
		{"ttft p95 != 2s", ErrComparison, "!=", "one of < <="},
		{"ttft:800 tpot:50", ErrComparison, "ttft:800 tpot:50", "ParseVLLM"},

		// Thresholds.
		{"ttft p95 < 2", ErrThreshold, "2", "no unit: write ttft p95 < 2s or ttft p95 < 2ms"},
		{"e2e p95 < 1s + 40", ErrThreshold, "40", "no unit"},
		{"e2e p95 < 1s + 40/token", ErrThreshold, "40/token", "no unit"},
		{"ttft p95 < 1m30", ErrThreshold, "1m30", "no unit"},
		{"error_rate < 0.01", ErrThreshold, "0.01", "no unit: write error_rate < 1% or error_rate < 0.01%"},
		{"error_rate < 0.015", ErrThreshold, "0.015", "write error_rate < 1.5% or"},
		{"error_rate < 5", ErrThreshold, "5", "no unit: write error_rate < 5%"},
		{"speed p95 > 25", ErrThreshold, "25", "no unit: write speed p95 >= 25tok/s"},
		{"x_cost p95 < 5s", ErrThreshold, "5s", "a bare number"},
		{"x_cost p95 < 5 usd", ErrThreshold, "5 usd", "a bare number"},
		{"x_cost p95 < 5%", ErrThreshold, "5%", "a bare number"},
		{"x_cost p95 < 0x1p4", ErrThreshold, "0x1p4", "a bare number"},
		{"x_cost p95 < 1_000", ErrThreshold, "1_000", "a bare number"},
		{"x_cost p95 < +5", ErrThreshold, "+5", "a bare number"},
		{"x_cost p95 < 1 + 2", ErrThreshold, "1 + 2", "a bare number"},
		{"x_cost p95 < infinity", ErrThreshold, "infinity", "a bare number"},
		{"x_cost p95 < inf", ErrThreshold, "inf", "infinite"},
		{"x_cost p95 < 1e999", ErrThreshold, "1e999", "so great or so small"},
		{"x_cost p95 < 1e-999", ErrThreshold, "1e-999", "so great or so small"},
		{"x_cost p95 < nan", ErrThreshold, "nan", "not a number"},
		{"x_cost p95 < −1", ErrThreshold, "−1", "a bare number"},
		{"ttft p95 < -2s", ErrThreshold, "-2s", "not negative"},
		{"ttft p95 < −2s", ErrThreshold, "−2s", "not negative"},
		{"e2e p95 < 1s + -40ms/token", ErrThreshold, "-40ms/token", "not negative"},
		{"error_rate < -1%", ErrThreshold, "-1%", "not negative"},
		{"ttft p95 < NaN", ErrThreshold, "NaN", "a number with its unit"},
		{"ttft p95 < +Inf", ErrThreshold, "", "a number missing"},
		{"ttft p95 < inf", ErrThreshold, "inf", "a number with its unit"},
		{"ttft p95 < two seconds", ErrThreshold, "two seconds", "a number with its unit"},
		{"ttft p95 < 1.2.3s", ErrThreshold, "1.2.3s", "a number with its unit"},
		{"ttft p95 < .s", ErrThreshold, ".s", "a number with its unit"},
		{"ttft p95 < 0s", ErrThreshold, "0s", "at least 1ns"},
		{"ttft p95 < 0.4ns", ErrThreshold, "0.4ns", "at least 1ns"},
		{"e2e p95 < 0s + 40ms/token", ErrThreshold, "0s + 40ms/token", "at least 1ns"},
		{"e2e p95 < 1s + 0ms/token", ErrThreshold, "1s + 0ms/token", "at least 1ns"},
		{"ttft p95 < 721h", ErrThreshold, "721h", "at most 720h"},
		{"ttft p95 < 1s + " + strings.Repeat("9", 60) + "h", ErrThreshold, strings.Repeat("9", 40) + "…", ""},
		{"ttft p95 < " + strings.Repeat("9", 65) + "s", ErrThreshold, strings.Repeat("9", 40) + "…", "at most 64 characters"},
		{"ttft p95 < 2sec", ErrThreshold, "sec", "h: write ttft p95 < 2s"},
		{"ttft p95 < 2 Minutes", ErrThreshold, "Minutes", "h: write ttft p95 < 2m"},
		{"ttft p95 < 2parsec", ErrThreshold, "parsec", "ns, us, ms, s, m or h"},
		{"ttft p95 < 2d", ErrThreshold, "d", "ns, us, ms, s, m or h"},
		{"ttft p95 < 5%", ErrThreshold, "5%", "ttft is a time"},
		{"ttft p95 < 5tok/s", ErrThreshold, "5tok/s", "ttft is a time"},
		{"ttft p95 < 1e3ms", ErrThreshold, "1e3ms", "no exponent"},
		{"ttft p95 < 1e+3ms", ErrThreshold, "1e", "no exponent"},
		{"ttft p95 < 1s 2", ErrThreshold, "1s 2", "no unit"},
		{"ttft p95 < 1 2s", ErrThreshold, "1 2s", "two numbers"},
		{"ttft p95 < 2s < 3s", ErrThreshold, "< 3s", "cannot stand after"},
		{"ttft p95 < 2s or e2e p95 < 3s", ErrSyntax, "or e2e p95 < 3s", `no "or": it is met where all of its objectives are`},
		{"ttft p95 < 2s, or e2e p95 < 3s", ErrSyntax, "or", `no "or"`},
		{"e2e p95 < 40ms * tokens", ErrThreshold, "* tokens", "stands after a /"},
		{"ttft p95 < 2s and e2e p95 < 3s", ErrThreshold, "and e2e p95 < 3s", "a comma: write ttft p95 < 2s, e2e p95 < 3s"},
		{"ttft p95 < 2s + ", ErrThreshold, "", "a number missing"},
		{"ttft p95 < 1s + 40ms/token", ErrThreshold, "40ms/token", "only e2e and service_e2e"},
		{"tpot p95 < 1ms + 40ms/token", ErrThreshold, "40ms/token", "only e2e and service_e2e"},
		{"e2e p95 < 1s 40ms/token", ErrThreshold, "1s 40ms/token", "added by a +"},
		{"e2e p95 < 1s + 2s", ErrThreshold, "2s", "one fixed time and one per token"},
		{"e2e p95 < 1ms/token + 2ms/token", ErrThreshold, "2ms/token", "one fixed time and one per token"},
		{"e2e p95 < 1s + 40ms/request", ErrThreshold, "request", "per token"},
		{"e2e p95 < 1s + 40ms/", ErrThreshold, "40ms/", "after /"},
		{"e2e p95 < 1s + 40ms/token/s", ErrThreshold, "40ms/token/s", "after /"},
		{"speed p95 > 25ms", ErrThreshold, "25ms", "in tok/s"},
		{"speed p95 > 25tok", ErrThreshold, "25tok", "in tok/s"},
		{"speed p95 > 25tok/m", ErrThreshold, "25tok/m", "in tok/s"},
		{"speed p95 > 25tok/s + 1tok/s", ErrThreshold, "1tok/s", "one number"},
		{"speed p95 > 0tok/s", ErrThreshold, "0tok/s", "at least"},
		{"speed p95 > 1000001tok/s", ErrThreshold, "1000001tok/s", "at most 1000000tok/s"},
		{"error_rate < 10ms", ErrThreshold, "10ms", "in percent"},
		{"error_rate < 1%/s", ErrThreshold, "1%/s", "in percent"},
		{"error_rate < 1‰", ErrThreshold, "1‰", "in percent"},
		{"error_rate < 0%", ErrThreshold, "0%", "no sample can show it; some thousands of requests can show 0.1%: write error_rate < 0.1%"},
		{"error_rate < 0.00%", ErrThreshold, "0.00%", "0% is no target"},
		{"error_rate < 100%", ErrThreshold, "100%", "asks nothing"},
		{"attainment >= 0%", ErrThreshold, "0%", "asks nothing"},
		{"attainment >= 100%", ErrThreshold, "100%", "no sample can show it; some thousands of requests can show 99.9%: write attainment >= 99.9%"},
		{"attainment >= 101%", ErrThreshold, "101%", "below 100%"},
		{"attainment >= 99.99999999%", ErrThreshold, "99.99999999%", "at most 99.9999999%"},
		{"error_rate < 0.00000001%", ErrThreshold, "0.00000001%", "at least 0.0000001%"},

		// The form.
		{"2s > ttft p95", ErrSyntax, "2s", "begins with its metric"},
		{"ttft (p95) < 2s", ErrSyntax, "ttft (p95)", "write ttft p95 < 2s"},
		{"ttft(p0" + strings.Repeat("0", 600) + "9) < 2s", ErrSyntax, "ttft(p0" + strings.Repeat("0", 33) + "…", "write ttft p95 < 2s"},
		{"ttft_p9\x1b[31m < 2s", ErrMetric, "ttft_p9\x1b[31m", "unknown metric"},
		{"p95(ttft < 2s", ErrSyntax, "p95(ttft", "write ttft p95 < 2s"},
		{"error_rate() < 1%", ErrSyntax, "error_rate()", "write error_rate < 1%"},
		{"ttft p95 < 2s, p95(ttft) <= 3s", ErrDuplicate, "p95(ttft) <= 3s", `already "ttft p95 < 2s"`},
		{"error_rate < 2%, error_rate < 2%", ErrDuplicate, "error_rate < 2%", "already"},
		{"ttft p99.9 < 2s, ttft p99.90 < 3s", ErrDuplicate, "ttft p99.90 < 3s", "already"},

		// Rules for undefined values.
		{"tpot p95 < 50ms, undefined tpot holds", ErrUndefined, "undefined tpot holds", "write undefined tpot: holds"},
		{"tpot p95 < 50ms, undefined tpot:", ErrUndefined, "", "holds, misses or excluded"},
		{"tpot p95 < 50ms, undefined tpot: held", ErrUndefined, "held", "holds, misses or excluded"},
		{"tpot p95 < 50ms, undefined: holds", ErrMetric, "", "there is no metric"},
		{"tpot p95 < 50ms, undefined topt: holds", ErrMetric, "topt", "write undefined tpot: holds"},
		{"tpot p95 < 50ms, undefined itl: holds", ErrUndefined, "itl", "no objective on itl"},
		{"e2e p95 < 5s, undefined e2e: holds", ErrUndefined, "e2e", "never undefined"},
		{"error_rate < 5%, undefined error_rate: holds", ErrUndefined, "error_rate", "never undefined"},
		{"tpot p95 < 50ms, undefined tpot: holds, undefined TPOT: holds", ErrDuplicate, "undefined TPOT: holds", "already a rule"},
		{"undefinedness p95 < 50ms", ErrMetric, "undefinedness", "unknown metric"},

		// What nobody wrote in good faith.
		{"\xff\xfe p95 < 2s", ErrMetric, "\xff\xfe", "unknown metric"},
		{"ttft p95 < 2\xff", ErrThreshold, "\xff", "cannot stand after"},
		{"ttft p95 < 2s\x00", ErrThreshold, "\x00", "cannot stand after"},
		{"ttft p95 < 2K", ErrThreshold, "K", "unknown unit"}, // the Kelvin sign is no k
		{strings.Repeat("(", 1000) + "< 1s", ErrMetric, strings.Repeat("(", 40) + "…", "the metric is missing"},
	} {
		t.Run(shorten(c.text), func(t *testing.T) {
			s, err := Parse(c.text)
			at := checkParseError(t, c.text, err)
			assert.ErrorIs(t, err, c.kind)
			assert.Equal(t, c.at, at.Piece)
			assert.Contains(t, err.Error(), c.says)
			assert.True(t, s.IsZero())
		})
	}
}

func TestTextIsBounded(t *testing.T) {
	text := "ttft p95 < 2s" + strings.Repeat(" ", MaxText)
	_, err := Parse(text)
	at := checkParseError(t, text, err)
	assert.ErrorIs(t, err, ErrTooLong)
	assert.Equal(t, MaxText, at.Pos)

	_, err = Parse(text[:MaxText])
	assert.NoError(t, err)
}

func TestObjectivesAreBounded(t *testing.T) {
	var parts []string
	for i := range MaxObjectives + 1 {
		parts = append(parts, fmt.Sprintf("x_%0*d p99.9999 < 1.7976931348623157e-300", MaxMetricName-2, i))
		parts = append(parts, fmt.Sprintf("undefined x_%0*d: excluded", MaxMetricName-2, i))
	}
	text := strings.Join(parts, ", ")
	_, err := Parse(text)
	checkParseError(t, text, err)
	assert.ErrorIs(t, err, ErrTooLong)

	// The longest SLO that there can be is within the text that is read.
	text = strings.Join(parts[:2*MaxObjectives], ", ")
	s, err := Parse(text)
	require.NoError(t, err)
	back, err := Parse(s.String())
	require.NoError(t, err)
	assert.Equal(t, s, back)
}

// Errors say where even in a text of several lines.
func TestErrorMessage(t *testing.T) {
	_, err := Parse("ttft p95 < 2s\ne2e avg < 5s\n")
	assert.EqualError(t, err, `slo: at byte 18, "avg": a mean hides the slow requests: ask for a percentile: write e2e p95 < 5s`)
	_, err = Parse("ttft p95 < ")
	assert.EqualError(t, err, "slo: at byte 10: the threshold is missing: write ttft p95 < 2s")
}
