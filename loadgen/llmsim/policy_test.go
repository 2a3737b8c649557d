package llmsim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

// whims plans at random what a Step allows: some of the output tokens, pieces of prompts, entries from the middle of the
// queue. Of the same step it makes the same.
type whims struct{ seed uint64 }

func (w whims) Plan(s *llmsim.Step) {
	rng := rand.New(rand.NewPCG(w.seed, uint64(s.Now())))
	if rng.IntN(2) == 0 {
		s.DecodeAll()
	}
	all := slices.Concat(slices.Collect(s.Decoding()), slices.Collect(s.Prefilling()), slices.Collect(s.Waiting()))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, q := range all {
		if n := q.Remaining(); n > 1 && s.Budget() > 0 && rng.IntN(3) == 0 && (q.Running() || s.Fits(q)) {
			s.Prefill(q, min(1+rng.IntN(n), s.Budget()))
		} else if q.Running() && !s.Holds(q) && !s.Empty() && rng.IntN(40) == 0 {
			s.Preempt(q)
		} else if rng.IntN(4) > 0 {
			s.Compute(q)
		}
	}
	for _, q := range all {
		if s.Empty() {
			s.Compute(q)
		}
	}
	if s.Empty() { // the KV cache is full
		s.DecodeAll()
	}
}

// policies are those that always have something to do.
var policies = []llmsim.Policy{
	nil, llmsim.Chunked{}, llmsim.PrefillFirst{}, llmsim.EarliestDeadline{}, llmsim.EarliestDeadline{TTFT: 50 * ms}, whims{1},
}

func TestPrefillFirstAndChunked(t *testing.T) {
	run := func(policy llmsim.Policy) []llmsim.Event {
		p := round()
		p.Policy = policy
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 4, Output: 3}))
		require.NoError(t, e.Submit(1, llmsim.Job{ID: 2, Prompt: 6, Output: 1}))
		require.NoError(t, e.Submit(2, llmsim.Job{ID: 3, Prompt: 3, Output: 1}))
		return drain(e)
	}
	// A step takes 10 ms, 1 more for each prompt token and 2 for each output token, and holds at most 8 tokens. The first,
	// of job 1's 4 tokens, ends at 14 ms; then the others wait.
	assert.Equal(t, []llmsim.Event{
		{At: 14 * ms, ID: 1},
		{At: 30 * ms, ID: 2, Last: true}, // 10 + 6: job 3's prompt does not fit beside it whole
		{At: 43 * ms, ID: 3, Last: true}, // 10 + 3
		{At: 55 * ms, ID: 1},             // 41 ms after its first token
		{At: 67 * ms, ID: 1, Last: true},
	}, run(llmsim.PrefillFirst{}))
	assert.Equal(t, []llmsim.Event{
		{At: 14 * ms, ID: 1},
		{At: 33 * ms, ID: 1}, // 10 + 2 + 7: job 2's 6 and one of job 3's
		{At: 33 * ms, ID: 2, Last: true},
		{At: 47 * ms, ID: 1, Last: true}, // 10 + 2 + 2
		{At: 47 * ms, ID: 3, Last: true},
	}, run(llmsim.Chunked{}))
	assert.Equal(t, run(llmsim.Chunked{}), run(nil))
}

func TestPrefillFirstTakesALongPromptInPieces(t *testing.T) {
	p := round()
	p.Policy = llmsim.PrefillFirst{}
	e := engine(t, p)
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 11, Output: 2}))
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 2, Prompt: 6, Output: 1})) // not beside the 3 that are left of the first
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 3, Prompt: 9, Computed: 9, Output: 1}))
	assert.Equal(t, []llmsim.Event{
		{At: 31 * ms, ID: 1}, // 10 + 8, 10 + 3
		{At: 47 * ms, ID: 2, Last: true},
		{At: 61 * ms, ID: 1, Last: true}, // 10 + 2 · 2
		{At: 61 * ms, ID: 3, Last: true},
	}, drain(e))
}

