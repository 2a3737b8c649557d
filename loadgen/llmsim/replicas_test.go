package llmsim_test

import (
	"cmp"
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
	"github.com/goodputkit/goodputkit/internal/race"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

var routers = []llmsim.Router{llmsim.RoundRobin{}, llmsim.LeastLoad{}, llmsim.LeastTTFT{}}

func machine(t testing.TB, m llmsim.Model) llmsim.Machine {
	x, err := m.NewMachine()
	require.NoError(t, err)
	return x
}

// replicas are n engines of one kind.
func replicas(p llmsim.Params, n int, r llmsim.Router) llmsim.Replicas {
	return llmsim.Replicas{Engines: slices.Repeat([]llmsim.Params{p}, n), Router: r}
}

// empty runs a machine empty.
func empty(m llmsim.Machine) []llmsim.Event {
	var all []llmsim.Event
	var now time.Duration
	for {
		at, ok := m.Next()
		if !ok {
			return append(all, m.Advance(now)...)
		}
		now = at
		all = append(all, m.Advance(at)...)
	}
}

// random are parameters of small engines that are full soon.
func random(rng *rand.Rand) llmsim.Params {
	p := llmsim.Params{
		Base: time.Duration(1 + rng.IntN(1000)), PerPromptToken: time.Duration(rng.IntN(100)), PerPromptPair: time.Duration(rng.IntN(5)),
		PerSequence: time.Duration(rng.IntN(100)), PerContextToken: time.Duration(rng.IntN(5)),
		MaxBatch: 1 + rng.IntN(8), KVTokens: 80 + rng.IntN(200), DefaultOutput: 1,
	}
	p.TokenBudget = p.MaxBatch + rng.IntN(40)
	return p
}

// TestOneReplicaIsTheEngine: with random calls, each answer is that of the bare engine.
func TestOneReplicaIsTheEngine(t *testing.T) {
	for _, router := range routers {
		for seed := range uint64(10) {
			rng := rand.New(rand.NewPCG(seed, 2))
			p := random(rng)
			p.MaxQueue = rng.IntN(2) * 5
			bare, one := machine(t, p), machine(t, replicas(p, 1, router))
			var now time.Duration
			for id := range uint64(500) {
				now += time.Duration(rng.IntN(2) * rng.IntN(1+int(p.Base)*10))
				j := llmsim.Job{ID: id, Rank: uint64(rng.IntN(3)), Prompt: 1 + rng.IntN(60), Output: 1 + rng.IntN(40), Data: id}
				require.Equal(t, bare.Submit(now, j), one.Submit(now, j))
				gone := uint64(rng.IntN(int(id) + 1))
				if rng.IntN(3) == 0 {
					require.Equal(t, bare.Cancel(now, gone), one.Cancel(now, gone))
				}
				if rng.IntN(2) == 0 {
					require.Equal(t, slices.Clone(bare.Advance(now)), slices.Clone(one.Advance(now)))
				}
				require.Equal(t, bare.Stats(), one.Stats())
				at, ok := bare.Next()
				next, some := one.Next()
				require.Equal(t, ok, some)
				if ok {
					require.Equal(t, at, next)
				}
			}
			require.Equal(t, empty(bare), empty(one))
			require.Zero(t, one.Stats().KVReserved+one.Stats().Running+one.Stats().Waiting)
		}
	}
	plan := loadgen.Plan{SLO: chat, Arrivals: loadgen.Poisson{Rate: 6, Seed: 2}, Workload: requests(1000, 1000, 300), Timeout: 15 * time.Second}
	_, bare := carryOut(t, llmsim.Runner(llmsim.OPT13B()), plan)
	_, one := carryOut(t, llmsim.Runner(replicas(llmsim.OPT13B(), 1, llmsim.LeastTTFT{})), plan)
	require.Equal(t, bare, one)
	assert.Equal(t, llmsim.OPT13B().Info(), replicas(llmsim.OPT13B(), 1, nil).Info())
}

// TestReplicasInABubble: event loop and clocked target give the same records, to the nanosecond, also where many requests come
// in one instant, in whatever order.
func TestReplicasInABubble(t *testing.T) {
	small := llmsim.OPT13B()
	small.KVTokens = 2000
	for _, router := range routers {
		for _, c := range []bubbleCase{
			{"overload with timeouts", replicas(llmsim.OPT13B(), 3, router), loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 36, Seed: 2}, Workload: requests(2000, 1000, 300), Timeout: 15 * time.Second},
				[]goodput.Outcome{goodput.Timeout}},
			{"closed loop with timeouts", replicas(llmsim.OPT13B(), 3, router), loadgen.Plan{Concurrency: 180, Workload: requests(1500, 1500, 300), Timeout: 15 * time.Second},
				[]goodput.Outcome{goodput.Timeout}},
			{"sessions", replicas(llmsim.OPT13B(), 3, router), loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 6, Seed: 8}, Workload: conversations(300, true), Warmup: 10 * time.Second, Duration: time.Minute}, nil},
			{"sessions in a closed loop, with timeouts", replicas(small, 3, router), loadgen.Plan{Concurrency: 90, Workload: conversations(300, true), Timeout: 12 * time.Second},
				[]goodput.Outcome{goodput.Timeout}},
		} {
			t.Run(router.String()+", "+c.name, func(t *testing.T) { sameInABubble(t, c) })
		}
	}
}

