package admission

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

func scheduler(t *testing.T, c Config) *Scheduler {
	t.Helper()
	if c.SLO.IsZero() {
		c.SLO = slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms")
	}
	s, err := NewScheduler(c)
	require.NoError(t, err)
	return s
}

// one is a ticket of a request of 1,000 prompt tokens and 100 output tokens.
func one(r Request) *Ticket {
	if r.InputTokens == 0 {
		r.InputTokens = 1000
	}
	if r.MaxOutputTokens == 0 {
		r.MaxOutputTokens = 100
	}
	return &Ticket{Request: r}
}

// full makes s stand where each second one request of 1,100 tokens can be served: a cap that one fills, a line, and a rate.
func full(t *testing.T, s *Scheduler) (running *Ticket, now time.Time) {
	t.Helper()
	s.cap.SetLimit(1100)
	for i := range 20 {
		s.line.Observe(at(0), 1000+float64(i%2), 150*time.Millisecond)
	}
	s.feedback = true
	for range 40 {
		s.input.observe(1000)
	}
	s.rate.Waiting(at(0), true)
	for i := range 100 {
		s.rate.Admitted(110)
		s.rate.Waiting(at(0.1*float64(i+1)), i < 99)
	}
	running = s.Arrive(at(10), one(Request{}))
	require.Equal(t, Admitted, running.Status())
	return running, at(10)
}

func reason(t *testing.T, x *Ticket) Reason {
	t.Helper()
	require.Equal(t, Refused, x.Status())
	var e *RejectedError
	require.ErrorAs(t, x.Err(), &e)
	require.Positive(t, e.RetryAfter)
	return e.Reason
}

func TestArrivalThatWouldBeLateIsRefused(t *testing.T) {
	s := scheduler(t, Config{})
	running, now := full(t, s)
	first := s.Arrive(now, one(Request{}))
	require.Equal(t, Waiting, first.Status())
	second := s.Arrive(now, one(Request{}))
	require.Equal(t, Waiting, second.Status(), "one is ahead of it, of 1,100 tokens at some 1,100/s")
	third := s.Arrive(now, one(Request{}))
	require.Equal(t, PredictedLate, reason(t, third), "two are ahead of it")
	patient := s.Arrive(now, one(Request{Budget: time.Minute}))
	require.Equal(t, Waiting, patient.Status(), "the caller's own budget")
	impatient := s.Arrive(now, one(Request{Arrival: now.Add(-1500 * time.Millisecond)}))
	require.Equal(t, PredictedLate, reason(t, impatient), "it has come long ago")
	require.Empty(t, s.Decided())

	s.Done(now.Add(time.Second), running, goodput.Success)
	require.Equal(t, []*Ticket{first}, s.Decided())
	require.Equal(t, Admitted, first.Status())
	next, ok := s.Next()
	require.True(t, ok)
	require.WithinDuration(t, now.Add(2*time.Second-150*time.Millisecond), next, 30*time.Millisecond, "the budget less the service")
	s.Tick(next.Add(-time.Nanosecond))
	require.Empty(t, s.Decided())
	s.Tick(next)
	require.Equal(t, []*Ticket{second}, s.Decided())
	require.Equal(t, BecameLate, reason(t, second))
}

// A burst that the SLO allows for stands aside, until nothing else waits; an overload is refused, and what stands aside with it.
func TestLatenessWithinTheBudgetOfErrorsIsServed(t *testing.T) {
	s := scheduler(t, Config{SLO: slo.MustParse("ttft p90 < 2s")})
	running, now := full(t, s)
	for range 50 { // 0.08 each
		s.def.spare.Offered()
	}
	first, second := s.Arrive(now, one(Request{})), s.Arrive(now, one(Request{}))
	require.Equal(t, Waiting, second.Status(), "in time")
	var late []*Ticket
	for range 4 {
		x := s.Arrive(now, one(Request{}))
		require.Equal(t, Waiting, x.Status(), "it would be late, and may be")
		late = append(late, x)
	}
	require.Equal(t, 6, s.State(now).Waiting)
	third := s.Arrive(now.Add(time.Millisecond), one(Request{Budget: 10 * time.Second}))
	for i, next := range []*Ticket{first, second, third, late[0]} {
		now = now.Add(500 * time.Millisecond)
		s.Done(now, running, goodput.Success)
		running = next
		require.Equal(t, []*Ticket{running}, s.Decided(), "%d: what can be in time goes first", i)
		require.Equal(t, Admitted, running.Status())
	}
	s.Cancel(now, late[1])
	require.Equal(t, Removed, late[1].Status())
	for range 10 {
		s.Arrive(now, one(Request{}))
	}
	require.True(t, s.def.spare.Dry())
	s.Tick(now)
	for _, x := range late[2:] {
		require.Equal(t, BecameLate, reason(t, x), "it is an overload")
	}
}

