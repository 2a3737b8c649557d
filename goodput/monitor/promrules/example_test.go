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
	// GoodputBudgetBurnPage1h - The error budget of ttft p95 < 800ms burns at more than 10 times the rate that lasts 30d
	// GoodputBudgetBurnPage6h - The error budget of ttft p95 < 800ms burns at more than 6 times the rate that lasts 30d
	// GoodputBudgetBurnTicket1d - The error budget of ttft p95 < 800ms burns at more than 3 times the rate that lasts 30d
	// GoodputBudgetBurnTicket3d - The error budget of ttft p95 < 800ms burns at more than 1 times the rate that lasts 30d
	// ttft p95 < 800ms is no bucket edge of vllm:time_to_first_token_seconds, which bounds it: the edges about it are 0.75s (-6.25%) and 1s (+25%)
}
