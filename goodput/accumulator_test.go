package goodput

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// request is a success that took so long, from its start at an offset from epoch.
func request(start, e2e time.Duration) *Record {
	return &Record{Start: epoch.Add(start), End: e2e, Outcome: Success, OutputTokens: 2, InputTokens: 5}
}

func observe(a *Accumulator, rs ...*Record) *Report {
	for _, r := range rs {
		a.Observe(r)
	}
	return a.Report()
}

// The worked values of the definitions, section 9. The first two are also vectors.
func TestWorkedValues(t *testing.T) {
	run := func(n, good int, length time.Duration, perRequest int) *Report {
		a := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
		for i := range n {
			r := request(time.Duration(i)*(length-2*time.Second)/time.Duration(n-1), time.Second)
			if i >= good {
				r.End += 1
			}
			if i == n-1 {
				r.End = 2 * time.Second
			}
			r.OutputTokens = perRequest
			a.Observe(r)
		}
		return a.Report()
	}
	a := run(1000, 950, 100*time.Second, 1)
	assert.InDelta(t, 10, a.ThroughputRPS, 1e-9)
	assert.InDelta(t, 9.5, a.GoodputRPS, 1e-9)
	assert.InDelta(t, 0.95, a.Attainment, 1e-12)
	assert.True(t, a.Objectives[0].Holds)

	b := run(1000, 600, 80*time.Second, 1)
	assert.InDelta(t, 12.5, b.ThroughputRPS, 1e-9)
	assert.InDelta(t, 7.5, b.GoodputRPS, 1e-9)
	assert.InDelta(t, 0.6, b.Attainment, 1e-12)
	assert.False(t, b.Objectives[0].Holds)

	first, second := run(1000, 990, 10*time.Second, 50), run(1000, 500, 10*time.Second, 90)
	assert.InDelta(t, 5000, first.OutputTPS, 1e-6)
	assert.InDelta(t, 9000, second.OutputTPS, 1e-6)
	assert.InDelta(t, 4950, first.TokenGoodputTPS, 1e-6)
	assert.InDelta(t, 4500, second.TokenGoodputTPS, 1e-6)
	assert.Greater(t, first.TokenGoodputTPS, second.TokenGoodputTPS, "the winner by throughput is the other one")

	c := NewAccumulator(slo.MustParse("e2e p99 < 2s"))
	for i := range 100 {
		d := 100 * ms
		if i >= 95 {
			d = 5 * time.Second
		}
		c.Observe(request(time.Duration(i)*ms, d))
	}
	p := c.Report().Percentiles["e2e"]
	assert.InDelta(t, 0.345, p.Mean, 1e-12)
	assert.Equal(t, 0.1, p.P50)
	assert.Equal(t, 5.0, p.P99)
}

func TestNewAccumulatorPanics(t *testing.T) {
	good := slo.MustParse("ttft p95 < 1s")
	for name, f := range map[string]func(){
		"no objectives":     func() { NewAccumulator(slo.SLO{}) },
		"invalid objective": func() { NewAccumulator(slo.SLO{Objectives: []slo.Objective{{Metric: "tttf"}}}) },
		"invalid class":     func() { NewAccumulator(good, WithClasses(slo.Set{"chat": {}})) },
		"no from":           func() { NewAccumulator(good, WithWindow(time.Time{}, epoch)) },
		"to before from":    func() { NewAccumulator(good, WithWindow(epoch, epoch.Add(-1))) },
		"to after 2150":     func() { NewAccumulator(good, WithWindow(epoch, epoch.AddDate(300, 0, 0))) },
		"confidence 1":      func() { NewAccumulator(good, WithConfidence(1)) },
		"confidence NaN":    func() { NewAccumulator(good, WithConfidence(math.NaN())) },
		"report at 0":       func() { NewAccumulator(good).ReportAt(0) },
		"no window to end":  func() { NewAccumulator(good).EndWindow(epoch) },
	} {
		assert.Panics(t, f, name)
	}
}