// onTime is how many of the jobs, all there at 0 and in this order, get their first token in time.
func onTime(t testing.TB, p llmsim.Params, jobs ...llmsim.Job) (n int) {
	e := engine(t, p)
	for i, j := range jobs {
		j.ID, j.Rank = uint64(i), uint64(i)
		require.NoError(t, e.Submit(0, j))
	}
	seen := map[uint64]bool{}
	for _, ev := range drain(e) {
		if !seen[ev.ID] && (jobs[ev.ID].Deadline == 0 || ev.At <= jobs[ev.ID].Deadline) {
			n++
		}
		seen[ev.ID] = true
	}
	return n
}

func TestEarliestDeadline(t *testing.T) {
	alone := round() // one after the other: a prompt of 8 takes 18 ms, one of 2 takes 12
	alone.MaxBatch = 1
	edf := alone
	edf.Policy = llmsim.EarliestDeadline{}
	job := func(prompt int, due time.Duration) llmsim.Job {
		return llmsim.Job{Prompt: prompt, Output: 1, Deadline: due}
	}
	t.Run("the urgent go first", func(t *testing.T) {
		// In order of arrival they end at 18, 30 and 48 ms, in order of deadlines at 12, 30 and 48.
		jobs := []llmsim.Job{job(8, 30*ms), job(2, 12*ms), job(8, 48*ms)}
		assert.Equal(t, 2, onTime(t, alone, jobs...), "12 ms are over")
		assert.Equal(t, 3, onTime(t, edf, jobs...))
	})
	t.Run("the hopeless go last", func(t *testing.T) {
		// The first would be late by 1 ms and makes those behind it late: 18, 36 and 54 ms for 17, 18 and 36.
		jobs := []llmsim.Job{job(8, 17*ms), job(8, 18*ms), job(8, 36*ms)}
		assert.Equal(t, 0, onTime(t, alone, jobs...))
		assert.Equal(t, 2, onTime(t, edf, jobs...))
	})
	t.Run("who has none goes before the hopeless and after the others", func(t *testing.T) {
		e := engine(t, edf)
		for id, due := range []time.Duration{17 * ms, 0, 40 * ms} {
			require.NoError(t, e.Submit(0, llmsim.Job{ID: uint64(id), Rank: uint64(id), Prompt: 8, Output: 1, Deadline: due}))
		}
		assert.Equal(t, []llmsim.Event{{At: 18 * ms, ID: 2, Last: true}, {At: 36 * ms, ID: 1, Last: true}, {At: 54 * ms, ID: 0, Last: true}}, drain(e))
	})
	t.Run("TTFT is the deadline of those without", func(t *testing.T) {
		p := edf
		p.Policy = llmsim.EarliestDeadline{TTFT: 36 * ms}
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 0, Prompt: 8, Output: 1}))
		require.NoError(t, e.Submit(1, llmsim.Job{ID: 1, Prompt: 8, Output: 1}))
		require.NoError(t, e.Submit(2, llmsim.Job{ID: 2, Prompt: 8, Output: 1, Deadline: 36*ms - 2}))
		require.NoError(t, e.Submit(18*ms, llmsim.Job{ID: 3, Prompt: 8, Output: 1}))
		// At 18 ms job 2 is next, due at 36 ms, 1 ns before job 1, which then is hopeless. Job 3 is just in time.
		assert.Equal(t, []llmsim.Event{{At: 18 * ms, ID: 0, Last: true}, {At: 36 * ms, ID: 2, Last: true},
			{At: 54 * ms, ID: 3, Last: true}, {At: 72 * ms, ID: 1, Last: true}}, drain(e))
	})
	t.Run("a prompt of the batch gives way", func(t *testing.T) {
		p := edf
		p.MaxBatch = 2
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 16, Output: 1, Deadline: time.Second}))
		require.NoError(t, e.Submit(1, llmsim.Job{ID: 2, Prompt: 8, Output: 1, Deadline: 40 * ms}))
		assert.Equal(t, []llmsim.Event{{At: 36 * ms, ID: 2, Last: true}, {At: 54 * ms, ID: 1, Last: true}}, drain(e))
	})
	_, err := llmsim.NewEngine(alone)
	require.NoError(t, err)
	e := engine(t, alone)
	assert.ErrorIs(t, e.Submit(0, llmsim.Job{Prompt: 1, Output: 1, Deadline: -1}), llmsim.ErrDeadline)
}

