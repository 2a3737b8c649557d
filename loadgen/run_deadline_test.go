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
)

// The last request's deadline and the end of the drain are one instant where Drain is the default, and either may wake
// the target. It is a timeout each time, as in Simulate.
func TestDeadlineAtTheRunsEnd(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			res, err := Run(t.Context(), takes(time.Hour), Plan{SLO: e2e, Arrivals: Constant{Rate: 1000}, Requests: 1, Timeout: time.Second})
			require.NoError(t, err)
			assert.Equal(t, uint64(1), res.Report.Outcomes[goodput.Timeout], res.Report.Outcomes)
		})
	}
}

func TestTraceIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[uint64]time.Duration{}
		begin := time.Now()
		target := TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error {
			mu.Lock()
			defer mu.Unlock()
			seen[tr.Index()] = time.Since(begin)
			return nil
		})
		_, err := Run(t.Context(), target, Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Requests: 3})
		require.NoError(t, err)
		assert.Len(t, seen, 3)
		assert.Equal(t, 100*time.Millisecond, seen[1]-seen[0])
		assert.Equal(t, 200*time.Millisecond, seen[2]-seen[0])
	})
}