func TestAccumulatorKeepsItsOwnSLO(t *testing.T) {
	s := slo.MustParse("ttft p95 < 1s, undefined ttft: holds")
	set := slo.Set{"chat": slo.MustParse("e2e p95 < 1s")}
	a := NewAccumulator(s, WithClasses(set))
	want := a.Report().Fingerprint
	s.Objectives[0].Threshold.Limit = 5
	s.Undefined["ttft"] = slo.UndefinedMisses
	delete(set, "chat")
	r := a.Report()
	assert.Equal(t, want, r.Fingerprint)
	r.SLO.Objectives[0].Threshold.Limit = 7
	assert.Equal(t, "ttft p95 < 1s, undefined ttft: holds", a.Report().SLO.String())
}

func TestEmptyReport(t *testing.T) {
	for name, a := range map[string]*Accumulator{
		"whole run": NewAccumulator(slo.MustParse("ttft p95 < 1s, error_rate < 1%")),
		"open":      NewAccumulator(slo.MustParse("ttft p95 < 1s, error_rate < 1%"), WithWindow(epoch, time.Time{})),
		"classes":   NewAccumulator(slo.MustParse("ttft p95 < 1s"), WithClasses(slo.Set{"chat": slo.MustParse("e2e p95 < 1s")})),
	} {
		r := a.Report()
		assert.Equal(t, NoData, r.Verdict, name)
		assert.Zero(t, r.Offered)
		for _, x := range []float64{r.Attainment, r.AttainmentCI95[0], r.AttainmentCI[1], r.AttainmentBounds[0], r.OfferedRPS, r.GoodputRPS, r.TotalTPS} {
			assert.True(t, math.IsNaN(x), name)
		}
		for _, o := range r.Objectives {
			assert.False(t, o.Holds)
			assert.Equal(t, NoData, o.Verdict)
			assert.True(t, math.IsNaN(o.Share))
		}
		assert.True(t, hasWarning(r, ErrNoRequests), name)
		assert.True(t, hasWarning(r, ErrNoWindow), name)
		requireBooksClose(t, r)
	}
}

func hasWarning(r *Report, kind error) bool {
	for _, w := range r.Warnings {
		if errors.Is(w, kind) {
			return true
		}
	}
	return false
}

func TestClasses(t *testing.T) {
	set := slo.Set{"chat": slo.MustParse("e2e p50 < 1s"), "idle": slo.MustParse("e2e p50 < 1s")}
	a := NewAccumulator(slo.MustParse("e2e p50 < 10s"), WithClasses(set))
	for i, class := range []string{"chat", "chat", "batch", "", "default"} {
		r := request(time.Duration(i)*time.Second, 5*time.Second)
		r.Class = class
		a.Observe(r)
	}
	r := a.Report()
	require.Len(t, r.Classes, 4)
	assert.EqualValues(t, 2, r.Classes["chat"].Late)
	assert.EqualValues(t, 1, r.Classes["batch"].Good, "judged by the default, under its own name")
	assert.EqualValues(t, 2, r.Classes["default"].Good)
	assert.Equal(t, NoData, r.Classes["idle"].Verdict, "no data is not a pass")
	assert.Equal(t, NoData, r.Verdict)
	assert.Equal(t, map[string]uint64{"e2e p50 < 1s": 2}, r.Lost)
	assert.Empty(t, r.Objectives)
	assert.Equal(t, set.Fingerprint(a.slo), r.Fingerprint)
	assert.Equal(t, set["chat"].Fingerprint(), r.Classes["chat"].Fingerprint)
	assert.Equal(t, "chat", r.Classes["chat"].Class)
	requireBooksClose(t, r)
}

func TestClassesWithOneSLOHaveObjectivesInTheTotal(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p50 < 10s"))
	for i := range 10 {
		r := request(time.Duration(i)*time.Second, 5*time.Second)
		r.Class = []string{"a", "b"}[i%2]
		a.Observe(r)
	}
	r := a.Report()
	require.Len(t, r.Objectives, 1)
	assert.EqualValues(t, 10, r.Objectives[0].Within)
	assert.Len(t, r.Classes, 2)
	assert.Equal(t, a.slo.Fingerprint(), r.Fingerprint)
}

