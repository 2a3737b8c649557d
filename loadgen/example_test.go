package loadgen_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// counter is a system in virtual time: one clerk serves one request after the other, 80 ms each.
type counter struct {
	queue []*loadgen.Call // the first is being served
	done  time.Time       // when it will be
}

const work = 80 * time.Millisecond

func (s *counter) Start(now time.Time, c *loadgen.Call) {
	s.queue = append(s.queue, c)
	if len(s.queue) == 1 {
		s.done = now.Add(work)
	}
}

func (s *counter) Next() (time.Time, bool) { return s.done, len(s.queue) > 0 }

func (s *counter) Step(now time.Time, end func(*loadgen.Call, *goodput.Record)) {
	c := s.queue[0]
	s.queue, s.done = s.queue[1:], now.Add(work)
	end(c, &goodput.Record{End: now.Sub(c.Start), Outcome: goodput.Success})
}

// Stop is called for a request whose deadline has passed.
func (s *counter) Stop(now time.Time, c *loadgen.Call) *goodput.Record {
	for i := range s.queue {
		if s.queue[i] == c {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			break
		}
	}
	return &goodput.Record{}
}

// A system in virtual time needs four methods to have plans carried out on it. Ten minutes of load take no time to
// speak of, and are the same each time.
func ExampleSimulate() {
	// A Runner, as the functions of package capacity want one.
	var run loadgen.Runner = func(ctx context.Context, p loadgen.Plan) (*loadgen.Result, error) {
		return loadgen.Simulate(ctx, p, loadgen.Description{Name: "counter"}, &counter{})
	}
	for _, rate := range []float64{6, 12, 13} {
		res, err := run(context.Background(), loadgen.Plan{
			SLO:      slo.MustParse("e2e p95 < 1s"),
			Arrivals: loadgen.Constant{Rate: rate},
			Warmup:   10 * time.Minute,
			Duration: 10 * time.Minute,
			Timeout:  10 * time.Second,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		r := res.Report
		fmt.Printf("offered %.0f/s: throughput %.2f/s, goodput %.2f/s\n", r.OfferedRPS, r.ThroughputRPS, r.GoodputRPS)
	}
	// Output:
	// offered 6/s: throughput 6.00/s, goodput 6.00/s
	// offered 12/s: throughput 12.00/s, goodput 12.00/s
	// offered 13/s: throughput 13.00/s, goodput 0.00/s
}

// Fifty requests wait when the run begins, and it takes the counter 6.7 s to work them off. The window begins where
// that is over, without anybody having said how long it takes.
func ExampleWarmupAuto() {
	arrivals := loadgen.ArrivalsFunc(func(yield func(time.Duration) bool) {
		for range 50 {
			if !yield(0) {
				return
			}
		}
		loadgen.Constant{Rate: 5}.Times()(yield)
	})
	p := loadgen.Plan{SLO: slo.MustParse("e2e p95 < 1s"), Arrivals: arrivals, Duration: 2 * time.Minute}
	for _, p.Warmup = range []time.Duration{0, loadgen.WarmupAuto} {
		res, err := loadgen.Simulate(context.Background(), p, loadgen.Description{}, &counter{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("after %v: attainment %.1f %%\n", res.Warmup, 100*res.Report.Attainment)
	}
	// Output:
	// after 0s: attainment 90.2 %
	// after 6.88s: attainment 100.0 %
}

// A Runner that has an event loop, or a fleet of machines, of its own asks a Book what is due. Here each request simply
// takes 10 ms, so that what starts first ends first.
func ExampleBook() {
	const delay = 10 * time.Millisecond
	p := loadgen.Plan{SLO: slo.MustParse("e2e p99 < 20ms"), Concurrency: 2, ThinkTime: 90 * time.Millisecond, Duration: time.Minute}
	now := time.Unix(0, 0)
	b, err := loadgen.NewBook(p, loadgen.Description{}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	var flying []*loadgen.Call
	for at, running := b.Next(); running; at, running = b.Next() {
		if len(flying) > 0 && !flying[0].Start.Add(delay).After(at) {
			c := flying[0]
			now, flying = c.Start.Add(delay), flying[1:]
			b.End(now, c, &goodput.Record{End: delay, Outcome: goodput.Success})
		} else {
			now = at
		}
		// No request can reach its deadline here; else b.Stop(now) would say which.
		for c := b.Start(now); c != nil; c = b.Start(now) {
			flying = append(flying, c)
		}
	}
	res, err := b.Result()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Report.Offered, res.Report.Good, res.Report.GoodputRPS)
	// Output: 1200 1200 20
}

// A target of one's own, and four workers that ask it one request after the other.
func ExampleRun() {
	target := loadgen.TargetFunc(func(ctx context.Context, req *loadgen.Request, tr *loadgen.Trace) error {
		if req.Prompt == "" {
			return loadgen.Fail(goodput.Malformed, "nothing was asked")
		}
		tr.Token(1)
		return nil
	})
	res, err := loadgen.Run(context.Background(), target, loadgen.Plan{
		SLO:         slo.MustParse("ttft p95 < 1s, error_rate < 20%"),
		Concurrency: 4,
		Requests:    40,
		Workload:    slices.Values([]*loadgen.Request{{Prompt: "a"}, {Prompt: "b"}, {Prompt: "c"}, {}}),
		Repeat:      true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := res.Report
	fmt.Println(r.Offered, "offered,", r.Good, "good,", r.Outcomes[goodput.Malformed], "malformed")
	// Output: 40 offered, 30 good, 10 malformed
}

// A conversation of two turns: the second question comes a think time after the first answer, and carries it.
func ExampleConversation() {
	target := loadgen.TargetFunc(func(ctx context.Context, req *loadgen.Request, tr *loadgen.Trace) error {
		for _, m := range req.Messages {
			fmt.Printf("%s: %s\n", m.Role, m.Content)
		}
		tr.Text(loadgen.Content, "In the Swiss Alps.")
		return nil
	})
	talk := loadgen.Conversation(&loadgen.Request{Prompt: "Where does the Rhine rise?"},
		loadgen.Turn{Content: "And the Rhone?", Think: 2 * time.Millisecond})
	res, err := loadgen.Run(context.Background(), target, loadgen.Plan{
		SLO:      slo.MustParse("e2e p95 < 10s"),
		Arrivals: loadgen.Constant{Rate: 1},
		Workload: slices.Values([]*loadgen.Request{talk}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Report.Offered, "requests")
	// Output:
	// user: Where does the Rhine rise?
	// assistant: In the Swiss Alps.
	// user: And the Rhone?
	// 2 requests
}

// One request, outside any run.
func ExampleDo() {
	target := loadgen.TargetFunc(func(ctx context.Context, req *loadgen.Request, tr *loadgen.Trace) error {
		tr.FirstByte()
		tr.Token(1)
		tr.Text(loadgen.Content, "Hello, "+req.Prompt)
		tr.Finish("stop")
		return nil
	})
	rec := loadgen.Do(context.Background(), target, &loadgen.Request{Prompt: "world"},
		loadgen.WithText(func(_ loadgen.TextKind, s string) { fmt.Println(s) }))
	fmt.Println(rec.Outcome, rec.Finish)
	// Output:
	// Hello, world
	// success stop
}

// A load that rises from 2 to 8 requests/s in three seconds and stays there, evenly spaced; without Even it would be a Poisson
// process of that rate.
func ExampleRamp() {
	ramp := loadgen.Ramp{From: 2, To: 8, Over: 3 * time.Second, Even: true}
	perSecond := map[time.Duration]int{}
	for at := range ramp.Times() {
		if at >= 5*time.Second {
			break
		}
		perSecond[at.Truncate(time.Second)]++
	}
	fmt.Println(ramp)
	fmt.Println(perSecond)
	// Output:
	// ramp linearly from 2/s to 8/s over 3s, evenly spaced
	// map[0s:3 1s:5 2s:7 3s:8 4s:8]
}

// A service that is used by day: four times as much at the peak as at night. The run begins in the trough.
func ExampleSine() {
	day := loadgen.Sine{Mean: 0.5, Amplitude: 0.3, Period: 24 * time.Hour, Phase: 18 * time.Hour, Seed: 1}
	quarters := make([]int, 4)
	for at := range day.Times() {
		if at >= 24*time.Hour {
			break
		}
		quarters[at/(6*time.Hour)]++
	}
	fmt.Println(day)
	fmt.Println(quarters)
	// Output:
	// sine 0.5/s ± 0.3/s over 24h0m0s, from 18h0m0s on, seed 1
	// [6561 14624 14984 6788]
}

// Five users a second, and now and then, for two seconds on average, ten times as many.
func ExampleMMPP() {
	bursts := loadgen.MMPP{Quiet: loadgen.Step{Rate: 5, For: 30 * time.Second}, Burst: loadgen.Step{Rate: 50, For: 2 * time.Second}, Seed: 1}
	n := 0
	for at := range bursts.Times() {
		if at >= time.Hour {
			break
		}
		n++
	}
	fmt.Println(bursts)
	fmt.Println(n, "requests in an hour")
	// Output:
	// mmpp 5/s for 30s and 50/s for 2s on average, seed 1
	// 28209 requests in an hour
}
