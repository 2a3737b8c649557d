package llmsim_test

import (
	"errors"
	"io/fs"
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
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

func TestPrefixCache(t *testing.T) {
	p := round()
	p.PerPromptPair, p.BlockTokens = 10*time.Microsecond, 4
	blocks := []uint64{11, 12, 13}
	t.Run("what is there is not computed", func(t *testing.T) {
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 10, Output: 3, Blocks: blocks}))
		drain(e)
		s := e.Stats()
		assert.Equal(t, 12, s.KVCached, "8 of the prompt, and 4 with the first two of the answer: the third was never computed")
		assert.Zero(t, s.KVUsed)
		require.NoError(t, e.Submit(time.Second, llmsim.Job{ID: 2, Prompt: 10, Output: 1, Blocks: blocks[:2]}))
		s = e.Stats()
		assert.Equal(t, 4, s.KVCached)
		assert.Equal(t, 8, s.KVUsed)
		assert.Equal(t, 11, s.KVReserved)
		// The 9th token and the 10th: 10 + 2 ms and 19 pairs.
		assert.Equal(t, []llmsim.Event{{At: time.Second + 12*ms + 190*time.Microsecond, ID: 2, Last: true}}, drain(e))
		s = e.Stats()
		assert.Equal(t, uint64(10+2), s.PromptTokens)
		assert.Equal(t, uint64(20), s.CacheQueried)
		assert.Equal(t, uint64(8), s.CacheHits)
	})
	t.Run("the last token is computed", func(t *testing.T) {
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 8, Output: 1, Blocks: blocks[:2]}))
		require.NoError(t, e.Submit(time.Second, llmsim.Job{ID: 2, Prompt: 8, Output: 1, Blocks: blocks[:2]}))
		drain(e)
		assert.Equal(t, uint64(8+4), e.Stats().PromptTokens, "of the second block nothing can be used")
		assert.Equal(t, uint64(4), e.Stats().CacheHits)
	})
	t.Run("two that run share their blocks", func(t *testing.T) {
		p := p
		p.KVTokens = 30
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 9, Output: 10, Blocks: blocks[:2]}))
		e.Advance(50 * ms)
		require.NoError(t, e.Submit(50*ms, llmsim.Job{ID: 2, Prompt: 9, Output: 10, Blocks: blocks[:2]}))
		require.NoError(t, e.Submit(50*ms, llmsim.Job{ID: 3, Rank: 1, Prompt: 9, Output: 10, Blocks: []uint64{21}}))
		e.Advance(100 * ms)
		s := e.Stats()
		assert.Equal(t, 2, s.Running, "19 tokens each, 8 of them in common; the third needs 19")
		assert.Equal(t, 30, s.KVReserved)
		drain(e)
		assert.Zero(t, e.Stats().KVReserved)
	})
	t.Run("who computes the same at once has it twice", func(t *testing.T) {
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 4, Output: 2, Blocks: blocks[:1]}))
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 2, Prompt: 4, Output: 2, Blocks: blocks[:1]}))
		e.Advance(20 * ms)
		assert.Equal(t, 10, e.Stats().KVUsed)
		drain(e)
		assert.Equal(t, 4, e.Stats().KVCached)
		assert.Zero(t, e.Stats().CacheHits)
	})
	t.Run("the one that was left first goes first, its end before its beginning", func(t *testing.T) {
		p := p
		p.KVTokens = 25
		e := engine(t, p)
		for id, b := range [][]uint64{{11, 12}, {21, 22}, {31, 32}} { // the third needs 9 tokens beside 16
			require.NoError(t, e.Submit(time.Duration(id)*time.Second, llmsim.Job{ID: uint64(id), Prompt: 8, Output: 1, Blocks: b}))
			drain(e)
		}
		assert.Equal(t, 24, e.Stats().KVCached)
		hits := func(id uint64, b ...uint64) uint64 {
			before := e.Stats().CacheHits
			require.NoError(t, e.Submit(time.Duration(id)*time.Second, llmsim.Job{ID: id, Prompt: 9, Output: 1, Blocks: b}))
			drain(e)
			return e.Stats().CacheHits - before
		}
		// 10 tokens want room beside 24: 12 goes, 11, and 22.
		assert.Zero(t, hits(4, 41, 42))
		assert.Equal(t, uint64(4), hits(5, 21, 22))
		assert.Equal(t, uint64(0), hits(6, 11, 12))
	})
	t.Run("a job without blocks hits nothing, nor does an engine without a cache", func(t *testing.T) {
		e := engine(t, p)
		for id := range uint64(2) {
			require.NoError(t, e.Submit(0, llmsim.Job{ID: id, Prompt: 8, Output: 1}))
			drain(e)
		}
		assert.Equal(t, uint64(16), e.Stats().PromptTokens)
		e = engine(t, round())
		for id := range uint64(2) {
			require.NoError(t, e.Submit(0, llmsim.Job{ID: id, Prompt: 8, Output: 1, Blocks: blocks}))
			drain(e)
		}
		assert.Equal(t, uint64(16), e.Stats().PromptTokens)
		assert.Zero(t, e.Stats().CacheQueried)
	})
	t.Run("who was preempted finds its own again", func(t *testing.T) {
		p := p
		p.KVTokens, p.Preemption = 20, true
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 8, Output: 8}))
		require.NoError(t, e.Submit(1, llmsim.Job{ID: 2, Prompt: 6, Output: 8, Blocks: blocks[:1]}))
		drain(e)
		s := e.Stats()
		assert.Equal(t, uint64(1), s.Preemptions)
		// It had 6 + 2 tokens, 7 of them computed, and 4 are in the cache still.
		assert.Equal(t, uint64(4), s.CacheHits)
		assert.Equal(t, uint64(3), s.Recomputed)
		assert.Equal(t, uint64(8+6+4), s.PromptTokens)
	})
}

