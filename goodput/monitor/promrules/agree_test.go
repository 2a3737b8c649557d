package promrules_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/slo"
)

// A monitor and the rules that promtool evaluates on its counters say the same of three hours of traffic that is good and bad by turns:
// wherever the monitor's own figures are well beyond a threshold, or well below it, the alert fires in Prometheus, or does not.
func TestTheMonitorAgreesWithPromtool(t *testing.T) {
	if !required {
		t.Skip("promtool takes seconds for it: GOODPUT_PROMETHEUS=required has it take them")
	}
	const every = 15 * time.Second
	s := slo.MustParse("e2e p95 < 1s, error_rate < 1%, attainment >= 90%")
	s.Name = "s"
	series := map[string]string{}
	var plan promrules.Plan
	var want []string
	fires := 0
	synctest.Test(t, func(t *testing.T) {
		m, err := monitor.New(s, monitor.WithPeriod(7*24*time.Hour)) // short windows of 70 s and more
		require.NoError(t, err)
		plan = promrules.Plans(m)[0]
		rng := rand.New(rand.NewPCG(7, 1))
		var rate, late, failed float64
		for step := range int(3 * time.Hour / every) {
			if step%60 == 0 { // another traffic every quarter of an hour
				rate, late, failed = []float64{0.5, 2, 8}[rng.IntN(3)], []float64{0, 0.02, 0.2, 0.6}[rng.IntN(4)], []float64{0, 0.003, 0.03, 0.3}[rng.IntN(4)]
			}
			for _, o := range s.Objectives {
				within, requests := exported(m.Counters(), o)
				of := fmt.Sprintf(`{slo="s",objective="%s",class="default"}`, o)
				series["goodput_objective_requests_total"+of] += fmt.Sprint(requests, " ")
				series["goodput_objective_within_requests_total"+of] += fmt.Sprint(within, " ")
			}
			for _, a := range m.Alerts() {
				least := min(float64(a.Lower), float64(a.Short.Share)) / a.Threshold
				over := least > 1.15 && a.Long.Bad >= 8
				if step < 40 || step%16 != 0 || a.Short.Total < 30 || !over && least > 0.85 {
					continue // it begins, is at the line, or has too few for an increase that is extrapolated
				}
				value := "none"
				if over {
					require.Equal(t, monitor.Firing, a.State)
					value = "1"
					fires++
				}
				name := "GoodputBudgetBurn" + strings.ToUpper(string(a.Rule.Severity[:1])) + string(a.Rule.Severity[1:]) + strings.TrimSuffix(a.Rule.Long.String(), "0s")
				want = append(want, fmt.Sprintf(`%ds; count(ALERTS{alertstate="firing",alertname="%s",objective="%s"}); %s`, step*int(every/time.Second), name, a.Objective, value))
			}
			for end := time.Now().Add(every); ; {
				next := time.Duration(rng.ExpFloat64() / rate * float64(time.Second))
				if left := time.Until(end); next > left {
					time.Sleep(left)
					break
				}
				time.Sleep(next)
				r := &goodput.Record{Outcome: goodput.Success, Start: time.Now(), End: 100 * time.Millisecond}
				switch {
				case rng.Float64() < failed:
					r.Outcome = goodput.ServerError
				case rng.Float64() < late:
					r.End = 2 * time.Second
				}
				m.Observe(r)
			}
		}
	})
	require.Greater(t, fires, 30)
	require.Greater(t, len(want)-fires, 30)
	evaluateEvery(t, "15s", plan, series, want...)
}

// exported are an objective's counters as package goodputprom exports them.
func exported(c *monitor.Counters, o slo.Objective) (within, requests uint64) {
	if len(c.Classes) == 0 {
		return 0, 0
	}
	k := c.Classes[0]
	switch o.Metric {
	case slo.ErrorRate:
		return k.Outcomes[goodput.Success], k.Recorded
	case slo.Attainment:
		return k.Good, k.Decided
	}
	return k.Objectives[0].Within, k.Objectives[0].Decided
}
