package capacity

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// made is a Runner without a simulation: what it finds at a rate is what it is told. It looks at nothing while it runs.
func made(bad func(rate float64) float64, health func(rate float64) goodput.HealthVerdict) loadgen.Runner {
	return func(ctx context.Context, p loadgen.Plan) (*loadgen.Result, error) {
		if err := p.Validate(); err != nil {
			return nil, err
		}
		n, rate := 0, 0.0
		for at := range p.Arrivals.Times() {
			if n++; n == 2000 {
				rate = float64(n-1) / at.Seconds()
				break
			}
		}
		a := goodput.NewAccumulator(p.SLO)
		every := bad(rate)
		owed := 0.0
		for i := range n {
			r := goodput.Record{Start: time.Unix(0, 0).Add(time.Duration(float64(i) / rate * 1e9)), End: 10 * time.Millisecond, Outcome: goodput.Success}
			if owed += every; owed >= 1 {
				owed--
				r.End = time.Second
			}
			a.Observe(&r)
		}
		r := a.Report()
		if health != nil {
			r.Health = &goodput.ClientHealth{Verdict: health(rate), Reasons: []string{"too busy"}}
		}
		return &loadgen.Result{Report: r}, ctx.Err()
	}
}

func constant(rate float64, _ uint64) loadgen.Arrivals { return loadgen.Constant{Rate: rate} }

func madePlan() loadgen.Plan {
	return loadgen.Plan{SLO: slo.MustParse("e2e p90 < 100ms"), Warmup: time.Second, Duration: time.Minute}
}

func step(at float64) func(float64) float64 {
	return func(rate float64) float64 {
		if rate > at {
			return 1
		}
		return 0
	}
}

// Where all is good up to a rate and nothing beyond, there is no curve to fit: the bracket is bisected.
func TestSearchOfAStep(t *testing.T) {
	l, err := Search(t.Context(), made(step(77), nil), madePlan(), WithArrivals(constant))
	require.NoError(t, err)
	assert.Equal(t, Found, l.State)
	assert.InEpsilon(t, 77, l.Rate, 0.03)
	assert.LessOrEqual(t, l.Lo, 77.0)
	assert.GreaterOrEqual(t, l.Hi, 77.0)
	assert.LessOrEqual(t, (l.Hi-l.Lo)/2, DefaultPrecision*l.Rate*1.01)
	assert.Equal(t, [2]float64{l.Lo, l.Hi}, l.Bracket)
	assert.Equal(t, 1.0, l.Probes[0].Rate)
	assert.Empty(t, l.Objective)
	assert.Empty(t, l.Warnings)
	assert.Equal(t, 1, l.Probes[0].Looks, "a Runner that never says how it stands")
}

func TestSearchBelowItsStart(t *testing.T) {
	l, err := Search(t.Context(), made(step(3), nil), madePlan(), WithArrivals(constant), WithStart(40))
	require.NoError(t, err)
	assert.Equal(t, Found, l.State)
	assert.InEpsilon(t, 3, l.Rate, 0.03)
}

func TestSearchThatIsNeverMet(t *testing.T) {
	l, err := Search(t.Context(), made(func(float64) float64 { return 1 }, nil), madePlan(), WithArrivals(constant), WithRange(0.25, 100))
	require.NoError(t, err)
	assert.Equal(t, NeverMet, l.State)
	assert.True(t, math.IsNaN(l.Rate) && math.IsNaN(l.Recommended))
	assert.Equal(t, 0.25, l.Hi)
	assert.Len(t, l.Probes, 3)
	assert.Contains(t, l.String(), "none: the SLO is missed at 0.250 requests/s")
}

func TestSearchThatIsNeverMissed(t *testing.T) {
	l, err := Search(t.Context(), made(func(float64) float64 { return 0 }, nil), madePlan(), WithArrivals(constant), WithRange(0.5, 20))
	require.NoError(t, err)
	assert.Equal(t, AtLeast, l.State)
	assert.True(t, math.IsNaN(l.Rate) && math.IsNaN(l.Recommended))
	assert.Equal(t, 20.0, l.Lo)
	assert.True(t, math.IsInf(l.Hi, 1))
	assert.InEpsilon(t, 20, l.Raw.Value, 0.01)
	assert.Contains(t, l.String(), "at least 20 requests/s")
	assert.Contains(t, l.String(), "Raw limit      at least ")
}

