package loadgen

import (
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Each threshold, at what it still allows and just above.
func TestHealthThresholds(t *testing.T) {
	start := time.Unix(0, 0)
	open := Plan{SLO: slo.MustParse("ttft p95 < 200ms, e2e p95 < 10s, itl p99 < 100ms"), Arrivals: Constant{Rate: 100}, MaxInFlight: 9, Overflow: Drop}
	closed := Plan{SLO: open.SLO, Concurrency: 10}
	const sec = time.Second
	lag := func(s float64) func(*tally) {
		return func(t *tally) { t.lags.values.AddN(s, 100) }
	}
	undelivered := func(due, sent time.Duration) func(*tally) {
		return func(t *tally) { t.lags.due, t.lags.sent = start.Add(due), start.Add(sent) }
	}
	books := func(area, noted float64, n uint64) func(*tally) {
		return func(t *tally) { t.flight = flight{area: area, noted: noted, ended: n, sent: noted, due: noted} }
	}
	workers := func(sent, due float64, n uint64) func(*tally) {
		return func(t *tally) { t.flight = flight{area: due, noted: due, ended: n, sent: sent, due: due} }
	}
	opens := func(opened, reused, failed uint64, connect, tls time.Duration) func(*tally) { // of at most 10 in flight
		return func(t *tally) {
			t.flight.most = 10
			t.network.opened, t.network.reused, t.network.failed = opened, reused, failed
			t.network.times[PhaseConnect].Add(connect.Seconds())
			t.network.times[PhaseTLS].Add(tls.Seconds())
		}
	}
	each := func(t *tally) {
		opens(1000, 0, 0, sec, sec)(t)
		t.desc.OpensEach = true
	}
	waits := func(upTo float64, n uint64) func(*tally) { // the P99 is upTo
		return func(t *tally) {
			t.machine = watched(0, 0, 0)
			t.machine.histograms.waits = metrics.Float64Histogram{Counts: []uint64{n - 1 - n/100, 1 + n/100}, Buckets: []float64{0, 0.001, upTo}}
		}
	}
	pauses := func(from float64, n uint64) func(*tally) {
		return func(t *tally) {
			t.machine = watched(0, 0, 0)
			t.machine.histograms.pauses = metrics.Float64Histogram{Counts: []uint64{1000, n, 0}, Buckets: []float64{0, from, 1, 2}}
		}
	}
	cpu := func(busy, full, stolen time.Duration) func(*tally) {
		return func(t *tally) { t.machine = watched(busy, full, stolen) }
	}
	quotas := func(q quota) func(*tally) {
		return func(t *tally) { t.machine = watched(0, 0, 0); t.machine.quota = q }
	}
	for _, c := range []struct {
		name   string
		plan   Plan
		set    func(*tally)
		want   goodput.HealthVerdict
		reason string
	}{
		{"delivered at 99 %", open, undelivered(99*sec, 100*sec), goodput.Valid, ""},
		{"delivered at less", open, undelivered(98999*ms, 100*sec), goodput.Suspect, "sent at 99 % of the rate"},
		{"delivered at 95 %", open, undelivered(95*sec, 100*sec), goodput.Suspect, "sent at 95 % of the rate"},
		{"delivered at less still", open, undelivered(94990*ms, 100*sec), goodput.Invalid, "sent at 94.99 % of the rate"},
		{"the last one 10 ms late", open, undelivered(10*ms, 20*ms), goodput.Valid, ""},
		{"the last one later", open, undelivered(10*ms, 21*ms), goodput.Invalid, "the last one left 11ms late"},
		{"nobody delivers in a closed loop", closed, undelivered(10*ms, 21*ms), goodput.Valid, ""},

		{"a lag of 10 %", open, lag(0.02), goodput.Valid, ""},
		{"a lag of more", open, lag(0.0202), goodput.Suspect, "client's own lag, 20.2 ms, is 10.1 % of the tightest threshold"},
		{"a lag of 50 %", open, lag(0.1), goodput.Suspect, "is 50 % of"},
		{"a lag of still more", open, lag(0.101), goodput.Invalid, "is 50.5 % of"},

		{"no descriptor is missing", open, func(t *tally) { t.offered, t.sent = 100, 100 }, goodput.Valid, ""},
		{"descriptors are missing for 1 %", open, func(t *tally) { t.offered, t.sent, t.lags.exhausted = 100, 100, 1 }, goodput.Suspect, "for 1 of 100 requests the client had no file descriptor"},
		{"descriptors are missing for more", open, func(t *tally) { t.offered, t.sent, t.lags.exhausted = 199, 199, 2 }, goodput.Invalid, "for 2 of 199"},
		{"1 % dropped", open, func(t *tally) { t.offered, t.sent, t.lags.over = 100, 99, 1 }, goodput.Valid, ""},
		{"more dropped", open, func(t *tally) { t.offered, t.sent, t.lags.over = 100, 98, 2 }, goodput.Suspect, "2 of 100 requests were dropped at the limit of 9"},
		{"all dropped", open, func(t *tally) { t.offered, t.sent, t.lags.over = 100, 0, 100 }, goodput.Suspect, "100 of 100"},

		{"books 1 % apart", open, books(100, 99, 1), goodput.Valid, ""},
		{"books further apart", open, books(100, 98.9, 1), goodput.Suspect, "1 requests were in flight by the client's own count, and 0.989 by Little's law, from their records: answers lay unread, or the books"},
		{"books further apart, the other way", open, books(98.9, 100, 1), goodput.Suspect, "from their records: the books or the clock are wrong"},
		{"books 10 % apart", open, books(90, 100, 1), goodput.Suspect, "Little's law"},
		{"books still further apart", open, books(89.9, 100, 1), goodput.Invalid, "Little's law"},
		{"books 10 ms a request apart", open, books(2, 1, 100), goodput.Valid, ""},
		{"books 11 ms a request apart", open, books(2.1, 1, 100), goodput.Invalid, "Little's law"},

		{"workers 90 % in flight", closed, workers(90, 100, 1), goodput.Valid, ""},
		{"workers less in flight", closed, workers(89.9, 100, 1), goodput.Suspect, "8.99 of the 10 requests that were asked for were in flight"},
		{"workers half in flight", closed, workers(50, 100, 1), goodput.Suspect, "5 of the 10 requests"},
		{"workers still less in flight", closed, workers(49.9, 100, 1), goodput.Invalid, "4.99 of the 10"},
		{"workers with requests of no time", closed, workers(0.0001, 0.0002, 1), goodput.Valid, ""},
		{"workers with requests of some time", closed, workers(0.0001, 0.0003, 1), goodput.Invalid, "3.333 of the 10"},
		{"nobody works in an open loop", open, workers(1, 100, 1), goodput.Valid, ""},

		{"10 % opened anew", open, opens(110, 890, 0, 15*ms, 15*ms), goodput.Valid, ""},
		{"more opened anew", open, opens(111, 889, 0, 15*ms, 15*ms), goodput.Suspect,
			"111 of 1000 requests opened a connection, though no more than 10 were in flight at once and 0 failed: connections were not kept, and to open one took 30.0 ms, 15 % of"},
		{"all opened anew", closed, opens(1000, 0, 0, 15*ms, 15*ms), goodput.Suspect, "1000 of 1000 requests opened a connection"},
		{"as many as were in flight", open, opens(10, 0, 0, sec, sec), goodput.Valid, ""},
		{"in place of those that failed", open, opens(900, 100, 800, sec, sec), goodput.Valid, ""},
		{"opening takes 10 %", open, opens(1000, 0, 0, 10*ms, 10*ms), goodput.Valid, ""},
		{"opening takes more", open, opens(1000, 0, 0, 10*ms, 11*ms), goodput.Suspect, "to open one took 21.0 ms, 10.5 % of"},
		{"each was to open one", open, each, goodput.Valid, ""},

		{"waits of 10 %", open, waits(0.01, 1000), goodput.Valid, ""},
		{"waits of more", open, waits(0.0101, 1000), goodput.Suspect, "goroutines waited to run, 10.1 ms, is 10.1 % of the tightest threshold"},
		{"waits of 50 %", open, waits(0.05, 1000), goodput.Suspect, "is 50 % of"},
		{"waits of still more", open, waits(0.0501, 1000), goodput.Invalid, "is 50.1 % of"},
		{"99 waits", open, waits(10, 99), goodput.Valid, ""},
		{"100 waits", open, waits(10, 100), goodput.Invalid, "is 1e+04 % of"},

		{"pauses for 1 %", open, pauses(0.0125, 80), goodput.Valid, ""},
		{"pauses for more", open, pauses(0.0125, 81), goodput.Suspect, "1.01 % of the run the client stood still, in garbage collections that took more than 10 % of"},
		{"short pauses", open, pauses(0.0099, 9999), goodput.Valid, ""},
		{"pauses for good", open, pauses(0.5, 200), goodput.Suspect, "100 % of the run"},

		{"busy for 5 %", open, cpu(5*sec, 0, 0), goodput.Valid, ""},
		{"busy for longer", open, cpu(6*sec, 0, 0), goodput.Suspect, "for 6 % of the time the client kept more than 80 % of its 2 CPUs busy; on average it took 0.5"},
		{"busy for good", open, cpu(100*sec, 0, 0), goodput.Suspect, "for 100 % of the time"},
		{"full for 5 %", open, cpu(0, 5*sec, 0), goodput.Valid, ""},
		{"full for longer", open, cpu(0, 6*sec, 0), goodput.Suspect,
			"for 6 % of the time the host had no idle CPU; on average the client took 0.5 of 4, and others 1.5: a server on the same host is one of them"},
		{"full for good", open, cpu(0, 100*sec, 0), goodput.Suspect, "for 100 % of the time the host"},
		{"1 % stolen", open, cpu(0, 0, 4*sec), goodput.Valid, ""},
		{"more stolen", open, cpu(0, 0, 5*sec), goodput.Suspect, "1.25 % of the time of the host's CPUs was stolen"},
		{"halted in 1 % of periods", open, quotas(quota{100, 1}), goodput.Valid, ""},
		{"halted in more", open, quotas(quota{199, 2}), goodput.Suspect, "in 2 of 199 periods the client had used its CPU quota up"},
		{"halted in all", open, quotas(quota{100, 100}), goodput.Suspect, "in 100 of 100 periods"},
		{"all stolen", open, cpu(0, 0, 400*sec), goodput.Suspect, "100 % of the time of the host's CPUs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tally, err := newTally(&c.plan, Description{}, "", start)
			require.NoError(t, err)
			tally.sent = 1
			c.set(tally)
			h := tally.health(100 * sec)
			assert.Equal(t, c.want, h.Verdict)
			if c.reason == "" {
				assert.Empty(t, h.Reasons)
			} else {
				require.Len(t, h.Reasons, 1)
				assert.Contains(t, h.Reasons[0], c.reason)
			}
		})
	}
	// The worst of several is the verdict, and all are said.
	tally, err := newTally(&open, Description{}, "", start)
	require.NoError(t, err)
	tally.sent = 1
	lag(1)(tally)
	cpu(100*sec, 100*sec, 0)(tally)
	h := tally.health(100 * sec)
	assert.Equal(t, goodput.Invalid, h.Verdict)
	assert.Len(t, h.Reasons, 3)
}