func TestHigherPrioritiesGoFirstAndPushOthersOut(t *testing.T) {
	s := scheduler(t, Config{MaxWaiting: 2, Classes: map[string]Class{"vip": {Priority: 5}}})
	running, now := full(t, s)
	low := s.Arrive(now, one(Request{Budget: time.Hour}))
	lower := s.Arrive(now, one(Request{Budget: time.Hour, Priority: -1}))
	require.Equal(t, QueueFull, reason(t, s.Arrive(now, one(Request{Budget: time.Hour, Priority: -1}))))
	vip := s.Arrive(now, one(Request{Class: "vip"}))
	require.Equal(t, Waiting, vip.Status(), "nothing is ahead of it")
	require.Equal(t, Shed, reason(t, lower))
	require.Equal(t, []*Ticket{lower}, s.Decided())
	s.Done(now, running, goodput.Success)
	require.Equal(t, []*Ticket{vip}, s.Decided())
	s.Done(now, vip, goodput.Success)
	require.Equal(t, []*Ticket{low}, s.Decided())
}

func TestTenantsTakeTurns(t *testing.T) {
	s := scheduler(t, Config{})
	running, now := full(t, s)
	var flood []*Ticket
	for range 50 {
		flood = append(flood, s.Arrive(now, one(Request{Tenant: "flood", Budget: time.Hour})))
	}
	calm := s.Arrive(now, one(Request{Tenant: "calm", Budget: 3 * time.Second}))
	require.Equal(t, Waiting, calm.Status(), "the flood is not ahead of it")
	s.Done(now, running, goodput.Success)
	require.Equal(t, Admitted, flood[0].Status())
	s.Done(now, flood[0], goodput.Success)
	require.Equal(t, Admitted, calm.Status())
}

func TestDegradedBeforeRefused(t *testing.T) {
	s := scheduler(t, Config{Classes: map[string]Class{"chat": {Ladder: Ladder{
		{MaxOutputTokens: 50},
		{MaxOutputTokens: 10, LowerPriority: 3, Budget: time.Minute},
	}}}})
	_, now := full(t, s)
	get := func() *Ticket { return s.Arrive(now, one(Request{Class: "chat"})) }
	whole := get()
	require.Equal(t, Grant{MaxOutputTokens: 100}, whole.Grant)
	half := get()
	require.Equal(t, Grant{MaxOutputTokens: 50, Step: 1}, half.Grant, "1 s of the 1.85 s that it has")
	last := get()
	require.Equal(t, Grant{MaxOutputTokens: 10, Priority: -3, Step: 2}, last.Grant)
	require.Equal(t, Waiting, last.Status(), "it has a minute now")
	require.InDelta(t, 1100+1050+1010, s.State(now).WaitingTokens, 1e-9)
	require.True(t, last.Grant.Degraded())
	require.Equal(t, PredictedLate, reason(t, s.Arrive(now, one(Request{}))), "another class has no ladder")
}

func TestTooLongIsRefusedOnlyWhereOthersWouldWait(t *testing.T) {
	s := scheduler(t, Config{})
	for i := range 20 {
		s.line.Observe(at(0), float64(1000*(1+i%2)), time.Duration(1+i%2)*150*time.Millisecond)
	}
	giant := one(Request{InputTokens: 14000})
	require.Equal(t, Admitted, s.Arrive(at(0), giant).Status(), "nothing else is there")
	require.Equal(t, TooLong, reason(t, s.Arrive(at(0), one(Request{InputTokens: 14000}))))
}