// A client that cannot keep up shows its own limit. The search goes as near to it as it wants to know the limit.
func TestSearchWithABusyClient(t *testing.T) {
	health := func(rate float64) goodput.HealthVerdict {
		if rate > 50 {
			return goodput.Invalid
		}
		return goodput.Valid
	}
	l, err := Search(t.Context(), made(step(40), health), madePlan(), WithArrivals(constant))
	require.NoError(t, err)
	assert.Equal(t, Found, l.State, "the server's is below the client's")
	assert.InEpsilon(t, 40, l.Rate, 0.03)

	l, err = Search(t.Context(), made(step(60), health), madePlan(), WithArrivals(constant))
	require.NoError(t, err)
	assert.Equal(t, AtLeast, l.State)
	assert.InEpsilon(t, 50, l.Lo, 0.07)
	assert.LessOrEqual(t, l.Lo, 50.0)
	assert.Contains(t, l.String(), "above it there is no verdict at ")
	assert.Contains(t, strings.Join(strings.Fields(l.String()), " "), "64/s (the client was not sound)")
	assert.NotContains(t, l.String(), "missed at no rate")
	require.Len(t, l.Warnings, 1)
	require.ErrorIs(t, l.Warnings[0], ErrClient)
	assert.Contains(t, l.Warnings[0].Error(), "too busy")
	assert.InEpsilon(t, l.Lo, l.Raw.Value, 0.01, "what the client made of more is not counted")
}

// A client that is sound nowhere is asked for no rate below the lowest one, and the text blames no probe.
func TestSearchWithAClientThatIsNeverSound(t *testing.T) {
	never := func(float64) goodput.HealthVerdict { return goodput.Invalid }
	l, err := Search(t.Context(), made(step(77), never), madePlan(), WithArrivals(constant), WithRange(0.25, 20))
	require.NoError(t, err)
	assert.Equal(t, Unknown, l.State)
	var rates []float64
	for _, p := range l.Probes {
		rates = append(rates, p.Rate)
	}
	assert.Equal(t, []float64{1, 0.5, 0.25}, rates)
	assert.Contains(t, l.String(), "not found: the client was sound at no rate that was tried, after 3 probes")
}

// A Runner that gives nothing is an error of a search and of a sweep, and no panic.
func TestRunnerThatGivesNothing(t *testing.T) {
	for _, res := range []*loadgen.Result{nil, {}} {
		none := func(context.Context, loadgen.Plan) (*loadgen.Result, error) { return res, nil }
		l, err := Search(t.Context(), none, madePlan())
		require.ErrorContains(t, err, "the Runner gave neither a report nor an error")
		assert.Contains(t, l.String(), "not found: no probe came to its end\n")
		_, err = Sweep(t.Context(), none, madePlan(), Rates(1))
		require.ErrorContains(t, err, "the Runner gave neither a report nor an error")
	}
}

// A system that is slow at some low rate, and better beyond: the limit is sought where it is first missed.
func TestSearchOfWhatIsNotMonotone(t *testing.T) {
	bad := func(rate float64) float64 {
		if rate > 20 && rate < 24 || rate > 100 {
			return 1
		}
		return 0
	}
	l, err := Search(t.Context(), made(bad, nil), madePlan(), WithArrivals(constant), WithStart(16))
	require.NoError(t, err)
	assert.InEpsilon(t, 100, l.Rate, 0.03, "nobody looked between 16 and 32")

	probes := []*Probe{}
	for _, rate := range []float64{10, 22, 30} {
		res, err := made(bad, nil)(t.Context(), func() loadgen.Plan { p := madePlan(); p.Arrivals = loadgen.Constant{Rate: rate}; return p }())
		require.NoError(t, err)
		probes = append(probes, &Probe{Rate: rate, Verdict: res.Report.Verdict, Report: res.Report})
	}
	s := &search{config: defaults(), plan: madePlan(), probes: probes}
	limit := s.limit()
	require.NotEmpty(t, limit.Warnings)
	require.ErrorIs(t, limit.Warnings[0], ErrNotMonotone)
	assert.Equal(t, [2]float64{10, 22}, limit.Bracket)
}

// A limit between two rates that are far apart is no one figure, and no load beyond the lower one is recommended.
func TestSearchWithAWideInterval(t *testing.T) {
	l, err := Search(t.Context(), made(step(50), nil), madePlan(), WithArrivals(constant), WithStart(32), WithProbes(2))
	require.NoError(t, err)
	require.Equal(t, Found, l.State)
	assert.Equal(t, [3]float64{32, 48, 64}, [3]float64{l.Lo, l.Rate, l.Hi})
	assert.Equal(t, 32.0, l.Recommended, "and not 38.4")
	assert.Contains(t, l.String(), "Goodput limit  32 to 64 requests/s ? (95% interval; the estimate is 48), after 2 probes")
	assert.Contains(t, l.String(), "32 requests/s: the lower bound of the interval")

	l, err = Search(t.Context(), made(step(50), nil), madePlan(), WithArrivals(constant), WithStart(32))
	require.NoError(t, err)
	assert.Equal(t, 0.8*l.Rate, l.Recommended)
	assert.NotContains(t, l.String(), "?")
	assert.NotContains(t, l.String(), "lower bound")
}

