package llmsim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// round has costs that one can add up in one's head.
func round() llmsim.Params {
	return llmsim.Params{
		Model: "round", Base: 10 * ms, PerPromptToken: ms, PerPromptPair: 0, PerSequence: 2 * ms, PerContextToken: 0,
		TokenBudget: 8, MaxBatch: 4, KVTokens: 100, DefaultOutput: 2,
	}
}

func engine(t testing.TB, p llmsim.Params) *llmsim.Engine {
	e, err := llmsim.NewEngine(p)
	require.NoError(t, err)
	return e
}

// drain runs the engine empty.
func drain(e *llmsim.Engine) []llmsim.Event {
	var all []llmsim.Event
	for {
		at, ok := e.Next()
		if !ok {
			return append(all, e.Advance(0)...)
		}
		all = append(all, e.Advance(at)...)
	}
}

func TestOneJob(t *testing.T) {
	p := round()
	p.PerPromptPair = 10 * time.Microsecond
	p.PerContextToken = time.Microsecond
	e := engine(t, p)
	_, ok := e.Next()
	assert.False(t, ok, "an idle engine has nothing to do")

	require.NoError(t, e.Submit(time.Second, llmsim.Job{ID: 7, Prompt: 10, Output: 3}))
	// Chunks of 8 and 2 tokens: 8·9/2 pairs, then 2·8 + 2·3/2. Then two decode steps with 11 and 12 tokens of context.
	first := time.Second + (10*ms + 8*ms + 36*10*time.Microsecond) + (10*ms + 2*ms + 19*10*time.Microsecond)
	second := first + 10*ms + 2*ms + 11*time.Microsecond
	third := second + 10*ms + 2*ms + 12*time.Microsecond
	assert.Equal(t, []llmsim.Event{{At: first, ID: 7}, {At: second, ID: 7}, {At: third, ID: 7, Last: true}}, drain(e))
	s := e.Stats()
	assert.Equal(t, llmsim.Stats{Steps: 4, Busy: third - time.Second, PromptTokens: 10, OutputTokens: 3}, s)
}

// TestComputed: what came with the job costs nothing, and is there for what is computed after it.
func TestComputed(t *testing.T) {
	p := round()
	p.PerPromptPair = 10 * time.Microsecond
	p.PerContextToken = time.Microsecond
	t.Run("a part of the prompt", func(t *testing.T) {
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 7, Prompt: 10, Computed: 7, Output: 2}))
		assert.Equal(t, 7, e.Stats().KVUsed, "it holds its place from the beginning")
		// Three tokens with 8, 9 and 10 to attend to; then a decode step with 11 tokens of context.
		first := 10*ms + 3*ms + 27*10*time.Microsecond
		second := first + 10*ms + 2*ms + 11*time.Microsecond
		assert.Equal(t, []llmsim.Event{{At: first, ID: 7}, {At: second, ID: 7, Last: true}}, drain(e))
		assert.Equal(t, llmsim.Stats{Steps: 2, Busy: second, PromptTokens: 3, OutputTokens: 2}, e.Stats())
	})
	t.Run("an answer that was begun elsewhere", func(t *testing.T) {
		whole := engine(t, p)
		require.NoError(t, whole.Submit(0, llmsim.Job{ID: 7, Prompt: 10, Output: 3}))
		all := drain(whole)
		e := engine(t, p)
		require.NoError(t, e.Submit(all[0].At, llmsim.Job{ID: 7, Prompt: 11, Computed: 11, Output: 2}))
		assert.Equal(t, 13, e.Stats().KVReserved, "no more than at the one engine")
		second := all[0].At + 10*ms + 2*ms + 11*time.Microsecond
		assert.Equal(t, []llmsim.Event{{At: second, ID: 7}, {At: second + 12*ms + 12*time.Microsecond, ID: 7, Last: true}}, drain(e))
		assert.Equal(t, all[2].At, second+12*ms+12*time.Microsecond, "as if it had stayed")
		s := e.Stats()
		assert.Equal(t, llmsim.Stats{Steps: 2, Busy: s.Busy, OutputTokens: 2}, s)
	})
	t.Run("beside prompts", func(t *testing.T) {
		// Of a budget of 8, one token is the answer's; of 14 prompt tokens 7 fit.
		e := engine(t, round())
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 2, Rank: 2, Prompt: 14, Output: 1}))
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Rank: 1, Prompt: 20, Computed: 20, Output: 2}))
		assert.Equal(t, []llmsim.Event{{At: 19 * ms, ID: 1}, {At: 38 * ms, ID: 1, Last: true}, {At: 38 * ms, ID: 2, Last: true}}, drain(e))
	})
	e := engine(t, p)
	assert.ErrorIs(t, e.Submit(0, llmsim.Job{Prompt: 3, Computed: 4, Output: 1}), llmsim.ErrComputed)
	assert.ErrorIs(t, e.Submit(0, llmsim.Job{Prompt: 3, Computed: -1, Output: 1}), llmsim.ErrComputed)
}

