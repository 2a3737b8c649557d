package goodput

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClientHealthJSONKeysAreStable(t *testing.T) {
	h := ClientHealth{Verdict: Suspect, Reasons: []string{"sent late"}, Offered: 10, Sent: 8, LagP50: 0.001, LagP99: 0.25,
		LagMax: 0.5, Retried: 2}
	b, err := json.Marshal(h)
	require.NoError(t, err)
	assert.JSONEq(t, `{"verdict":"suspect","reasons":["sent late"],"offered":10,"sent":8,"lag_p50_s":0.001,
		"lag_p99_s":0.25,"lag_max_s":0.5,"retried":2}`, string(b))
	var back ClientHealth
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, h, back)
}

func TestClientHealthHasNoLagWhereNothingWasSent(t *testing.T) {
	for name, h := range map[string]ClientHealth{
		"nothing sent": {Verdict: Invalid, Offered: 10},
		"not measured": {Verdict: Invalid, Offered: 10, Sent: 10, LagP50: math.NaN(), LagP99: math.NaN(), LagMax: math.Inf(1)},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := json.Marshal(h)
			require.NoError(t, err)
			assert.Contains(t, string(b), `"lag_p50_s":null,"lag_p99_s":null,"lag_max_s":null`)
			var back ClientHealth
			require.NoError(t, json.Unmarshal(b, &back))
			assert.True(t, math.IsNaN(back.LagP50) && math.IsNaN(back.LagP99) && math.IsNaN(back.LagMax))
			assert.Equal(t, h.Offered, back.Offered)
		})
	}
}

func TestClientHealthSound(t *testing.T) {
	var nobody *ClientHealth
	assert.True(t, nobody.Sound())
	assert.True(t, (&ClientHealth{}).Sound())
	assert.True(t, (&ClientHealth{Verdict: Valid}).Sound())
	assert.False(t, (&ClientHealth{Verdict: Suspect}).Sound())
	assert.False(t, (&ClientHealth{Verdict: Invalid}).Sound())
	assert.False(t, (&ClientHealth{Verdict: "of a later version"}).Sound())
}

func TestClientHealthDelivered(t *testing.T) {
	assert.Equal(t, 0.8, (&ClientHealth{Offered: 10, Sent: 8}).Delivered())
	assert.True(t, math.IsNaN((&ClientHealth{}).Delivered()))
}
