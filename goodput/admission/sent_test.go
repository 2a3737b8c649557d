package admission

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// A request counts for what it goes on with: ten tokens where its body could be made to say so, else what it asks for.
func TestMiddlewareCountsWhatCouldNotBeTaken(t *testing.T) {
	sized := func(req *http.Request) Request { return Request{InputTokens: 1000, MaxOutputTokens: 100} }
	for name, x := range map[string]struct {
		body, encoding string
		sizes          ChatSizes
		degrade        func(*http.Request, Grant) (string, int)
		want           float64
	}{
		"made less":                     {body: `{"max_tokens":100}`, want: 1010},
		"no limit":                      {body: `{"messages":[]}`, want: 1010},
		"less than was granted":         {body: `{"max_tokens":4,"n":3}`, want: 1009},
		"it asks for less by itself":    {body: `{"max_tokens":7}`, want: 1007},
		"a least number":                {body: `{"max_tokens":100,"min_tokens":40}`, want: 1040},
		"a token of each choice":        {body: `{"max_tokens":5,"n":20}`, want: 1020},
		"too long":                      {body: `{"max_tokens":100}`, sizes: ChatSizes{MaxBody: 10}, want: 1100},
		"no JSON":                       {body: `{"max_tokens":100`, want: 1100},
		"no object":                     {body: `[{"max_tokens":100}]`, want: 1100},
		"an encoding that nobody reads": {body: `{"max_tokens":100}`, encoding: "br", want: 1100},
		"a limit in words":              {body: `{"max_tokens":"100"}`, want: 1100},
		"one's own that does nothing":   {body: "a", degrade: func(*http.Request, Grant) (string, int) { return "", 0 }, want: 1100},
		"one's own that says -1":        {body: "a", degrade: func(*http.Request, Grant) (string, int) { return "", -1 }, want: 1100},
		"one's own that does it":        {body: "a", degrade: func(_ *http.Request, g Grant) (string, int) { return "a=1", g.MaxOutputTokens }, want: 1010},
		"one's own that asks for more":  {body: "a", degrade: func(*http.Request, Grant) (string, int) { return "", 500 }, want: 1500},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := degrader(t)
				if x.degrade == nil {
					x.degrade = x.sizes.Degrade
				}
				client := serve(t, c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					st := c.State()
					require.Equal(t, 1, st.InFlight)
					require.Equal(t, x.want, st.Tokens)
					require.Equal(t, 1000.0, st.PendingTokens)
					require.Equal(t, 10, PermitOf(req.Context()).Grant().MaxOutputTokens, "it is what was granted")
				}), MiddlewareConfig{Request: sized, Degrade: x.degrade}))
				req, err := http.NewRequest("POST", "http://x"+chatPath, strings.NewReader(x.body))
				require.NoError(t, err)
				req.Header.Set("Content-Encoding", x.encoding)
				_, _, err = degraded(t, c, client, req)
				require.NoError(t, err)
				require.Zero(t, c.State().Tokens)
			})
		})
	}
}

// A grant that a handler takes less of lets in at once what there is room for now; one that is not carried out keeps it out.
func TestSentWithAnotherLimit(t *testing.T) {
	now := time.Unix(1e9, 0)
	s, err := NewScheduler(Config{SLO: slo.MustParse("error_rate < 5%"), Ceiling: 1000})
	require.NoError(t, err)
	size := Request{InputTokens: 100, MaxOutputTokens: 400}
	a, b, c := &Ticket{Request: size}, &Ticket{Request: size}, &Ticket{Request: size}
	require.Equal(t, Admitted, s.Arrive(now, a).Status())
	require.Equal(t, Admitted, s.Arrive(now, b).Status())
	require.Equal(t, Waiting, s.Arrive(now, c).Status())
	s.Sent(now, c, 1) // it is not in flight
	require.Equal(t, Waiting, c.Status())
	s.Sent(now, a, 100)
	require.Equal(t, 700.0, s.State(now).Tokens)
	require.Equal(t, Waiting, c.Status())
	s.Sent(now, b, 200)
	require.Equal(t, Admitted, c.Status())
	require.Equal(t, []*Ticket{c}, s.Decided())
	require.Equal(t, 1000.0, s.State(now).Tokens)
	s.FirstToken(now, a)
	s.Sent(now, a, 0) // as it had asked
	s.Sent(now, b, -1)
	s.Sent(now, c, 1<<62)
	require.Equal(t, 500+500+100+mostTokens, s.State(now).Tokens)
	require.Equal(t, 200.0, s.State(now).PendingTokens)
	for _, x := range []*Ticket{c, a, b} {
		s.Done(now, x, goodput.Success)
		s.Sent(now, x, 7) // it is over
	}
	st := s.State(now)
	require.Zero(t, st.InFlight)
	require.Zero(t, st.Tokens)
	require.Zero(t, st.PendingTokens)
}

// Where nobody knew how much a request wants, a limit that it is sent with lowers what is usual, and does not raise it.
func TestSentWithALimitThatNobodyAskedFor(t *testing.T) {
	now := time.Unix(1e9, 0)
	s, err := NewScheduler(Config{SLO: slo.MustParse("error_rate < 5%")})
	require.NoError(t, err)
	first := s.Arrive(now, &Ticket{Request: Request{InputTokens: 100}})
	s.Usage(first, 50)
	s.Done(now, first, goodput.Success)
	x := s.Arrive(now, &Ticket{Request: Request{InputTokens: 100}})
	for _, sent := range []struct {
		most int
		want float64
	}{{20, 120}, {1000, 150}, {50, 150}, {1, 101}, {0, 150}} {
		s.Sent(now, x, sent.most)
		require.Equal(t, sent.want, s.State(now).Tokens)
	}
}

// A tenant whose requests go on with more than was granted is charged for it, and has its turn as seldom as is right.
func TestATenantIsChargedForWhatItsRequestsAreSentWith(t *testing.T) {
	turns := func(sent int) map[string]int {
		now := time.Unix(1e9, 0)
		s, err := NewScheduler(Config{SLO: slo.MustParse("error_rate < 5%"), Ceiling: 1})
		require.NoError(t, err)
		size := Request{InputTokens: 10, MaxOutputTokens: 10}
		running := s.Arrive(now, &Ticket{Request: size})
		for range 200 {
			for _, size.Tenant = range []string{"fair", "greedy"} {
				require.Equal(t, Waiting, s.Arrive(now, &Ticket{Request: size}).Status())
			}
		}
		turn := map[string]int{}
		for range 200 {
			now = now.Add(time.Millisecond)
			s.Done(now, running, goodput.Success)
			decided := s.Decided()
			require.Len(t, decided, 1)
			running = decided[0]
			turn[running.Tenant]++
			if running.Tenant == "greedy" {
				s.Sent(now, running, sent)
			}
		}
		return turn
	}
	require.Equal(t, map[string]int{"fair": 100, "greedy": 100}, turns(10))
	require.InDelta(t, 5.0, float64(turns(90)["fair"])/float64(turns(90)["greedy"]), 0.5) // 100 tokens each, and not 20
}

// It is told from any goroutine.
func TestPermitSent(t *testing.T) {
	c := controller(t, Config{})
	p, err := c.Admit(t.Context(), Request{InputTokens: 5, MaxOutputTokens: 50})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Sent(7)
		_ = p.Grant()
	}()
	_ = p.Grant()
	<-done
	require.Equal(t, 12.0, c.State().Tokens)
	p.Done(goodput.Success)
	p.Sent(70)
	require.Zero(t, c.State().Tokens)
}
