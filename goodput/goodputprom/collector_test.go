package goodputprom_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/goodputprom"
	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/slo"
)

const (
	ms       = time.Millisecond
	chatText = "ttft p95 < 800ms, tpot p90 < 50ms, speed p90 >= 20tok/s, error_rate < 1%, attainment >= 90%"
)

func watch(t *testing.T, text string, opts ...monitor.Option) *monitor.Monitor {
	m, err := monitor.New(slo.MustParse(text), opts...)
	require.NoError(t, err)
	return m
}

// request is one of a mixture: good ones, ones that are exactly at a threshold, late and failed ones.
func request(rng *rand.Rand) *goodput.Record {
	all := goodput.Outcomes()
	r := &goodput.Record{Start: time.Now(), InputTokens: 1 + rng.IntN(100), Outcome: goodput.Success}
	if rng.IntN(4) == 0 {
		r.Outcome = all[rng.IntN(len(all))]
	}
	first := time.Duration(rng.IntN(1000)) * ms
	if rng.IntN(5) == 0 {
		first = 800 * ms
	}
	step := time.Duration(30+rng.IntN(30)) * ms
	if rng.IntN(5) == 0 {
		step = 50 * ms // which is also 20 tokens a second
	}
	n := rng.IntN(6)
	for i := range n {
		r.Tokens = append(r.Tokens, goodput.Token{At: first + time.Duration(i)*step, N: 1})
	}
	r.End = first + time.Duration(n)*step
	return r
}

func gather(t *testing.T, c prometheus.Collector) map[string]*dto.MetricFamily {
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(c))
	got, err := reg.Gather()
	require.NoError(t, err)
	all := map[string]*dto.MetricFamily{}
	for _, f := range got {
		all[f.GetName()] = f
	}
	return all
}

// pick is the one series of a family that has these labels, written name=value.
func pick(t *testing.T, all map[string]*dto.MetricFamily, family string, labels ...string) *dto.Metric {
	require.Contains(t, all, family)
	var found []*dto.Metric
	for _, m := range all[family].GetMetric() {
		have := map[string]bool{}
		for _, l := range m.GetLabel() {
			have[l.GetName()+"="+l.GetValue()] = true
		}
		ok := true
		for _, l := range labels {
			ok = ok && have[l]
		}
		if ok {
			found = append(found, m)
		}
	}
	require.Len(t, found, 1, "%s %v", family, labels)
	return found[0]
}

func count(t *testing.T, all map[string]*dto.MetricFamily, family string, labels ...string) uint64 {
	m := pick(t, all, family, labels...)
	v := m.GetCounter().GetValue()
	require.Equal(t, math.Trunc(v), v)
	return uint64(v)
}

