package goodput

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// 200 requests at 60/s, served one after the other in 50 ms each: the window goes on for seven seconds after the last has
// arrived, which is why what was offered over it is no 60/s.
func TestArrivalRateIsThatOfTheArrivals(t *testing.T) {
	const n, rate = 200, 60
	s := slo.MustParse("e2e p50 < 5s")
	record := func(i int) *Record {
		start := time.Duration(float64(i) / rate * 1e9)
		return request(start, time.Duration(i+1)*50*ms-start)
	}
	whole, halves := NewAccumulator(s), []*Accumulator{NewAccumulator(s), NewAccumulator(s)}
	for i := range n {
		whole.Observe(record(i))
		halves[i%2].Observe(record(i))
	}
	r := whole.Report()
	assert.InDelta(t, rate, r.ArrivalRPS, 1e-6)
	assert.InDelta(t, 20, r.OfferedRPS, 1e-6)
	assert.Regexp(t, `offered +200 +20\.00\n  arrival rate +60\.00\n`, r.String())

	b, err := halves[1].MarshalBinary()
	require.NoError(t, err)
	var back Accumulator
	require.NoError(t, back.UnmarshalBinary(b))
	require.NoError(t, halves[0].Merge(&back))
	assert.Equal(t, r.ArrivalRPS, halves[0].Report().ArrivalRPS)

	r.Health = &ClientHealth{Load: &Load{Plan: "closed loop of 2", Closed: true}}
	assert.NotContains(t, r.String(), "arrival rate", "in a closed loop they arrive as the system lets them")
}

// In a steady state the two are the same but for what a window's ends cut off a gap.
func TestArrivalRateOfASteadyState(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p50 < 5s"), WithWindow(epoch.Add(10*time.Second), epoch.Add(20*time.Second)))
	for i := range 3000 {
		a.Observe(request(time.Duration(i)*10*ms, time.Second))
	}
	r := a.Report()
	assert.InDelta(t, 100, r.OfferedRPS, 1e-9)
	assert.InDelta(t, 100, r.ArrivalRPS, 1e-9)
	assert.NotContains(t, r.String(), "arrival rate")
}

func TestNoArrivalRate(t *testing.T) {
	for _, records := range [][]*Record{nil, {request(0, time.Second)}, {request(0, time.Second), request(0, 2*time.Second)}} {
		r := observe(NewAccumulator(slo.MustParse("e2e p50 < 5s")), records...)
		assert.True(t, math.IsNaN(r.ArrivalRPS))
		m := jsonOf(t, r)
		assert.Nil(t, m["arrival_rps"])
		delete(m, "arrival_rps") // as a report was written before there was the key
		b, err := json.Marshal(m)
		require.NoError(t, err)
		var back Report
		require.NoError(t, json.Unmarshal(b, &back))
		assert.True(t, math.IsNaN(back.ArrivalRPS))
	}
}
