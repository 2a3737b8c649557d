package admission

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var zero = time.Unix(0, 0).UTC()

// at is an instant, s after the beginning.
func at(s float64) time.Time { return zero.Add(time.Duration(s * 1e9)) }

func TestCapCountsWhatIsNotYetVisible(t *testing.T) {
	var c Cap
	a, b := Load{1000, 200}, Load{300, 50}
	require.True(t, c.Fits(Load{1e12, 1e12}), "no limit")
	c.SetLimit(1500)
	require.True(t, c.Fits(Load{1e6, 0}), "nothing is in flight, so that it starts once")
	c.Start(a)
	require.False(t, c.Fits(b))
	c.SetLimit(1550)
	require.True(t, c.Fits(b), "1200 + 350, inclusive")
	c.Start(b)
	n, tokens := c.Pending()
	require.Equal(t, 2, n)
	require.Equal(t, 1300.0, tokens)
	c.Visible(a)
	n, tokens = c.Pending()
	require.Equal(t, 1, n)
	require.Equal(t, 300.0, tokens)
	c.End(a, true)
	c.End(b, false)
	n, tokens = c.InFlight()
	require.Zero(t, n)
	require.Zero(t, tokens)
	n, tokens = c.Pending()
	require.Zero(t, n)
	require.Zero(t, tokens)
	c.SetLimit(math.Inf(1))
	c.Start(a)
	require.True(t, c.Fits(Load{1e12, 0}))
	require.Panics(t, func() { c.SetLimit(0) })
	require.Panics(t, func() { c.SetLimit(math.NaN()) })
}

func TestFairShareGivesByWeight(t *testing.T) {
	var f FairShare
	_, ok := f.Next()
	require.False(t, ok)
	f.Activate("a", 1)
	f.Activate("b", 3)
	had := map[string]float64{}
	for range 4000 {
		who, _ := f.Next()
		size := float64(100 + len(had))
		had[who] += size
		f.Charge(who, size)
	}
	require.InDelta(t, 3, had["b"]/had["a"], 0.01)
	f.Activate("late", 1)
	for range 3 {
		who, _ := f.Next()
		f.Charge(who, 1000)
		had[who] += 1000
	}
	require.LessOrEqual(t, had["late"], 2000.0, "who was away has saved nothing up")
	f.Charge("nobody", 1)
	f.Deactivate("nobody")
	require.Equal(t, 3, f.Active())
}

// A weight that is next to nothing makes no counter so great that two tenants could not be told from each other any more.
func TestFairShareOfWeightsOutOfTheWorld(t *testing.T) {
	for _, w := range []float64{math.SmallestNonzeroFloat64, 1e-300, 1e-9, 1e9, math.Inf(1)} {
		var f FairShare
		f.Activate("odd", w)
		f.Charge("odd", 1e9)
		f.Deactivate("odd")
		had := map[string]int{}
		f.Activate("a", w)
		f.Activate("b", w)
		for range 1000 {
			who, _ := f.Next()
			f.Charge(who, 1)
			had[who]++
		}
		require.Equal(t, 500, had["a"], "%v", w)
	}
}

// Two that are active all the time are never further apart than two of the greatest requests, whoever else comes and goes.
func TestFairShareStaysWithinTwoRequests(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var f FairShare
	f.Activate("a", 1)
	f.Activate("b", 1)
	const most = 1000.0
	had := map[string]float64{}
	for range 20000 {
		other := "t" + strconv.Itoa(r.IntN(3000))
		if r.IntN(2) == 0 {
			f.Activate(other, 1)
		} else {
			f.Deactivate(other)
		}
		who, ok := f.Next()
		require.True(t, ok)
		size := most * r.Float64()
		f.Charge(who, size)
		had[who] += size
		require.LessOrEqual(t, math.Abs(had["a"]-had["b"]), 2*most)
	}
	require.Positive(t, had["a"])
	require.LessOrEqual(t, len(f.all), 3002)
}

func TestFairShareForgetsWhoSaysNothing(t *testing.T) {
	var f FairShare
	f.Activate("steady", 1)
	for i := range 10000 {
		name := strconv.Itoa(i)
		f.Activate(name, 1)
		f.Charge(name, 1)
		f.Charge("steady", 2)
		f.Deactivate(name)
	}
	require.Less(t, len(f.all), 1200)
}

