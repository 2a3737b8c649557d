package admission

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// A request whose answer comes in one piece takes its part of the tokens, and nobody waits for its first one.
func TestAWholeAnswerStandsBeforeNobody(t *testing.T) {
	s, err := NewScheduler(Config{SLO: slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms, attainment >= 90%")})
	require.NoError(t, err)
	now := time.Unix(0, 0)
	for range 8 { // the line is learnt from those whose first tokens are seen
		a := s.Arrive(now, &Ticket{Request: Request{InputTokens: 100, MaxOutputTokens: 50}})
		now = now.Add(300 * time.Millisecond)
		s.Tokens(now, a, 1)
		s.Done(now, a, goodput.Success)
	}
	limit, line := s.limit.counts[0], s.line
	whole := s.Arrive(now, &Ticket{Request: Request{InputTokens: 100, MaxOutputTokens: 50, Whole: true}})
	st := s.State(now)
	require.Equal(t, []any{1, 150.0, 0.0}, []any{st.InFlight, st.Tokens, st.PendingTokens})
	now = now.Add(20 * time.Second)
	require.Equal(t, Admitted, s.Arrive(now, &Ticket{Request: Request{InputTokens: 100}}).Status(), "though that has not begun, for all that anybody sees")
	s.Usage(whole, 40)
	s.Done(now, whole, goodput.Success)
	require.Equal(t, limit, s.limit.counts[0], "nobody saw its first token")
	require.Equal(t, line, s.line)
	require.Equal(t, 1, s.State(now).InFlight)

	odd := s.Arrive(now, &Ticket{Request: Request{InputTokens: 100, Whole: true}}) // it comes in pieces nevertheless
	s.FirstToken(now, odd)
	s.Tokens(now, odd, 3)
	s.Tokens(now.Add(time.Hour), odd, 3)
	require.Equal(t, line, s.line)
	require.Zero(t, s.pace)
	require.Equal(t, 100.0, s.State(now).PendingTokens, "of the one before")
	now = now.Add(time.Hour)
	s.Done(now, odd, goodput.ServerError)
	require.Equal(t, limit.n+1, s.limit.counts[0].n, "a failure is one all the same")
	require.Equal(t, limit.missed+1, s.limit.counts[0].missed)
	require.Equal(t, 100.0, s.State(now).PendingTokens)
}

// An answer in JSON is one piece, however it is flushed on its way.
func TestAWholeAnswerOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Config{})
		h := c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			time.Sleep(10 * time.Second)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],`)
			w.(http.Flusher).Flush()
			fmt.Fprint(w, `"usage":{"prompt_tokens":9,"completion_tokens":12}}`)
			w.(http.Flusher).Flush()
		}), MiddlewareConfig{Request: ChatSizes{}.Request})
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(`{"messages":[]}`)))
		require.Zero(t, c.s.line)
		require.Equal(t, []count{{}}, c.s.limit.counts)
		require.Equal(t, 12.0, c.s.def.output.mean)
		require.Zero(t, c.State().InFlight)
	})
}
