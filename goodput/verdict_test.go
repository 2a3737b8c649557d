package goodput

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

func TestWilson(t *testing.T) {
	// The bounds solve (p − x)² = z²·x(1−x)/n for x.
	for _, p := range []float64{0, 0.01, 0.5, 0.95, 1} {
		for _, n := range []float64{1, 10, 1000, 1e6} {
			z := normalQuantile(0.95)
			for _, x := range wilson(p, n, z) {
				assert.InDelta(t, (p-x)*(p-x), z*z*x*(1-x)/n, 1e-12, "p %v n %v", p, n)
				assert.True(t, x >= 0 && x <= 1)
			}
		}
	}
	assert.Equal(t, 1.0, wilson(1, 50, 2)[1])
	assert.Equal(t, 0.0, wilson(0, 50, 2)[0])
	assert.True(t, math.IsNaN(wilson(0.5, 0, 2)[0]))
	assert.InDelta(t, 1.959963984540054, normalQuantile(0.95), 1e-12)
	assert.InDelta(t, 2.093024054408263, studentQuantile(0.95, 19), 1e-9)
}

// batchesOf gives each value a batch of its own, with a share that is 1 where it is at most the limit.
func batchesOf(limit float64, values ...float64) (b []batch) {
	for _, x := range values {
		one := batch{n: 1, k: 1, x: x, x2: x * x}
		if x <= limit {
			one.y = 1
		}
		b = append(b, one)
	}
	return b
}

func TestInflation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ar := func(n int, rho float64) []float64 {
		x, v := 0.0, make([]float64, n)
		for i := range v {
			x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
			v[i] = x
		}
		return v
	}
	// The mean of an AR(1) sequence varies (1+ρ)/(1−ρ) times as much as that of independent values.
	for _, c := range []struct {
		rho  float64
		want float64
	}{{0, 1}, {0.5, 3}, {0.9, 19}} {
		sum, judged := 0.0, 0
		for range 30 {
			if inf := inflate(batchesOf(math.Inf(1), ar(8000, c.rho)...)); inf.batches > 0 {
				sum += inf.phi
				judged++
			}
		}
		assert.Greater(t, judged, 20)
		assert.InEpsilon(t, c.want, sum/float64(judged), 0.2, "ρ = %v", c.rho)
	}
	assert.Equal(t, inflation{1, 39, 40}, inflate(batchesOf(5, repeat(40, 1)...)), "constant: nothing varies")
	assert.Zero(t, inflate(batchesOf(5, repeat(19, 1)...)).batches)
	trend := repeat(1000, 0)
	for i := range trend {
		trend[i] = float64(i)
	}
	assert.Zero(t, inflate(batchesOf(1e9, trend...)).batches, "a trend never stops correlating")
	assert.Zero(t, inflate(nil).batches)
	for _, odd := range []float64{math.Inf(1), math.MaxFloat64, 5e-324} {
		inf := inflate(batchesOf(0, append(repeat(30, 1), odd)...))
		assert.True(t, inf.batches == 0 || inf.phi >= 1 && !math.IsInf(inf.phi, 0), "%v: %+v", odd, inf)
	}
}

func repeat(n int, x float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = x
	}
	return v
}

func TestPairs(t *testing.T) {
	b := pairs([]batch{{n: 1}, {n: 2}, {n: 4}, {n: 8}, {n: 16}})
	assert.Equal(t, []batch{{n: 3}, {n: 28}}, b)
}