// TestPrefixCacheOfText: what a conversation said before is hit in its next turn, the answer too.
func TestPrefixCacheOfText(t *testing.T) {
	p := llmsim.OPT13B()
	p.BlockTokens = 4
	talk := func(first string) *loadgen.Request {
		return loadgen.Conversation(&loadgen.Request{Prompt: first, MaxTokens: 6},
			loadgen.Turn{Content: "eleven twelve thirteen", MaxTokens: 1}, loadgen.Turn{Content: "more", MaxTokens: 1})
	}
	for _, c := range []struct {
		name  string
		first *loadgen.Request
		want  uint64
	}{
		// 10 words, an answer of 6, 3 more, an answer of 1, 1 more. After the first turn 15 tokens were computed, 3 blocks of 4;
		// after the second 19, and of its 19 tokens the first 12 were hit. The third has 21, of which 4 blocks are there.
		{"a conversation", talk("one two three four five six seven eight nine ten"), 12 + 16},
		{"in any white space", talk(" one two\nthree\tfour five  six seven eight nine ten\n"), 12 + 16},
	} {
		synctest.Test(t, func(t *testing.T) {
			target := target(t, p)
			_, err := loadgen.Run(t.Context(), target, loadgen.Plan{SLO: chat, Concurrency: 1, Workload: slices.Values([]*loadgen.Request{c.first})})
			require.NoError(t, err)
			assert.Equal(t, c.want, target.Stats().CacheHits, c.name)
			assert.Equal(t, uint64(10+19+21), target.Stats().CacheQueried)
		})
	}
	hits := func(reqs ...*loadgen.Request) (hits uint64) {
		synctest.Test(t, func(t *testing.T) {
			target := target(t, p)
			_, err := loadgen.Run(t.Context(), target, loadgen.Plan{SLO: chat, Concurrency: 1, Workload: slices.Values(reqs)})
			require.NoError(t, err)
			hits = target.Stats().CacheHits
		})
		return hits
	}
	r := func(prompt string, tokens int) *loadgen.Request {
		return &loadgen.Request{Prompt: prompt, InputTokens: tokens, MaxTokens: 1}
	}
	assert.Equal(t, uint64(4), hits(r("a b c d e f g h", 0), r("a b c d x f g h", 0)), "each block hangs on those before it")
	assert.Equal(t, uint64(0), hits(r("x b c d e f g h", 0), r("a b c d e f g h", 0)))
	assert.Equal(t, uint64(4), hits(r("a b c d e", 50), r("a b c d e", 50)), "of the other 45 tokens nobody knows anything")
	assert.Equal(t, uint64(4), hits(r("a b c d e f g h i", 6), r("a b c d e f g h i", 6)))
	assert.Equal(t, uint64(0), hits(r("", 50), r("", 50)))
	assert.Equal(t, uint64(0), hits(r("ab c d e f", 0), r("a bc d e f", 0)))
	assert.Equal(t, uint64(8), hits(
		&loadgen.Request{Messages: []loadgen.Message{{Role: "system", Content: "a b c d"}, {Role: "user", Content: "e f g h i"}}, MaxTokens: 1},
		r("a b c d e f g h k", 0)), "roles are no words")
}

