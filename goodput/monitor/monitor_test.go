package monitor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

func newMonitor(t testing.TB, text string, opts ...Option) *Monitor {
	t.Helper()
	m, err := New(slo.MustParse(text), opts...)
	require.NoError(t, err)
	return m
}

// answer is a success whose only token came at ttft, with 10 output tokens.
func answer(class string, ttft, end time.Duration) *goodput.Record {
	return &goodput.Record{Class: class, Start: time.Now().Add(-end), Tokens: []goodput.Token{{At: ttft, N: 10}}, End: end,
		InputTokens: 100, OutputTokens: 10, Outcome: goodput.Success}
}

func window(t testing.TB, m *Monitor, d time.Duration) Window {
	t.Helper()
	w, err := m.Window(d)
	require.NoError(t, err)
	return w
}

// 1,000 requests in 100 s, 950 of them good: throughput 10/s, goodput 9.5/s, attainment 95 %.
func TestWorkedValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 800ms")
		for i := range 1000 {
			time.Sleep(100 * ms)
			ttft := 100 * ms
			if i%20 == 0 {
				ttft = 900 * ms
			}
			m.Observe(answer("", ttft, 2*sec))
		}
		w := window(t, m, 5*time.Minute)
		require.Equal(t, 100*sec, w.Watched)
		require.EqualValues(t, 1000, w.Decided)
		require.EqualValues(t, 950, w.Good)
		require.EqualValues(t, 10, w.Throughput)
		require.EqualValues(t, 9.5, w.Goodput)
		require.EqualValues(t, 0.95, w.Attainment)
		require.EqualValues(t, 95, w.TokenRate)
	})
}

// A request in flight is bad at its deadline, in the slot of its deadline, whenever somebody looks.
func TestBadAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 2s, e2e p95 < 8s")
		f := m.Begin("", time.Now())
		time.Sleep(2 * sec)
		require.Zero(t, window(t, m, time.Minute).Decided, "2 s is in time")
		time.Sleep(time.Nanosecond)
		w := window(t, m, time.Minute)
		require.EqualValues(t, 1, w.Decided)
		require.Zero(t, w.Good)
		require.Zero(t, w.Recorded)

		time.Sleep(10 * sec)
		c := m.Counters().Classes[0]
		require.EqualValues(t, 1, c.Overdue)
		require.EqualValues(t, 1, c.Objectives[1].Decided, "e2e has its own deadline")
		r := answer("", 12*sec, 13*sec)
		f.End(r)
		f.End(r)
		c = m.Counters().Classes[0]
		require.EqualValues(t, 1, c.Decided)
		require.EqualValues(t, 1, c.Recorded)
		require.EqualValues(t, 1, c.PastDue)
		require.Zero(t, c.Overdue)
		require.Zero(t, c.InFlight)
		for _, o := range c.Objectives {
			require.EqualValues(t, 1, o.Decided)
			require.Zero(t, o.Within)
		}
	})
}

func TestObserveDoesNotAllocate(t *testing.T) {
	m := newMonitor(t, "ttft p95 < 2s, tpot p95 < 50ms, error_rate < 1%")
	r := answer("chat", sec, 2*sec)
	m.Observe(r)
	require.Zero(t, testing.AllocsPerRun(1000, func() { m.Observe(r) }))
}

func BenchmarkObserve(b *testing.B) {
	m := newMonitor(b, "ttft p95 < 2s, tpot p95 < 50ms, error_rate < 1%")
	r := answer("chat", sec, 2*sec)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Observe(r)
		}
	})
}

// 10,000 requests are in flight meanwhile.
func BenchmarkBeginEnd(b *testing.B) {
	m := newMonitor(b, "ttft p95 < 2s, tpot p95 < 50ms, error_rate < 1%")
	for range 10_000 {
		m.Begin("chat", time.Now())
	}
	r := answer("chat", sec, 2*sec)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Begin("chat", time.Now()).End(r)
		}
	})
}