func TestJudgeShare(t *testing.T) {
	p95 := slo.MustParse("e2e p95 < 1s").Objectives[0]
	errors := slo.MustParse("error_rate < 1%").Objectives[0]
	independent := func(n, count int) []evidence {
		rng := rand.New(rand.NewPCG(4, uint64(n)))
		b := make([]batch, n)
		for i := range b {
			b[i] = batch{n: 1}
			if i < count {
				b[i].y = 1
			}
		}
		rng.Shuffle(n, func(i, j int) { b[i], b[j] = b[j], b[i] })
		return []evidence{{batches: b, reach: math.NaN(), spread: math.NaN()}}
	}
	judge := func(o slo.Objective, n, count int) Verdict {
		return judgeShare(uint64(count), uint64(n), independent(n, count), o, 0.95, 1).verdict
	}
	assert.Equal(t, NoData, judge(p95, 0, 0))
	assert.Equal(t, Inconclusive, judge(p95, 10, 10), "10 of 10 do not show 95 %")
	assert.Equal(t, Missed, judge(p95, 10, 5))
	assert.Equal(t, Met, judge(p95, 2000, 1960))
	assert.Equal(t, Inconclusive, judge(p95, 2000, 1905))
	assert.Equal(t, Missed, judge(p95, 2000, 1840))
	assert.Equal(t, Met, judge(errors, 2000, 5))
	assert.Equal(t, Inconclusive, judge(errors, 2000, 19))
	assert.Equal(t, Inconclusive, judge(errors, 100, 0))
	assert.Equal(t, Missed, judge(errors, 2000, 60))

	s := judgeShare(1908, 2000, independent(2000, 1908), p95, 0.95, 1)
	assert.True(t, s.ci[0] <= 0.954 && s.ci[1] >= 0.954)
	wide := judgeShare(1908, 2000, independent(2000, 1908), p95, 0.999, 1)
	assert.Less(t, wide.ci[0], s.ci[0])

	// With m objectives one has to be missed more clearly, and met no more clearly.
	assert.Equal(t, Missed, judgeShare(1874, 2000, independent(2000, 1874), p95, 0.95, 1).verdict)
	assert.Equal(t, Inconclusive, judgeShare(1874, 2000, independent(2000, 1874), p95, 0.95, 50).verdict)
	assert.Equal(t, Met, judgeShare(1930, 2000, independent(2000, 1930), p95, 0.95, 50).verdict)
}

func TestJoint(t *testing.T) {
	assert.Equal(t, Met, joint(Met, Met))
	assert.Equal(t, Inconclusive, joint(Met, Inconclusive))
	assert.Equal(t, NoData, joint(Met, NoData, Inconclusive))
	assert.Equal(t, Missed, joint(NoData, Missed, Inconclusive))
	assert.Equal(t, NoData, joint())
}

// mm1 judges n requests of a stationary M/M/1 queue, service rate 1/s, whose sojourn time is at most the SLO's limit for
// exactly the given share. The sojourn time is exponential with rate 1 − ρ.
func mm1(rng *rand.Rand, rho float64, n int, truth float64) share {
	limit := math.Log(1/(1-truth)) / (1 - rho)
	p95 := slo.Objective{Metric: slo.E2E, Percentile: 95, Threshold: slo.Threshold{Limit: limit}}
	chk := compile(slo.SLO{Objectives: []slo.Objective{p95}})
	b := newBooks(chk, 0)
	wait, now := 0.0, 1e6
	if rng.Float64() < rho {
		wait = rng.ExpFloat64() / (1 - rho)
	}
	for range n {
		service := rng.ExpFloat64()
		row := b.slices.row(int64(now * 1e9))
		b.offered++
		b.slices.add(row, nCohort, 1)
		b.slices.value(row, 0, wait+service)
		b.digest(mE2E).Add(wait + service)
		if wait+service <= limit {
			b.within[0]++
			b.slices.add(row, b.slices.within(0), 1)
		}
		gap := rng.ExpFloat64() / rho
		wait = max(0, wait+service-gap)
		now += gap
	}
	return judgeShare(b.within[0], b.offered, []evidence{b.evidence(chk, 0)}, p95, 0.95, 1)
}

// coverage counts verdicts over runs at the SLO line, where the true share is the target.
func coverage(rho float64, n, runs int) (covered, met, missed, short float64) {
	judged := 0.0
	for i := range runs {
		s := mm1(rand.New(rand.NewPCG(uint64(i), 99)), rho, n, 0.95)
		switch {
		case s.tooShort:
			short++
			if s.verdict == Missed {
				missed++
			}
			continue
		case s.verdict == Met:
			met++
		case s.verdict == Missed:
			missed++
		default:
			covered++
		}
		judged++
	}
	r := float64(runs)
	return covered / judged, met / r, missed / r, short / r
}

// At the SLO line "met" is wrong. It may be said in at most 5 % of the runs, however short they are; BenchmarkCoverage has
// the figures of 1,000 runs. Here 100 runs of each kind, so 10 leave room for chance: by the binomial distribution more
// than 10 of 100 at 5 % are seen once in 90 times, and the runs are the same each time.
func TestVerdictAtTheLine(t *testing.T) {
	for _, c := range []struct {
		rho float64
		n   int
	}{{0.3, 1000}, {0.7, 500}, {0.7, 2000}, {0.9, 5000}} {
		covered, met, missed, short := coverage(c.rho, c.n, 100)
		assert.LessOrEqual(t, met, 0.1, "%+v", c)
		assert.LessOrEqual(t, missed, 0.05, "%+v", c)
		assert.GreaterOrEqual(t, covered, 0.75, "%+v", c)
		assert.LessOrEqual(t, short, 0.5, "%+v", c)
	}
}

