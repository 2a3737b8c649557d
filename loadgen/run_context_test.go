package loadgen_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// TestContextOfARequest: it has the run's values and a deadline of its own, hears of the run's end at once, as do those that
// the target derives from it, and is done once the target has returned.
func TestContextOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		enough := errors.New("enough")
		run, stop := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
		time.AfterFunc(time.Second, func() { stop(enough) })
		begin := time.Now()
		var told, ended, cut atomic.Int32
		res, err := loadgen.Run(run, loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, tr *loadgen.Trace) error {
			assert.Equal(t, "value", ctx.Value(key{}))
			deadline, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, 5*time.Second, time.Until(deadline))
			context.AfterFunc(ctx, func() { told.Add(1) })
			if tr.Index() < 10 {
				return nil
			}
			child, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			context.AfterFunc(child, func() { ended.Add(1) })
			<-child.Done()
			cut.Add(1)
			assert.Equal(t, time.Second, time.Since(begin))
			assert.ErrorIs(t, ctx.Err(), context.Canceled)
			assert.NoError(t, context.WithoutCancel(ctx).Err())
			return child.Err()
		}), loadgen.Plan{SLO: slo.MustParse("e2e p95 < 1s"), Concurrency: 50, Duration: time.Minute, Timeout: 5 * time.Second})
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, time.Second, time.Since(begin), "the run is over at once")
		assert.Equal(t, enough, res.Cut)
		assert.EqualValues(t, 10, res.Report.Outcomes[goodput.Success])
		assert.EqualValues(t, 50, res.Report.Outcomes[goodput.Unfinished])
		assert.EqualValues(t, 60, told.Load())
		assert.EqualValues(t, 50, ended.Load())
		assert.EqualValues(t, 50, cut.Load())
	})
}

// TestContextOfDo is done once Do has returned, though that of Do goes on.
func TestContextOfDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := false
		rec := loadgen.Do(t.Context(), loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, _ *loadgen.Trace) error {
			context.AfterFunc(ctx, func() { told = true })
			return nil
		}), nil)
		synctest.Wait()
		assert.Equal(t, goodput.Success, rec.Outcome)
		assert.True(t, told)
		assert.NoError(t, t.Context().Err())
	})
}
