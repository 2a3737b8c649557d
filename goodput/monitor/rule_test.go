package monitor

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

const day = 24 * time.Hour

func objectiveOf(t testing.TB, text string) slo.Objective {
	t.Helper()
	o, err := slo.ParseObjective(text)
	require.NoError(t, err)
	return o
}

// The Site Reliability Workbook's table for a target of 99.9 % and 30 days.
func TestCustomaryRules(t *testing.T) {
	rules := DefaultRules(objectiveOf(t, "ttft p99.9 < 2s"), 30*day)
	require.Equal(t, []Rule{
		{Severity: Page, Budget: 0.02, Long: time.Hour, Short: 5 * time.Minute},
		{Severity: Page, Budget: 0.05, Long: 6 * time.Hour, Short: 30 * time.Minute},
		{Severity: Ticket, Budget: 0.1, Long: day, Short: 2 * time.Hour},
		{Severity: Ticket, Budget: 0.1, Long: 3 * day, Short: 6 * time.Hour},
	}, rules)
	for i, want := range []float64{14.4, 6, 3, 1} {
		require.InDelta(t, want, rules[i].Factor(30*day), 1e-12)
		require.InDelta(t, want/1000, rules[i].Threshold(0.001, 30*day), 1e-12)
	}
}

func TestDerivedFactors(t *testing.T) {
	for text, want := range map[string][]float64{
		"ttft p99 < 2s":     {14.4, 6, 3, 1},
		"ttft p95 < 2s":     {10, 6, 3, 1},
		"ttft p90 < 2s":     {5, 3, 1},
		"ttft p50 < 2s":     {1},
		"ttft p10 < 2s":     {1},
		"error_rate < 1%":   {14.4, 6, 3, 1},
		"attainment >= 90%": {5, 3, 1},
	} {
		var got []float64
		for _, r := range DefaultRules(objectiveOf(t, text), 30*day) {
			got = append(got, r.Factor(30*day))
		}
		require.InDeltaSlice(t, want, got, 1e-9, text)
	}
}

// A quarter's alerts are as soon as a month's: the same windows and factors, so that they are at the same shares of bad requests.
func TestRulesOfAQuarter(t *testing.T) {
	for _, text := range []string{"ttft p99.9 < 2s", "ttft p95 < 2s", "ttft p90 < 2s", "error_rate < 1%"} {
		o := objectiveOf(t, text)
		month, quarter := DefaultRules(o, 30*day), DefaultRules(o, 90*day)
		require.Len(t, quarter, len(month))
		for i, r := range quarter {
			require.Equal(t, [2]time.Duration{month[i].Long, month[i].Short}, [2]time.Duration{r.Long, r.Short})
			require.InDelta(t, month[i].Budget/3, r.Budget, 1e-12)
			require.InDelta(t, month[i].Threshold(Allowed(o), 30*day), r.Threshold(Allowed(o), 90*day), 1e-12)
		}
	}
}

// Whatever the target and the period, a derived rule can be meant and can fire, and a slower one is for less.
func TestDerivedRulesCanFire(t *testing.T) {
	for _, period := range []time.Duration{time.Hour, 5 * time.Hour, day, 7 * day, 28 * day, 30 * day, 31 * day, 92 * day, 366 * day, MaxWindow} {
		for ppm := 10_000; ppm < 1_000_000; ppm += 4_999 {
			o := slo.Objective{Metric: slo.TTFT, Percentile: slo.Percentile(float64(ppm) / 1e4), Threshold: slo.Within(time.Second)}
			rules := DefaultRules(o, period)
			require.NotEmpty(t, rules)
			for i, r := range rules {
				require.NoError(t, r.Check(o, period), "%v over %v", o, period)
				require.Less(t, r.Threshold(Allowed(o), period), 1.0)
				require.Positive(t, r.Short)
				if i > 0 {
					require.Less(t, r.Factor(period), rules[i-1].Factor(period))
					require.Greater(t, r.Long, rules[i-1].Long)
				}
			}
		}
	}
}

