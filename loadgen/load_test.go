package loadgen

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/goodputkit/goodputkit/goodput"
)

// Two servers of 50 ms do 40 of the 100/s that are due, with two places in flight: the i-th of 100 waits for 30 ms more for
// each pair before it.
func TestWaitForAPlaceIsSaid(t *testing.T) {
	res, _ := run(t, takes(50*ms), Plan{SLO: e2e, Arrivals: Constant{Rate: 100}, Requests: 100, MaxInFlight: 2, Overflow: Wait})
	l := res.Report.Health.Load
	assert.Equal(t, "constant 100/s, at most 2 in flight, else wait", l.Plan)
	assert.False(t, l.Closed)
	assert.Equal(t, 2, l.MaxInFlight)
	assert.EqualValues(t, 98, l.Wait.N)
	assert.InDelta(t, 49*0.030, l.Wait.Max, 1e-9)
	assert.InDelta(t, res.Report.Percentiles["lag"].Max, l.Wait.Max, 1e-9, "there is no other lag")
	assert.InDelta(t, 100, res.Report.ArrivalRPS, 1e-6)
	assert.InDelta(t, 100/2.5, res.Report.OfferedRPS, 1, "the window goes on until the last is served")

	// One that waits to its deadline has waited, too.
	res, _ = run(t, takes(time.Second), Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Requests: 2, MaxInFlight: 1, Overflow: Wait, Timeout: 500 * ms})
	assert.Equal(t, goodput.PhaseTimes{N: 1, P50: 0.4, P99: 0.4, Max: 0.4}, res.Report.Health.Load.Wait)

	res, _ = run(t, takes(50*ms), Plan{SLO: e2e, Concurrency: 3, ThinkTime: time.Second, Requests: 9})
	assert.Equal(t, &goodput.Load{Plan: "closed loop of 3, think time 1s", Closed: true}, res.Report.Health.Load)
	assert.NotContains(t, res.Report.String(), "arrival rate")
}
