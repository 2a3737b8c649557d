package loadgen

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// Who had the CPUs, over the run and in its worst seconds.
func TestMachine(t *testing.T) {
	var now reading
	pass := func(d, own, others, stolen, idle time.Duration) reading {
		now.at, now.own = now.at.Add(d), now.own+own
		now.host.busy += own + others
		now.host.stolen += stolen
		now.host.idle += idle
		return now
	}
	now = reading{at: time.Unix(0, 0), procs: 8, own: time.Hour, ok: true, host: hostTimes{cpus: 2, busy: time.Hour, idle: time.Hour, stolen: time.Hour}}
	m := newMachine(func() reading { return now })
	const second = time.Second
	m.look(pass(second, 1600*ms, 300*ms, 0, 100*ms))   // neither is full
	m.look(pass(second, 1610*ms, 290*ms, 0, 100*ms))   // the client is
	m.look(pass(2*second, 400*ms, 3420*ms, 0, 180*ms)) // the host is, for two
	m.look(pass(second, 0, 0, 500*ms, 1500*ms))        // nobody is
	m.look(pass(0, 0, 0, 0, 0))                        // no time
	m.look(pass(second, 100*ms, 400*ms, 0, 1500*ms))   // nobody is
	pass(499*ms, 998*ms, 0, 0, 0)                      // too short to be a second
	m.end()
	c := m.cpu()
	took := 6.499
	require.NotNil(t, c.Host)
	assert.Equal(t, 2, c.Procs, "eight threads on two CPUs keep no more busy")
	assert.InDelta(t, (1.6+1.61+0.4+0.1+0.998)/took, c.Client, 1e-12)
	assert.InDelta(t, 1.61, c.ClientMax, 1e-12)
	assert.InDelta(t, 1./6, c.Busy, 1e-12)
	assert.Equal(t, 2, c.Host.CPUs)
	assert.InDelta(t, (0.3+0.29+3.42+0.4)/took, c.Host.Others, 1e-12)
	assert.InDelta(t, 0.5/took, c.Host.Stolen, 1e-12)
	assert.InDelta(t, (0.1+0.1+0.18+1.5+1.5)/took, c.Host.Idle, 1e-12)
	assert.InDelta(t, 0.09, c.Host.IdleMin, 1e-12)
	assert.InDelta(t, 2./6, c.Host.Full, 1e-12)
	assert.InDelta(t, 2, c.Client+c.Host.Others+c.Host.Stolen+c.Host.Idle, 0.01)

	// Half a second is a second.
	pass(ms, 0, 0, 0, 2*ms)
	m.end()
	assert.InDelta(t, 2.5/6.5, m.cpu().Host.Full, 1e-12)
	assert.InDelta(t, 1.996, m.cpu().ClientMax, 1e-12)
}

// What nobody knows is not there, and no zero.
func TestMachineThatIsNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *reading)
		took   time.Duration
		cpu    bool
	}{
		"all is known":          {func(*reading) {}, time.Second, true},
		"for long enough":       {func(*reading) {}, 100 * ms, true},
		"not for long enough":   {func(*reading) {}, 99 * ms, false},
		"nothing is known":      {func(r *reading) { r.ok = false }, time.Second, false},
		"not at the beginning":  {func(r *reading) { r.ok = r.at.Unix() > 0 }, time.Second, false},
		"the host is not known": {func(r *reading) { r.host = hostTimes{} }, time.Second, true},
		"a CPU went away":       {func(r *reading) { r.host.cpus -= int(r.at.Unix()) }, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := reading{at: time.Unix(0, 0), procs: 2, ok: true, host: hostTimes{cpus: 4}}
			read := func() reading {
				r := now
				c.change(&r)
				return r
			}
			m := newMachine(read)
			now.at, now.own, now.host.idle = now.at.Add(c.took), c.took, 3*c.took
			m.end()
			cpu := m.cpu()
			require.Equal(t, c.cpu, cpu != nil)
			if !c.cpu {
				return
			}
			assert.Equal(t, 1.0, cpu.Client)
			if read().host.cpus != 4 {
				assert.Nil(t, cpu.Host)
				return
			}
			assert.Equal(t, &goodput.Host{CPUs: 4, Idle: 3, IdleMin: 3}, cpu.Host)
		})
	}
}

func TestTimesOfHistogram(t *testing.T) {
	h := func(counts ...uint64) metrics.Float64Histogram {
		return metrics.Float64Histogram{Counts: counts, Buckets: []float64{math.Inf(-1), 0, 1, 2, 4, math.Inf(1)}}
	}
	assert.Zero(t, timesOf(h(0, 0, 0, 0, 0)))
	assert.Zero(t, timesOf(metrics.Float64Histogram{}), "this version of Go does not know it")
	assert.Equal(t, goodput.PhaseTimes{N: 1, P50: 2, P99: 2, Max: 2}, timesOf(h(0, 0, 1, 0, 0)))
	assert.Equal(t, goodput.PhaseTimes{N: 100, P50: 1, P99: 1, Max: 2}, timesOf(h(0, 99, 1, 0, 0)))
	assert.Equal(t, goodput.PhaseTimes{N: 100, P50: 1, P99: 2, Max: 2}, timesOf(h(0, 98, 2, 0, 0)))
	assert.Equal(t, goodput.PhaseTimes{N: 100, P50: 1, P99: 4, Max: 4}, timesOf(h(0, 50, 0, 0, 50)), "there is no upper end")
	assert.Equal(t, goodput.PhaseTimes{N: 101, P50: 2, P99: 4, Max: 4}, timesOf(h(0, 50, 49, 2, 0)))
	after, before := h(5, 4, 3, 2, 1), h(1, 1, 1, 1, 1)
	assert.Equal(t, h(4, 3, 2, 1, 0), minus(after, before))
	assert.Equal(t, after, minus(after, metrics.Float64Histogram{}))
}

// In real time the runtime's figures are there, and the system's where it has any. In a bubble they would be of another
// time than the run's.
func TestConditionInRealTime(t *testing.T) {
	p := Plan{SLO: e2e, Concurrency: 1, Requests: 3}
	target := TargetFunc(func(context.Context, *Request, *Trace) error {
		for at := time.Now(); time.Since(at) < shortest/2; {
			runtime.Gosched()
		}
		return nil
	})
	res, err := Run(t.Context(), target, p)
	require.NoError(t, err)
	h := res.Report.Health
	require.NotNil(t, h.Runtime)
	assert.Positive(t, h.Runtime.Waits.N)
	if _, ok := ownTime(); ok {
		require.NotNil(t, h.CPU)
		assert.Positive(t, h.CPU.Client)
		assert.Positive(t, h.CPU.Procs)
	}
	assert.Positive(t, h.InFlight.Mean)
	assert.Positive(t, h.InFlight.Little)

	synctest.Test(t, func(t *testing.T) {
		assert.False(t, inRealTime())
		res, err := Run(t.Context(), takes(time.Second), p)
		require.NoError(t, err)
		h := res.Report.Health
		assert.Nil(t, h.Runtime)
		assert.Nil(t, h.CPU)
		assert.Equal(t, &goodput.InFlight{Mean: 1, Little: 1, Asked: 1, Achieved: 1}, h.InFlight)
	})
	assert.True(t, inRealTime())
}