func TestTooManyClasses(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p50 < 10s"), WithClasses(slo.Set{"named": slo.MustParse("e2e p95 < 9s")}))
	for i := range 1000 {
		r := request(time.Duration(i)*ms, time.Second)
		r.Class = fmt.Sprintf("tenant-%d", i)
		a.Observe(r)
	}
	long := request(0, time.Second)
	long.Class = strings.Repeat("x", 1<<16)
	r := observe(a, long, request(0, time.Second))
	assert.Len(t, r.Classes, MaxClasses+2, "64, the default, and other")
	assert.EqualValues(t, 1000-(MaxClasses-1)+1, r.Classes[OtherClass].Offered)
	assert.Equal(t, r.Classes[OtherClass].Offered, r.Notes.OtherClasses)
	assert.True(t, hasWarning(r, ErrTooManyClasses))
	assert.EqualValues(t, 1002, r.Offered)
	requireBooksClose(t, r)
}

func TestRecordsThatCannotBeMeant(t *testing.T) {
	r := func(change func(*Record)) *Record {
		r := request(time.Second, time.Second)
		change(r)
		return r
	}
	a := NewAccumulator(slo.MustParse("e2e p50 < 10s, x_a p50 < 1"))
	report := observe(a,
		r(func(r *Record) { r.Start = time.Time{} }),
		r(func(r *Record) { r.Start = time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC) }),
		r(func(r *Record) { r.Start = time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC) }),
		r(func(r *Record) { r.Outcome = 0 }),
		r(func(r *Record) { r.Outcome = 200 }),
		r(func(r *Record) { r.End = -time.Hour }),
		r(func(r *Record) { r.Tokens = tokens(ms, 2*ms, 3*ms) }), // above OutputTokens: 2
		r(func(r *Record) { r.Custom = map[slo.Metric]float64{"x_a": math.NaN()} }),
		r(func(r *Record) { r.Custom = map[slo.Metric]float64{"ttft": 5} }),
		r(func(r *Record) { r.Limits = map[slo.Metric]float64{"e2e": 20, "ttft": 1} }),
		r(func(r *Record) { r.Limits = map[slo.Metric]float64{"e2e": math.NaN()} }),
		r(func(r *Record) {
			r.Custom = map[slo.Metric]float64{"x_a": 1, "x_1": 1, "x_2": 2, "x_3": 3, "x_4": 4, "x_5": 5, "x_6": 6, "x_": 1}
		}),
	)
	assert.Equal(t, Notes{Refused: 3, NoOutcome: 2, Repaired: 1, UsageBelow: 1, BadCustom: 1, IgnoredCustom: 1 + 3, Limits: 1, IgnoredLimits: 2}, report.Notes)
	assert.EqualValues(t, 9, report.Offered)
	assert.EqualValues(t, 2, report.Outcomes[ServerError])
	assert.True(t, hasWarning(report, ErrRecords))
	assert.True(t, hasWarning(report, ErrUsageBelow))
	assert.Len(t, report.Percentiles, builtins+1+maxCustom)
	requireBooksClose(t, report)
}

// hostile is a record of random rubbish.
func hostile(r *rand.Rand) *Record {
	pick := func() int64 {
		switch r.IntN(6) {
		case 0:
			return math.MaxInt64
		case 1:
			return math.MinInt64
		case 2:
			return 0
		case 3:
			return -r.Int64N(1e9)
		case 4:
			return r.Int64()
		}
		return r.Int64N(1e10)
	}
	rec := &Record{Class: []string{"", "a", "b", "\xff\x00"}[r.IntN(4)], Start: time.Unix(r.Int64N(6e9), 0), Sent: time.Duration(pick()),
		FirstByte: time.Duration(pick()), FirstOutput: time.Duration(pick()), End: time.Duration(pick()), InputTokens: int(pick()),
		OutputTokens: int(pick()), Outcome: Outcome(r.IntN(256)), Attempts: int(pick()), Detail: strings.Repeat("é", r.IntN(300))}
	for range r.IntN(5) {
		rec.Tokens = append(rec.Tokens, Token{At: time.Duration(pick()), N: int(pick())})
	}
	if r.IntN(2) == 0 {
		rec.Outcome = Success
	}
	if r.IntN(4) == 0 {
		rec.Start = time.Unix(pick()>>uint(r.IntN(40)), pick())
	}
	floats := []float64{0, -1, 1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324, 0.1}
	if r.IntN(3) == 0 {
		rec.Limits = map[slo.Metric]float64{"e2e": floats[r.IntN(9)], "itl": floats[r.IntN(9)], "speed": floats[r.IntN(9)], "x_a": floats[r.IntN(9)]}
		rec.Custom = map[slo.Metric]float64{"x_a": floats[r.IntN(9)], "x_b": floats[r.IntN(9)]}
	}
	return rec
}

