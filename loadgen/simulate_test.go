package loadgen

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/race"
	"github.com/goodputkit/goodputkit/slo"
)

// queue is a queue with one server: requests are served one after the other, for as long as service says.
type queue struct {
	service func(*Request) time.Duration
	calls   []*Call // the first is in service
	end     time.Time
	rec     goodput.Record
}

func (q *queue) Start(now time.Time, c *Call) {
	q.calls = append(q.calls, c)
	if len(q.calls) == 1 {
		q.end = now.Add(q.service(c.Request))
	}
}

func (q *queue) Next() (time.Time, bool) { return q.end, len(q.calls) > 0 }

func (q *queue) Step(now time.Time, end func(*Call, *goodput.Record)) {
	c := q.calls[0]
	q.calls = q.calls[1:]
	if len(q.calls) > 0 {
		q.end = now.Add(q.service(q.calls[0].Request))
	}
	q.rec = goodput.Record{End: now.Sub(c.Start), Outcome: goodput.Success}
	end(c, &q.rec)
}

func (q *queue) Stop(now time.Time, c *Call) *goodput.Record {
	for i, other := range q.calls {
		if other == c {
			q.calls = append(q.calls[:i:i], q.calls[i+1:]...)
			if i == 0 && len(q.calls) > 0 {
				q.end = now.Add(q.service(q.calls[0].Request))
			}
			break
		}
	}
	return &goodput.Record{Outcome: goodput.Cancelled}
}

func exponential(rate float64, seed uint64) func(*Request) time.Duration {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(*Request) time.Duration { return time.Duration(r.ExpFloat64() / rate * 1e9) }
}

// M/M/1, service rate μ, objective P95 ≤ T: the goodput limit is λ* = μ − ln 20 / T. At that rate the P95 of the sojourn
// is T, and 95 % of the requests are good.
func TestMM1(t *testing.T) {
	const mu, T = 100.0, 0.1
	n, within := 300_000, 0.03
	if race.Enabled { // twenty times as slow, and this is one goroutine
		n, within = 20_000, 0.1
	}
	lambda := mu - math.Log(20)/T
	s := slo.MustParse("e2e p95 < 100ms")
	res, err := Simulate(t.Context(), Plan{SLO: s, Arrivals: Poisson{Rate: lambda, Seed: 1}, Requests: n}, Description{}, &queue{service: exponential(mu, 2)})
	require.NoError(t, err)
	r := res.Report
	require.Equal(t, uint64(n), r.Offered)
	require.Equal(t, uint64(n), r.Outcomes[goodput.Success])
	assert.InEpsilon(t, T, r.Percentiles["e2e"].P95, within)
	assert.InDelta(t, 0.95, r.Attainment, within/6)
	assert.InEpsilon(t, lambda, r.ThroughputRPS, within)
	assert.InEpsilon(t, 0.95*lambda, r.GoodputRPS, within)
	// The mean too: 1/(μ − λ).
	assert.InEpsilon(t, 1/(mu-lambda), r.Percentiles["e2e"].Mean, within)
	assert.Equal(t, goodput.Valid, r.Health.Verdict)
	assert.Zero(t, r.Health.LagMax)
}

func BenchmarkSimulate(b *testing.B) {
	b.ReportAllocs()
	_, err := Simulate(b.Context(), Plan{SLO: slo.MustParse("e2e p95 < 100ms"), Arrivals: Poisson{Rate: 70, Seed: 1}, Requests: b.N}, Description{}, &queue{service: exponential(100, 2)})
	require.NoError(b, err)
}
