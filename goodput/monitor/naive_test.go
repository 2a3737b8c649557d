package monitor

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// naive is a list of what happened, of which everything is counted by looking at all of it.
type naive struct{ all []happened }

type happened struct {
	class          string
	start, end     time.Time // end zero: not yet
	ttft           time.Duration
	success, begun bool
	tokens         int
	ttftLimit      time.Duration
}

const e2eLimit = 20 * sec

func (h *happened) over(now time.Time) bool { return !h.end.IsZero() && !h.end.After(now) }

// missed is when the objective was missed, as of now: at its deadline if that was in flight, else at the end.
func (h *happened) missed(late time.Duration, certain bool, now time.Time) (at time.Time, yes bool) {
	if deadline := h.start.Add(late + 1); h.begun && certain && !deadline.After(now) && (h.end.IsZero() || !h.end.Before(deadline)) {
		return deadline, true
	}
	return h.end, false
}

// decided is when the objectives and the request were decided, and whether they held.
func (h *happened) decided(now time.Time) (at [3]time.Time, good [3]bool) {
	late := h.ttft < 0 || h.ttft > h.ttftLimit
	var flight [2]bool
	at[0], flight[0] = h.missed(h.ttftLimit, late, now)
	at[1], flight[1] = h.missed(e2eLimit, true, now)
	good[0] = h.over(now) && !flight[0] && h.success && !late
	good[1] = h.over(now) && !flight[1] && h.success && h.end.Sub(h.start) <= e2eLimit
	at[2], good[2] = h.end, good[0] && good[1]
	for i, in := range flight {
		if in && (at[2].IsZero() || at[i].Before(at[2])) {
			at[2] = at[i]
		}
	}
	return at, good
}

type counts struct {
	offered, recorded, success, decided, good, tokens, goodTokens uint64
	objectives                                                    [2]struct{ decided, missed uint64 }
}

func (n *naive) count(class string, from, now time.Time) (c counts) {
	in := func(t time.Time) uint64 {
		if t.IsZero() || t.Before(from) || t.After(now) {
			return 0
		}
		return 1
	}
	for i := range n.all {
		h := &n.all[i]
		if class != "" && h.class != class {
			continue
		}
		at, good := h.decided(now)
		c.offered += in(h.start)
		c.recorded += in(h.end)
		c.decided += in(at[2])
		c.tokens += in(h.end) * uint64(h.tokens)
		if h.success {
			c.success += in(h.end)
		}
		if good[2] {
			c.good += in(h.end)
			c.goodTokens += in(h.end) * uint64(h.tokens)
		}
		for k := range c.objectives {
			c.objectives[k].decided += in(at[k])
			if !good[k] {
				c.objectives[k].missed += in(at[k])
			}
		}
	}
	return c
}

func (h *happened) record(now time.Time) *goodput.Record {
	r := &goodput.Record{Class: h.class, Start: h.start, End: now.Sub(h.start), OutputTokens: h.tokens, Outcome: goodput.ServerError}
	if h.ttft >= 0 {
		r.Tokens = []goodput.Token{{At: h.ttft, N: 1}}
	}
	if h.success {
		r.Outcome = goodput.Success
	}
	if h.ttftLimit != 2*sec {
		r.Limits = map[slo.Metric]float64{slo.TTFT: h.ttftLimit.Seconds()}
	}
	return r
}

// flying is what the list and the monitor have in common of a request in flight.
type flying struct {
	i int // in the list
	f *InFlight
}

