package curve

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// run is a run of n requests at a rate, each of which takes as long as e2e says, with so many output tokens.
func run(s string, n int, rate float64, tokens int, e2e func(i int) time.Duration) *goodput.Report {
	a := goodput.NewAccumulator(slo.MustParse(s))
	for i := range n {
		a.Observe(&goodput.Record{Start: time.Unix(0, 0).Add(time.Duration(float64(i) / rate * 1e9)), End: e2e(i), Outcome: goodput.Success, OutputTokens: tokens})
	}
	return a.Report()
}

// exponential sojourns, as of M/M/1 at service rate mu: independent, so that the run may be short.
func exponential(mu, rate float64) func(int) time.Duration {
	rng := rand.New(rand.NewPCG(uint64(rate*1000), 1))
	return func(int) time.Duration { return time.Duration(rng.ExpFloat64() / (mu - rate) * 1e9) }
}

func points(s string, rates ...float64) (all []Point) {
	for _, rate := range rates {
		all = append(all, Point{rate, run(s, 20_000, rate, 0, exponential(100, rate))})
	}
	return all
}

const p95 = "e2e p95 < 100ms"

// M/M/1: μ − ln(1/(1−p))/T for each percentile, whose logit of the bad share is a line in the rate, as the interpolation
// has it.
func TestGoodputLimitOfMM1(t *testing.T) {
	c, err := New(Rate, points(p95, 80, 10, 20, 40, 60, 90, 95))
	require.NoError(t, err)
	require.Equal(t, Crosses, c.Limit.State)
	assert.InEpsilon(t, 100-math.Log(20)/0.1, c.Limit.Load, 0.02)
	assert.Equal(t, [2]float64{60, 80}, [2]float64{c.Limit.Lo, c.Limit.Hi})
	assert.Equal(t, [2]float64{60, 80}, c.Limit.Shown)
	assert.Equal(t, p95, c.Limit.Objective)
	assert.InEpsilon(t, 0.8*c.Limit.Load, c.Recommended, 1e-12)
	require.Len(t, c.Steps, 4)
	for i, p := range []float64{50, 90, 95, 99} {
		assert.Equal(t, slo.Percentile(p), c.Steps[i].Percentile)
		assert.InEpsilon(t, 100-math.Log(1/(1-p/100))/0.1, c.Steps[i].Load, 0.04, "P%v", p)
	}
	assert.Equal(t, c.Limit.Load, c.Steps[2].Load)
	assert.Equal(t, 95.0, c.Raw.Load)
	assert.Equal(t, [2]float64{c.Limit.Load, 95}, c.Bloat)
	assert.Empty(t, c.Warnings)
}

func TestCurvesThatDoNotCross(t *testing.T) {
	met, err := New(Rate, points(p95, 10, 20))
	require.NoError(t, err)
	assert.Equal(t, AtLeast, met.Limit.State)
	assert.True(t, math.IsNaN(met.Limit.Load) && math.IsNaN(met.Recommended) && math.IsNaN(met.Bloat[0]) && math.IsNaN(met.Limit.Hi))
	assert.Equal(t, 20.0, met.Limit.Lo)
	assert.Contains(t, met.String(), "at least load 20/s")

	missed, err := New(Rate, points(p95, 90, 95))
	require.NoError(t, err)
	assert.Equal(t, Below, missed.Limit.State)
	assert.True(t, math.IsNaN(missed.Limit.Load) && math.IsNaN(missed.Limit.Lo))
	assert.Equal(t, 90.0, missed.Limit.Hi)
	assert.Contains(t, missed.String(), "below load 90/s")

	nothing, err := New(Rate, []Point{{1, goodput.NewAccumulator(slo.MustParse(p95)).Report()}})
	require.NoError(t, err)
	assert.Equal(t, Unknown, nothing.Limit.State)
	assert.True(t, math.IsNaN(nothing.Raw.Value))
	assert.Contains(t, nothing.String(), "nothing to judge")
}

