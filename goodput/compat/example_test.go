package compat_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/compat"
	"github.com/goodputkit/goodputkit/slo"
)

// A hundred requests in ten seconds: ten were refused, ten waited in the client, ten were slow.
func ExampleScorer() {
	c := compat.NewScorer(slo.MustParse("ttft p95 < 200ms, tpot p95 < 50ms"))
	for i := range 100 {
		r := goodput.Record{Start: time.Unix(1_000_000, 0).Add(time.Duration(i) * 100 * time.Millisecond), Outcome: goodput.Success}
		ttft := 100 * time.Millisecond
		switch i % 10 {
		case 1:
			r.Outcome, r.End = goodput.RateLimited, 2*time.Millisecond
			c.Observe(&r)
			continue
		case 2:
			r.Sent = 300 * time.Millisecond
		case 3:
			ttft = 250 * time.Millisecond
		}
		for k := range 5 {
			r.Tokens = append(r.Tokens, goodput.Token{At: r.Sent + ttft + time.Duration(k)*20*time.Millisecond, N: 1})
		}
		r.End, r.OutputTokens = r.Tokens[4].At, 5
		c.Observe(&r)
	}
	result := c.Compare()
	fmt.Printf("ours: %.0f%% of %d good\n", 100*result.Ours.Attainment, result.Ours.Requests)
	for _, s := range result.Scores[:2] {
		fmt.Printf("%s: %.1f%% of %d good\n", s.Tool, 100*s.Attainment, s.Requests)
		for _, d := range s.Differences {
			fmt.Println(" ", d)
		}
	}
	// Output:
	// ours: 70% of 100 good
	// vLLM bench serve: 88.9% of 90 good
	//   counts from the send: 10 requests had waited in the client, 300 ms at most: attainment +10.0 points
	//   10 failed requests left out of the denominator: attainment +8.9 points
	// AIPerf: 80.0% of 100 good
	//   counts from the send: 10 requests had waited in the client, 300 ms at most: attainment +10.0 points
}

// An old result: no start_times, no latencies, no queue_times.
func ExampleReadVLLM() {
	run, err := compat.ReadVLLM(strings.NewReader(`{"date": "20250310-101500", "model_id": "m", "duration": 2.5, "completed": 2,
		"input_lens": [10, 20, 30], "output_lens": [3, 1, 0], "ttfts": [0.1, 0.25, 0.0], "itls": [[0.02, 0.03], [], []],
		"generated_texts": ["…", "…", ""], "errors": ["", "", "Too Many Requests"]}`))
	if err != nil {
		panic(err)
	}
	for _, w := range run.Warnings {
		fmt.Println("warning:", w)
	}
	r := run.Report(slo.MustParse("ttft p50 < 200ms"))
	fmt.Printf("%d of %d good, %.1f/s, %d rate limited\n", r.Good, r.Offered, r.GoodputRPS, r.Outcomes[goodput.RateLimited])
	// Output:
	// warning: no start_times: all requests begin at one instant here, so the time line and what depends on their order say nothing
	// warning: no queue_times: latencies count from the send; a wait in the client is not known
	// warning: no latencies: a request ends with its last chunk here
	// warning: failures without an end: 1 request
	// 1 of 3 good, 0.4/s, 1 rate limited
}
