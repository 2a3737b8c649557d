package llmsim_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/race"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

// sticky is a router of one's own: whose first block is the same go to the same engine, whatever it has to do.
type sticky struct{}

func (sticky) String() string { return "sticky" }
func (sticky) New() llmsim.Route {
	return func(n uint64, j llmsim.Job, pool []*llmsim.Replica) int {
		if len(j.Blocks) > 0 {
			n = j.Blocks[0] >> 32
		}
		return int(n % uint64(len(pool)))
	}
}

// chats are n sessions of 8 turns, each about a document of its own or, as many as hot of 100, about one that they share: 1,500
// words, questions of 30 to 100 words every 5 to 15 s, and answers of 50 to 150 tokens.
func chats(n, hot int) iter.Seq[*loadgen.Request] {
	return func(yield func(*loadgen.Request) bool) {
		rng := rand.New(rand.NewPCG(uint64(n), 21))
		for i := range n {
			about := fmt.Sprintf("d%d ", i)
			if rng.IntN(100) < hot {
				about = "all "
			}
			said := 0
			say := func(words int) string {
				said++
				return strings.Repeat(fmt.Sprintf("s%d-%d ", i, said), words)
			}
			answer := func() int { return 50 + rng.IntN(101) }
			turns := make([]loadgen.Turn, 7)
			for k := range turns {
				turns[k] = loadgen.Turn{Content: say(30 + rng.IntN(71)), Think: 5*time.Second + time.Duration(rng.IntN(10e9)), MaxTokens: answer()}
			}
			first := &loadgen.Request{Prompt: strings.Repeat(about, 1500) + say(30+rng.IntN(71)), MaxTokens: answer()}
			if !yield(loadgen.Conversation(first, turns...)) {
				return
			}
		}
	}
}

// TestRoutersOfSessions: what routers are worth where turns of sessions find what was said before in a prefix cache. It prints the table of
// docs/simulator.md.
func TestRoutersOfSessions(t *testing.T) {
	if race.Enabled {
		t.Skip("an event loop: there is one goroutine")
	}
	p := llmsim.OPT13B()
	p.BlockTokens = 16
	good := map[string]float64{}
	page, err := os.ReadFile("../../docs/simulator.md")
	require.NoError(t, err)
	for _, load := range []struct {
		name string
		rate float64 // sessions/s
		hot  int     // percent
	}{{"own documents", 1, 0}, {"a shared document", 1.5, 80}} {
		for _, r := range []llmsim.Router{llmsim.RoundRobin{}, llmsim.LeastLoad{}, sticky{}, llmsim.LeastTTFT{}, llmsim.LeastTTFT{Ahead: 8}} {
			var m llmsim.Machine
			res, err := llmsim.Runner(watchedReplicas{replicas(p, 4, r), &m})(t.Context(), loadgen.Plan{SLO: slo.MustParse("ttft p95 < 1s, tpot p95 < 60ms"),
				Arrivals: loadgen.Poisson{Rate: load.rate, Seed: 1}, Workload: chats(400, load.hot), Warmup: time.Minute, Duration: 3 * time.Minute})
			require.NoError(t, err)
			s := m.Stats()
			cells := fmt.Sprintf("| %.1f/s, %.0f %% | %.0f %% |", res.Report.GoodputRPS, 100*res.Report.Attainment, 100*float64(s.CacheHits)/float64(s.CacheQueried))
			t.Logf("%s, %v: %s", load.name, r, cells)
			assert.Contains(t, string(page), cells)
			good[load.name+" "+r.String()] = res.Report.Attainment
		}
	}
	assert.Greater(t, good["own documents least predicted TTFT"], good["own documents sticky"]+0.1)
	assert.Greater(t, good["own documents least predicted TTFT, at most 8 jobs ahead"], good["own documents sticky"]+0.1)
	assert.Greater(t, good["own documents sticky"], good["own documents least load"]+0.1)
	assert.Less(t, good["a shared document least predicted TTFT"], good["a shared document round robin"], "everybody goes where the document is")
	assert.Greater(t, good["a shared document least predicted TTFT, at most 8 jobs ahead"], good["a shared document round robin"]+0.1)
}

// watchedReplicas is Replicas whose machine can be asked afterwards.
type watchedReplicas struct {
	llmsim.Replicas
	machine *llmsim.Machine
}

