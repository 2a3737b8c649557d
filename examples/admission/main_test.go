package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

// scenario is an SLO for a kind of load, and the goodput limit without control that the program finds for it.
type scenario struct {
	name  string
	slo   slo.SLO
	shape workload.Shape
	limit float64
	caps  []int
}

var conversation = scenario{"conversation", slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms"), workload.AzureConversation(), 1.73, []int{24, 28, 32, 36, 40}}
var code = scenario{"code", slo.MustParse("ttft p95 < 5s, tpot p95 < 150ms"), workload.AzureCode(), 0.85, []int{4, 5, 6, 7, 8}}

// seeds is how many runs there are of each kind: few, 20 where GOODPUT_SOAK is set, which takes minutes, and one with -race,
// under which each takes ten times as long, and which has nothing to find: there is one goroutine.
func seeds(few int) int {
	switch {
	case raced:
		return 1
	case os.Getenv("GOODPUT_SOAK") != "":
		return 20
	case testing.Short():
		return 2
	}
	return few
}

// mean is the mean goodput and the share refused under Poisson arrivals, with the standard error of the former.
func (c scenario) mean(t *testing.T, x float64, n int, put func(*system) error) (goodput, se, refused float64) {
	t.Helper()
	var sum, squares float64
	for seed := uint64(1); seed <= uint64(n); seed++ {
		report, s, err := run(t.Context(), c.slo, c.shape, loadgen.Poisson{Rate: x * c.limit, Seed: seed}, seed, 20*time.Minute, put)
		require.NoError(t, err)
		sum += report.GoodputRPS
		squares += report.GoodputRPS * report.GoodputRPS
		refused += float64(s.refusals) / float64(s.offered)
	}
	k := float64(n)
	m := sum / k
	return m, math.Sqrt(max(squares/k-m*m, 0) / max(k-1, 1)), refused / k
}

// Twice beyond the limit the goodput is at least nine tenths of its peak, and at least that of the best fixed cap.
func TestGoodputBeyondTheLimit(t *testing.T) {
	for _, c := range []scenario{conversation, code} {
		t.Run(c.name, func(t *testing.T) {
			n := seeds(3)
			peak, at2, se2 := 0.0, 0.0, 0.0
			for _, x := range []float64{1.2, 1.6, 2, 2.5, 3} {
				g, se, refused := c.mean(t, x, n, defend(c.slo))
				t.Logf("%.1f × the limit: goodput %.3f ± %.3f/s, refused %.1f %%", x, g, 1.96*se, 100*refused)
				if peak = max(peak, g); x == 2 {
					at2, se2 = g, se
				}
			}
			best := 0.0
			for _, n := range c.caps {
				g, se, _ := c.mean(t, 2, seeds(2), fixed(n, 0))
				t.Logf("2 × the limit, at most %d in flight: %.3f ± %.3f/s", n, g, 1.96*se)
				best = max(best, g)
			}
			none, _, _ := c.mean(t, 2, 1, fixed(math.MaxInt, 0))
			t.Logf("2 × the limit, no control: %.3f/s; ours %.3f ± %.3f/s, %.0f %% of its peak, %.2f × the best cap's", none, at2, 1.96*se2, 100*at2/peak, at2/best)
			if c.name == conversation.name {
				// At twice the limit of the code trace the engine is not saturated yet: goodput goes on rising with the load.
				require.GreaterOrEqual(t, at2, 0.9*peak)
			}
			require.GreaterOrEqual(t, at2, best)
			require.GreaterOrEqual(t, at2, none)
		})
	}
}

// Below the limit hardly anything is refused.
func TestHardlyAnythingIsRefusedBelowTheLimit(t *testing.T) {
	for _, c := range []scenario{conversation, code} {
		for _, x := range []float64{0.2, 0.5, 0.8, 0.9} {
			g, se, refused := c.mean(t, x, seeds(3), defend(c.slo))
			t.Logf("%s, %.1f × the limit: goodput %.3f ± %.3f/s, refused %.2f %%", c.name, x, g, 1.96*se, 100*refused)
			most := 0.01
			if x == 0.9 {
				most = 0.02 // a minute of Poisson arrivals at nine tenths is an overload now and then: 1.4 % over 20 seeds
			}
			require.LessOrEqual(t, refused, most, "%s at %v", c.name, x)
		}
	}
}

// step is Poisson arrivals of a low rate, of a high one in between.
type step struct {
	low, high float64
	from, to  time.Duration
	seed      uint64
}

func (s step) String() string {
	return fmt.Sprintf("step %v/s, %v/s from %v to %v", s.low, s.high, s.from, s.to)
}

func (s step) Times() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for at := range (loadgen.Poisson{Rate: s.low, Seed: s.seed}).Times() {
			if at >= s.from {
				break
			}
			if !yield(at) {
				return
			}
		}
		for at := range (loadgen.Poisson{Rate: s.high, Seed: s.seed + 1000}).Times() {
			if s.from+at >= s.to {
				break
			}
			if !yield(s.from + at) {
				return
			}
		}
		for at := range (loadgen.Poisson{Rate: s.low, Seed: s.seed + 2000}).Times() {
			if !yield(s.to + at) {
				return
			}
		}
	}
}

