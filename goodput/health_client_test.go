package goodput

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

func TestClientConditionJSONKeysAreStable(t *testing.T) {
	h := ClientHealth{Verdict: Suspect, Reasons: []string{"busy"}, Offered: 9, Sent: 9, LagP50: 1, LagP99: 2, LagMax: 3,
		InFlight: &InFlight{Mean: 7.5, Little: 7.25, Asked: 8, Achieved: 6.5},
		Runtime:  &GoRuntime{Waits: PhaseTimes{N: 800, P50: 1e-6, P99: 0.25, Max: 0.5}, GCPauses: PhaseTimes{N: 3, P50: 1e-4, P99: 2e-4, Max: 2e-4}},
		CPU:      &CPU{Procs: 2, Client: 0.75, ClientMax: 1.5, Busy: 0.25, Quota: &Quota{Periods: 10, Throttled: 2}, Host: &Host{CPUs: 2, Others: 1, Stolen: 0.125, Idle: 0.125, IdleMin: 0.0625, Full: 0.5}},
	}
	b, err := json.Marshal(h)
	require.NoError(t, err)
	assert.JSONEq(t, `{"verdict":"suspect","reasons":["busy"],"offered":9,"sent":9,"lag_p50_s":1,"lag_p99_s":2,"lag_max_s":3,"retried":0,
		"in_flight":{"mean":7.5,"little":7.25,"asked":8,"achieved":6.5},
		"runtime":{"waits":{"n":800,"p50_s":0.000001,"p99_s":0.25,"max_s":0.5},"gc_pauses":{"n":3,"p50_s":0.0001,"p99_s":0.0002,"max_s":0.0002}},
		"cpu":{"procs":2,"client":0.75,"client_max":1.5,"busy":0.25,"quota":{"periods":10,"throttled":2},
			"host":{"cpus":2,"others":1,"stolen":0.125,"idle":0.125,"idle_min":0.0625,"full":0.5}}}`, string(b))
	var back ClientHealth
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, h, back)

	// What is not known is not there.
	h.InFlight, h.Runtime, h.CPU = &InFlight{Mean: 1, Little: 1}, &GoRuntime{}, &CPU{Procs: 1}
	b, err = json.Marshal(h)
	require.NoError(t, err)
	assert.JSONEq(t, `{"verdict":"suspect","reasons":["busy"],"offered":9,"sent":9,"lag_p50_s":1,"lag_p99_s":2,"lag_max_s":3,"retried":0,
		"in_flight":{"mean":1,"little":1},"runtime":{},"cpu":{"procs":1,"client":0,"client_max":0,"busy":0}}`, string(b))
}

// In a closed loop the load that was asked for is a number in flight: the report says how much of it there was.
func TestConcurrencyInTheReport(t *testing.T) {
	r := NewAccumulator(slo.MustParse("e2e p95 < 1s")).Report()
	r.Health = &ClientHealth{Verdict: Valid, Offered: 100, Sent: 100, InFlight: &InFlight{Mean: 70, Little: 70, Asked: 80, Achieved: 78.44}}
	assert.Contains(t, r.String(), "; 78.4 of\n            80 in flight\n")
	r.Health.InFlight.Asked = 0
	assert.NotContains(t, r.String(), "in flight\n")
}
