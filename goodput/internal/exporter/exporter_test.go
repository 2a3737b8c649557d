package exporter

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// Each objective has the counts that the books of the class have for it.
func TestObjectives(t *testing.T) {
	m, err := monitor.New(slo.MustParse("ttft p95 < 800ms, error_rate < 1%, attainment >= 90%, x_score p90 < 3, undefined x_score: excluded"))
	require.NoError(t, err)
	require.Len(t, Counters(m).Classes, 1)
	require.Equal(t, []Objective{
		{Text: "ttft p95 < 800ms", Target: 0.95, Loses: true},
		{Text: "error_rate < 1%", Target: 0.99},
		{Text: "attainment >= 90%", Target: 0.9},
		{Text: "x_score p90 < 3", Target: 0.9, Loses: true},
	}, Objectives(&Counters(m).Classes[0], m.SLO("")), "the default class, before its first request")

	late := goodput.Record{Outcome: goodput.Success, Tokens: []goodput.Token{{At: 1e9}}, End: 1e9, Custom: map[slo.Metric]float64{"x_score": 4}}
	for _, r := range []goodput.Record{{Outcome: goodput.Success, Tokens: []goodput.Token{{At: 1}}, End: 1}, late, late, {Outcome: goodput.Timeout, End: 1}} {
		m.Observe(&r)
	}
	require.Equal(t, []Objective{
		{Text: "ttft p95 < 800ms", Target: 0.95, Requests: 4, Within: 1, Loses: true, Lost: 2},
		{Text: "error_rate < 1%", Target: 0.99, Requests: 4, Within: 3},
		{Text: "attainment >= 90%", Target: 0.9, Requests: 4, Within: 1},
		{Text: "x_score p90 < 3", Target: 0.9, Requests: 3, Within: 0, Loses: true, Undefined: 1},
	}, Objectives(&Counters(m).Classes[0], m.SLO("")))
	require.Equal(t, []slo.SLO{m.SLO("")}, SLOs(m))
}

func TestACallbackThatPanicsIsAnError(t *testing.T) {
	m, err := monitor.New(slo.MustParse("ttft p95 < 800ms"), monitor.WithOnChange(func(monitor.Change) { panic("line\nline") }))
	require.NoError(t, err)
	m.Observe(&goodput.Record{Outcome: goodput.Success, End: 1})
	_, err = State(m)
	require.ErrorContains(t, err, "panicked: line?line")
	for err != nil { // each change is told once
		_, err = State(m)
	}
}

func TestEveryMetricHasItsWords(t *testing.T) {
	said := map[string]bool{}
	for _, text := range []string{"ttft p90 < 1s", "ttfo p90 < 1s", "tpot p90 < 1s", "itl p90 < 1s", "e2e p90 < 1s", "speed p90 >= 1tok/s", "lag p90 < 1s", "service_ttft p90 < 1s", "service_e2e p90 < 1s"} {
		said[Histogram(slo.MustParse(text).Objectives[0].Metric)] = true
	}
	require.Len(t, said, 9)
	require.Contains(t, Histogram("x_score"), "x_score")
	require.False(t, slices.ContainsFunc([]string{Offered, Decided, Ended, Good, Lost, Requests, Within, Undefined, Target, InFlight, Overdue, OtherClasses, BurnRate, BudgetLeft, AlertState},
		func(s string) bool { return !strings.HasSuffix(s, ".") }))
}
