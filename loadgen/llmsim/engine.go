package llmsim

import (
	"slices"
	"time"
)

// Engine is an LLM inference engine with continuous batching as a state machine without a clock: whoever drives it says
// what time it is, as an offset from a zero of its choice. The same calls give the same events, to the nanosecond. It belongs
// to one goroutine.
//
// Work is done in steps, one after the other. What a step computes is planned when it begins, by Params.Policy: output
// tokens for sequences whose prompt is done, one each, and chunks of prompts, of the batch's or of jobs that enter it from
// the queue with this step, while TokenBudget, MaxBatch and KVTokens allow. A job enters only if its prompt and its whole
// output fit beside what is promised to the others, so that no sequence ever has to leave the batch again (TensorRT-LLM
// calls this GUARANTEED_NO_EVICT); Params.Preemption is the other way. The tokens of a step come out at its end; the chunk
// that completes a prompt yields the first. One whose prompt came computed gets an output token in the step with which it
// enters.
//
// What is submitted or cancelled in the instant in which a step begins takes part in its plan, in whatever order the calls
// come: with different Ranks, the calls of one instant can be made in any order. The one exception is MaxQueue, which
// refuses the job that is submitted last.
type Engine struct {
	p      Params
	policy Policy
	grow   int // KV cache that is promised for an output token when it is made: 1, or 0 where all of the output's is before
	now    time.Duration

	jobs     map[uint64]*Sequence
	queue    fifo        // waiting, in order of arrival
	prefills []*Sequence // in the batch, the prompt not done, in order of entry
	decodes  []*Sequence // in the batch, the prompt done, in the order in which it was
	free     []*Sequence // done with, to be used again
	cache    *prefixCache
	waits    *waitlist // the queue in the order of EarliestDeadline, once that has asked
	nth      uint64    // submitted
	fronts   uint64    // put at the head of the queue

	// A step is planned whenever somebody wants to know of it, from all that is known at the instant, and begins when time
	// moves on.
	step     Step
	serial   uint64 // of the plan
	entries  uint64 // into the batch
	planned  bool   // step is the plan for now
	stepping bool   // step is under way: from start to end
	start    time.Duration
	end      time.Duration

	cancelled bool  // prefills or decodes hold sequences that are gone
	context   int64 // tokens in the contexts of decodes
	held      int   // tokens of KV cache, of those reserved, that are not of the batch: see hold
	events    []Event
	given     bool // events were given out
	stats     Stats
}

// NewEngine is an idle engine. The error is that of Validate.
func NewEngine(p Params) (*Engine, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	e := &Engine{p: p, policy: p.Policy, jobs: make(map[uint64]*Sequence)}
	if e.policy == nil {
		e.policy = Chunked{}
	}
	if p.Preemption {
		e.grow = 1
	}
	if p.BlockTokens > 0 {
		e.cache = newPrefixCache(p.BlockTokens)
	}
	return e, nil
}

// Submit hands over a job at the instant now, which is not before that of an earlier call. The error is ErrTooLong
// (or ErrNoTokens, ErrComputed, ErrDeadline) for a job that can never run, ErrQueueFull where MaxQueue jobs wait that cannot
// enter the batch; then the engine is as it was. It panics where a job of the same ID is in the engine. The events up to now
// are kept for the next Advance.
func (e *Engine) Submit(now time.Duration, j Job) error {
	e.run(now)
	if j.Prompt < 1 || j.Output < 1 {
		return ErrNoTokens
	}
	if j.Deadline < 0 {
		return ErrDeadline
	}
	if j.Computed < 0 || j.Computed > j.Prompt {
		return ErrComputed
	}
	if j.Prompt > e.p.KVTokens || j.Output > e.p.KVTokens-j.Prompt {
		return tooLong(j, e.p.KVTokens)
	}
	if e.jobs[j.ID] != nil {
		panic("llmsim: two jobs with one ID")
	}
	if e.p.MaxQueue > 0 {
		if n := e.Stats().Waiting; n >= e.p.MaxQueue {
			return queueFull(n)
		}
	}
	s := e.newSequence(j)
	e.jobs[j.ID] = s
	e.queue.push(s)
	if e.waits != nil {
		e.waits.add(s)
	}
	e.planned = false
	return nil
}

