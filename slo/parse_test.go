package slo

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"ttft p95 < 2s":                           "ttft p95 < 2s",
		"p95(ttft) <= 2s":                         "ttft p95 < 2s",
		"P95( TTFT )≤2S":                          "ttft p95 < 2s",
		"p95 ttft ≤ 2000ms":                       "ttft p95 < 2s",
		"  ttft\tp95.0<2.000 s  ":                 "ttft p95 < 2s",
		"ttft p99.9 < .5s":                        "ttft p99.9 < 500ms",
		"ttft p99.99 < 5.s":                       "ttft p99.99 < 5s",
		"ttft p1.0001 < 1ns":                      "ttft p1.0001 < 1ns",
		"ttft p99.9999 < 1us":                     "ttft p99.9999 < 1µs",
		"ttfo p50 < 1.5µs":                        "ttfo p50 < 1.5µs", // micro sign
		"lag p50 < 1.5μs":                         "lag p50 < 1.5µs",  // Greek mu
		"e2e p95 < 1m30s":                         "e2e p95 < 90s",
		"e2e p95 < 1h 30m 0.5s":                   "e2e p95 < 5400.5s",
		"e2e p95 < 100s":                          "e2e p95 < 100s",
		"e2e p95 < 720h":                          "e2e p95 < 2592000s",
		"e2e p95 < 999.999999ms":                  "e2e p95 < 999.999999ms",
		"e2e p95 < 1s + 40ms/token":               "e2e p95 < 1s + 40ms/token",
		"e2e p95<40 ms / TOK+1s":                  "e2e p95 < 1s + 40ms/token",
		"service_e2e p95 < 40ms/tokens":           "service_e2e p95 < 40ms/token",
		"tpot p95 < 50ms/token":                   "tpot p95 < 50ms",
		"itl p99 < 60000us":                       "itl p99 < 60ms",
		"service_ttft p95 < 300ms":                "service_ttft p95 < 300ms",
		"speed p95 > 25tok/s":                     "speed p95 >= 25tok/s",
		"p95(speed) ≥ 25.50 Tokens / S":           "speed p95 >= 25.5tok/s",
		"x_score p95 < -0.80":                     "x_score p95 < -0.8",
		"speed p50 >= 0.001 token/s":              "speed p50 >= 0.001tok/s",
		"error_rate<1%":                           "error_rate < 1%",
		"Error_Rate <= 0.10 %":                    "error_rate < 0.1%",
		"error_rate < 0.0000001%":                 "error_rate < 0.0000001%",
		"error_rate < 33.3333333%":                "error_rate < 33.3333333%",
		"attainment > 99.9%":                      "attainment >= 99.9%",
		"attainment ≥ 7%":                         "attainment >= 7%",
		"x_cost p90 < 0.5":                        "x_cost p90 < 0.5",
		"p90(X_Cost_2) < 1E3":                     "x_cost_2 p90 < 1000",
		"x_a p90 < 0":                             "x_a p90 < 0",
		"x_a p90 < 1e300":                         "x_a p90 < 1e+300",
		"x_a p90 < 2.50e-12":                      "x_a p90 < 2.5e-12",
		"ttft p95<2s,e2e p95<5s":                  "ttft p95 < 2s, e2e p95 < 5s",
		"ttft p95<2s;e2e p95<5s;":                 "ttft p95 < 2s, e2e p95 < 5s",
		"\nttft p95<2s,\r\n\te2e p95<5s":          "ttft p95 < 2s, e2e p95 < 5s",
		"ttft p95 < 2s, ttft p50 < 1s":            "ttft p95 < 2s, ttft p50 < 1s",
		"ttft\u00a0p95 <\u202f2\u2009s":           "ttft p95 < 2s", // spaces that word processors put in
		"Undefined TPOT : Holds; tpot p95 < 50ms": "tpot p95 < 50ms, undefined tpot: holds",
		"x_b p50<1,x_a p50<1,itl p50<1s,undefined x_b:misses,undefined x_a:holds,undefined itl:excluded": "x_b p50 < 1, x_a p50 < 1, itl p50 < 1s, undefined itl: excluded, undefined x_a: holds, undefined x_b: misses",
	} {
		s, err := Parse(text)
		if assert.NoError(t, err, text) {
			assert.Equal(t, want, s.String(), text)
			assert.NoError(t, s.Validate(), text)
		}
	}
}

func TestParseGivesTheParts(t *testing.T) {
	s, err := Parse("ttft p95 < 800ms, e2e p99.9 < 1s + 40ms/token, speed p50 >= 25.5tok/s, error_rate < 0.1%, x_cost p90 < 3, undefined x_cost: excluded")
	require.NoError(t, err)
	assert.Equal(t, SLO{
		Objectives: []Objective{
			{TTFT, 95, Threshold{0.8, 0}},
			{E2E, 99.9, Threshold{1, 0.04}},
			{Speed, 50, Threshold{25.5, 0}},
			{ErrorRate, 0, Threshold{0.001, 0}},
			{"x_cost", 90, Threshold{3, 0}},
		},
		Undefined: map[Metric]UndefinedRule{"x_cost": UndefinedExcluded},
	}, s)
}

// The texts of worked reports that others made: each is canonical.
func TestCanonicalTexts(t *testing.T) {
	file, err := os.ReadFile("testdata/canonical.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(file)), "\n")
	require.Greater(t, len(lines), 40)
	for _, line := range lines {
		o, err := ParseObjective(line)
		require.NoError(t, err)
		assert.Equal(t, line, o.String())
	}
}

func TestMustParse(t *testing.T) {
	assert.Equal(t, "ttft p95 < 2s", MustParse("ttft p95 < 2s").String())
	assert.PanicsWithError(t, `slo: at byte 0, "ttft": the percentile is missing: write ttft p95 < 2s`, func() { MustParse("ttft < 2s") })
}

func TestParseObjectiveTakesOne(t *testing.T) {
	o, err := ParseObjective(" p95(ttft) < 2s\n")
	require.NoError(t, err)
	assert.Equal(t, Objective{TTFT, P95, Threshold{Limit: 2}}, o)

	var at *ParseError
	_, err = ParseObjective("ttft p95 < 2s, e2e p95 < 5s")
	require.ErrorAs(t, err, &at)
	assert.ErrorIs(t, err, ErrSyntax)
	assert.Equal(t, 13, at.Pos)

	_, err = ParseObjective(" \n")
	assert.ErrorIs(t, err, ErrEmpty)
	_, err = ParseObjective("undefined tpot: holds")
	assert.Error(t, err)
	_, err = ParseObjective(strings.Repeat(" ", MaxText+1))
	assert.ErrorIs(t, err, ErrTooLong)
}