// Past the limit throughput rises and goodput falls.
func TestGoodputFallsWhileThroughputRises(t *testing.T) {
	fine := func(int) time.Duration { return 10 * time.Millisecond }
	late := func(i int) time.Duration {
		if i%4 == 0 {
			return 10 * time.Millisecond
		}
		return 150 * time.Millisecond
	}
	c, err := New(Rate, []Point{{50, run(p95, 5000, 50, 0, fine)}, {80, run(p95, 8000, 80, 0, late)}})
	require.NoError(t, err)
	assert.Equal(t, "From load 50/s to 80/s throughput rises from 50.0 to 79.9 requests/s and goodput falls from 50.0 to 20.0: more work is done, and users get less of it in time.", c.Falls)
	assert.Equal(t, 50.0, c.Peak.Load)
	assert.Equal(t, 80.0, c.Raw.Load)
	assert.Contains(t, c.String(), "Falls")

	c, err = New(Rate, []Point{{50, run(p95, 5000, 50, 0, fine)}, {80, run(p95, 8000, 80, 0, fine)}})
	require.NoError(t, err)
	assert.Empty(t, c.Falls)
	// Of 40 requests nobody can say so.
	c, err = New(Rate, []Point{{5, run(p95, 40, 5, 0, fine)}, {6, run(p95, 40, 6, 0, func(i int) time.Duration { return time.Duration(100+i%8/7) * time.Millisecond })}})
	require.NoError(t, err)
	assert.Empty(t, c.Falls)
}

// The first of two objectives to cross decides, and what lies beyond a crossing is only said.
func TestSeveralObjectives(t *testing.T) {
	s := "e2e p95 < 100ms, e2e p50 < 2s, error_rate < 5%"
	all := points(s, 40, 60, 80)
	all = append(all, Point{85, run(s, 2000, 85, 0, func(int) time.Duration { return time.Millisecond })})
	c, err := New(Rate, all)
	require.NoError(t, err)
	assert.InEpsilon(t, 70, c.Limit.Load, 0.02)
	assert.Equal(t, p95, c.Limit.Objective)
	require.Len(t, c.Warnings, 1)
	require.ErrorIs(t, c.Warnings[0], ErrNotMonotone)
	assert.Len(t, c.Steps, 8, "an error rate has no percentile")
}

// Replicates of one load count together.
func TestReplicates(t *testing.T) {
	fine := func(int) time.Duration { return time.Millisecond }
	bad := func(i int) time.Duration { return time.Duration(1+i%10/9) * time.Second / 12 } // 10 % are late
	c, err := New(Concurrency, []Point{{1, run(p95, 100, 10, 0, fine)}, {8, run(p95, 300, 10, 0, fine)}, {8, run(p95, 100, 10, 0, bad)}, {16, run(p95, 100, 10, 0, bad)}})
	require.NoError(t, err)
	assert.Equal(t, [2]float64{8, 16}, [2]float64{c.Limit.Lo, c.Limit.Hi}, "10 of 400 are late at 8")
	logit := func(bad, n float64) float64 { return math.Log((bad + 0.5) / (n - bad + 0.5)) }
	share := (math.Log(0.05/0.95) - logit(10, 400)) / (logit(10, 100) - logit(10, 400))
	assert.InDelta(t, 8+8*share, c.Limit.Load, 1e-9)
}

func TestAClientThatWasNotSoundIsLeftOut(t *testing.T) {
	all := points(p95, 40, 60, 80)
	all[2].Report.Health = &goodput.ClientHealth{Verdict: goodput.Invalid, Reasons: []string{"it was late"}}
	c, err := New(Rate, all)
	require.NoError(t, err)
	assert.Equal(t, AtLeast, c.Limit.State)
	assert.Equal(t, 60.0, c.Raw.Load)
	require.Len(t, c.Warnings, 1)
	require.ErrorIs(t, c.Warnings[0], ErrClient)
	assert.Contains(t, c.Warnings[0].Error(), "it was late")
	assert.Contains(t, strings.Join(strings.Fields(c.String()), " "), "at least load 60/s: the SLO is met at every load up to that; no verdict at 80/s (the client was not sound)")
	all[1].Report.Verdict = goodput.Inconclusive
	assert.Equal(t, "no verdict at 80/s (the client was not sound), no verdict at 60/s (inconclusive)", Rate.NoVerdict(all, 40))
	assert.Empty(t, Rate.NoVerdict(all, 80))
}