func TestHostileRecords(t *testing.T) {
	s := slo.MustParse("ttft p95 < 1s, itl p99 < 1ms, tpot p50 < 720h, speed p95 >= 1000000tok/s, e2e p90 < 720h/token, x_a p50 < 1, service_ttft p50 < 1ns, lag p50 < 1s, error_rate < 1%")
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		a := NewAccumulator(s, WithWindow(time.Unix(1e9, 0), time.Time{}))
		for range 300 {
			a.Observe(hostile(r))
		}
		report := a.Report()
		requireBooksClose(t, report)
		jsonOf(t, report) // no NaN, no infinity
		b, err := a.MarshalBinary()
		require.NoError(t, err)
		var back Accumulator
		require.NoError(t, back.UnmarshalBinary(b))
		assert.Equal(t, report.Offered, back.Report().Offered)
	}
}

// goodput ≤ success rate ≤ throughput; over a whole run with nothing dropped or unfinished goodput = throughput × attainment.
func TestRatesAreInOrder(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		opts := [][]Option{nil, {WithWindow(epoch.Add(20*time.Second), epoch.Add(70*time.Second))}}[seed%2]
		a := NewAccumulator(slo.MustParse("e2e p95 < 2s"), opts...)
		unended := false
		for range 200 {
			r := request(time.Duration(rng.IntN(100_000))*ms, time.Duration(rng.IntN(4000))*ms)
			r.Outcome = Outcomes()[rng.IntN(1+rng.IntN(len(Outcomes())))]
			unended = unended || !r.Outcome.Throughput()
			a.Observe(r)
		}
		r := a.Report()
		assert.LessOrEqual(t, r.GoodputRPS, r.SuccessRPS)
		assert.LessOrEqual(t, r.SuccessRPS, r.ThroughputRPS)
		assert.LessOrEqual(t, r.TokenGoodputTPS, r.OutputTPS)
		if opts == nil && !unended {
			assert.InEpsilon(t, r.ThroughputRPS*r.Attainment, r.GoodputRPS, 1e-12)
		}
		lost := 0.0
		for _, v := range r.LostRPS {
			lost += v
		}
		assert.InDelta(t, r.ThroughputRPS-r.GoodputRPS, lost, 1e-9)
		requireBooksClose(t, r)
	}
}

func TestMonotonicClock(t *testing.T) {
	start := time.Now() // has a monotonic reading
	a := NewAccumulator(slo.MustParse("e2e p95 < 2s"), WithWindow(start, time.Time{}))
	r := observe(a, &Record{Start: start.Add(time.Second), End: time.Second, Outcome: Success})
	assert.Equal(t, 2.0, r.WindowS)
}

func TestWorst(t *testing.T) {
	a := NewAccumulator(slo.MustParse("ttft p95 < 100ms, e2e p95 < 1s"))
	for i := range 100 {
		r := request(time.Duration(i)*time.Second, time.Duration(i)*100*ms)
		r.Tokens = tokens(r.End/2, r.End)
		r.Detail, r.Finish = "detail "+strings.Repeat("é", 200), "stop"
		if i%10 == 9 {
			r.Outcome = Timeout
		}
		a.Observe(r)
	}
	w := a.Report().Worst
	require.Len(t, w, 16)
	assert.Equal(t, epoch.Add(98*time.Second), w[0].Start)
	assert.InDelta(t, 49, w[0].Excess, 1e-9, "ttft 4.9 s of 100 ms")
	assert.Equal(t, []string{"ttft p95 < 100ms", "e2e p95 < 1s"}, w[0].Missed)
	assert.InDelta(t, 4.9, w[0].Values["ttft"], 1e-12)
	assert.InDelta(t, 4.9, w[0].Values["itl"], 1e-12)
	assert.True(t, strings.HasPrefix(w[0].Detail, "detail é") && len(w[0].Detail) <= 256)
	assert.Equal(t, "stop", w[0].Finish)
	assert.Equal(t, epoch.Add(97*time.Second), w[1].Start)
	assert.Equal(t, Timeout, w[8].Outcome, "half of the places are for those that failed")
	assert.Equal(t, epoch.Add(99*time.Second), w[8].Start)
	assert.True(t, math.IsNaN(w[8].Excess))

	good := observe(NewAccumulator(slo.MustParse("e2e p95 < 1s")), request(0, ms))
	assert.Empty(t, good.Worst)
	few := NewAccumulator(slo.MustParse("e2e p95 < 1ms"))
	for i := range 40 {
		few.Observe(request(time.Duration(i), time.Second))
	}
	failed := request(0, time.Second)
	failed.Outcome = Empty
	assert.Len(t, observe(few, failed).Worst, 16, "the late ones take the places that the failed ones leave")
}

