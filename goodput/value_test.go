package goodput

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

const ms = time.Millisecond

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func tokens(at ...time.Duration) (t []Token) {
	for _, d := range at {
		t = append(t, Token{At: d, N: 1})
	}
	return t
}

func TestValue(t *testing.T) {
	streamed := &Record{Start: epoch, Sent: 5 * ms, Tokens: []Token{{At: 105 * ms, N: 2}, {At: 125 * ms}, {At: 185 * ms, N: 3}},
		End: 200 * ms, Custom: map[slo.Metric]float64{"x_cost": -2, "x_nan": math.NaN(), "x_inf": math.Inf(1)}}
	cases := []struct {
		name string
		r    *Record
		want map[slo.Metric]float64
	}{
		{"streamed", streamed, map[slo.Metric]float64{
			"ttft": 0.105, "ttfo": 0.105, "tpot": 0.020, // 80 ms over 6 − 2 tokens
			"itl":   0.020, // 20 ms for one, 60 ms for three
			"speed": 50, "e2e": 0.2, "lag": 0.005, "service_ttft": 0.1, "service_e2e": 0.195, "x_cost": -2,
		}},
		{"usage above the events", &Record{Tokens: tokens(100*ms, 120*ms), OutputTokens: 11, End: 130 * ms},
			map[slo.Metric]float64{"ttft": 0.1, "ttfo": 0.1, "tpot": 0.002, "itl": 0.02, "speed": 500, "e2e": 0.13, "lag": 0, "service_ttft": 0.1, "service_e2e": 0.13}},
		{"reasoning first", &Record{Tokens: tokens(100*ms, 150*ms), FirstOutput: 150 * ms, End: 150 * ms},
			map[slo.Metric]float64{"ttft": 0.1, "ttfo": 0.15, "tpot": 0.05, "itl": 0.05, "speed": 20, "e2e": 0.15, "lag": 0, "service_ttft": 0.1, "service_e2e": 0.15}},
		{"reasoning only, one event", &Record{Tokens: tokens(100 * ms), FirstOutput: -1, End: 150 * ms},
			map[slo.Metric]float64{"ttft": 0.1, "e2e": 0.15, "lag": 0, "service_ttft": 0.1, "service_e2e": 0.15}},
		{"at once", &Record{Tokens: tokens(100*ms, 100*ms), End: 150 * ms},
			map[slo.Metric]float64{"ttft": 0.1, "ttfo": 0.1, "tpot": 0, "itl": 0, "e2e": 0.15, "lag": 0, "service_ttft": 0.1, "service_e2e": 0.15}},
		{"no tokens", &Record{OutputTokens: 500, End: 150 * ms}, map[slo.Metric]float64{"e2e": 0.15, "lag": 0, "service_e2e": 0.15}},
	}
	all := append(slo.Metrics(), "x_cost", "x_nan", "x_inf", "x_none", "nonsense", "")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, m := range all {
				v, ok := c.r.Value(m)
				want, defined := c.want[m]
				assert.Equal(t, defined, ok, m)
				assert.InDelta(t, want, v, 1e-15, m)
			}
		})
	}
}

func TestValueOfWhatCannotBeMeant(t *testing.T) {
	r := &Record{Sent: time.Hour, Tokens: []Token{{At: -5}, {At: 80 * ms, N: -3}, {At: 50 * ms}, {At: math.MaxInt64, N: math.MaxInt}},
		End: -1, InputTokens: -4, OutputTokens: math.MaxInt, FirstOutput: math.MaxInt64}
	s := measured(r)
	assert.True(t, s.repaired)
	assert.Equal(t, sample{sent: 0, e2e: maxOffset, first: 0, last: maxOffset, ttfo: maxOffset, events: 4, n1: 1, n: maxTokens,
		gap: maxOffset - int64(80*ms), gapTokens: maxTokens, repaired: true, usageBelow: false}, s,
		"in order, within the bounds; the worst step is the last, of 1.5 s for each of 2³¹ tokens")

	for _, r := range []*Record{
		{End: -1}, {Sent: -1}, {Sent: 2, End: 1}, {Sent: 2, Tokens: tokens(1), End: 3}, {Tokens: tokens(5), End: 4},
		{Tokens: tokens(5, 4), End: 6}, {Tokens: []Token{{At: 5, N: -1}}, End: 6}, {Tokens: tokens(5), FirstOutput: 4, End: 6},
		{Tokens: tokens(5), FirstOutput: 6, End: 6}, {InputTokens: -1}, {OutputTokens: int(maxTokens + 1)}, {End: time.Duration(maxOffset) + 1},
	} {
		s := measured(r)
		assert.True(t, s.repaired, "%+v", r)
		assert.GreaterOrEqual(t, s.e2e, s.sent)
	}
	s = measured(&Record{Tokens: tokens(5, 5, 7), FirstOutput: 7, Sent: 5, End: 7, OutputTokens: 3})
	assert.False(t, s.repaired)
	assert.False(t, s.usageBelow)
	s = measured(&Record{Tokens: tokens(5, 5, 7), OutputTokens: 2, End: 7})
	assert.True(t, s.usageBelow)
	assert.EqualValues(t, 3, s.n)
}

// One pass gives what several passes give, and allocates nothing.
func TestMeasureGivesTheSameValues(t *testing.T) {
	r := Record{
		Start: time.Unix(1, 0), Sent: 5 * time.Millisecond, End: 900 * time.Millisecond, Outcome: Success,
		Tokens:      []Token{{At: 100 * time.Millisecond, N: 2}, {At: 150 * time.Millisecond}, {At: 400 * time.Millisecond, N: 4}},
		InputTokens: 30, OutputTokens: 3, Custom: map[slo.Metric]float64{"x_score": -0.5, "x_bad": math.NaN()},
	}
	judge := NewJudge(slo.MustParse("ttft p95 < 200ms, itl p95 < 20ms"), nil)
	var v Values
	judged := judge.Measure(&r, &v)
	require.Equal(t, judge.Judge(&r), judged)
	require.True(t, judged.Misses(1))
	for _, m := range append(slo.Metrics(), "x_score", "x_bad", "x_absent", "nonsense") {
		want, ok := r.Value(m)
		got, gotOK := v.Value(m)
		require.Equal(t, ok, gotOK, m)
		require.Equal(t, want, got, m)
	}
	require.Equal(t, 30, v.InputTokens())
	require.Equal(t, 7, v.OutputTokens(), "usage below the tokens seen gives way to them")
	require.Zero(t, testing.AllocsPerRun(100, func() { judged = judge.Measure(&r, &v) }))
}

func measured(r *Record) (s sample) {
	s.measure(r)
	return s
}
