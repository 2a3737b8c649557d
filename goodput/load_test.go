package goodput

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// unwrapped is a report's text on one line.
func unwrapped(r *Report) string { return strings.Join(strings.Fields(r.String()), " ") }

func TestTheReportSaysWhatWasAskedFor(t *testing.T) {
	r := observe(NewAccumulator(slo.MustParse("e2e p50 < 5s")), request(0, time.Second))
	r.Health = &ClientHealth{Load: &Load{Plan: "constant 60/s\x1b[2J", MaxInFlight: 16, Wait: PhaseTimes{N: 1180, P50: 2.1, P99: 5.27, Max: 5.3}}}
	assert.Contains(t, unwrapped(r), " Load constant 60/s?[2J; 1,180 requests waited for one of the 16 places in flight: 2.10 s (P50), 5.27 s (P99), 5.30 s at most ")

	b, err := json.Marshal(r)
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, r.Health.Load, back.Health.Load)

	r.Health.Load.Wait = PhaseTimes{}
	assert.NotContains(t, r.String(), "waited")
	b, err = json.Marshal(r.Health)
	require.NoError(t, err)
	assert.NotContains(t, string(b), `"wait"`, "nobody waited: there are no times")
}