func TestChunksShareTheBudget(t *testing.T) {
	e := engine(t, round())
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 4, Output: 3}))
	require.NoError(t, e.Submit(1, llmsim.Job{ID: 2, Prompt: 10, Output: 1}))
	require.NoError(t, e.Submit(2, llmsim.Job{ID: 3, Prompt: 3, Output: 1}))
	// Step 1, of job 1 alone, ends at 14 ms. Step 2: its token and 7 of job 2's. Step 3: its last token, 3 of job 2's, 3 of job 3's.
	assert.Equal(t, []llmsim.Event{
		{At: 14 * ms, ID: 1},
		{At: 33 * ms, ID: 1}, // 10 + 2 + 7
		{At: 51 * ms, ID: 1, Last: true},
		{At: 51 * ms, ID: 2, Last: true}, // 10 + 2 + 3 + 3
		{At: 51 * ms, ID: 3, Last: true},
	}, drain(e))
}

func TestSubmittedTogetherRunsTogether(t *testing.T) {
	e := engine(t, round())
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 3, Output: 1}))
	at, _ := e.Next()
	assert.Equal(t, 13*ms, at)
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 2, Prompt: 4, Output: 1}))
	at, _ = e.Next()
	assert.Equal(t, 17*ms, at, "the step begins with both")
	assert.True(t, e.Cancel(0, 1))
	at, _ = e.Next()
	assert.Equal(t, 14*ms, at)
	assert.Equal(t, []llmsim.Event{{At: 14 * ms, ID: 2, Last: true}}, drain(e))
}

func TestKVLimitQueues(t *testing.T) {
	e := engine(t, round())
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 5, Output: 55}))
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 2, Prompt: 2, Output: 48})) // 50 do not fit beside 60
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 3, Prompt: 1, Output: 1}))  // would fit, but nobody overtakes
	s := e.Stats()
	assert.Equal(t, 2, s.Waiting)
	assert.Equal(t, 1, s.Running)
	assert.Equal(t, 60, s.KVReserved)
	events := drain(e)
	one, two := first(events, 1), first(events, 2)
	end := events[slices.IndexFunc(events, func(e llmsim.Event) bool { return e.ID == 1 && e.Last })].At
	assert.Equal(t, 15*ms, one)
	assert.Equal(t, end+13*ms, two, "job 2 begins when job 1 has left, together with job 3")
	assert.Equal(t, end+13*ms, first(events, 3))
}

func first(events []llmsim.Event, id uint64) time.Duration {
	return events[slices.IndexFunc(events, func(e llmsim.Event) bool { return e.ID == id })].At
}