func TestQueueOrder(t *testing.T) {
	var q Queue
	push := func(name, tenant string, priority int, deadline float64) {
		it := &Item{Priority: priority, Tenant: tenant, Tokens: 100, Data: name}
		if deadline > 0 {
			it.Deadline = at(deadline)
		}
		q.Push(it)
	}
	push("none", "a", 0, 0)
	push("late", "a", 0, 9)
	push("soon", "a", 0, 3)
	push("batch", "a", -1, 1)
	push("other", "b", 0, 8)
	push("vip", "a", 5, 10)
	require.Equal(t, "batch", q.Last().Data, "the last of the lowest priority")
	due, ok := q.Due()
	require.True(t, ok)
	require.Equal(t, at(1), due)
	var order []any
	for it := q.Pop(); it != nil; it = q.Pop() {
		order = append(order, it.Data)
	}
	require.Equal(t, []any{"vip", "soon", "other", "late", "none", "batch"}, order)
	require.Zero(t, q.Len())
	require.Zero(t, q.Tokens())
	require.Nil(t, q.Last())
	require.Panics(t, func() {
		it := &Item{}
		q.Push(it)
		q.Push(it)
	})
}

func TestQueueAhead(t *testing.T) {
	var q Queue
	for range 10 {
		q.Push(&Item{Tenant: "flood", Tokens: 100})
	}
	q.Push(&Item{Tenant: "flood", Tokens: 70, Priority: 1})
	q.Push(&Item{Tenant: "flood", Tokens: 7, Priority: -1})
	require.Equal(t, 1070.0, q.Ahead(0, "flood", 100), "all of its own, and what is more important")
	require.Equal(t, 170.0, q.Ahead(0, "calm", 100), "one turn of the other")
	require.Equal(t, 0.0, q.Ahead(2, "flood", 100))
	require.Equal(t, 1077.0, q.Ahead(-1, "flood", 100))
	require.Equal(t, 1700*time.Millisecond, q.Wait(0, "calm", 100, 100))
	require.Zero(t, q.Wait(0, "calm", 100, 0), "no rate, no prediction")
	require.True(t, Late(at(0), at(2), time.Second, time.Second+1))
	require.False(t, Late(at(0), at(2), time.Second, time.Second), "inclusive")
	require.False(t, Late(at(0), time.Time{}, time.Hour, time.Hour))
}

// The queue against a slice that is searched, by random operations.
func TestQueueAgainstSlice(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var q Queue
	var all []*Item
	for step := range 30000 {
		switch {
		case r.IntN(5) < 2 || len(all) == 0:
			it := &Item{Priority: r.IntN(3), Tenant: string(rune('a' + r.IntN(3))), Tokens: float64(1 + r.IntN(50)), Data: step}
			if r.IntN(8) > 0 {
				it.Deadline = at(float64(r.IntN(1000)))
			}
			q.Push(it)
			all = append(all, it)
		case r.IntN(4) == 0:
			i := r.IntN(len(all))
			require.True(t, q.Remove(all[i]))
			require.False(t, q.Remove(all[i]), "once")
			all = slices.Delete(all, i, i+1)
		case r.IntN(8) == 0:
			now := at(float64(r.IntN(300)))
			var late []*Item
			q.DropLate(now, func(*Item) time.Duration { return time.Second }, func(it *Item) { late = append(late, it) })
			all = slices.DeleteFunc(all, func(it *Item) bool {
				gone := !it.Deadline.IsZero() && now.Add(time.Second).After(it.Deadline)
				require.Equal(t, gone, slices.Contains(late, it))
				return gone
			})
		default:
			it := q.Pop()
			for _, o := range all {
				require.LessOrEqual(t, o.Priority, it.Priority)
				if o != it && o.Priority == it.Priority && o.Tenant == it.Tenant {
					require.False(t, before(o, it))
				}
			}
			all = slices.DeleteFunc(all, func(o *Item) bool { return o == it })
		}
		var tokens float64
		for _, it := range all {
			tokens += it.Tokens
		}
		require.Equal(t, len(all), q.Len())
		require.InDelta(t, tokens, q.Tokens(), 1e-6)
	}
}

func TestPaceIsPerTokenAndForgets(t *testing.T) {
	var p Pace
	_, ok := p.PerToken()
	require.False(t, ok)
	p.Observe(at(1), 30*time.Millisecond, 1)
	p.Observe(at(1), 90*time.Millisecond, 3)
	per, _ := p.PerToken()
	require.Equal(t, 30*time.Millisecond, per, "three tokens in 90 ms are three steps")
	for i := range 100 {
		p.Observe(at(1+0.1*float64(i+1)), 100*time.Millisecond, 1)
	}
	per, _ = p.PerToken()
	require.InDelta(t, 0.1, per.Seconds(), 0.001)
	p.Reset()
	_, ok = p.PerToken()
	require.False(t, ok)
}

