package llmsim_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

// atOnce is a transfer that takes no time; perMs one of a token a millisecond.
var (
	atOnce = llmsim.Transfer{Bandwidth: math.Inf(1)}
	perMs  = llmsim.Transfer{KVBytes: 1, Bandwidth: 1000}
)

// split is so many prefill and decode engines.
func split(p llmsim.Params, prefill, decode int, t llmsim.Transfer) llmsim.Disaggregated {
	return llmsim.Disaggregated{Prefill: replicas(p, prefill, llmsim.LeastTTFT{}), Decode: replicas(p, decode, llmsim.LeastLoad{}), Transfer: t}
}

// tokens are the instants of each job's tokens, in milliseconds.
func tokens(events []llmsim.Event) map[uint64][]float64 {
	at := map[uint64][]float64{}
	for _, ev := range events {
		at[ev.ID] = append(at[ev.ID], ms64(ev.At))
	}
	return at
}

// TestDisaggregatedByHand: traces that one can work out in one's head.
func TestDisaggregatedByHand(t *testing.T) {
	late := perMs
	late.Latency = 5 * ms
	beside := late
	beside.Parallel = true
	small := split(round(), 1, 1, atOnce)
	small.Prefill.Engines[0].KVTokens, small.Decode.Engines[0].KVTokens = 14, 15
	batch := split(round(), 1, 1, perMs)
	batch.Decode.Engines[0].MaxBatch = 1
	for _, c := range []struct {
		name string
		m    llmsim.Disaggregated
		jobs []llmsim.Job // all at 0
		want map[uint64][]float64
	}{
		{"one job", split(round(), 1, 1, late), []llmsim.Job{{ID: 1, Prompt: 10, Output: 3}},
			// Steps of 8 and 2 prompt tokens; 10 ms for the bytes and 5 for the latency; two decode steps.
			map[uint64][]float64{1: {30, 57, 69}}},
		{"one token", split(round(), 1, 1, late), []llmsim.Job{{ID: 1, Prompt: 10, Output: 1}},
			map[uint64][]float64{1: {30}}},
		{"one transfer after the other", split(round(), 1, 1, late), []llmsim.Job{{ID: 1, Prompt: 4, Output: 3}, {ID: 2, Prompt: 4, Output: 3}},
			// Both in one step. The second is sent from 22 to 26 and there at 31, in the middle of a step.
			map[uint64][]float64{1: {18, 39, 53}, 2: {18, 53, 65}}},
		{"transfers beside each other", split(round(), 1, 1, beside), []llmsim.Job{{ID: 1, Prompt: 4, Output: 3}, {ID: 2, Prompt: 4, Output: 3}},
			map[uint64][]float64{1: {18, 41, 55}, 2: {18, 41, 55}}},
		{"two links", split(round(), 2, 1, late), []llmsim.Job{{ID: 1, Prompt: 4, Output: 3}, {ID: 2, Prompt: 4, Output: 3}},
			// Each to a prefill engine of its own, first token at 14, there at 23.
			map[uint64][]float64{1: {14, 37, 51}, 2: {14, 37, 51}}},
		{"two decode engines", split(round(), 1, 2, perMs), []llmsim.Job{{ID: 1, Prompt: 4, Output: 3}, {ID: 2, Prompt: 4, Output: 3}},
			map[uint64][]float64{1: {18, 34, 46}, 2: {18, 38, 50}}},
		{"a full decode batch", batch, []llmsim.Job{{ID: 1, Prompt: 4, Output: 2}, {ID: 2, Prompt: 4, Output: 2}},
			// The second is called for when the first is over, at 34.
			map[uint64][]float64{1: {18, 34}, 2: {18, 50}}},
		{"back pressure", small, []llmsim.Job{{ID: 1, Prompt: 6, Output: 3}, {ID: 2, Prompt: 6, Output: 3}, {ID: 3, Prompt: 6, Output: 3}, {ID: 4, Prompt: 6, Output: 3}, {ID: 5, Prompt: 6, Output: 3}},
			// The decode engine has room for one job at a time, the prefill engine for two prompts. Job 5 finds it full of the prompts
			// of jobs 3 and 4 at 64, and begins at 66, when job 2 is over and job 3 has been called for.
			map[uint64][]float64{1: {18, 30, 42}, 2: {36, 54, 66}, 3: {48, 78, 90}, 4: {64, 102, 114}, 5: {82, 126, 138}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, c.m)
			for _, j := range c.jobs {
				require.NoError(t, m.Submit(0, j))
			}
			events := empty(m)
			assert.Equal(t, c.want, tokens(events))
			for _, j := range c.jobs {
				last := slices.IndexFunc(events, func(e llmsim.Event) bool { return e.ID == j.ID && e.Last })
				assert.Equal(t, c.want[j.ID][j.Output-1], ms64(events[last].At))
			}
			s := m.Stats()
			assert.Zero(t, s.KVReserved+s.KVUsed+s.Running+s.Waiting)
		})
	}
}

