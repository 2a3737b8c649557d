package goodputkit_test

import (
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Four requests a second for 25 s, of which every tenth takes 3 s: all are done, and nine of ten in time. The run is 25.5 s
// long, until the last of them has ended.
func Example() {
	acc := goodput.NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 100 {
		took := 500 * time.Millisecond
		if i%10 == 0 {
			took = 3 * time.Second
		}
		acc.Observe(&goodput.Record{Start: start.Add(time.Duration(i) * 250 * time.Millisecond), End: took, Outcome: goodput.Success})
	}
	r := acc.Report()
	fmt.Printf("throughput %.2f requests/s, goodput %.2f: %.0f %% of the requests were good\n", r.ThroughputRPS, r.GoodputRPS, 100*r.Attainment)
	// Output: throughput 3.92 requests/s, goodput 3.53: 90 % of the requests were good
}