// Cancel takes a job out at the instant now and says whether it was there. Its KV cache is free at once; a step under way
// takes as long as it would have. The events up to now, the job's own among them, are kept for the next Advance; a job
// whose last token comes at now is done and no longer there.
func (e *Engine) Cancel(now time.Duration, id uint64) bool {
	e.run(now)
	s := e.jobs[id]
	if s == nil {
		return false
	}
	switch s.state {
	case waiting:
		e.queue.remove(s)
		if e.waits != nil {
			e.waits.remove(s)
		}
		e.recycle(s)
	case prefilling:
		e.release(s, s.entry)
		e.cancelled = true
	case decoding:
		e.context -= int64(s.length())
		e.release(s, s.entry)
		e.cancelled = true
	}
	s.state = gone
	delete(e.jobs, id)
	e.planned = false
	return true
}

// Next is the instant at which the step under way, or the one that begins now, ends: the next at which there is something to
// Advance to. It is false when the engine is idle. Submit and Cancel can change it.
func (e *Engine) Next() (at time.Duration, ok bool) {
	if e.stepping {
		return e.end, true
	}
	if !e.plan() {
		return 0, false
	}
	return e.step.end, true
}

// Advance brings the engine to the instant to, inclusive, and returns what came out since the last call, in order of
// time. The slice is valid until the next call of a method.
func (e *Engine) Advance(to time.Duration) []Event {
	e.run(to)
	e.given = true
	return e.events
}

// Stats is the engine's state at the latest instant it was told.
func (e *Engine) Stats() Stats {
	s := e.stats
	s.Waiting = e.queue.len()
	if e.cache != nil {
		s.KVCached = e.cache.idle * e.cache.size
	}
	if !e.stepping && e.plan() {
		n := len(e.step.entered) - len(e.step.out)
		s.Waiting -= n
		s.Running += n
		s.KVReserved += e.step.reserved
		s.KVUsed += e.step.used
		if e.cache != nil { // what has no room beside those who enter goes
			s.KVCached = min(s.KVCached+e.step.cached, (e.p.KVTokens-s.KVUsed)/e.cache.size*e.cache.size)
		}
	}
	return s
}

// run completes the steps that end by to.
func (e *Engine) run(to time.Duration) {
	if e.given {
		e.events, e.given = e.events[:0], false
	}
	for {
		if !e.stepping {
			if e.now >= to || !e.plan() {
				break
			}
			e.begin()
		}
		if e.end > to {
			break
		}
		e.now = e.end
		e.complete()
	}
	e.now = max(e.now, to)
}

// plan has the policy plan the step that begins now and says whether there is one. Nothing changes but the plan.
func (e *Engine) plan() bool {
	if e.planned {
		return !e.step.Empty()
	}
	if e.cancelled {
		e.sweep()
	}
	if e.queue.len()+len(e.prefills)+len(e.decodes) == 0 {
		return false
	}
	s := &e.step
	s.begin(e)
	e.consult(s)
	if s.Empty() && (e.held == 0 || e.stats.Running > 0) {
		s.bad("nothing in a step, with %d sequences in the batch and %d waiting", e.stats.Running, e.queue.len())
	}
	s.end = after(e.now, e.p.step(s.prompt, s.pairs, s.decodes, s.context))
	e.planned = true
	return !s.Empty()
}

// consult asks the policy. A panic of its own says whose it is.
func (e *Engine) consult(s *Step) {
	defer func() {
		if p := recover(); p != nil {
			panic(faultOf(policyName(e.policy), p))
		}
	}()
	e.policy.Plan(s)
}

