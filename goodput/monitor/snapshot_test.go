package monitor

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/wire"
	"github.com/goodputkit/goodputkit/slo"
)

const snapshotSLO = "ttft p95 < 2s, e2e p90 < 20s, error_rate < 1%"

// some traffic of several classes, with something in flight at the end.
func someTraffic(m *Monitor, random *rand.Rand, d time.Duration) {
	end := time.Now().Add(d)
	for time.Now().Before(end) {
		class := string(rune('a' + random.IntN(3)))
		f := m.Begin(class, time.Now())
		time.Sleep(time.Duration(random.Int64N(int64(3 * sec))))
		if random.IntN(5) > 0 {
			f.End(answer(class, time.Duration(random.Int64N(int64(3*sec))), 3*sec))
		}
	}
}

func encoded(t testing.TB, m *Monitor) []byte {
	t.Helper()
	b, err := m.MarshalBinary()
	require.NoError(t, err)
	return b
}

// After a restart all windows are as they were, and the downtime is a gap: neither good nor bad nor watched.
func TestSnapshotOverADowntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, snapshotSLO)
		someTraffic(m, rand.New(rand.NewPCG(1, 1)), 40*time.Minute)
		before, counters := m.State(), m.Counters()
		require.NotZero(t, before.InFlight)
		data := encoded(t, m)
		time.Sleep(2 * time.Hour)

		again := newMonitor(t, snapshotSLO)
		require.NoError(t, again.UnmarshalBinary(data))
		w := window(t, again, 6*time.Hour)
		require.Equal(t, before.Windows[3].Decided, w.Decided)
		require.Equal(t, before.Windows[3].Good, w.Good)
		require.Equal(t, before.Time.Sub(before.Since), w.Watched)
		require.Equal(t, before.Windows[3].Goodput, w.Goodput, "a gap makes no rate lower")
		require.Zero(t, window(t, again, time.Hour).Watched)
		require.True(t, window(t, again, time.Hour).Goodput.Absent())
		require.Equal(t, before.Since, again.State().Since)
		for i, c := range again.Counters().Classes {
			was := counters.Classes[i]
			was.Unseen, was.UnseenOverdue, was.InFlight, was.Overdue = was.InFlight, was.Overdue, 0, 0
			require.Equal(t, was, c)
		}
		checkBooks(t, again)
		time.Sleep(time.Minute)
		require.Equal(t, time.Minute, window(t, again, time.Hour).Watched)
		require.ErrorIs(t, again.UnmarshalBinary(data), ErrUsed)
	})
}

// An alert that fired before a restart fires after it without being told again.
func TestAlertOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 2s")
		load(m, 5*time.Minute, 10, nil)
		was := m.Alerts()[0]
		require.Equal(t, Firing, was.State)
		data := encoded(t, m)
		time.Sleep(10 * sec)
		var told []Change
		again := newMonitor(t, "ttft p95 < 2s", WithOnChange(func(c Change) { told = append(told, c) }))
		require.NoError(t, again.UnmarshalBinary(data))
		is := again.Alerts()[0]
		require.Equal(t, Firing, is.State)
		require.Equal(t, was.Since, is.Since)
		require.Empty(t, told)
	})
}

// The wall clock of the process before was ahead by an hour: time goes on from there, and nothing is lost.
func TestSnapshotFromAheadOfTheClock(t *testing.T) {
	var data []byte
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, snapshotSLO)
		time.Sleep(time.Hour)
		load(m, 10*sec, 1, nil)
		data = encoded(t, m)
	})
	synctest.Test(t, func(t *testing.T) { // begins at the same instant as the one before
		m := newMonitor(t, snapshotSLO)
		require.NoError(t, m.UnmarshalBinary(data))
		require.EqualValues(t, 100, window(t, m, time.Minute).Decided)
		load(m, 10*sec, 1, nil)
		require.EqualValues(t, 200, window(t, m, time.Minute).Decided)
	})
}

// Replicas that are merged have the counts of one monitor that saw all of it.
func TestMergeOfReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newMonitor(t, snapshotSLO)
		var replicas []*Monitor
		for range 3 {
			replicas = append(replicas, newMonitor(t, snapshotSLO))
		}
		random := rand.New(rand.NewPCG(2, 2))
		for range 3000 {
			time.Sleep(time.Duration(random.Int64N(int64(10 * sec))))
			r := answer(string(rune('a'+random.IntN(3))), time.Duration(random.Int64N(int64(3*sec))), 3*sec)
			all.Observe(r)
			replicas[random.IntN(3)].Observe(r)
		}
		sum := newMonitor(t, snapshotSLO)
		for _, m := range replicas {
			require.NoError(t, sum.Merge(m))
		}
		want, got := all.State(), sum.State()
		require.Equal(t, want.Windows, got.Windows)
		require.Equal(t, want.Classes, got.Classes)
		require.Equal(t, want.SLOs, got.SLOs)
		require.Equal(t, all.Counters(), sum.Counters())

		other := newMonitor(t, "ttft p95 < 1s")
		require.ErrorIs(t, sum.Merge(other), ErrMerge)
		require.ErrorIs(t, sum.Merge(sum), ErrMerge)
		require.ErrorIs(t, sum.UnmarshalBinary(encoded(t, other)), ErrMerge)
	})
}

func TestMergeRefusesAClockAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, o := newMonitor(t, snapshotSLO), newMonitor(t, snapshotSLO)
		load(o, sec, 1, nil)
		o.axis += int64(time.Minute)
		require.ErrorIs(t, m.Merge(o), ErrMerge)
		require.Zero(t, window(t, m, time.Hour).Decided)
	})
}

