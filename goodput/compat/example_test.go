package compat_test

import (
	"fmt"
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
