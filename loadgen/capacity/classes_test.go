package capacity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// A class that nobody named beforehand is in the reports of those probes alone in which it had requests. Shares of the others are
// not mixed with its.
func TestSeriesOfClassesThatAreNotInEachProbe(t *testing.T) {
	probe := func(rate float64, e2e map[string]time.Duration) *Probe {
		a := goodput.NewAccumulator(slo.MustParse("e2e p95 < 1s"), goodput.WithClasses(slo.Set{"chat": slo.MustParse("e2e p90 < 1s")}))
		for class, d := range e2e {
			for i := range 1000 {
				a.Observe(&goodput.Record{Class: class, Start: time.Unix(int64(i), 0), End: d, Outcome: goodput.Success})
			}
		}
		return &Probe{Rate: rate, Report: a.Report()}
	}
	s := &search{probes: []*Probe{
		probe(1, map[string]time.Duration{"chat": 0}),
		probe(2, map[string]time.Duration{"batch": time.Hour, "chat": 0}),
		probe(3, map[string]time.Duration{"chat": 0}),
	}}
	got := map[string][]float64{}
	for _, one := range s.series() {
		for _, o := range one.of {
			got[one.objective.String()] = append(got[one.objective.String()], o.rate, o.bad)
		}
	}
	require.Equal(t, map[string][]float64{"e2e p90 < 1s": {1, 0, 2, 0, 3, 0}, "e2e p95 < 1s": {2, 1}}, got)
}
