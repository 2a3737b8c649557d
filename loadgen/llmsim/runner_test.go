package llmsim_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

var chat = slo.MustParse("ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%")

// requests are n requests with prompts of up to prompt tokens and outputs of up to output.
func requests(n, prompt, output int) iter.Seq[*loadgen.Request] {
	return func(yield func(*loadgen.Request) bool) {
		rng := rand.New(rand.NewPCG(uint64(n), 7))
		for range n {
			if !yield(&loadgen.Request{InputTokens: 1 + rng.IntN(prompt), MaxTokens: 1 + rng.IntN(output)}) {
				return
			}
		}
	}
}

func same(n int, r loadgen.Request) iter.Seq[*loadgen.Request] {
	return func(yield func(*loadgen.Request) bool) {
		for range n {
			if !yield(&r) {
				return
			}
		}
	}
}

// conversations are n sessions of up to 6 turns, whose prompts are words: what was said before counts. With atOnce half of
// the turns have no think time, so that many start in the instant in which a step of the engine ends.
func conversations(n int, atOnce bool) iter.Seq[*loadgen.Request] {
	return func(yield func(*loadgen.Request) bool) {
		rng := rand.New(rand.NewPCG(uint64(n), 9))
		text := func() string { return strings.Repeat("word ", 1+rng.IntN(100)) }
		for range n {
			turns := make([]loadgen.Turn, rng.IntN(6))
			for i := range turns {
				turns[i] = loadgen.Turn{Content: text(), Think: time.Duration(rng.IntN(3e9)), MaxTokens: 1 + rng.IntN(200)}
				if atOnce && rng.IntN(2) == 0 {
					turns[i].Think = 0
				}
			}
			if !yield(loadgen.Conversation(&loadgen.Request{Prompt: text(), MaxTokens: 50}, turns...)) {
				return
			}
		}
	}
}

// carryOut carries the plan out and returns the lines of its records, without header and footer, in order of their text.
func carryOut(t *testing.T, run loadgen.Runner, p loadgen.Plan) (*goodput.Report, []string) {
	var file bytes.Buffer
	p.Records = &file
	res, err := run(t.Context(), p)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(file.String(), "\n"), "\n")
	lines = lines[1 : len(lines)-1]
	slices.Sort(lines)
	return res.Report, lines
}

// bubbleCase is a model and a plan that event loop and clocked target carry out alike.
type bubbleCase struct {
	name  string
	model llmsim.Model
	plan  loadgen.Plan
	want  []goodput.Outcome // that have to be there
}

func sameInABubble(t *testing.T, c bubbleCase) {
	c.plan.SLO = chat
	report, want := carryOut(t, llmsim.Runner(c.model), c.plan)
	for _, o := range c.want {
		assert.NotZero(t, report.Outcomes[o], o)
	}
	assert.NotZero(t, report.Outcomes[goodput.Success])
	synctest.Test(t, func(t *testing.T) {
		clocked, got := carryOut(t, loadgen.RunnerOf(target(t, c.model)), c.plan)
		assert.Equal(t, report.Offered, clocked.Offered)
		assert.Equal(t, report.GoodputRPS, clocked.GoodputRPS)
		require.Len(t, got, len(want))
		for i := range want {
			if want[i] != got[i] {
				require.Equal(t, want[i], got[i])
			}
		}
	})
}

