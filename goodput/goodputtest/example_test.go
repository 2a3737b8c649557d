package goodputtest_test

import (
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/goodputtest"
	"github.com/goodputkit/goodputkit/slo"
)

// In a test this is the *testing.T.
type printer struct{}

func (printer) Errorf(string, ...any) { fmt.Println("the test fails, and says why") }

func Example() {
	var t printer
	records := goodputtest.Records(95, time.Second, goodputtest.TTFT(200*time.Millisecond), goodputtest.TPOT(20*time.Millisecond), goodputtest.Tokens(50))
	records = append(records, goodputtest.Records(5, time.Second, goodputtest.Outcome(goodput.Timeout), goodputtest.E2E(30*time.Second))...)
	r := goodputtest.Report(slo.MustParse("ttft p95 < 2s, error_rate < 1%"), records...)

	fmt.Println(goodputtest.BooksClose(t, r))
	fmt.Println(goodputtest.Meets(t, r, "ttft p95 < 2s"))
	fmt.Println(goodputtest.Meets(t, r, "ttft p95 < 2s, error_rate < 1%"))
	// Output:
	// true
	// true
	// the test fails, and says why
	// false
}
