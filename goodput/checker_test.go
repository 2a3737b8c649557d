package goodput

import (
	"math"
	"math/big"
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

func TestJudgeIsInclusiveAndExact(t *testing.T) {
	const limit = 7 * ms
	cases := []struct {
		text string
		at   func(extra time.Duration) *Record // holds with 0 and misses with 1 ns
	}{
		{"ttft p95 < 7ms", func(d time.Duration) *Record { return &Record{Tokens: tokens(limit + d), End: time.Second} }},
		{"ttfo p95 < 7ms", func(d time.Duration) *Record {
			return &Record{Tokens: tokens(1, limit+d), FirstOutput: limit + d, End: time.Second}
		}},
		{"tpot p95 < 7ms", func(d time.Duration) *Record {
			return &Record{Tokens: tokens(1, 1+9*limit+d), OutputTokens: 10, End: time.Second}
		}},
		{"itl p95 < 7ms", func(d time.Duration) *Record {
			return &Record{Tokens: []Token{{At: 1}, {At: 2}, {At: 2 + 5*limit + d, N: 5}, {At: 2 + 5*limit + d, N: 1}}, End: time.Second}
		}},
		{"e2e p95 < 7ms", func(d time.Duration) *Record { return &Record{End: limit + d} }},
		{"e2e p95 < 1ms + 2ms/token", func(d time.Duration) *Record { return &Record{End: limit + d, OutputTokens: 3} }},
		{"e2e p95 < 2ms/token", func(d time.Duration) *Record { return &Record{End: 14*ms + d, OutputTokens: 7} }},
		{"lag p95 < 7ms", func(d time.Duration) *Record { return &Record{Sent: limit + d, End: time.Second} }},
		{"service_ttft p95 < 7ms", func(d time.Duration) *Record {
			return &Record{Sent: ms, Tokens: tokens(ms + limit + d), End: time.Second}
		}},
		{"service_e2e p95 < 7ms", func(d time.Duration) *Record { return &Record{Sent: ms, End: ms + limit + d} }},
		{"service_e2e p95 < 1ms + 2ms/token", func(d time.Duration) *Record {
			return &Record{Sent: ms, End: ms + limit + d, OutputTokens: 3}
		}},
		{"speed p95 >= 33.3tok/s", func(d time.Duration) *Record { // 333 tokens in 10 s
			return &Record{Tokens: []Token{{At: 1}, {At: 1 + 10*time.Second + d, N: 333}}, End: time.Minute}
		}},
		{"x_joules p95 < 7", func(d time.Duration) *Record {
			return &Record{Custom: map[slo.Metric]float64{"x_joules": 7 + float64(d)*1e-12}}
		}},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			j := NewJudge(slo.MustParse(c.text), nil)
			for extra, good := range map[time.Duration]bool{-1: true, 0: true, 1: false} {
				r := c.at(extra)
				r.Outcome = Success
				got := j.Judge(r)
				assert.Equal(t, good, got.Good, "%d ns over", extra)
				assert.Equal(t, !good, got.Misses(0))
				assert.False(t, got.Undefined(0))
				assert.Equal(t, good, got.First == -1)
				r.Outcome = Timeout
				assert.False(t, j.Judge(r).Good, "a failed request is not good")
			}
		})
	}
}

func TestLessIsExact(t *testing.T) {
	f := func(a, b, c, d int64) bool {
		for _, v := range []*int64{&a, &b, &c, &d} {
			*v &= math.MaxInt64
		}
		x := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		y := new(big.Int).Mul(big.NewInt(c), big.NewInt(d))
		return less(a, b, c, d) == (x.Cmp(y) < 0) && !less(a, b, b, a)
	}
	require.NoError(t, quick.Check(f, nil))
	assert.True(t, less(math.MaxInt64, math.MaxInt64-1, math.MaxInt64, math.MaxInt64))
}

func TestJudgeDoesNotOverflow(t *testing.T) {
	j := NewJudge(slo.MustParse("tpot p95 < 720h, itl p95 < 720h, speed p95 >= 1000000tok/s, e2e p95 < 720h + 720h/token"), nil)
	r := &Record{Outcome: Success, Tokens: []Token{{}, {At: math.MaxInt64, N: math.MaxInt}}, End: math.MaxInt64, OutputTokens: math.MaxInt}
	got := j.Judge(r)
	assert.False(t, got.Misses(0))
	assert.False(t, got.Misses(1))
	assert.True(t, got.Misses(2), "2³¹ tokens in 100 years are slow")
	assert.False(t, got.Misses(3))
	for _, none := range []int{-1, 4, 64} { // no objective has that index
		assert.False(t, got.Misses(none) || got.Undefined(none))
	}
}