func (w watchedReplicas) NewMachine() (llmsim.Machine, error) {
	m, err := w.Replicas.NewMachine()
	*w.machine = m
	return m, err
}

// TestCachedPrefix: what a router is told of the caches, and what it makes of it, in cases that one can work out in one's head: a step
// takes 10 ms and 1 ms more for each of at most 8 prompt tokens.
func TestCachedPrefix(t *testing.T) {
	p := round()
	p.BlockTokens, p.KVTokens = 4, 1000
	var cached []int
	var ttft []time.Duration
	look := func(_ uint64, j llmsim.Job, pool []*llmsim.Replica) {
		cached, ttft = nil, nil
		for _, r := range pool {
			cached = append(cached, r.CachedPrefix(j))
			ttft = append(ttft, r.PredictTTFT(j))
		}
	}
	choice := func(l llmsim.LeastTTFT) llmsim.Router { return lookInto{look, l} }
	doc := llmsim.Job{Prompt: 13, Output: 1, Blocks: []uint64{1, 2, 3}}
	job := func(j llmsim.Job, id uint64) llmsim.Job { j.ID, j.Rank = id, id; return j }

	m := machine(t, replicas(p, 2, choice(llmsim.LeastTTFT{})))
	require.NoError(t, m.Submit(0, job(doc, 1)))
	assert.Equal(t, []int{0, 0}, cached)
	assert.Equal(t, []time.Duration{33 * ms, 33 * ms}, ttft)
	assert.Equal(t, 33*ms, first(empty(m), 1))
	// Two minutes later the first engine has it, but for the last token.
	require.NoError(t, m.Submit(2*time.Minute, job(doc, 2)))
	assert.Equal(t, []int{12, 0}, cached)
	assert.Equal(t, []time.Duration{11 * ms, 33 * ms}, ttft)
	assert.Equal(t, 2*time.Minute+11*ms, first(empty(m), 2))
	// A block that is another makes those after it others.
	require.NoError(t, m.Submit(3*time.Minute, llmsim.Job{ID: 3, Prompt: 13, Output: 1, Blocks: []uint64{1, 7, 3}}))
	assert.Equal(t, []int{4, 0}, cached)
	empty(m)
	// What comes computed with a job counts where it is more.
	require.NoError(t, m.Submit(4*time.Minute, llmsim.Job{ID: 4, Prompt: 20, Computed: 6, Output: 1, Blocks: []uint64{1, 2, 8}}))
	assert.Equal(t, []int{8, 6}, cached)
	empty(m)

	// A queue before the first that is longer than what its cache spares: 40 tokens of somebody else's are 5 steps, 90 ms.
	m = machine(t, replicas(p, 2, choice(llmsim.LeastTTFT{})))
	require.NoError(t, m.Submit(0, job(doc, 1)))
	empty(m)
	require.NoError(t, m.Submit(time.Second, llmsim.Job{ID: 2, Rank: 2, Prompt: 40, Output: 1}))
	require.NoError(t, m.Submit(time.Second, job(doc, 3)))
	assert.Equal(t, []time.Duration{101 * ms, 33 * ms}, ttft)
	assert.Equal(t, time.Second+33*ms, first(empty(m), 3))

	// What is on its way into a cache is as good as there.
	m = machine(t, replicas(p, 2, choice(llmsim.LeastTTFT{})))
	require.NoError(t, m.Submit(0, job(doc, 1)))
	require.NoError(t, m.Submit(20*ms, job(doc, 2)))
	assert.Equal(t, []int{12, 0}, cached)
	assert.Equal(t, []time.Duration{24 * ms, 33 * ms}, ttft, "13 ms of the step under way, and a token")
	assert.Equal(t, 44*ms, first(empty(m), 2))

	// With a guard, the engine that has it gets no more than so many jobs beyond the other's.
	for ahead, want := range map[int][]int{0: {5, 0}, 1: {3, 2}, 2: {4, 1}, 3: {4, 1}, 9: {5, 0}} {
		jobs := []int{0, 0}
		m = machine(t, replicas(p, 2, lookInto{func(_ uint64, _ llmsim.Job, pool []*llmsim.Replica) {
			for i, r := range pool {
				jobs[i] = r.Jobs()
			}
		}, llmsim.LeastTTFT{Ahead: ahead}}))
		require.NoError(t, m.Submit(0, job(doc, 1)))
		empty(m)
		for id := range uint64(6) { // the last one is to look only
			require.NoError(t, m.Submit(time.Second, llmsim.Job{ID: 2 + id, Rank: id, Prompt: 13, Output: 90, Blocks: doc.Blocks}))
		}
		assert.Equal(t, want, jobs, "ahead %d", ahead)
	}
	_, err := replicas(p, 2, llmsim.LeastTTFT{Ahead: -1}).NewMachine()
	assert.ErrorContains(t, err, "the router least predicted TTFT, at most -1 jobs ahead gives no Route")
}