// What is scraped is what an accumulator counts of the same records, for each class and to the last one.
func TestCountersAreTheAccumulators(t *testing.T) {
	set := slo.Set{"batch": slo.MustParse("e2e p90 < 1s")}
	m := watch(t, chatText, monitor.WithClasses(set))
	acc := goodput.NewAccumulator(slo.MustParse(chatText), goodput.WithClasses(set))
	c := goodputprom.New(m)
	var wg sync.WaitGroup
	for g := range 4 {
		rng := rand.New(rand.NewPCG(1, uint64(g)))
		wg.Go(func() {
			for range 2000 {
				r := request(rng)
				r.Class = []string{"", "batch", "chat"}[rng.IntN(3)]
				acc.Observe(r)
				m.Observe(r)
				c.Observe(r)
			}
		})
	}
	wg.Wait()
	all, report, undefined := gather(t, c), acc.Report(), uint64(0)
	require.Len(t, report.Classes, 3)
	for name, want := range report.Classes {
		class := "class=" + name
		require.Equal(t, want.Offered, count(t, all, "goodput_offered_requests_total", class))
		require.Equal(t, want.Offered, count(t, all, "goodput_decided_requests_total", class))
		require.Equal(t, want.Good, count(t, all, "goodput_good_requests_total", class))
		for _, o := range goodput.Outcomes() {
			require.Equal(t, want.Outcomes[o], count(t, all, "goodput_requests_total", class, "outcome="+o.String()), o)
		}
		var lost, wantLost uint64
		for cause, n := range want.Lost {
			require.Equal(t, n, count(t, all, "goodput_lost_requests_total", class, "cause="+cause), cause)
			wantLost += n
		}
		for _, series := range all["goodput_lost_requests_total"].GetMetric() {
			for _, l := range series.GetLabel() {
				if l.GetName() == "class" && l.GetValue() == name {
					lost += uint64(series.GetCounter().GetValue())
				}
			}
		}
		require.Equal(t, wantLost, lost)
		require.Equal(t, want.Offered, want.Good+lost+want.Outcomes[goodput.Dropped]+want.Outcomes[goodput.Unfinished], "the books close")
		require.Equal(t, want.Flow.InputTokens, count(t, all, "goodput_input_tokens_total", class))
		require.Equal(t, want.Flow.OutputTokens, count(t, all, "goodput_output_tokens_total", class))
		require.Equal(t, want.Flow.GoodInputTokens, count(t, all, "goodput_good_input_tokens_total", class))
		require.Equal(t, want.Flow.GoodOutputTokens, count(t, all, "goodput_good_output_tokens_total", class))
		for _, o := range want.Objectives {
			objective := "objective=" + o.Objective.String()
			n, within := count(t, all, "goodput_objective_requests_total", class, objective), count(t, all, "goodput_objective_within_requests_total", class, objective)
			require.Equal(t, o.N, n)
			if !o.Objective.Metric.Population() {
				require.Equal(t, o.Undefined, count(t, all, "goodput_objective_undefined_requests_total", class, objective))
				undefined += o.Undefined
			}
			share := float64(within) / float64(n)
			if o.Objective.Metric == slo.ErrorRate {
				share = 1 - share
			}
			require.InDelta(t, o.Share, share, 1e-12, o.Objective)
			target := pick(t, all, "goodput_objective_target_ratio", class, objective).GetGauge().GetValue()
			if o.Objective.Metric == slo.ErrorRate {
				target = 1 - target
			}
			require.InDelta(t, o.Target, target, 1e-12)
		}
	}
	require.NotZero(t, undefined)
}

// The bucket at a threshold counts what is within it, requests that are exactly at it included.
func TestABucketEndsAtEachThreshold(t *testing.T) {
	m := watch(t, chatText)
	c := goodputprom.New(m, goodputprom.WithMetrics(slo.Lag))
	rng := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		r := request(rng)
		for len(r.Tokens) < 2 || r.Outcome != goodput.Success { // so that each metric is defined
			r = request(rng)
		}
		m.Observe(r)
		c.Observe(r)
	}
	all := gather(t, c)
	for _, of := range []struct {
		family, objective string
		edge              float64
		above             bool
	}{
		{"goodput_ttft_seconds", "ttft p95 < 800ms", 0.8, false},
		{"goodput_tpot_seconds", "tpot p90 < 50ms", 0.05, false},
		{"goodput_speed_tokens_per_second", "speed p90 >= 20tok/s", math.Nextafter(20, 0), true},
	} {
		h := pick(t, all, of.family).GetHistogram()
		var at []uint64
		for _, b := range h.GetBucket() {
			if b.GetUpperBound() == of.edge {
				at = append(at, b.GetCumulativeCount())
			}
		}
		require.Len(t, at, 1, of.family)
		if of.above {
			at[0] = h.GetSampleCount() - at[0]
		}
		require.Equal(t, count(t, all, "goodput_objective_within_requests_total", "objective="+of.objective), at[0])
		require.NotZero(t, at[0])
		require.Less(t, at[0], h.GetSampleCount())
		// The native buckets hold the same values, each at most a tenth wider than the one before it: 2^(2^-3).
		require.Equal(t, int32(3), h.GetSchema())
		require.NotEmpty(t, h.GetPositiveSpan())
	}
	require.Contains(t, all, "goodput_lag_seconds")
	require.Contains(t, all, "goodput_e2e_seconds")
	require.NotContains(t, all, "goodput_itl_seconds")
}