// shuffled makes random calls, those of each instant in an order that shuffle chooses, and returns what came of it. Every instant
// is told to check at its end.
func shuffled(t *testing.T, m llmsim.Machine, n, prompt, output int, shuffle *rand.Rand, check func(in map[uint64]bool)) []llmsim.Event {
	rng := rand.New(rand.NewPCG(3, 3))
	type op struct {
		cancel bool
		job    llmsim.Job
	}
	var all []llmsim.Event
	var now time.Duration
	id := uint64(0)
	in := map[uint64]bool{}
	take := func(events []llmsim.Event) {
		for _, ev := range events {
			require.True(t, in[ev.ID], "a token of a job that is over")
			require.Equal(t, ev.ID, ev.Data)
			if ev.Last {
				delete(in, ev.ID)
			}
		}
		all = append(all, events...)
	}
	for range n {
		var ops []op
		old := id
		for range rng.IntN(5) {
			id++
			ops = append(ops, op{job: llmsim.Job{ID: id, Rank: id, Prompt: 1 + rng.IntN(prompt), Output: 1 + rng.IntN(output), Data: id}})
		}
		for range rng.IntN(3) {
			if old > 0 {
				ops = append(ops, op{cancel: true, job: llmsim.Job{ID: old - uint64(rng.IntN(int(min(old, 40))))}})
			}
		}
		if shuffle != nil {
			shuffle.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
		}
		for _, o := range ops {
			if o.cancel {
				if m.Cancel(now, o.job.ID) {
					take(m.Advance(now)) // what came before
					require.True(t, in[o.job.ID])
					delete(in, o.job.ID)
				}
			} else {
				require.NoError(t, m.Submit(now, o.job))
				in[o.job.ID] = true
			}
			if shuffle != nil && shuffle.IntN(2) == 0 {
				take(m.Advance(now))
			}
		}
		check(in)
		if at, ok := m.Next(); ok && rng.IntN(2) == 0 {
			now = at
		} else {
			now += time.Duration(rng.IntN(30)) * ms
		}
		take(m.Advance(now))
		check(in)
	}
	take(empty(m))
	require.Empty(t, in, "every job ends")
	s := m.Stats()
	require.Zero(t, s.KVReserved+s.KVUsed+s.Running+s.Waiting)
	slices.SortStableFunc(all, func(a, b llmsim.Event) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// TestReplicasOrderOfCalls makes the same calls of each instant in different orders, and holds the books at each.
func TestReplicasOrderOfCalls(t *testing.T) {
	p := round()
	p.KVTokens = 60
	for _, router := range append(routers, llmsim.LeastTTFT{Ahead: 1}) {
		run := func(shuffle *rand.Rand) []llmsim.Event {
			m := machine(t, replicas(p, 3, router))
			return shuffled(t, m, 300, 20, 9, shuffle, func(in map[uint64]bool) {
				s := m.Stats()
				require.Equal(t, len(in), s.Running+s.Waiting)
				require.LessOrEqual(t, s.KVReserved, 3*60)
			})
		}
		want := run(nil)
		require.Greater(t, len(want), 1000)
		for seed := range uint64(20) {
			require.Equal(t, want, run(rand.New(rand.NewPCG(seed, 9))), "%v, seed %d", router, seed)
		}
	}
}

// looker is round robin that looks at the pool.
type looker struct {
	look func(n uint64, j llmsim.Job, pool []*llmsim.Replica)
}

func (looker) String() string { return "looker" }
func (l looker) New() llmsim.Route {
	inner := llmsim.RoundRobin{}.New()
	return func(n uint64, j llmsim.Job, pool []*llmsim.Replica) int {
		l.look(n, j, pool)
		return inner(n, j, pool)
	}
}

// TestReplicaBooks: what a router is told is what one counts who looks at jobs and tokens.
func TestReplicaBooks(t *testing.T) {
	type job struct{ left, on int }
	jobs := map[uint64]*job{}
	looks := 0
	p := round()
	p.KVTokens = 60
	l := looker{func(n uint64, j llmsim.Job, pool []*llmsim.Replica) {
		looks++
		count, tokens := make([]int, len(pool)), make([]int, len(pool))
		for _, x := range jobs {
			count[x.on]++
			tokens[x.on] += x.left
		}
		for i, r := range pool {
			require.Equal(t, count[i], r.Jobs(), "job %d", j.ID)
			require.Equal(t, tokens[i], r.Outstanding())
			require.Equal(t, r.Jobs(), r.Stats().Running+r.Stats().Waiting)
			require.Equal(t, p, r.Params())
		}
	}}
	m := machine(t, replicas(p, 3, l))
	rng := rand.New(rand.NewPCG(8, 8))
	begun := map[uint64]bool{}
	prompts := map[uint64]int{}
	take := func(events []llmsim.Event) {
		for _, ev := range events {
			x := jobs[ev.ID]
			if !begun[ev.ID] {
				begun[ev.ID] = true
				x.left -= prompts[ev.ID]
			}
			if x.left--; ev.Last {
				require.Zero(t, x.left)
				delete(jobs, ev.ID)
			}
		}
	}
	var now time.Duration
	for id := range uint64(2000) {
		now += time.Duration(rng.IntN(40)) * ms
		take(m.Advance(now))
		if rng.IntN(3) == 0 {
			gone := id - uint64(rng.IntN(int(min(id+1, 12))))
			if m.Cancel(now, gone) {
				delete(jobs, gone)
			}
		}
		j := llmsim.Job{ID: id, Prompt: 1 + rng.IntN(20), Output: 1 + rng.IntN(9)}
		j.Computed = max(0, rng.IntN(2*j.Prompt)-j.Prompt)
		require.NoError(t, m.Submit(now, j))
		prompts[id] = j.Prompt - j.Computed
		jobs[id] = &job{prompts[id] + j.Output, int(id % 3)}
		now++ // an instant has one call: nothing is routed twice
	}
	assert.Equal(t, 2000, looks)
}

// TestPredictTTFT: where prompts are all there is to do, the last one gets its token when it was said.
func TestPredictTTFT(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 4))
		p := random(rng)
		p.MaxBatch, p.KVTokens = p.TokenBudget, 1<<20
		var said time.Duration
		m := machine(t, replicas(p, 1, looker{func(_ uint64, j llmsim.Job, pool []*llmsim.Replica) { said = pool[0].PredictTTFT(j) }}))
		var now time.Duration
		for id := range uint64(1 + rng.IntN(20)) {
			now += time.Duration(rng.IntN(2) * rng.IntN(3000))
			j := llmsim.Job{ID: id, Prompt: 1 + rng.IntN(100), Output: 1}
			j.Computed = rng.IntN(j.Prompt)
			require.NoError(t, m.Submit(now, j))
			if rng.IntN(5) == 0 {
				m.Cancel(now, uint64(rng.IntN(int(id+1))))
			}
		}
		now += time.Duration(rng.IntN(2) * rng.IntN(3000))
		require.NoError(t, m.Submit(now, llmsim.Job{ID: 1000, Prompt: 1 + rng.IntN(100), Output: 1}))
		events := empty(m)
		require.Equal(t, now+said, events[len(events)-1].At, "seed %d", seed)
	}
	// Beside a sequence that decodes: 7 of 8 tokens of a step are left for prompts.
	var said time.Duration
	m := machine(t, replicas(round(), 1, looker{func(_ uint64, j llmsim.Job, pool []*llmsim.Replica) { said = pool[0].PredictTTFT(j) }}))
	require.NoError(t, m.Submit(0, llmsim.Job{ID: 1, Prompt: 4, Output: 20}))
	require.NoError(t, m.Submit(20*ms, llmsim.Job{ID: 2, Prompt: 16, Output: 1}))
	// The step under way takes 6 ms more; then come three of 10 + 2 ms, and 16 prompt tokens.
	assert.Equal(t, 58*ms, said)
	assert.Equal(t, 78*ms, first(empty(m), 2))
}

