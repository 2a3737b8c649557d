package percentile

import (
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWindowForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(time.Minute, 6)
		for i := range 120 { // one value a second, for two minutes
			w.Add(float64(i))
			d := w.Snapshot()
			// The slot that now is in, and the five before it.
			oldest := max(0, i/10*10-50)
			require.Equal(t, float64(oldest), d.Min(), "at second %d", i)
			require.Equal(t, float64(i), d.Max())
			require.Equal(t, uint64(i-oldest+1), d.Count())
			time.Sleep(time.Second)
		}
		assert.Zero(t, w.Late())
	})
}

func TestWindowAfterAPause(t *testing.T) {
	for _, pause := range []time.Duration{61 * time.Second, time.Hour, 1000 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := NewWindow(time.Minute, 6)
			for range 1000 {
				w.Add(1)
			}
			time.Sleep(pause)
			d := w.Snapshot()
			assert.Zero(t, d.Count(), "stale after %v", pause)
			assert.True(t, math.IsNaN(d.Quantile(0.5)))
			w.Add(2)
			d = w.Snapshot()
			assert.Equal(t, uint64(1), d.Count())
			assert.Equal(t, 2.0, d.Quantile(0.5))
		})
	}
}

func TestWindowPauseOfPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(time.Minute, 6)
		w.Add(1)
		time.Sleep(25 * time.Second)
		w.Add(2)
		time.Sleep(40 * time.Second) // the first is 65 s old, the second 40 s
		d := w.Snapshot()
		assert.Equal(t, uint64(1), d.Count())
		assert.Equal(t, 2.0, d.Max())
	})
}

func TestWindowTakesTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(10*time.Second, 10)
		t0 := time.Now()
		w.AddAt(t0.Add(-3*time.Second), 1) // before the window was made
		w.AddAt(t0.Add(5*time.Second), 2)
		w.AddNAt(t0.Add(5*time.Second), 3, 10)
		w.AddAt(t0.Add(2*time.Second), 4) // late, but its slot is still there
		assert.Equal(t, uint64(1), w.SnapshotAt(t0).Count(), "what comes later is not in it")
		assert.Equal(t, uint64(13), w.SnapshotAt(t0.Add(5*time.Second)).Count())
		assert.Equal(t, uint64(12), w.SnapshotAt(t0.Add(8*time.Second)).Count())
		w.AddAt(t0.Add(-6*time.Second), 5)
		assert.Equal(t, uint64(13), w.SnapshotAt(t0.Add(5*time.Second)).Count())
		assert.Equal(t, uint64(1), w.Late(), "its slot had left")
		w.AddNAt(t0, 1, 0)
		assert.Equal(t, uint64(13), w.SnapshotAt(t0.Add(5*time.Second)).Count())
	})
}

func TestWindowOfManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(time.Minute, 12)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 300 {
					w.Add(1)
					w.AddN(2, 10)
					time.Sleep(time.Second)
				}
			})
		}
		for range 10 {
			time.Sleep(17 * time.Second)
			synctest.Wait()
			n := w.Snapshot().Count()
			assert.LessOrEqual(t, n, uint64(8*11*60))
		}
		wg.Wait()
		// After 300 s: the last 60 s but for the one just over.
		n := w.SnapshotAt(time.Now().Add(-time.Second)).Count()
		assert.Equal(t, uint64(8*11*60), n)
	})
}

func TestWindowAccuracy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(time.Minute, 12)
		xs := laws[0].values(1, 120_000)
		for i, x := range xs {
			if i%1000 == 0 {
				time.Sleep(time.Second)
			}
			w.Add(x)
		}
		d := w.Snapshot()
		require.Greater(t, d.Count(), uint64(50_000))
		requireWithin(t, sortedCopy(xs[len(xs)-int(d.Count()):]), d, 1.5, boundedQ...)
	})
}

func TestWindowThatCannotBe(t *testing.T) {
	for _, f := range []func(){
		func() { NewWindow(time.Minute, 0) },
		func() { NewWindow(time.Minute, 1001) },
		func() { NewWindow(0, 1) },
		func() { NewWindow(-time.Minute, 6) },
		func() { NewWindow(5, 6) },
	} {
		assert.Panics(t, f)
	}
}