// TestDisaggregatedCancel: who leaves makes room at once, wherever he is.
func TestDisaggregatedCancel(t *testing.T) {
	jobs := []llmsim.Job{{ID: 1, Prompt: 4, Output: 3}, {ID: 2, Prompt: 4, Output: 3}, {ID: 3, Prompt: 4, Output: 3}}
	start := func(m llmsim.Disaggregated) llmsim.Machine {
		x := machine(t, m)
		for _, j := range jobs {
			require.NoError(t, x.Submit(0, j))
		}
		return x
	}
	roomy := split(round(), 1, 1, perMs)
	roomy.Prefill.Engines[0].TokenBudget = 12 // all three in one step, to 22
	one := split(round(), 1, 1, perMs)
	one.Prefill.Engines[0].TokenBudget, one.Decode.Engines[0].MaxBatch = 12, 1

	m := start(roomy)
	assert.True(t, m.Cancel(24*ms, 1), "while it is sent: the others move up")
	assert.Equal(t, map[uint64][]float64{1: {22}, 2: {22, 40, 54}, 3: {22, 54, 66}}, tokens(empty(m)))
	m = start(roomy)
	assert.True(t, m.Cancel(24*ms, 2), "while it is in line")
	assert.Equal(t, map[uint64][]float64{1: {22, 38, 52}, 2: {22}, 3: {22, 52, 64}}, tokens(empty(m)))
	m = start(one)
	assert.True(t, m.Cancel(24*ms, 1), "while it is sent: the next is called for")
	assert.Equal(t, map[uint64][]float64{1: {22}, 2: {22, 40, 52}, 3: {22, 68, 80}}, tokens(empty(m)))
	m = start(one)
	assert.True(t, m.Cancel(24*ms, 2), "before it is called for")
	assert.Equal(t, map[uint64][]float64{1: {22, 38, 50}, 2: {22}, 3: {22, 66, 78}}, tokens(empty(m)))
	m = start(one)
	assert.True(t, m.Cancel(40*ms, 1), "while it is decoded: the next one's transfer ends before the step")
	assert.False(t, m.Cancel(40*ms, 1))
	assert.Equal(t, map[uint64][]float64{1: {22, 38}, 2: {22, 62, 74}, 3: {22, 90, 102}}, tokens(empty(m)))
	m = start(one)
	assert.True(t, m.Cancel(10*ms, 1), "in the prefill pool")
	assert.Equal(t, map[uint64][]float64{2: {22, 38, 50}, 3: {22, 66, 78}}, tokens(empty(m)))
	s := m.Stats()
	assert.Zero(t, s.KVReserved+s.KVUsed+s.Running+s.Waiting)
}

