package admission

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// TestExtremes: sizes, budgets and priorities of any number that their types hold, many calls in one instant, and leaps of the clock. The
// books close, no figure is out of the world, and nobody waits where nothing is in flight.
func TestExtremes(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 10))
		s := scheduler(t, Config{MaxWaiting: 1 + r.IntN(20), StallAfter: time.Duration(r.IntN(3)-1) * time.Second, Ceiling: []float64{0, 1, 1e4, math.MaxFloat64}[r.IntN(4)],
			Classes: map[string]Class{
				"a": {SLO: slo.MustParse("ttft p90 < 1ns, attainment > 80%"), Ladder: Ladder{{MaxOutputTokens: 1}, {MaxOutputTokens: 1, LowerPriority: math.MaxInt, Budget: math.MaxInt64}}},
				"b": {SLO: slo.MustParse("e2e p90 < 2s, error_rate < 10%"), Priority: math.MaxInt},
			}})
		ints := []int{0, 0, 1, 100, 1000, math.MaxInt, -1, math.MinInt}
		times := []time.Duration{0, 0, 1, time.Second, 100 * 365 * 24 * time.Hour, math.MaxInt64}
		budgets := append(times, -1, -time.Hour, math.MinInt64)
		now := at(0)
		var all, running []*Ticket
		for range 2000 {
			switch r.IntN(20) {
			case 6: // no clock should, and some do
				now = now.Add(-time.Duration(r.IntN(int(time.Second))))
			case 0:
				now = now.Add(time.Duration(r.IntN(int(time.Hour))))
			case 1, 2, 3, 4, 5:
				now = now.Add(time.Duration(r.IntN(int(time.Second))))
			}
			switch k := r.IntN(10); {
			case k < 4:
				x := &Ticket{Request: Request{Class: []string{"a", "b", ""}[r.IntN(3)], Priority: []int{0, 1, -1, math.MaxInt, math.MinInt}[r.IntN(5)],
					InputTokens: ints[r.IntN(8)], MaxOutputTokens: ints[r.IntN(8)], Budget: budgets[r.IntN(9)], Arrival: now.Add(-times[r.IntN(4)]), Whole: r.IntN(4) == 0}}
				if r.IntN(4) == 0 {
					x.latest = now.Add(times[r.IntN(5)])
				}
				s.Arrive(now, x)
				if d, ok := x.Deadline(); ok {
					require.False(t, d.Before(x.Arrival), "a deadline before its arrival")
				}
				require.GreaterOrEqual(t, x.budget, time.Duration(0))
				require.GreaterOrEqual(t, x.Grant.MaxOutputTokens, 0)
				if d, ok := x.Deadline(); !x.latest.IsZero() {
					require.True(t, ok)
					require.False(t, d.After(x.latest) && d.After(x.Arrival.Add(1)), "a deadline after which nobody wants it")
				}
				all = append(all, x)
			case k < 5 && len(all) > 0:
				s.Cancel(now, all[r.IntN(len(all))])
			case k < 8 && len(running) > 0:
				s.Tokens(now, running[r.IntN(len(running))], []int{0, 1, 3, math.MaxInt}[r.IntN(4)])
			case len(running) > 0:
				s.Done(now, running[r.IntN(len(running))], goodput.Outcomes()[r.IntN(len(goodput.Outcomes()))])
			default:
				s.Tick(now)
			}
			s.Decided()
			running = running[:0]
			waiting := 0
			for _, x := range all {
				switch x.Status() {
				case Admitted:
					running = append(running, x)
				case Waiting:
					waiting++
				}
			}
			st := s.State(now)
			require.Equal(t, waiting, st.Waiting)
			require.Equal(t, len(running), st.InFlight)
			require.GreaterOrEqual(t, st.Pace, time.Duration(0))
			require.GreaterOrEqual(t, s.line.Predict(0), time.Duration(0))
			require.False(t, math.IsNaN(s.line.at(1e9)+s.line.dev+s.line.least(1e9)))
			var tokens float64
			for _, x := range running {
				tokens += x.load.Tokens()
			}
			require.InDelta(t, tokens, st.Tokens, 1e-3)
			for _, x := range []float64{st.PendingTokens, st.WaitingTokens} {
				require.GreaterOrEqual(t, x, -1e-3) // rounding
			}
			require.Positive(t, st.Limit)
			require.GreaterOrEqual(t, st.Rate, 0.0)
			if st.InFlight == 0 {
				require.Zero(t, st.Waiting, "nothing is in flight, and somebody waits")
			}
		}
	}
}

