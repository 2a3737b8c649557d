package slo

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// someNanoseconds covers every magnitude and both sides of every power of two and ten.
func someNanoseconds() []int64 {
	all := []int64{int64(MaxTime), int64(MaxTime) - 1}
	for n := int64(1); n < int64(MaxTime); n *= 2 {
		all = append(all, n-1, n, n+1)
	}
	for n := int64(1); n < int64(MaxTime); n *= 10 {
		all = append(all, n-1, n, n+1)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 5_000 {
		all = append(all, 1+r.Int64N(int64(MaxTime))>>r.IntN(52))
	}
	positive := all[:0]
	for _, n := range all {
		if n > 0 {
			positive = append(positive, n)
		}
	}
	return positive
}

// A time is the same as float64, as integer and as text; the standard library reads that text as the same duration.
func TestTimesAreExact(t *testing.T) {
	for _, n := range someNanoseconds() {
		d := time.Duration(n)
		th := Within(d)
		limit, per := th.Billionths()
		require.Equal(t, n, limit)
		require.Zero(t, per)
		require.Equal(t, d, th.Duration(1000))

		text := timeText(n)
		std, err := time.ParseDuration(text)
		require.NoError(t, err)
		require.Equal(t, d, std, text)

		o := Objective{TTFT, P95, th}
		back, err := ParseObjective(o.String())
		require.NoError(t, err)
		require.Equal(t, o, back)

		o = Objective{ServiceE2E, P999, Threshold{th.Limit, Within(time.Duration(int64(MaxTime) - n + 1)).Limit}}
		back, err = ParseObjective(o.String())
		require.NoError(t, err)
		require.Equal(t, o, back)
	}
}

func TestTimeInTheLargestUnit(t *testing.T) {
	for n, want := range map[int64]string{
		1: "1ns", 999: "999ns", 1000: "1µs", 1001: "1.001µs", 999_999: "999.999µs", 1_000_000: "1ms", 1_500_000: "1.5ms",
		999_999_999: "999.999999ms", 1_000_000_000: "1s", 1_000_000_001: "1.000000001s", 60e9: "60s", 3600e9: "3600s",
	} {
		assert.Equal(t, want, timeText(n))
	}
}

// A limit that was computed is rounded to whole nanoseconds, in the judgement and in the text alike.
func TestTimeIsRounded(t *testing.T) {
	tenth, fifth := 0.1, 0.2
	o := Objective{TTFT, P95, Threshold{Limit: tenth + fifth}}
	require.NotEqual(t, 0.3, o.Threshold.Limit)
	require.NoError(t, o.Validate())
	assert.Equal(t, "ttft p95 < 300ms", o.String())
	assert.Equal(t, 300*time.Millisecond, o.Threshold.Duration(0))

	for text, want := range map[string]int64{
		"1.4ns": 1, "1.5ns": 2, "2.5ns": 3, "0.5ns": 1, "1.0000000004s": 1e9, "1.0000000005s": 1e9 + 1,
		"0.6ns 0.6ns": 1, // added first, rounded once
		"0.0000001m":  6000,
	} {
		o, err := ParseObjective("ttft p95 < " + text)
		require.NoError(t, err, text)
		limit, _ := o.Threshold.Billionths()
		assert.Equal(t, want, limit, text)
	}
}

func TestDurationGrowsWithTokens(t *testing.T) {
	th := Threshold{Limit: 1, PerToken: 0.04}
	assert.Equal(t, time.Second, th.Duration(0))
	assert.Equal(t, 5*time.Second, th.Duration(100))
	assert.Equal(t, time.Second, th.Duration(-5))
	assert.Equal(t, 4*time.Second, Threshold{PerToken: 0.04}.Duration(100))
	assert.Equal(t, time.Duration(math.MaxInt64), th.Duration(math.MaxInt), "too great for a Duration")

	r := rand.New(rand.NewPCG(5, 6))
	for range 5_000 {
		th := Threshold{Limit: r.Float64() * MaxTime.Seconds(), PerToken: r.Float64()}
		tokens := int(r.Uint64() >> (1 + r.IntN(63)))
		limit, per := th.Billionths()
		want := new(big.Int).Mul(big.NewInt(per), big.NewInt(int64(tokens)))
		if want.Add(want, big.NewInt(limit)); !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		require.Equal(t, want.Int64(), int64(th.Duration(tokens)))
	}
}

func TestBillionthsOfWhatIsRefused(t *testing.T) {
	limit, per := Threshold{Limit: math.Inf(1), PerToken: math.NaN()}.Billionths()
	assert.Equal(t, int64(math.MaxInt64), limit)
	assert.Equal(t, int64(0), per)
	limit, per = Threshold{Limit: math.Inf(-1), PerToken: 1e300}.Billionths()
	assert.Equal(t, int64(math.MinInt64), limit)
	assert.Equal(t, int64(math.MaxInt64), per)
}

// Ratios, speeds and callers' own numbers survive as the float64 that they are, and a percentage is what it says.
func TestNumbersAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	number := func(least, most float64) float64 { // log-uniform; every other one is short
		x := math.Exp(math.Log(least) + r.Float64()*(math.Log(most)-math.Log(least)))
		if r.IntN(2) == 0 {
			x = math.Max(least, math.Round(x*1000)/1000)
		}
		return x
	}
	for range 5_000 {
		for _, o := range []Objective{
			{ErrorRate, 0, Threshold{Limit: number(1e-9, 0.999)}},
			{Attainment, 0, Threshold{Limit: 1 - number(1e-9, 0.999)}},
			{Speed, P90, Threshold{Limit: number(1e-9, MaxSpeed)}},
			{"x_own", P90, Threshold{Limit: math.Float64frombits(r.Uint64N(math.Float64bits(math.Inf(1))))}},
		} {
			require.NoError(t, o.Validate())
			back, err := ParseObjective(o.String())
			require.NoError(t, err)
			require.Equal(t, o, back, o.String())
			if o.Metric.Population() {
				_, text, _ := strings.Cut(o.String(), "< ")
				if o.Metric == Attainment {
					_, text, _ = strings.Cut(o.String(), ">= ")
				}
				percent, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "%"))
				require.True(t, ok)
				ratio, _ := percent.Quo(percent, big.NewRat(100, 1)).Float64()
				require.Equal(t, o.Threshold.Limit, ratio, text)
			}
		}
	}
	assert.Equal(t, "x_own p90 < 0", Objective{"x_own", P90, Threshold{Limit: math.Copysign(0, -1)}}.String())
}
