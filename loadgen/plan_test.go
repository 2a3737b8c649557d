package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// run carries a plan out in a bubble and gives back what it found and its records, in order of Start.
func run(t *testing.T, target Target, p Plan) (res *Result, rs []*goodput.Record) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		if p.Records == nil {
			p.Records = &file
		}
		start := time.Now()
		var err error
		res, err = Run(t.Context(), target, p)
		require.NoError(t, err)
		if p.Records != &file {
			return
		}
		rs = readRecords(t, file.Bytes())
		for _, r := range rs {
			r.Start = time.Time{}.Add(r.Start.Sub(start))
		}
		checkBooks(t, p, res.Report, rs, "")
	})
	return res, rs
}

// starts are the offsets of the records' Starts.
func starts(rs []*goodput.Record) (at []time.Duration) {
	for _, r := range rs {
		at = append(at, r.Start.Sub(time.Time{}))
	}
	return at
}

const ms = time.Millisecond

func TestEachFieldOfPlan(t *testing.T) {
	open := func() Plan { return Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Requests: 10} }
	closed := func() Plan { return Plan{SLO: e2e, Concurrency: 2, Requests: 10} }
	fields := map[string]func(t *testing.T){
		"SLO": func(t *testing.T) {
			p := open()
			res, _ := run(t, takes(50*ms), p)
			assert.EqualValues(t, 10, res.Report.Good)
			p.SLO = slo.MustParse("e2e p95 < 49ms")
			res, _ = run(t, takes(50*ms), p)
			assert.Zero(t, res.Report.Good)
			assert.Equal(t, p.SLO.String(), res.Report.SLO.String())
		},
		"Classes": func(t *testing.T) {
			p := open()
			p.Classes = slo.Set{"slow": slo.MustParse("e2e p95 < 1s"), "fast": slo.MustParse("e2e p95 < 1ms")}
			p.Workload = slices.Values([]*Request{{Class: "slow"}, {Class: "fast"}, {}})
			res, _ := run(t, takes(50*ms), p)
			assert.EqualValues(t, 1, res.Report.Classes["slow"].Good)
			assert.EqualValues(t, 0, res.Report.Classes["fast"].Good)
			assert.EqualValues(t, 1, res.Report.Classes["default"].Good)
		},
		"Arrivals": func(t *testing.T) {
			p := open()
			p.Arrivals = Replay{At: []time.Duration{0, 0, 3 * ms, 7 * ms}}
			_, rs := run(t, takes(50*ms), p)
			assert.Equal(t, []time.Duration{0, 0, 3 * ms, 7 * ms}, starts(rs))
		},
		"Concurrency": func(t *testing.T) {
			p := closed()
			_, rs := run(t, takes(50*ms), p)
			assert.Equal(t, []time.Duration{0, 0, 50 * ms, 50 * ms, 100 * ms, 100 * ms, 150 * ms, 150 * ms, 200 * ms, 200 * ms}, starts(rs))
			p.Concurrency = 5
			_, rs = run(t, takes(50*ms), p)
			assert.Equal(t, []time.Duration{0, 0, 0, 0, 0, 50 * ms, 50 * ms, 50 * ms, 50 * ms, 50 * ms}, starts(rs))
		},
		"ThinkTime": func(t *testing.T) {
			p := closed()
			p.Requests, p.ThinkTime = 6, 7*ms
			_, rs := run(t, takes(50*ms), p)
			assert.Equal(t, []time.Duration{0, 0, 57 * ms, 57 * ms, 114 * ms, 114 * ms}, starts(rs))
			for _, r := range rs {
				assert.Equal(t, 50*ms, r.End, "thinking is not waiting")
			}
		},
		"RampUp": func(t *testing.T) {
			p := closed()
			p.Concurrency, p.Requests, p.RampUp = 4, 6, 40*ms
			_, rs := run(t, takes(35*ms), p)
			assert.Equal(t, []time.Duration{0, 10 * ms, 20 * ms, 30 * ms, 35 * ms, 45 * ms}, starts(rs))
		},
		"Workload": func(t *testing.T) {
			p := open()
			var got []string
			p.Workload = slices.Values([]*Request{{Prompt: "a"}, nil, {Prompt: "c"}})
			res, rs := run(t, TargetFunc(func(_ context.Context, r *Request, _ *Trace) error {
				got = append(got, r.Prompt)
				return nil
			}), p)
			assert.Equal(t, []string{"a", "", "c"}, got)
			assert.EqualValues(t, 3, res.Report.Offered)
			assert.Len(t, rs, 3)
			p.Workload = nil
			res, _ = run(t, takes(0), p)
			assert.EqualValues(t, 10, res.Report.Offered, "empty requests")
		},
		"Repeat": func(t *testing.T) {
			p := open()
			p.Workload, p.Repeat = numbered(3), true
			var got []int
			run(t, TargetFunc(func(_ context.Context, r *Request, _ *Trace) error {
				got = append(got, r.InputTokens)
				return nil
			}), p)
			assert.Equal(t, []int{1, 2, 3, 1, 2, 3, 1, 2, 3, 1}, got)
			p.Workload = func(func(*Request) bool) {}
			res, _ := run(t, takes(0), p)
			assert.Zero(t, res.Report.Offered, "nothing, however often")
		},
		"Requests": func(t *testing.T) {
			p := open()
			p.Requests = 4
			res, rs := run(t, takes(50*ms), p)
			assert.Len(t, rs, 4)
			assert.Equal(t, goodput.WholeRun, res.Report.Window.Kind)
			p.Duration = 200 * ms // the first bound counts
			_, rs = run(t, takes(50*ms), p)
			assert.Len(t, rs, 2)
			p.Duration = time.Hour
			res, rs = run(t, takes(50*ms), p)
			assert.Len(t, rs, 4)
			assert.InDelta(t, 0.3, res.Report.WindowS, 1e-12, "to the last Start")
			assert.True(t, res.Report.Window.ToIncluded)
		},
		"Warmup": func(t *testing.T) {
			p := open()
			p.Warmup = 500 * ms
			res, rs := run(t, takes(50*ms), p)
			assert.Len(t, rs, 15, "warm-up comes before Requests are counted")
			assert.EqualValues(t, 10, res.Report.Offered)
			assert.InDelta(t, 0.9, res.Report.WindowS, 1e-12)
			p.Requests, p.Duration = 0, time.Second
			res, rs = run(t, takes(50*ms), p)
			assert.Len(t, rs, 15, "warm-up comes before Duration")
			assert.EqualValues(t, 10, res.Report.Offered)
			assert.InDelta(t, 1, res.Report.WindowS, 1e-12)
			assert.Equal(t, goodput.SteadyState, res.Report.Window.Kind)
		},
		"WarmupRequests": func(t *testing.T) {
			p := open()
			p.WarmupRequests = 5
			res, rs := run(t, takes(50*ms), p)
			assert.Len(t, rs, 15)
			assert.EqualValues(t, 10, res.Report.Offered)
			assert.InDelta(t, 0.9, res.Report.WindowS, 1e-12)
			p.Requests, p.Duration = 0, time.Second
			res, rs = run(t, takes(50*ms), p)
			assert.Len(t, rs, 15)
			assert.InDelta(t, 1, res.Report.WindowS, 1e-12)
		},
		"Duration": func(t *testing.T) {
			p := open()
			p.Requests, p.Duration = 0, time.Second
			res, rs := run(t, takes(150*ms), p)
			assert.Len(t, rs, 10)
			assert.InDelta(t, 1, res.Report.WindowS, 1e-12)
			assert.EqualValues(t, 9, res.Report.Flow.Ended, "the last one ends after the window")
			p = closed()
			p.Requests, p.Duration = 0, time.Second
			res, rs = run(t, takes(150*ms), p)
			assert.Len(t, rs, 14)
			assert.InDelta(t, 1, res.Report.WindowS, 1e-12)
		},
		"Cooldown": func(t *testing.T) {
			p := open()
			p.Cooldown = 300 * ms
			res, rs := run(t, takes(150*ms), p)
			assert.Len(t, rs, 12, "before 300 ms after the last of Requests")
			assert.EqualValues(t, 10, res.Report.Offered)
			assert.InDelta(t, 0.9, res.Report.WindowS, 1e-12, "to the last Start before it")
			assert.Equal(t, goodput.SteadyState, res.Report.Window.Kind)
			p.Requests, p.Duration, p.Drain = 0, time.Second, 50*ms
			res, rs = run(t, takes(150*ms), p)
			assert.Len(t, rs, 13)
			assert.InDelta(t, 1, res.Report.WindowS, 1e-12)
			assert.EqualValues(t, 10, res.Report.Outcomes[goodput.Success], "Drain begins after it")
			assert.Equal(t, 1350*ms, res.Elapsed)
			p = closed()
			p.Requests, p.Duration, p.Cooldown = 0, time.Second, 300*ms
			res, rs = run(t, takes(150*ms), p)
			assert.Len(t, rs, 18)
			assert.EqualValues(t, 14, res.Report.Offered)
		},
		"CooldownRequests": func(t *testing.T) {
			p := open()
			p.CooldownRequests = 3
			res, rs := run(t, takes(150*ms), p)
			assert.Len(t, rs, 13)
			assert.EqualValues(t, 10, res.Report.Offered)
			assert.InDelta(t, 0.9, res.Report.WindowS, 1e-12)
			p.Requests, p.Duration = 0, time.Second
			res, rs = run(t, takes(150*ms), p)
			assert.Len(t, rs, 13)
			assert.InDelta(t, 1, res.Report.WindowS, 1e-12)
			p.Workload = numbered(11) // which ends before the cool-down does
			res, rs = run(t, takes(150*ms), p)
			assert.Len(t, rs, 11)
			assert.InDelta(t, 1, res.Report.WindowS, 1e-12)
		},
		"Timeout": func(t *testing.T) {
			p := open()
			p.Timeout = 30 * ms
			res, rs := run(t, takes(50*ms), p)
			assert.EqualValues(t, 10, res.Report.Outcomes[goodput.Timeout])
			for _, r := range rs {
				assert.Equal(t, 30*ms, r.End)
			}
			p.Timeout = 0
			_, rs = run(t, takes(time.Hour), p)
			assert.Equal(t, DefaultTimeout, rs[0].End)
		},
		"Drain": func(t *testing.T) {
			p := open()
			p.Drain = 20 * ms
			res, rs := run(t, takes(50*ms), p)
			assert.EqualValues(t, 9, res.Report.Good)
			assert.EqualValues(t, 1, res.Report.Outcomes[goodput.Unfinished])
			assert.Equal(t, 20*ms, rs[9].End)
			assert.Equal(t, 920*ms, res.Elapsed)
			assert.NoError(t, res.Cut, "it was planned so")
			p.Requests, p.Duration = 0, time.Second // from the end of Duration, not from the last Start
			res, _ = run(t, takes(110*ms), p)
			assert.EqualValues(t, 10, res.Report.Outcomes[goodput.Success])
			p.Drain = 0 // as long as a Timeout: nothing is cut off
			p.Timeout = time.Second
			res, _ = run(t, takes(time.Hour), p)
			assert.EqualValues(t, 10, res.Report.Outcomes[goodput.Timeout])
		},
		"MaxInFlight": func(t *testing.T) {
			p := open()
			p.MaxInFlight, p.Overflow = 1, Wait
			p.Requests = 3
			_, rs := run(t, takes(150*ms), p)
			assert.Equal(t, []time.Duration{0, 100 * ms, 200 * ms}, starts(rs))
			assert.Equal(t, []time.Duration{0, 50 * ms, 100 * ms}, []time.Duration{rs[0].Sent, rs[1].Sent, rs[2].Sent}, "the wait is in the lag")
			assert.Equal(t, []time.Duration{150 * ms, 200 * ms, 250 * ms}, []time.Duration{rs[0].End, rs[1].End, rs[2].End}, "and in the latency")
			p.MaxInFlight = 2
			_, rs = run(t, takes(150*ms), p)
			assert.Equal(t, []time.Duration{0, 0, 0}, []time.Duration{rs[0].Sent, rs[1].Sent, rs[2].Sent})
		},
		"Overflow": func(t *testing.T) {
			p := open()
			p.MaxInFlight, p.Overflow = 1, Drop
			res, rs := run(t, takes(150*ms), p)
			assert.EqualValues(t, 5, res.Report.Outcomes[goodput.Dropped])
			assert.EqualValues(t, 5, res.Report.Outcomes[goodput.Success])
			assert.Equal(t, goodput.Dropped, rs[1].Outcome)
			assert.Zero(t, rs[1].End)
			p.Overflow = Wait // one that waits to its deadline is a timeout, and was never sent
			p.Arrivals, p.Timeout = Replay{At: []time.Duration{0, 0, 0, 100 * ms}}, 160*ms
			sent := 0
			res, rs = run(t, TargetFunc(func(ctx context.Context, r *Request, tr *Trace) error {
				sent++
				return takes(time.Hour)(ctx, r, tr)
			}), p)
			assert.EqualValues(t, 4, res.Report.Outcomes[goodput.Timeout])
			for i, sent := range []time.Duration{0, 160 * ms, 160 * ms, 60 * ms} {
				assert.Equal(t, sent, rs[i].Sent)
				assert.Equal(t, 160*ms, rs[i].End)
			}
			assert.Equal(t, 2, sent)
		},
		"Seed": func(t *testing.T) {
			p := open()
			at := func(seed uint64, a Arrivals) []time.Duration {
				p.Arrivals, p.Seed = a, seed
				_, rs := run(t, takes(0), p)
				return starts(rs)
			}
			a := at(1, Poisson{Rate: 10})
			assert.Equal(t, a, at(1, Poisson{Rate: 10}))
			assert.NotEqual(t, a, at(2, Poisson{Rate: 10}))
			assert.NotEqual(t, a, at(0, Poisson{Rate: 10}))
			assert.Equal(t, at(1, Poisson{Rate: 10, Seed: 3}), at(2, Poisson{Rate: 10, Seed: 3}), "a seed of its own")
			assert.NotEqual(t, at(1, Gamma{Rate: 10, Burstiness: 2}), at(2, Gamma{Rate: 10, Burstiness: 2}))
		},
		"Progress": func(t *testing.T) {
			p := open()
			p.Requests = 35
			var calls []Progress
			p.Progress = func(p Progress) { calls = append(calls, p) }
			run(t, takes(50*ms), p)
			require.Len(t, calls, 4)
			assert.Equal(t, 3*time.Second, calls[2].Elapsed)
			assert.True(t, calls[3].Done)
		},
		"Records": func(t *testing.T) {
			var file bytes.Buffer
			p := open()
			p.Records = &file
			res, _ := run(t, takes(50*ms), p)
			rs := readRecords(t, file.Bytes())
			assert.Len(t, rs, 10)
			var again bytes.Buffer
			acc := goodput.NewAccumulator(p.SLO)
			for _, r := range rs {
				acc.Observe(r)
			}
			r := acc.Report()
			r.Health = res.Report.Health
			require.NoError(t, writeJSON(&again, r))
			var was bytes.Buffer
			require.NoError(t, writeJSON(&was, res.Report))
			assert.JSONEq(t, was.String(), again.String(), "the file gives the same report again")
		},
	}
	var names []string
	for i := range reflect.TypeFor[Plan]().NumField() {
		names = append(names, reflect.TypeFor[Plan]().Field(i).Name)
	}
	slices.Sort(names)
	require.Equal(t, names, slices.Sorted(maps.Keys(fields)), "each field has a test, and each test a field")
	for _, name := range names {
		t.Run(name, fields[name])
	}
}

