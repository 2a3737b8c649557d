package loadgen

import (
	"bytes"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// setBack is t as time.Now would give it with the time of day set back by an hour, and 7 ns slower still. Package time has
// no way to make one: the layout is that of time.Time, of whose wall the lowest 30 bits are nanoseconds and those above are
// seconds.
func setBack(t time.Time) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall -= 3600<<30 + 7
	return t
}

// The time of day is set back in the middle of a run: its window and its records stay on one time line, that of its start,
// and its file gives the report again.
func TestTimeOfDayIsSetBack(t *testing.T) {
	start := time.Now()
	if start.Nanosecond() < 8 { // which are to be taken away
		start = start.Add(8)
	}
	require.Equal(t, -time.Hour-7, setBack(start).Round(0).Sub(start.Round(0)))
	require.Zero(t, setBack(start).Sub(start), "the monotonic clock goes on")

	for name, p := range map[string]Plan{
		"by count": {Concurrency: 2, WarmupRequests: 10, Requests: 50, CooldownRequests: 5},
		"found":    {Concurrency: 2, Warmup: WarmupAuto, Requests: 200},
		"by time":  {Concurrency: 2, Warmup: 90 * ms, Duration: time.Second, Cooldown: 100 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			p.SLO, p.Records = e2e, &file
			now := func(at time.Time) time.Time {
				if at.Sub(start) > 50*ms {
					return setBack(at)
				}
				return at
			}
			b, err := NewBook(p, Description{}, start)
			require.NoError(t, err)
			for {
				at, running := b.Next()
				if !running {
					break
				}
				for c := b.Start(now(at)); c != nil; c = b.Start(now(at)) {
					end := c.Start.Add(time.Duration(10+c.Index%7) * ms)
					b.End(now(end), c, &goodput.Record{End: end.Sub(c.Start), Outcome: goodput.Success})
				}
			}
			res, err := b.Result()
			require.NoError(t, err)
			again, err := goodput.ReadReport(bytes.NewReader(file.Bytes()))
			require.NoError(t, err)
			sameReport(t, res.Report, again, name)
			for _, r := range readRecords(t, file.Bytes()) {
				assert.False(t, r.Start.Before(start.Round(0)))
			}
			assert.False(t, res.Report.Window.From.Before(start.Round(0)))
			assert.Positive(t, res.Report.WindowS)
		})
	}
}