// Away from the line there is a verdict.
func TestVerdictHasPower(t *testing.T) {
	verdicts := func(rho float64, n int, share float64) map[Verdict]int {
		count := map[Verdict]int{}
		for i := range 25 {
			count[mm1(rand.New(rand.NewPCG(uint64(i), 7)), rho, n, share).verdict]++
		}
		return count
	}
	assert.GreaterOrEqual(t, verdicts(0.02, 1000, 0.98)[Met], 22)
	assert.GreaterOrEqual(t, verdicts(0.7, 20_000, 0.98)[Met], 20)
	assert.GreaterOrEqual(t, verdicts(0.7, 20_000, 0.9)[Missed], 20)
}

// A run above the capacity has no interval, for its queue grows to the end; that it misses is plain.
func TestOverloadIsMissed(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		a := NewAccumulator(slo.MustParse("e2e p95 < 20s, error_rate < 1%"))
		wait, now := 40.0, 0.0
		for range 500 {
			service := rng.ExpFloat64()
			a.Observe(request(time.Duration(now*1e9), time.Duration((wait+service)*1e9)))
			gap := rng.ExpFloat64() / 1.5
			wait, now = max(0, wait+service-gap), now+gap
		}
		r := a.Report()
		require.Equal(t, Missed, r.Verdict)
		assert.False(t, hasWarning(r, ErrRunTooShort), "a longer run would not change it")
		assert.True(t, math.IsNaN(r.Objectives[0].CI[1]))
	}
	p95 := slo.MustParse("e2e p95 < 1s").Objectives[0]
	rate := slo.MustParse("error_rate < 1%").Objectives[0]
	assert.True(t, farFrom(batchesOf(5, repeat(40, 9)...), p95, 0.95))
	assert.True(t, farFrom(batchesOf(5, repeat(40, 1)...), rate, 0.95))
	assert.True(t, farFrom([]batch{{n: 20}}, p95, 0.95), "one batch of 20, which are worth 19")
	assert.False(t, farFrom([]batch{{n: 20, y: 17}, {n: 20, y: 18}}, p95, 0.95))
	assert.False(t, farFrom(batchesOf(5, append(repeat(20, 1), repeat(20, 9)...)...), p95, 0.95), "half of the run was fine")
}

func TestReportVerdicts(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p95 < 1s, error_rate < 5%"))
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 {
		r := request(time.Duration(i)*10*ms, time.Duration(rng.IntN(900))*ms)
		if rng.IntN(100) == 0 {
			r.Outcome = Timeout
		}
		a.Observe(r)
	}
	r := a.Report()
	require.Equal(t, Met, r.Verdict)
	assert.InDelta(t, 1, r.Objectives[0].Inflation, 0.5)
	assert.GreaterOrEqual(t, r.Objectives[0].Batches, 20)
	assert.InDelta(t, r.Objectives[0].EffectiveN, 2000/r.Objectives[0].Inflation, 1e-9)
	assert.InDelta(t, r.AttainmentCI95[0], r.AttainmentCI[0], 0.01)
	assert.Empty(t, r.Warnings)
	assert.Less(t, a.ReportAt(0.9999).Objectives[0].CI[0], r.Objectives[0].CI[0])

	few := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	for i := range 10 {
		few.Observe(request(time.Duration(i)*time.Second, ms))
	}
	r = few.Report()
	assert.Equal(t, Inconclusive, r.Verdict)
	assert.True(t, hasWarning(r, ErrFewRequests))
	assert.True(t, hasWarning(r, ErrThinPercentile))

	ramp := func(least, most time.Duration) *Report {
		a := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
		for i := range 1000 {
			a.Observe(request(time.Duration(i)*100*ms, least+(most-least)*time.Duration(i)/1000))
		}
		return a.Report()
	}
	r = ramp(500*ms, 900*ms)
	assert.Equal(t, Inconclusive, r.Verdict)
	assert.True(t, hasWarning(r, ErrRunTooShort))
	assert.True(t, math.IsNaN(r.AttainmentCI[0]))
	r = ramp(0, 2*time.Second)
	assert.Equal(t, Missed, r.Verdict, "it grows to the end, and all of the second half is late")
	assert.False(t, hasWarning(r, ErrRunTooShort))
}