func TestRulesThatCannotBeMeant(t *testing.T) {
	p90 := objectiveOf(t, "ttft p90 < 2s")
	customary := Rule{Severity: Page, Budget: 0.02, Long: time.Hour, Short: 5 * time.Minute}
	_, err := New(slo.MustParse("ttft p90 < 2s"), WithRules(customary))
	require.ErrorIs(t, err, ErrUnreachable)
	require.EqualError(t, err, "monitor: WithRules: cannot fire: not even if every request is bad: 2% of the budget in 1h is a burn rate of 14.4, "+
		"and ttft p90 < 2s, which allows 10% bad, has none above 10: what can be had is 0.694% of the budget in 1h, or 2% in 2h52m48s (where half are bad)")
	// What it says can be had can.
	require.NoError(t, Rule{Budget: 0.00694, Long: time.Hour, Short: 5 * time.Minute}.Check(p90, 30*day))
	require.NoError(t, Rule{Budget: 0.02, Long: 2*time.Hour + 52*time.Minute + 48*time.Second, Short: 5 * time.Minute}.Check(p90, 30*day))
	require.NoError(t, customary.Check(objectiveOf(t, "ttft p95 < 2s"), 30*day), "72 % bad can be")

	for _, bad := range []struct {
		rule Rule
		want error
		text string
	}{
		{Rule{Budget: 0.02, Long: 373 * day, Short: 5 * time.Minute}, ErrWindow, "372d"},
		{Rule{Budget: 0.02, Long: time.Hour, Short: time.Second}, ErrWindow, "10s"},
		{Rule{Budget: 0.02, Long: time.Minute, Short: time.Hour}, ErrRule, "longer than the long one"},
		{Rule{Budget: 0, Long: time.Hour, Short: time.Minute}, ErrRule, "above 0"},
		{Rule{Budget: 2, Long: time.Hour, Short: time.Minute}, ErrRule, "up to 1"},
		{Rule{Budget: 0.02, Long: 3 * day, Short: time.Hour}, ErrRule, "ask for 10% or more in 3d"},
		{Rule{Budget: 0.9, Long: time.Minute, Short: time.Minute}, ErrUnreachable, "burn rate"},
	} {
		err := bad.rule.Check(p90, 30*day)
		require.ErrorIs(t, err, bad.want)
		require.ErrorContains(t, err, bad.text)
	}
	require.ErrorIs(t, Rule{Budget: 1, Long: 2 * day, Short: time.Hour}.Check(p90, day), ErrRule)
	_, err = New(slo.MustParse("ttft p90 < 2s"), WithRules(Rule{Budget: 0.05, Long: 6 * time.Hour, Short: time.Hour, Objective: "ttft p90 < 2000ms"}))
	require.ErrorIs(t, err, ErrRule)
	require.ErrorContains(t, err, `no SLO has the objective "ttft p90 < 2000ms", as it stands in "ttft p90 < 2s"`)
	twice := Rule{Severity: Page, Budget: 0.05, Long: 6 * time.Hour, Short: time.Hour}
	sooner := twice
	sooner.Short = 30 * time.Minute
	_, err = New(slo.MustParse("ttft p90 < 2s, error_rate < 1%"), WithRules(twice, sooner))
	require.ErrorIs(t, err, ErrRule)
	require.ErrorContains(t, err, "two for ttft p90 < 2s with severity page and a long window of 6h")
	sooner.Severity = Ticket
	_, err = New(slo.MustParse("ttft p90 < 2s, error_rate < 1%"), WithRules(twice, sooner))
	require.NoError(t, err)
	_, err = New(slo.MustParse("ttft p90 < 2s"), WithPeriod(MaxWindow+sec))
	require.ErrorIs(t, err, ErrWindow)
	_, err = New(slo.MustParse("ttft p90 < 2s"), WithEvidence(1, 1))
	require.ErrorContains(t, err, "WithEvidence")
	_, err = New(slo.SLO{})
	require.ErrorIs(t, err, slo.ErrEmpty)
}

// The same rule twice would be one alert under two names, or under one.
func TestARuleTwiceIsRefused(t *testing.T) {
	s := slo.MustParse("ttft p95 < 2s, e2e p95 < 20s")
	r := DefaultRules(s.Objectives[0], DefaultPeriod)[0]
	of := func(i int) Rule {
		one := r
		one.Objective = s.Objectives[i].String()
		return one
	}
	_, err := New(s, WithRules(of(0), of(1)))
	require.NoError(t, err)
	for _, rules := range [][]Rule{{r, r}, {r, of(1)}} {
		_, err := New(s, WithRules(rules...))
		require.ErrorIs(t, err, ErrRule)
		require.ErrorContains(t, err, "tell apart")
	}
}

func TestDurationsAsPeopleWriteThem(t *testing.T) {
	for d, want := range map[time.Duration]string{
		day: "1d", 36 * time.Hour: "36h", time.Hour: "1h", 90 * time.Minute: "1h30m", 100 * time.Second: "1m40s", 10 * time.Second: "10s", 0: "0s", 500 * ms: "500ms",
		time.Hour + 10*sec: "1h0m10s", 10 * time.Minute: "10m", 20 * time.Hour: "20h",
	} {
		require.Equal(t, want, duration(d))
	}
}

// The budget of a quarter is the sum over what happened in the last 90 days, as a list of it has it, and after a restart too.
func TestBudgetOfAQuarter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(9, 9))
		m := newMonitor(t, "error_rate < 1%", WithPeriod(90*day))
		type happening struct {
			at         time.Time
			bad, total uint64
		}
		var list []happening
		for n := range 150 {
			time.Sleep(time.Duration(random.Int64N(int64(3 * day))))
			now := happening{time.Now(), uint64(random.IntN(4)), 100}
			list = append(list, now)
			for i := range now.total {
				r := answer("", sec, sec)
				if i < now.bad {
					r.Outcome = goodput.ServerError
				}
				m.Observe(r)
			}
			if n%20 == 19 {
				again := newMonitor(t, "error_rate < 1%", WithPeriod(90*day))
				require.NoError(t, again.UnmarshalBinary(encoded(t, m)))
				m = again
			}
			w := window(t, m, 90*day)
			require.Less(t, time.Since(w.From), 90*day+12*time.Hour)
			var bad, total uint64
			for _, l := range list {
				if !l.at.Before(w.From) {
					bad, total = bad+l.bad, total+l.total
				}
			}
			b := m.State().SLOs[0].Objectives[0].Budget
			require.Equal(t, [2]uint64{bad, total}, [2]uint64{b.Bad, b.Total})
			require.InDelta(t, 1-float64(bad)/(0.01*float64(total)), float64(b.Left), 1e-12)
		}
	})
}

// A class keeps at most so many slots, of 8 bytes for each of its counts: what the package comment says of its memory.
func TestSlotsOfAClass(t *testing.T) {
	slots := 0
	for _, r := range newRings(1) {
		slots += int(r.n) * pageSlots
	}
	require.Equal(t, 5328, slots)
}