// The worst of all classes are in one order: by how late they were, and the failed by how long they took.
func TestWorstOfClasses(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	for i, class := range []string{"b", "a", "b", "a", "c", "a"} {
		late, failed := request(0, time.Duration(2+i)*time.Second), request(0, time.Duration(2+i)*time.Second)
		late.Class, failed.Class, failed.Outcome = class, class, Timeout
		a.Observe(late)
		a.Observe(failed)
	}
	var got []string
	for _, w := range a.Report().Worst {
		got = append(got, fmt.Sprint(w.Class, " ", w.Outcome, " ", w.Values["e2e"]))
	}
	require.Equal(t, []string{
		"a success 7", "c success 6", "a success 5", "b success 4", "a success 3", "b success 2",
		"a timeout 7", "c timeout 6", "a timeout 5", "b timeout 4", "a timeout 3", "b timeout 2",
	}, got)
}

func TestTimeline(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p95 < 1s"), WithWindow(epoch, time.Time{}))
	for i := range 10_000 {
		a.Observe(request(time.Duration(i-1000)*10*ms, time.Second))
	}
	line := a.Report().Timeline
	require.LessOrEqual(t, len(line.Slices), 512)
	assert.Greater(t, len(line.Slices), 128)
	var offered, ended, good, tokens uint64
	for _, s := range line.Slices {
		offered += s.Offered
		ended += s.Ended
		good += s.Good
		tokens += s.GoodOutputTokens
	}
	assert.Equal(t, [4]uint64{10_000, 10_000, 10_000, 20_000}, [4]uint64{offered, ended, good, tokens}, "with the warm-up")
	end := line.From.Add(time.Duration(len(line.Slices)) * line.Width)
	assert.False(t, line.From.After(epoch.Add(-10*time.Second)))
	assert.True(t, end.After(epoch.Add(91*time.Second-10*ms)))
	assert.Zero(t, epoch.Sub(line.From)%line.Width, "a slice begins with the window")
}

func TestClassNamesThatAreNoText(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p50 < 10s"))
	for _, class := range []string{"\xff", "\xfe", "fine"} {
		r := request(0, time.Second)
		r.Class = class
		a.Observe(r)
	}
	r := a.Report()
	assert.Len(t, r.Classes, 2)
	assert.EqualValues(t, 2, r.Classes[OtherClass].Offered)
}

// A report that is being made keeps nobody from observing for long, and what is observed meanwhile is not in it.
func TestReportIsACopy(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p50 < 10s"))
	a.Observe(request(0, time.Second))
	r, s := a.Report(), a.snapshot()
	for range 200 {
		a.Observe(request(time.Second, 5*time.Second))
	}
	a.drain()
	assert.EqualValues(t, 1, r.Offered)
	assert.EqualValues(t, 1, s.classes[0].books.offered)
	assert.EqualValues(t, 1, s.classes[0].books.digests[mE2E].Count())
	assert.EqualValues(t, 1, s.classes[0].books.slices.count(0, cOffered))
	assert.EqualValues(t, 1, s.classes[0].books.within[0])
}

// What an accumulator allocates grows with the number of its classes, and not with its square.
func TestManyNamedClasses(t *testing.T) {
	allocated := func(n int) float64 {
		set := slo.Set{}
		for i := range n {
			set[strconv.Itoa(i)] = slo.MustParse("e2e p95 < 1s")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := NewAccumulator(slo.MustParse("e2e p95 < 2s"), WithClasses(set))
		runtime.ReadMemStats(&after)
		require.Len(t, a.Report().Classes, n)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	few := allocated(100)
	assert.Less(t, allocated(800)/few, 16.0)
}