// TestDisaggregatedAloneIsTheEngine: with transfers that take no time, one job after the other meets what one engine has for it.
func TestDisaggregatedAloneIsTheEngine(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 6))
		p := random(rng)
		bare, pools := machine(t, p), machine(t, split(p, 1+rng.IntN(3), 1+rng.IntN(3), atOnce))
		var now time.Duration
		for id := range uint64(20) {
			j := llmsim.Job{ID: id, Prompt: 1 + rng.IntN(60), Output: 1 + rng.IntN(20), Data: "x"}
			j.Computed = rng.IntN(j.Prompt)
			require.NoError(t, bare.Submit(now, j))
			require.NoError(t, pools.Submit(now, j))
			want := empty(bare)
			require.Equal(t, want, empty(pools))
			now = want[len(want)-1].At + time.Duration(rng.IntN(100))
		}
		b, s := bare.Stats(), pools.Stats()
		require.Equal(t, b.Busy, s.Busy)
		require.Equal(t, b.PromptTokens, s.PromptTokens)
		require.Equal(t, b.OutputTokens, s.OutputTokens)
	}
}

// TestDisaggregatedOrderOfCalls makes the same calls of each instant in different orders, and holds the books and the limits
// of each engine, under transfers of all kinds.
func TestDisaggregatedOrderOfCalls(t *testing.T) {
	within := func(n uint64, j llmsim.Job, pool []*llmsim.Replica) {
		for _, r := range pool {
			s := r.Stats()
			if s.KVUsed > s.KVReserved || s.KVReserved > r.Params().KVTokens || s.Running > r.Params().MaxBatch {
				require.Fail(t, "over a limit", "%+v", s)
			}
		}
	}
	for i, transfer := range []llmsim.Transfer{
		atOnce, perMs, {KVBytes: 1, Bandwidth: 300, Latency: 30 * ms}, {KVBytes: 7, Bandwidth: 3e3, Parallel: true}, {Bandwidth: math.Inf(1), Latency: 10 * ms},
	} {
		p := round()
		p.KVTokens = 60
		d := split(p, 2, 3, transfer)
		d.Decode.Engines[1].KVTokens, d.Decode.Engines[2].KVTokens = 40, 45
		d.Prefill.Router, d.Decode.Router = looker{within}, looker{within}
		for k := range d.Decode.Engines {
			d.Decode.Engines[k].Preemption = i%2 == 0
		}
		run := func(shuffle *rand.Rand) []llmsim.Event {
			m := machine(t, d)
			return shuffled(t, m, 300, 20, 9, shuffle, func(in map[uint64]bool) {
				s := m.Stats()
				require.Equal(t, len(in), s.Running+s.Waiting)
				require.LessOrEqual(t, s.KVReserved, 2*60+60+40+45)
			})
		}
		want := run(nil)
		require.Greater(t, len(want), 1000)
		for seed := range uint64(20) {
			require.Equal(t, want, run(rand.New(rand.NewPCG(seed, 9))), "transfer %d, seed %d", i, seed)
		}
	}
}