func TestPreemption(t *testing.T) {
	p := round()
	p.KVTokens, p.Preemption = 20, true
	e := engine(t, p)
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 8, Output: 8}))
	require.NoError(t, e.Submit(1, llmsim.Job{ID: 2, Prompt: 6, Output: 8})) // with all its output it would not fit beside job 1
	require.NoError(t, e.Submit(2, llmsim.Job{ID: 3, Prompt: 1, Output: 1}))
	one := func(at ...time.Duration) (events []llmsim.Event) {
		for i, t := range at {
			events = append(events, llmsim.Event{At: t * ms, ID: 1, Last: i == len(at)-1})
		}
		return events
	}
	got := e.Advance(49 * ms)
	// 10 + 8; then job 1's token and job 2's whole prompt of 6 and job 3's: 10 + 2 + 7.
	want := []llmsim.Event{{At: 18 * ms, ID: 1}, {At: 37 * ms, ID: 1}, {At: 37 * ms, ID: 2}, {At: 37 * ms, ID: 3, Last: true}}
	assert.Equal(t, want, got)
	s := e.Stats()
	assert.Equal(t, 17, s.KVUsed, "8 + 2 and 6 + 1")
	assert.Equal(t, 17, s.KVReserved)
	// At 51 ms they have 11 and 8, and one of 20 is free: the two tokens of the next step do not fit, and job 2, which entered
	// last, goes. From then on job 1 is alone, for a free 9 − 1 are not enough for the 8 + 1 of job 2.
	assert.Equal(t, []llmsim.Event{{At: 51 * ms, ID: 1}, {At: 51 * ms, ID: 2}}, e.Advance(51*ms))
	s = e.Stats()
	assert.Equal(t, 11, s.KVUsed)
	assert.Equal(t, 1, s.Waiting)
	assert.Equal(t, 1, s.Running)
	assert.Equal(t, one(63, 75, 87, 99, 111), e.Advance(111*ms))
	// Job 2 has 6 + 2 tokens to compute again, the last of them for the first time: 10 + 8, which gives its third token.
	assert.Equal(t, []llmsim.Event{{At: 129 * ms, ID: 2}, {At: 141 * ms, ID: 2}, {At: 153 * ms, ID: 2}, {At: 165 * ms, ID: 2},
		{At: 177 * ms, ID: 2}, {At: 189 * ms, ID: 2, Last: true}}, drain(e))
	assert.Equal(t, llmsim.Stats{Steps: 14, Busy: 189 * ms, PromptTokens: 8 + 6 + 1 + 8, OutputTokens: 17, Preemptions: 1, Recomputed: 7}, e.Stats())

	t.Run("in the middle of its prompt", func(t *testing.T) {
		p := round()
		p.KVTokens, p.Preemption = 30, true
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 8, Output: 20}))
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 2, Rank: 1, Prompt: 18, Output: 1})) // with 9 and 19 of 30 both are in
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 3, Rank: 2, Prompt: 1, Output: 1}))
		// 7 and 7 of job 2's prompt beside job 1's tokens, and nothing is free any more.
		e.Advance(56 * ms)
		s := e.Stats()
		assert.Equal(t, 2, s.Waiting)
		assert.Zero(t, s.Preemptions, "it is planned, and not yet done")
		e.Advance(57 * ms)
		assert.Equal(t, uint64(1), e.Stats().Preemptions)
		assert.Equal(t, 11, e.Stats().KVUsed)
		assert.Len(t, drain(e), 17+2)
		assert.Equal(t, uint64(14), e.Stats().Recomputed)
		assert.Equal(t, uint64(8+14+18+1), e.Stats().PromptTokens)
	})
	t.Run("what came computed is lost, too", func(t *testing.T) {
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 8, Output: 8}))
		require.NoError(t, e.Submit(1, llmsim.Job{ID: 2, Prompt: 6, Computed: 6, Output: 8}))
		assert.Len(t, drain(e), 16)
		s := e.Stats()
		assert.Equal(t, uint64(1), s.Preemptions)
		// Job 2's first token comes of a decode step at 32 ms, with 7 tokens; at 60 ms job 1 has 12 and it has 9: it was out at 46.
		assert.Equal(t, uint64(8+8), s.PromptTokens)
		assert.Equal(t, uint64(7), s.Recomputed)
	})
}

