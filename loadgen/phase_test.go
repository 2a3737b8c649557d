package loadgen_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// A target of one's own tells where the time went: of a request that is sent once more that of its last attempt.
func TestNetwork(t *testing.T) {
	run := func(t *testing.T, f loadgen.TargetFunc) *goodput.Network {
		res, err := loadgen.Run(t.Context(), f, loadgen.Plan{SLO: slo.MustParse("e2e p95 < 1s"), Concurrency: 1, Requests: 4})
		require.NoError(t, err)
		return res.Report.Health.Network
	}
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		n := run(t, func(_ context.Context, _ *loadgen.Request, tr *loadgen.Trace) error {
			tr.Phase(loadgen.PhaseWait, time.Hour)
			if tr.Index() == 3 {
				tr.Phase(loadgen.PhaseDNS, time.Hour)
				tr.Attempt()
			}
			tr.Connection(tr.Index() > 0)
			tr.Phase(loadgen.PhaseWait, time.Duration(tr.Index())*ms)
			tr.Phase(loadgen.PhaseFirstByte, 10*ms)
			tr.Phase(loadgen.Phase(99), time.Hour)
			time.Sleep(20 * ms)
			if tr.Index() > 0 {
				tr.Token(1)
			}
			return nil
		})
		require.InDelta(t, 0.00297, n.Wait.P99, 1e-12)
		n.Wait.P99 = 0.00297
		assert.Equal(t, &goodput.Network{Opened: 1, Reused: 3,
			Wait:       goodput.PhaseTimes{N: 4, P50: 0.0015, P99: 0.00297, Max: 0.003},
			FirstByte:  goodput.PhaseTimes{N: 4, P50: 0.01, P99: 0.01, Max: 0.01},
			FirstToken: goodput.PhaseTimes{N: 2, P50: 0.0085, P99: 0.00899, Max: 0.009},
		}, n)
	})
	synctest.Test(t, func(t *testing.T) {
		assert.Nil(t, run(t, func(context.Context, *loadgen.Request, *loadgen.Trace) error { return nil }), "nobody said")
	})
}