// The bucket at a threshold tells apart what the SLO does, also of values that are within it by nothing, or beyond it by a nanosecond.
func TestABucketIsExactAtItsThreshold(t *testing.T) {
	for _, of := range []struct {
		text, family string
		of           func(n int) time.Duration // of n tokens, just at the threshold
	}{
		{"ttft p95 < 700ms", "goodput_ttft_seconds", nil},
		{"tpot p95 < 30ms", "goodput_tpot_seconds", func(n int) time.Duration { return time.Duration(n) * 30 * ms }},
		{"itl p95 < 30ms", "goodput_itl_seconds", func(n int) time.Duration { return time.Duration(n) * 30 * ms }},
		{"speed p95 >= 25tok/s", "goodput_speed_tokens_per_second", func(n int) time.Duration { return time.Duration(n) * 40 * ms }},
	} {
		m := watch(t, of.text)
		c := goodputprom.New(m)
		for n := range 5000 {
			r := goodput.Record{Outcome: goodput.Success, Tokens: []goodput.Token{{At: 700*ms + time.Duration(n%3-1), N: 1}}}
			if of.of != nil {
				r.Tokens = []goodput.Token{{At: 1, N: 1}, {At: 1 + of.of(n+1) + time.Duration(n%3-1), N: n + 1}}
			}
			m.Observe(&r)
			c.Observe(&r)
		}
		all := gather(t, c)
		edge, ok := exposition.Edge(m.SLO("").Objectives[0])
		require.True(t, ok)
		h := pick(t, all, of.family).GetHistogram()
		i := slices.IndexFunc(h.GetBucket(), func(b *dto.Bucket) bool { return b.GetUpperBound() == edge })
		require.GreaterOrEqual(t, i, 0)
		within := h.GetBucket()[i].GetCumulativeCount()
		if m.SLO("").Objectives[0].Metric.HigherIsBetter() {
			within = h.GetSampleCount() - within
		}
		require.Equal(t, m.Counters().Classes[0].Good, within, of.text)
		require.NotZero(t, within)
		require.Less(t, within, h.GetSampleCount())
	}
}

// A set that names the class default leaves an SLO for all classes that it does not name: its metrics have their histograms, too.
func TestTheDefaultBesideAClassOfThatName(t *testing.T) {
	m := watch(t, "ttfo p95 < 700ms", monitor.WithClasses(slo.Set{"default": slo.MustParse("e2e p95 < 3s")}))
	c := goodputprom.New(m)
	for _, class := range []string{"", "chat"} {
		r := goodput.Record{Class: class, Outcome: goodput.Success, Tokens: []goodput.Token{{At: 700 * ms}}, End: time.Second}
		m.Observe(&r)
		c.Observe(&r)
	}
	all := gather(t, c)
	for _, b := range pick(t, all, "goodput_ttfo_seconds", "class=chat").GetHistogram().GetBucket() {
		if b.GetUpperBound() == 0.7 {
			require.EqualValues(t, 1, b.GetCumulativeCount())
			return
		}
	}
	require.Fail(t, "no edge at the threshold")
}

// Names are the caller's own: alike, or of bytes that no exposition can have, they fail no scrape.
func TestNamesOfSLOs(t *testing.T) {
	named := func(name, text string) slo.SLO {
		s := slo.MustParse(text)
		s.Name = name
		return s
	}
	m, err := monitor.New(named("x", "ttft p95 < 1s"), monitor.WithClasses(slo.Set{
		"a": named("x", "ttft p95 < 2s"), "b": named("b\xff", "ttft p95 < 2s"), "other": named("x", "ttft p95 < 3s")}))
	require.NoError(t, err)
	c := goodputprom.New(m)
	for _, class := range []string{"", "a", "b", "c", "other", "\xff"} {
		r := goodput.Record{Class: class, Outcome: goodput.Success, Tokens: []goodput.Token{{At: 700 * ms}}, End: time.Second}
		m.Observe(&r)
		c.Observe(&r)
	}
	all := gather(t, c)
	require.EqualValues(t, 1, count(t, all, "goodput_good_requests_total", "class=a", "slo=x/a"))
	require.EqualValues(t, 1, count(t, all, "goodput_good_requests_total", "class=b", "slo=b?"))
	require.EqualValues(t, 2, count(t, all, "goodput_good_requests_total", "class=other", "slo=x/other"))
}