// TestPreemptionHoldsMore: where outputs are long and the KV cache is what there is too little of, an engine that keeps no place
// for them has more sequences in its batch, and is done sooner, although it computes some of them again.
func TestPreemptionHoldsMore(t *testing.T) {
	run := func(preemption bool) (time.Duration, llmsim.Stats) {
		p := llmsim.OPT13B()
		p.Preemption = preemption
		e := engine(t, p)
		for id := range uint64(500) {
			require.NoError(t, e.Submit(0, llmsim.Job{ID: id, Prompt: 200, Output: 1000}))
		}
		events := drain(e)
		return events[len(events)-1].At, e.Stats()
	}
	kept, s := run(false)
	assert.Zero(t, s.Preemptions)
	preempting, s := run(true)
	t.Logf("%v with a place for all, %v without and %d preemptions, %d tokens computed again", kept, preempting, s.Preemptions, s.Recomputed)
	assert.NotZero(t, s.Preemptions)
	assert.Equal(t, uint64(500*1000), s.OutputTokens)
	assert.Less(t, preempting, kept)
}

func TestRefusals(t *testing.T) {
	p := round()
	p.MaxQueue = 1
	e := engine(t, p)
	assert.ErrorIs(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 60, Output: 41}), llmsim.ErrTooLong)
	assert.ErrorIs(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 1 << 62, Output: 1 << 62}), llmsim.ErrTooLong)
	assert.ErrorIs(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 0, Output: 1}), llmsim.ErrNoTokens)
	assert.ErrorIs(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 1, Output: 0}), llmsim.ErrNoTokens)
	assert.Equal(t, llmsim.Stats{}, e.Stats())

	require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 59, Output: 41}), "all of the cache")
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 2, Prompt: 1, Output: 1}), "one may wait")
	assert.ErrorIs(t, e.Submit(0, llmsim.Job{ID: 3, Prompt: 1, Output: 1}), llmsim.ErrQueueFull)
	assert.Panics(t, func() { _ = e.Submit(0, llmsim.Job{ID: 2, Prompt: 1, Output: 1}) })
	assert.True(t, e.Cancel(0, 2))
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 3, Prompt: 1, Output: 1}))
}

func TestCancel(t *testing.T) {
	e := engine(t, round())
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 4, Output: 3}))
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 2, Prompt: 4, Output: 3}))
	assert.False(t, e.Cancel(0, 3))
	// Both decode from 18 ms on, a step of 14 ms. At 20 ms job 1 goes: the step still ends at 32 ms, the next takes 12.
	assert.True(t, e.Cancel(20*ms, 1))
	assert.False(t, e.Cancel(20*ms, 1))
	assert.Equal(t, []llmsim.Event{{At: 18 * ms, ID: 1}, {At: 18 * ms, ID: 2}}, e.Advance(20*ms), "kept for the next Advance")
	assert.Equal(t, 7, e.Stats().KVReserved, "its cache is free at once")
	assert.Equal(t, 5, e.Stats().KVUsed)
	assert.Equal(t, []llmsim.Event{{At: 32 * ms, ID: 2}, {At: 44 * ms, ID: 2, Last: true}}, drain(e))

	t.Run("in the instant of its last token", func(t *testing.T) {
		e := engine(t, round())
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 4, Output: 1}))
		assert.False(t, e.Cancel(14*ms, 1), "it is done")
		assert.Len(t, e.Advance(14*ms), 1)
	})
	t.Run("while its prompt is computed", func(t *testing.T) {
		e := engine(t, round())
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 9, Output: 1}))
		require.NoError(t, e.Submit(1, llmsim.Job{ID: 2, Prompt: 1, Output: 1}))
		assert.True(t, e.Cancel(2, 1))
		assert.Equal(t, []llmsim.Event{{At: 29 * ms, ID: 2, Last: true}}, drain(e))
		assert.Equal(t, uint64(1), e.Stats().PromptTokens)
		assert.Zero(t, e.Stats().KVUsed)
	})
}

// reference is the engine's rules written down once more, with nothing kept that can be derived: one job after the other, one step
// after the other.
type reference struct {
	p     llmsim.Params
	queue []*refJob
	batch []*refJob
	now   time.Duration
	end   time.Duration // of the step under way; 0: none
	tasks map[*refJob]int

	preempted int
	dones     int
	idle      []uint64
	hit       uint64
}