// A search that found no limit says what it has, and what to do.
func TestUnknownSaysWhatIsKnown(t *testing.T) {
	nan := math.NaN()
	for want, bracket := range map[string][2]float64{
		"not found: < 80 requests/s, where the SLO is missed, and the probes": {nan, 80},
		"not found: ≥ 40 requests/s, where the SLO is met, and the probes":    {40, nan},
		"not found: from 40 to 80 requests/s, and the probes":                 {40, 80},
		"not found: the probes": {nan, nan},
	} {
		l := &Limit{State: Unknown, Bracket: bracket, Probes: []*Probe{{Report: &goodput.Report{}}}}
		assert.Contains(t, l.limitText(), want)
		assert.Contains(t, l.limitText(), "give them a longer Duration")
	}
}

func TestSearchRefuses(t *testing.T) {
	run := made(step(1), nil)
	for what, c := range map[string]struct {
		change func(*loadgen.Plan)
		opts   []Option
	}{
		"Plan.Duration":    {change: func(p *loadgen.Plan) { p.Duration = 0 }},
		"Plan.Arrivals":    {change: func(p *loadgen.Plan) { p.Arrivals = loadgen.Constant{Rate: 1} }},
		"Plan.Concurrency": {change: func(p *loadgen.Plan) { p.Concurrency = 1 }},
		"Plan.Records":     {change: func(p *loadgen.Plan) { p.Records = &strings.Builder{} }},
		"Plan.SLO":         {change: func(p *loadgen.Plan) { p.SLO = slo.SLO{} }},
		"WithStart":        {opts: []Option{WithStart(0)}},
		"WithRange":        {opts: []Option{WithRange(2, 4)}},
		"WithPrecision":    {opts: []Option{WithPrecision(3)}},
		"WithConfidence":   {opts: []Option{WithConfidence(95)}},
		"WithProbes":       {opts: []Option{WithProbes(0)}},
		"WithHeadroom":     {opts: []Option{WithHeadroom(1)}},
		"WithPause":        {opts: []Option{WithPause(-1)}},
		"WithArrivals":     {opts: []Option{WithArrivals(nil)}},
		"WithStop":         {opts: []Option{WithStop(Saturated())}},
		"Option":           {opts: []Option{{}}},
	} {
		p := madePlan()
		if c.change != nil {
			c.change(&p)
		}
		_, err := Search(t.Context(), run, p, c.opts...)
		require.Error(t, err, what)
		assert.Contains(t, err.Error(), what)
		assert.NotContains(t, err.Error(), "\n")
	}
	_, err := Search(t.Context(), nil, madePlan())
	require.ErrorContains(t, err, "Runner is nil")
}

// A search that is cut off has the probes that were over.
func TestSearchThatIsCutOff(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	l, err := Search(ctx, mm1(100).runner(), truths()[0].plan(1), WithStart(10), OnProbe(func(p *Probe) {
		if p.Rate == 20 {
			cancel(enough)
		}
	}))
	require.ErrorIs(t, err, enough)
	require.Len(t, l.Probes, 2)
	assert.Equal(t, AtLeast, l.State)
	assert.Equal(t, 20.0, l.Lo)
}

// A plan with two objectives has the limit of the one that is missed first.
func TestSearchOfTwoObjectives(t *testing.T) {
	if raceEnabled {
		t.Skip("millions of events")
	}
	p := truths()[1].plan(1) // e2e p95, at 70/s
	p.SLO.Objectives = append(p.SLO.Objectives, slo.MustParse("e2e p50 < 1s, error_rate < 1%").Objectives...)
	l, err := Search(t.Context(), mm1(100).runner(), p, WithStart(10))
	require.NoError(t, err)
	assert.InEpsilon(t, 70, l.Rate, 0.03)
	assert.True(t, l.Lo <= 70 && l.Hi >= 70)
	assert.Equal(t, p.SLO.Objectives[0].String(), l.Objective)

	var back map[string]any
	text, err := json.Marshal(l)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, Format, back["format"])
	assert.InEpsilon(t, 70, back["rate"], 0.03)
	assert.Len(t, back["probes"], len(l.Probes))
	c, err := l.Curve()
	require.NoError(t, err)
	assert.Equal(t, l.Raw, c.Raw)
	assert.InEpsilon(t, 70, c.Limit.Load, 0.08)
}