// TestEarliestDeadlineAgainstAllOrders: if any order meets all deadlines, this one does (Jackson, 1955).
func TestEarliestDeadlineAgainstAllOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	p := round()
	p.MaxBatch, p.TokenBudget = 1, 60
	edf := p
	edf.Policy = llmsim.EarliestDeadline{}
	feasible, better := 0, 0
	for range 400 {
		jobs := make([]llmsim.Job, 1+rng.IntN(5))
		total := 0
		for i := range jobs {
			jobs[i] = llmsim.Job{Prompt: 1 + rng.IntN(60), Output: 1}
			total += 10 + jobs[i].Prompt
		}
		for i := range jobs {
			jobs[i].Deadline = time.Duration(1+rng.IntN(total+20)) * ms
		}
		best := 0
		permute(slices.Clone(jobs), 0, func(order []llmsim.Job) {
			at, n := time.Duration(0), 0
			for _, j := range order {
				if at += time.Duration(10+j.Prompt) * ms; at <= j.Deadline {
					n++
				}
			}
			best = max(best, n)
		})
		got, fcfs := onTime(t, edf, jobs...), onTime(t, p, jobs...)
		require.LessOrEqual(t, got, best)
		require.LessOrEqual(t, fcfs, best)
		if best == len(jobs) {
			feasible++
			require.Equal(t, best, got, "%+v", jobs)
		}
		if got > fcfs {
			better++
		}
	}
	assert.Greater(t, feasible, 50)
	assert.Greater(t, better, 50)
}

func permute(jobs []llmsim.Job, k int, each func([]llmsim.Job)) {
	if k == len(jobs) {
		each(jobs)
	}
	for i := k; i < len(jobs); i++ {
		jobs[k], jobs[i] = jobs[i], jobs[k]
		permute(jobs, k+1, each)
		jobs[k], jobs[i] = jobs[i], jobs[k]
	}
}

// TestSoonest compares what Step.Soonest foretells with what happens where nothing else comes.
func TestSoonest(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		p := round()
		p.PerPromptPair, p.PerContextToken = 3*time.Microsecond, 5*time.Microsecond
		p.TokenBudget, p.KVTokens = 4+rng.IntN(60), 10_000
		var said time.Duration
		p.Policy = soonest{&said}
		e := engine(t, p)
		j := llmsim.Job{ID: 9, Prompt: 1 + rng.IntN(200), Output: 1}
		if rng.IntN(2) == 0 {
			j.Computed = rng.IntN(j.Prompt + 1)
		}
		require.NoError(t, e.Submit(0, j))
		events := drain(e)
		require.Equal(t, events[0].At, said, "%+v, %+v", j, p)
	}
}

// soonest is Chunked that notes what the first step foretells.
type soonest struct{ said *time.Duration }

func (p soonest) Plan(s *llmsim.Step) {
	if s.Now() == 0 {
		for q := range s.Waiting() {
			*p.said = s.Soonest(q)
		}
	}
	llmsim.Chunked{}.Plan(s)
}

