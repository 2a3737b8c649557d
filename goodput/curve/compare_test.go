package curve

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// replicates are n runs of 100 s: so many requests a second of 1,000 tokens, that share of them in time.
func replicates(n, rate int, share float64, tokens int) (all []*goodput.Report) {
	for i := range n {
		good := 0.0
		r := run("e2e p90 < 1s", 100*rate+1, float64(rate), tokens, func(int) time.Duration {
			if good += share; good >= 1-1e-9 {
				good--
				return 0
			}
			return time.Hour
		})
		// Only those in time end within the hundred seconds: rates are of what ended in the window, so give it all.
		r.ThroughputRPS, r.GoodputRPS = float64(rate), float64(r.Good)/100
		r.OutputTPS, r.TokenGoodputTPS = float64(rate*tokens), float64(int(r.Good)*tokens)/100
		r.Window.From, r.Window.To = r.Window.From.Add(time.Duration(i)*time.Hour), r.Window.To.Add(time.Duration(i)*time.Hour)
		all = append(all, r)
	}
	return all
}

// The definitions' example: 5,000 tokens/s at 99 % against 9,000 at 50 % is 4,950 against 4,500. The first wins, and by
// throughput the other one.
func TestTheFasterOneLoses(t *testing.T) {
	c, err := Compare(replicates(4, 5, 0.99, 1000), replicates(4, 9, 0.50, 1000))
	require.NoError(t, err)
	assert.InDelta(t, 4950, c.TokenGoodput.A, 10)
	assert.InDelta(t, 4500, c.TokenGoodput.B, 10)
	assert.Equal(t, A, c.Winner())
	assert.Equal(t, A, c.TokenGoodput.Winner)
	assert.Equal(t, B, c.Throughput.Winner)
	assert.Equal(t, B, c.TokenThroughput.Winner)
	assert.Contains(t, c.String(), "By goodput     A wins, 4.95 against 4.50 requests/s")
	assert.Contains(t, c.String(), "By throughput  B wins, 9 against 5 requests/s")
	require.Len(t, c.Warnings, 1)
	require.ErrorIs(t, c.Warnings[0], ErrArrivals, "5/s and 9/s are not the same load")
}

// Welch's formulas, worked by hand.
func TestWelch(t *testing.T) {
	d := difference("x", "y", []float64{10, 11, 12, 9, 10}, []float64{11, 13, 12, 10, 12.5}, 0.95)
	assert.InDelta(t, 1.3, d.Diff, 1e-12)
	// s² are 1.3 and 1.45: e = 0.55, so the standard error is 0.741620, with 7.976 degrees of freedom t = 2.3073.
	assert.InDelta(t, 1.3-2.3073*0.741620, d.Lo, 1e-3)
	assert.InDelta(t, 1.3+2.3073*0.741620, d.Hi, 1e-3)
	assert.Equal(t, NoDifference, d.Winner)
}

// Of two that are the same a winner is named in 5 % of comparisons, and the interval of a true difference covers it in 95 %.
func TestCompareErrsAsOftenAsItSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	named, covered := 0, 0
	const n = 4000
	sample := func(mean float64) []float64 {
		v := make([]float64, LeastRuns)
		for i := range v {
			v[i] = mean + rng.NormFloat64()
		}
		return v
	}
	for range n {
		if difference("", "", sample(5), sample(5), 0.95).Winner != NoDifference {
			named++
		}
		if d := difference("", "", sample(5), sample(7), 0.95); d.Lo <= 2 && 2 <= d.Hi {
			covered++
		}
	}
	assert.InDelta(t, 0.05, float64(named)/n, 0.015)
	assert.InDelta(t, 0.95, float64(covered)/n, 0.015)
}

