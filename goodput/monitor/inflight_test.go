package monitor

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// decidedAfter is how long after its beginning a request in flight is decided.
func decidedAfter(t *testing.T, m *Monitor, most time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for time.Since(began) < most {
		if m.Counters().Classes[0].Decided > 0 {
			return time.Since(began)
		}
		time.Sleep(100 * ms)
	}
	return never
}

func TestDeadlines(t *testing.T) {
	limits := func(m slo.Metric, s float64) func(*InFlight) {
		return func(f *InFlight) { f.SetLimits(map[slo.Metric]float64{m: s}) }
	}
	for name, c := range map[string]struct {
		slo  string
		do   func(*InFlight)
		want time.Duration // never: only its end decides
	}{
		"ttft":                          {"ttft p95 < 2s", nil, 2 * sec},
		"the tightest":                  {"e2e p95 < 8s, ttft p95 < 2s", nil, 2 * sec},
		"first token in time":           {"ttft p95 < 2s", func(f *InFlight) { f.FirstToken(sec) }, never},
		"first token just in time":      {"ttft p95 < 2s", func(f *InFlight) { f.FirstToken(2 * sec) }, never},
		"then the next":                 {"e2e p95 < 8s, ttft p95 < 2s", func(f *InFlight) { f.FirstToken(sec) }, 8 * sec},
		"late first token":              {"ttft p95 < 2s", func(f *InFlight) { f.FirstToken(2*sec + 1) }, 2 * sec},
		"reasoning is no output":        {"ttfo p95 < 2s", func(f *InFlight) { f.FirstToken(sec) }, 2 * sec},
		"output":                        {"ttfo p95 < 2s, ttft p95 < 1s", func(f *InFlight) { f.FirstOutput(sec) }, never},
		"not sent":                      {"service_ttft p95 < 2s", nil, never},
		"sent":                          {"service_ttft p95 < 2s", func(f *InFlight) { f.Sent(3 * sec) }, 5 * sec},
		"sent, with an end":             {"service_e2e p95 < 2s", func(f *InFlight) { f.Sent(3 * sec) }, 5 * sec},
		"grows with the output":         {"e2e p95 < 1s + 10ms/token", nil, never},
		"speed":                         {"tpot p95 < 1s, itl p95 < 1s, speed p95 > 5tok/s, lag p95 < 1s, x_cost p95 < 1", nil, never},
		"population":                    {"error_rate < 1%, attainment > 90%", nil, never},
		"undefined holds":               {"ttft p95 < 2s, undefined ttft: holds", nil, never},
		"undefined excluded":            {"ttft p95 < 2s, undefined ttft: excluded", nil, never},
		"undefined misses":              {"ttft p95 < 2s, undefined ttft: misses", nil, 2 * sec},
		"limit of its own":              {"ttft p95 < 2s", limits(slo.TTFT, 5), 5 * sec},
		"tighter limit of its own":      {"ttft p95 < 2s, e2e p95 < 8s", limits(slo.E2E, 1), sec},
		"limit on something else":       {"ttft p95 < 2s", limits(slo.E2E, 1), 2 * sec},
		"limit that cannot be meant":    {"ttft p95 < 2s", limits(slo.TTFT, -1), 2 * sec},
		"limit that is no number":       {"ttft p95 < 2s", limits(slo.TTFT, math.NaN()), 2 * sec},
		"limit beyond all":              {"ttft p95 < 2s", limits(slo.TTFT, 1e300), never},
		"limit fixes one that grows":    {"e2e p95 < 1s + 10ms/token", limits(slo.E2E, 3), 3 * sec},
		"beyond a lap of the wheel":     {"e2e p95 < 5m", nil, 5 * time.Minute},
		"first token takes it off":      {"ttft p95 < 2s", func(f *InFlight) { f.FirstToken(sec); f.FirstToken(9 * sec) }, never},
		"SetLimits after a first limit": {"ttft p95 < 2s", func(f *InFlight) { limits(slo.TTFT, 9)(f); limits(slo.TTFT, 3)(f) }, 3 * sec},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMonitor(t, c.slo)
				f := m.Begin("", time.Now())
				if c.do != nil {
					c.do(f)
				}
				got := decidedAfter(t, m, 6*time.Minute)
				if c.want == never {
					require.EqualValues(t, never, got)
					return
				}
				require.Equal(t, c.want+100*ms, got, "the first look after the deadline")
			})
		})
	}
}