// A request whose own first token takes longer than it may, with nobody before it, goes down its ladder as one does that would have to wait.
func TestDegradedThoughNobodyWaits(t *testing.T) {
	patient := Class{Ladder: Ladder{{MaxOutputTokens: 50}, {MaxOutputTokens: 10, Budget: time.Minute}}}
	hasty := Class{Ladder: Ladder{{MaxOutputTokens: 10}}}
	for name, k := range map[string]struct {
		input  int
		budget time.Duration // 2 s: the SLO's
		class  string
		status Status
		reason Reason
	}{
		"in time":                        {1000, 0, "patient", Waiting, ""},
		"late with what is pending":      {1000, 160 * time.Millisecond, "patient", Waiting, ""},
		"late without one":               {14000, 0, "patient", Waiting, ""},
		"late, and no step gives time":   {1000, 160 * time.Millisecond, "hasty", Refused, PredictedLate},
		"longer than the last step has":  {1_000_000, 0, "patient", Refused, TooLong},
		"too long, and no step has time": {14000, 0, "hasty", Refused, TooLong},
	} {
		t.Run(name, func(t *testing.T) {
			s := scheduler(t, Config{Classes: map[string]Class{"patient": patient, "hasty": hasty}})
			_, now := full(t, s)
			for i := range 400 { // 150 ms a thousand tokens, and 10 ms more or less
				s.line.Observe(now, float64(1000*(1+i%2)), time.Duration(1+i%2)*150*time.Millisecond+time.Duration(i/2%2*20-10)*time.Millisecond)
			}
			x := s.Arrive(now, one(Request{Class: k.class, InputTokens: k.input, Budget: k.budget}))
			require.Equal(t, k.status, x.Status())
			if k.status == Refused {
				require.Equal(t, k.reason, reason(t, x))
				return
			}
			want := Grant{MaxOutputTokens: 100}
			if name != "in time" {
				want = Grant{MaxOutputTokens: 10, Step: 2}
			}
			require.Equal(t, want, x.Grant)
		})
	}
}

func TestStallStopsAdmission(t *testing.T) {
	s := scheduler(t, Config{StallAfter: 5 * time.Second})
	a, b := s.Arrive(at(0), one(Request{})), s.Arrive(at(1), one(Request{}))
	require.Equal(t, Admitted, b.Status())
	require.Equal(t, Stalled, reason(t, s.Arrive(at(6), one(Request{}))))
	require.True(t, s.State(at(6)).Stalled)
	s.Done(at(7), a, goodput.Timeout)
	require.Equal(t, Stalled, reason(t, s.Arrive(at(7), one(Request{}))))
	s.Done(at(8), b, goodput.Timeout)
	probe := s.Arrive(at(9), one(Request{}))
	require.Equal(t, Admitted, probe.Status(), "all of it was given up")
	held := s.Arrive(at(9), one(Request{Budget: time.Hour}))
	require.NotEqual(t, Admitted, held.Status(), "one at a time")
	s.FirstToken(at(10), probe)
	require.False(t, s.State(at(10)).Stalled)
	require.Equal(t, Admitted, s.Arrive(at(10), one(Request{})).Status())
}

func TestPaceGuard(t *testing.T) {
	s := scheduler(t, Config{})
	a := s.Arrive(at(0), one(Request{}))
	for i := range 65 {
		s.Tokens(at(0.2+0.05*float64(i)), a, 1)
	}
	b := s.Arrive(at(3.5), one(Request{}))
	require.Equal(t, Admitted, b.Status(), "50 ms a token of the 100 that may be")
	s.Tokens(at(3.7), b, 1)
	for i := range 30 {
		s.Tokens(at(4+0.12*float64(i)), a, 1)
		s.Tokens(at(4+0.12*float64(i)), b, 1)
	}
	require.InDelta(t, 0.12, s.State(at(8)).Pace.Seconds(), 0.01)
	c := s.Arrive(at(8), one(Request{}))
	require.Equal(t, Waiting, c.Status())
	for i := range 40 {
		s.Tokens(at(8+0.03*float64(i)), a, 1)
		s.Tokens(at(8+0.03*float64(i)), b, 1)
	}
	require.Equal(t, Admitted, c.Status(), "it has recovered")
	require.Contains(t, s.Decided(), c)
}

