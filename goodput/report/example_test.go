package report_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/report"
	"github.com/goodputkit/goodputkit/slo"
)

// hundred is the report of a hundred requests in ten seconds, so many of them late.
func hundred(late int) *goodput.Report {
	a := goodput.NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	for i := range 100 {
		r := goodput.Record{Start: time.Unix(0, 0).Add(time.Duration(i) * 100 * time.Millisecond), End: 200 * time.Millisecond, Outcome: goodput.Success}
		if i%7 == 3 && late > 0 {
			r.End, late = 1200*time.Millisecond, late-1
		}
		a.Observe(&r)
	}
	return a.Report()
}

func ExampleMarkdown() {
	d := report.Document{Title: "Nightly", Runs: []report.Run{{Report: hundred(14)}}}
	if err := report.Markdown(os.Stdout, d); err != nil {
		panic(err)
	}
	// Output:
	// ## Nightly
	//
	// ### ❌ MISSED: 8.11 requests/s of goodput
	//
	// - **SLO** MISSED: e2e p95 < 1s
	// - **Goodput** 8.11 of 9.43 requests/s (86.0% of throughput)
	// - **Attainment** 86.0% of 100 requests were good (95% interval 77.7% to 91.5%)
	//
	// **The share of requests that each objective is met by, and what that says of the system**
	//
	// | objective | share | target | 95% interval | late | sample | verdict |
	// | :-- | --: | --: | --: | --: | :-- | :-- |
	// | e2e p95 < 1s | 86.0% | ≥ 95% | 77.7% to 91.5% | 14 | misses | missed |
	//
	// **Lost, by cause**
	//
	// | lost to | requests | requests/s | of throughput |
	// | :-- | --: | --: | --: |
	// | e2e p95 < 1s | 14 | 1.321 | 14.0% |
	//
	// Client: not measured
	//
	// <details><summary>What was judged by</summary>
	//
	// | class | SLO | name | fingerprint |
	// | :-- | :-- | :-- | :-- |
	// | all | e2e p95 < 1s |  | 66a8051cb8d65f7b |
	//
	// </details>
}

func ExampleCSV() {
	var b strings.Builder
	err := report.CSV(&b, report.Document{Runs: []report.Run{{Name: "main", Report: hundred(0)}, {Name: "branch", Report: hundred(14)}}})
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(b.String()) {
		fmt.Println(strings.Join(strings.Split(line, ",")[:7], ","))
	}
	// Output:
	// name,axis,load,slo,fingerprint,verdict,client
	// main,,,e2e p95 < 1s,66a8051cb8d65f7b,met,
	// branch,,,e2e p95 < 1s,66a8051cb8d65f7b,missed,
}

func ExampleHTML() {
	page, err := os.CreateTemp("", "report-*.html")
	if err != nil {
		panic(err)
	}
	defer os.Remove(page.Name())
	err = report.HTML(page, report.Document{Title: "Nightly", Runs: []report.Run{{Name: "main", Report: hundred(0)}, {Name: "branch", Report: hundred(14)}},
		Sections: []report.Section{{Title: "If the threshold had been another", Label: "chosen after the run", Charts: []report.Chart{{
			Title: "Attainment over the threshold", Sentence: "At 1.5 s all would have been good.",
			X: report.Axis{Label: "e2e", Unit: report.Seconds}, Y: report.Axis{Label: "attainment", Unit: report.Share},
			At: []float64{0.5, 1, 1.5}, Series: []report.Series{{Name: "branch", Values: []float64{0.86, 0.86, 1}}},
		}}}}})
	fmt.Println(err)
	// Output: <nil>
}