type refJob struct {
	llmsim.Job
	target, prefilled, generated int

	shared []uint64 // blocks of the cache that it has
	filled int      // how many of its blocks it has computed
	done   int      // the how manieth prompt it was to be done
}

// Of the prefix cache the reference keeps who has which block, and those that nobody has in the order in which they were left.

func (r *reference) refs(h uint64) (n int) {
	for _, j := range r.batch {
		if slices.Contains(j.shared, h) {
			n++
		}
	}
	return n
}

func (r *reference) cached(h uint64) bool { return r.refs(h) > 0 || slices.Contains(r.idle, h) }

// kv is the tokens of KV cache that are promised and that are held.
func (r *reference) kv() (promised, held int) {
	all := map[uint64]bool{}
	for _, j := range r.batch {
		promised += r.promised(j) - len(j.shared)*r.p.BlockTokens
		held -= len(j.shared) * r.p.BlockTokens
		if held += j.prefilled; j.prefilled == j.target {
			held += j.Prompt + j.generated - j.target
		}
		for _, h := range j.shared {
			all[h] = true
		}
	}
	return promised + len(all)*r.p.BlockTokens, held + len(all)*r.p.BlockTokens
}

// hits is the blocks that j would hit.
func (r *reference) hits(j *refJob) (blocks []uint64) {
	for i, h := range j.Blocks {
		if r.p.BlockTokens == 0 || (i+1)*r.p.BlockTokens >= j.target || !r.cached(h) {
			break
		}
		blocks = append(blocks, h)
	}
	return blocks
}

// fill makes known which blocks j has computed.
func (r *reference) fill(j *refJob) {
	computed := j.prefilled
	if j.prefilled == j.target {
		computed = j.Prompt + j.generated - 1
	}
	for r.p.BlockTokens > 0 && j.filled < len(j.Blocks) && (j.filled+1)*r.p.BlockTokens <= computed {
		if h := j.Blocks[j.filled]; !r.cached(h) {
			j.shared = append(j.shared, h)
		}
		j.filled++
	}
}

// leave takes j out of the batch.
func (r *reference) leave(j *refJob) {
	r.batch = slices.DeleteFunc(r.batch, func(o *refJob) bool { return o == j })
	for _, h := range slices.Backward(j.shared) {
		if r.refs(h) == 0 {
			r.idle = append(r.idle, h)
		}
	}
	j.shared, j.filled = nil, 0
}

// promised is the KV cache that j has.
func (r *reference) promised(j *refJob) int {
	switch {
	case !r.p.Preemption:
		return j.Prompt + j.Output
	case j.prefilled < j.target:
		return j.target + 1
	}
	return j.Prompt + j.generated
}

// decoding are those of the batch whose prompt is done, in the order in which it was.
func (r *reference) decoding() (d []*refJob) {
	for _, j := range r.batch {
		if j.prefilled == j.target {
			d = append(d, j)
		}
	}
	slices.SortFunc(d, func(a, b *refJob) int { return a.done - b.done })
	return d
}