func TestPrefixCacheOfServer(t *testing.T) {
	p := llmsim.OPT13B()
	p.BlockTokens = 4
	synctest.Test(t, func(t *testing.T) {
		s, err := llmsim.NewServer(p)
		require.NoError(t, err)
		client := serve(t, s)
		for _, content := range []string{`"a b c d e f g h i"`, `[{"type":"text","text":"a b c"},{"type":"text","text":"d e f g h k"}]`} {
			status, _, rest := post(t, client, nil, `{"messages":[{"role":"user","content":`+content+`}],"max_tokens":1}`)
			require.Equal(t, 200, status, rest)
		}
		assert.Equal(t, uint64(8), s.Stats().CacheHits)
		require.NoError(t, s.Close())
	})
}

// watched is a Model whose machine can be asked afterwards.
type watched struct {
	llmsim.Params
	machine *llmsim.Machine
}

func (w watched) NewMachine() (llmsim.Machine, error) {
	m, err := w.Params.NewMachine()
	*w.machine = m
	return m, err
}

// TestPrefixCacheOfTraces counts in a trace's own ids how many tokens are known when they come, one request after the other, and lets
// a cache that never has to forget find them.
func TestPrefixCacheOfTraces(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var entries []workload.Entry
	for range 200 {
		e := workload.Entry{InputTokens: 1 + rng.IntN(3000), OutputTokens: 1 + rng.IntN(30)}
		for k, id := 0, uint64(1+rng.IntN(3)); k*512 < e.InputTokens; k++ {
			e.Blocks = append(e.Blocks, id)
			id = 100*id + uint64(rng.IntN(2))
		}
		entries = append(entries, e)
	}
	synthetic, err := workload.NewTrace("synthetic", entries)
	require.NoError(t, err)
	traces := []*workload.Trace{synthetic}
	mooncake, err := workload.OpenTrace("../../../shared/traces/mooncake_conversation_head.jsonl")
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
		traces = append(traces, mooncake)
	}
	for _, trace := range traces {
		const size = 16
		var hits, queried int
		known := map[uint64]int{} // tokens of the block that were seen
		for e := range trace.Entries() {
			common, going := 0, true
			for k, id := range e.Blocks {
				mine := min(512, e.InputTokens-k*512)
				if going {
					common += min(mine, known[id])
					going = min(mine, known[id]) == 512
				}
				known[id] = max(known[id], mine)
			}
			hits += min(common, e.InputTokens-1) / size * size
			queried += e.InputTokens
		}
		var m llmsim.Machine
		w := watched{llmsim.OPT13B(), &m}
		w.KVTokens, w.BlockTokens = 1<<30, size
		_, err := llmsim.Runner(w)(t.Context(), loadgen.Plan{SLO: slo.MustParse("ttft p95 < 1s"), Concurrency: 1, Workload: trace.Requests()})
		require.NoError(t, err)
		s := m.Stats()
		t.Logf("%s: %d of %d tokens", trace, s.CacheHits, s.CacheQueried)
		assert.Equal(t, uint64(hits), s.CacheHits)
		assert.Equal(t, uint64(queried), s.CacheQueried)
		assert.Equal(t, uint64(queried-hits), s.PromptTokens)
		assert.NotZero(t, hits)
	}
}

// TestPrefixCacheInABubble: event loop and clocked target give the same records, with a cache that has to forget.
func TestPrefixCacheInABubble(t *testing.T) {
	for _, preemption := range []bool{false, true} {
		p := llmsim.OPT13B()
		p.KVTokens, p.BlockTokens, p.Preemption = 4000, 16, preemption
		plan := loadgen.Plan{SLO: chat, Arrivals: loadgen.Poisson{Rate: 3, Seed: 8}, Workload: conversations(100, true), Timeout: 20 * time.Second}
		_, want := carryOut(t, llmsim.Runner(p), plan)
		plain := p
		plain.BlockTokens = 0
		_, without := carryOut(t, llmsim.Runner(plain), plan)
		require.NotEqual(t, without, want)
		synctest.Test(t, func(t *testing.T) {
			_, got := carryOut(t, loadgen.RunnerOf(target(t, p)), plan)
			require.Equal(t, want, got)
		})
	}
}

// TestAnswerThatNeverComes: an answer that no engine has room for is not hashed before it is refused.
func TestAnswerThatNeverComes(t *testing.T) {
	p := llmsim.OPT13B()
	p.BlockTokens = 16
	for _, r := range []loadgen.Request{{Prompt: "a", MaxTokens: 1 << 60}, {Prompt: "a", MaxTokens: -1 << 60}, {Prompt: "a", InputTokens: 1 << 60}, {Prompt: "a", InputTokens: -1 << 60}} {
		report, _ := carryOut(t, llmsim.Runner(p), loadgen.Plan{SLO: chat, Concurrency: 1, Workload: same(1, r)})
		assert.EqualValues(t, 1, report.Outcomes[goodput.ClientError])
	}
}