// TestDisaggregatedRandom: whatever the engines, the transfers, the prefixes and the cancels, every job ends, with all of its
// tokens in order, and no engine promises more than it has.
func TestDisaggregatedRandom(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 12))
		block := rng.IntN(2) * (1 + rng.IntN(16))
		policies := []llmsim.Policy{nil, llmsim.PrefillFirst{}, llmsim.EarliestDeadline{}}
		within := func(_ uint64, _ llmsim.Job, pool []*llmsim.Replica) {
			for _, r := range pool {
				s := r.Stats()
				if s.KVUsed > s.KVReserved || s.KVReserved > r.Params().KVTokens || s.KVUsed+s.KVCached > r.Params().KVTokens {
					require.Fail(t, "over a limit", "seed %d: %+v of %d", seed, s, r.Params().KVTokens)
				}
			}
		}
		engines := func() llmsim.Replicas {
			var r llmsim.Replicas
			for range 1 + rng.IntN(3) {
				p := random(rng)
				p.BlockTokens, p.Preemption, p.Policy = block, rng.IntN(2) == 0, policies[rng.IntN(3)]
				r.Engines = append(r.Engines, p)
			}
			r.Router = looker{within}
			return r
		}
		d := llmsim.Disaggregated{Prefill: engines(), Decode: engines(), Transfer: llmsim.Transfer{
			KVBytes: 1, Bandwidth: math.Pow(10, 5+5*rng.Float64()), Latency: time.Duration(rng.IntN(3) * rng.IntN(5000)), Parallel: rng.IntN(2) == 0}}
		m := machine(t, d)
		var now time.Duration
		left := map[uint64]int{}
		take := func(events []llmsim.Event) {
			for _, ev := range events {
				left[ev.ID]--
				require.Equal(t, left[ev.ID] == 0, ev.Last, "seed %d", seed)
				if ev.Last {
					delete(left, ev.ID)
				}
			}
		}
		for id := range uint64(400) {
			now += time.Duration(rng.IntN(2) * rng.IntN(1+rng.IntN(4000)))
			j := llmsim.Job{ID: id, Rank: id, Prompt: 1 + rng.IntN(50), Output: 1 + rng.IntN(25), Deadline: time.Duration(rng.IntN(2) * rng.IntN(5000))}
			if block > 0 {
				h := uint64(rng.IntN(3))
				for n := 0; n+block <= j.Prompt; n += block {
					if rng.IntN(6) == 0 {
						h += uint64(1+rng.IntN(1000)) << 32
					}
					h = h*31 + 7
					j.Blocks = append(j.Blocks, h)
				}
			}
			take(m.Advance(now))
			require.NoError(t, m.Submit(now, j))
			left[id] = j.Output
			if gone := uint64(rng.IntN(int(id + 1))); rng.IntN(3) == 0 && m.Cancel(now, gone) {
				take(m.Advance(now))
				delete(left, gone)
			}
			s := m.Stats()
			require.Equal(t, len(left), s.Running+s.Waiting, "seed %d", seed)
		}
		take(empty(m))
		require.Empty(t, left, "seed %d: every job ends", seed)
		s := m.Stats()
		require.Zero(t, s.KVReserved+s.KVUsed+s.Running+s.Waiting, "seed %d", seed)
	}
}

// TestDisaggregatedInABubble: event loop and clocked target give the same records, to the nanosecond.
func TestDisaggregatedInABubble(t *testing.T) {
	opt := split(llmsim.OPT13B(), 2, 2, llmsim.Transfer{KVBytes: 819_200, Bandwidth: 5e9, Latency: ms})
	small := split(llmsim.OPT13B(), 2, 1, llmsim.Transfer{KVBytes: 819_200, Bandwidth: 2e9})
	cached := split(llmsim.OPT13B(), 2, 1, llmsim.Transfer{KVBytes: 819_200, Bandwidth: 2e9})
	for _, r := range [][]llmsim.Params{small.Prefill.Engines, small.Decode.Engines, cached.Prefill.Engines, cached.Decode.Engines} {
		for i := range r {
			r[i].KVTokens = 3000
		}
	}
	for _, r := range [][]llmsim.Params{cached.Prefill.Engines, cached.Decode.Engines} {
		for i := range r {
			r[i].BlockTokens, r[i].Preemption = 16, true
		}
	}
	for _, c := range []bubbleCase{
		{"open loop", opt, loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 6, Seed: 1}, Workload: requests(1000, 1000, 300)}, nil},
		{"overload with timeouts", opt, loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 36, Seed: 2}, Workload: requests(2000, 1000, 300), Timeout: 15 * time.Second},
			[]goodput.Outcome{goodput.Timeout}},
		{"too long", small, loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 2, Seed: 3}, Workload: requests(500, 3200, 300), Timeout: 30 * time.Second},
			[]goodput.Outcome{goodput.ClientError, goodput.Timeout}},
		{"closed loop with timeouts", small, loadgen.Plan{Concurrency: 40, Workload: requests(800, 1000, 300), Timeout: 12 * time.Second},
			[]goodput.Outcome{goodput.Timeout}},
		{"sessions, with a prefix cache", cached, loadgen.Plan{Concurrency: 60, Workload: conversations(300, true), Timeout: 12 * time.Second},
			[]goodput.Outcome{goodput.Timeout}},
		{"sessions", opt, loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 4, Seed: 8}, Workload: conversations(300, true), Warmup: 10 * time.Second, Duration: time.Minute}, nil},
	} {
		t.Run(c.name, func(t *testing.T) { sameInABubble(t, c) })
	}
}

