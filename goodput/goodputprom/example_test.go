package goodputprom_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/goodputprom"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

func Example() {
	s := slo.MustParse("ttft p95 < 800ms, error_rate < 1%")
	s.Name = "chat"
	m, err := monitor.New(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := goodputprom.New(m) // a service hands it to prometheus.MustRegister

	for _, first := range []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 3 * time.Second} {
		r := &goodput.Record{
			Start: time.Now(), Tokens: []goodput.Token{{At: first, N: 1}}, End: first + time.Second, Outcome: goodput.Success,
		}
		m.Observe(r)
		c.Observe(r)
	}

	text, err := testutil.CollectAndFormat(c, expfmt.TypeTextPlain, "goodput_offered_requests_total", "goodput_good_requests_total",
		"goodput_objective_within_requests_total")
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			fmt.Print(line)
		}
	}
	// Output:
	// goodput_good_requests_total{class="default",slo="chat"} 2
	// goodput_objective_within_requests_total{class="default",objective="error_rate < 1%",slo="chat"} 3
	// goodput_objective_within_requests_total{class="default",objective="ttft p95 < 800ms",slo="chat"} 2
	// goodput_offered_requests_total{class="default",slo="chat"} 3
}
