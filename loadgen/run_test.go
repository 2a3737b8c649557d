package loadgen

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

var e2e = slo.MustParse("e2e p95 < 100ms")

// takes is a target that takes d.
func takes(d time.Duration) TargetFunc {
	return func(ctx context.Context, _ *Request, _ *Trace) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestRunSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res, err := Run(t.Context(), takes(50*time.Millisecond), Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Duration: 10 * time.Second})
		require.NoError(t, err)
		assert.Equal(t, uint64(100), res.Report.Good)
		assert.Equal(t, 10.0, res.Report.GoodputRPS)
	})
	synctest.Test(t, func(t *testing.T) {
		res, err := Run(t.Context(), takes(50*time.Millisecond), Plan{SLO: e2e, Concurrency: 4, Requests: 100})
		require.NoError(t, err)
		assert.Equal(t, uint64(100), res.Report.Good)
		assert.InDelta(t, 80.0, res.Report.GoodputRPS, 1e-9)
	})
}