func (r *reference) begin() {
	r.tasks = map[*refJob]int{}
	budget, d := r.p.TokenBudget, r.p.Base
	decode := func(j *refJob) {
		budget--
		r.tasks[j] = 0
		d += r.p.PerSequence + r.p.PerContextToken*time.Duration(j.Prompt+j.generated)
	}
	grow := 0
	if r.p.Preemption {
		grow = 1
	}
	preempted := r.preempted
	for {
		promised, _ := r.kv()
		if promised+grow*len(r.decoding()) <= r.p.KVTokens {
			break
		}
		last := r.batch[len(r.batch)-1]
		r.leave(last)
		last.target, last.prefilled = last.Prompt+last.generated, 0
		r.queue = slices.Insert(r.queue, 0, last)
		r.preempted++
	}
	growth := 0
	for _, j := range r.decoding() {
		decode(j)
		growth += grow
	}
	prompt := func(j *refJob) {
		k := min(budget, j.target-j.prefilled)
		if k == 0 {
			return
		}
		budget -= k
		r.tasks[j] = k
		for i := range k {
			d += r.p.PerPromptToken + r.p.PerPromptPair*time.Duration(j.prefilled+i+1)
		}
	}
	for _, j := range r.batch {
		if j.prefilled < j.target {
			prompt(j)
		}
	}
	var entered []*refJob
	for len(r.queue) > 0 && budget > 0 && len(r.batch) < r.p.MaxBatch && r.preempted == preempted {
		j := r.queue[0]
		hits, before := r.hits(j), j.prefilled
		j.prefilled = max(j.prefilled, len(hits)*r.p.BlockTokens)
		j.shared, j.filled = hits, len(hits)
		r.batch = append(r.batch, j)
		promised, _ := r.kv()
		done := j.prefilled == j.target
		if done {
			promised += grow
		}
		if promised+growth > r.p.KVTokens {
			r.batch = r.batch[:len(r.batch)-1]
			j.prefilled, j.shared, j.filled = before, nil, 0
			break
		}
		r.idle = slices.DeleteFunc(r.idle, func(h uint64) bool { return slices.Contains(hits, h) })
		r.hit += uint64(len(hits) * r.p.BlockTokens)
		r.queue = r.queue[1:]
		entered = append(entered, j)
		if done {
			r.dones++
			j.done = r.dones
			decode(j)
			growth += grow
		} else {
			prompt(j)
		}
	}
	for _, j := range entered {
		r.fill(j)
	}
	_, held := r.kv()
	for j, k := range r.tasks {
		if held += k; j.prefilled+k == j.target {
			held++
		}
	}
	for len(r.idle) > 0 && held+len(r.idle)*r.p.BlockTokens > r.p.KVTokens {
		r.idle = r.idle[1:]
	}
	if len(r.tasks) > 0 {
		r.end = r.now + d
	}
}

func (r *reference) advance(to time.Duration) (events []llmsim.Event) {
	for {
		if r.end == 0 && r.now < to {
			r.begin() // late, when all that happened at r.now is known
		}
		if r.end == 0 || r.end > to {
			break
		}
		r.now = r.end
		token := func(j *refJob) {
			j.generated++
			r.fill(j)
			events = append(events, llmsim.Event{At: r.now, ID: j.ID, Last: j.generated == j.Output})
			if j.generated == j.Output {
				r.leave(j)
			}
		}
		begun := slices.Clone(r.batch)
		for _, j := range r.decoding() {
			if _, ok := r.tasks[j]; ok {
				token(j)
			}
		}
		for _, j := range begun {
			if k := r.tasks[j]; k > 0 {
				j.prefilled += k
				if j.prefilled < j.target {
					r.fill(j)
					continue
				}
				r.dones++
				j.done = r.dones
				j.generated-- // of what is computed
				r.fill(j)
				j.generated++
				token(j)
			}
		}
		r.end = 0
	}
	r.now = to
	return events
}

func (r *reference) cancel(id uint64) {
	r.queue = slices.DeleteFunc(r.queue, func(j *refJob) bool { return j.ID == id })
	for _, j := range slices.Clone(r.batch) {
		if j.ID == id {
			r.leave(j)
			delete(r.tasks, j)
		}
	}
}