func TestPrefixCacheParams(t *testing.T) {
	p := round()
	p.BlockTokens = -1
	assert.ErrorContains(t, p.Validate(), "BlockTokens is -1: it is at least 0")
	p.BlockTokens = 101
	assert.ErrorContains(t, p.Validate(), "BlockTokens is 101, above KVTokens 100")
	a, b := round(), round()
	b.BlockTokens = 16
	_, err := llmsim.Replicas{Engines: []llmsim.Params{a, b}}.NewMachine()
	assert.ErrorContains(t, err, "engines 0 and 1 have different BlockTokens, 0 and 16")
	assert.Equal(t, 16, b.Info().BlockTokens)
}

// BenchmarkPrefixCache is sessions of long prompts on an engine with a prefix cache.
func BenchmarkPrefixCache(b *testing.B) {
	long := strings.Repeat("word ", 1000)
	for _, size := range []int{0, 16} {
		p := llmsim.OPT13BTP4()
		p.BlockTokens = size
		b.Run(map[int]string{0: "none", 16: "blocks of 16"}[size], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := llmsim.Runner(p)(b.Context(), loadgen.Plan{SLO: chat, Arrivals: loadgen.Poisson{Rate: 10, Seed: 1},
					Workload: same(5000, loadgen.Request{Prompt: long, MaxTokens: 32})})
				require.NoError(b, err)
			}
		})
	}
}

// TestPrefixCacheAndCancels cancels what runs, several at one instant, in different orders: the cache forgets the same.
func TestPrefixCacheAndCancels(t *testing.T) {
	run := func(seed uint64, shuffle *rand.Rand) ([]llmsim.Event, llmsim.Stats) {
		rng := rand.New(rand.NewPCG(seed, 3))
		p := round()
		p.KVTokens, p.BlockTokens, p.MaxBatch = 90, 3, 6
		e := engine(t, p)
		var all []llmsim.Event
		var now time.Duration
		running := map[uint64]bool{}
		for id := range uint64(300) {
			j := llmsim.Job{ID: id, Prompt: 1 + rng.IntN(25), Output: 1 + rng.IntN(9)}
			j.Blocks = someBlocks(rng, p.BlockTokens, j)
			require.NoError(t, e.Submit(now, j))
			running[id] = true
			now += time.Duration(rng.IntN(60)) * ms
			for _, ev := range e.Advance(now) {
				all = append(all, ev)
				if ev.Last {
					delete(running, ev.ID)
				}
			}
			var gone []uint64
			for i := range id + 1 {
				if running[i] && rng.IntN(4) == 0 {
					gone = append(gone, i)
					delete(running, i)
				}
			}
			if shuffle != nil {
				shuffle.Shuffle(len(gone), func(i, j int) { gone[i], gone[j] = gone[j], gone[i] })
			}
			for _, i := range gone {
				require.True(t, e.Cancel(now, i))
			}
		}
		all = append(all, drain(e)...)
		return all, e.Stats()
	}
	for seed := range uint64(20) {
		want, stats := run(seed, nil)
		require.NotZero(t, stats.CacheHits)
		for order := range uint64(20) {
			got, s := run(seed, rand.New(rand.NewPCG(seed, order)))
			require.Equal(t, want, got)
			require.Equal(t, stats, s)
		}
	}
}

// TestPrefixCacheOfPools: several engines, and two pools, each with its cache: event loop and clocked target give the same records.
func TestPrefixCacheOfPools(t *testing.T) {
	for _, preemption := range []bool{false, true} {
		p := llmsim.OPT13B()
		p.KVTokens, p.BlockTokens, p.Preemption = 4000, 16, preemption
		two := llmsim.Replicas{Engines: []llmsim.Params{p, p}}
		for _, m := range []llmsim.Model{two, replicas(p, 2, llmsim.LeastTTFT{Ahead: 2}), llmsim.Disaggregated{Prefill: two, Decode: two, Transfer: llmsim.Transfer{Bandwidth: 100e9, KVBytes: 819_200}}} {
			plan := loadgen.Plan{SLO: chat, Arrivals: loadgen.Poisson{Rate: 5, Seed: 8}, Workload: conversations(100, true), Timeout: 20 * time.Second}
			_, want := carryOut(t, llmsim.Runner(m), plan)
			synctest.Test(t, func(t *testing.T) {
				target, err := llmsim.NewTarget(m)
				require.NoError(t, err)
				_, got := carryOut(t, loadgen.RunnerOf(target), plan)
				require.Equal(t, want, got)
				s := target.Stats()
				assert.NotZero(t, s.CacheHits)
				assert.Zero(t, s.KVReserved+s.KVUsed+s.Waiting+s.Running)
			})
		}
	}
}