func TestPlanRefused(t *testing.T) {
	open := func(f func(*Plan)) Plan {
		p := Plan{SLO: e2e, Arrivals: Constant{Rate: 1}, Requests: 1}
		f(&p)
		return p
	}
	closed := func(f func(*Plan)) Plan {
		p := Plan{SLO: e2e, Concurrency: 1, Requests: 1}
		f(&p)
		return p
	}
	for _, c := range []struct {
		field, says string
		p           Plan
	}{
		{"SLO", "at least one objective", open(func(p *Plan) { p.SLO = slo.SLO{} })},
		{"Classes", "chat", open(func(p *Plan) { p.Classes = slo.Set{"chat": {}} })},
		{"Arrivals", "no load", open(func(p *Plan) { p.Arrivals = nil })},
		{"Arrivals", "Constant.Rate is 0", open(func(p *Plan) { p.Arrivals = Constant{} })},
		{"Arrivals", "Poisson.Rate is NaN", open(func(p *Plan) { p.Arrivals = Poisson{Rate: math.NaN()} })},
		{"Arrivals", "Gamma.Burstiness is 0", open(func(p *Plan) { p.Arrivals = Gamma{Rate: 1} })},
		{"Arrivals", "Replay.At[1]", open(func(p *Plan) { p.Arrivals = Replay{At: []time.Duration{2, 1}} })},
		{"Arrivals", "ArrivalsFunc is nil", open(func(p *Plan) { p.Arrivals = ArrivalsFunc(nil) })},
		{"Concurrency", "MaxInFlight", open(func(p *Plan) { p.Concurrency = 1 })},
		{"Concurrency", ": -1 is negative", closed(func(p *Plan) { p.Concurrency = -1 })},
		{"ThinkTime", "closed loop", open(func(p *Plan) { p.ThinkTime = 1 })},
		{"RampUp", "closed loop", open(func(p *Plan) { p.RampUp = 1 })},
		{"ThinkTime", "-1.5s is negative", closed(func(p *Plan) { p.ThinkTime = -1500 * ms })},
		{"RampUp", "-1m0s is negative", closed(func(p *Plan) { p.RampUp = -time.Minute })},
		{"Requests", "nothing ends the run", open(func(p *Plan) { p.Requests = 0 })},
		{"Requests", "nothing ends the run", closed(func(p *Plan) { p.Requests = 0; p.Warmup = time.Hour })},
		{"Requests", "nothing ends the run", closed(func(p *Plan) { p.Requests, p.Workload, p.Repeat = 0, numbered(3), true })},
		{"Requests", ": -1 is negative", open(func(p *Plan) { p.Requests = -1 })},
		{"Repeat", "no Workload", open(func(p *Plan) { p.Repeat = true })},
		{"Warmup", "-3s is negative", open(func(p *Plan) { p.Warmup = -3 * time.Second })},
		{"WarmupRequests", ": -1 is negative", open(func(p *Plan) { p.WarmupRequests = -1 })},
		{"WarmupRequests", "not both", open(func(p *Plan) { p.Warmup, p.WarmupRequests = 1, 1 })},
		{"WarmupRequests", "not both", open(func(p *Plan) { p.Warmup, p.WarmupRequests = WarmupAuto, 1 })},
		{"Cooldown", "-1ns is negative", open(func(p *Plan) { p.Cooldown = -1 })},
		{"Cooldown", "set Requests or Duration", open(func(p *Plan) { p.Requests, p.Workload, p.Cooldown = 0, numbered(3), 1 })},
		{"Cooldown", "too long", open(func(p *Plan) { p.Cooldown = math.MaxInt64 })},
		{"CooldownRequests", ": -1 is negative", open(func(p *Plan) { p.CooldownRequests = -1 })},
		{"CooldownRequests", "not both", open(func(p *Plan) { p.Cooldown, p.CooldownRequests = 1, 1 })},
		{"CooldownRequests", "set Requests or Duration", open(func(p *Plan) { p.Requests, p.Workload, p.CooldownRequests = 0, numbered(3), 1 })},
		{"Duration", "-1h0m0s is negative", open(func(p *Plan) { p.Duration = -time.Hour })},
		{"Duration", "too long", open(func(p *Plan) { p.Duration = math.MaxInt64 })},
		{"Drain", "too long", open(func(p *Plan) { p.Duration, p.Timeout, p.Drain = 1<<61, 1<<61, 1<<62 })},
		{"Timeout", "-20ms is negative", open(func(p *Plan) { p.Timeout = -20 * ms })},
		{"Drain", "-2s is negative", open(func(p *Plan) { p.Drain = -2 * time.Second })},
		{"MaxInFlight", ": -1 is negative", open(func(p *Plan) { p.MaxInFlight = -1 })},
		{"MaxInFlight", "Concurrency is the limit", closed(func(p *Plan) { p.MaxInFlight, p.Overflow = 1, Wait })},
		{"Overflow", "Wait or Drop", open(func(p *Plan) { p.MaxInFlight = 1 })},
		{"Overflow", "without MaxInFlight", open(func(p *Plan) { p.Overflow = Drop })},
		{"Overflow", "neither", open(func(p *Plan) { p.MaxInFlight, p.Overflow = 1, 9 })},
	} {
		called := false
		res, err := Run(t.Context(), TargetFunc(func(context.Context, *Request, *Trace) error {
			called = true
			return nil
		}), c.p)
		assert.Nil(t, res)
		var pe *PlanError
		if assert.ErrorAs(t, err, &pe, "%s: %s", c.field, c.says) {
			assert.Equal(t, c.field, pe.Field)
			assert.Contains(t, err.Error(), "loadgen: Plan."+c.field+": ")
			assert.Contains(t, err.Error(), c.says)
			assert.NotContains(t, err.Error(), "\n")
		}
		assert.False(t, called)
	}
	for _, p := range []Plan{
		closed(func(p *Plan) { p.Requests, p.Workload = 0, numbered(3) }),
		open(func(p *Plan) { p.Requests, p.Arrivals = 0, Replay{} }),
		open(func(p *Plan) { p.Requests, p.Arrivals = 0, ArrivalsFunc(func(func(time.Duration) bool) {}) }),
	} {
		assert.NoError(t, p.Validate())
	}
}

func writeJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// A header of records that does not fit into a buffer is written, and its writer fails, before the first request, where
// no goroutine writes it.
func TestRecordsHeaderRefused(t *testing.T) {
	p := Plan{SLO: e2e, Classes: slo.Set{}, Concurrency: 1, Requests: 1}
	for i := range 3000 {
		p.Classes[fmt.Sprint("a class with a long name ", strings.Repeat("x", 60), i)] = e2e
	}
	p.Records = writerFunc(func([]byte) (int, error) { return 0, errors.New("disk full") })
	_, err := NewBook(p, Description{}, time.Unix(0, 0))
	require.EqualError(t, err, "loadgen: Plan.Records: disk full")
	for i := range 3000 {
		p.Classes[fmt.Sprint("a class with a long name ", strings.Repeat("x", 600), i)] = e2e
	}
	_, err = Run(t.Context(), takes(0), p)
	var pe *PlanError
	require.ErrorAs(t, err, &pe)
	assert.Equal(t, "Records", pe.Field)
}

func TestPlanNeedsAMetric(t *testing.T) {
	gives := func(names ...slo.Metric) Description {
		return Description{Name: "deaf", Gives: func(m slo.Metric) bool { return slices.Contains(names, m) }}
	}
	check := func(d Description, p Plan) error {
		p.Concurrency, p.Requests = 1, 1
		_, err := Run(t.Context(), described{takes(0), d}, p)
		return err
	}
	need := Plan{SLO: slo.MustParse("ttft p95 < 1s, e2e p95 < 8s, error_rate < 1%")}
	err := check(gives(), need)
	require.ErrorIs(t, err, ErrNotGiven)
	assert.EqualError(t, err, "loadgen: Plan.SLO: ttft p95 < 1s: the target does not give this metric: deaf")
	assert.NoError(t, check(gives(slo.TTFT), need))
	assert.NoError(t, check(Description{}, need), "nobody said")
	need = Plan{SLO: e2e, Classes: slo.Set{"chat": slo.MustParse("x_cost p95 < 3")}}
	err = check(gives(), need)
	require.ErrorIs(t, err, ErrNotGiven)
	assert.Contains(t, err.Error(), `Plan.Classes["chat"]: `)
}

func TestRecordsHeaderSaysTheLoad(t *testing.T) {
	for load, p := range map[string]Plan{
		"constant 5/s, at most 3 in flight, else drop": {Arrivals: Constant{Rate: 5}, MaxInFlight: 3, Overflow: Drop},
		"poisson 5/s, seed 9":                          {Arrivals: Poisson{Rate: 5, Seed: 9}, Warmup: time.Minute},
		"closed loop of 7, think time 1s":              {Concurrency: 7, ThinkTime: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var file bytes.Buffer
			p.SLO, p.Requests, p.Records = e2e, 1, &file
			_, err := Run(t.Context(), described{takes(0), Description{Name: "a server\nof\x00 two lines"}}, p)
			require.NoError(t, err)
			rr, err := goodput.ReadRecords(&file)
			require.NoError(t, err)
			assert.Equal(t, map[string]string{"target": "a server of two lines", "load": load}, rr.Header().About)
			assert.Equal(t, p.Warmup > 0, rr.Header().Window.Open)
		})
	}
}

func TestOverflowString(t *testing.T) {
	assert.Equal(t, "wait drop Overflow(7)", Wait.String()+" "+Drop.String()+" "+Overflow(7).String())
}