// dice is a router of one's own: any engine, by chance.
type dice struct{ seed uint64 }

func (dice) String() string { return "dice" }
func (d dice) New() llmsim.Route {
	return func(n uint64, _ llmsim.Job, pool []*llmsim.Replica) int {
		return rand.New(rand.NewPCG(d.seed, n)).IntN(len(pool))
	}
}

// server is an engine that is a server of queueing theory: one job at a time, for as many microseconds as its prompt has tokens.
func queueServer() llmsim.Params {
	return llmsim.Params{Model: "queue", Base: 1, PerPromptToken: time.Microsecond, TokenBudget: 1 << 25, MaxBatch: 1, KVTokens: 1 << 26, DefaultOutput: 1}
}

// waits puts jobs on a machine and returns how long each was there beyond its service.
func waits(t *testing.T, m llmsim.Machine, at []time.Duration, service []int) []time.Duration {
	wait := make([]time.Duration, len(at))
	take := func(events []llmsim.Event) {
		for _, ev := range events {
			wait[ev.ID] = ev.At - at[ev.ID] - time.Duration(service[ev.ID])*time.Microsecond - 1
		}
	}
	for i := range at {
		take(m.Advance(at[i]))
		require.NoError(t, m.Submit(at[i], llmsim.Job{ID: uint64(i), Prompt: service[i], Output: 1}))
	}
	take(empty(m))
	return wait
}