// Scrapes while classes come and requests end see books that close.
func TestScrapesDuringAFlood(t *testing.T) {
	m := watch(t, "ttft p95 < 1s")
	c := goodputprom.New(m)
	var flood sync.WaitGroup
	for g := range 4 {
		flood.Go(func() {
			for i := range 5000 {
				r := goodput.Record{Class: fmt.Sprintf("tenant-%d-%d", g, i), Tokens: []goodput.Token{{At: ms}}, Outcome: goodput.Outcome(1 + i%5)}
				f := m.Begin(r.Class, time.Time{})
				f.End(&r)
				c.Observe(&r)
			}
		})
	}
	for range 20 {
		all := gather(t, c)
		sums := map[string]float64{}
		for _, family := range []string{"goodput_requests_total", "goodput_good_requests_total", "goodput_lost_requests_total"} {
			for _, s := range all[family].GetMetric() {
				sums[family] += s.GetCounter().GetValue()
				for _, l := range s.GetLabel() {
					if o := l.GetValue(); o == goodput.Dropped.String() || o == goodput.Unfinished.String() {
						sums[family] -= s.GetCounter().GetValue() // they are no throughput, and not lost
					}
				}
			}
		}
		require.Equal(t, sums["goodput_requests_total"], sums["goodput_good_requests_total"]+sums["goodput_lost_requests_total"])
	}
	flood.Wait()
}

// A flood of classes takes the room that there is, and none of its requests is lost.
func TestAFloodOfClassesIsBounded(t *testing.T) {
	m := watch(t, "ttft p95 < 1s", monitor.WithMaxClasses(3))
	c := goodputprom.New(m, goodputprom.WithMaxClasses(3))
	const flood = 100_000
	r := goodput.Record{Start: time.Now(), End: ms, Tokens: []goodput.Token{{At: ms}}, Outcome: goodput.Success}
	for i := range flood {
		r.Class = fmt.Sprintf("tenant-%d", i)
		switch i % 1000 {
		case 998:
			r.Class = "\xff\xfe"
		case 999:
			r.Class = strings.Repeat("x", 10_000)
		}
		m.Observe(&r)
		c.Observe(&r)
	}
	all := gather(t, c)
	var total uint64
	for _, series := range all["goodput_offered_requests_total"].GetMetric() {
		total += uint64(series.GetCounter().GetValue())
	}
	require.EqualValues(t, flood, total)
	require.Len(t, all["goodput_offered_requests_total"].GetMetric(), 5, "three, other, and the default")
	require.Len(t, all["goodput_ttft_seconds"].GetMetric(), 4)
	require.EqualValues(t, flood-3, count(t, all, "goodput_other_class_requests_total"))
	require.EqualValues(t, flood-3, pick(t, all, "goodput_ttft_seconds", "class=other").GetHistogram().GetSampleCount())
}

func TestTheMetricsPassTheLint(t *testing.T) {
	m := watch(t, chatText+", ttfo p95 < 1s, itl p95 < 1s, lag p95 < 1s, service_ttft p95 < 1s, service_e2e p95 < 9s, x_score p95 < -0.5")
	c := goodputprom.New(m, goodputprom.WithConstLabels(prometheus.Labels{"model": "small"}))
	c.Observe(&goodput.Record{Start: time.Now(), Outcome: goodput.Success})
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	require.Empty(t, problems)
	for name, f := range gather(t, c) {
		for _, series := range f.GetMetric() {
			require.Contains(t, fmt.Sprint(series.GetLabel()), "small", name)
		}
	}
}