func TestCompareWithFewRuns(t *testing.T) {
	c, err := Compare(replicates(3, 5, 0.99, 100), replicates(4, 5, 0.5, 100))
	require.NoError(t, err)
	assert.Equal(t, TooFewRuns, c.Winner())
	assert.True(t, math.IsNaN(c.Goodput.Lo))
	require.ErrorIs(t, c.Warnings[0], ErrFewRuns)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"interval":[null,null],"winner":"too few runs"`)
	assert.Contains(t, c.String(), "without an interval")
}

func TestCompareWarns(t *testing.T) {
	c, err := Compare(replicates(4, 5, 0.9, 16), replicates(4, 5, 0.9, 500))
	require.NoError(t, err)
	require.Len(t, c.Warnings, 1)
	require.ErrorIs(t, c.Warnings[0], ErrLengths)
	assert.Contains(t, c.Warnings[0].Error(), "16 and 500")
	assert.Equal(t, NoDifference, c.Winner())

	c, err = Compare(replicates(4, 10, 0.9, 100), replicates(4, 10, 0.8, 1000))
	require.NoError(t, err)
	assert.Equal(t, []Winner{A, B}, []Winner{c.Winner(), c.TokenGoodput.Winner})
	require.ErrorIs(t, c.Warnings[0], ErrDisagree)
	assert.Contains(t, c.Warnings[0].Error(), "by goodput in requests/s the winner is a, in tokens/s it is b")

	closed := func(plan string) []*goodput.Report {
		all := replicates(4, 5, 0.9, 16)
		for _, r := range all {
			r.Health = &goodput.ClientHealth{Verdict: goodput.Invalid, Load: &goodput.Load{Closed: true, Plan: plan}}
		}
		return all
	}
	c, err = Compare(closed("closed loop of 8"), closed("closed loop of 16"))
	require.NoError(t, err)
	require.Len(t, c.Warnings, 3)
	require.ErrorIs(t, c.Warnings[0], ErrClient)
	require.ErrorIs(t, c.Warnings[2], ErrArrivals)
	c, err = Compare(closed("closed loop of 8"), replicates(4, 5, 0.9, 16))
	require.NoError(t, err)
	assert.ErrorIs(t, c.Warnings[1], ErrArrivals)
}

// One run does not become four by being there four times: what varies between runs is not in it.
func TestCompareCountsARunOnce(t *testing.T) {
	a, b := replicates(4, 5, 0.99, 100), replicates(4, 5, 0.5, 100)
	c, err := Compare([]*goodput.Report{a[0], a[0], a[0], a[0]}, b)
	require.NoError(t, err)
	assert.Equal(t, TooFewRuns, c.Winner())
	assert.Equal(t, 1, c.RunsA)
	require.Len(t, c.Warnings, 2)
	require.ErrorIs(t, c.Warnings[0], ErrSameRun)
	assert.Contains(t, c.Warnings[0].Error(), "3 of the 4 of a")
	require.ErrorIs(t, c.Warnings[1], ErrFewRuns)
}

// A whole run has in it what it takes to fill and to empty the system, a steady state has not.
func TestCompareWarnsOfWindows(t *testing.T) {
	a, b := replicates(4, 5, 0.9, 16), replicates(4, 5, 0.9, 16)
	for _, r := range b {
		r.Window.Kind = goodput.SteadyState
	}
	c, err := Compare(a, b)
	require.NoError(t, err)
	require.Len(t, c.Warnings, 1)
	require.ErrorIs(t, c.Warnings[0], ErrWindows)
	c, err = Compare(b, b)
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
}

func TestCompareRefuses(t *testing.T) {
	a := replicates(4, 5, 0.9, 16)
	_, err := Compare(a, nil)
	require.ErrorContains(t, err, "either side")
	_, err = Compare(a, []*goodput.Report{nil})
	require.ErrorContains(t, err, "is nil")
	_, err = Compare(a, []*goodput.Report{run(p95, 10, 1, 0, func(int) time.Duration { return 0 })})
	require.ErrorIs(t, err, ErrSLO)
}