// End was told late, after somebody had looked: the record says that the request had ended in time, and it is good.
func TestEndToldLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 2s, e2e p95 < 3s, tpot p95 < 50ms")
		f := m.Begin("", time.Now())
		time.Sleep(10 * sec)
		require.EqualValues(t, 1, window(t, m, time.Minute).Decided)
		before := m.Counters().Classes[0]
		f.End(answer("", sec, 2*sec)) // tpot is not defined for it, and missed
		w := window(t, m, time.Minute)
		require.EqualValues(t, 1, w.Decided)
		require.Zero(t, w.Good, "it misses tpot")
		after := m.Counters().Classes[0]
		require.EqualValues(t, 1, after.Objectives[0].Within)
		require.EqualValues(t, 1, after.Objectives[1].Within)
		require.EqualValues(t, 1, after.Objectives[2].Decided)
		require.Zero(t, after.Objectives[2].Within)
		require.GreaterOrEqual(t, after.Objectives[0].Decided, before.Objectives[0].Decided, "no count falls")
		checkBooks(t, m)

		good := m.Begin("", time.Now())
		time.Sleep(10 * sec)
		m.State()
		r := answer("", sec, 2*sec)
		r.Tokens[0].N, r.OutputTokens = 1, 1
		good.End(r)
		w = window(t, m, 5*sec)
		require.EqualValues(t, 1, w.Decided, "decided now and not ten seconds ago")
		require.EqualValues(t, 1, w.Good)
		require.EqualValues(t, 2, window(t, m, time.Minute).Decided)
		checkBooks(t, m)
	})
}

func TestEndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 2s", WithClasses(slo.Set{"batch": slo.MustParse("e2e p95 < 1m")}))
		f := m.Begin("batch", time.Now())
		time.Sleep(30 * sec)
		r := answer("chat", 3*sec, 30*sec) // another class: Begin's counts
		f.End(r)
		f.End(nil)
		f.FirstToken(sec)
		f.SetLimits(map[slo.Metric]float64{slo.E2E: 1})
		time.Sleep(time.Hour)
		k := m.Counters().Classes
		require.Len(t, k, 1)
		require.Equal(t, "batch", k[0].Class)
		require.EqualValues(t, 1, k[0].Good, "30 s is in time for a batch")

		m.Begin("", time.Time{}).End(nil)
		k = m.Counters().Classes
		require.EqualValues(t, 1, k[1].Outcomes[goodput.ServerError])
		checkBooks(t, m)
	})
}

// Starts that a wall clock which jumps would give are neither decided in the past nor in the future.
func TestStartsThatCannotBeMeant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 2s")
		time.Sleep(2 * time.Hour)
		now := time.Now().Round(0) // no reading of the monotonic clock
		for _, start := range []time.Time{now.Add(100 * 365 * day), now.Add(-100 * 365 * day), time.Unix(-1<<40, 0), time.Unix(1<<40, 0), {}} {
			m.Begin("", start)
		}
		m.Observe(&goodput.Record{Outcome: goodput.Success})
		m.Observe(&goodput.Record{Start: time.Unix(1<<40, 0), End: math.MaxInt64, Outcome: goodput.Outcome(99)})
		require.EqualValues(t, 4, window(t, m, 2*time.Hour).Decided, "two of an hour ago, two that ended")
		time.Sleep(3 * sec)
		require.EqualValues(t, 7, window(t, m, 2*time.Hour).Decided)
		checkBooks(t, m)
	})
}

// An offset that is beyond all clocks is never, and does not come round to one that is long past.
func TestOffsetsThatCannotBeMeant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 2s, service_ttft p95 < 1s")
		f := m.Begin("", time.Now())
		f.Sent(math.MaxInt64)
		require.Zero(t, m.State().Overdue)
		f.FirstToken(math.MaxInt64)
		f.FirstOutput(math.MaxInt64)
		time.Sleep(3 * sec)
		require.EqualValues(t, 1, m.State().Overdue, "no token came")
		f.End(&goodput.Record{End: math.MaxInt64, Outcome: goodput.Success})
		checkBooks(t, m)
	})
}

// Ends and deadlines of many thousand, some of them laps of the wheel away.
func TestManyInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "e2e p95 < 10m")
		var all []*InFlight
		for i := range 10_000 {
			f := m.Begin("", time.Now())
			f.SetLimits(map[slo.Metric]float64{slo.E2E: float64(i%300 + 1)})
			all = append(all, f)
		}
		for s := range 300 {
			var want uint64
			for i := range all {
				if i%300+1 < s {
					want++
				}
			}
			require.Equal(t, want, window(t, m, time.Hour).Decided)
			time.Sleep(sec)
		}
		for _, f := range all {
			f.End(nil)
		}
		require.Zero(t, m.State().InFlight)
		for i := range m.shards {
			require.Zero(t, m.shards[i].wheel.n)
		}
		checkBooks(t, m)
	})
}
