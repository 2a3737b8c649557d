package admission

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// An engine that is broken fails at once, and that says nothing of how much is too much; one that is too busy fails late, or says so.
func TestErrorsThatAreNotOfTheLoad(t *testing.T) {
	for _, x := range []struct {
		outcome goodput.Outcome
		after   time.Duration // the first token is predicted to take 300 ms
		counts  bool
	}{
		{goodput.ServerError, time.Millisecond, false},
		{goodput.ConnectionError, time.Millisecond, false},
		{goodput.ServerError, 200 * time.Millisecond, true},
		{goodput.RateLimited, time.Millisecond, true},
		{goodput.Rejected, time.Millisecond, true},
		{goodput.Timeout, time.Millisecond, true},
		{goodput.Truncated, time.Millisecond, true},
	} {
		s, err := NewScheduler(Config{SLO: slo.MustParse("ttft p95 < 2s, error_rate < 5%, attainment >= 90%")})
		require.NoError(t, err)
		now := time.Unix(0, 0)
		one := func(after time.Duration, o goodput.Outcome, token bool) {
			a := s.Arrive(now, &Ticket{Request: Request{InputTokens: 100, MaxOutputTokens: 50}})
			require.Equal(t, Admitted, a.Status())
			now = now.Add(after)
			if token {
				s.FirstToken(now, a)
			}
			s.Done(now, a, o)
		}
		for range 10 {
			one(300*time.Millisecond, goodput.Success, true)
		}
		for range 50 {
			one(x.after, x.outcome, false)
		}
		require.Equal(t, x.counts, !math.IsInf(s.State(now).Limit, 1), "%v after %v", x.outcome, x.after)
		for range 50 { // with a token it is another matter
			one(time.Millisecond, goodput.ServerError, true)
		}
		require.False(t, math.IsInf(s.State(now).Limit, 1))
	}
}
