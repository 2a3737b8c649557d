package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/race"
	"github.com/goodputkit/goodputkit/slo"
)

func controller(t testing.TB, c Config) *Controller {
	t.Helper()
	if c.SLO.IsZero() {
		c.SLO = slo.MustParse("ttft p95 < 2s")
	}
	made, err := New(c)
	require.NoError(t, err)
	return made
}

// tight is a controller on which one request of one token runs at a time.
func tight(t testing.TB, c Config) *Controller {
	t.Helper()
	c.Floor, c.Ceiling = 2, 2
	return controller(t, c)
}

func TestWaitingAreWokenByThoseThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tight(t, Config{})
		p, err := c.Admit(t.Context(), Request{})
		require.NoError(t, err)
		require.Zero(t, p.Waited())
		got := make(chan *Permit)
		go func() {
			q, err := c.Admit(t.Context(), Request{})
			require.NoError(t, err)
			got <- q
		}()
		synctest.Wait()
		require.Equal(t, 1, c.State().Waiting)
		time.Sleep(time.Second)
		p.Done(goodput.Success)
		q := <-got
		require.Equal(t, time.Second, q.Waited())
		p.Done(goodput.Success)
		require.Equal(t, 1, c.State().InFlight, "the second Done of a permit does nothing")
		q.Done(goodput.Success)
		q.FirstToken()
		q.Tokens(5)
		st := c.State()
		require.Zero(t, st.InFlight)
		require.Equal(t, uint64(2), st.Ended)
	})
}

func TestWaiterIsDroppedAtItsDeadlineByTheClockAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tight(t, Config{})
		p, err := c.Admit(t.Context(), Request{})
		require.NoError(t, err)
		defer p.Done(goodput.Success)
		start := time.Now()
		_, err = c.Admit(t.Context(), Request{})
		require.ErrorIs(t, err, BecameLate)
		require.ErrorIs(t, err, ErrRejected)
		require.Equal(t, 2*time.Second+1, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		start = time.Now()
		_, err = c.Admit(ctx, Request{})
		require.Error(t, err)
		require.WithinDuration(t, start.Add(500*time.Millisecond), time.Now(), 1, "the context's deadline is one of the first token")
	})
}

func TestCancelledContextRemovesAWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tight(t, Config{})
		p, err := c.Admit(t.Context(), Request{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := c.Admit(ctx, Request{})
			done <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		st := c.State()
		require.Zero(t, st.Waiting)
		require.Equal(t, uint64(1), st.Removed)
		_, err = c.Admit(ctx, Request{})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, st.Offered, c.State().Offered)
		p.Done(goodput.Success)
		require.Zero(t, c.State().InFlight)
	})
}

func TestCloseRefusesThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tight(t, Config{})
		p, err := c.Admit(t.Context(), Request{})
		require.NoError(t, err)
		done := make(chan error)
		go func() {
			_, err := c.Admit(t.Context(), Request{})
			done <- err
		}()
		synctest.Wait()
		c.Close()
		require.ErrorIs(t, <-done, Closed)
		_, err = c.Admit(t.Context(), Request{})
		require.ErrorIs(t, err, Closed)
		p.Done(goodput.Success)
	})
}

func TestDoGivesThePermitBackWhateverHappens(t *testing.T) {
	c := controller(t, Config{})
	require.PanicsWithValue(t, "boom", func() {
		_ = c.Do(t.Context(), Request{}, func(*Permit) goodput.Outcome { panic("boom") })
	})
	require.Zero(t, c.State().InFlight)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = c.Do(t.Context(), Request{}, func(*Permit) goodput.Outcome { runtime.Goexit(); return 0 })
	}()
	<-gone
	require.Zero(t, c.State().InFlight)
	require.NoError(t, c.Do(t.Context(), Request{}, func(p *Permit) goodput.Outcome {
		p.Tokens(1)
		require.Equal(t, 1, c.State().InFlight)
		return goodput.Success
	}))
	require.Equal(t, uint64(3), c.State().Ended)
	c.Close()
	require.ErrorIs(t, c.Do(t.Context(), Request{}, nil), Closed)
}

// A service with a cap far below the load, and clients that give up, panic and forget nothing: no permit is lost.
func TestNoPermitIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Config{Ceiling: 20, SLO: slo.MustParse("ttft p95 < 200ms, tpot p95 < 20ms")})
		var wg sync.WaitGroup
		for i := range 2000 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				time.Sleep(time.Duration(r.IntN(int(3 * time.Second))))
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+r.IntN(int(300*time.Millisecond))))
				defer cancel()
				defer func() { _ = recover() }()
				_ = c.Do(ctx, Request{InputTokens: 1 + r.IntN(5), MaxOutputTokens: 1, Tenant: string(rune('a' + i%3))}, func(p *Permit) goodput.Outcome {
					for range r.IntN(4) {
						time.Sleep(time.Duration(r.IntN(int(20 * time.Millisecond))))
						p.Tokens(1)
					}
					if r.IntN(10) == 0 {
						panic("handler")
					}
					if ctx.Err() != nil {
						return goodput.Timeout
					}
					return goodput.Success
				})
			})
		}
		wg.Wait()
		st := c.State()
		require.Zero(t, st.InFlight)
		require.Zero(t, st.Waiting)
		require.Zero(t, st.Tokens)
		require.Equal(t, st.Admitted, st.Ended)
		require.Positive(t, st.Removed+st.Refused[BecameLate]+st.Refused[PredictedLate])
		require.Positive(t, st.Ended)
	})
}

// 100,000 that wait: each is decided, and all of them within what the queue's logarithms cost.
func TestAHundredThousandWaiters(t *testing.T) {
	n := 100_000
	if testing.Short() || race.Enabled {
		n = 10_000
	}
	synctest.Test(t, func(t *testing.T) {
		c := tight(t, Config{StallAfter: -1})
		p, err := c.Admit(t.Context(), Request{})
		require.NoError(t, err)
		var wg sync.WaitGroup
		var mu sync.Mutex
		served, refused := 0, 0
		for i := range n {
			wg.Go(func() {
				q, err := c.Admit(t.Context(), Request{Priority: i % 3, Budget: time.Duration(1+i%1000) * time.Second})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					served++
					q.Done(goodput.Success)
				case errors.Is(err, ErrRejected):
					refused++
				}
			})
		}
		synctest.Wait()
		require.Equal(t, n, c.State().Waiting)
		time.Sleep(500*time.Second + time.Millisecond)
		mu.Lock()
		require.InDelta(t, n/2, refused, float64(n)/500, "those of up to 500 s are late")
		mu.Unlock()
		p.Done(goodput.Success)
		wg.Wait()
		require.Equal(t, n, served+refused)
		require.InDelta(t, n/2, served, float64(n)/500)
	})
}

// What it costs where others wait: a push, a pop, and the wake.
func BenchmarkSchedulerBesideWaiters(b *testing.B) {
	s, err := NewScheduler(Config{SLO: slo.MustParse("ttft p95 < 2s"), Floor: 2, Ceiling: 2})
	require.NoError(b, err)
	now := zero
	running := s.Arrive(now, &Ticket{Request: Request{InputTokens: 1, MaxOutputTokens: 1}})
	for range 100_000 {
		s.Arrive(now, &Ticket{Request: Request{InputTokens: 1, MaxOutputTokens: 1, Budget: 1000 * time.Hour}})
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Arrive(now, &Ticket{Request: Request{InputTokens: 1, MaxOutputTokens: 1, Budget: 1000 * time.Hour}})
		s.Done(now, running, goodput.Success)
		running = s.Decided()[0]
	}
}
