package admission

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// The state of a controller that has no limit, and knows nothing yet, is JSON too.
func TestStateAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Config{SLO: slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms")})
		b, err := json.Marshal(c.State())
		require.NoError(t, err)
		require.JSONEq(t, `{"in_flight":0,"in_flight_tokens":0,"pending_tokens":0,"limit_tokens":null,"waiting":0,"waiting_tokens":0,
			"stalled":false,"offered":0,"admitted":0,"degraded":0,"ended":0,"given_up":0,"refused":{}}`, string(b))

		p, err := c.Admit(t.Context(), Request{InputTokens: 10, MaxOutputTokens: 20})
		require.NoError(t, err)
		time.Sleep(100 * time.Millisecond)
		p.FirstToken()
		for range 10 {
			time.Sleep(20 * time.Millisecond)
			p.Tokens(1)
		}
		var got map[string]any
		b, err = json.Marshal(c.State())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &got))
		require.Equal(t, 30.0, got["in_flight_tokens"])
		require.InDelta(t, 0.02, got["seconds_per_token"], 1e-9)
		p.Done(goodput.Success)

		c.Close()
		_, err = c.Admit(t.Context(), Request{})
		require.ErrorIs(t, err, Closed)
		b, err = json.Marshal(c.State())
		require.NoError(t, err)
		require.Contains(t, string(b), `"refused":{"closed":1}`)
	})
}

// An SLO of which nothing is seen here would let everything in, whatever becomes of it.
func TestAnSLOOfWhichNothingIsSeen(t *testing.T) {
	for _, text := range []string{"lag p95 < 1s", "x_cost p95 < 3", "lag p95 < 1s, x_cost p95 < 3"} {
		s := slo.MustParse(text)
		_, err := New(Config{SLO: s})
		require.ErrorContains(t, err, "admission: Config.SLO: "+text+": none of it is seen here")
		_, err = New(Config{SLO: slo.MustParse("ttft p95 < 2s"), Classes: map[string]Class{"batch": {SLO: s}}})
		require.ErrorContains(t, err, `admission: Config.Classes["batch"].SLO: `+text+": none of it is seen here")
	}
	_, err := New(Config{SLO: slo.MustParse("lag p95 < 1s, e2e p95 < 9s")})
	require.NoError(t, err)
}