// TestRunnerIsTargetInABubble: event loop and clocked target give the same records, to the nanosecond.
func TestRunnerIsTargetInABubble(t *testing.T) {
	small := llmsim.OPT13B()
	small.KVTokens = 2000
	queue := llmsim.OPT13B()
	queue.MaxQueue = 5
	fixed := loadgen.Request{InputTokens: 64, MaxTokens: 32}
	for _, c := range []bubbleCase{
		{"open loop", llmsim.OPT13B(), loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 4, Seed: 1}, Workload: requests(1000, 1000, 300)}, nil},
		{"overload with timeouts", llmsim.OPT13B(), loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 12, Seed: 2}, Workload: requests(1000, 1000, 300), Timeout: 15 * time.Second},
			[]goodput.Outcome{goodput.Timeout}},
		{"too long", small, loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 1, Seed: 3}, Workload: requests(1000, 2000, 300), Timeout: 30 * time.Second},
			[]goodput.Outcome{goodput.ClientError, goodput.Timeout}},
		{"full queue", queue, loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 15, Seed: 3}, Workload: requests(1000, 1000, 300)},
			[]goodput.Outcome{goodput.Rejected}},
		{"limit in flight", llmsim.OPT13B(), loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 12, Seed: 4}, Workload: requests(1000, 1000, 300), MaxInFlight: 20, Overflow: loadgen.Wait, Timeout: 20 * time.Second},
			[]goodput.Outcome{goodput.Timeout}},
		{"limit in flight, dropping", llmsim.OPT13B(), loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 12, Seed: 5}, Workload: requests(1000, 1000, 300), MaxInFlight: 20, Overflow: loadgen.Drop},
			[]goodput.Outcome{goodput.Dropped}},
		{"limit in flight, all alike", llmsim.OPT13B(), loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 30, Seed: 6}, Workload: same(1000, fixed), MaxInFlight: 10, Overflow: loadgen.Wait, Timeout: 20 * time.Second}, nil},
		{"closed loop", llmsim.OPT13B(), loadgen.Plan{Concurrency: 40, Workload: requests(1000, 1000, 300)}, nil},
		{"closed loop with timeouts", llmsim.OPT13B(), loadgen.Plan{Concurrency: 60, RampUp: time.Second, ThinkTime: 100 * time.Millisecond, Workload: requests(1000, 1500, 300), Timeout: 15 * time.Second},
			[]goodput.Outcome{goodput.Timeout}},
		{"sessions", llmsim.OPT13B(), loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 3, Seed: 8}, Workload: conversations(200, true), Warmup: 10 * time.Second, Duration: time.Minute, Cooldown: 10 * time.Second}, nil},
		{"sessions in a closed loop, with timeouts", small, loadgen.Plan{Concurrency: 30, ThinkTime: time.Second, Workload: conversations(200, true), Timeout: 12 * time.Second},
			[]goodput.Outcome{goodput.Timeout}},
		{"closed loop, all alike", small, loadgen.Plan{Concurrency: 50, Workload: same(1000, fixed)}, nil},
		{"steady state, cut off", llmsim.OPT13B(), loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 12, Seed: 7}, Workload: requests(1000, 1000, 300), Warmup: 10 * time.Second, Duration: time.Minute, Drain: 5 * time.Second},
			[]goodput.Outcome{goodput.Unfinished}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sameInABubble(t, c)
		})
	}
}

func TestRunnerIsTheSameEachTime(t *testing.T) {
	p := loadgen.Plan{SLO: chat, Arrivals: loadgen.Poisson{Rate: 12, Seed: 2}, Workload: requests(1000, 1000, 300), Timeout: 15 * time.Second}
	run := llmsim.Runner(llmsim.OPT13B())
	_, first := carryOut(t, run, p)
	_, second := carryOut(t, run, p)
	assert.Equal(t, first, second)
}

func TestRunnerRefuses(t *testing.T) {
	_, err := llmsim.Runner(llmsim.Params{})(t.Context(), loadgen.Plan{})
	assert.ErrorContains(t, err, "llmsim: Base is 0")
	_, err = llmsim.Runner(llmsim.OPT13B())(t.Context(), loadgen.Plan{SLO: chat})
	var plan *loadgen.PlanError
	assert.ErrorAs(t, err, &plan)
	_, err = llmsim.Runner(llmsim.OPT13B())(t.Context(), loadgen.Plan{SLO: slo.MustParse("x_cost p95 < 1"), Concurrency: 1, Requests: 1})
	assert.ErrorIs(t, err, loadgen.ErrNotGiven)
}

func TestRunnerCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := loadgen.Plan{SLO: chat, Arrivals: loadgen.Constant{Rate: 4}, Workload: requests(1000, 1000, 300),
		Progress: func(p loadgen.Progress) {
			if p.Elapsed >= 20*time.Second {
				cancel()
			}
		}}
	res, err := llmsim.Runner(llmsim.OPT13B())(ctx, p)
	require.NoError(t, err)
	assert.ErrorIs(t, res.Cut, context.Canceled)
	r := res.Report
	assert.NotZero(t, r.Outcomes[goodput.Unfinished])
	assert.Equal(t, r.Offered, r.Outcomes[goodput.Unfinished]+r.Outcomes[goodput.Success])
}

func ExampleRunner() {
	run := llmsim.Runner(llmsim.OPT13B())
	for _, rate := range []float64{1, 2, 4} {
		res, err := run(context.Background(), loadgen.Plan{
			SLO:      slo.MustParse("ttft p95 < 1s, tpot p95 < 60ms"),
			Arrivals: loadgen.Poisson{Rate: rate, Seed: 1},
			Workload: same(1000, loadgen.Request{InputTokens: 1020, MaxTokens: 129}),
			Requests: 1000,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		r := res.Report
		fmt.Printf("%.0f/s: throughput %.1f/s, goodput %.1f/s\n", rate, r.ThroughputRPS, r.GoodputRPS)
	}
	// Output:
	// 1/s: throughput 1.0/s, goodput 1.0/s
	// 2/s: throughput 2.0/s, goodput 1.8/s
	// 4/s: throughput 3.4/s, goodput 0.0/s
}
