package llmsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// naiveDeadline is EarliestDeadline as one writes it down: each plan ranks everybody who waits, and looks at all of them for the next one.
type naiveDeadline struct{ TTFT time.Duration }

func (p naiveDeadline) Plan(s *Step) {
	s.DecodeAll()
	if s.Budget() == 0 {
		return
	}
	s.ranks = s.ranks[:0]
	for q := range s.Prefilling() {
		s.ranks = append(s.ranks, p.rank(s, q))
	}
	if s.Places() > 0 && s.Preempted() == 0 {
		for q := range s.Waiting() {
			s.ranks = append(s.ranks, p.rank(s, q))
		}
	}
	until := time.Duration(math.MaxInt64) // when the step has to end, for those in it who are in time
	for len(s.ranks) > 0 && s.Budget() > 0 {
		first := 0
		for i := range s.ranks {
			if s.ranks[i].before(s.ranks[first]) {
				first = i
			}
		}
		r := s.ranks[first]
		if r.late(s) { // because of those before it; others can be so, too
			for i := range s.ranks {
				if s.ranks[i].late(s) {
					s.ranks[i].class = hopeless
				}
			}
			continue
		}
		n := min(r.q.Remaining(), s.Budget())
		if s.endWith(r.q, n) > until {
			return
		}
		if !s.Compute(r.q) { // it waits, and so do all others that do
			s.ranks = slices.DeleteFunc(s.ranks, func(r rank) bool { return r.q.state == waiting })
			continue
		}
		if r.class == due && r.q.Remaining() == n {
			until = min(until, r.at)
		}
		s.ranks = slices.Delete(s.ranks, first, first+1)
	}
}

func (p naiveDeadline) rank(s *Step, q *Sequence) rank {
	after := q.job.Deadline
	if after == 0 {
		after = p.TTFT
	}
	if after == 0 {
		return rank{q: q, class: undated}
	}
	r := rank{q: q, at: math.MaxInt64}
	if after < math.MaxInt64-q.arrived {
		r.at = q.arrived + after
	}
	if r.late(s) {
		r.class = hopeless
	}
	return r
}

// late says whether a sequence that is due could not be in time any more.
func (r *rank) late(s *Step) bool {
	return r.class == due && r.q.generated == 0 && s.Soonest(r.q) > r.at
}

// TestEarliestDeadlineIsTheNaiveOrder: the same jobs, in ties and overloads, preempted, cancelled and with prefixes in common, get the same
// tokens at the same nanosecond.
func TestEarliestDeadlineIsTheNaiveOrder(t *testing.T) {
	var late, preempted, hits, tokens int
	for seed := range uint64(150) {
		run := func(policy Policy) ([]Event, Stats) {
			rng := rand.New(rand.NewPCG(seed, 8))
			p := Params{
				Base: time.Duration(1 + rng.IntN(1000)), PerPromptToken: time.Duration(rng.IntN(100)), PerPromptPair: time.Duration(rng.IntN(5)),
				PerSequence: time.Duration(rng.IntN(300)), PerContextToken: time.Duration(rng.IntN(20)),
				MaxBatch: 1 + rng.IntN(8), KVTokens: 80 + rng.IntN(200), DefaultOutput: 1, Policy: policy,
				Preemption: rng.IntN(2) == 0, BlockTokens: max(0, rng.IntN(12)-6),
			}
			p.TokenBudget = p.MaxBatch + rng.IntN(60)
			e, err := NewEngine(p)
			require.NoError(t, err)
			var all []Event
			var now time.Duration
			gap, wait := 1+rng.IntN(20_000), 1+rng.IntN(100_000)
			for id := range uint64(150) {
				if rng.IntN(3) > 0 {
					now += time.Duration(rng.IntN(gap))
				}
				j := Job{ID: id, Rank: uint64(rng.IntN(3)), Prompt: 1 + rng.IntN(60), Output: 1 + rng.IntN(20)}
				switch rng.IntN(4) {
				case 0: // none, or that of the policy
				case 1:
					j.Deadline = time.Duration(1+rng.IntN(4)) * time.Duration(wait)
				default:
					j.Deadline = time.Duration(1 + rng.IntN(wait))
				}
				if rng.IntN(40) == 0 {
					j.Deadline = math.MaxInt64
				}
				if rng.IntN(3) == 0 {
					j.Computed = min(j.Prompt, rng.IntN(70))
				}
				for k := range j.Prompt / max(1, p.BlockTokens) {
					j.Blocks = append(j.Blocks, uint64(rng.IntN(2)+2*k))
				}
				require.NoError(t, e.Submit(now, j))
				all = append(all, e.Advance(now)...)
				if rng.IntN(6) == 0 {
					e.Cancel(now, uint64(rng.IntN(int(id)+1)))
				}
				if rng.IntN(3) == 0 {
					e.Stats() // which plans
				}
			}
			for at, ok := e.Next(); ok; at, ok = e.Next() {
				all = append(all, e.Advance(at)...)
			}
			if w := e.waits; w != nil {
				late += len(w.late)
				for _, h := range w.heaps {
					require.Empty(t, h)
				}
			}
			return all, e.Stats()
		}
		ttft := time.Duration(seed%3) * 10_000
		want, stats := run(naiveDeadline{ttft})
		got, s := run(EarliestDeadline{ttft})
		require.Equal(t, stats, s, "seed %d", seed)
		require.True(t, slices.Equal(want, got), "seed %d", seed)
		preempted += int(s.Preemptions)
		hits += int(s.CacheHits)
		tokens += len(got)
	}
	require.Zero(t, late)
	require.Greater(t, preempted, 300)
	require.Greater(t, hits, 1000)
	t.Log(tokens, "tokens,", preempted, "preemptions,", hits, "tokens hit")
}

// BenchmarkEarliestDeadline is one step of an overloaded engine in whose queue so many wait, of which as many enter as are done.
func BenchmarkEarliestDeadline(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		for name, policy := range map[string]Policy{"naive": naiveDeadline{}, "heap": EarliestDeadline{}} {
			for _, hope := range []string{"in time", "late"} {
				b.Run(fmt.Sprintf("%d waiting, %s/%s", n, hope, name), func(b *testing.B) {
					p := OPT13B()
					p.Policy = policy
					e, err := NewEngine(p)
					require.NoError(b, err)
					rng := rand.New(rand.NewPCG(1, 1))
					id := uint64(0)
					submit := func(now time.Duration) {
						id++
						j := Job{ID: id, Rank: id, Prompt: 500, Output: 1, Deadline: time.Duration(1 + rng.Int64N(int64(500*time.Hour)))}
						if hope == "late" {
							j.Deadline = time.Duration(1 + rng.IntN(100))
						}
						require.NoError(b, e.Submit(now, j))
					}
					for range n {
						submit(0)
					}
					step := func() {
						at, _ := e.Next()
						for range len(e.Advance(at)) {
							submit(at)
						}
					}
					step() // the first one sorts them
					for b.Loop() {
						step()
					}
					require.InDelta(b, n, e.queue.len(), 10)
				})
			}
		}
	}
}
