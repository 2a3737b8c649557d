package capacity_test

import (
	"context"
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/capacity"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

// A plan for a simulated engine: prompts of 200 tokens, answers of 50.
func plan() loadgen.Plan {
	return loadgen.Plan{
		SLO: slo.MustParse("ttft p95 < 500ms, tpot p95 < 50ms"),
		Workload: func(yield func(*loadgen.Request) bool) {
			for yield(&loadgen.Request{InputTokens: 200, MaxTokens: 50}) {
			}
		},
		Warmup: 10 * time.Second, Duration: 90 * time.Second, Seed: 1,
	}
}

func ExampleSearch() {
	p := plan()
	p.Duration = 10 * time.Minute // with 90 s the interval is 16 to 66 requests/s
	limit, err := capacity.Search(context.Background(), llmsim.Runner(llmsim.OPT13BTP4()), p, capacity.WithStart(4))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s: %.0f %% of %.0f requests/s are recommended\n", limit.State, 100*limit.Recommended/limit.Rate, limit.Rate)
	// Output: found: 80 % of 65 requests/s are recommended
}

func ExampleSweep() {
	c, err := capacity.Sweep(context.Background(), llmsim.Runner(llmsim.OPT13BTP4()), plan(), capacity.Rates(16, 32, 64, 128, 256, 512),
		capacity.WithStop(capacity.Hopeless(0.5)))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s between %v/s and %v/s, after %d steps\n", c.Limit.State, c.Limit.Lo, c.Limit.Hi, len(c.Points))
	// Output: crosses between 64/s and 128/s, after 4 steps
}