// Before the first request the series are there with 0, so that rate sees the first one.
func TestTheSeriesAreThereFromTheStart(t *testing.T) {
	s := slo.MustParse("ttft p95 < 1s, error_rate < 1%")
	s.Name = "chat"
	m, err := monitor.New(s, monitor.WithClasses(slo.Set{"batch": slo.MustParse("e2e p90 < 60s")}))
	require.NoError(t, err)
	all := gather(t, goodputprom.New(m))
	require.Zero(t, count(t, all, "goodput_good_requests_total", "class=default", "slo=chat"))
	require.Zero(t, count(t, all, "goodput_good_requests_total", "class=batch", "slo="+slo.MustParse("e2e p90 < 60s").Fingerprint()))
	require.Zero(t, count(t, all, "goodput_lost_requests_total", "class=default", "cause=ttft p95 < 1s"))
	require.Zero(t, count(t, all, "goodput_objective_requests_total", "class=default", "objective=error_rate < 1%"))
	require.Zero(t, count(t, all, "goodput_requests_total", "class=batch", "outcome=timeout"))
}

// A request that hangs is in flight, then overdue and decided, and is counted once when it ends.
func TestARequestInFlightPastItsDeadlineIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := watch(t, "e2e p95 < 20s")
		c := goodputprom.New(m)
		start := time.Now()
		f := m.Begin("", start)
		all := gather(t, c)
		require.EqualValues(t, 1, count(t, all, "goodput_offered_requests_total"))
		require.Zero(t, count(t, all, "goodput_decided_requests_total"))
		require.EqualValues(t, 1, pick(t, all, "goodput_in_flight_requests").GetGauge().GetValue())
		time.Sleep(21 * time.Second)
		all = gather(t, c)
		require.EqualValues(t, 1, count(t, all, "goodput_decided_requests_total"))
		require.EqualValues(t, 1, count(t, all, "goodput_objective_requests_total"))
		require.Zero(t, count(t, all, "goodput_objective_within_requests_total"))
		require.EqualValues(t, 1, pick(t, all, "goodput_overdue_requests").GetGauge().GetValue())
		f.End(&goodput.Record{Start: start, End: 21 * time.Second, Outcome: goodput.Success})
		all = gather(t, c)
		require.EqualValues(t, 1, count(t, all, "goodput_decided_requests_total"))
		require.EqualValues(t, 1, count(t, all, "goodput_objective_requests_total"))
		require.Zero(t, pick(t, all, "goodput_overdue_requests").GetGauge().GetValue())
		require.Zero(t, pick(t, all, "goodput_in_flight_requests").GetGauge().GetValue())
	})
}

// The monitor's own budgets, burn rates and alert states are there as it says them, and what is absent is not 0.
func TestBudgetsAreTheMonitors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := watch(t, "ttft p95 < 800ms, error_rate < 1%", monitor.WithClasses(slo.Set{"batch": slo.MustParse("ttft p95 < 800ms, error_rate < 1%")}))
		c := goodputprom.New(m)
		all := gather(t, c)
		require.NotContains(t, all, "goodput_burn_rate", "no requests, no rate")
		require.EqualValues(t, 1, pick(t, all, "goodput_alert_state", "class=default", "objective=ttft p95 < 800ms", "state=no_data", "alert=GoodputBudgetBurnPage1h").GetGauge().GetValue())
		for i := range 1000 {
			first := 100 * ms
			if i%10 < 8 {
				first = 2 * time.Second
			}
			m.Observe(&goodput.Record{Start: time.Now(), Tokens: []goodput.Token{{At: first}}, End: first, Outcome: goodput.Success})
			time.Sleep(time.Second)
		}
		all = gather(t, c)
		objective := []string{"class=default", "objective=ttft p95 < 800ms"}
		require.InDelta(t, 0.8/0.05, pick(t, all, "goodput_burn_rate", append(objective, "window=1h")...).GetGauge().GetValue(), 1e-9)
		require.InDelta(t, 1-0.8/0.05, pick(t, all, "goodput_error_budget_left_ratio", objective...).GetGauge().GetValue(), 1e-9)
		require.Zero(t, pick(t, all, "goodput_burn_rate", "class=default", "objective=error_rate < 1%", "window=1h").GetGauge().GetValue())
		states := 0
		for _, a := range m.Alerts() {
			if a.SLO != "default" || a.Objective != "ttft p95 < 800ms" {
				continue
			}
			got := 0.0
			for _, series := range all["goodput_alert_state"].GetMetric() {
				labels := fmt.Sprint(series.GetLabel())
				if strings.Contains(labels, "default") && strings.Contains(labels, "ttft") && strings.Contains(labels, a.State.String()) {
					got += series.GetGauge().GetValue()
				}
			}
			require.NotZero(t, got, a.State)
			states++
		}
		require.NotZero(t, states)
		require.EqualValues(t, 1, pick(t, all, "goodput_alert_state", append(objective, "state=firing", "alert=GoodputBudgetBurnPage1h")...).GetGauge().GetValue())
	})
}