// watched is a machine of 4 CPUs after 100 s, of which the client could keep 2 busy and kept half of one.
func watched(busy, full, stolen time.Duration) *machine {
	const s = time.Second
	m := &machine{judged: 100 * s, busy: busy, full: full}
	m.first = reading{at: time.Unix(0, 0), ok: true, host: hostTimes{cpus: 4}}
	m.last = reading{at: time.Unix(100, 0), procs: 2, own: 50 * s, ok: true, host: hostTimes{cpus: 4, busy: 200 * s, idle: 200*s - stolen, stolen: stolen}}
	return m
}

// The tightest threshold is that of any class; one that is nothing but a slope is none.
func TestTightest(t *testing.T) {
	p := Plan{SLO: slo.MustParse("ttft p95 < 2s, tpot p95 < 1ms"), Classes: slo.Set{
		"chat":  slo.MustParse("e2e p95 < 1s + 1ms/token"),
		"batch": slo.MustParse("itl p99 < 50ms"),
	}}
	assert.Equal(t, 1.0, tightest(&p, slo.TTFT, slo.E2E))
	assert.Equal(t, 0.05, tightest(&p, slo.TTFT, slo.E2E, slo.ITL))
	assert.Greater(t, tightest(&p, slo.Lag), 1e300)
}

// The other way round: health that nothing is known against says nothing, and has figures.
func TestHealthOfASoundClient(t *testing.T) {
	p := Plan{SLO: e2e, Arrivals: Constant{Rate: 1}}
	tally, err := newTally(&p, Description{}, "", time.Unix(0, 0))
	require.NoError(t, err)
	tally.machine = watched(0, 0, 0)
	h := tally.health(100 * time.Second)
	assert.Equal(t, goodput.Valid, h.Verdict)
	assert.Equal(t, &goodput.CPU{Procs: 2, Client: 0.5, ClientMax: 0.5, Host: &goodput.Host{CPUs: 4, Others: 1.5, Idle: 2, IdleMin: 0}}, h.CPU)
	assert.Equal(t, &goodput.GoRuntime{}, h.Runtime)
	assert.Equal(t, "", strings.Join(h.Reasons, "\n"))
}