func TestBadPlansPanic(t *testing.T) {
	one := func(s *llmsim.Step) *llmsim.Sequence {
		for q := range s.Waiting() {
			return q
		}
		return nil
	}
	other := engine(t, func() llmsim.Params {
		p := round()
		p.Policy = llmsim.PolicyFunc(func(s *llmsim.Step) { stray = one(s); s.Compute(stray) })
		return p
	}())
	require.NoError(t, other.Submit(0, llmsim.Job{ID: 1, Prompt: 5, Output: 1}))
	_, ok := other.Next()
	require.True(t, ok)
	for _, c := range []struct {
		want string
		plan func(s *llmsim.Step)
	}{
		{"nothing in a step, with 0 sequences in the batch and 3 waiting", func(*llmsim.Step) {}},
		{"9 tokens of sequence 1, the budget has 8 left", func(s *llmsim.Step) { s.Prefill(one(s), 9) }},
		{"sequence 1 has 50 prompt tokens to compute, 0 are none of them", func(s *llmsim.Step) { s.Prefill(one(s), 0) }},
		{"sequence 1 has 50 prompt tokens to compute, -1 are none of them", func(s *llmsim.Step) { s.Prefill(one(s), -1) }},
		{"sequence 1 twice in one step", func(s *llmsim.Step) { s.Prefill(one(s), 1); s.Prefill(one(s), 1) }},
		{"sequence 1 cannot decode: 50 tokens of its prompt are not computed", func(s *llmsim.Step) { s.Decode(one(s)) }},
		{"a sequence that is not in this engine", func(s *llmsim.Step) { s.Prefill(stray, 1) }},
		{"a sequence that is not in this engine", func(s *llmsim.Step) { s.Prefill(nil, 1) }},
		{"a sequence that is not in this engine", func(s *llmsim.Step) { s.Decode(&llmsim.Sequence{}) }},
		{"sequence 3 needs 40 tokens of KV cache, 20 are free", func(s *llmsim.Step) {
			for q := range s.Waiting() {
				s.Prefill(q, 1)
			}
		}},
		{"sequence 1 cannot be preempted: it waits", func(s *llmsim.Step) { s.Preempt(one(s)) }},
		{"sequence 3 has no place: 2 run, which is MaxBatch", func(s *llmsim.Step) {
			for q := range s.Waiting() {
				if q.Job().ID != 2 {
					s.Prefill(q, 1)
				}
			}
			for q := range s.Waiting() {
				s.Prefill(q, 1)
			}
		}},
	} {
		p := round()
		p.Policy = llmsim.PolicyFunc(c.plan)
		if strings.Contains(c.want, "no place") {
			p.MaxBatch, p.KVTokens = 2, 1000
			p.Policy = llmsim.PolicyFunc(func(s *llmsim.Step) {
				for q := range s.Waiting() {
					s.Prefill(q, 1)
				}
			})
		}
		e := engine(t, p)
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Rank: 1, Prompt: 50, Output: 10}))
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 2, Rank: 2, Prompt: 10, Output: 10}))
		require.NoError(t, e.Submit(0, llmsim.Job{ID: 3, Rank: 3, Prompt: 30, Output: 10}))
		panicsWithFault(t, c.want, func() { e.Next() })
	}
	t.Run("of output tokens", func(t *testing.T) {
		for want, plan := range map[string]func(s *llmsim.Step){
			"sequence 1 twice in one step": func(s *llmsim.Step) {
				s.DecodeAll()
				for q := range s.Decoding() {
					s.Decode(q)
				}
			},
			"DecodeAll comes before any Decode, and once": func(s *llmsim.Step) { s.DecodeAll(); s.DecodeAll() },
			"2 sequences decode, the budget has 1 tokens left": func(s *llmsim.Step) {
				s.Prefill(one(s), 7)
				s.DecodeAll()
			},
			"sequence 1 is preempted in this step": func(s *llmsim.Step) {
				for q := range s.Decoding() {
					s.Preempt(q)
					s.Decode(q)
				}
			},
			"there is no KV cache for a token of sequence 2": func(s *llmsim.Step) {
				for q := range s.Decoding() {
					s.Decode(q)
				}
			},
			"nothing in a step, with 2 sequences in the batch and 1 waiting": func(*llmsim.Step) {},
		} {
			p := round()
			p.Policy = llmsim.PolicyFunc(func(s *llmsim.Step) {
				if s.Now() < 20*ms {
					llmsim.Chunked{}.Plan(s)
				} else {
					plan(s)
				}
			})
			if p.Preemption = true; strings.HasPrefix(want, "there is no KV") {
				p.KVTokens = 13
			}
			e := engine(t, p)
			require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 3, Output: 10}))
			require.NoError(t, e.Submit(0, llmsim.Job{ID: 2, Prompt: 5, Output: 8}))
			require.NoError(t, e.Submit(20*ms, llmsim.Job{ID: 3, Prompt: 8, Output: 1}))
			panicsWithFault(t, want, func() { e.Advance(time.Second) })
		}
	})
}