// A priority is as high or as low as an int can say, and no higher one is a low one.
func TestPrioritiesDoNotWrap(t *testing.T) {
	s := scheduler(t, Config{Classes: map[string]Class{
		"high": {Priority: math.MaxInt},
		"low":  {Priority: math.MinInt, Ladder: Ladder{{LowerPriority: 5, Budget: time.Hour}}},
	}})
	running, now := full(t, s)
	high := s.Arrive(now, one(Request{Class: "high", Priority: 7, Budget: time.Hour}))
	s.Arrive(now, one(Request{Class: "high", Priority: -7, Budget: time.Hour}))
	low := s.Arrive(now, one(Request{Class: "low", Priority: -7}))
	require.Equal(t, math.MaxInt, high.Grant.Priority)
	require.Equal(t, Grant{MaxOutputTokens: 100, Priority: math.MinInt, Step: 1}, low.Grant)
	require.Equal(t, math.MinInt+7, s.Arrive(now, one(Request{Class: "low", Priority: 7})).Grant.Priority+5, "lowered by 5")
	s.Done(now, running, goodput.Success)
	require.Equal(t, []*Ticket{high}, s.Decided())
	for _, c := range [][3]int{{1, 2, 3}, {math.MaxInt, 1, math.MaxInt}, {math.MinInt, -1, math.MinInt}, {math.MinInt, math.MaxInt, -1}, {-1, math.MinInt, math.MinInt}} {
		require.Equal(t, c[2], plus(c[0], c[1]), "%v", c)
		require.Equal(t, c[2], plus(c[1], c[0]), "%v", c)
	}
}

// A budget below 0 is spent: where nobody waits it is served, else it is late.
func TestABudgetThatIsSpent(t *testing.T) {
	s := scheduler(t, Config{})
	require.Equal(t, Admitted, s.Arrive(at(0), one(Request{Budget: -time.Second})).Status())
	s = scheduler(t, Config{})
	_, now := full(t, s)
	require.Equal(t, TooLong, reason(t, s.Arrive(now, one(Request{Budget: -time.Second, Arrival: now.Add(-time.Millisecond)}))))
	require.Equal(t, Waiting, s.Arrive(now, one(Request{})).Status(), "what the SLO says")
}

// Nobody asks for fewer output tokens than none, and a ladder takes from who names no number.
func TestALadderTakesFromWhoNamesNoNumber(t *testing.T) {
	for _, n := range []int{-1, math.MinInt} {
		s := scheduler(t, Config{Classes: map[string]Class{"chat": {Ladder: Ladder{{MaxOutputTokens: 50}}}}})
		_, now := full(t, s)
		s.Arrive(now, one(Request{}))
		x := s.Arrive(now, one(Request{Class: "chat", MaxOutputTokens: n}))
		require.Equal(t, Grant{MaxOutputTokens: 50, Step: 1}, x.Grant, "%d", n)
	}
}

// However many tokens are reported, the verdict on their pace is that on as many.
func TestTPOTOfManyTokens(t *testing.T) {
	for _, n := range []int{1 << 31, 1 << 40, 1 << 62, math.MaxInt} {
		s := scheduler(t, Config{SLO: slo.MustParse("tpot p95 < 1h")})
		x := s.Arrive(at(0), one(Request{}))
		s.Tokens(at(1), x, 1)
		s.Tokens(at(2), x, 1)
		s.Usage(x, n)
		s.Done(at(3), x, goodput.Success)
		require.Equal(t, []count{{1, 0}}, s.limit.counts, "%d", n)
		require.LessOrEqual(t, s.def.output.mean, float64(mostTokens))
	}
}

// TestATenantForEachRequest: who calls itself otherwise each time, while others wait all the time, costs neither memory nor time.
func TestATenantForEachRequest(t *testing.T) {
	var q Queue
	for i := range 300_000 {
		q.Push(&Item{Tenant: strconv.Itoa(i), Tokens: 1000})
		if q.Len() > 10 {
			q.Pop()
		}
	}
	require.Equal(t, 10, q.Len())
	require.Less(t, len(q.levels[0].fair.all), 2*mostIdle+3000)
}

// TestStepsOfManyTokens: an objective on itl is held against any number of tokens at once.
func TestStepsOfManyTokens(t *testing.T) {
	for _, c := range []struct {
		gap  float64
		n    int
		slow bool
	}{{1, 1, false}, {1.000000001, 1, true}, {2, 2, false}, {2.000000001, 2, true}, {0, 1, false}, {5, math.MaxInt, false}, {5, 1 << 33, false}} {
		s := scheduler(t, Config{SLO: slo.MustParse("itl p95 < 1s")})
		x := s.Arrive(at(0), one(Request{}))
		s.Tokens(at(1), x, 1)
		s.Tokens(at(1).Add(time.Duration(math.Round(c.gap*1e9))), x, c.n)
		require.Equal(t, c.slow, x.slow, "%v", c)
	}
}
