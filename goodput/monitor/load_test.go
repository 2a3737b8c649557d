package monitor

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/heap"
	"github.com/goodputkit/goodputkit/slo"
)

// 10⁵ classes take the memory of 64, and none of their requests is lost.
func TestClassFlood(t *testing.T) {
	m := newMonitor(t, "ttft p95 < 2s", WithClasses(slo.Set{"mine": slo.MustParse("ttft p95 < 1s")}))
	before := heap.Live()
	const n = 100_000
	for i := range n {
		r := answer(fmt.Sprintf("class-%d", i), sec, sec)
		if i%2 == 0 {
			m.Observe(r)
		} else {
			m.Begin(r.Class, time.Now()).End(r)
		}
	}
	for _, name := range []string{strings.Repeat("x", 129), "\xff", "mine", "", "default"} {
		m.Observe(answer(name, sec, sec))
	}
	all := m.Counters().Classes
	require.Less(t, heap.Live(), before+8<<20)
	require.Len(t, all, 64+3, "of their own, mine, default and other")
	var offered, other uint64
	for _, c := range all {
		offered += c.Offered
		other += c.OtherClasses
		switch c.Class {
		case "other":
			require.EqualValues(t, n-64+2, c.Offered)
			require.Equal(t, c.Offered, c.OtherClasses)
		case "mine":
			require.EqualValues(t, 1, c.Offered)
		case "default":
			require.EqualValues(t, 2, c.Offered)
		}
	}
	require.EqualValues(t, n+5, offered)
	checkBooks(t, m)
	require.Len(t, m.State().SLOs, 2)
}

// Everything at once, from many goroutines, and not one request lost.
func TestConcurrentUse(t *testing.T) {
	m := newMonitor(t, "ttft p95 < 2s, e2e p95 < 8s, error_rate < 1%", WithOnChange(func(Change) {}))
	var tell, ask sync.WaitGroup
	stop := make(chan struct{})
	for _, f := range []func(){
		func() { m.State() }, func() { m.Alerts() }, func() { checkBooks(t, m) }, func() { m.MarshalBinary() }, func() { m.Series(time.Hour) },
		func() { newMonitor(t, "ttft p95 < 2s, e2e p95 < 8s, error_rate < 1%").Merge(m) },
	} {
		ask.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f()
				}
			}
		})
	}
	const goroutines, each = 8, 2000
	for g := range goroutines {
		tell.Go(func() {
			for i := range each {
				r := answer(fmt.Sprintf("c%d", i%3), sec*time.Duration(i%4), 4*sec)
				if i%2 == 0 {
					m.Observe(r)
					continue
				}
				f := m.Begin(r.Class, time.Now().Add(-time.Duration(g)*sec))
				f.FirstToken(sec * time.Duration(i%4))
				var both sync.WaitGroup
				both.Go(func() { f.End(r) })
				f.End(r)
				both.Wait()
			}
		})
	}
	tell.Wait()
	close(stop)
	ask.Wait()
	w := window(t, m, time.Hour)
	require.EqualValues(t, goroutines*each, w.Recorded)
	require.EqualValues(t, goroutines*each, w.Decided)
	require.EqualValues(t, goroutines*each, w.Offered)
	// A ttft of 3 s is late: one in four, and it is so whoever booked it first, the deadline or the end.
	require.EqualValues(t, goroutines*each*3/4, w.Good)
	checkBooks(t, m)
}

// What ended in each way is where it belongs.
func TestOutcomes(t *testing.T) {
	m := newMonitor(t, "ttft p95 < 2s, error_rate < 1%")
	for _, o := range append(goodput.Outcomes(), 0) {
		r := answer("", sec, 2*sec)
		r.Outcome = o
		m.Observe(r)
	}
	c := m.Counters().Classes[0]
	for _, o := range goodput.Outcomes() {
		want := 1
		if o == goodput.ServerError {
			want = 2 // nobody said
		}
		require.EqualValues(t, want, c.Outcomes[o], o)
	}
	all := uint64(len(goodput.Outcomes()) + 1)
	require.Equal(t, all, c.Recorded)
	require.Equal(t, all-2, c.Ended, "but for dropped and unfinished")
	require.EqualValues(t, 1, c.Good)
	require.Equal(t, all, c.Objectives[0].Decided, "a request that failed was not within")
	require.EqualValues(t, 1, c.Objectives[0].Within)
	require.Equal(t, (all-2)*10, c.OutputTokens)
	require.EqualValues(t, 10, c.GoodOutputTokens)
	burns, err := m.Burns(time.Minute)
	require.NoError(t, err)
	require.Equal(t, all-1, burns[1].Bad)
}

// An objective's own rule for undefined values, and an SLO's target for the whole.
func TestBudgets(t *testing.T) {
	m := newMonitor(t, "ttft p95 < 2s, tpot p90 < 50ms, attainment >= 80%, undefined tpot: excluded")
	for i := range 100 {
		r := answer("", sec, 2*sec)
		if i < 10 {
			r = answer("", 3*sec, 4*sec)
		}
		m.Observe(r) // one event: tpot is undefined
	}
	s := m.State().SLOs[0]
	require.Equal(t, Budget{Bad: 10, Total: 100, Left: -1}, roundLeft(s.Objectives[0].Budget))
	require.Zero(t, s.Objectives[1].Budget.Total)
	require.True(t, s.Objectives[1].Budget.Left.Absent())
	require.Equal(t, Budget{Bad: 10, Total: 100, Left: 0.5}, roundLeft(s.Objectives[2].Budget))
	require.Equal(t, []string{"metric undefined: 100 of 100 successes have no tpot; each is left out of tpot p90 < 50ms"}, m.State().Warnings)
	k := m.Counters().Classes[0]
	require.EqualValues(t, 100, k.Objectives[1].Undefined)
	require.Zero(t, k.Objectives[1].Decided)
}

func roundLeft(b Budget) Budget {
	b.Left = Figure(float64(int(float64(b.Left)*1e6+1e6+0.5))/1e6 - 1)
	return b
}

// 10⁷ records, ten seconds of a million a second: each is counted, and the memory is what it was.
func TestSoak(t *testing.T) {
	if os.Getenv("GOODPUT_SOAK") == "" {
		t.Skip("set GOODPUT_SOAK=1")
	}
	m := newMonitor(t, "ttft p95 < 2s, tpot p95 < 50ms, error_rate < 1%")
	const n = 10_000_000
	r := answer("chat", sec, 2*sec)
	m.Observe(r)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	var all sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for g := range workers {
		all.Go(func() {
			for i := g; i < n; i += workers {
				m.Observe(r)
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.EqualValues(t, n+1, m.Counters().Classes[0].Decided)
	checkBooks(t, m)
	require.Less(t, after.HeapAlloc, before.HeapAlloc+1<<20)
	t.Logf("%d records in %v by %d goroutines: %.0f a second", n, took, workers, n/took.Seconds())
}

// The state of as many classes as there can be, each with requests in all slots of the first ring.
func BenchmarkState(b *testing.B) {
	m := newMonitor(b, "ttft p95 < 2s, tpot p95 < 50ms, error_rate < 1%")
	now := m.now()
	for i := range 64 {
		m.Observe(answer(fmt.Sprint(i), sec, 2*sec))
	}
	m.State()
	for _, c := range m.classes.Load().All {
		for k := range c.rings {
			r := &c.rings[k]
			for s := range layout[k].slots {
				r.slot(now - s*r.width)[cDecided]++
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		m.State()
	}
}
