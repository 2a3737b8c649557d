package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// Plans at the ends of what can be meant, cut off at once, in each of their phases and never: the run ends when it has to,
// the books close, and the file of records says the same.
func TestPlansAtTheirLimits(t *testing.T) {
	n := fewerIfRace(5_000)
	for name, p := range map[string]Plan{
		"a timeout of a nanosecond":       {Concurrency: 3, Requests: 20, Timeout: 1},
		"a duration of a nanosecond":      {Arrivals: Constant{Rate: 1000}, Duration: 1},
		"all of a nanosecond":             {Arrivals: Poisson{Rate: 1e9}, Warmup: 1, Duration: 1, Cooldown: 1, Timeout: 1, Drain: 1},
		"a request":                       {Concurrency: 1, Requests: 1},
		"a request, many workers":         {Concurrency: n, Requests: 1},
		"many workers":                    {Concurrency: n, Requests: n},
		"many at once, one by one":        {Arrivals: Replay{At: make([]time.Duration, n)}, MaxInFlight: 1, Overflow: Wait, Timeout: time.Second},
		"the warm-up is longer than both": {Arrivals: Constant{Rate: 100}, WarmupRequests: 1000, Requests: 1, Timeout: time.Second},
		"nothing ever comes":              {Arrivals: Replay{}},
		"phases":                          {Arrivals: Constant{Rate: 100}, Warmup: time.Second, Duration: time.Second, Cooldown: time.Second, Timeout: 100 * ms, Drain: time.Second},
	} {
		for _, cut := range []time.Duration{1, 500 * ms, 1500 * ms, 2500 * ms, 3050 * ms, time.Hour} {
			t.Run(fmt.Sprint(name, ", cut at ", cut), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					timer := time.AfterFunc(cut, cancel)
					defer timer.Stop()
					var file bytes.Buffer
					p.SLO, p.Records = e2e, &file
					began, lives := time.Now(), 0
					p.Progress = func(Progress) { lives++ }
					res, err := Run(ctx, takes(50*ms), p)
					require.NoError(t, err)
					assert.LessOrEqual(t, time.Since(began), cut)
					assert.Equal(t, int(res.Elapsed/tickEvery)+1, lives, "%v", res.Elapsed)
					checkBooks(t, Plan{Timeout: p.Timeout}, res.Report, readRecords(t, file.Bytes()), name)
					again, err := goodput.ReadReport(bytes.NewReader(file.Bytes()))
					require.NoError(t, err)
					sameReport(t, res.Report, again, "late")
				})
			})
		}
	}
}

// A plan is a value: two runs can carry it out at once, and find the same.
func TestPlanOfTwoRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Plan{SLO: e2e, Arrivals: Poisson{Rate: 100}, Seed: 7, Duration: 5 * time.Second, Warmup: WarmupAuto,
			Workload: slices.Values([]*Request{three(), {}, {Class: "chat"}}), Repeat: true, Progress: func(Progress) {}}
		var files [2]bytes.Buffer
		var runs sync.WaitGroup
		for i := range files {
			runs.Go(func() {
				p := p
				p.Records = &files[i]
				_, err := Run(t.Context(), TargetFunc(echo), p)
				assert.NoError(t, err)
			})
		}
		runs.Wait()
		a, b := readRecords(t, files[0].Bytes()), readRecords(t, files[1].Bytes())
		assert.Greater(t, len(a), 500)
		assert.Equal(t, starts(a), starts(b))
	})
}