// The looks of a probe spend no more than α, and the probe ends early where its verdict is clear.
func TestLooks(t *testing.T) {
	l := looks{alpha: 0.05}
	sum := 0.0
	for k := 1; k <= 10_000; k++ {
		sum += 1 - l.spent(k, 1)
	}
	assert.InEpsilon(t, 0.05, sum, 0.001)
	s := &search{config: defaults(), run: mm1(100).runner(), plan: truths()[1].plan(1)}
	p, err := s.probe(t.Context(), 20, 1)
	require.NoError(t, err)
	assert.True(t, p.Early)
	assert.Equal(t, goodput.Met, p.Verdict)
	assert.GreaterOrEqual(t, p.Looks, clearLooks)
	assert.Less(t, p.Report.Offered, uint64(2000))
	assert.Zero(t, p.Report.Outcomes[goodput.Unfinished], "what was in flight went on to its end")
}

func TestFit(t *testing.T) {
	// Observations on a curve give the curve back.
	const f, a, b = 0.02, -5.0, 0.2
	var obs []observation
	bad := func(rate float64) float64 { return f + (1-f)/(1+math.Exp(-(a+b*(rate-50)))) }
	obs = append(obs, observation{5, f, 1e6, 1e6})
	for _, rate := range []float64{45, 50, 55, 60, 65} {
		obs = append(obs, observation{rate, bad(rate), 1e5, 1e4})
	}
	e := cross(obs, bad(57), 1.96, 1.96)
	assert.InEpsilon(t, 57, e.rate, 0.001)
	assert.InEpsilon(t, b, e.slope, 0.01)
	assert.True(t, e.lo < 57 && e.hi > 57 && e.hi-e.lo < 2)
	wide := cross(obs, bad(57), 3, 3)
	assert.Greater(t, wide.hi-wide.lo, e.hi-e.lo)

	for name, none := range map[string][]observation{
		"one":          {{1, 0.1, 100, 100}},
		"one rate":     {{1, 0.1, 100, 100}, {1, 0.2, 100, 100}},
		"all good":     {{1, 0, 100, 100}, {2, 0, 100, 100}},
		"falling":      {{1, 0.5, 100, 100}, {2, 0.1, 100, 100}, {3, 0.01, 100, 100}},
		"a step":       {{1, 0, 100, 100}, {2, 1, 100, 100}},
		"no such size": {{1, 0, 0, 0}, {2, 1, 0, math.NaN()}},
	} {
		assert.True(t, math.IsNaN(cross(none, 0.05, 1.96, 1.96).rate), name)
	}
}

// Half of what ended failed: the raw limit does not stand without what succeeded.
func TestTextNamesTheSuccessLimit(t *testing.T) {
	a := goodput.NewAccumulator(slo.MustParse("e2e p90 < 100ms"))
	for i := range 2000 {
		r := goodput.Record{Start: time.Unix(0, 0).Add(time.Duration(i) * 10 * time.Millisecond), End: 10 * time.Millisecond, Outcome: goodput.Success}
		if i%2 == 0 {
			r.Outcome = goodput.Timeout
		}
		a.Observe(&r)
	}
	s := &search{config: defaults(), plan: madePlan(), probes: []*Probe{{Rate: 100, Verdict: goodput.Missed, Report: a.Report()}}}
	text := s.limit().String()
	assert.Regexp(t, `Raw limit +(100|100\.\d|99\.\d) requests/s of throughput, at load 100/s`, text)
	assert.Regexp(t, `Success limit +(50|50\.\d|49\.\d) requests/s of successes, at load 100/s`, text)
}

// Half of an interval without an end is no figure.
func TestAnIntervalWithoutAnEnd(t *testing.T) {
	s := &search{config: config{precision: 0.03}}
	s.plan.Warmup = time.Minute
	b := [2]float64{math.NaN(), math.NaN()}
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0, 2.3, "it is not bounded below after 0 probes, where ± 3% was asked for"},
		{1.5, math.Inf(1), "it is not bounded above after 0 probes, where ± 3% was asked for"},
		{1.5, 2.3, "± 22.2% where 3% was asked for"},
	} {
		l := Limit{State: Found, Rate: 1.8, Lo: c.lo, Hi: c.hi, Bracket: b}
		l.warnings(s, bracket{})
		require.Len(t, l.Warnings, 1)
		require.ErrorIs(t, l.Warnings[0], ErrPrecision)
		assert.ErrorContains(t, l.Warnings[0], c.want)
	}
	l := Limit{State: Found, Rate: 1.8, Lo: 1.79, Hi: 1.81, Bracket: b}
	l.warnings(s, bracket{})
	require.Empty(t, l.Warnings)
}
