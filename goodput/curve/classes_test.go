package curve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// classes is a run of 1,000 requests of each class named, which take as long as it says.
func classes(e2e map[string]time.Duration) *goodput.Report {
	a := goodput.NewAccumulator(slo.MustParse(p95), goodput.WithClasses(slo.Set{"chat": slo.MustParse("e2e p90 < 1s")}))
	for class, d := range e2e {
		for i := range 1000 {
			a.Observe(&goodput.Record{Class: class, Start: time.Unix(int64(i), 0), End: d, Outcome: goodput.Success})
		}
	}
	return a.Report()
}

// Classes that the set does not name are in a report only where they had requests. A class is held against itself all the same,
// whichever others stand before it.
func TestClassesThatAreNotAtEveryLoad(t *testing.T) {
	const fast, slow = 10 * time.Millisecond, 10 * time.Second
	c, err := New(Rate, []Point{
		{1, classes(map[string]time.Duration{"chat": fast})},
		{2, classes(map[string]time.Duration{"batch": slow, "chat": fast})},
		{4, classes(map[string]time.Duration{"batch": fast, "chat": fast})},
	})
	require.NoError(t, err)
	of := map[string]Crossing{}
	for _, s := range c.Steps {
		if s.Percentile == 95 {
			of[s.Class] = s.Crossing
		}
	}
	require.Len(t, of, 2)
	assert.Equal(t, AtLeast, of["chat"].State)
	assert.Equal(t, 4.0, of["chat"].Lo)
	assert.Equal(t, Below, of["batch"].State)
	assert.Equal(t, 2.0, of["batch"].Hi)
	assert.Equal(t, "batch: "+p95, c.Limit.Objective)

	// Replicates of one load: each class's counts are added to its own.
	c, err = New(Rate, []Point{
		{1, classes(map[string]time.Duration{"batch": slow, "chat": fast})},
		{1, classes(map[string]time.Duration{"chat": fast})},
	})
	require.NoError(t, err)
	for _, s := range c.Steps {
		assert.Equal(t, map[string]State{"batch": Below, "chat": AtLeast}[s.Class], s.State, "%s P%v", s.Class, s.Percentile)
	}
}

// What a class is called stays text, also where the curve says which objective decides.
func TestNamesOfClassesAreNoOrders(t *testing.T) {
	name := "\x1b[2J\u202e|\r\n<script>"
	c, err := New(Rate, []Point{{1, classes(map[string]time.Duration{"chat": 0, name: 0})}, {2, classes(map[string]time.Duration{"chat": 0, name: time.Hour})}})
	require.NoError(t, err)
	require.Equal(t, Crosses, c.Limit.State)
	for _, r := range "\x1b\u202e\r" {
		assert.NotContains(t, c.String(), string(r))
	}
}

// A percentile below the P50 makes no row of its own.
func TestAStepBelowTheMedian(t *testing.T) {
	all := points("e2e p10 < 100ms", 10, 20)
	c, err := New(Rate, all)
	require.NoError(t, err)
	rows := c.StepRows()
	require.Len(t, rows, 2)
	assert.Len(t, rows[1], 5)
}
