package capacity

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

func sweepPlan() loadgen.Plan {
	return loadgen.Plan{SLO: slo.MustParse("e2e p95 < 100ms"), Warmup: 2 * time.Second, Duration: 20 * time.Second}
}

func loadsOf(c *curve.Curve) (all []float64) {
	for _, p := range c.Points {
		all = append(all, p.Load)
	}
	return all
}

func TestSweepOfRates(t *testing.T) {
	if raceEnabled {
		t.Skip("many events")
	}
	p := sweepPlan()
	p.Duration = 3 * time.Minute
	var told []float64
	c, err := Sweep(t.Context(), mm1(100).runner(), p, Rates(40, 60, 80, 120), OnStep(func(p curve.Point) { told = append(told, p.Load) }), WithHeadroom(0.1))
	require.NoError(t, err)
	assert.Equal(t, curve.Rate, c.Axis)
	assert.Equal(t, []float64{40, 60, 80, 120}, told)
	assert.InEpsilon(t, 70, c.Limit.Load, 0.05)
	assert.InEpsilon(t, 0.9*c.Limit.Load, c.Recommended, 1e-9)
	assert.InEpsilon(t, 100, c.Raw.Value, 0.05, "above its capacity the server does what it can")
	assert.Contains(t, c.Falls, "goodput falls")
	assert.Empty(t, c.Stopped)
}

// A closed loop of n on one server: throughput is μ from the first worker on.
func TestSweepOfConcurrencies(t *testing.T) {
	c, err := Sweep(t.Context(), mm1(100).runner(), sweepPlan(), Concurrencies(1, 2, 4, 16), WithStop(Saturated()))
	require.NoError(t, err)
	assert.Equal(t, curve.Concurrency, c.Axis)
	assert.Equal(t, []float64{1, 2}, loadsOf(c))
	assert.Contains(t, c.Stopped, "after 2 of 4 loads, at 2 at once: saturated")
}

// Nobody has to name loads: they double until the system is saturated.
func TestSweepByDefault(t *testing.T) {
	c, err := Sweep(t.Context(), mm1(20).runner(), sweepPlan(), nil)
	require.NoError(t, err)
	got := loadsOf(c)
	assert.Equal(t, []float64{1, 2, 4, 8, 16, 32, 64}[:len(got)], got)
	assert.Contains(t, c.Stopped, "saturated")
	assert.InEpsilon(t, 20, c.Raw.Value, 0.2)
}

// Where all requests fail at once, throughput grows with the load for ever: the client's own limit ends that.
func TestSweepByDefaultEndsWithTheClient(t *testing.T) {
	refusing := func(_ context.Context, p loadgen.Plan) (*loadgen.Result, error) {
		rate := p.Arrivals.(loadgen.Poisson).Rate
		a := goodput.NewAccumulator(p.SLO)
		for i := range 100 {
			a.Observe(&goodput.Record{Start: time.Unix(0, int64(float64(i)/rate*1e9)), Outcome: goodput.Rejected})
		}
		r := a.Report()
		r.Health = &goodput.ClientHealth{Verdict: goodput.Valid}
		if rate > 10 {
			r.Health.Verdict = goodput.Invalid
		}
		return &loadgen.Result{Report: r}, nil
	}
	c, err := Sweep(t.Context(), refusing, sweepPlan(), nil)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 2, 4, 8, 16}, loadsOf(c))
	assert.Contains(t, c.Stopped, "the client was not sound")
}

func TestSweepStops(t *testing.T) {
	c, err := Sweep(t.Context(), mm1(100).runner(), sweepPlan(), Rates(20, 200, 300), WithStop(Errors(0.5), Hopeless(0.5)))
	require.NoError(t, err)
	assert.Equal(t, []float64{20, 200}, loadsOf(c))
	assert.Contains(t, c.Stopped, "out of reach")

	failing := func(context.Context, loadgen.Plan) (*loadgen.Result, error) {
		a := goodput.NewAccumulator(sweepPlan().SLO)
		for i := range 10 {
			a.Observe(&goodput.Record{Start: time.Unix(int64(i), 0), Outcome: []goodput.Outcome{goodput.Success, goodput.ServerError}[i%2]})
		}
		return &loadgen.Result{Report: a.Report()}, nil
	}
	c, err = Sweep(t.Context(), failing, sweepPlan(), Rates(1, 2), WithStop(Errors(0.4)))
	require.NoError(t, err)
	assert.Contains(t, c.Stopped, "50.0% of the requests failed, more than 40%")
	c, err = Sweep(t.Context(), failing, sweepPlan(), Rates(1, 2), WithStop(Errors(0.5)))
	require.NoError(t, err)
	assert.Empty(t, c.Stopped)
}

// Between two steps there is a pause; in a bubble it takes no time.
func TestSweepPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := loadgen.TargetFunc(func(context.Context, *loadgen.Request, *loadgen.Trace) error {
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		p := loadgen.Plan{SLO: slo.MustParse("e2e p95 < 100ms"), Requests: 10}
		began := time.Now()
		_, err := Sweep(t.Context(), loadgen.RunnerOf(target), p, Concurrencies(1, 2, 5), WithPause(time.Hour))
		require.NoError(t, err)
		assert.InDelta(t, 2*time.Hour+170*time.Millisecond, time.Since(began), 1e6)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := Sweep(ctx, loadgen.RunnerOf(target), p, Concurrencies(1, 2), WithPause(time.Hour))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []float64{1}, loadsOf(c), "the step that was over")
	})
}

func TestSweepRefuses(t *testing.T) {
	run := mm1(100).runner()
	for what, loads := range map[string][]Load{
		"one axis": {{Rate: 1}, {Concurrency: 2}}, "give one of them": {{Rate: 1, Concurrency: 1}}, "load 1: none": {{Rate: 1}, {Rate: -1}},
		"load 0: none": {{}}, "load 2: none": Rates(1, 2, math.Inf(1)), "load 0: none:": Rates(math.NaN()),
	} {
		_, err := Sweep(t.Context(), run, sweepPlan(), loads)
		require.ErrorContains(t, err, what)
		var opt *OptionError
		require.ErrorAs(t, err, &opt)
	}
	p := sweepPlan()
	p.Concurrency = 2
	_, err := Sweep(t.Context(), run, p, Rates(1))
	require.ErrorContains(t, err, "Plan.Concurrency")
	_, err = Sweep(t.Context(), run, sweepPlan(), Rates(1), WithStart(3))
	require.ErrorContains(t, err, "WithStart: is for a search alone")
	var opt *OptionError
	require.ErrorAs(t, err, &opt)
	_, err = Sweep(t.Context(), run, sweepPlan(), Rates(1), WithStop(Saturated(), nil))
	require.ErrorContains(t, err, "WithStop: the function is nil")
	broken := errors.New("broken")
	_, err = Sweep(t.Context(), func(context.Context, loadgen.Plan) (*loadgen.Result, error) { return nil, broken }, sweepPlan(), Rates(1))
	require.ErrorIs(t, err, broken)
}
