package posthoc_test

import (
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/posthoc"
	"github.com/goodputkit/goodputkit/slo"
)

// 400 requests, one each 100 ms, whose first token takes from 200 to 999 ms, and each later one 20 or 30 ms.
func Example() {
	st, err := posthoc.New(slo.MustParse("ttft p95 < 800ms, tpot p90 < 25ms, error_rate < 1%"),
		posthoc.WithScales(0.5, 0.8, 1, 1.2, 1.5),
		posthoc.WithTTFT(400*time.Millisecond, time.Second), posthoc.WithTPOT(40*time.Millisecond))
	if err != nil {
		panic(err)
	}
	for i := range 400 {
		at := 200*time.Millisecond + time.Duration(i*2)*time.Millisecond
		r := goodput.Record{Start: time.Unix(0, 0).Add(time.Duration(i) * 100 * time.Millisecond), Outcome: goodput.Success}
		for range 20 {
			r.Tokens = append(r.Tokens, goodput.Token{At: at, N: 1})
			at += time.Duration(20+10*(i%2)) * time.Millisecond
		}
		r.End = at
		st.Observe(&r)
	}
	fmt.Print(st.Analysis())
	// Output:
	// Fixed before  MISSED: ttft p95 < 800ms, tpot p90 < 25ms, error_rate < 1%
	//               37.8% of 400 requests were good, goodput 3.64 requests/s
	// Chosen after  everything below, but for the rows at scale 1 and the places marked *, which are the
	//               report's. It is no result: fix the SLO that you like, and measure again.
	//
	// Scale, chosen after the run  good  attainment  goodput/s  output tokens/s in time  sample
	// 0.5                             0          0%       0.00                        0  misses
	// 0.8                           111       27.8%       2.67                       53  misses
	// * 1                           151       37.8%       3.64                       73  misses
	// 1.2                           381       95.2%       9.18                      184  holds
	// 1.5                           400        100%       9.64                      193  holds
	//
	// Tightest, chosen after the run  scale
	// the whole SLO                     1.2
	// ttft p95 < 800ms                1.198  ttft p95 < 958.4ms
	// tpot p90 < 25ms                   1.2  tpot p90 < 30ms
	// error_rate < 1%                   any  does not depend on it
	// 90% of the requests good          1.2
	//
	// Attainment by thresholds on ttft and tpot, chosen after the run, all other objectives as they are
	// ttft ↓  tpot →  * 25.0 ms  40.0 ms
	// 400 ms              12.8%    25.2%
	// * 800 ms          * 37.8%    75.2%
	// 1.00 s              50.0%     100%
}
