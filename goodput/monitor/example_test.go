package monitor_test

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// record is a success whose first token came at ttft.
func record(ttft time.Duration) *goodput.Record {
	return &goodput.Record{Start: time.Now(), Tokens: []goodput.Token{{At: ttft, N: 1}}, End: ttft + time.Second, OutputTokens: 100, Outcome: goodput.Success}
}

func Example() {
	m, err := monitor.New(slo.MustParse("ttft p95 < 800ms, error_rate < 1%"))
	if err != nil {
		log.Fatal(err)
	}
	for range 970 {
		m.Observe(record(300 * time.Millisecond))
	}
	for range 30 {
		m.Observe(record(2 * time.Second))
	}

	s := m.State()
	w := s.Windows[0]
	fmt.Printf("%d of %d good in the last %v\n", w.Good, w.Decided, w.Window)
	for _, o := range s.SLOs[0].Objectives {
		fmt.Printf("%s: %.0f%% of its budget left, burn rate %.1f\n", o.Objective, 100*o.Budget.Left, o.Burns[0].Rate)
	}
	// Output:
	// 970 of 1000 good in the last 1m0s
	// ttft p95 < 800ms: 40% of its budget left, burn rate 0.6
	// error_rate < 1%: 100% of its budget left, burn rate 0.0
}

// A request that hangs is bad when its deadline has passed, although it has not ended.
func ExampleMonitor_Begin() {
	m, err := monitor.New(slo.MustParse("ttft p95 < 50ms"))
	if err != nil {
		log.Fatal(err)
	}
	came := time.Now().Add(-time.Second) // and has waited for a second, with no token
	f := m.Begin("chat", came)
	defer f.End(nil) // whatever happens: only the first End counts

	s := m.State()
	fmt.Println("in flight:", s.InFlight, "past its deadline:", s.Overdue, "bad:", s.SLOs[0].Objectives[0].Budget.Bad)

	f.End(&goodput.Record{Class: "chat", End: time.Second, Outcome: goodput.Timeout})
	s = m.State()
	fmt.Println("in flight:", s.InFlight, "past its deadline:", s.Overdue, "bad:", s.SLOs[0].Objectives[0].Budget.Bad)
	// Output:
	// in flight: 1 past its deadline: 1 bad: 1
	// in flight: 0 past its deadline: 0 bad: 1
}

// What alerts there are follows from the target and the period.
func ExampleDefaultRules() {
	for _, text := range []string{"ttft p99.9 < 2s", "ttft p90 < 2s"} {
		o, err := slo.ParseObjective(text)
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range monitor.DefaultRules(o, monitor.DefaultPeriod) {
			fmt.Printf("%s: %s at %.3g times the rate, %.3g%% bad, over %v and %v\n", o, r.Severity, r.Factor(monitor.DefaultPeriod),
				100*r.Threshold(monitor.Allowed(o), monitor.DefaultPeriod), r.Long, r.Short)
		}
	}
	// Output:
	// ttft p99.9 < 2s: page at 14.4 times the rate, 1.44% bad, over 1h0m0s and 5m0s
	// ttft p99.9 < 2s: page at 6 times the rate, 0.6% bad, over 6h0m0s and 30m0s
	// ttft p99.9 < 2s: ticket at 3 times the rate, 0.3% bad, over 24h0m0s and 2h0m0s
	// ttft p99.9 < 2s: ticket at 1 times the rate, 0.1% bad, over 72h0m0s and 6h0m0s
	// ttft p90 < 2s: page at 5 times the rate, 50% bad, over 1h0m0s and 5m0s
	// ttft p90 < 2s: ticket at 3 times the rate, 30% bad, over 24h0m0s and 2h0m0s
	// ttft p90 < 2s: ticket at 1 times the rate, 10% bad, over 72h0m0s and 6h0m0s
}

// The customary first alert can never fire for a P90, of which all bad is a burn rate of 10.
func ExampleWithRules() {
	customary := monitor.Rule{Severity: monitor.Page, Budget: 0.02, Long: time.Hour, Short: 5 * time.Minute}
	_, err := monitor.New(slo.MustParse("ttft p90 < 2s"), monitor.WithRules(customary))
	fmt.Println(errors.Is(err, monitor.ErrUnreachable))
	fmt.Println(err)
	// Output:
	// true
	// monitor: WithRules: cannot fire: not even if every request is bad: 2% of the budget in 1h is a burn rate of 14.4, and ttft p90 < 2s, which allows 10% bad, has none above 10: what can be had is 0.694% of the budget in 1h, or 2% in 2h52m48s (where half are bad)
}

// An alert that changes its state is logged, and told to a callback.
func ExampleWithOnChange() {
	m, err := monitor.New(slo.MustParse("ttft p95 < 800ms"),
		monitor.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
		monitor.WithOnChange(func(c monitor.Change) {
			if c.Alert.Rule.Severity == monitor.Page && c.Alert.Rule.Long == time.Hour {
				fmt.Printf("%s: %s -> %s, burn rate %.0f over 1 h\n", c.Alert.Objective, c.From, c.Alert.State, c.Alert.Long.Rate)
			}
		}))
	if err != nil {
		log.Fatal(err)
	}
	for range 100 {
		m.Observe(record(2 * time.Second))
	}
	m.Alerts() // or Watch, in a goroutine
	// Output:
	// ttft p95 < 800ms: no_data -> firing, burn rate 20 over 1 h
}

// A process goes on where the one before it ended.
func ExampleMonitor_UnmarshalBinary() {
	promise := slo.MustParse("ttft p95 < 800ms")
	before, err := monitor.New(promise)
	if err != nil {
		log.Fatal(err)
	}
	before.Observe(record(time.Second))
	data, err := before.MarshalBinary() // to a file, when the service ends
	if err != nil {
		log.Fatal(err)
	}

	m, err := monitor.New(promise)
	if err != nil {
		log.Fatal(err)
	}
	if err := m.UnmarshalBinary(data); err != nil { // errors.Is: ErrMerge where the SLO is another now
		log.Fatal(err)
	}
	fmt.Println(m.Counters().Classes[0].Decided)
	// Output: 1
}

func ExampleMonitor_Handler() {
	m, err := monitor.New(slo.MustParse("ttft p95 < 800ms, error_rate < 1%"))
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/goodput", m.Handler()) // the page; with ?format=json the state
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", mux))
}
