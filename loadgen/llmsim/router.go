package llmsim

import (
	"fmt"
	"math"
	"time"
)

// Router spreads jobs over the engines of a pool. RoundRobin, LeastLoad and LeastTTFT come with the package.
type Router interface {
	// New is the routing of one machine: what it remembers is its own, and empty at first.
	New() Route
	// String is its name in reports.
	String() string
}

// Route says which engine of a pool gets a job, by its index; n is how many jobs were routed before. A job for which no
// engine is large enough is refused before; a Route sees to it that the engine is one that Fits.
//
// Jobs that come in one instant are routed in order of Rank, after what was cancelled in it. Where the calls come in another
// order, a Route is asked again for those that come later in the order, with n and the pool as they are for them now. Only
// where an engine has a MaxQueue the order of the calls counts, for it decides who is refused.
//
// An index that is none of the pool's, or that of an engine that the job does not fit, makes Submit fail with ErrRoute. That of
// a decode pool is asked when a job has long been accepted: there it is a FaultError, as a panic is anywhere.
type Route func(n uint64, j Job, pool []*Replica) int

// RoundRobin gives the engines one job each by turns, and passes over one that is too small for a job.
type RoundRobin struct{}

// New is the routing of one machine.
func (RoundRobin) New() Route {
	return func(n uint64, j Job, pool []*Replica) int {
		i := int(n % uint64(len(pool)))
		for !pool[i].Fits(j) {
			i = (i + 1) % len(pool)
		}
		return i
	}
}

// String is its name.
func (RoundRobin) String() string { return "round robin" }

// LeastLoad gives a job to the engine with the fewest outstanding tokens (Replica.Outstanding), the first of several.
type LeastLoad struct{}

// New is the routing of one machine.
func (LeastLoad) New() Route {
	return func(_ uint64, j Job, pool []*Replica) int {
		return least(pool, j, math.MaxInt, (*Replica).Outstanding)
	}
}

// String is its name.
func (LeastLoad) String() string { return "least load" }

// LeastTTFT gives a job to the engine with the lowest predicted TTFT (Replica.PredictTTFT), the first of several. Where engines
// have a prefix cache, that is often the one that has most of the job's prompt, and one that has none of it where the queue
// before the first is longer than what the cache spares. So Mooncake's scheduler chooses (Qin et al., FAST 2025, algorithm 1).
//
// It looks at first tokens alone: an engine that has what everybody wants gets everybody, as long as their prompts cost it
// nothing, and its answers become slow. Ahead is the guard against that, as routers that go by the prefix have one: the
// cache-aware policy of SGLang's (balance_abs_threshold) and the prefix-cache one of AIBrix.
type LeastTTFT struct {
	Ahead int // most jobs that an engine may have beyond those of the one that has fewest, to get one more; 0: any number
}

// New is the routing of one machine. There is none where Ahead is below 0.
func (l LeastTTFT) New() Route {
	if l.Ahead < 0 {
		return nil
	}
	return func(_ uint64, j Job, pool []*Replica) int {
		most := math.MaxInt
		if l.Ahead > 0 {
			most = pool[least(pool, j, math.MaxInt, (*Replica).Jobs)].Jobs() + l.Ahead
		}
		return least(pool, j, most, func(r *Replica) time.Duration { return r.PredictTTFT(j) })
	}
}

// String is its name.
func (l LeastTTFT) String() string {
	if l.Ahead == 0 {
		return "least predicted TTFT"
	}
	return fmt.Sprintf("least predicted TTFT, at most %d jobs ahead", l.Ahead)
}

// least is the index of the engine with the lowest value, of those that j fits and that have at most so many jobs.
func least[T int | time.Duration](pool []*Replica, j Job, jobs int, value func(*Replica) T) int {
	best, at := T(0), -1
	for i, r := range pool {
		if r.jobs > jobs || !r.Fits(j) {
			continue
		}
		if v := value(r); at < 0 || v < best {
			best, at = v, i
		}
	}
	return at
}

// Replica is an engine of a pool, as a Route sees it in the instant in which a job comes.
type Replica struct {
	i   int // in the pool
	p   Params
	e   *Engine
	now *time.Duration // the machine's

	jobs   int
	tokens int            // outstanding
	prompt int            // prompt tokens of jobs that have no token yet, but for what they are spared
	pairs  float64        // that those prompts make
	coming map[uint64]int // blocks of the prompts of those jobs, and of how many
}

// Params are the engine's parameters.
func (r *Replica) Params() Params { return r.p }

// Stats is the state of the engine.
func (r *Replica) Stats() Stats { return r.e.Stats() }

// Jobs is how many jobs were given to the engine that are not over.
func (r *Replica) Jobs() int { return r.jobs }

// Outstanding is how many tokens the engine still has to make for its jobs, as one sees it from outside: the output tokens
// that have not come out, and the prompts of the jobs that have no token yet, but for what came computed with them.
func (r *Replica) Outstanding() int { return r.tokens }

// Fits says whether the engine can run the job at all, when it has nothing else to do.
func (r *Replica) Fits(j Job) bool {
	return j.Prompt <= r.p.KVTokens && j.Output <= r.p.KVTokens-j.Prompt
}