// Whoever sees an alert of Prometheus finds the monitor's own by the same name, severity, SLO and objective.
func TestAlertsAreNamedAsInTheRules(t *testing.T) {
	m := watch(t, chatText, monitor.WithClasses(slo.Set{"gold": slo.MustParse("ttft p99 < 500ms")}),
		monitor.WithRules(monitor.Rule{Severity: monitor.Page, Budget: 0.005, Long: time.Hour, Short: time.Minute}, monitor.Rule{Budget: 0.1, Long: 3 * 24 * time.Hour, Short: time.Hour}))
	var want, got []string
	for _, p := range promrules.Plans(m) {
		rules, err := p.Rules()
		require.NoError(t, err)
		for _, r := range rules.Group.Rules {
			if r.Alert != "" {
				want = append(want, fmt.Sprint(r.Alert, r.Labels["severity"], r.Labels["slo"], r.Labels["objective"]))
			}
		}
	}
	for _, series := range gather(t, goodputprom.New(m))["goodput_alert_state"].GetMetric() {
		label := map[string]string{}
		for _, l := range series.GetLabel() {
			label[l.GetName()] = l.GetValue()
		}
		if label["state"] == "no_data" {
			got = append(got, fmt.Sprint(label["alert"], label["severity"], label["slo"], label["objective"]))
		}
	}
	require.Len(t, want, 12)
	require.ElementsMatch(t, want, got)
}

// A callback of the monitor's that panics is an error of the scrape, and not the end of the process.
func TestACallbackThatPanics(t *testing.T) {
	m := watch(t, "ttft p95 < 800ms", monitor.WithRules(monitor.Rule{Budget: 0.1, Long: time.Hour, Short: time.Minute}), monitor.WithPeriod(10*time.Hour),
		monitor.WithOnChange(func(monitor.Change) { panic("of the caller's") }))
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(goodputprom.New(m)))
	m.Observe(&goodput.Record{Outcome: goodput.Success, Tokens: []goodput.Token{{At: ms}}, End: ms})
	_, err := reg.Gather()
	require.ErrorContains(t, err, "goodputprom: a callback of the monitor (WithOnChange, WithLogger) panicked: of the caller's")
	all, err := reg.Gather()
	require.NoError(t, err, "the change was told")
	require.NotEmpty(t, all)
}

// What the monitor's set names has a place beside those of WithMaxClasses.
func TestTheSetTakesNobodysPlace(t *testing.T) {
	m := watch(t, "ttft p95 < 800ms", monitor.WithClasses(slo.Set{"a": slo.MustParse("ttft p95 < 1s"), "b": slo.MustParse("ttft p95 < 2s")}))
	c := goodputprom.New(m, goodputprom.WithMaxClasses(1))
	c.Observe(&goodput.Record{Class: "c", Outcome: goodput.Success, Tokens: []goodput.Token{{At: ms}}, End: ms})
	require.EqualValues(t, 1, pick(t, gather(t, c), "goodput_ttft_seconds", "class=c").GetHistogram().GetSampleCount())
}