func mean(d []time.Duration) float64 {
	sum := 0.0
	for _, x := range d {
		sum += x.Seconds()
	}
	return sum / float64(len(d))
}

// poisson are n instants of a Poisson process, and service times in microseconds, of mean 1 ms: exponential, or all alike.
func poisson(n int, rate float64, exponential bool) (at []time.Duration, service []int) {
	rng := rand.New(rand.NewPCG(17, 17))
	now := 0.0
	for range n {
		now += rng.ExpFloat64() / rate
		at = append(at, time.Duration(now*1e9))
		s := 1000
		if exponential {
			s = max(1, int(math.Round(1000*rng.ExpFloat64())))
		}
		service = append(service, s)
	}
	return at, service
}

// TestReplicasAsQueues: routers against queueing theory, with four servers at 70 %.
func TestReplicasAsQueues(t *testing.T) {
	if race.Enabled {
		t.Skip("an event loop: there is one goroutine")
	}
	const n, servers, rho = 200_000, 4, 0.7
	const rate = servers * rho / 1e-3
	for _, exponential := range []bool{false, true} {
		at, service := poisson(n, rate, exponential)
		got := map[string][]time.Duration{}
		for _, r := range append(routers, dice{1}) {
			got[r.String()] = waits(t, machine(t, replicas(queueServer(), servers, r)), at, service)
		}
		robin, load, ttft, random := mean(got["round robin"]), mean(got["least load"]), mean(got["least predicted TTFT"]), mean(got["dice"])

		// Lindley's recursion: in round robin a job waits for the one that came four jobs before it.
		free := make([]time.Duration, servers)
		for i := range at {
			begin := max(at[i], free[i%servers])
			require.Equal(t, begin-at[i], got["round robin"][i])
			free[i%servers] = begin + time.Duration(service[i])*time.Microsecond + 1
		}
		// Kiefer and Wolfowitz: whoever joins the least work waits as in one queue before all servers. Equal services are known
		// exactly; the others but for the Base of the jobs in a queue, which a prediction takes to be computed in one step.
		free = make([]time.Duration, servers)
		central := make([]time.Duration, n)
		for i := range at {
			k := slices.Index(free, slices.Min(free))
			begin := max(at[i], free[k])
			central[i] = begin - at[i]
			free[k] = begin + time.Duration(service[i])*time.Microsecond + 1
		}
		if exponential {
			require.InEpsilon(t, mean(central), ttft, 1e-4)
			// Erlang's C: the probability to wait, and 1/(cμ−λ) where one does.
			a, term, sum := servers*rho, 1.0, 0.0
			for k := range servers {
				sum += term
				term *= a / float64(k+1)
			}
			c := term / (1 - rho) / (sum + term/(1-rho))
			require.InEpsilon(t, c*1e-3/servers/(1-rho), ttft, 0.03, "M/M/4")
			require.InEpsilon(t, 1e-3*rho/(1-rho), random, 0.03, "M/M/1")
			require.Less(t, robin, 0.9*random, "arrivals to each are more regular than Poisson")
			require.Less(t, load, 0.9*robin)
		} else {
			// Where all jobs are alike, the engine that was chosen longest ago is the first to be free.
			require.Equal(t, central, got["round robin"], "M/D/4")
			require.Equal(t, central, got["least predicted TTFT"], "M/D/4")
			require.InEpsilon(t, 1e-3*rho/(1-rho)/2, random, 0.03, "M/D/1")
			require.Less(t, load, 0.9*random)
		}
		require.Greater(t, load, ttft)
		t.Logf("exponential %v: waits in ms: any %.3f, round robin %.3f, least load %.3f, least TTFT %.3f", exponential, 1e3*random, 1e3*robin, 1e3*load, 1e3*ttft)
	}
}

