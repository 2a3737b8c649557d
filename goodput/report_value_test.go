package goodput

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// A copy of a report prints and marshals as the report itself does.
func TestReportByValue(t *testing.T) {
	r := observe(NewAccumulator(slo.MustParse("ttft p95 < 1s, error_rate < 1%")), request(0, 2*time.Second)) // with warnings, and NaN
	want, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(want), `"warnings"`)
	for name, v := range map[string]any{"a value": *r, "in a map": map[string]Report{"r": *r}["r"], "in a struct": struct{ Report }{*r}} {
		got, err := json.Marshal(v)
		require.NoError(t, err, name)
		assert.JSONEq(t, string(want), string(got), name)
	}
	b, err := json.Marshal(map[string]any{"m": map[string]Report{"r": *r}, "f": struct{ R Report }{*r}})
	require.NoError(t, err)
	assert.JSONEq(t, fmt.Sprintf(`{"m":{"r":%s},"f":{"R":%s}}`, want, want), string(b))
	assert.Equal(t, r.String(), fmt.Sprint(*r))

	var none *Report
	b, err = json.Marshal(none)
	require.NoError(t, err)
	assert.Equal(t, "null", string(b))
	assert.Equal(t, "<nil>", fmt.Sprint(none))
}

func TestWhereNothingSucceeded(t *testing.T) {
	a := NewAccumulator(slo.MustParse("ttft p95 < 1s"))
	for i := range 5 {
		r := request(time.Duration(i)*time.Second, time.Second)
		if r.Outcome, r.Detail = ClientError, "HTTP status 401: no such key"; i == 4 {
			r.Outcome, r.Detail = ConnectionError, "reset"
		}
		a.Observe(r)
	}
	assert.Contains(t, unwrapped(a.Report()),
		"Goodput 0.00 of 1.00 requests/s: no request succeeded, 4 client_error, 1 connection_error; for one, HTTP status 401: no such key Att")
	a.Observe(request(6*time.Second, time.Hour))
	assert.NotContains(t, a.Report().String(), "no request succeeded", "one did, though late")
}

// 19 of 20 have 300 tok/s or more, one 10: what matters for an objective on speed is the slow side.
func TestSpeedThatMostReach(t *testing.T) {
	a := NewAccumulator(slo.MustParse("speed p90 >= 290tok/s, ttft p50 < 1s"))
	for i := range 101 {
		took := time.Duration(1e9 * 100 / float64(100+i)) // 100 to 200 tok/s
		a.Observe(&Record{Start: epoch.Add(time.Duration(i) * time.Second), Outcome: Success,
			Tokens: []Token{{At: ms, N: 1}, {At: ms + took, N: 100}}, End: ms + took})
	}
	r := a.Report()
	assert.InDelta(t, 110, r.Objectives[0].AtLeast, 1e-6, "90 of 101 are above the 11th slowest")
	assert.Contains(t, unwrapped(r), "on the right: 90% at least 110 tok/s; the slowest was 100 tok/s")
	m := jsonOf(t, r)["objectives"].(map[string]any)
	assert.InDelta(t, 110, m["speed p90 >= 290tok/s"].(map[string]any)["at_least"], 1e-6)
	assert.NotContains(t, m["ttft p50 < 1s"], "at_least")
}

func TestTimelineOfFewRequests(t *testing.T) {
	var records []*Record
	for i := range 30 {
		records = append(records, request(time.Duration(i)*time.Second, 700*ms))
	}
	line := observe(NewAccumulator(slo.MustParse("e2e p50 < 5s")), records...).Timeline
	assert.LessOrEqual(t, len(line.Slices), 30)
	assert.Greater(t, len(line.Slices), 15)
	var offered, ended uint64
	for _, s := range line.Slices {
		offered, ended = offered+s.Offered, ended+s.Ended
	}
	assert.Equal(t, [2]uint64{30, 30}, [2]uint64{offered, ended})
	one := observe(NewAccumulator(slo.MustParse("e2e p50 < 5s")), records[0]).Timeline
	assert.LessOrEqual(t, len(one.Slices), 8)
}
