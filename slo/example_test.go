package slo_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/goodputkit/goodputkit/slo"
)

func ExampleParse() {
	s, err := slo.Parse("p95(ttft) <= 0.8s; tpot p95 ≤ 50ms; error_rate < 1%")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s)
	for _, o := range s.Objectives {
		fmt.Println(o.Metric, o.Percentile, o.Threshold.Limit, o.Metric.Unit())
	}
	// Output:
	// ttft p95 < 800ms, tpot p95 < 50ms, error_rate < 1%
	// ttft p95 0.8 s
	// tpot p95 0.05 s/token
	// error_rate p0 0.01 ratio
}

// What cannot be meant is refused: the error says what is wrong, where, and how to write it.
func ExampleParse_refused() {
	_, err := slo.Parse("ttft p95 < 2s, avg(e2e) < 5s")
	fmt.Println(err)

	var at *slo.ParseError
	if errors.As(err, &at) {
		fmt.Println(at.Pos, at.Piece, errors.Is(err, slo.ErrPercentile))
	}
	// Output:
	// slo: at byte 15, "avg": a mean hides the slow requests: ask for a percentile: write e2e p95 < 5s
	// 15 avg true
}

// vLLM judges each request. The percentile says for how many of them it has to hold.
func ExampleParseVLLM() {
	s, err := slo.ParseVLLM("ttft:800 tpot:50 e2el:8000", slo.P95)
	fmt.Println(s, err)
	// Output: ttft p95 < 800ms, tpot p95 < 50ms, e2e p95 < 8s <nil>
}

func ExampleMustParse() {
	s := slo.MustParse("e2e p95 < 1s + 40ms/token, undefined ttft: holds, ttft p99.9 < 2s")
	fmt.Println(s.Objectives[0].Threshold.Duration(100))
	fmt.Println(s)
	// Output:
	// 5s
	// e2e p95 < 1s + 40ms/token, ttft p99.9 < 2s, undefined ttft: holds
}

// An SLO is a flag, here with a preset for its default.
func ExampleSLO_UnmarshalText_flag() {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var s slo.SLO
	flags.TextVar(&s, "slo", slo.Chat(), "what good means")

	fmt.Println("default:", flags.Lookup("slo").DefValue)
	if err := flags.Parse([]string{"--slo", "e2e p95 < 5s"}); err != nil {
		fmt.Println(err)
	}
	fmt.Println("given:", s)
	// Output:
	// default: ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%
	// given: e2e p95 < 5s
}

// In JSON an SLO is one string. Without SetEscapeHTML(false) the < in it is escaped, which reads back all the same.
func ExampleSLO_MarshalText_json() {
	config := struct {
		SLO slo.SLO `json:"slo"`
	}{slo.Summarization()}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(config); err != nil {
		fmt.Println(err)
	}
	// Output: {"slo":"e2e p95 < 60s, error_rate < 1%"}
}

func ExampleSLO_Fingerprint() {
	fmt.Println(slo.MustParse("ttft p95 < 2s").Fingerprint())
	fmt.Println(slo.MustParse("p95(ttft) <= 2000ms").Fingerprint())
	fmt.Println(slo.MustParse("ttft p95 < 3s").Fingerprint())
	// Output:
	// f37f2f444ba41be8
	// f37f2f444ba41be8
	// 9996c3fabad47334
}

// Classes of traffic can have an SLO each. What the set does not name is judged by the default.
func ExampleSet() {
	set := slo.Set{
		"completion": slo.CodeCompletion(),
		"batch":      slo.MustParse("e2e p90 < 5m"),
	}
	def := slo.Chat()
	for _, class := range []string{"batch", "completion", "chat", ""} {
		fmt.Printf("%q: %s\n", class, set.For(class, def))
	}
	// Output:
	// "batch": e2e p90 < 300s
	// "completion": ttft p95 < 300ms, e2e p95 < 2s, error_rate < 1%
	// "chat": ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%
	// "": ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%
}

// Shares are compared in integers.
func ExampleObjective_Reached() {
	s := slo.MustParse("e2e p99.9 < 1s, error_rate < 1%")
	fmt.Println(s.Objectives[0].Reached(999, 1000)) // requests within a second
	fmt.Println(s.Objectives[0].Reached(998, 1000))
	fmt.Println(s.Objectives[1].Reached(10, 1000)) // requests that failed
	fmt.Println(s.Objectives[1].Reached(0, 0))     // no data
	// Output:
	// true
	// false
	// true
	// false
}

func ExampleWithin() {
	ttft := slo.Objective{Metric: slo.TTFT, Percentile: slo.P95, Threshold: slo.Within(800 * 1e6)}
	fmt.Println(ttft, ttft.Validate())
	// Output: ttft p95 < 800ms <nil>
}