// TestDisaggregatedLimits: far beyond what it can do, each part in turn is the limit, at its closed form.
func TestDisaggregatedLimits(t *testing.T) {
	const n, prompt = 3000, 512
	p := llmsim.OPT13B()
	rate := func(d llmsim.Disaggregated, output int) float64 {
		m := machine(t, d)
		for id := range uint64(n) {
			require.NoError(t, m.Submit(0, llmsim.Job{ID: id, Rank: id, Prompt: prompt, Output: output}))
		}
		events := empty(m)
		return n / events[len(events)-1].At.Seconds()
	}
	// Prefill: a step computes as many prompts as TokenBudget holds, four.
	step := p.Base + 4*(prompt*p.PerPromptToken+prompt*(prompt+1)/2*p.PerPromptPair)
	limit := 4 / step.Seconds()
	assert.InEpsilon(t, limit, rate(split(p, 1, 4, atOnce), 2), 0.01)
	assert.InEpsilon(t, 3*limit, rate(split(p, 3, 8, atOnce), 2), 0.01)
	// The link: prompts of 512 tokens at 1 ms each leave one after the other, from one engine; from three, three times as many.
	assert.InEpsilon(t, 1/0.512, rate(split(p, 1, 4, perMs), 2), 0.01)
	assert.InEpsilon(t, 3/0.512, rate(split(p, 3, 4, perMs), 2), 0.01)
	// Decode: of 64 that run at once, each is there for 199 steps, with 512 + 100 tokens on average.
	d := split(p, 4, 1, atOnce)
	d.Decode.Engines[0].MaxBatch, d.Decode.Engines[0].KVTokens = 64, 1<<20
	full := p.Base + 64*(p.PerSequence+612*p.PerContextToken)
	assert.InEpsilon(t, 64/(199*full.Seconds()), rate(d, 200), 0.02)
}

// TestDisaggregatedPreemption: a decode engine that keeps no room for answers has more at once, and throws some out again.
func TestDisaggregatedPreemption(t *testing.T) {
	p := round()
	p.KVTokens, p.MaxBatch = 60, 8
	run := func(preemption bool) (s llmsim.Stats, most int) {
		d := split(p, 2, 1, atOnce)
		d.Decode.Engines[0].Preemption = preemption
		m := machine(t, d)
		for id := range uint64(20) {
			require.NoError(t, m.Submit(0, llmsim.Job{ID: id, Rank: id, Prompt: 6, Output: 24}))
		}
		m.Advance(time.Second) // the prefill pool has no prompt left that is not computed, or no room for one
		last := map[uint64]bool{}
		for at, ok := m.Next(); ok; at, ok = m.Next() {
			clear(last)
			for _, ev := range m.Advance(at) {
				last[ev.ID] = true
			}
			most = max(most, len(last))
		}
		return m.Stats(), most
	}
	kept, few := run(false)
	thrown, many := run(true)
	assert.Equal(t, 2, few, "30 tokens each")
	assert.Greater(t, many, few)
	assert.Zero(t, kept.Preemptions)
	assert.Greater(t, thrown.Preemptions, uint64(3))
	assert.Greater(t, thrown.Recomputed, uint64(20))
	assert.Equal(t, kept.OutputTokens, thrown.OutputTokens)
	again := thrown.PromptTokens - kept.PromptTokens - thrown.Recomputed
	assert.LessOrEqual(t, again, thrown.Preemptions, "who comes back has at most one token that was not computed yet")
	assert.Zero(t, thrown.KVReserved+thrown.KVUsed+thrown.Running+thrown.Waiting)
}

