package loadgen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// writerFunc is a writer of records.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A writer of records that fails, however it does, loses the file and nothing else.
func TestRecordsCannotBeWritten(t *testing.T) {
	later := func(f func([]byte) (int, error)) writerFunc { // the first Write is sound
		var file bytes.Buffer
		return func(p []byte) (int, error) {
			if file.Len() == 0 {
				return file.Write(p)
			}
			return f(p)
		}
	}
	for want, f := range map[string]func([]byte) (int, error){
		"disk full":   func([]byte) (int, error) { return 0, errors.New("disk full") },
		"short write": func(p []byte) (int, error) { return len(p) - 1, nil },
		"panic: oh":   func([]byte) (int, error) { panic("oh") },
		"Goexit":      func([]byte) (int, error) { runtime.Goexit(); return 0, nil },
	} {
		for name, w := range map[string]io.Writer{"at once": writerFunc(f), "later": later(f)} {
			t.Run(want+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					res, err := Run(t.Context(), takes(4*ms), Plan{SLO: e2e, Concurrency: 4, Requests: 1500, Records: w})
					require.ErrorIs(t, err, ErrRecordsFile)
					assert.ErrorContains(t, err, want)
					assert.EqualValues(t, 1500, res.Report.Good, "the run is not lost")
				})
			})
		}
	}
}

// wordy is a target whose records are 14 kB long.
func wordy(ctx context.Context, r *Request, tr *Trace) error {
	err := takes(5*ms)(ctx, r, tr)
	for range 1200 {
		tr.Token(1)
	}
	return err
}

// A slow writer of records holds up neither requests nor memory: what would have to wait is left out, and the file says
// so.
func TestRecordsWriterIsSlow(t *testing.T) {
	for _, p := range []Plan{
		{Arrivals: Constant{Rate: 1000}},
		{Concurrency: 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			const n = 1000
			var file bytes.Buffer
			p.SLO, p.Requests, p.Records = e2e, n, writerFunc(func(p []byte) (int, error) {
				time.Sleep(time.Minute)
				return file.Write(p)
			})
			res, err := Run(t.Context(), TargetFunc(wordy), p)
			require.NoError(t, err)
			assert.Zero(t, res.Report.Health.LagMax)
			assert.EqualValues(t, n, res.Report.Good)
			warning(t, res, ErrRecordsFile, "left out")
			assert.Greater(t, file.Len(), mostSpooled)

			_, err = goodput.ReadReport(bytes.NewReader(file.Bytes()))
			require.ErrorIs(t, err, goodput.ErrIncomplete)
			rr, err := goodput.ReadRecords(&file, goodput.AllowIncomplete())
			require.NoError(t, err)
			var there uint64
			for _, err := range rr.All() {
				require.NoError(t, err)
				there++
			}
			f, _ := rr.Footer()
			assert.False(t, f.Complete)
			assert.EqualValues(t, n, there+f.LeftOut)
			assert.NotZero(t, f.LeftOut)
		})
	}
}

// A run whose context is done ends, though its writer of records never comes back.
func TestRecordsWriterIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		res, err := Run(ctx, takes(ms), Plan{SLO: e2e, Arrivals: Constant{Rate: 1000}, Duration: time.Hour,
			Records: writerFunc(func(p []byte) (int, error) { <-release; return len(p), nil })})
		require.ErrorIs(t, err, ErrRecordsFile)
		assert.ErrorContains(t, err, "not come back 5s after")
		assert.Equal(t, time.Second+callerGrace, time.Since(start))
		assert.InDelta(t, 1000, res.Report.Good, 1, "the last may have ended when the run was cut off")
		assert.Equal(t, time.Second, res.Elapsed)
		close(release)
	})
}

// A writer that keeps up gets each record, however many requests end at one instant.
func TestRecordsOfABurst(t *testing.T) {
	n := fewerIfRace(10_000)
	for _, p := range []Plan{{MaxInFlight: 1, Overflow: Drop}, {MaxInFlight: 1, Overflow: Wait}, {}} {
		p.SLO, p.Arrivals, p.Timeout = e2e, Replay{At: make([]time.Duration, n)}, time.Second
		synctest.Test(t, func(t *testing.T) {
			var file bytes.Buffer
			p.Records = &file
			res, err := Run(t.Context(), takes(2*time.Second), p)
			require.NoError(t, err)
			noWarning(t, res, ErrRecordsFile)
			assert.Len(t, readRecords(t, file.Bytes()), n)
		})
	}
}
