package llmsim

import (
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
		return least(pool, j, func(r *Replica) int { return r.Outstanding() })
	}
}

// String is its name.
func (LeastLoad) String() string { return "least load" }

// LeastTTFT gives a job to the engine with the lowest predicted TTFT (Replica.PredictTTFT), the first of several.
type LeastTTFT struct{}

// New is the routing of one machine.
func (LeastTTFT) New() Route {
	return func(_ uint64, j Job, pool []*Replica) int {
		return least(pool, j, func(r *Replica) time.Duration { return r.PredictTTFT(j) })
	}
}

// String is its name.
func (LeastTTFT) String() string { return "least predicted TTFT" }

// least is the index of the engine with the lowest value, of those that j fits.
func least[T int | time.Duration](pool []*Replica, j Job, value func(*Replica) T) int {
	best, at := T(0), -1
	for i, r := range pool {
		if !r.Fits(j) {
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
	tokens int     // outstanding
	prompt int     // of these, prompt tokens: of jobs that have no token yet
	pairs  float64 // that those prompts make
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

// PredictTTFT is how long the job's first token would take if the engine got it now: the rest of the step under way, and the
// steps in which its prompt and all the prompt tokens before it are computed, at the engine's costs, beside the sequences that
// decode now. It is exact where those prompts are all the engine has to do, and get into the batch as fast as they can be
// computed. That a job may have to wait for room in the KV cache or in the batch it does not know, nor what the prefix cache will spare.
func (r *Replica) PredictTTFT(j Job) time.Duration {
	until, prompt, pairs := r.e.ahead(*r.now)
	prompt += r.prompt + j.Prompt - j.Computed
	pairs += r.pairs + pairsOf(j)
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

// ahead is what the engine has done of its prompts, as negative numbers, when the step under way ends, and how long that
// is from now. A step that begins now is not under way: a job that comes now takes part in it.
func (e *Engine) ahead(now time.Duration) (until time.Duration, prompt int, pairs float64) {
	under := e.under(now)
	if under {
		until = e.end - now
	}
	for _, q := range e.prefills {
		switch {
		case q.state != prefilling:
		case q.generated > 0: // again, after a preemption
			prompt += q.target - q.prefilled
			pairs += triangle(q.target) - triangle(q.prefilled)
		default:
			prompt -= q.prefilled - q.job.Computed
			pairs -= triangle(q.prefilled) - triangle(q.job.Computed)
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

// pairsOf is how many pairs of tokens the computing of the prompt makes.
func pairsOf(j Job) float64 { return triangle(j.Prompt) - triangle(j.Computed) }

func triangle(n int) float64 { return float64(n) * float64(n+1) / 2 }

// take books a job that is given to the engine.
func (r *Replica) take(p *placed) {
	p.on, p.left, p.begun = r, p.job.Output, false
	r.jobs++
	r.tokens += p.job.Prompt - p.job.Computed + p.job.Output
	r.prompt += p.job.Prompt - p.job.Computed
	r.pairs += pairsOf(p.job)
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
	r.prompt -= p.job.Prompt - p.job.Computed
	r.pairs -= pairsOf(p.job)
}

// drop takes a job that is not over out of the books.
func (r *Replica) drop(p *placed) {
	if !p.begun {
		r.begin(p)
	}
	r.tokens -= p.left
	r.jobs--
}