func TestNewRefuses(t *testing.T) {
	good := points(p95, 10)
	for want, f := range map[string]func() (*Curve, error){
		"no points":        func() (*Curve, error) { return New(Rate, nil) },
		"axis":             func() (*Curve, error) { return New("", good) },
		"point 0 has no":   func() (*Curve, error) { return New(Rate, []Point{{Load: 1}}) },
		"load 0 is not":    func() (*Curve, error) { return New(Rate, []Point{{0, good[0].Report}}) },
		"head-room 1 ":     func() (*Curve, error) { return New(Rate, good, WithHeadroom(1)) },
		"not of one SLO: ": func() (*Curve, error) { return New(Rate, append(points("e2e p90 < 100ms", 20), good...)) },
	} {
		_, err := f()
		require.ErrorContains(t, err, want)
	}
}

func TestClassesWithSLOsOfTheirOwn(t *testing.T) {
	at := func(rate float64) Point {
		a := goodput.NewAccumulator(slo.MustParse(p95), goodput.WithClasses(slo.Set{"chat": slo.MustParse(p95), "batch": slo.MustParse("e2e p50 < 1s")}))
		e2e := exponential(100, rate)
		for i := range 20_000 {
			a.Observe(&goodput.Record{Class: []string{"chat", "batch"}[i%2], Start: time.Unix(0, 0).Add(time.Duration(float64(i) / rate * 1e9)), End: e2e(i), Outcome: goodput.Success})
		}
		return Point{rate, a.Report()}
	}
	c, err := New(Rate, []Point{at(60), at(80)})
	require.NoError(t, err)
	assert.InEpsilon(t, 70, c.Limit.Load, 0.03)
	assert.Equal(t, "chat: "+p95, c.Limit.Objective)
	assert.Contains(t, c.String(), "chat: e2e < 100ms")
}