// TestSlowTransferIsInTheSecondToken: TTFT knows nothing of it, and neither does the third token.
func TestSlowTransferIsInTheSecondToken(t *testing.T) {
	p := llmsim.OPT13B()
	at := func(bandwidth float64) []time.Duration {
		m := machine(t, split(p, 1, 1, llmsim.Transfer{KVBytes: 819_200, Bandwidth: bandwidth}))
		require.NoError(t, m.Submit(0, llmsim.Job{Prompt: 1000, Output: 3}))
		var at []time.Duration
		for _, ev := range empty(m) {
			at = append(at, ev.At)
		}
		return at
	}
	fast, slow := at(math.Inf(1)), at(1e9)
	alone, _ := alone(t, p, 1000, 1)
	decode := p.Base + p.PerSequence + 1001*p.PerContextToken
	assert.Equal(t, []time.Duration{alone, alone + decode, alone + 2*decode + p.PerContextToken}, fast)
	assert.Equal(t, []time.Duration{fast[0], fast[1] + 819_200*time.Microsecond, fast[2] + 819_200*time.Microsecond}, slow)
}

func TestDisaggregatedRefuses(t *testing.T) {
	good := split(round(), 2, 1, perMs)
	for _, c := range []struct {
		change func(*llmsim.Disaggregated)
		want   string
	}{
		{func(d *llmsim.Disaggregated) { d.Prefill.Engines = nil }, "llmsim: Disaggregated.Prefill has no engines: at least one is needed"},
		{func(d *llmsim.Disaggregated) { d.Decode.Engines = nil }, "llmsim: Disaggregated.Decode has no engines"},
		{func(d *llmsim.Disaggregated) { d.Decode.Engines[0].Base = 0 }, "llmsim: Disaggregated.Decode: engine 0: Base is 0"},
		{func(d *llmsim.Disaggregated) { d.Decode.Engines[0].Model = "square" }, `llmsim: engines 0 and 2 serve different models, "round" and "square"`},
		{func(d *llmsim.Disaggregated) { d.Transfer.Bandwidth = -1 }, "llmsim: Transfer: Bandwidth is -1 bytes/s: it is above 0"},
		{func(d *llmsim.Disaggregated) { d.Transfer.Bandwidth = 0 }, "Bandwidth is 0 bytes/s"},
		{func(d *llmsim.Disaggregated) { d.Transfer.Bandwidth = math.NaN() }, "Bandwidth is NaN bytes/s"},
		{func(d *llmsim.Disaggregated) { d.Transfer.KVBytes = 0 }, "KVBytes is 0"},
		{func(d *llmsim.Disaggregated) { d.Transfer.KVBytes = -1 }, "KVBytes is -1"},
		{func(d *llmsim.Disaggregated) { d.Transfer.Latency = -1 }, "Latency is -1ns"},
		{func(d *llmsim.Disaggregated) { d.Transfer.Bandwidth = 1e-5 }, "a full KV cache would be on its way for 2.78e+03 hours"},
		{func(d *llmsim.Disaggregated) { d.Decode.Router = nowhere(nil) }, "the router nowhere gives no Route"},
	} {
		d := good
		d.Prefill.Engines, d.Decode.Engines = slices.Clone(d.Prefill.Engines), slices.Clone(d.Decode.Engines)
		c.change(&d)
		_, err := d.NewMachine()
		require.ErrorContains(t, err, c.want)
		_, err = llmsim.NewServer(d)
		require.Error(t, err)
		_ = d.Info()
	}
	assert.Equal(t, llmsim.Info{Name: "round, 2 prefill and 1 decode", Served: "round", DefaultOutput: 2}, good.Info())

	d := good
	d.Prefill.Engines = slices.Clone(d.Prefill.Engines)
	d.Prefill.Engines[1].KVTokens = 200
	m := machine(t, d)
	err := m.Submit(0, llmsim.Job{Prompt: 200, Output: 1})
	require.ErrorIs(t, err, llmsim.ErrTooLong)
	assert.ErrorContains(t, err, "200 prompt tokens and the first output token are more than the 200 that the KV cache of a prefill engine holds")
	err = m.Submit(0, llmsim.Job{Prompt: 99, Output: 2})
	require.ErrorIs(t, err, llmsim.ErrTooLong)
	assert.ErrorContains(t, err, "99 prompt tokens and 2 output tokens are more than the 100 that the KV cache of a decode engine holds")
	assert.ErrorIs(t, m.Submit(0, llmsim.Job{Prompt: 0, Output: 2}), llmsim.ErrNoTokens)
	assert.ErrorIs(t, m.Submit(0, llmsim.Job{Prompt: 1, Output: 0}), llmsim.ErrNoTokens)
	assert.ErrorIs(t, m.Submit(0, llmsim.Job{Prompt: 1, Computed: 2, Output: 2}), llmsim.ErrComputed)
	assert.Zero(t, m.Stats())
	assert.NoError(t, m.Submit(0, llmsim.Job{Prompt: 199, Output: 1}), "it never gets there")
	assert.Panics(t, func() { _ = m.Submit(0, llmsim.Job{Prompt: 1, Output: 1}) })

	d = good
	d.Prefill.Router = nowhere{5}
	assert.ErrorIs(t, machine(t, d).Submit(0, llmsim.Job{Prompt: 1, Output: 1}), llmsim.ErrRoute)
	d = good
	d.Decode.Router = nowhere{5}
	m = machine(t, d)
	require.NoError(t, m.Submit(0, llmsim.Job{Prompt: 1, Output: 2}))
	assert.PanicsWithError(t, "llmsim: Disaggregated.Decode: router nowhere chose engine 5, and they are 0 to 0", func() { empty(m) })

	// A MaxQueue refuses at the prefill pool alone.
	p := round()
	p.MaxBatch, p.MaxQueue = 1, 1
	m = machine(t, split(p, 1, 1, atOnce))
	require.NoError(t, m.Submit(0, llmsim.Job{ID: 1, Prompt: 8, Output: 9}))
	require.NoError(t, m.Submit(0, llmsim.Job{ID: 2, Prompt: 8, Output: 9}))
	assert.ErrorIs(t, m.Submit(0, llmsim.Job{ID: 3, Prompt: 8, Output: 9}), llmsim.ErrQueueFull)
	early := 0
	for id := range uint64(4) {
		early += len(m.Advance(time.Duration(1+id) * 20 * ms))
		require.NoError(t, m.Submit(time.Duration(1+id)*20*ms, llmsim.Job{ID: 4 + id, Prompt: 8, Output: 9}))
	}
	assert.Len(t, empty(m), 6*9-early, "the decode engine has one job at a time, and refuses none")
}

