package goodput

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/goodputkit/goodputkit/slo"
)

// A score of at least 0.8, as its negative.
func TestValueOfWhichMoreIsBetter(t *testing.T) {
	a := NewAccumulator(slo.MustParse("x_score p95 < -0.8"))
	for _, score := range []float64{0.9, 0.8, 0.79, 0} {
		r := request(0, time.Second)
		r.Custom = map[slo.Metric]float64{"x_score": -score}
		a.Observe(r)
	}
	r := a.Report()
	assert.EqualValues(t, 2, r.Good)
	assert.Equal(t, map[string]uint64{"x_score p95 < -0.8": 2}, r.Lost)
	assert.Contains(t, jsonOf(t, r), "worst")
}