func TestJudgeUndefined(t *testing.T) {
	none := &Record{Outcome: Success, End: time.Second, OutputTokens: 500}
	one := &Record{Outcome: Success, Tokens: tokens(ms), End: time.Second}
	cases := []struct {
		text      string
		r         *Record
		holds     bool
		undefined bool
	}{
		{"ttft p95 < 1s", none, false, true},
		{"ttft p95 < 1s, undefined ttft: holds", none, true, true},
		{"ttft p95 < 1s, undefined ttft: excluded", none, true, true},
		{"ttft p95 < 1s", one, true, false},
		{"tpot p95 < 1s", none, false, true},
		{"tpot p95 < 1s", one, true, true},
		{"tpot p95 < 1s, undefined tpot: misses", one, false, true},
		{"itl p95 < 1s", one, true, true},
		{"itl p95 < 1s", none, false, true},
		{"speed p95 >= 1tok/s", one, true, true},
		{"speed p95 >= 1tok/s", none, false, true},
		{"x_a p95 < 1", none, false, true},
		{"x_a p95 < 1, undefined x_a: holds", none, true, true},
		{"service_ttft p95 < 1s", none, false, true},
		{"ttfo p95 < 1s", &Record{Outcome: Success, Tokens: tokens(ms), FirstOutput: -1, End: ms}, false, true},
	}
	for _, c := range cases {
		got := NewJudge(slo.MustParse(c.text), nil).Judge(c.r)
		assert.Equal(t, c.holds, got.Good, c.text)
		assert.Equal(t, c.undefined, got.Undefined(0), c.text)
	}
}

func TestJudgeOwnLimits(t *testing.T) {
	j := NewJudge(slo.MustParse("ttft p50 < 1s, ttft p99 < 2s, e2e p95 < 1s + 1s/token, speed p90 >= 10tok/s, x_a p90 < 1"), nil)
	r := func(limits map[slo.Metric]float64) *Record {
		return &Record{Outcome: Success, Tokens: tokens(1500*ms, 1600*ms), End: 3 * time.Second, Limits: limits,
			Custom: map[slo.Metric]float64{"x_a": -3}}
	}
	misses := func(r *Record) (m []int) {
		v := j.Judge(r)
		for i := range 5 {
			if v.Misses(i) {
				m = append(m, i)
			}
		}
		return m
	}
	assert.Equal(t, []int{0}, misses(r(nil)))
	assert.Empty(t, misses(r(map[slo.Metric]float64{"ttft": 1.5})), "both objectives on it")
	assert.Equal(t, []int{0, 1, 2, 3, 4}, misses(r(map[slo.Metric]float64{"ttft": 0.1, "e2e": 2.9, "speed": 11, "x_a": -4})),
		"in place of a threshold that grows, too")
	assert.Equal(t, []int{0}, misses(r(map[slo.Metric]float64{"e2e": math.NaN(), "speed": -1, "x_a": math.Inf(-1), "tpot": 0.001, "error_rate": 0.5, "zzz": 1})))
}