func TestReplicasOfSeveralSizes(t *testing.T) {
	small, large := round(), round()
	large.KVTokens = 1000
	for _, r := range routers {
		m := machine(t, llmsim.Replicas{Engines: []llmsim.Params{small, small, large}, Router: r})
		for id := range uint64(5) {
			require.NoError(t, m.Submit(0, llmsim.Job{ID: id, Prompt: 100, Output: 100}), "%v: only the third can", r)
		}
		err := m.Submit(0, llmsim.Job{ID: 9, Prompt: 1000, Output: 1})
		require.ErrorIs(t, err, llmsim.ErrTooLong)
		assert.ErrorContains(t, err, "1000 prompt tokens and 1 output tokens are more than the 1000 that the KV cache holds")
		assert.ErrorIs(t, m.Submit(0, llmsim.Job{ID: 9, Output: 1}), llmsim.ErrNoTokens)
		assert.ErrorIs(t, m.Submit(0, llmsim.Job{ID: 9, Prompt: 1, Computed: 2, Output: 1}), llmsim.ErrComputed)
		assert.Len(t, empty(m), 500)
	}
	// A fast machine beside a slow one gets more where the router knows its costs.
	m := machine(t, llmsim.Replicas{Engines: []llmsim.Params{round(), round().Faster(4)}, Router: llmsim.LeastTTFT{}})
	var now time.Duration
	for id := range uint64(400) {
		now += 10 * ms
		m.Advance(now)
		require.NoError(t, m.Submit(now, llmsim.Job{ID: id, Prompt: 8, Output: 1}))
	}
	s := m.Stats()
	assert.Less(t, s.Waiting, 4, "each alone would have a queue")
}