func TestRateCountsOnlyWhileSomethingWaits(t *testing.T) {
	var r Rate
	r.Admitted(1e9)
	r.Waiting(at(0), false)
	r.Waiting(at(100), true)
	_, ok := r.PerSecond()
	require.False(t, ok)
	for i := range 3000 {
		r.Admitted(50)
		r.Waiting(at(100+0.1*float64(i+1)), true)
	}
	rate, ok := r.PerSecond()
	require.True(t, ok)
	require.InDelta(t, 500, rate, 5)
	r.Waiting(at(400), false)
	r.Admitted(1e9)
	r.Waiting(at(4000), true)
	same, _ := r.PerSecond()
	require.InDelta(t, rate, same, 1, "idle time is no time")
}

func TestWilson(t *testing.T) {
	// The textbook's: 10 of 100 at 95 % are 5.52 % to 17.44 %.
	lo, hi := wilson(10, 100, 1.959964)
	require.InDelta(t, 0.0552, lo, 5e-5)
	require.InDelta(t, 0.1744, hi, 5e-5)
	// The bounds are where the score test rejects: |p̂ − p| = z·√(p(1−p)/n).
	for _, p := range []float64{lo, hi} {
		require.InDelta(t, math.Abs(0.1-p), 1.959964*math.Sqrt(p*(1-p)/100), 1e-12)
	}
}

func newLimit(t *testing.T, floor, ceiling float64, allowed ...float64) *Limit {
	l, err := NewLimit(floor, ceiling, allowed...)
	require.NoError(t, err)
	return l
}

func TestLimitFollowsTheShareOfViolations(t *testing.T) {
	l := newLimit(t, 100, math.Inf(1), 0.05)
	l.Use(10000)
	for range 1000 {
		require.False(t, l.Observe(at(1), 0, at(1), false, 9000, true))
	}
	require.True(t, math.IsInf(l.Tokens(), 1), "no evidence, no limit")
	require.False(t, l.Observe(at(1), 0, at(1), true, 9000, true))
	require.False(t, l.Observe(at(1), 0, at(1), true, 9000, true), "two are an accident")
	l = newLimit(t, 100, math.Inf(1), 0.05)
	l.Use(10000)
	moved := 0
	for range 3 {
		if l.Observe(at(2), 0, at(1), true, 9000, true) {
			moved++
		}
	}
	require.Equal(t, 1, moved)
	require.Equal(t, 9600.0, l.Tokens(), "96 % of what was used, before it has risen")
	for range 100 {
		require.False(t, l.Observe(at(3), 0, at(1.5), true, 9000, true), "sent before the move")
	}
	l.Use(9500)
	n := 1
	for ; !l.Observe(at(9), 0, at(3), false, 9000, true); n++ {
		require.Less(t, n, 100)
	}
	require.Equal(t, 20, n, "the upper bound of 0 of n at z = 1 is 1/(n+1) < 5 %")
	require.InDelta(t, 9600*1.004, l.Tokens(), 1e-9)
	l.Use(9650)
	for range 3 {
		l.Observe(at(20), 0, at(19), true, 9000, true)
	}
	require.InDelta(t, 9600*1.004*0.985, l.Tokens(), 1e-9, "then 98.5 %")
}

// Far below where it belongs the limit rises faster, and after a fall as slowly as before.
func TestLimitRisesFasterWhereItIsFarOff(t *testing.T) {
	l := newLimit(t, 100, 1e9, 0.05)
	l.limit = 1000
	now := 1.0
	rise := func() float64 {
		was := l.Tokens()
		for now++; l.Tokens() == was; {
			l.Use(was)
			l.Observe(at(now), 0, at(now), false, was, true)
		}
		return l.Tokens()/was - 1
	}
	for n := 1; n <= 30; n++ {
		want := 0.004
		if n > 16 {
			want = min(0.004*math.Pow(2, float64(n-16)/2), 0.016)
		}
		require.InDelta(t, want, rise(), 1e-9, "rise %d", n)
	}
	for range 3 {
		l.Observe(at(now+1), 0, at(now+1), true, l.Tokens(), true)
	}
	now++
	require.InDelta(t, 0.004, rise(), 1e-9)
}

func TestLimitDoesNotGrowUnderUsedOrUnwanted(t *testing.T) {
	for _, c := range []struct {
		used    float64
		waiting bool
	}{{8000, true}, {9400, false}} {
		l := newLimit(t, 100, 10000, 0.05)
		l.Use(c.used)
		for range 2000 {
			require.False(t, l.Observe(at(3), 0, at(1), false, 1, c.waiting))
		}
		require.Equal(t, 10000.0, l.Tokens())
	}
}

func TestLimitHasFloorAndCeiling(t *testing.T) {
	l := newLimit(t, 500, 1000, 0.05, 0.5)
	for i := range 1000 {
		l.Use(l.Tokens())
		l.Observe(at(float64(i)), 0, at(float64(i)), true, l.Tokens(), true)
	}
	require.Equal(t, 500.0, l.Tokens())
	for i := range 10000 {
		l.Use(l.Tokens())
		l.Observe(at(float64(2000+i)), 0, at(float64(2000+i)), false, l.Tokens(), true)
	}
	require.Equal(t, 1000.0, l.Tokens())
	for _, bad := range [][]float64{{0, 1}, {1, 0.5}, {math.Inf(1), math.Inf(1)}, {math.NaN(), 1}, {1, 2, 0}, {1, 2, 1}, {1, 2, math.NaN()}} {
		_, err := NewLimit(bad[0], bad[1], bad[2:]...)
		require.Error(t, err, "%v", bad)
	}
}