// What was merged from a clock that is a little ahead lies in slots that are still to come, in a snapshot, too.
func TestSnapshotOfAMergeWithAClockAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 2 * pageSlots { // over the end of a page
			m, o := newMonitor(t, snapshotSLO), newMonitor(t, snapshotSLO)
			o.axis += int64(9 * sec)
			m.Observe(answer("", sec, sec))
			o.Observe(answer("", sec, sec))
			require.NoError(t, m.Merge(o))
			again := newMonitor(t, snapshotSLO)
			require.NoError(t, again.UnmarshalBinary(encoded(t, m)))
			require.Equal(t, m.Counters(), again.Counters())
			time.Sleep(sec)
		}
	})
}

func TestMergeBeyondTheClasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newMonitor(t, snapshotSLO, WithMaxClasses(2)), newMonitor(t, snapshotSLO, WithMaxClasses(2))
		for i := range 2 {
			a.Observe(answer("a"+strconv.Itoa(i), sec, sec))
			b.Observe(answer("b"+strconv.Itoa(i), sec, sec))
		}
		require.NoError(t, a.Merge(b))
		w, err := a.ClassWindow("other", time.Minute)
		require.NoError(t, err)
		require.EqualValues(t, 2, w.Decided)
		checkBooks(t, a)

		set := slo.Set{"other": slo.MustParse("ttft p95 < 1s")}
		c, d := newMonitor(t, snapshotSLO, WithMaxClasses(1), WithClasses(set)), newMonitor(t, snapshotSLO, WithClasses(set))
		d.Observe(answer("x", sec, sec))
		d.Observe(answer("y", sec, sec))
		require.ErrorIs(t, c.Merge(d), ErrMerge)
		require.Zero(t, window(t, c, time.Minute).Decided, "nothing was added")
	})
}

// A class that has an SLO of its own, also one that is called as the default, is judged by it before a restart and after.
func TestSnapshotOfClassesWithTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := slo.Set{"default": slo.MustParse("ttft p90 < 1s"), "own": slo.MustParse("ttft p95 < 500ms, e2e p95 < 4s")}
		m, again := newMonitor(t, snapshotSLO, WithClasses(set)), newMonitor(t, snapshotSLO, WithClasses(set))
		require.Equal(t, []string{"default SLO", "default", "own"}, m.SLONames())
		require.Equal(t, set, m.Classes())
		for _, class := range []string{"", "own", "any"} {
			m.Observe(answer(class, 1500*time.Millisecond, 3*sec))
		}
		require.NoError(t, again.UnmarshalBinary(encoded(t, m)))
		for _, class := range []string{"", "own", "any"} {
			again.Observe(answer(class, 700*time.Millisecond, 3*sec))
		}
		require.Equal(t, m.SLONames(), again.SLONames())
		for class, want := range map[string]uint64{"": 1, "default": 1, "own": 0, "any": 2} {
			w, err := again.ClassWindow(class, time.Minute)
			require.NoError(t, err)
			require.EqualValues(t, 2, w.Decided, class)
			require.Equal(t, want, w.Good, class)
		}
		checkBooks(t, again)
	})
}

func TestDamagedSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, snapshotSLO)
		someTraffic(m, rand.New(rand.NewPCG(3, 3)), 15*sec)
		data := encoded(t, m)
		for n := range len(data) {
			require.ErrorIs(t, newMonitor(t, snapshotSLO).UnmarshalBinary(data[:n]), ErrEncoding)
		}
		require.ErrorIs(t, newMonitor(t, snapshotSLO).UnmarshalBinary(append(data, 0)), ErrEncoding)
		require.ErrorIs(t, newMonitor(t, snapshotSLO).UnmarshalBinary(append([]byte("gpm\x02"), data[4:]...)), ErrEncoding)
		for i := range data { // each byte, once: an error; and where the checksum is right, an error or books that close
			bad := append([]byte{}, data...)
			bad[i] ^= 1
			require.ErrorIs(t, newMonitor(t, snapshotSLO).UnmarshalBinary(bad), ErrEncoding)
			again := newMonitor(t, snapshotSLO)
			if again.UnmarshalBinary(wire.Encoder(bad[:len(bad)-4]).Seal()) == nil {
				checkBooks(t, again)
				for _, b := range again.State().SLOs[0].Objectives {
					for _, burn := range b.Burns {
						require.LessOrEqual(t, burn.Bad, burn.Total)
					}
				}
			}
		}
	})
}

// fuzzLimit is how many bytes may be allocated for one of the data: a count is a byte there and eight here, and a page and a class have some more.
const fuzzLimit = 64

func FuzzUnmarshalBinary(f *testing.F) {
	m := newMonitor(f, snapshotSLO)
	for i := range 20 {
		m.Observe(answer(string(rune('a'+i%3)), sec*time.Duration(i)/5, 4*sec))
	}
	m.Begin("a", time.Now())
	for _, m := range []*Monitor{m, newMonitor(f, snapshotSLO)} {
		b := encoded(f, m)
		f.Add(b[len(encodingMagic) : len(b)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		data := wire.Encoder(append([]byte(encodingMagic), body...)).Seal()
		m := newMonitor(t, snapshotSLO)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := m.decode(data)
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(len(data))*fuzzLimit+64<<10)
		if err != nil {
			return
		}
		require.NotNil(t, s)
		require.NoError(t, m.UnmarshalBinary(data))
		checkBooks(t, m)
		m.State()
		again := newMonitor(t, snapshotSLO)
		require.NoError(t, again.UnmarshalBinary(encoded(t, m)))
		require.Equal(t, m.Counters().Classes, again.Counters().Classes)
	})
}