// TestAgainstReference runs random loads through the engine and the reference, and holds the invariants at each call.
func TestAgainstReference(t *testing.T) {
	var preempted, hit uint64
	for seed := range uint64(90) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := llmsim.Params{
			Base: time.Duration(1 + rng.IntN(1000)), PerPromptToken: time.Duration(rng.IntN(100)), PerPromptPair: time.Duration(rng.IntN(5)),
			PerSequence: time.Duration(rng.IntN(100)), PerContextToken: time.Duration(rng.IntN(5)),
			MaxBatch: 1 + rng.IntN(8), KVTokens: 40 + rng.IntN(200), DefaultOutput: 1,
		}
		p.TokenBudget = p.MaxBatch + rng.IntN(40)
		p.Preemption = seed%3 == 0
		if seed%2 == 0 {
			p.BlockTokens = 1 + rng.IntN(12)
		}
		e, r := engine(t, p), &reference{p: p}
		var got, want []llmsim.Event
		var now time.Duration
		for id := range uint64(300) {
			now += time.Duration(rng.IntN(1 + rng.IntN(1+int(p.Base)*20)))
			want = append(want, r.advance(now)...)
			j := llmsim.Job{ID: id, Prompt: 1 + rng.IntN(60), Output: 1 + rng.IntN(20)}
			if rng.IntN(3) == 0 {
				j.Computed = min(j.Prompt, rng.IntN(70))
			}
			j.Blocks = someBlocks(rng, p.BlockTokens, j)
			if err := e.Submit(now, j); err != nil {
				require.ErrorIs(t, err, llmsim.ErrTooLong)
				require.Greater(t, j.Prompt+j.Output, p.KVTokens)
			} else {
				require.LessOrEqual(t, j.Prompt+j.Output, p.KVTokens)
				r.queue = append(r.queue, &refJob{Job: j, target: j.Prompt, prefilled: j.Computed})
			}
			got = append(got, e.Advance(now)...)
			if rng.IntN(4) == 0 {
				gone := uint64(rng.IntN(int(id) + 1))
				now += time.Duration(1 + rng.IntN(int(p.Base)))
				want = append(want, r.advance(now)...)
				e.Cancel(now, gone)
				r.cancel(gone)
				got = append(got, e.Advance(now)...)
			}
			s := e.Stats()
			_, busy := e.Next()
			promised, held := r.kv()
			if begun := r.end > 0; begun {
				require.Equal(t, promised, s.KVReserved)
				require.Equal(t, held, s.KVUsed)
			}
			if s.KVUsed+s.KVCached > p.KVTokens || s.KVReserved > p.KVTokens || s.KVUsed > s.KVReserved || s.Running > p.MaxBatch || !busy && s.Waiting+s.Running > 0 {
				require.Fail(t, "over a limit, or idle with work to do", "%+v, busy %v, %+v", s, busy, p)
			}
		}
		got = append(got, drain(e)...)
		want = append(want, r.advance(1<<62)...)
		order := func(a, b llmsim.Event) int {
			if a.At != b.At {
				return int(a.At - b.At)
			}
			return int(a.ID) - int(b.ID)
		}
		require.True(t, slices.IsSortedFunc(got, func(a, b llmsim.Event) int { return int(a.At - b.At) }), "in order of time")
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		require.Equal(t, want, got, "seed %d, %+v", seed, p)
		require.Greater(t, len(got), 300)
		s := e.Stats()
		require.Equal(t, uint64(r.preempted), s.Preemptions)
		preempted += s.Preemptions
		require.Equal(t, r.hit, s.CacheHits)
		require.Equal(t, len(r.idle)*p.BlockTokens, s.KVCached)
		hit += s.CacheHits
		assert.Equal(t, uint64(len(got)), s.OutputTokens)
		assert.Zero(t, s.KVReserved+s.KVUsed+s.Running+s.Waiting)
	}
	assert.Greater(t, preempted, uint64(100))
	assert.Greater(t, hit, uint64(10_000))
}