// under says whether a step is under way at now, up to which none ends.
func (e *Engine) under(now time.Duration) bool {
	if !e.stepping && e.now < now && e.plan() {
		e.begin()
	}
	return e.stepping && e.start < now
}

// decoding is how many sequences decode, those among them that enter with the step that begins now and none that was
// cancelled, and the tokens in their contexts.
func (e *Engine) decoding() (n int, context int64) {
	if !e.stepping && e.plan() {
		for _, q := range e.step.entered {
			if q.Remaining() == 0 {
				n++
				context += int64(q.length())
			}
		}
	}
	n += len(e.decodes)
	if e.cancelled {
		for _, q := range e.decodes {
			if q.state == gone {
				n--
			}
		}
	}
	return n, context + e.context
}

// begin begins the step that is planned.
func (e *Engine) begin() {
	s := &e.step
	e.stepping, e.start, e.end = true, e.now, s.end
	for _, q := range s.out {
		e.preempt(q)
	}
	for _, q := range s.entered {
		e.queue.remove(q)
		if e.waits != nil {
			e.waits.remove(q)
		}
		e.stats.Running++
		q.prefilled = q.done()
		need, shared := e.need(q), e.share(q)
		e.stats.KVReserved += need - shared
		e.stats.KVUsed += q.prefilled - shared
		e.entries++
		q.entry = e.entries
		if q.Remaining() > 0 {
			q.state = prefilling
			e.prefills = append(e.prefills, q)
		} else {
			q.state = decoding
			e.context += int64(q.length())
			e.decodes = append(e.decodes, q)
		}
	}
	if e.cache != nil {
		e.makeCache(s)
	}
	if len(s.out) > 0 {
		isOut := func(q *Sequence) bool { return q.state == waiting }
		e.prefills = slices.DeleteFunc(e.prefills, isOut)
		e.decodes = slices.DeleteFunc(e.decodes, isOut)
		for _, q := range s.out {
			e.fronts++
			q.front = e.fronts
			e.queue.unpop(q)
			if e.waits != nil {
				e.waits.add(q)
			}
		}
	}
}

// makeCache makes room in the KV cache for what the step computes, and known what came computed with those who enter.
func (e *Engine) makeCache(s *Step) {
	tokens := int(s.prompt + s.decodes)
	for _, c := range s.chunks {
		if c.n == c.q.Remaining() {
			tokens++
		}
	}
	for _, q := range s.entered {
		e.fill(q)
	}
	e.makeRoom(tokens)
}

// preempt throws q out of the batch's books.
func (e *Engine) preempt(q *Sequence) {
	e.stats.Preemptions++
	e.release(q, byPreemption)
	if q.state == decoding {
		e.context -= int64(q.length())
		q.computed = q.length() - 1 // the last token has not been through the model
	} else {
		q.computed = max(q.computed, q.prefilled)
	}
	q.state = waiting
	q.target, q.prefilled = q.length(), 0
}

// complete ends the step under way: its tokens come out now.
func (e *Engine) complete() {
	s := &e.step
	e.stats.Steps++
	e.stats.Busy += e.end - e.start
	e.stepping, e.planned = false, false
	if s.all {
		keep := e.decodes[:0]
		for _, q := range e.decodes {
			if q.state == decoding {
				e.stats.KVReserved += e.grow
				e.emit(q)
			}
			if q.state == decoding {
				keep = append(keep, q)
			} else {
				e.recycle(q)
			}
		}
		e.decodes = keep
	} else {
		for _, q := range s.singles {
			if q.state == decoding {
				e.stats.KVReserved += e.grow
				e.emit(q)
			}
		}
		e.decodes = e.swept(e.decodes)
	}
	for _, c := range s.chunks {
		if c.q.state == prefilling {
			e.prefill(c.q, c.n)
		}
	}
	rest := e.prefills[:0]
	for _, q := range e.prefills {
		switch q.state {
		case prefilling:
			rest = append(rest, q)
		case decoding:
			e.decodes = append(e.decodes, q)
		case gone:
			e.recycle(q)
		}
	}
	e.prefills = rest
	e.cancelled = false
}