var stray *llmsim.Sequence

// panicsWithFault wants a fault of a function of TestBadPlansPanic.
func panicsWithFault(t *testing.T, want string, f func()) {
	defer func() {
		fault, ok := recover().(*llmsim.FaultError)
		require.True(t, ok, want)
		require.Regexp(t, `^policy llmsim_test\.TestBadPlansPanic\.[\w.]+ \(policy_test\.go:\d+\)$`, fault.Of)
		require.Equal(t, want, fault.Detail)
	}()
	f()
}

// TestMD1: where jobs that are all alike run one at a time, the mean wait is that of M/D/1, ρ·D / (2·(1 − ρ)), whatever the order
// in which a policy that never idles takes them (Kleinrock, Queueing Systems I, 5.7; the order cannot matter to the mean, because
// it does not look at the length).
func TestMD1(t *testing.T) {
	const jobs, batches = 100_000, 50
	for _, policy := range append([]llmsim.Policy{shortestFirst{}}, policies[1:5]...) {
		p := round()
		p.MaxBatch, p.Policy = 1, policy
		const service, rho = 42 * ms, 0.7 // a prompt of 8 tokens and two more steps: 18 + 12 + 12 ms
		rng := rand.New(rand.NewPCG(6, 6))
		e := engine(t, p)
		arrived := make([]time.Duration, jobs)
		waits := make([]float64, 0, jobs)
		collect := func(events []llmsim.Event) {
			for _, ev := range events {
				if ev.Last {
					waits = append(waits, ms64(ev.At-arrived[ev.ID]-service))
				}
			}
		}
		now := 0.0
		for i := range arrived {
			now += rng.ExpFloat64() / rho * float64(service)
			arrived[i] = time.Duration(now)
			require.NoError(t, e.Submit(arrived[i], llmsim.Job{ID: uint64(i), Prompt: 8, Output: 3, Deadline: time.Duration(1 + rng.IntN(int(200*ms)))}))
			collect(e.Advance(arrived[i]))
		}
		collect(drain(e))
		require.Len(t, waits, jobs)
		means := make([]float64, batches)
		for i := range means {
			means[i] = stat.Mean(waits[i*jobs/batches:(i+1)*jobs/batches], nil)
		}
		mean, sd := stat.MeanStdDev(means, nil)
		half := distuv.StudentsT{Sigma: 1, Nu: batches - 1}.Quantile(0.995) * sd / math.Sqrt(batches)
		want := rho * ms64(service) / (2 * (1 - rho))
		t.Logf("%T: mean wait %.2f ± %.2f ms, want %.2f", policy, mean, half, want)
		assert.InDelta(t, want, mean, half, "%T", policy)
		assert.Less(t, half, want/20)
	}
}

// TestPolicyTradesOff: prefill first has the better TTFT, chunked prefill the better gaps between tokens, at one load.
func TestPolicyTradesOff(t *testing.T) {
	run := func(policy llmsim.Policy) *goodput.Report {
		p := llmsim.OPT13B()
		p.Policy, p.TokenBudget, p.MaxBatch = policy, 512, 128
		res, err := llmsim.Runner(p)(t.Context(), loadgen.Plan{SLO: slo.MustParse("ttft p95 < 1s, itl p99 < 100ms"),
			Arrivals: loadgen.Poisson{Rate: 2, Seed: 1}, Workload: requests(1000, 500, 300)})
		require.NoError(t, err)
		return res.Report
	}
	first, chunked := run(llmsim.PrefillFirst{}), run(llmsim.Chunked{})
	assert.Less(t, first.Percentiles["ttft"].P50, chunked.Percentiles["ttft"].P50)
	assert.Greater(t, first.Percentiles["itl"].P99, chunked.Percentiles["itl"].P99)
}

