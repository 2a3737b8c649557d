package admission_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/slo"
)

func ExampleController_Admit() {
	c, err := admission.New(admission.Config{SLO: slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms")})
	if err != nil {
		panic(err)
	}
	p, err := c.Admit(context.Background(), admission.Request{InputTokens: 900, MaxOutputTokens: 200})
	var rejected *admission.RejectedError
	if errors.As(err, &rejected) {
		fmt.Println(rejected.Reason, rejected.RetryAfter)
		return
	}
	defer p.Done(goodput.ServerError) // the first Done counts
	p.FirstToken()
	p.Tokens(1)
	fmt.Println(c.State().InFlight, "in flight")
	p.Done(goodput.Success)
	fmt.Println(c.State().InFlight, "in flight")
	// Output:
	// 1 in flight
	// 0 in flight
}

// A class that gets shorter answers before any of its requests are refused.
func ExampleLadder() {
	chat := admission.Ladder{{MaxOutputTokens: 200}, {MaxOutputTokens: 50, LowerPriority: 1, Budget: 10 * time.Second}}
	for _, pressure := range []float64{0.3, 0.6, 0.9} {
		fmt.Printf("waits %.0f %% of what it can: step %d\n", 100*pressure, chat.Step(pressure))
	}
	// Output:
	// waits 30 % of what it can: step 0
	// waits 60 % of what it can: step 1
	// waits 90 % of what it can: step 2
}

// A scheduler decides by the time that it is told: here one request runs at a time, and the second is dropped as soon as it
// would be late.
func ExampleScheduler() {
	s, err := admission.NewScheduler(admission.Config{SLO: slo.MustParse("ttft p95 < 2s"), Floor: 100, Ceiling: 100})
	if err != nil {
		panic(err)
	}
	now := time.Unix(0, 0)
	request := admission.Request{InputTokens: 60, MaxOutputTokens: 40}
	a := s.Arrive(now, &admission.Ticket{Request: request, Data: "a"})
	b := s.Arrive(now, &admission.Ticket{Request: request, Data: "b"})
	fmt.Println(a.Status(), b.Status())
	at, _ := s.Next()
	s.Tick(at)
	for _, t := range s.Decided() {
		fmt.Println(t.Data, t.Status(), "after", at.Sub(now).Round(time.Millisecond), errors.Is(t.Err(), admission.BecameLate))
	}
	// Output:
	// admitted waiting
	// b refused after 2s true
}