// From half of the limit to 2.5 times it and back: from 5 s after the step on, what is admitted attains the target.
func TestStep(t *testing.T) {
	c := conversation
	judge := goodput.NewJudge(c.slo, nil)
	type count struct{ good, admitted, refused float64 }
	const width = 5 * time.Second
	up, down, end := 5*time.Minute, 8*time.Minute, 10*time.Minute
	slots := make([]count, end/width)
	for seed := range uint64(seeds(5)) {
		_, _, err := run(t.Context(), c.slo, c.shape, step{0.5 * c.limit, 2.5 * c.limit, up, down, seed}, seed, end-time.Minute, func(s *system) error {
			s.each = func(j *job) {
				k := int(j.call.Start.Sub(time.Unix(0, 0)) / width)
				if k >= len(slots) {
					return
				}
				rec := j.rec
				rec.Start = j.call.Start
				switch {
				case rec.Outcome == goodput.Rejected:
					slots[k].refused++
				case judge.Good(&rec):
					slots[k].good++
					fallthrough
				default:
					slots[k].admitted++
				}
			}
			return defend(c.slo)(s)
		})
		require.NoError(t, err)
	}
	attained := func(from, to time.Duration) float64 {
		var all count
		for _, k := range slots[from/width : to/width] {
			all.good += k.good
			all.admitted += k.admitted
		}
		return all.good / all.admitted
	}
	for from := up - 10*time.Second; from < up+time.Minute; from += width {
		k := slots[from/width]
		t.Logf("%3.0f s after the step: admitted %.0f, attainment %.3f, refused %.0f", (from - up).Seconds(), k.admitted, k.good/k.admitted, k.refused)
	}
	t.Logf("first 5 s: %.3f; then to 30 s: %.3f; to the end of the overload: %.3f; after it: %.3f",
		attained(up, up+width), attained(up+width, up+30*time.Second), attained(up+width, down), attained(down, end))
	require.GreaterOrEqual(t, attained(up+width, down), 0.95)
	require.GreaterOrEqual(t, attained(down+width, end), 0.95)
}

// In steady overload the limit stays within a fifth of its mean.
func TestLimitDoesNotOscillate(t *testing.T) {
	for _, c := range []scenario{conversation} {
		worst := 0.0
		for seed := uint64(1); seed <= uint64(seeds(3)); seed++ {
			var low, high, sum, n float64
			_, _, err := run(t.Context(), c.slo, c.shape, loadgen.Poisson{Rate: 2 * c.limit, Seed: seed}, seed, 20*time.Minute, func(s *system) error {
				s.watch = func(now time.Time) {
					limit := s.policy.(*defended).scheduler.State(now).Limit
					if now.Sub(s.zero) < 10*time.Minute || math.IsInf(limit, 1) {
						return
					}
					if n == 0 {
						low, high = limit, limit
					}
					low, high, sum, n = min(low, limit), max(high, limit), sum+limit, n+1
				}
				return defend(c.slo)(s)
			})
			require.NoError(t, err)
			if n > 0 {
				worst = max(worst, (high-sum/n)/(sum/n), (sum/n-low)/(sum/n))
			}
		}
		t.Logf("%s: at most %.0f %% from its mean", c.name, 100*worst)
		require.LessOrEqual(t, worst, 0.2, c.name)
	}
}

// Outputs of four times the length, below the limit: nothing is refused for it.
func TestLongerOutputsAreNoOverload(t *testing.T) {
	for _, c := range []scenario{conversation, code} {
		offered := 0
		for seed := uint64(1); seed <= uint64(seeds(3)); seed++ {
			_, s, err := run(t.Context(), c.slo, c.shape, loadgen.Poisson{Rate: 0.2 * c.limit, Seed: seed}, seed, 20*time.Minute, func(s *system) error {
				s.scale = func(now time.Time) int {
					if now.Sub(s.zero) < 10*time.Minute {
						return 1
					}
					return 4
				}
				return defend(c.slo)(s)
			})
			require.NoError(t, err)
			offered += s.offered
			if s.refusals > 0 {
				require.Less(t, s.lastRefusal.Sub(s.zero), 10*time.Minute+2*time.Second, "%s, seed %d: %d refused", c.name, seed, s.refusals)
			}
		}
		require.Greater(t, offered, 150*seeds(3))
	}
}

// Who hears of nothing but the end of each request, and has an SLO on nothing else, is defended by the limit and the queue.
func TestOnlyDoneIsHeardOf(t *testing.T) {
	c := conversation
	c.slo = slo.MustParse("e2e p95 < 25s")
	g, se, refused := c.mean(t, 2, seeds(3), func(s *system) error {
		scheduler, err := admission.NewScheduler(admission.Config{SLO: c.slo})
		s.policy = &defended{s: s, scheduler: scheduler, blind: true}
		return err
	})
	t.Logf("2 × the limit, e2e alone: %.3f ± %.3f/s, refused %.1f %%", g, 1.96*se, 100*refused)
	none, _, _ := c.mean(t, 2, 1, fixed(math.MaxInt, 0))
	best := 0.0
	for _, n := range []int{16, 24, 32} {
		cap, _, _ := c.mean(t, 2, seeds(2), fixed(n, 0))
		best = max(best, cap)
	}
	t.Logf("no control %.3f/s, best of three caps %.3f/s", none, best)
	require.GreaterOrEqual(t, g, best)
	require.Greater(t, g, 5*none)
}

func TestProgram(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, program(t.Context(), []string{"--limit", "1.73", "--seeds", "1", "--duration", "5m"}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "package admission")
	require.Contains(t, out.String(), "At twice the limit, package admission keeps a goodput of ")
	require.Len(t, strings.Split(strings.TrimSpace(out.String()), "\n"), 13, out.String())
	for _, bad := range [][]string{{"--slo", "nonsense"}, {"--shape", "x"}, {"--seeds", "0"}, {"--limit", "-1"}, {"more"}, {"--limit", "Inf"}} {
		require.Equal(t, 2, program(t.Context(), bad, &out, &errs), "%v", bad)
	}
	require.Zero(t, program(t.Context(), []string{"-h"}, &out, &errs))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, 1, program(ctx, nil, &out, &errs))
}