// An objective that is missed too often is not outvoted by another one that holds.
func TestLimitKeepsObjectivesApart(t *testing.T) {
	l := newLimit(t, 1, 1000, 0.05, 0.05)
	l.Use(1000)
	for range 10 {
		l.Observe(at(1), 1, at(1), false, 1000, false)
		if l.Observe(at(1), 0, at(1), true, 1000, false) {
			require.Equal(t, 960.0, l.Tokens())
			return
		}
	}
	require.Fail(t, "it has not moved")
}

func TestStall(t *testing.T) {
	s := Stall{After: 10 * time.Second}
	require.False(t, s.Stalled(at(100)), "nothing is in flight")
	s.Start(at(100))
	s.Start(at(105))
	next, ok := s.Next()
	require.True(t, ok)
	require.Equal(t, at(110), next)
	require.False(t, s.Stalled(at(109.9)))
	s.Progress(at(109.9))
	require.False(t, s.Stalled(at(119)))
	require.True(t, s.Stalled(at(119.9)))
	s.End()
	require.True(t, s.Stalled(at(121)), "one that was given up is no progress")
	s.End()
	require.False(t, s.Stalled(at(122)), "a probe may go")
	s.Start(at(122))
	require.True(t, s.Stalled(at(122)), "one")
	s.Progress(at(123))
	require.False(t, s.Stalled(at(124)))
	never := Stall{}
	never.Start(at(0))
	require.False(t, never.Stalled(at(1e9)))
}

func TestLadderStep(t *testing.T) {
	two := Ladder{{MaxOutputTokens: 100}, {MaxOutputTokens: 10}}
	for pressure, want := range map[float64]int{0: 0, 0.49: 0, 0.5: 1, 0.74: 1, 0.75: 2, 1: 2, 7: 2, math.Inf(1): 2} {
		require.Equal(t, want, two.Step(pressure), "%v", pressure)
	}
	require.Zero(t, two.Step(math.NaN()))
	require.Zero(t, Ladder(nil).Step(1))
}

func TestRejectedError(t *testing.T) {
	for _, r := range Reasons() {
		var err error = &RejectedError{r, time.Second}
		require.ErrorIs(t, err, ErrRejected)
		require.ErrorIs(t, err, r)
		require.NotContains(t, err.Error(), "\n")
		for _, other := range Reasons() {
			require.Equal(t, other == r, errors.Is(err, other))
		}
		require.Equal(t, goodput.Rejected, err.(*RejectedError).Outcome())
		require.NotEqual(t, string(r), r.Error(), "words")
	}
}

func TestConfigIsChecked(t *testing.T) {
	s := slo.MustParse("ttft p95 < 2s")
	for field, c := range map[string]Config{
		"SLO":            {},
		"Classes":        {SLO: s, Classes: map[string]Class{"a": {SLO: slo.SLO{Name: "x"}}}},
		"Ladder[0]":      {SLO: s, Classes: map[string]Class{"a": {Ladder: Ladder{{}}}}},
		"Ladder[1]":      {SLO: s, Classes: map[string]Class{"a": {Ladder: Ladder{{LowerPriority: 1}, {LowerPriority: -1}}}}},
		`Classes: a`:     {SLO: s, Classes: map[string]Class{"": {Priority: 1}}},
		`Weights["a"]`:   {SLO: s, Weights: map[string]float64{"a": 0}},
		`Weights["b"]`:   {SLO: s, Weights: map[string]float64{"b": 1e-7}},
		`Weights["c"]`:   {SLO: s, Weights: map[string]float64{"c": math.Inf(1)}},
		`Weights["d"]`:   {SLO: s, Weights: map[string]float64{"d": math.NaN()}},
		"Floor":          {SLO: s, Floor: -1},
		"Ceiling":        {SLO: s, Floor: 10, Ceiling: 5},
		"MaxWaiting":     {SLO: s, MaxWaiting: -1},
		"Config.Classes": {SLO: s, Classes: many(65)},
	} {
		_, err := New(c)
		require.ErrorContains(t, err, field)
	}
	_, err := New(Config{SLO: s, Classes: many(64)})
	require.NoError(t, err)
}

func many(n int) map[string]Class {
	all := map[string]Class{}
	for i := range n {
		all[strconv.Itoa(i)] = Class{}
	}
	return all
}
