package goodput_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// requests are 1,000 requests in 100 s, of which 50 are late.
func requests() (all []*goodput.Record) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i := range 1000 {
		r := &goodput.Record{
			Start: start.Add(time.Duration(i) * 99 * time.Millisecond), End: 1099 * time.Millisecond,
			Tokens:  []goodput.Token{{At: 300 * time.Millisecond, N: 1}, {At: 1000 * time.Millisecond, N: 35}},
			Outcome: goodput.Success, OutputTokens: 36,
		}
		if i%20 == 7 {
			r.Tokens[0].At = 900 * time.Millisecond
		}
		all = append(all, r)
	}
	return all
}

func ExampleAccumulator() {
	acc := goodput.NewAccumulator(slo.MustParse("ttft p95 < 800ms, error_rate < 1%"))
	for _, r := range requests() {
		acc.Observe(r)
	}
	r := acc.Report()
	fmt.Printf("offered %.1f/s over the window, arrived at %.1f/s\n", r.OfferedRPS, r.ArrivalRPS)
	fmt.Printf("throughput %.1f/s, goodput %.1f/s, attainment %.0f%%\n", r.ThroughputRPS, r.GoodputRPS, 100*r.Attainment)
	fmt.Println("lost:", r.Lost)
	for _, o := range r.Objectives {
		fmt.Printf("%s: share %.3f, holds %t, verdict %s\n", o.Objective, o.Share, o.Holds, o.Verdict)
	}
	fmt.Println("verdict:", r.Verdict)
	// Output:
	// offered 10.0/s over the window, arrived at 10.1/s
	// throughput 10.0/s, goodput 9.5/s, attainment 95%
	// lost: map[ttft p95 < 800ms:50]
	// ttft p95 < 800ms: share 0.950, holds true, verdict inconclusive
	// error_rate < 1%: share 0.000, holds true, verdict met
	// verdict: inconclusive
}

// A steady state leaves out the warm-up. Its end may be set when it is known.
func ExampleWithWindow() {
	all := requests()
	acc := goodput.NewAccumulator(slo.MustParse("ttft p95 < 800ms"),
		goodput.WithWindow(all[0].Start.Add(10*time.Second), time.Time{}))
	acc.EndWindow(all[0].Start.Add(70 * time.Second))
	for _, r := range all {
		acc.Observe(r)
	}
	r := acc.Report()
	fmt.Println(r.Window.Kind, r.WindowS, "s,", r.Offered, "requests started in it,", r.Flow.Ended, "ended in it")
	// Output: steady state 60 s, 606 requests started in it, 606 ended in it
}

func ExampleWithClasses() {
	acc := goodput.NewAccumulator(slo.MustParse("ttft p95 < 800ms"),
		goodput.WithClasses(slo.Set{"batch": slo.MustParse("e2e p90 < 60s")}))
	for i, r := range requests() {
		if i%2 == 1 {
			r.Class = "batch"
		}
		acc.Observe(r)
	}
	r := acc.Report()
	fmt.Println("batch:", r.Classes["batch"].Good, "of", r.Classes["batch"].Offered)
	fmt.Println("default:", r.Classes["default"].Good, "of", r.Classes["default"].Offered)
	fmt.Println("total:", r.Good, "of", r.Offered)
	// Output:
	// batch: 500 of 500
	// default: 500 of 500
	// total: 1000 of 1000
}

// Two processes that measured the same count as one.
func ExampleAccumulator_Merge() {
	s := slo.MustParse("ttft p95 < 800ms")
	a, b := goodput.NewAccumulator(s), goodput.NewAccumulator(s)
	for i, r := range requests() {
		if i < 300 {
			a.Observe(r)
		} else {
			b.Observe(r)
		}
	}
	data, _ := b.MarshalBinary() // sent from one process
	var received goodput.Accumulator
	if err := received.UnmarshalBinary(data); err != nil { // to the other
		fmt.Println(err)
		return
	}
	if err := a.Merge(&received); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Report().Good, "of", a.Report().Offered)
	// Output: 950 of 1000
}

func ExampleJudge() {
	judge := goodput.NewJudge(slo.MustParse("ttft p95 < 800ms, itl p95 < 50ms"), nil)
	r := requests()[7]
	v := judge.Judge(r)
	fmt.Println(v.Good, v.First, v.Misses(0), v.Misses(1))
	fmt.Println("lost to", judge.Cause(r))
	// Output:
	// false 0 true false
	// lost to ttft p95 < 800ms
}

func ExampleRecord_Value() {
	r := requests()[0]
	for _, m := range []slo.Metric{slo.TTFT, slo.TPOT, slo.E2E, slo.Metric("x_cost")} {
		v, ok := r.Value(m)
		fmt.Println(m, v, ok)
	}
	// Output:
	// ttft 0.3 true
	// tpot 0.02 true
	// e2e 1.099 true
	// x_cost 0 false
}

// Warnings are values.
func ExampleReport_warnings() {
	acc := goodput.NewAccumulator(slo.MustParse("e2e p95 < 2s"))
	for _, r := range requests()[:5] {
		acc.Observe(r)
	}
	for _, w := range acc.Report().Warnings {
		switch {
		case errors.Is(w, goodput.ErrFewRequests), errors.Is(w, goodput.ErrThinPercentile), errors.Is(w, goodput.ErrSampleTooSmall):
			fmt.Println("needs more requests:", w)
		default:
			fmt.Println(w)
		}
	}
	// Output:
	// needs more requests: sample too small for the percentile: p95 of 5 requests
	// needs more requests: sample too small to tell: it takes about 73 requests like these to show e2e p95 < 2s
	// needs more requests: few requests: below 20 the intervals take them as independent
}

func ExampleReport_json() {
	acc := goodput.NewAccumulator(slo.MustParse("e2e p95 < 2s"))
	for _, r := range requests() {
		acc.Observe(r)
	}
	file, _ := json.Marshal(acc.Report())
	var r goodput.Report
	if err := json.Unmarshal(file, &r); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.SLO, r.Fingerprint, r.Good)
	// Output: e2e p95 < 2s 1adc042fc5c35a84 1000
}