// Whatever happens when, a window has the counts of a list of all that happened in it.
func TestWindowsEqualAList(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { againstList(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func againstList(t *testing.T, random *rand.Rand) {
	m := newMonitor(t, "ttft p95 < 2s, e2e p90 < 20s, error_rate < 1%")
	var n naive
	var in []flying
	some := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	gaps := []time.Duration{ms, 100 * ms, sec, 10 * sec, 10 * sec, time.Minute, 20 * time.Minute, 7 * time.Hour, 4 * day, 40 * day}
	classes := []string{"a", "b", "c"}
	for range 600 {
		gap := gaps[random.IntN(len(gaps))]
		if random.IntN(4) > 0 {
			gap = 100 * ms
		}
		time.Sleep(some(gap))
		now := time.Now()
		h := happened{class: classes[random.IntN(3)], start: now, success: random.IntN(10) > 0, tokens: 1 + random.IntN(100), ttftLimit: 2 * sec, ttft: -1}
		if random.IntN(5) == 0 {
			h.ttftLimit = time.Duration(1+random.IntN(5000)) * ms
		}
		switch random.IntN(6) {
		case 0: // ended without a beginning: booked now, at both ends
			h.ttft, h.end = some(3*sec), now
			r := h.record(now)
			r.End = 3 * sec
			m.Observe(r)
			n.all = append(n.all, h)
		case 1, 2:
			f := m.Begin(h.class, now)
			if h.ttftLimit != 2*sec {
				f.SetLimits(map[slo.Metric]float64{slo.TTFT: h.ttftLimit.Seconds()})
			}
			h.begun = true
			in = append(in, flying{i: len(n.all), f: f})
			n.all = append(n.all, h)
		case 3:
			if len(in) > 0 {
				if x := &in[random.IntN(len(in))]; n.all[x.i].ttft < 0 {
					n.all[x.i].ttft = now.Sub(n.all[x.i].start)
					x.f.FirstToken(n.all[x.i].ttft)
				}
			}
		case 4:
			if len(in) > 0 {
				k := random.IntN(len(in))
				h := &n.all[in[k].i]
				h.end = now
				in[k].f.End(h.record(now))
				in = slices.Delete(in, k, k+1)
			}
		case 5:
			compare(t, m, &n, classes, some(MaxWindow-sec)+sec)
			compare(t, m, &n, classes, some(DefaultPeriod-sec)+sec)
			compare(t, m, &n, classes, some(time.Hour)+sec)
		}
	}
	for _, d := range []time.Duration{sec, 10 * time.Minute, 10*time.Minute + 1, 6 * time.Hour, 3 * day, DefaultPeriod, 90 * day, MaxWindow} {
		compare(t, m, &n, classes, d)
	}
}

func compare(t *testing.T, m *Monitor, n *naive, classes []string, d time.Duration) {
	all := window(t, m, d)
	now := time.Now()
	require.True(t, all.To.Equal(now))
	require.GreaterOrEqual(t, now.Sub(all.From), d)
	require.Less(t, now.Sub(all.From), d+layout[finest(d)].width)
	require.Equal(t, min(now.Sub(all.From), now.Sub(m.began)), all.Watched)
	var sum counts
	for _, class := range append(classes, "") {
		w := all
		if class != "" {
			var err error
			w, err = m.ClassWindow(class, d)
			require.NoError(t, err)
		}
		want := n.count(class, w.From, now)
		got := counts{w.Offered, w.Recorded, w.Success, w.Decided, w.Good, w.OutputTokens, w.GoodOutputTokens, want.objectives}
		require.Equal(t, want, got, "class %q, %v", class, d)
		sum = want
	}
	burns, err := m.Burns(d)
	require.NoError(t, err)
	for k, o := range sum.objectives {
		require.Equal(t, [2]uint64{o.missed, o.decided}, [2]uint64{burns[k].Bad, burns[k].Total}, "%s, %v", burns[k].Objective, d)
	}
	require.Equal(t, [2]uint64{sum.recorded - sum.success, sum.recorded}, [2]uint64{burns[2].Bad, burns[2].Total})
	checkBooks(t, m)
}

// checkBooks requires that the books close.
func checkBooks(t *testing.T, m *Monitor) {
	for _, c := range m.Counters().Classes {
		var outcomes, first uint64
		for _, n := range c.Outcomes {
			outcomes += n
		}
		for _, o := range c.Objectives {
			first += o.First
			require.LessOrEqual(t, o.Within, o.Decided)
		}
		require.Equal(t, c.Recorded, outcomes)
		require.Equal(t, c.Outcomes[goodput.Success], c.Good+first)
		require.Equal(t, c.Decided, c.Recorded+c.Overdue+c.UnseenOverdue)
		require.Equal(t, c.Offered, c.Recorded+c.InFlight+c.Unseen)
	}
}
