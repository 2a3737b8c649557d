package slo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMetrics(t *testing.T) {
	type row struct {
		unit                                     string
		time, higher, population, scales, absent bool
	}
	want := map[Metric]row{
		TTFT:        {unit: "s", time: true, absent: true},
		TTFO:        {unit: "s", time: true, absent: true},
		TPOT:        {unit: "s/token", time: true, absent: true},
		ITL:         {unit: "s", time: true, absent: true},
		E2E:         {unit: "s", time: true, scales: true},
		Speed:       {unit: "tokens/s", higher: true, absent: true},
		Lag:         {unit: "s", time: true},
		ServiceTTFT: {unit: "s", time: true, absent: true},
		ServiceE2E:  {unit: "s", time: true, scales: true},
		ErrorRate:   {unit: "ratio", population: true},
		Attainment:  {unit: "ratio", population: true, higher: true},
	}
	all := Metrics()
	require.Len(t, all, len(want))
	for _, m := range all {
		got := row{m.Unit(), m.IsTime(), m.HigherIsBetter(), m.Population(), m.scales(), m.canBeUndefined()}
		assert.Equal(t, want[m], got, m)
		assert.False(t, m.Custom(), m)
		assert.NoError(t, m.Validate(), m)
	}
	all[0] = "changed"
	assert.Equal(t, TTFT, Metrics()[0], "the list is the caller's own")

	own := Metric("x_cost")
	assert.True(t, own.Custom())
	assert.True(t, own.canBeUndefined())
	assert.Empty(t, own.Unit())
	assert.False(t, own.HigherIsBetter())
	assert.NoError(t, own.Validate())
	assert.NoError(t, Metric("x_"+strings.Repeat("9", MaxMetricName-2)).Validate())
}

func TestMetricRefused(t *testing.T) {
	for m, says := range map[Metric]string{
		"":          "there is no metric: one of ttft, ttfo",
		"TTFT":      "write ttft",
		"ttft ":     "write ttft",
		"goodput":   "write attainment",
		"x_":        "such as x_cost",
		"x_Cost":    "'C' cannot stand",
		"x_a\n":     `'\n' cannot stand`,
		"x_a b":     "' ' cannot stand",
		"X_cost":    "one of ttft",
		"throughpt": "one of ttft",
	} {
		err := m.Validate()
		require.ErrorIs(t, err, ErrMetric, m)
		assert.Contains(t, err.Error(), says, m)
		assert.NotContains(t, err.Error(), "\n", m)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"ttft", "ttft", 0},
		{"tttf", "ttft", 1}, // two neighbours swapped
		{"kitten", "sitting", 3},
		{"ca", "abc", 3}, // 2 by the unrestricted distance
		{"ttf", "ttft", 1}, {"tttft", "ttft", 1}, {"ttxt", "ttft", 1},
	} {
		assert.Equal(t, c.want, distance(c.a, c.b), "%s %s", c.a, c.b)
		assert.Equal(t, c.want, distance(c.b, c.a), "%s %s", c.b, c.a)
	}
}

// Every slip of one key finds its metric again, unless it made another one of equal distance.
func TestNearestFindsSlips(t *testing.T) {
	for _, m := range []Metric{TTFT, TPOT, Speed, ServiceTTFT, ServiceE2E, ErrorRate, Attainment} {
		for i := range m {
			missing := m[:i] + m[i+1:]
			if missing.kind() == unknownKind {
				assert.Equal(t, m, missing.nearest(), missing)
			}
			doubled := m[:i] + m[i:i+1] + m[i:]
			assert.Equal(t, m, doubled.nearest(), doubled)
		}
	}
}