func ExampleDisaggregated() {
	// Two GPUs: two engines that do everything, or one for prompts and one for answers. The prompts' KV cache, 800 KB a token,
	// then goes over a network of 25 Gbit/s or, within one machine, over a link of 300 GB/s.
	gpu := llmsim.OPT13B()
	both := llmsim.Replicas{Engines: []llmsim.Params{gpu, gpu}, Router: llmsim.LeastTTFT{}}
	one := llmsim.Replicas{Engines: []llmsim.Params{gpu}}
	for _, c := range []struct {
		name  string
		model llmsim.Model
	}{
		{"colocated", both},
		{"25 Gbit/s", llmsim.Disaggregated{Prefill: one, Decode: one, Transfer: llmsim.Transfer{KVBytes: 819_200, Bandwidth: 25e9 / 8}}},
		{"300 GB/s", llmsim.Disaggregated{Prefill: one, Decode: one, Transfer: llmsim.Transfer{KVBytes: 819_200, Bandwidth: 300e9}}},
	} {
		res, err := llmsim.Runner(c.model)(context.Background(), loadgen.Plan{
			SLO:      slo.MustParse("ttft p90 < 1s, tpot p90 < 30ms"),
			Arrivals: loadgen.Poisson{Rate: 3, Seed: 1},
			Workload: requests(2000, 1000, 300),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %.0f %% in time\n", c.name, 100*res.Report.Attainment)
	}
	// Output:
	// colocated: 90 % in time
	// 25 Gbit/s: 81 % in time
	// 300 GB/s: 98 % in time
}