func TestReplicasRefuse(t *testing.T) {
	other, longer := round(), round()
	other.Model, longer.DefaultOutput = "square", 5
	for _, c := range []struct {
		r    llmsim.Replicas
		want string
	}{
		{llmsim.Replicas{}, "llmsim: Replicas has no engines: at least one is needed"},
		{llmsim.Replicas{Engines: []llmsim.Params{round(), {}}}, "llmsim: Replicas: engine 1: Base is 0"},
		{llmsim.Replicas{Engines: []llmsim.Params{round(), round(), other}}, `llmsim: engines 0 and 2 serve different models, "round" and "square"`},
		{llmsim.Replicas{Engines: []llmsim.Params{round(), longer}}, "llmsim: engines 0 and 1 have different DefaultOutput, 2 and 5"},
		{replicas(round(), 2, nowhere(nil)), "llmsim: Replicas: the router nowhere gives no Route"},
	} {
		_, err := c.r.NewMachine()
		require.ErrorContains(t, err, c.want)
		_, err = llmsim.NewTarget(c.r)
		require.Error(t, err)
		_, err = llmsim.Runner(c.r)(t.Context(), loadgen.Plan{})
		require.ErrorContains(t, err, c.want)
		_ = c.r.Info()
	}
	for _, i := range []int{-1, 2, math.MaxInt} {
		m := machine(t, replicas(round(), 2, nowhere{i}))
		require.ErrorIs(t, m.Submit(0, llmsim.Job{Prompt: 1, Output: 1}), llmsim.ErrRoute)
		require.Zero(t, m.Stats())
		report, lines := carryOut(t, llmsim.Runner(replicas(round(), 2, nowhere{i})), loadgen.Plan{SLO: chat, Arrivals: loadgen.Constant{Rate: 1}, Requests: 5})
		require.EqualValues(t, 5, report.Outcomes[goodput.ServerError])
		assert.Contains(t, lines[0], fmt.Sprintf("router nowhere chose engine %d, and they are 0 to 1", i))
	}
	small := round()
	small.KVTokens = 20
	uneven := llmsim.Replicas{Engines: []llmsim.Params{round(), small}, Router: nowhere{1}}
	report, lines := carryOut(t, llmsim.Runner(uneven), loadgen.Plan{SLO: chat, Concurrency: 1, Workload: same(1, loadgen.Request{InputTokens: 20, MaxTokens: 1})})
	require.EqualValues(t, 1, report.Outcomes[goodput.ServerError], "it is not the client's fault")
	assert.Contains(t, lines[0], "router nowhere chose engine 1, whose KV cache holds 20 tokens, for 20 prompt tokens and 1 output tokens")
	m := machine(t, replicas(round(), 2, nil))
	require.NoError(t, m.Submit(0, llmsim.Job{ID: 1, Prompt: 1, Output: 1}))
	assert.Panics(t, func() { _ = m.Submit(0, llmsim.Job{ID: 1, Prompt: 1, Output: 1}) })
	assert.False(t, m.Cancel(0, 2))
}

// nowhere names an engine that may not be there; its zero has no Route.
type nowhere []int

func (nowhere) String() string { return "nowhere" }
func (w nowhere) New() llmsim.Route {
	if w == nil {
		return nil
	}
	return func(uint64, llmsim.Job, []*llmsim.Replica) int { return w[0] }
}

// TestReplicasQueueFull: an engine with a full queue refuses, and the next one is asked for the next job.
func TestReplicasQueueFull(t *testing.T) {
	p := round()
	p.MaxBatch, p.MaxQueue = 1, 1
	m := machine(t, replicas(p, 2, nil))
	refused := 0
	for id := range uint64(10) {
		if err := m.Submit(0, llmsim.Job{ID: id, Prompt: 8, Output: 1}); err != nil {
			require.ErrorIs(t, err, llmsim.ErrQueueFull)
			refused++
		}
	}
	assert.Equal(t, 6, refused, "two run and two wait")
	assert.Len(t, empty(m), 4)
}

// twoChoices is a router of one's own: the less loaded of two engines that are drawn by lot.
type twoChoices struct{ seed uint64 }

func (twoChoices) String() string { return "two choices" }

func (r twoChoices) New() llmsim.Route {
	return func(n uint64, _ llmsim.Job, pool []*llmsim.Replica) int {
		lot := rand.New(rand.NewPCG(r.seed, n)) // of n alone: asked again, it says the same
		a, b := lot.IntN(len(pool)), lot.IntN(len(pool))
		if pool[b].Outstanding() < pool[a].Outstanding() {
			return b
		}
		return a
	}
}

func ExampleRouter() {
	for _, router := range []llmsim.Router{llmsim.RoundRobin{}, twoChoices{seed: 1}, llmsim.LeastLoad{}, llmsim.LeastTTFT{}} {
		system := llmsim.Replicas{Engines: slices.Repeat([]llmsim.Params{llmsim.OPT13B()}, 8), Router: router}
		res, err := llmsim.Runner(system)(context.Background(), loadgen.Plan{
			SLO:      slo.MustParse("ttft p95 < 600ms"),
			Arrivals: loadgen.Poisson{Rate: 30, Seed: 1},
			Workload: requests(3000, 1500, 300),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-20s %.1f %% in time\n", router, 100*res.Report.Attainment)
	}
	// Output:
	// round robin          96.7 % in time
	// two choices          99.4 % in time
	// least load           100.0 % in time
	// least predicted TTFT 100.0 % in time
}