// Where classes have the same SLO, each its own, what a rule on one of them adds up is what the monitor counts of it.
func TestTheSameSLOOfTwoClassesIsNotPooled(t *testing.T) {
	same := slo.MustParse("ttft p95 < 800ms")
	m := watch(t, same.String(), monitor.WithClasses(slo.Set{"gold": same, "silver": same}))
	c := goodputprom.New(m)
	for i, class := range []string{"gold", "gold", "silver", "", "other class", "gold", "silver"} {
		r := &goodput.Record{Class: class, Start: time.Now(), Tokens: []goodput.Token{{At: time.Duration(i) * 300 * ms}}, End: 2 * time.Second, Outcome: goodput.Success}
		m.Observe(r)
		c.Observe(r)
	}
	all := gather(t, c)
	burns, err := m.Burns(time.Hour)
	require.NoError(t, err)
	plans := promrules.Plans(m)
	require.Len(t, plans, len(burns))
	labels := map[string]bool{}
	sum := func(family, label string) (n float64) {
		for _, m := range all[family].GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "slo" && l.GetValue() == label {
					n += m.GetCounter().GetValue()
				}
			}
		}
		return n
	}
	for i, p := range plans {
		label := p.SLO.Name
		labels[label] = true
		require.NotZero(t, burns[i].Total)
		require.EqualValues(t, burns[i].Total, sum("goodput_objective_requests_total", label), label)
		require.EqualValues(t, burns[i].Total-burns[i].Bad, sum("goodput_objective_within_requests_total", label), label)
		rules, err := p.Rules()
		require.NoError(t, err)
		require.Contains(t, string(rules.YAML()), fmt.Sprintf("slo=%q", p.SLO.Name))
	}
	require.Len(t, labels, 3)
	pick(t, all, "goodput_alert_state", "class=gold", "slo="+same.Fingerprint()+"/gold", "alert=GoodputBudgetBurnPage1h", "state=firing")
}

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	m := watch(t, "ttft p95 < 1s")
	for want, opt := range map[string]goodputprom.Option{
		"goodputprom: WithMaxClasses: -1 is negative":                                    goodputprom.WithMaxClasses(-1),
		"goodputprom: WithMetrics: error_rate is of a population, and no request has it": goodputprom.WithMetrics(slo.ErrorRate),
		"goodputprom: WithConstLabels: \"class\" is a label of the collector's own":      goodputprom.WithConstLabels(prometheus.Labels{"class": "x"}),
	} {
		require.PanicsWithValue(t, want, func() { goodputprom.New(m, opt) })
	}
	require.Panics(t, func() { goodputprom.New(m, goodputprom.WithMetrics("nonsense")) })
}

func TestObserveAllocatesNothing(t *testing.T) {
	m := watch(t, chatText)
	c := goodputprom.New(m)
	r := request(rand.New(rand.NewPCG(3, 3)))
	for len(r.Tokens) < 3 {
		r = request(rand.New(rand.NewPCG(4, uint64(len(r.Tokens)))))
	}
	r.Outcome = goodput.Success
	c.Observe(r)
	require.Zero(t, testing.AllocsPerRun(1000, func() { c.Observe(r) }))
}

func BenchmarkObserve(b *testing.B) {
	m, err := monitor.New(slo.MustParse(chatText))
	require.NoError(b, err)
	c := goodputprom.New(m)
	r := goodput.Record{Start: time.Now(), End: 3 * time.Second, Outcome: goodput.Success}
	for i := range 100 {
		r.Tokens = append(r.Tokens, goodput.Token{At: time.Duration(400+20*i) * ms})
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Observe(&r)
	}
}

// Whatever the windows of a monitor are, no two series have the same labels, for which a scrape would fail.
func TestWindowsThatAreAlikeFailNoScrape(t *testing.T) {
	m, err := monitor.New(slo.MustParse("ttft p99 < 800ms"), monitor.WithPeriod(6*time.Hour+100*time.Nanosecond))
	require.NoError(t, err)
	m.Observe(&goodput.Record{Outcome: goodput.Success, End: ms, Tokens: []goodput.Token{{At: ms}}})
	all := gather(t, goodputprom.New(m))
	pick(t, all, "goodput_burn_rate", "window=6h")

	rule := monitor.Rule{Severity: monitor.Page, Budget: 0.02, Long: time.Hour, Short: 5 * time.Minute}
	longer := rule
	longer.Long += time.Microsecond
	_, err = monitor.New(slo.MustParse("ttft p99 < 800ms"), monitor.WithRules(rule, longer))
	require.ErrorContains(t, err, "tell apart")
	rule.Severity = "\xff"
	_, err = monitor.New(slo.MustParse("ttft p99 < 800ms"), monitor.WithRules(rule))
	require.ErrorIs(t, err, monitor.ErrRule, "no label")
}

