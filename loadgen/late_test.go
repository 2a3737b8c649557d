package loadgen

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// workOff is a client that comes at now, and ends at once what has had its time.
func workOff(b *Book, now time.Time) {
	for c := b.Start(now); c != nil; c = b.Start(now) {
		for c := b.Stop(now); c != nil; c = b.Stop(now) {
			b.End(now, c, &goodput.Record{})
		}
	}
}

// A client that comes when the run was to be over offers what was due all the same: it is unfinished, and not left out.
func TestClientThatComesAfterTheRun(t *testing.T) {
	start := time.Unix(0, 0)
	for name, c := range map[string]struct {
		p    Plan
		want uint64
	}{
		"open loop":   {Plan{Arrivals: Constant{Rate: 100}}, 100},
		"closed loop": {Plan{Concurrency: 7}, 7},
		"wait":        {Plan{Arrivals: Constant{Rate: 100}, MaxInFlight: 3, Overflow: Wait}, 100},
		"cool-down":   {Plan{Arrivals: Constant{Rate: 100}, Cooldown: time.Second}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			c.p.SLO, c.p.Duration, c.p.Drain = e2e, time.Second, 10*ms
			b, err := NewBook(c.p, Description{}, start)
			require.NoError(t, err)
			workOff(b, start.Add(5*time.Second))
			_, running := b.Next()
			assert.False(t, running)
			res, err := b.Result()
			require.NoError(t, err)
			assert.Equal(t, c.want, res.Report.Health.Offered)
			assert.Equal(t, map[goodput.Outcome]uint64{goodput.Unfinished: min(c.want, 100)}, res.Report.Outcomes)
			for _, w := range res.Report.Warnings {
				assert.NotErrorIs(t, w, ErrBehind)
			}
		})
	}
}

// One that cannot do what was due is not waited for for ever, and the report says so.
func TestClientThatNeverCatchesUp(t *testing.T) {
	start := time.Unix(0, 0)
	b, err := NewBook(Plan{SLO: e2e, Arrivals: Constant{Rate: 1e9}, Duration: time.Hour, Drain: 10 * ms}, Description{}, start)
	require.NoError(t, err)
	late := start.Add(2 * time.Hour)
	require.NotNil(t, b.Start(late))
	require.NotNil(t, b.Start(late.Add(grace-1)))
	for c := b.Stop(late); c != nil; c = b.Stop(late) {
		b.End(late, c, &goodput.Record{})
	}
	require.Nil(t, b.Start(late.Add(grace)))
	_, running := b.Next()
	assert.False(t, running)
	res, err := b.Result()
	require.NoError(t, err)
	assert.EqualValues(t, 2, res.Report.Offered)
	assert.ErrorIs(t, res.Report.Warnings[len(res.Report.Warnings)-1], ErrBehind)
}

// A sequence that is a little behind at the end of a run has not failed: it gives what was due.
func TestSequenceThatIsALittleLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res, err := Run(t.Context(), takes(ms), Plan{SLO: e2e, Arrivals: Constant{Rate: 100}, Duration: time.Second, Drain: 10 * ms,
			Workload: func(yield func(*Request) bool) {
				for yield(&Request{}) {
					time.Sleep(11 * ms)
				}
			}})
		require.NoError(t, err)
		assert.EqualValues(t, 100, res.Report.Offered)
		assert.EqualValues(t, 8, res.Report.Outcomes[goodput.Unfinished], "from the 93rd on they came after the cut-off")
		assert.Equal(t, 1100*ms, res.Elapsed, "and nobody waits for longer")
	})
}
