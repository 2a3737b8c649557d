package goodput

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

func TestNetworkJSONKeysAreStable(t *testing.T) {
	h := ClientHealth{Verdict: Valid, Offered: 3, Sent: 3, Network: &Network{Opened: 1, Reused: 2,
		Wait:    PhaseTimes{N: 3, P50: 0.001, P99: 0.002, Max: 0.003},
		Connect: PhaseTimes{N: 1, P50: 0.01, P99: 0.01, Max: 0.01},
		Write:   PhaseTimes{N: 3},
	}}
	b, err := json.Marshal(h)
	require.NoError(t, err)
	assert.JSONEq(t, `{"verdict":"valid","offered":3,"sent":3,"lag_p50_s":0,"lag_p99_s":0,"lag_max_s":0,"retried":0,"network":{"opened":1,"reused":2,
		"wait":{"n":3,"p50_s":0.001,"p99_s":0.002,"max_s":0.003},"connect":{"n":1,"p50_s":0.01,"p99_s":0.01,"max_s":0.01},
		"write":{"n":3,"p50_s":0,"p99_s":0,"max_s":0}}}`, string(b))
	var back ClientHealth
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, h, back)
}

func TestNetworkInTheReport(t *testing.T) {
	r := NewAccumulator(slo.MustParse("e2e p95 < 1s")).Report()
	assert.NotContains(t, r.String(), "Network")
	r.Health = &ClientHealth{Verdict: Valid, Offered: 1500, Sent: 1500, Network: &Network{Opened: 300, Reused: 1200,
		Wait: PhaseTimes{N: 1500, P50: 0.000004, P99: 0.0012}, FirstToken: PhaseTimes{N: 900, P50: 0.25, P99: 1}}}
	assert.Contains(t, r.String(), `
Network     1,200 of 1,500 requests on a connection that was there before; P50 / P99: wait 4.00 µs /
            1.20 ms, first token 250 ms / 1.00 s
`)
}