// CachedPrefix is how many tokens of the job's prompt the engine would not have to compute: those that come computed, or those
// of its first blocks that the prefix cache has now or will have from the prompts of other jobs that were given to it.
func (r *Replica) CachedPrefix(j Job) int {
	r.e.under(*r.now) // what that puts into the cache, or out of it, counts
	return r.cachedPrefix(j)
}

func (r *Replica) cachedPrefix(j Job) int {
	n := 0
	if c := r.e.cache; c != nil {
		for _, h := range j.Blocks[:promptBlocks(j, c.size)] {
			if c.blocks[h] == nil && r.coming[h] == 0 {
				break
			}
			n += c.size
		}
	}
	return max(j.Computed, n)
}

// promptBlocks is how many of the job's blocks a cache can spare it: not the one with the last token of its prompt.
func promptBlocks(j Job, size int) int { return min(len(j.Blocks), (j.Prompt-1)/size) }

// PredictTTFT is how long the job's first token would take if the engine got it now: the rest of the step under way, and the
// steps in which its prompt and all the prompt tokens before it are computed, at the engine's costs, beside the sequences that
// decode now. What the prefix cache spares of a prompt is not computed: of each job, its CachedPrefix when it came.
//
// It is exact where those prompts are all the engine has to do, get into the batch as fast as they can be computed, and do not
// get there beside one whose blocks they hope for. That a job may have to wait for room in the KV cache or in the batch it does
// not know, nor what the cache will have forgotten by then.
func (r *Replica) PredictTTFT(j Job) time.Duration {
	until, prompt, pairs := r.ahead(*r.now)
	cached := r.cachedPrefix(j)
	prompt += r.prompt + j.Prompt - cached
	pairs += r.pairs + triangle(j.Prompt) - triangle(cached)
	decodes, context := r.e.decoding()
	sequences := decodes
	if prompt == 0 { // all of it came computed: a decode step makes the token
		sequences, context = sequences+1, context+int64(j.Prompt)
	}
	budget := max(1, r.p.TokenBudget-decodes)
	steps := max(1, (prompt+budget-1)/budget)
	each := r.p.step(0, 0, int64(sequences), context)
	if float64(each)*float64(steps)+float64(r.p.PerPromptToken)*float64(prompt)+float64(r.p.PerPromptPair)*pairs > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return until + each*time.Duration(steps) + r.p.PerPromptToken*time.Duration(prompt) + r.p.PerPromptPair*time.Duration(pairs)
}

// ahead is by how much what the engine still has to do of its prompts, when the step under way ends, differs from what is
// booked of them, and how long that is from now. A step that begins now is not under way: a job that comes now takes part in it.
func (r *Replica) ahead(now time.Duration) (until time.Duration, prompt int, pairs float64) {
	e := r.e
	under := e.under(now)
	if under {
		until = e.end - now
	}
	for _, q := range e.prefills {
		if q.state == prefilling {
			prompt += q.target - q.prefilled
			pairs += triangle(q.target) - triangle(q.prefilled)
			if p := q.job.Data.(interface{ place() *placed }).place(); !p.begun { // else it is there again, after a preemption, and nothing is booked
				prompt -= q.job.Prompt - p.spared
				pairs -= triangle(q.job.Prompt) - triangle(p.spared)
			}
		}
	}
	if under {
		for _, c := range e.step.chunks {
			if c.q.state == prefilling {
				prompt -= c.n
				pairs -= triangle(c.q.prefilled+c.n) - triangle(c.q.prefilled)
			}
		}
	}
	return until, prompt, pairs
}

// triangle is how many pairs of tokens the computing of a prompt of n tokens makes.
func triangle(n int) float64 { return float64(n) * float64(n+1) / 2 }

// take books a job that is given to the engine.
func (r *Replica) take(p *placed) {
	p.on, p.left, p.begun, p.spared = r, p.job.Output, false, r.CachedPrefix(p.job)
	r.jobs++
	r.tokens += p.job.Prompt - p.job.Computed + p.job.Output
	r.prompt += p.job.Prompt - p.spared
	r.pairs += triangle(p.job.Prompt) - triangle(p.spared)
	r.comes(p.job, +1)
}

// comes books that the blocks of a job's prompt will be in the cache, or, with n = -1, that the job has no part in that.
func (r *Replica) comes(j Job, n int) {
	if r.e.cache == nil {
		return
	}
	for _, h := range j.Blocks[:promptBlocks(j, r.e.cache.size)] {
		if r.coming[h] += n; r.coming[h] == 0 {
			delete(r.coming, h)
		}
	}
}

// token books a token of a job, its last one too.
func (r *Replica) token(p *placed) {
	if !p.begun {
		r.begin(p)
	}
	p.left--
	r.tokens--
	if p.left == 0 {
		r.jobs--
	}
}

func (r *Replica) begin(p *placed) {
	p.begun = true
	r.tokens -= p.job.Prompt - p.job.Computed
	r.prompt -= p.job.Prompt - p.spared
	r.pairs -= triangle(p.job.Prompt) - triangle(p.spared)
	r.comes(p.job, -1)
}

// drop takes a job that is not over out of the books.
func (r *Replica) drop(p *placed) {
	if !p.begun {
		r.begin(p)
	}
	r.tokens -= p.left
	r.jobs--
}