// Latencies that drift or come in waves, as those of any real service do, are no reason to doubt a run in which all of
// them are far within the threshold.
func TestFarWithinIsMet(t *testing.T) {
	waves := map[string]func(x float64) float64{
		"drift": func(x float64) float64 { return 0.05 + 0.05*x },
		"sine":  func(x float64) float64 { return 0.075 + 0.025*math.Sin(8*math.Pi*x) },
		"step":  func(x float64) float64 { return 0.05 + 0.03*math.Floor(2*x) },
	}
	for name, wave := range waves {
		for _, n := range []int{200, 1000, 10_000} {
			rng := rand.New(rand.NewPCG(uint64(n), 5))
			a := NewAccumulator(slo.MustParse("e2e p95 < 8s, error_rate < 5%"))
			near := NewAccumulator(slo.MustParse("e2e p95 < 130ms"))
			for i := range n {
				e2e := wave(float64(i)/float64(n)) + 0.02*rng.Float64()
				rec := request(time.Duration(i)*4*ms, time.Duration(e2e*1e9))
				a.Observe(rec)
				near.Observe(rec)
			}
			r := a.Report()
			assert.Equal(t, Met, r.Verdict, "%s %d: %v", name, n, r.Warnings)
			assert.Equal(t, r.Objectives[0].CI, r.AttainmentCI, "the one objective alone decides what is good")
			assert.NotEqual(t, Met, near.Report().Verdict, "%s %d", name, n)
		}
	}
	// Twenty requests that start at once have one batch, and are not taken for less than nineteen.
	burst := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	for range 20 {
		burst.Observe(request(0, 2*time.Second))
	}
	assert.Equal(t, Missed, burst.Report().Verdict)
	assert.False(t, evidence{reach: 2, p: 0.95, spread: math.NaN()}.farWithin(0.1))
	one := evidence{batches: batchesOf(1, 0.5), p: 0.95, spread: math.NaN()}
	one.batches[0].x2 = 1 // some variance, which one batch cannot tell
	for _, c := range []struct {
		reach float64
		far   bool
	}{{0.035, true}, {0.036, false}, {math.NaN(), false}, {0, true}} {
		one.reach = c.reach
		assert.Equal(t, c.far, one.farWithin(0.1), "%v", c.reach)
	}
	assert.InDelta(t, 0.1, 1-math.Pow(0.05, 1/28.4), 1e-3, "the 1/28 of the comment")
	assert.InDelta(t, 0.1, math.Pow(1-math.Pow(0.05, 0.52), 10), 1e-2, "and its half")
}

// How near the values come to a threshold is not known where that only grows with the output, or is a request's own.
func TestReach(t *testing.T) {
	reach := func(text string, limits map[slo.Metric]float64) float64 {
		a, r := NewAccumulator(slo.MustParse(text)), request(0, 2*time.Second)
		r.Tokens, r.Limits, r.Custom = tokens(time.Second, 2*time.Second), limits, map[slo.Metric]float64{"x_a": 2, "x_below": -1}
		a.Observe(r)
		k := &a.snapshot().classes[0]
		return k.books.reach(&k.checker.rules[0])
	}
	assert.Equal(t, 0.5, reach("e2e p95 < 4s", nil))
	assert.Equal(t, 0.5, reach("e2e p95 < 4s + 1s/token", nil))
	assert.Equal(t, 0.25, reach("speed p95 >= 0.25tok/s", nil))
	assert.Equal(t, 0.5, reach("x_a p95 < 4", nil))
	assert.True(t, math.IsNaN(reach("x_a p95 < -4", nil)))
	assert.True(t, math.IsNaN(reach("x_below p95 < 4", nil)))
	assert.True(t, math.IsNaN(reach("x_none p95 < 4", nil)))
	assert.True(t, math.IsNaN(reach("e2e p95 < 1s/token", nil)))
	assert.True(t, math.IsNaN(reach("e2e p95 < 4s", map[slo.Metric]float64{slo.E2E: 3})))
}

// Who was still being served when a run was cut off may have been in time.
func TestUndecidedAreNotMisses(t *testing.T) {
	cut := func(decided, undecided int, age time.Duration) *Report {
		a := NewAccumulator(slo.MustParse("e2e p95 < 5s, error_rate < 1%"))
		for i := range decided {
			a.Observe(request(time.Duration(i/16)*time.Second, time.Second))
		}
		for range undecided {
			r := request(time.Duration(decided/16)*time.Second, age)
			r.Outcome = Unfinished
			a.Observe(r)
		}
		return a.Report()
	}
	r := cut(32, 16, time.Second)
	assert.Equal(t, Inconclusive, r.Verdict)
	assert.Contains(t, r.String(), "INCONCLUSIVE (16 requests were cut off undecided)")
	assert.Equal(t, [2]float64{2.0 / 3, 1}, r.AttainmentBounds)
	assert.Equal(t, Missed, cut(32, 16, 6*time.Second).Verdict, "their thresholds had passed")
	assert.Equal(t, Inconclusive, cut(0, 16, time.Second).Verdict)
	a := NewAccumulator(slo.MustParse("e2e p95 < 5s"))
	for i := range 100 {
		a.Observe(request(time.Duration(i)*time.Second, 6*time.Second))
	}
	few := request(101*time.Second, time.Second)
	few.Outcome = Unfinished
	a.Observe(few)
	assert.Equal(t, Missed, a.Report().Verdict)
}