// The verdicts that the limit gets are those of a Judge.
func TestVerdictsAreThoseOfAJudge(t *testing.T) {
	text := "ttft p95 < 300ms, tpot p95 < 40ms, e2e p95 < 900ms, speed p95 > 20tok/s, itl p95 < 80ms"
	o := slo.MustParse(text)
	judges := make([]*goodput.Judge, len(o.Objectives))
	for i := range o.Objectives {
		judges[i] = goodput.NewJudge(slo.SLO{Objectives: o.Objectives[i : i+1]}, nil)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 3000 {
		s := scheduler(t, Config{SLO: o})
		x := s.Arrive(at(0), one(Request{}))
		rec := goodput.Record{Start: at(0), Outcome: goodput.Success, FirstByte: 1}
		now := time.Duration(r.IntN(600)) * time.Millisecond
		for range 1 + r.IntN(20) {
			now += time.Duration(1+r.IntN(100)) * time.Millisecond
			n := 1 + r.IntN(3)
			s.Tokens(zero.Add(now), x, n)
			rec.Tokens = append(rec.Tokens, goodput.Token{At: now, N: n})
		}
		rec.End = now
		s.Done(zero.Add(now), x, goodput.Success)
		for i, j := range judges {
			c := s.limit.counts[i]
			if _, seen := rec.Value(o.Objectives[i].Metric); !seen && rec.Tokens[0].N > 1 {
				require.Zero(t, c.n, "nobody saw a step of it")
				continue
			}
			require.Equal(t, 1.0, c.n, "one verdict on %s", o.Objectives[i])
			require.Equal(t, j.Good(&rec), c.missed == 0, "%s of %+v", o.Objectives[i], rec)
		}
	}
}

func TestFailuresAreViolationsAndFaultsOfTheClientSayNothing(t *testing.T) {
	for o, want := range map[goodput.Outcome]count{
		goodput.Success: {1, 0}, goodput.Timeout: {1, 1}, goodput.ServerError: {1, 1}, goodput.RateLimited: {1, 1}, goodput.ConnectionError: {1, 1},
		goodput.ClientError: {}, goodput.Cancelled: {}, goodput.Dropped: {}, goodput.Unfinished: {}, goodput.Malformed: {},
	} {
		s := scheduler(t, Config{SLO: slo.MustParse("ttft p95 < 2s")})
		s.Done(at(1), s.Arrive(at(0), one(Request{})), o)
		require.Equal(t, want, s.limit.counts[0], "%v", o)
	}
	s := scheduler(t, Config{SLO: slo.MustParse("ttft p95 < 2s")})
	s.Done(at(3), s.Arrive(at(0), one(Request{})), goodput.Cancelled)
	require.Equal(t, count{1, 1}, s.limit.counts[0], "it was late when it was given up")
}

// An objective on e2e leaves for the first token what the rest does not take; where first tokens are not seen, all of it.
func TestBudgetOfAnObjectiveOnE2E(t *testing.T) {
	s := scheduler(t, Config{SLO: slo.MustParse("e2e p95 < 10s")})
	for range 200 {
		x := s.Arrive(at(0), one(Request{}))
		s.FirstToken(at(1), x)
		s.Done(at(4), x, goodput.Success)
	}
	deadline, ok := s.Arrive(at(0), one(Request{})).Deadline()
	require.True(t, ok)
	require.Equal(t, at(7), deadline.Round(time.Millisecond))
	s = scheduler(t, Config{SLO: slo.MustParse("e2e p95 < 10s")})
	for range 200 {
		s.Done(at(4), s.Arrive(at(0), one(Request{})), goodput.Success)
	}
	deadline, _ = s.Arrive(at(0), one(Request{})).Deadline()
	require.Equal(t, at(6), deadline.Round(time.Millisecond))
	_, ok = scheduler(t, Config{SLO: slo.MustParse("tpot p95 < 100ms")}).Arrive(at(0), one(Request{})).Deadline()
	require.False(t, ok)
}

// Whatever happens, the books close, nothing is decided twice, and what is in flight and waits is what it should be.
func TestBooksClose(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := scheduler(t, Config{MaxWaiting: 30, StallAfter: 3 * time.Second, Ceiling: 20000, Classes: map[string]Class{
			"a": {SLO: slo.MustParse("ttft p90 < 500ms, attainment > 80%"), Ladder: Ladder{{MaxOutputTokens: 10}, {MaxOutputTokens: 10, LowerPriority: 1, Budget: 5 * time.Second}}},
			"b": {SLO: slo.MustParse("e2e p90 < 2s, error_rate < 10%"), Priority: 1},
			"c": {SLO: slo.MustParse("tpot p90 < 30ms, service_ttft p90 < 1s, service_e2e p90 < 9s")},
		}})
		now := at(0)
		var waiting, running []*Ticket
		seen := map[*Ticket]bool{}
		settle := func() {
			for _, x := range s.Decided() {
				require.False(t, seen[x], "decided once")
				seen[x] = true
				for i, w := range waiting {
					if w == x {
						waiting = append(waiting[:i], waiting[i+1:]...)
						break
					}
				}
				if x.Status() == Admitted {
					running = append(running, x)
				}
			}
		}
		for range 5000 {
			now = now.Add(time.Duration(r.IntN(int(100 * time.Millisecond))))
			switch k := r.IntN(10); {
			case k < 3:
				x := one(Request{Class: []string{"a", "b", "c", ""}[r.IntN(4)], Tenant: []string{"", "x", "y"}[r.IntN(3)],
					Priority: r.IntN(3), InputTokens: r.IntN(4000), MaxOutputTokens: r.IntN(300)})
				switch s.Arrive(now, x); x.Status() {
				case Waiting:
					waiting = append(waiting, x)
				case Admitted:
					running = append(running, x)
				}
			case k < 4 && len(waiting) > 0:
				i := r.IntN(len(waiting))
				x := waiting[i]
				waiting = append(waiting[:i], waiting[i+1:]...)
				s.Cancel(now, x)
				s.Cancel(now, x)
				require.Equal(t, Removed, x.Status())
			case k < 7 && len(running) > 0:
				s.Tokens(now, running[r.IntN(len(running))], 1+r.IntN(4))
			case k < 8 && len(running) > 0:
				s.FirstToken(now, running[r.IntN(len(running))])
			case k < 9 && len(running) > 0:
				i := r.IntN(len(running))
				x := running[i]
				running = append(running[:i], running[i+1:]...)
				o := goodput.Outcomes()[r.IntN(len(goodput.Outcomes()))]
				s.Done(now, x, o)
				s.Done(now, x, o)
				s.Tokens(now, x, 1)
				require.Equal(t, Ended, x.Status())
			default:
				s.Tick(now)
			}
			settle()
			st := s.State(now)
			var refused uint64
			for _, n := range st.Refused {
				refused += n
			}
			require.Equal(t, st.Offered, st.Admitted+st.Removed+refused+uint64(st.Waiting))
			require.Equal(t, st.Admitted, st.Ended+uint64(st.InFlight))
			require.Len(t, waiting, st.Waiting)
			require.Len(t, running, st.InFlight)
			var tokens, pending float64
			for _, x := range running {
				tokens += x.load.Tokens()
				if x.first.IsZero() {
					pending += x.load.Input
				}
			}
			require.InDelta(t, tokens, st.Tokens, 1e-6)
			require.InDelta(t, pending, st.PendingTokens, 1e-6)
			n := 0
			for x := s.pending; x != nil; x = x.newer {
				require.True(t, x.first.IsZero())
				n++
			}
			pendingN, _ := s.cap.Pending()
			require.Equal(t, pendingN, n)
		}
		s.Close(now)
		settle()
		require.Empty(t, waiting)
		require.Equal(t, Closed, reason(t, s.Arrive(now, one(Request{}))))
	}
}

// Without any sizes, requests are taken for equal, and the default floor lets some be in flight however bad it gets.
func TestFloorIsAboveOne(t *testing.T) {
	s := scheduler(t, Config{SLO: slo.MustParse("ttft p95 < 1s")})
	now := at(0)
	for range 3000 {
		var batch []*Ticket
		for range 20 {
			if x := s.Arrive(now, &Ticket{Request: Request{Budget: time.Hour}}); x.Status() == Admitted {
				batch = append(batch, x)
			}
		}
		now = now.Add(2 * time.Second)
		for len(batch) > 0 {
			s.Done(now, batch[0], goodput.Success)
			batch = batch[1:]
		}
		for _, x := range s.Decided() {
			if x.Status() == Admitted {
				s.Done(now, x, goodput.Success)
			}
		}
	}
	require.InDelta(t, 8, s.State(now).Limit, 1e-9, "four requests of one prompt and one output token")
}
