package monitor

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// load tells m of ten requests a second for so long, the first bad of each ten late, and calls each after each second.
func load(m *Monitor, d time.Duration, bad int, each func() bool) {
	for range d / sec {
		for i := range 10 {
			ttft := 100 * ms
			if i < bad {
				ttft = 3 * sec
			}
			m.Observe(answer("", ttft, 3*sec))
			time.Sleep(100 * ms)
		}
		if each != nil && !each() {
			return
		}
	}
}

func stateOf(m *Monitor, rule int) AlertState { return m.Alerts()[rule].State }

// Of a P95 the fast rule fires at 50 % bad over an hour. After good traffic that is, at 80 % bad from now on, after θ·L/b = 2,250 s,
// to which the slot of the window that is too long adds at most θ·10 s/b, and the evidence what moves the share of 36,000 requests by z·√(θ(1−θ)/n).
// Once all are good again it resolves after S·(1−θ/b) = 112.5 s of the short window of 300 s, and the evidence of its 3,000 requests.
func TestAlertFiresAndResolvesOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes []Change
		m := newMonitor(t, "ttft p95 < 2s", WithOnChange(func(c Change) {
			if c.Alert.Rule.Long == time.Hour {
				changes = append(changes, c)
			}
		}))
		require.Equal(t, NoData, stateOf(m, 0))
		load(m, 2*time.Hour, 0, nil)
		require.Equal(t, Inactive, stateOf(m, 0))

		from := time.Now()
		load(m, time.Hour, 8, func() bool { return stateOf(m, 0) != Firing })
		took := time.Since(from).Seconds()
		evidence := 1.645 * 0.5 / 189.7 * 3600 / 0.8
		require.GreaterOrEqual(t, took, 2250.0)
		require.LessOrEqual(t, took, 2250+0.5*10/0.8+evidence+2)

		fired := m.Alerts()[0]
		require.InDelta(t, 10, float64(fired.Long.Rate), 0.2)
		require.InDelta(t, 16, float64(fired.Short.Rate), 0.2)
		require.Greater(t, float64(fired.Lower), 0.5)

		from = time.Now()
		load(m, time.Hour, 0, func() bool { return stateOf(m, 0) == Firing })
		require.InDelta(t, 112.5+1.645*0.5/54.8*300/0.8, time.Since(from).Seconds(), 2)
		require.Equal(t, Resolved, stateOf(m, 0))
		load(m, 301*sec, 0, nil)
		require.Equal(t, Inactive, stateOf(m, 0))

		var states []AlertState
		for _, c := range changes {
			states = append(states, c.Alert.State)
		}
		require.Equal(t, []AlertState{Inactive, Pending, Firing, Resolved, Inactive}, states, "pending from the plain share to the sure one")
	})
}

// A steady bad share below the threshold fires nothing, however long; one above it does.
func TestSteadyShareAgainstThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p90 < 2s", WithPeriod(7*day)) // factors 3.36 … → 5, 3, 1 of 14 min, 5.6 h, 16.8 h
		load(m, 20*time.Minute, 4, nil)
		for _, a := range m.Alerts() {
			want := Firing
			if 0.4 <= a.Threshold {
				want = Inactive
			}
			require.Equal(t, want, a.State, "%v: factor %v", a.Rule, a.Factor)
		}
		require.Less(t, 0.4, m.Alerts()[0].Threshold)
		require.Greater(t, 0.4, m.Alerts()[1].Threshold)
	})
}

// A share that stays a little above the threshold is one alert, though chance brings the short window's below it again and again.
func TestAlertDoesNotFlapAtTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fired := 0
		m := newMonitor(t, "ttft p99 < 2s", WithOnChange(func(c Change) {
			if c.Alert.Rule.Long == time.Hour && c.Alert.State == Firing {
				fired++
			}
		}))
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 4 * 36000 {
			late := sec
			if random.Float64() < 0.15 { // of a threshold of 0.144
				late = 3 * sec
			}
			m.Observe(answer("", late, late))
			time.Sleep(100 * ms)
			if i%50 == 0 {
				m.Alerts()
			}
		}
		require.NotZero(t, fired)
		require.Less(t, fired, 10, "and not each time, which would be 32 of them")
	})
}

// Requests that hang burn the budget at their deadline, with nobody ending anything.
func TestHangFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 2s")
		load(m, time.Minute, 0, nil)
		var hung []*InFlight
		for range 1000 {
			hung = append(hung, m.Begin("", time.Now()))
		}
		time.Sleep(2 * sec)
		require.Equal(t, Inactive, stateOf(m, 0))
		time.Sleep(time.Nanosecond)
		require.Equal(t, Firing, stateOf(m, 0))
		s := m.State()
		require.EqualValues(t, 1000, s.Overdue)
		require.EqualValues(t, 1000, s.SLOs[0].Objectives[0].Budget.Bad)
		require.Less(t, float64(s.SLOs[0].Objectives[0].Budget.Left), 0.0)
		for _, f := range hung {
			f.End(nil)
		}
		require.EqualValues(t, 1000, m.State().SLOs[0].Objectives[0].Budget.Bad, "not twice")
	})
}