// TestDeadlinesPastSaturation: first come, first served is late for everybody, deadline order for those who cannot be helped.
func TestDeadlinesPastSaturation(t *testing.T) {
	run := func(policy llmsim.Policy) *goodput.Report {
		p := llmsim.OPT13B()
		p.Policy = policy
		res, err := llmsim.Runner(p)(t.Context(), loadgen.Plan{SLO: slo.MustParse("ttft p95 < 2s"),
			Arrivals: loadgen.Poisson{Rate: 12, Seed: 1}, Workload: same(3000, loadgen.Request{InputTokens: 900, MaxTokens: 4})})
		require.NoError(t, err)
		return res.Report
	}
	fcfs, edf := run(llmsim.Chunked{}), run(llmsim.EarliestDeadline{TTFT: 2 * time.Second})
	t.Logf("attainment %.2f, %.2f of %.1f/s throughput", fcfs.Attainment, edf.Attainment, edf.ThroughputRPS)
	assert.Less(t, fcfs.Attainment, 0.1)
	assert.Greater(t, 12*edf.Attainment, 0.9*fcfs.ThroughputRPS, "while requests come, nearly all that the engine can do is in time")
}

// TestLimitIsDeadline: a request's own TTFT limit reaches the policy.
func TestLimitIsDeadline(t *testing.T) {
	p := round()
	var seen []time.Duration
	p.Policy = llmsim.PolicyFunc(func(s *llmsim.Step) {
		for q := range s.Waiting() {
			seen = append(seen, q.Job().Deadline)
		}
		llmsim.Chunked{}.Plan(s)
	})
	for _, limits := range []map[slo.Metric]float64{{slo.TTFT: 0.25}, {slo.E2E: 3}} {
		_, err := llmsim.Runner(p)(t.Context(), loadgen.Plan{SLO: slo.MustParse("ttft p95 < 2s"), Concurrency: 1,
			Workload: same(1, loadgen.Request{InputTokens: 1, MaxTokens: 1, Limits: limits})})
		require.NoError(t, err)
	}
	assert.Equal(t, []time.Duration{250 * ms, 0}, slices.Compact(seen))
}

// TestPoliciesInABubble: event loop and clocked target give the same records under every policy.
func TestPoliciesInABubble(t *testing.T) {
	for _, policy := range policies[2:] {
		p := llmsim.OPT13B()
		p.Policy, p.KVTokens, p.MaxQueue, p.Preemption = policy, 5000, 40, policy != policies[2]
		plan := loadgen.Plan{SLO: chat, Arrivals: loadgen.Poisson{Rate: 12, Seed: 2}, Workload: requests(400, 1000, 300), Timeout: 15 * time.Second}
		_, want := carryOut(t, llmsim.Runner(p), plan)
		synctest.Test(t, func(t *testing.T) {
			_, got := carryOut(t, loadgen.RunnerOf(target(t, p)), plan)
			require.Equal(t, want, got, "%T", policy)
		})
	}
}

// shortestFirst computes whole prompts, the shortest that fits first, beside the output tokens of all others.
type shortestFirst struct{}

func (shortestFirst) Plan(s *llmsim.Step) {
	s.DecodeAll()
	for q := range s.Prefilling() {
		s.Compute(q)
	}
	short := slices.SortedStableFunc(s.Waiting(), func(a, b *llmsim.Sequence) int { return a.Remaining() - b.Remaining() })
	for _, q := range short {
		if !s.Compute(q) {
			return
		}
	}
}

func ExamplePolicy() {
	p := llmsim.OPT13B()
	p.MaxBatch = 1
	p.Policy = shortestFirst{}
	e, err := llmsim.NewEngine(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = e.Submit(0, llmsim.Job{ID: 1, Prompt: 2000, Output: 1})
	_ = e.Submit(0, llmsim.Job{ID: 2, Prompt: 100, Output: 1})
	_ = e.Submit(0, llmsim.Job{ID: 3, Prompt: 700, Output: 1})
	for _, ev := range e.Advance(time.Second) {
		fmt.Println(ev.ID, ev.At.Round(time.Millisecond))
	}
	// Output:
	// 2 37ms
	// 3 168ms
	// 1 525ms
}
