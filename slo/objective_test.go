package slo

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReached(t *testing.T) {
	for _, c := range []struct {
		text         string
		count, total uint64
		want         bool
	}{
		{"e2e p99.9 < 1s", 999, 1000, true},
		{"e2e p99.9 < 1s", 998, 1000, false},
		{"error_rate < 1%", 1, 100, true}, // inclusive
		{"error_rate < 1%", 2, 100, false},
		{"error_rate < 1%", 0, 1, true},
		{"error_rate < 0.1%", 1, 1000, true},
		{"error_rate < 0.1%", 1, 999, false},
		{"error_rate < 0.7%", 7, 1000, true}, // 0.007 is no sum of powers of two
		{"attainment >= 90%", 9, 10, true},
		{"attainment >= 90%", 899, 1000, false},
		{"attainment >= 99.9%", 999, 1000, true},
		{"attainment >= 99.9%", 998, 999, false},
		{"ttft p95 < 1s", 0, 0, false},
		{"error_rate < 1%", 0, 0, false}, // no data is not a pass
		{"attainment >= 1%", 0, 0, false},
		{"error_rate < 1%", math.MaxUint64, math.MaxUint64, false},
		{"attainment >= 99.9%", math.MaxUint64, math.MaxUint64, true},
	} {
		assert.Equal(t, c.want, MustParse(c.text).Objectives[0].Reached(c.count, c.total), "%s: %d of %d", c.text, c.count, c.total)
	}
}

// The text's own decimal against counts around it, with the standard library's rationals.
func TestReachedIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 5_000 {
		n := 1 + r.Int64N(billion-1)
		share := big.NewRat(n, billion)
		total := 1 + r.Uint64()>>(1+r.IntN(63))
		edge := new(big.Rat).Mul(share, new(big.Rat).SetFrac(new(big.Int).SetUint64(total), big.NewInt(1)))
		count := new(big.Int).Quo(edge.Num(), edge.Denom()).Uint64() + uint64(r.IntN(3))
		got := new(big.Rat).SetFrac(new(big.Int).SetUint64(count), new(big.Int).SetUint64(total))

		percent := decimal(uint64(n), 7) + "%"
		o := MustParse("error_rate < " + percent).Objectives[0]
		require.Equal(t, got.Cmp(share) <= 0, o.Reached(count, total), "%v: %d of %d", o, count, total)
		o = MustParse("attainment >= " + percent).Objectives[0]
		require.Equal(t, got.Cmp(share) >= 0, o.Reached(count, total), "%v: %d of %d", o, count, total)
	}
}

func TestObjectiveRefused(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		o    Objective
		kind error
		says string
	}{
		{Objective{}, ErrMetric, "there is no metric"},
		{Objective{Metric: TTFT}, ErrPercentile, "above 0"},
		{Objective{TTFT, P95, Threshold{}}, ErrThreshold, "at least 1ns"},
		{Objective{TTFT, 95.00001, Threshold{1, 0}}, ErrPercentile, "four decimals"},
		{Objective{TTFT, 99.99999999999, Threshold{1, 0}}, ErrPercentile, "four decimals"},
		{Objective{TTFT, Percentile(nan), Threshold{1, 0}}, ErrPercentile, "not a number"},
		{Objective{TTFT, 999, Threshold{1, 0}}, ErrPercentile, "write ttft p99.9 < 1s"},
		{Objective{ErrorRate, P95, Threshold{0.01, 0}}, ErrPercentile, "has no percentile"},
		{Objective{ErrorRate, 0, Threshold{}}, ErrThreshold, "0% is no target"},
		{Objective{ErrorRate, 0, Threshold{1, 0}}, ErrThreshold, "100% is no target"},
		{Objective{Attainment, 0, Threshold{99.9, 0}}, ErrThreshold, "below 100%"},
		{Objective{TTFT, P95, Threshold{nan, 0}}, ErrThreshold, "not a number"},
		{Objective{TTFT, P95, Threshold{math.Inf(1), 0}}, ErrThreshold, "at most 720h"},
		{Objective{TTFT, P95, Threshold{-1, 0}}, ErrThreshold, "not negative"},
		{Objective{TTFT, P95, Threshold{1, 0.04}}, ErrThreshold, "only e2e"},
		{Objective{E2E, P95, Threshold{1, nan}}, ErrThreshold, "not a number"},
		{Objective{E2E, P95, Threshold{1, 1e-12}}, ErrThreshold, "at least 1ns"},
		{Objective{E2E, P95, Threshold{1e-12, 1}}, ErrThreshold, "at least 1ns"},
		{Objective{E2E, P95, Threshold{1, 1e9}}, ErrThreshold, "at most 720h"},
		{Objective{Speed, P95, Threshold{}}, ErrThreshold, "at least"},
		{Objective{Speed, P95, Threshold{math.Inf(1), 0}}, ErrThreshold, "at most"},
		{Objective{"x_cost", P95, Threshold{math.Inf(1), 0}}, ErrThreshold, "infinite"},
		{Objective{"x_cost", P95, Threshold{1, 1}}, ErrThreshold, "only e2e"},
	} {
		err := c.o.Validate()
		require.ErrorIs(t, err, c.kind, "%#v", c.o)
		assert.Contains(t, err.Error(), c.says, "%#v", c.o)
		assert.NotPanics(t, func() { _ = c.o.String() })
		_, err = c.o.MarshalText()
		assert.ErrorIs(t, err, c.kind)
		assert.ErrorIs(t, SLO{Objectives: []Objective{c.o}}.Validate(), c.kind)
	}
}

func TestObjectiveText(t *testing.T) {
	var o Objective
	require.NoError(t, o.UnmarshalText([]byte("p95(ttft) <= 2s")))
	assert.Equal(t, Objective{TTFT, P95, Threshold{Limit: 2}}, o)
	text, err := o.MarshalText()
	require.NoError(t, err)
	assert.Equal(t, "ttft p95 < 2s", string(text))

	require.Error(t, o.UnmarshalText([]byte("ttft < 2s")))
	assert.Equal(t, "ttft p95 < 2s", o.String(), "left as it was")
}

// Of a million requests just the budget may break an objective, and not one more.
func TestBudget(t *testing.T) {
	for text, want := range map[string]int64{
		"ttft p95 < 1s": 50_000_000, "e2e p99.9999 < 1s": 1000, "speed p50 >= 9tok/s": 500_000_000, "x_score p90 < -1": 100_000_000,
		"error_rate < 0.3%": 3_000_000, "attainment >= 97.5%": 25_000_000,
	} {
		o := MustParse(text).Objectives[0]
		require.Equal(t, want, o.Budget(), text)
		const total = 1_000_000
		bad := uint64(want / 1000)
		if o.Metric == ErrorRate {
			require.True(t, o.Reached(bad, total), text)
			require.False(t, o.Reached(bad+1, total), text)
			continue
		}
		require.True(t, o.Reached(total-bad, total), text)
		require.False(t, o.Reached(total-bad-1, total), text)
	}
}

// What an objective without a threshold is told to have is of the size of its metric.
func TestAnObjectiveWithoutAThreshold(t *testing.T) {
	for m, want := range map[Metric]string{TTFT: "ttft p95 < 2s", TPOT: "tpot p95 < 50ms", ITL: "itl p95 < 50ms", Lag: "lag p95 < 50ms",
		ServiceE2E: "service_e2e p95 < 2s", Speed: "speed p95 >= 25tok/s"} {
		require.ErrorContains(t, Objective{Metric: m, Percentile: P95}.Validate(), "write "+want)
	}
}