// lookInto is a router that looks at the pool before it asks another.
type lookInto struct {
	look func(n uint64, j llmsim.Job, pool []*llmsim.Replica)
	llmsim.Router
}

func (l lookInto) New() llmsim.Route {
	inner := l.Router.New()
	if inner == nil {
		return nil
	}
	return func(n uint64, j llmsim.Job, pool []*llmsim.Replica) int {
		l.look(n, j, pool)
		return inner(n, j, pool)
	}
}

// TestPredictTTFTWithACache: where prompts are all there is to do and what they share was computed before, the last one gets its token when
// it was said.
func TestPredictTTFTWithACache(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 6))
		p := random(rng)
		p.MaxBatch, p.KVTokens, p.BlockTokens = p.TokenBudget, 1<<20, 1+rng.IntN(9)
		var said time.Duration
		m := machine(t, replicas(p, 1, looker{func(_ uint64, j llmsim.Job, pool []*llmsim.Replica) { said = pool[0].PredictTTFT(j) }}))
		id := uint64(0)
		send := func(now time.Duration, prompt, shared int) {
			id++
			j := llmsim.Job{ID: id, Rank: id, Prompt: prompt, Output: 1}
			for k := range j.Prompt / p.BlockTokens {
				h := uint64(k + 1)
				if k >= shared { // from here on it is its own
					h = id<<32 + uint64(k)
				}
				j.Blocks = append(j.Blocks, h)
			}
			require.NoError(t, m.Submit(now, j))
		}
		const common = 12 // blocks
		send(0, common*p.BlockTokens, common)
		empty(m)
		now := time.Second
		for range 1 + rng.IntN(20) {
			now += time.Duration(rng.IntN(2) * rng.IntN(3000))
			m.Advance(now)
			send(now, 1+rng.IntN(130), rng.IntN(common+1))
		}
		events := empty(m)
		require.Equal(t, now+said, events[len(events)-1].At, "seed %d", seed)
	}
}

// TestPredictionBooks: whatever came and went, preempted, cancelled or forgotten by the cache, an engine that is idle again is said to take
// as long for a prompt as it does.
func TestPredictionBooks(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 31))
		p := random(rng)
		p.BlockTokens, p.Preemption = 1+rng.IntN(9), rng.IntN(2) == 0
		p.KVTokens = max(p.KVTokens, 100)
		var said [2]time.Duration
		var cached [2]int
		r := lookInto{func(_ uint64, j llmsim.Job, pool []*llmsim.Replica) {
			for i, r := range pool {
				said[i], cached[i] = r.PredictTTFT(j), r.CachedPrefix(j)
			}
		}, llmsim.LeastTTFT{Ahead: rng.IntN(4)}}
		m := machine(t, replicas(p, 2, r))
		var now time.Duration
		for id := range uint64(300) {
			now += time.Duration(rng.IntN(2) * rng.IntN(1+int(p.Base)*4))
			m.Advance(now)
			j := llmsim.Job{ID: id, Rank: id, Prompt: 1 + rng.IntN(50), Output: 1 + rng.IntN(25)}
			j.Computed = max(0, rng.IntN(2*j.Prompt)-j.Prompt)
			j.Blocks = someBlocks(rng, p.BlockTokens, j)
			require.NoError(t, m.Submit(now, j))
			if rng.IntN(4) == 0 {
				m.Cancel(now, id-uint64(rng.IntN(int(min(id+1, 12)))))
			}
		}
		empty(m)
		j := llmsim.Job{ID: 1000, Prompt: 30, Output: 1, Blocks: []uint64{1 << 60}}
		now += time.Hour
		require.NoError(t, m.Submit(now, j))
		require.Equal(t, [2]int{}, cached)
		require.Equal(t, said[0], said[1])
		require.Equal(t, now+said[0], first(empty(m), 1000), "seed %d", seed)
	}
}