// TestOrderOfCallsInOneInstant makes the same calls of each instant in different orders.
func TestOrderOfCallsInOneInstant(t *testing.T) {
	type op struct {
		cancel bool
		job    llmsim.Job
	}
	preemption := false
	run := func(policy llmsim.Policy, shuffle *rand.Rand) []llmsim.Event {
		rng := rand.New(rand.NewPCG(3, 3))
		p := round()
		p.KVTokens, p.Policy, p.Preemption, p.BlockTokens = 60, policy, preemption, 3
		e := engine(t, p)
		var all []llmsim.Event
		var now time.Duration
		id := uint64(0)
		var old []uint64
		for range 200 {
			var ops []op
			for range rng.IntN(5) {
				id++
				j := llmsim.Job{ID: id, Rank: id, Prompt: 1 + rng.IntN(20), Output: 1 + rng.IntN(9)}
				j.Computed = max(0, rng.IntN(2*j.Prompt+1)-j.Prompt)
				j.Deadline = time.Duration(rng.IntN(200)) * ms
				j.Blocks = someBlocks(rng, 3, j)
				ops = append(ops, op{job: j})
			}
			for _, o := range old {
				if rng.IntN(3) == 0 {
					ops = append(ops, op{cancel: true, job: llmsim.Job{ID: o}})
				}
			}
			old = old[:0]
			for _, o := range ops {
				if !o.cancel {
					old = append(old, o.job.ID)
				}
			}
			if shuffle != nil {
				shuffle.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
			}
			for _, o := range ops {
				if o.cancel {
					e.Cancel(now, o.job.ID)
				} else {
					require.NoError(t, e.Submit(now, o.job))
				}
				if shuffle != nil && shuffle.IntN(2) == 0 {
					all = append(all, e.Advance(now)...)
					e.Next()
				}
			}
			// Half of the time go to the very end of a step.
			if at, ok := e.Next(); ok && rng.IntN(2) == 0 {
				now = at
			} else {
				now += time.Duration(rng.IntN(30)) * ms
			}
			all = append(all, e.Advance(now)...)
		}
		return append(all, drain(e)...)
	}
	for i, policy := range policies {
		preemption = i > 0
		want := run(policy, nil)
		require.Greater(t, len(want), 1000)
		for seed := range uint64(20) {
			require.Equal(t, want, run(policy, rand.New(rand.NewPCG(seed, 9))), "%T", policy)
		}
	}
}

// TestFirstComeFirstServed: prompts of one length get their first tokens in the order in which they came.
func TestFirstComeFirstServed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	e := engine(t, llmsim.OPT13B())
	var events []llmsim.Event
	var now time.Duration
	const n = 500
	out := 0
	for id := range uint64(n) {
		now += time.Duration(rng.IntN(int(200 * ms)))
		j := llmsim.Job{ID: id, Prompt: 700, Output: 1 + rng.IntN(400)}
		out += j.Output
		require.NoError(t, e.Submit(now, j))
		events = append(events, e.Advance(now)...)
	}
	assert.Greater(t, e.Stats().Waiting, 10, "they had to queue")
	events = append(events, drain(e)...)
	seen := map[uint64]int{}
	next, last := uint64(0), 0
	for _, ev := range events {
		if seen[ev.ID] == 0 {
			if ev.ID != next {
				require.Equal(t, next, ev.ID)
			}
			next++
		}
		seen[ev.ID]++
		if ev.Last {
			last++
		}
	}
	assert.Equal(t, n, last)
	s := e.Stats()
	assert.Equal(t, uint64(n*700), s.PromptTokens, "no prompt token is computed twice, none is left out")
	assert.Equal(t, uint64(out), s.OutputTokens)
	assert.Len(t, events, out)
}

func ExampleEngine() {
	e, err := llmsim.NewEngine(llmsim.OPT13B())
	if err != nil {
		fmt.Println(err)
		return
	}
	// Two requests, half a second apart.
	_ = e.Submit(0, llmsim.Job{ID: 1, Prompt: 1020, Output: 129})
	_ = e.Submit(500*time.Millisecond, llmsim.Job{ID: 2, Prompt: 100, Output: 2})
	for {
		at, ok := e.Next()
		if !ok {
			break
		}
		for _, ev := range e.Advance(at) {
			if ev.ID == 2 || ev.Last {
				fmt.Println(ev.ID, ev.At.Round(time.Millisecond), ev.Last)
			}
		}
	}
	// Output:
	// 2 554ms false
	// 2 576ms true
	// 1 3.039s true
}

// someBlocks is the blocks of one of a few texts, as far as they go, whose beginnings are those of others.
func someBlocks(rng *rand.Rand, size int, j llmsim.Job) (blocks []uint64) {
	if size == 0 || rng.IntN(5) == 0 {
		return nil
	}
	text, branch := uint64(rng.IntN(3)), rng.IntN(8)
	n := j.Prompt / size
	if rng.IntN(2) == 0 {
		n = (j.Prompt + j.Output) / size
	}
	for i := range n {
		if i == branch {
			text += 10 * uint64(1+rng.IntN(3))
		}
		blocks = append(blocks, 1000*text+uint64(i))
	}
	return blocks
}