// A sample that holds but is too small says how many requests it takes: by Wilson's interval n successes of n show p where
// n/(n + z²) ≥ p.
func TestHowManySuffice(t *testing.T) {
	perfect := func(text string, n int) *Report {
		a := NewAccumulator(slo.MustParse(text))
		for i := range n {
			a.Observe(request(time.Duration(i)*time.Second, 10*ms))
		}
		return a.Report()
	}
	for text, want := range map[string]int{"e2e p99 < 5s": 381, "error_rate < 1%": 381, "e2e p99.9 < 5s": 3838} {
		r := perfect(text, 200)
		require.Equal(t, Inconclusive, r.Verdict)
		assert.True(t, hasWarning(r, ErrSampleTooSmall), "%v", r.Warnings)
		assert.Contains(t, r.String(), figure.Count(uint64(want)))
		assert.Equal(t, Inconclusive, perfect(text, want-30).Verdict)
		assert.Equal(t, Met, perfect(text, want+30).Verdict, text)
	}
	assert.Contains(t, perfect("e2e p95 < 5s", 10).String(), "73 requests")
	assert.False(t, hasWarning(perfect("e2e p95 < 5s", 100), ErrSampleTooSmall))
}

// Each objective on a request's values is judged by the batches of these values.
func TestEachObjectiveHasItsEvidence(t *testing.T) {
	a := NewAccumulator(slo.MustParse("ttft p95 < 1s, ttfo p95 < 1s, tpot p95 < 1s, itl p95 < 1s, e2e p95 < 10s, speed p95 >= 1tok/s, " +
		"lag p95 < 1s, service_ttft p95 < 1s, service_e2e p95 < 10s, x_a p95 < 10"))
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range 1000 {
		step := time.Duration(10+rng.IntN(10)) * ms
		at := time.Duration(50+rng.IntN(50)) * ms
		a.Observe(&Record{Start: epoch.Add(time.Duration(i) * 100 * ms), Sent: time.Duration(rng.IntN(10)) * ms, FirstByte: at, End: at + 2*step,
			Tokens: []Token{{at, 1}, {at + step, 1}, {at + 2*step, 1}}, Outcome: Success, Custom: map[slo.Metric]float64{"x_a": rng.Float64()}})
	}
	r := a.Report()
	for _, o := range r.Objectives {
		assert.Equal(t, Met, o.Verdict, o.Objective)
		assert.True(t, o.Batches >= minBatches && o.Batches <= maxSlices, "%v: %d batches", o.Objective, o.Batches)
	}
}

// Workers whose answers take equally long begin in waves, of which a short run has few.
func TestWavesFarWithinAreMet(t *testing.T) {
	waves := func(n int, e2e time.Duration, fail bool) *Report {
		a := NewAccumulator(slo.MustParse("e2e p95 < 5s"))
		for i := range n {
			r := request(time.Duration(i/16)*e2e, e2e+time.Duration(i%7)*ms)
			if fail && i == n/2 {
				r.Outcome = ServerError
			}
			a.Observe(r)
		}
		return a.Report()
	}
	assert.Equal(t, Met, waves(200, 700*ms, false).Verdict)
	assert.Equal(t, 13, waves(200, 700*ms, false).Objectives[0].Batches)
	assert.Equal(t, Inconclusive, waves(200, 700*ms, true).Verdict, "one failed: too few batches to tell how failures cluster")
	assert.Equal(t, Inconclusive, waves(64, 700*ms, false).Verdict, "four waves")
}

// Values that drift by a two-hundredth of what is left to the threshold are far within it.
func TestSpreadFarWithin(t *testing.T) {
	drift := func(limit string) Verdict {
		a := NewAccumulator(slo.MustParse("e2e p95 < " + limit))
		for i := range 1000 {
			a.Observe(request(time.Duration(i)*5*ms, 100*ms+time.Duration(i)*time.Microsecond)) // to 101 ms
		}
		return a.Report().Verdict
	}
	assert.Equal(t, Met, drift("305ms"))
	assert.Equal(t, Inconclusive, drift("290ms"))
}
