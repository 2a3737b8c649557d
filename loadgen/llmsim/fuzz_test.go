package llmsim_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// randomParams are those of a small engine, of any policy.
func randomParams(rng *rand.Rand) llmsim.Params {
	p := llmsim.Params{
		Base: time.Duration(1 + rng.IntN(1000)), PerPromptToken: time.Duration(rng.IntN(100)), PerPromptPair: time.Duration(rng.IntN(5)),
		PerSequence: time.Duration(rng.IntN(100)), PerContextToken: time.Duration(rng.IntN(5)),
		MaxBatch: 1 + rng.IntN(8), KVTokens: 40 + rng.IntN(200), DefaultOutput: 1, Policy: policies[rng.IntN(len(policies))],
	}
	p.TokenBudget = p.MaxBatch + rng.IntN(40)
	p.Preemption = rng.IntN(2) == 0
	p.BlockTokens = max(0, rng.IntN(20)-8)
	return p
}

// conserve puts random jobs on an engine, cancels some, and closes the books: of each job as many tokens as it asked for, in
// order, and at the end nothing that is promised, held or waited for.
func conserve(t *testing.T, rng *rand.Rand) {
	p := randomParams(rng)
	e := engine(t, p)
	type account struct {
		job llmsim.Job
		out int
	}
	live := map[uint64]*account{}
	var now, latest time.Duration
	var out, prompt uint64 // of those that ended
	cancelled := false
	take := func(events []llmsim.Event) {
		for _, ev := range events {
			a := live[ev.ID]
			require.NotNil(t, a, "a token of a job that is not there")
			require.GreaterOrEqual(t, ev.At, latest)
			require.LessOrEqual(t, ev.At, now)
			latest = ev.At
			out++
			a.out++
			require.Equal(t, a.out == a.job.Output, ev.Last)
			if ev.Last {
				prompt += uint64(a.job.Prompt - a.job.Computed)
				delete(live, ev.ID)
			}
		}
	}
	check := func() {
		s := e.Stats()
		require.Equal(t, len(live), s.Waiting+s.Running)
		require.LessOrEqual(t, s.Running, p.MaxBatch)
		require.LessOrEqual(t, s.KVReserved, p.KVTokens)
		require.LessOrEqual(t, s.KVUsed, s.KVReserved)
		require.LessOrEqual(t, s.KVUsed+s.KVCached, p.KVTokens)
		require.LessOrEqual(t, s.CacheHits, s.CacheQueried)
		require.GreaterOrEqual(t, s.KVUsed, 0)
		require.GreaterOrEqual(t, s.Busy, time.Duration(s.Steps)*p.Base)
		at, ok := e.Next()
		require.True(t, ok || len(live) == 0, "idle with work")
		require.True(t, !ok || len(live) > 0 || cancelled, "busy with none: no step goes on whose jobs were cancelled")
		if ok {
			require.Greater(t, at, now)
		}
	}
	for id := range uint64(100) {
		j := llmsim.Job{ID: id, Rank: id, Prompt: 1 + rng.IntN(60), Output: 1 + rng.IntN(20), Deadline: time.Duration(rng.IntN(20_000))}
		if rng.IntN(3) == 0 {
			j.Computed = min(j.Prompt, rng.IntN(70))
		}
		j.Blocks = someBlocks(rng, p.BlockTokens, j)
		if err := e.Submit(now, j); err != nil {
			require.ErrorIs(t, err, llmsim.ErrTooLong)
			require.Greater(t, j.Prompt+j.Output, p.KVTokens)
		} else {
			live[id] = &account{job: j}
		}
		take(e.Advance(now))
		if rng.IntN(2) == 0 {
			check()
		}
		switch rng.IntN(4) {
		case 0:
			now += time.Duration(rng.IntN(1 + int(p.Base)*20))
		case 1:
			if at, ok := e.Next(); ok {
				now = at
			}
		}
		take(e.Advance(now))
		if gone := uint64(rng.IntN(int(id) + 1)); rng.IntN(8) == 0 {
			_, there := live[gone]
			require.Equal(t, there, e.Cancel(now, gone))
			delete(live, gone)
			cancelled = cancelled || there
			take(e.Advance(now))
		}
	}
	for {
		check()
		at, ok := e.Next()
		if !ok {
			break
		}
		now = at
		take(e.Advance(at))
	}
	s := e.Stats()
	require.Equal(t, out, s.OutputTokens)
	if !cancelled && p.BlockTokens == 0 {
		require.Zero(t, s.CacheQueried)
		// Who is preempted has one token that was not through the model, and is computed for the first time when it comes back.
		require.GreaterOrEqual(t, s.PromptTokens-s.Recomputed, prompt)
		require.LessOrEqual(t, s.PromptTokens-s.Recomputed, prompt+s.Preemptions)
	}
	if _, whim := p.Policy.(whims); !whim && !p.Preemption {
		require.Zero(t, s.Preemptions)
	}
	s.Steps, s.Busy, s.PromptTokens, s.OutputTokens, s.Preemptions, s.Recomputed = 0, 0, 0, 0, 0, 0
	s.KVCached, s.CacheQueried, s.CacheHits = 0, 0, 0
	require.Equal(t, llmsim.Stats{}, s)
}

func TestConservation(t *testing.T) {
	for seed := range uint64(300) {
		conserve(t, rand.New(rand.NewPCG(seed, 4)))
	}
}

func FuzzConservation(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { conserve(t, rand.New(rand.NewPCG(a, b))) })
}
