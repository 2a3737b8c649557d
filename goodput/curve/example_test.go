package curve_test

import (
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/slo"
)

// at is the report of a minute of load on a system that answers one request in ten late beyond 60/s, and nine beyond 80/s.
func at(rate int) curve.Point {
	a := goodput.NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	late := 0
	switch {
	case rate > 80:
		late = 9
	case rate > 60:
		late = 1
	}
	for i := range 60 * rate {
		r := goodput.Record{Start: time.Unix(0, 0).Add(time.Duration(i) * time.Second / time.Duration(rate)), End: 200 * time.Millisecond, Outcome: goodput.Success}
		if i%10 < late {
			r.End = 1500 * time.Millisecond
		}
		a.Observe(&r)
	}
	return curve.Point{Load: float64(rate), Report: a.Report()}
}

func ExampleNew() {
	c, err := curve.New(curve.Rate, []curve.Point{at(20), at(40), at(60), at(80), at(100)})
	if err != nil {
		panic(err)
	}
	fmt.Printf("goodput limit %.0f/s, between %v/s and %v/s; recommended %.0f/s\n", c.Limit.Load, c.Limit.Lo, c.Limit.Hi, c.Recommended)
	fmt.Println(c.Falls)
	// Output:
	// goodput limit 78/s, between 60/s and 80/s; recommended 62/s
	// From load 80/s to 100/s throughput rises from 78.2 to 97.6 requests/s and goodput falls from 70.4 to 9.76: more work is done, and users get less of it in time.
}

func ExampleCompare() {
	var a, b []*goodput.Report
	for i := range curve.LeastRuns {
		a, b = append(a, at(58+i).Report), append(b, at(74+i).Report)
	}
	c, err := curve.Compare(a, b)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s: %.1f against %.1f requests/s\n", c.Winner(), c.Goodput.A, c.Goodput.B)
	// Output: b: 57.5 against 66.4 requests/s
}