func TestNoDataNeitherFiresNorResolves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 2s")
		load(m, 5*time.Minute, 10, nil)
		require.Equal(t, Firing, stateOf(m, 0))
		time.Sleep(30 * time.Minute)
		require.Equal(t, Firing, stateOf(m, 0), "the short window is empty: nobody knows that it is over")
		time.Sleep(time.Hour)
		a := m.Alerts()[0]
		require.Equal(t, NoData, a.State)
		require.True(t, a.Long.Share.Absent())
		require.True(t, a.Lower.Absent())
		load(m, sec, 0, nil)
		require.Equal(t, Resolved, stateOf(m, 0))
		time.Sleep(31 * day)
		require.Equal(t, NoData, stateOf(m, 0))
		load(m, sec, 0, nil)
		require.Equal(t, Inactive, stateOf(m, 0), "it has resolved already")
	})
}

// One failure in ten is no evidence of anything at P99.9, nor are four.
func TestEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p99.9 < 2s")
		load(m, 4*sec, 1, nil)
		require.Equal(t, Pending, stateOf(m, 0))
		load(m, sec, 1, nil)
		require.Equal(t, Firing, stateOf(m, 0))

		sure := newMonitor(t, "ttft p50 < 2s", WithEvidence(1, 0.95)) // more than half, surely
		load(sure, sec, 7, nil)
		require.Equal(t, Pending, stateOf(sure, 0), "7 of 10 may be half")
		load(sure, sec, 10, nil)
		require.Equal(t, Firing, stateOf(sure, 0))
	})
}

// Wilson's interval of 1 in 10 and of 50 in 100 at 1.96, as Brown, Cai and DasGupta's formula (Statistical Science 16, 2001) gives it: [0.018, 0.404], [0.404, 0.596].
func TestWilson(t *testing.T) {
	require.InDelta(t, 0.0179, wilsonLower(1, 10, 1.959964), 1e-4)
	require.InDelta(t, 0.4038, wilsonLower(50, 100, 1.959964), 1e-4)
	require.Zero(t, wilsonLower(0, 100, 1.96))
	require.InDelta(t, 10/(10+1.96*1.96), wilsonLower(10, 10, 1.96), 1e-12)
}

func TestWatchLogsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var m *Monitor
		asked := 0
		m = newMonitor(t, "ttft p95 < 2s, error_rate < 1%", WithLogger(slog.New(slog.NewJSONHandler(&out, nil))),
			WithOnChange(func(Change) { m.State(); asked++ })) // a callback may ask
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		done := make(chan error)
		go func() { done <- m.Watch(ctx, 10*sec) }()
		synctest.Wait()
		load(m, 5*time.Minute, 10, nil)
		require.ErrorIs(t, <-done, context.DeadlineExceeded)
		require.NotZero(t, asked)
		var fired map[string]any
		dec := json.NewDecoder(&out)
		for dec.More() {
			var line map[string]any
			require.NoError(t, dec.Decode(&line))
			if line["msg"] == "goodput alert firing" && fired == nil {
				fired = line
			}
		}
		require.Equal(t, "WARN", fired["level"])
		require.Equal(t, "no_data", fired["from"])
		require.Equal(t, "ttft p95 < 2s", fired["alert"].(map[string]any)["objective"])
		require.Error(t, m.Watch(t.Context(), 0))
	})
}

// Who is woken by a line of the log looks for the alert in Prometheus, where its SLO has the name that its author gave it.
func TestTheLogNamesTheSLOAsPrometheusDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		promise := slo.MustParse("ttft p95 < 2s")
		promise.Name = "chat"
		m, err := New(promise, WithClasses(slo.Set{"batch": slo.MustParse("e2e p95 < 1m")}),
			WithLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo}))))
		require.NoError(t, err)
		load(m, time.Minute, 0, nil)
		m.Alerts()
		require.Empty(t, out.String(), "that there are requests now, and good ones, is for debugging")
		load(m, 20*time.Minute, 10, nil)
		for _, a := range m.Alerts() {
			require.Equal(t, map[string]string{slo.DefaultClass: "chat", "batch": ""}[a.SLO], a.SLOName)
		}
		require.Regexp(t, `level=WARN msg="goodput alert firing" from=inactive alert.slo=default alert.objective="ttft p95 < 2s" alert.severity=page .* alert.slo_name=chat\n`, out.String())
	})
}

func TestChangesAreToldInOrderAlsoAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []AlertState
		m := newMonitor(t, "ttft p95 < 2s", WithRules(Rule{Budget: 0.01, Long: time.Hour, Short: 5 * time.Minute}), WithOnChange(func(c Change) {
			if told = append(told, c.Alert.State); c.Alert.State == Pending {
				panic("callback")
			}
		}))
		load(m, sec, 0, nil)
		m.Alerts()
		load(m, sec, 10, nil)
		require.PanicsWithValue(t, "callback", func() { m.Alerts() })
		load(m, sec, 10, nil)
		m.Alerts()
		require.Equal(t, []AlertState{Inactive, Pending, Firing}, told)
	})
}

func TestAlertStateText(t *testing.T) {
	for s := Inactive; s <= NoData; s++ {
		b, err := json.Marshal(s)
		require.NoError(t, err)
		var back AlertState
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, s, back)
	}
	require.Error(t, new(AlertState).UnmarshalText([]byte("fine")))
	require.Equal(t, "AlertState(9)", AlertState(9).String())
}