// A metric of the caller's that is called as a series of another's histogram fails no scrape.
func TestNamesOfMetricsFailNoScrape(t *testing.T) {
	m := watch(t, "x_a p95 < 1, x_a_count p90 < 3, x_a_bucket p90 < 3, x_a_sum p90 < 3, x_a_count_x p90 < 3")
	c := goodputprom.New(m)
	custom := map[slo.Metric]float64{"x_a": 1, "x_a_count": 2, "x_a_bucket": 2, "x_a_sum": 4, "x_a_count_x": 8}
	c.Observe(&goodput.Record{Outcome: goodput.Success, Custom: custom})
	all := gather(t, c)
	for metric, v := range custom {
		require.EqualValues(t, v, pick(t, all, exposition.Histogram(metric)).GetHistogram().GetSampleSum(), metric)
	}
	_, err := expfmt.MetricFamilyToText(io.Discard, all["goodput_x_a_count_x"])
	require.NoError(t, err)
}

// What the rules and the dashboard ask for is there, under that name and with those labels.
func TestWhatIsAskedForIsExported(t *testing.T) {
	m := watch(t, chatText+", x_cost p90 < 3, itl p99 < 100ms, lag p50 < 1s, service_e2e p99 < 9s")
	c := goodputprom.New(m)
	r := goodput.Record{Outcome: goodput.Success, End: time.Second, Tokens: []goodput.Token{{At: ms}, {At: time.Second}}, Custom: map[slo.Metric]float64{"x_cost": 1}}
	m.Observe(&r)
	c.Observe(&r)
	all := gather(t, c)
	rules, err := promrules.Plans(m)[0].Rules()
	require.NoError(t, err)
	var asked []string
	for _, r := range rules.Group.Rules {
		asked = append(asked, r.Expr)
	}
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(rules.Dashboard(), &d))
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			asked = append(asked, target.Expr)
		}
	}
	selector := regexp.MustCompile(`\b(goodput_[a-z0-9_]+)\{((?:[a-z_]+(?:=|!~)"(?:[^"\\]|\\.)*",?)*)\}`)
	label := regexp.MustCompile(`([a-z_]+)(=|!~)"((?:[^"\\]|\\.)*)"`)
	found := map[string]bool{}
	for _, expr := range asked {
		for _, sel := range selector.FindAllStringSubmatch(expr, -1) {
			name := strings.TrimSuffix(sel[1], "_bucket")
			found[name] = true
			require.Contains(t, all, name, expr)
			var equal []string
			for _, l := range label.FindAllStringSubmatch(sel[2], -1) {
				if l[2] == "=" {
					equal = append(equal, l[1]+"="+l[3])
				}
			}
			require.True(t, slices.ContainsFunc(all[name].GetMetric(), func(m *dto.Metric) bool {
				have := map[string]bool{}
				for _, l := range m.GetLabel() {
					have[l.GetName()+"="+l.GetValue()] = true
				}
				return !slices.ContainsFunc(equal, func(l string) bool { return !have[l] })
			}), "%s: no series %v", expr, equal)
		}
	}
	for _, name := range []string{"goodput_requests_total", "goodput_good_requests_total", "goodput_decided_requests_total", "goodput_offered_requests_total",
		"goodput_lost_requests_total", "goodput_objective_requests_total", "goodput_objective_within_requests_total", "goodput_output_tokens_total",
		"goodput_good_output_tokens_total", "goodput_ttft_seconds", "goodput_speed_tokens_per_second", "goodput_x_cost", "goodput_service_e2e_seconds", "goodput_lag_seconds"} {
		require.True(t, found[name], name)
	}
}
