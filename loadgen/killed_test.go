package loadgen

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// disk is a file of which a copy can be had while it is written.
type disk struct {
	mu sync.Mutex
	b  []byte
}

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.b = append(d.b, p...)
	return len(p), nil
}

func (d *disk) read() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return bytes.Clone(d.b)
}

// What is on the disk at any time, as after a kill, is a file of all but the last second.
func TestRecordsOfARunThatIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file disk
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			// The requests end in the first three seconds; then nothing does for a minute.
			_, err := Run(t.Context(), takes(100*ms), Plan{SLO: e2e, Arrivals: Replay{At: append(evenly(30, 100*ms), time.Minute)}, Records: &file})
			assert.NoError(t, err)
		}()
		const off = 50 * ms
		time.Sleep(off)
		for _, c := range []struct {
			at    time.Duration
			least int
		}{{0, 0}, {2 * time.Second, 19}, {2500 * ms, 19}, {5 * time.Second, 30}} {
			time.Sleep(c.at - time.Since(time.Unix(946684800, 0)) + off) // bubbles begin in 2000
			r, err := goodput.ReadReport(bytes.NewReader(file.read()), goodput.AllowIncomplete())
			require.NoError(t, err, c.at)
			assert.GreaterOrEqual(t, int(r.Offered), c.least, c.at)
			assert.ErrorIs(t, r.Warnings[len(r.Warnings)-1], goodput.ErrIncomplete)
		}
		<-ended
		r, err := goodput.ReadReport(bytes.NewReader(file.read()))
		require.NoError(t, err)
		assert.EqualValues(t, 31, r.Offered)
	})
}

func TestRecordsInVirtualTimeBeginWithTheirHeader(t *testing.T) {
	var file disk
	b, err := NewBook(Plan{SLO: e2e, Concurrency: 1, Requests: 1, Records: &file}, Description{}, time.Unix(0, 0))
	require.NoError(t, err)
	defer b.Result()
	_, err = goodput.ReadReport(bytes.NewReader(file.read()), goodput.AllowIncomplete())
	require.NoError(t, err)
}

// evenly are n instants, so far apart.
func evenly(n int, gap time.Duration) (at []time.Duration) {
	for i := range n {
		at = append(at, time.Duration(i)*gap)
	}
	return at
}
