package promrules_test

import (
	"fmt"

	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/slo"
)

func Example() {
	p := promrules.Plan{SLO: slo.MustParse("ttft p95 < 800ms"), Source: promrules.VLLM}
	rules, err := p.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rules.Group.Rules {
		if r.Alert != "" {
			fmt.Println(r.Alert, "-", r.Annotations["summary"])
		}
	}
	fmt.Println(rules.Bounds[0])
	// Output:
	// GoodputBudgetBurnPage1h - The error budget of ttft p95 < 800ms burns 10 times too fast
	// GoodputBudgetBurnPage6h - The error budget of ttft p95 < 800ms burns 6 times too fast
	// GoodputBudgetBurnTicket1d - The error budget of ttft p95 < 800ms burns 3 times too fast
	// GoodputBudgetBurnTicket3d - The error budget of ttft p95 < 800ms burns 1 times too fast
	// ttft p95 < 800ms is no bucket edge of vllm:time_to_first_token_seconds, which bounds it: the edges about it are 0.75s (-6.25%) and 1s (+25%)
}
