package loadgen

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// A client that has to share its processor with goroutines that compute says so. Each of them runs for ten milliseconds
// before the scheduler takes it off, however busy the host is, and those of the client come after them.
func TestStarvedOfCPU(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var over atomic.Bool
	var spinning sync.WaitGroup
	for range 4 {
		spinning.Go(func() {
			for !over.Load() {
			}
		})
	}
	res, err := Run(t.Context(), TargetFunc(func(context.Context, *Request, *Trace) error {
		for range 8 {
			runtime.Gosched()
		}
		return nil
	}), Plan{SLO: slo.MustParse("e2e p95 < 20ms"), Arrivals: Constant{Rate: 1000}, Requests: 200})
	over.Store(true)
	spinning.Wait()
	require.NoError(t, err)
	h := res.Report.Health
	assert.Equal(t, goodput.Invalid, h.Verdict)
	assert.Contains(t, strings.Join(h.Reasons, "\n"), "the P99 of the client's own lag")
	assert.Contains(t, strings.Join(h.Reasons, "\n"), "goroutines waited to run")
	assert.True(t, strings.HasPrefix(res.Report.String(), "CLIENT INVALID: these figures show the client, not the server\n"))
	t.Log(strings.Join(h.Reasons, "\n"))
}
