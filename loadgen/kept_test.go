package loadgen

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// pool is a target with connections, which take 50 ms to open and are kept, or not. Its request i takes (i + 1) · 10 ms,
// so that more and more are in flight.
type pool struct {
	kept bool
	mu   sync.Mutex
	idle int
}

func (p *pool) Do(_ context.Context, _ *Request, tr *Trace) error {
	p.mu.Lock()
	reused := p.idle > 0
	if reused {
		p.idle--
	}
	p.mu.Unlock()
	if !reused {
		time.Sleep(50 * ms)
		tr.Phase(PhaseConnect, 50*ms)
	}
	tr.Connection(reused)
	time.Sleep(time.Duration(1+tr.Index()) * 10 * ms)
	if p.kept {
		p.mu.Lock()
		p.idle++
		p.mu.Unlock()
	}
	return nil
}

// A pool that grows with the requests in flight is sound, however many of them open a connection.
func TestConnectionsOfAGrowingPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(p Plan, to *pool) *goodput.ClientHealth {
			p.SLO = slo.MustParse("e2e p95 < 200ms")
			res, err := Run(t.Context(), to, p)
			require.NoError(t, err)
			return res.Report.Health
		}
		open := Plan{Arrivals: Constant{Rate: 100}, Requests: 200}
		h := run(open, &pool{kept: true})
		assert.Greater(t, h.Network.Opened, uint64(80), "of 200")
		assert.Equal(t, goodput.Valid, h.Verdict, h.Reasons)
		closed := Plan{Concurrency: 5, Requests: 50}
		h = run(closed, &pool{kept: true})
		assert.EqualValues(t, 5, h.Network.Opened)
		assert.Equal(t, goodput.Valid, h.Verdict, h.Reasons)

		h = run(closed, &pool{})
		assert.Equal(t, goodput.Suspect, h.Verdict)
		assert.Equal(t, []string{"50 of 50 requests opened a connection, though no more than 5 were in flight at once and 0 failed: " +
			"connections were not kept, and to open one took 50.0 ms, 25 % of the tightest threshold"}, h.Reasons)
		// As many at once as there are requests: nothing could be kept for any of them.
		h = run(Plan{Concurrency: 50, Requests: 50}, &pool{})
		assert.Equal(t, goodput.Valid, h.Verdict, h.Reasons)
	})
}