func TestJSON(t *testing.T) {
	c, err := New(Rate, points(p95, 40, 60, 80), WithHeadroom(0.3))
	require.NoError(t, err)
	c.Stopped = "it was enough"
	text, err := json.Marshal(c)
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(text, &keys))
	assert.InEpsilon(t, c.Limit.Load, keys["goodput_limit"].(map[string]any)["load"], 1e-12)
	assert.InEpsilon(t, 0.7*c.Limit.Load, keys["recommended"], 1e-12)
	var back Curve
	require.NoError(t, json.Unmarshal(text, &back))
	again, err := json.Marshal(back)
	require.NoError(t, err)
	assert.JSONEq(t, string(text), string(again))

	none, err := New(Rate, points(p95, 10))
	require.NoError(t, err)
	text, err = json.Marshal(none)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"recommended":null`)
	for _, bad := range []string{`{}`, `{"format":"goodput-curve/9"}`, `{"format":"goodput-curve/1","axis":"rate"}`, `[]`} {
		require.Error(t, json.Unmarshal([]byte(bad), &back), bad)
	}
}

func TestTextFitsATerminal(t *testing.T) {
	c, err := New(Rate, points("e2e p95 < 100ms, service_e2e p99 < 1s", 10, 60, 80, 95))
	require.NoError(t, err)
	for _, line := range strings.Split(c.String(), "\n") {
		assert.LessOrEqual(t, len([]rune(line)), 130, line)
	}
	assert.True(t, strings.HasPrefix(c.String(), "SLO            e2e p95 < 100ms"))
}

// With a timeout requests that a system cannot serve end at the rate at which they come: the raw limit is more than it can do.
// Of a system that serves 60/s, at 100/s the 40/s that time out are throughput as well.
func TestTimeoutsInTheRawLimit(t *testing.T) {
	at := func(rate, served int) Point {
		a := goodput.NewAccumulator(slo.MustParse("e2e p95 < 1s"))
		for i := range 60 * rate {
			r := goodput.Record{Start: time.Unix(0, 0).Add(time.Duration(i) * time.Second / time.Duration(rate)), End: 100 * time.Millisecond, Outcome: goodput.Success}
			switch {
			case i%rate >= served:
				r.Outcome, r.End, r.Detail = goodput.Timeout, 2*time.Second, "no answer\nin 2s"
			case rate > served: // the others wait
				r.End = 1900 * time.Millisecond
			}
			a.Observe(&r)
		}
		return Point{float64(rate), a.Report()}
	}
	c, err := New(Rate, []Point{at(40, 40), at(60, 60), at(100, 60)})
	require.NoError(t, err)
	assert.Equal(t, 100.0, c.Raw.Load)
	assert.InEpsilon(t, 100, c.Raw.Value, 0.04)
	assert.InEpsilon(t, 60, c.Succeeded.Value, 0.04)
	require.Len(t, c.Warnings, 1)
	require.ErrorIs(t, c.Warnings[0], ErrFailed)
	assert.Contains(t, c.Warnings[0].Error(), "of which 40.0% failed")
	assert.Regexp(t, `succeed; for one, timeout: no answer.in 2s$`, c.Warnings[0].Error())
	assert.Contains(t, c.String(), "Success limit  5")
	assert.False(t, c.RawRises, "what rises has failed")
	assert.NotContains(t, c.String(), "Raw limit      at least")
	assert.Contains(t, c.Falls, "of that throughput failed")
	assert.NotContains(t, c.Falls, "more work is done")

	c, err = New(Rate, []Point{at(40, 40), at(60, 58)}) // 2 of 60 are within 5 %
	require.NoError(t, err)
	assert.Empty(t, c.Warnings)
	assert.NotContains(t, c.String(), "Success limit")
	assert.True(t, c.RawRises)
	assert.Contains(t, c.String(), "Raw limit      at least ")

	c, err = New(Rate, []Point{at(40, 40), at(60, 60), at(61, 60)})
	require.NoError(t, err)
	assert.False(t, c.RawRises, "1/s is within chance")
	c, err = New(Rate, []Point{at(60, 60)})
	require.NoError(t, err)
	assert.False(t, c.RawRises, "one load shows no rise")
}

func TestWide(t *testing.T) {
	assert.False(t, Wide(100, 90, 110), "a fifth")
	assert.True(t, Wide(100, 90, 110.1))
	assert.True(t, Wide(64.4, 32, 72))
	assert.True(t, Wide(64.4, 0, 1), "not bounded below")
	assert.True(t, Wide(64.4, 64, math.Inf(1)))
	assert.True(t, Wide(math.NaN(), 32, 33))
}

// What the points' reports warn of is in the text, with the load and once.
func TestTextHasTheWarningsOfThePoints(t *testing.T) {
	all := points(p95, 40, 60, 60, 80)
	all[0].Report.Warnings = []error{errors.New("a clock that jumped"), errors.New("a clock that jumped")}
	all[1].Report.Warnings = []error{errors.New("few requests")}
	all[2].Report.Warnings = []error{errors.New("few requests")}
	all[2].Report.Health = &goodput.ClientHealth{Verdict: goodput.Suspect, Reasons: []string{"it was a little late", "it was hot"}}
	all[3].Report.Health = &goodput.ClientHealth{Verdict: goodput.Invalid, Reasons: []string{"it was late"}}
	c, err := New(Rate, all)
	require.NoError(t, err)
	_, said, ok := strings.Cut(c.String(), "\nWarnings\n")
	require.True(t, ok)
	assert.Equal(t, "  - load 80/s: the client was not sound at this load, which is left out: it was late\n"+
		"  - load 40/s: a clock that jumped\n"+
		"  - load 60/s: few requests\n"+
		"  - load 60/s: the client was "+string(goodput.Suspect)+": it was a little late; it was hot\n", said)
}
