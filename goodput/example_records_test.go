package goodput_test

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// chatRun is a run of 400 requests, one every 100 ms, of which 12 % have to wait for their first token.
func chatRun(start time.Time) (records []*goodput.Record) {
	for i := range 400 {
		first := 300*time.Millisecond + time.Duration(i%7)*time.Millisecond
		if wait := i * 37 % 100; wait < 12 {
			first += 450*time.Millisecond + time.Duration(wait)*60*time.Millisecond
		}
		r := &goodput.Record{Start: start.Add(time.Duration(i) * 100 * time.Millisecond), InputTokens: 120, Outcome: goodput.Success}
		for n := range 20 {
			r.Tokens = append(r.Tokens, goodput.Token{At: first + time.Duration(n)*25*time.Millisecond, N: 1})
		}
		r.OutputTokens, r.End = 20, r.Tokens[19].At+time.Millisecond
		records = append(records, r)
	}
	return records
}

func ExampleReport_String() {
	a := goodput.NewAccumulator(slo.Chat())
	for _, r := range chatRun(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) {
		a.Observe(r)
	}
	fmt.Print(a.Report())
	// Output:
	// SLO         MISSED: ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%
	// Goodput     8.75 of 9.83 requests/s (89.0% of throughput), 175 of 197 output tokens/s
	// Attainment  89.0% of 400 requests were good (95% interval 85.5% to 91.7%)
	//
	// Objective         share  target    95% interval  late  sample  verdict
	// ttft p95 < 800ms  89.0%   ≥ 95%  85.5% to 91.7%    44  misses  missed
	// e2e p95 < 8s       100%   ≥ 95%   99.0% to 100%     0   holds  met
	// error_rate < 1%      0%    ≤ 1%     0% to 0.96%         holds  met
	//
	// Rates               requests  requests/s  of throughput  output tokens/s  total tokens/s
	// offered                  400       9.834
	// throughput               400       9.834           100%              197           1,377
	// success                  400       9.834           100%
	// goodput                  356       8.752          89.0%              175           1,225
	// lost                      44       1.082          11.0%               22             151
	//   ttft p95 < 800ms        44       1.082          11.0%
	//
	// Requests    400 offered = 356 good + 44 late
	//
	// Latency            n       P50        P90        P95        P99     P99.9        max
	// ttft             400    304 ms     821 ms     1.12 s     1.36 s         –     1.42 s
	// tpot             400   25.0 ms    25.0 ms    25.0 ms    25.0 ms         –    25.0 ms
	// itl            7,600   25.0 ms    25.0 ms    25.0 ms    25.0 ms   25.0 ms    25.0 ms
	// e2e              400    780 ms     1.30 s     1.59 s     1.83 s         –     1.89 s
	// lag              400       0 s        0 s        0 s        0 s         –        0 s
	// speed            400  40 tok/s   40 tok/s   40 tok/s   40 tok/s         –   40 tok/s
	//
	// Length             n       P50        P90        P95        P99     P99.9        max
	// input tokens     400       120        120        120        120         –        120
	// output tokens    400        20         20         20         20         –         20
	// Intervals   95%, with requests taken as independent: ttft P95 993 ms to 1.29 s,
	//             e2e P95 1.47 s to 1.77 s
	//
	// Window      whole run, 40.7 s: 2026-03-01 12:00:00.000 to 2026-03-01 12:00:40.676 UTC
	// Counted     attainment, objectives and percentiles over what started in the window, rates over what
	//             ended in it; percentiles are of successes alone
	// Judged by   SLO chat, fingerprint fd9ba82174d5544d
	// Client      not measured
}

func ExampleReadReport() {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var file bytes.Buffer // or an os.File

	w, err := goodput.NewRecordWriter(&file, goodput.RecordsHeader{Start: start, SLO: slo.Chat()})
	if err != nil {
		panic(err)
	}
	for _, r := range chatRun(start) {
		if err := w.Write(r); err != nil {
			panic(err)
		}
	}
	if err := w.Close(goodput.RecordsFooter{Complete: true}); err != nil {
		panic(err)
	}

	report, err := goodput.ReadReport(bytes.NewReader(file.Bytes()))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.2f of %.2f requests/s were good\n", report.GoodputRPS, report.ThroughputRPS)

	// A file that broke off is refused.
	_, err = goodput.ReadReport(bytes.NewReader(file.Bytes()[:1000]))
	fmt.Println(errors.Is(err, goodput.ErrIncomplete))
	// Output:
	// 8.75 of 9.83 requests/s were good
	// true
}

func ExampleReadRecords() {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var file bytes.Buffer
	w, err := goodput.NewRecordWriter(&file, goodput.RecordsHeader{Start: start, SLO: slo.Chat()})
	if err != nil {
		panic(err)
	}
	for _, r := range chatRun(start) {
		w.Write(r)
	}
	w.Close(goodput.RecordsFooter{Complete: true})

	// What if first tokens had to be there within 500 ms? Chosen after the run, such an SLO proves nothing.
	stricter := goodput.NewAccumulator(slo.MustParse("ttft p95 < 500ms"))
	records, err := goodput.ReadRecords(&file)
	if err != nil {
		panic(err)
	}
	for r, err := range records.All() {
		if err != nil {
			panic(err)
		}
		stricter.Observe(r)
	}
	fmt.Printf("run under %q\n", records.Header().SLO)
	fmt.Printf("attainment of another: %.1f%%\n", 100*stricter.Report().Attainment)
	// Output:
	// run under "ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%"
	// attainment of another: 88.0%
}