func TestJudgeUndecided(t *testing.T) {
	r := func(sent, first, first2 time.Duration, age time.Duration) *Record {
		r := &Record{Outcome: Unfinished, Sent: sent, End: age}
		if first > 0 {
			r.Tokens = tokens(first)
		}
		if first2 > 0 {
			r.Tokens = tokens(first, first2)
		}
		return r
	}
	thinking := r(0, 50*ms, 0, 200*ms)
	thinking.FirstOutput = -1
	cases := []struct {
		text string
		r    *Record
		want bool
	}{
		{"ttft p95 < 100ms", r(0, 0, 0, 100*ms), true},
		{"ttft p95 < 100ms", r(0, 0, 0, 101*ms), false},
		{"ttft p95 < 100ms", r(0, 50*ms, 0, 500*ms), true},
		{"ttft p95 < 100ms", r(0, 150*ms, 0, 500*ms), false},
		{"ttft p95 < 100ms, undefined ttft: holds", r(0, 0, 0, 101*ms), true},
		{"ttfo p95 < 100ms", thinking, false},
		{"ttfo p95 < 300ms", thinking, true},
		{"e2e p95 < 100ms", r(0, 0, 0, 101*ms), false},
		{"e2e p95 < 100ms + 1ms/token", r(0, 0, 0, time.Hour), true},
		{"itl p95 < 100ms", r(0, 1, 200*ms, 200*ms), false},
		{"itl p95 < 100ms", r(0, 1, 90*ms, 900*ms), true},
		{"tpot p95 < 1ms", r(0, 1, 200*ms, 200*ms), true},
		{"speed p95 >= 1000tok/s", r(0, 1, 200*ms, 200*ms), true},
		{"lag p95 < 100ms", r(101*ms, 0, 0, 200*ms), false},
		{"service_ttft p95 < 100ms", r(100*ms, 0, 0, 200*ms), true},
		{"service_ttft p95 < 100ms", r(99*ms, 0, 0, 200*ms), false},
		{"service_ttft p95 < 100ms", r(ms, 110*ms, 0, 200*ms), false},
		{"service_e2e p95 < 100ms", r(99*ms, 0, 0, 200*ms), false},
		{"x_a p95 < 1", r(0, 0, 0, time.Hour), true},
		{"error_rate < 1%", r(0, 0, 0, time.Hour), true},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, NewJudge(slo.MustParse(c.text), nil).Judge(c.r).Undecided, "%s %+v", c.text, c.r)
	}
	late := r(0, 0, 0, 150*ms)
	late.Limits = map[slo.Metric]float64{"ttft": 0.2}
	assert.True(t, NewJudge(slo.MustParse("ttft p95 < 100ms"), nil).Judge(late).Undecided, "its own threshold has not passed")
}

func TestJudgeCause(t *testing.T) {
	j := NewJudge(slo.MustParse("ttft p95 < 1s, e2e p95 < 2s"), nil)
	assert.Equal(t, "", j.Cause(&Record{Outcome: Success, Tokens: tokens(ms), End: ms}))
	assert.Equal(t, "e2e p95 < 2s", j.Cause(&Record{Outcome: Success, Tokens: tokens(ms), End: time.Minute}))
	assert.Equal(t, "ttft p95 < 1s", j.Cause(&Record{Outcome: Success, Tokens: tokens(time.Minute), End: time.Minute}))
	assert.Equal(t, "rate_limited", j.Cause(&Record{Outcome: RateLimited}))
	assert.Equal(t, "server_error", j.Cause(&Record{}))
	assert.Equal(t, "ttft p95 < 1s, e2e p95 < 2s", j.SLO("").String())
	assert.Panics(t, func() { NewJudge(slo.SLO{}, nil) })
}

func TestJudgeAllocatesNothing(t *testing.T) {
	j := NewJudge(slo.MustParse("ttft p95 < 1s, e2e p95 < 2s, itl p99 < 50ms, tpot p90 < 1s"), nil)
	r := &Record{Outcome: Success, Tokens: tokens(ms, 2*ms, 3*ms), End: ms, Limits: map[slo.Metric]float64{"ttft": 2}}
	assert.Zero(t, testing.AllocsPerRun(100, func() { j.Judge(r) }))
}

func TestJudgeByClass(t *testing.T) {
	j := NewJudge(slo.MustParse("e2e p95 < 1s"), slo.Set{"batch": slo.MustParse("e2e p95 < 1m"), slo.DefaultClass: slo.MustParse("e2e p95 < 2s")})
	for class, limit := range map[string]time.Duration{"": 2 * time.Second, "default": 2 * time.Second, "batch": time.Minute, "new": time.Second} {
		assert.True(t, j.Good(&Record{Class: class, Outcome: Success, End: limit}), class)
		assert.False(t, j.Good(&Record{Class: class, Outcome: Success, End: limit + 1}), class)
	}
	assert.Equal(t, "e2e p95 < 60s", j.SLO("batch").String())
	assert.Equal(t, "e2e p95 < 60s", j.Cause(&Record{Class: "batch", Outcome: Success, End: time.Hour}))
	assert.Panics(t, func() { NewJudge(slo.MustParse("e2e p95 < 1s"), slo.Set{"a": {}}) })
}
