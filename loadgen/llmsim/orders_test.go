package llmsim_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// anyModel is one or two pools of small engines that differ in everything: policy, preemption, prefix cache, sizes down to
// a batch of one and a budget of one, routers, and transfers from none at all to a second a token.
func anyModel(rng *rand.Rand) llmsim.Model {
	block := max(0, rng.IntN(20)-8)
	pool := func() (r llmsim.Replicas) {
		for range 1 + rng.IntN(3) {
			p := randomParams(rng)
			p.BlockTokens = block
			if rng.IntN(4) == 0 {
				p.MaxBatch, p.TokenBudget = 1, 1+rng.IntN(3)
			}
			if _, ok := p.Policy.(whims); ok {
				p.Policy = whims{rng.Uint64()}
			}
			if rng.IntN(4) == 0 {
				p.KVTokens = max(block, 2+rng.IntN(20))
			}
			r.Engines = append(r.Engines, p)
		}
		r.Router = append(routers, nil)[rng.IntN(4)]
		return r
	}
	if rng.IntN(3) == 0 {
		return pool()
	}
	return llmsim.Disaggregated{Prefill: pool(), Decode: pool(), Transfer: []llmsim.Transfer{
		atOnce, perMs, {KVBytes: 1, Bandwidth: 1e9}, {KVBytes: 1, Bandwidth: 1e6, Latency: 3 * time.Microsecond},
		{KVBytes: 7, Bandwidth: 3e7, Parallel: true}, {Bandwidth: math.Inf(1), Latency: 500}, {KVBytes: 1, Bandwidth: 1e18}, {KVBytes: 1, Bandwidth: 1},
	}[rng.IntN(8)]}
}

// anyCalls makes the calls of a seed on its model, those of each instant in an order that shuffle chooses, with looks in
// between, and holds the books: of each job as many tokens as it asked for, and at the end nothing that is held or waits.
func anyCalls(t *testing.T, seed uint64, shuffle *rand.Rand) (all []llmsim.Event, end llmsim.Stats) {
	rng := rand.New(rand.NewPCG(seed, 77))
	model := anyModel(rng)
	m, block := machine(t, model), model.Info().BlockTokens
	left := map[uint64]int{} // tokens to come
	var now time.Duration
	take := func(events []llmsim.Event) {
		for _, ev := range events {
			require.Positive(t, left[ev.ID], "a token of a job that is over")
			require.LessOrEqual(t, ev.At, now)
			left[ev.ID]--
			require.Equal(t, left[ev.ID] == 0, ev.Last)
			if ev.Last {
				delete(left, ev.ID)
			}
		}
		all = append(all, events...)
	}
	check := func() (next time.Duration, ok bool) {
		s := m.Stats()
		require.Equal(t, len(left), s.Waiting+s.Running)
		require.GreaterOrEqual(t, s.KVUsed, 0)
		require.GreaterOrEqual(t, s.KVReserved, s.KVUsed)
		next, ok = m.Next()
		require.True(t, ok || len(left) == 0, "idle with work")
		return next, ok
	}
	longest, answer := 60, 20
	if rng.IntN(2) == 0 {
		longest, answer = 6, 5
	}
	id := uint64(0)
	for range 60 {
		var calls []func()
		old := id
		for range rng.IntN(4) {
			id++
			j := llmsim.Job{ID: id, Rank: id, Prompt: 1 + rng.IntN(longest), Output: 1 + rng.IntN(answer), Deadline: time.Duration(rng.IntN(20_000))}
			if rng.IntN(3) == 0 {
				j.Computed = min(j.Prompt, rng.IntN(70))
			}
			j.Blocks = someBlocks(rng, block, j)
			calls = append(calls, func() {
				if err := m.Submit(now, j); err != nil {
					require.ErrorIs(t, err, llmsim.ErrTooLong)
				} else {
					left[j.ID] = j.Output
				}
			})
		}
		for range rng.IntN(3) {
			if old > 0 {
				gone := old - uint64(rng.IntN(int(min(old, 12))))
				calls = append(calls, func() {
					was := m.Cancel(now, gone)
					take(m.Advance(now)) // what came before
					require.Equal(t, left[gone] > 0, was)
					delete(left, gone)
				})
			}
		}
		if shuffle != nil {
			shuffle.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		}
		for _, call := range calls {
			call()
			if shuffle != nil && shuffle.IntN(2) == 0 {
				take(m.Advance(now))
			}
			if shuffle != nil && shuffle.IntN(2) == 0 {
				check()
			}
		}
		next, ok := check()
		switch {
		case ok && rng.IntN(2) == 0:
			now = next
		case rng.IntN(30) == 0:
			now += time.Hour
		default:
			now += time.Duration(rng.IntN(30_000))
		}
		take(m.Advance(now))
	}
	for next, ok := check(); ok; next, ok = check() {
		require.GreaterOrEqual(t, next, now)
		now = next
		take(m.Advance(now))
	}
	end = m.Stats()
	require.Zero(t, end.KVReserved+end.KVUsed+end.Running+end.Waiting)
	slices.SortStableFunc(all, func(a, b llmsim.Event) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	return all, end
}

// TestOrderOfCallsOfAnyModel: whatever the model, the calls of one instant and the looks between them can come in any order.
func TestOrderOfCallsOfAnyModel(t *testing.T) {
	seeds := []uint64{
		255, 471, 1126, 1336, // a router that looks at who decodes, beside one that has just been cancelled
		760, 1038, 1278, 1431, // or at an engine in which a cancelled transfer has just made room
		2719, // an engine without room for anybody, whose policy heeds the time
	}
	for seed := range uint64(60) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		want, end := anyCalls(t, seed, nil)
		for order := range uint64(4) {
			got, s := anyCalls(t, seed, rand.New(rand.NewPCG(seed, order)))
			require.Equal(t, end, s, "seed %d", seed)
			require.True(t, slices.Equal(want, got), "seed %d: tokens come otherwise", seed)
		}
	}
}