// prefill books n computed prompt tokens of q; the last of them yields an output token.
func (e *Engine) prefill(q *Sequence, n int) {
	if again := min(q.computed, q.prefilled+n) - q.prefilled; again > 0 {
		e.stats.Recomputed += uint64(again)
	}
	q.prefilled += n
	if q.filled < len(q.job.Blocks) {
		e.fill(q)
	}
	e.stats.KVUsed += n
	e.stats.PromptTokens += uint64(n)
	if q.prefilled == q.target {
		q.state = decoding
		e.context += int64(q.length())
		e.emit(q)
	}
}

// emit gives out one more token of q, and takes q out after its last.
func (e *Engine) emit(q *Sequence) {
	q.generated++
	e.context++
	e.stats.KVUsed++
	e.stats.OutputTokens++
	if q.filled < len(q.job.Blocks) {
		e.fill(q)
	}
	n := len(e.events)
	e.events = slices.Grow(e.events, 1)[:n+1]
	ev := &e.events[n] // written in place: this is where the time goes
	ev.At, ev.ID, ev.Data, ev.Last = e.now, q.job.ID, q.job.Data, q.generated == q.job.Output
	if ev.Last {
		e.context -= int64(q.length())
		e.release(q, byStep)
		q.state = gone
		delete(e.jobs, q.job.ID)
	}
}

// need is the tokens of KV cache that are promised to q when it enters the batch, but for an output token with which it does;
// those that it shares are among them.
func (e *Engine) need(q *Sequence) int {
	switch {
	case !e.p.Preemption:
		return q.job.Prompt + q.job.Output
	case q.Remaining() > 0:
		return q.target + 1 // the prompt, and the token that it yields
	}
	return q.length()
}

// promised is the tokens of KV cache that are promised to q, which runs, with those that it shares.
func (e *Engine) promised(q *Sequence) int {
	switch {
	case !e.p.Preemption:
		return q.job.Prompt + q.job.Output
	case q.state == prefilling:
		return q.target + 1
	}
	return q.length()
}

// release takes a running q out of the batch's books.
func (e *Engine) release(q *Sequence, by uint64) {
	e.stats.Running--
	e.stats.KVReserved -= e.promised(q)
	e.stats.KVUsed -= q.held()
	if len(q.shared) > 0 {
		tokens := e.unshare(q, by)
		e.stats.KVReserved += tokens
		e.stats.KVUsed += tokens
	}
}

// sweep takes what was cancelled out of the batch.
func (e *Engine) sweep() {
	e.cancelled = false
	e.decodes = e.swept(e.decodes)
	e.prefills = e.swept(e.prefills)
}

// swept is list without what is gone.
func (e *Engine) swept(list []*Sequence) []*Sequence {
	keep := list[:0]
	for _, q := range list {
		if q.state == gone {
			e.recycle(q)
		} else {
			keep = append(keep, q)
		}
	}
	return keep
}

func (e *Engine) newSequence(j Job) *Sequence {
	var q *Sequence
	if n := len(e.free); n > 0 {
		q = e.free[n-1]
		e.free = e.free[:n-1]
	} else {
		q = new(Sequence)
	}
	if e.cache == nil {
		j.Blocks = nil
	}
	e.nth++
	*q = Sequence{job: j, e: e, nth: e.nth, arrived: e.now, target: j.Prompt, prefilled: j.Computed, shared: q.shared[:0]}
	return q
}

func (e *Engine) recycle(q *Sequence) {
	q.job.Data, q.job.Blocks = nil, nil
	e.free = append(e.free, q)
}
