package llmsim

import (
	"errors"
	"slices"
	"time"
)

// Why an engine refuses a job.
var (
	ErrNoTokens  = errors.New("llmsim: a job has at least one prompt token and one output token")
	ErrTooLong   = errors.New("llmsim: prompt and output do not fit into the KV cache")
	ErrQueueFull = errors.New("llmsim: the queue is full")
	ErrComputed  = errors.New("llmsim: of a job's prompt tokens none to all are computed already")
)

// Job is one request for an engine.
//
// A job whose Computed is its whole Prompt is an answer that was begun elsewhere, as the decode side of a disaggregated
// system gets it: Prompt counts all tokens so far, those of the answer too, and Output those still to come. Each of them
// comes of a decode step, the first too. A prompt of n tokens, of whose answer of m tokens the first was made elsewhere,
// is Prompt n+1, Computed n+1, Output m−1.
type Job struct {
	ID       uint64 // the caller's, of which one job at a time is in the engine
	Prompt   int    // prompt tokens, at least 1
	Output   int    // output tokens, at least 1
	Computed int    // prompt tokens whose KV cache comes with the job, when it enters the batch, at no cost: 0 to Prompt
	Rank     uint64 // jobs submitted in the same instant are queued by Rank, lower first; those of one Rank as they were submitted
	Data     any    // the caller's own, handed back in each Event
}

// Event is one output token of a job.
type Event struct {
	At   time.Duration // the end of the step that made it
	ID   uint64
	Data any
	Last bool // the job is done
}

// Stats is the state of an engine, and what it has done so far.
type Stats struct {
	Waiting      int           // jobs in the queue
	Running      int           // jobs in the batch
	KVReserved   int           // tokens of KV cache promised to the running jobs: each one's prompt and whole output
	KVUsed       int           // tokens of KV cache that hold something
	Steps        uint64        // steps completed
	Busy         time.Duration // their time
	PromptTokens uint64        // computed here
	OutputTokens uint64        // generated
}

// Engine is an LLM inference engine with continuous batching as a state machine without a clock: whoever drives it says
// what time it is, as an offset from a zero of its choice. The same calls give the same events, to the nanosecond. It belongs
// to one goroutine.
//
// Work is done in steps, one after the other. A step is composed when it begins: each sequence whose prompt is done gets
// one output token; what is left of TokenBudget goes to the prompts of the batch, oldest first, in chunks; then jobs
// enter the batch from the head of the queue while budget, MaxBatch and KVTokens allow. One whose prompt came computed gets
// an output token in the step with which it enters. Nobody overtakes: where the head
// of the queue has to wait, all do. A job enters only if its prompt and its whole output fit beside what is promised to
// the others, so that no sequence ever has to leave the batch again (TensorRT-LLM calls this GUARANTEED_NO_EVICT). The
// tokens of a step come out at its end; the step that completes a prompt yields the first.
//
// What is submitted or cancelled in the instant in which a step begins takes part in its composition, in whatever order
// the calls come: with different Ranks, the calls of one instant can be made in any order. The one exception is MaxQueue,
// which refuses the job that is submitted last.
type Engine struct {
	p   Params
	now time.Duration

	jobs     map[uint64]*sequence
	queue    fifo        // waiting, in order of arrival
	prefills []*sequence // in the batch, the prompt not done, in order of entry
	decodes  []*sequence // in the batch, the prompt done, in the order in which it was
	free     []*sequence // done with, to be used again

	stepping   bool // a step is under way: from start to end
	start, end time.Duration
	chunks     []int       // its prompt tokens, by index of prefills, which may be longer
	entered    []*sequence // the batch with it, in this order: at the end of prefills, or of decodes

	cancelled bool  // prefills or decodes hold sequences that are gone
	context   int64 // tokens in the contexts of decodes
	events    []Event
	given     bool // events were given out
	stats     Stats
}

// sequence is a job in the engine.
type sequence struct {
	Job
	arrived   time.Duration
	prefilled int // prompt tokens computed, here or before
	generated int // output tokens
	state     state
}

type state uint8

const (
	waiting state = iota
	prefilling
	decoding
	gone
)

// NewEngine is an idle engine. The error is that of Validate.
func NewEngine(p Params) (*Engine, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Engine{p: p, jobs: make(map[uint64]*sequence)}, nil
}

// Submit hands over a job at the instant now, which is not before that of an earlier call. The error is ErrTooLong
// (or ErrNoTokens, ErrComputed) for a job that can never run, ErrQueueFull where MaxQueue jobs wait that cannot enter the batch; then
// the engine is as it was. It panics where a job of the same ID is in the engine. The events up to now are kept for the
// next Advance.
func (e *Engine) Submit(now time.Duration, j Job) error {
	e.run(now)
	if j.Prompt < 1 || j.Output < 1 {
		return ErrNoTokens
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
	if e.p.MaxQueue > 0 && e.queue.len() >= e.p.MaxQueue {
		return queueFull(e.queue.len())
	}
	s := e.newSequence(j)
	e.jobs[j.ID] = s
	e.undo()
	e.queue.push(s)
	e.compose()
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
	e.undo()
	switch s.state {
	case waiting:
		e.queue.remove(s)
		e.recycle(s)
	case prefilling:
		e.release(s)
		e.cancelled = true
	case decoding:
		e.context -= int64(s.Prompt + s.generated)
		e.release(s)
		e.cancelled = true
	}
	s.state = gone
	delete(e.jobs, id)
	e.compose()
	return true
}

// Next is the instant at which the step under way ends, the next at which there is something to Advance to. It is false
// when the engine is idle. Submit and Cancel can change it.
func (e *Engine) Next() (at time.Duration, ok bool) { return e.end, e.stepping }

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
	return s
}

// run completes the steps that end by to.
func (e *Engine) run(to time.Duration) {
	if e.given {
		e.events, e.given = e.events[:0], false
	}
	for e.stepping && e.end <= to {
		e.now = e.end
		e.complete()
		e.compose()
	}
	e.now = max(e.now, to)
}

// undo takes a step that begins now back: something happens that takes part in its composition.
func (e *Engine) undo() {
	if !e.stepping || e.start < e.now {
		return
	}
	e.stepping = false
	for _, s := range slices.Backward(e.entered) {
		if s.state == decoding {
			e.decodes = e.decodes[:len(e.decodes)-1]
			e.context -= int64(s.Prompt)
		} else {
			e.prefills = e.prefills[:len(e.prefills)-1]
		}
		e.release(s)
		s.state = waiting
		e.queue.unpop(s)
	}
}

// compose begins a step now, unless one is under way.
func (e *Engine) compose() {
	if e.stepping {
		return
	}
	if e.cancelled {
		e.sweep()
	}
	e.entered = e.entered[:0]
	budget := e.p.TokenBudget - len(e.decodes)
	e.chunks = e.chunks[:0]
	var prompt, pairs int64
	chunk := func(s *sequence) {
		k := min(budget, s.Prompt-s.prefilled)
		budget -= k
		e.chunks = append(e.chunks, k)
		prompt += int64(k)
		pairs += int64(k)*int64(s.prefilled) + int64(k)*int64(k+1)/2
	}
	for _, s := range e.prefills {
		if budget == 0 {
			break
		}
		chunk(s)
	}
	for budget > 0 && e.stats.Running < e.p.MaxBatch {
		s := e.queue.peek()
		if s == nil || s.Prompt+s.Output > e.p.KVTokens-e.stats.KVReserved {
			break
		}
		e.queue.pop()
		e.entered = append(e.entered, s)
		e.stats.Running++
		e.stats.KVReserved += s.Prompt + s.Output
		e.stats.KVUsed += s.prefilled
		if s.prefilled == s.Prompt {
			s.state = decoding
			e.context += int64(s.Prompt)
			e.decodes = append(e.decodes, s)
			budget--
			continue
		}
		s.state = prefilling
		e.prefills = append(e.prefills, s)
		chunk(s)
	}
	e.stepping = len(e.decodes)+len(e.chunks) > 0
	if e.stepping {
		e.start = e.now
		e.end = e.now + e.p.step(prompt, pairs, int64(len(e.decodes)), e.context)
	}
}

// complete ends the step under way: its tokens come out now.
func (e *Engine) complete() {
	e.stats.Steps++
	e.stats.Busy += e.end - e.start
	e.stepping = false
	keep := e.decodes[:0]
	for _, s := range e.decodes {
		if s.state == decoding {
			e.emit(s)
		}
		if s.state == decoding {
			keep = append(keep, s)
		} else {
			e.recycle(s)
		}
	}
	e.decodes = keep
	rest := e.prefills[:0]
	for i, s := range e.prefills {
		if s.state == prefilling && i < len(e.chunks) {
			e.prefill(s, e.chunks[i])
		}
		switch s.state {
		case prefilling:
			rest = append(rest, s)
		case decoding:
			e.decodes = append(e.decodes, s)
		case gone:
			e.recycle(s)
		}
	}
	e.prefills = rest
	e.cancelled = false
}

// prefill books k computed prompt tokens of s; the last of them yields the first output token.
func (e *Engine) prefill(s *sequence, k int) {
	s.prefilled += k
	e.stats.KVUsed += k
	e.stats.PromptTokens += uint64(k)
	if s.prefilled == s.Prompt {
		s.state = decoding
		e.context += int64(s.Prompt)
		e.emit(s)
	}
}

// emit gives out one more token of s, and takes s out after its last.
func (e *Engine) emit(s *sequence) {
	s.generated++
	e.context++
	e.stats.KVUsed++
	e.stats.OutputTokens++
	n := len(e.events)
	e.events = slices.Grow(e.events, 1)[:n+1]
	ev := &e.events[n] // written in place: this is where the time goes
	ev.At, ev.ID, ev.Data, ev.Last = e.now, s.ID, s.Data, s.generated == s.Output
	if ev.Last {
		e.context -= int64(s.Prompt + s.generated)
		e.release(s)
		s.state = gone
		delete(e.jobs, s.ID)
	}
}

// release takes a running s out of the batch's books.
func (e *Engine) release(s *sequence) {
	e.stats.Running--
	e.stats.KVReserved -= s.Prompt + s.Output
	e.stats.KVUsed -= s.prefilled + s.generated
}

// sweep takes what was cancelled out of the batch.
func (e *Engine) sweep() {
	e.cancelled = false
	for _, list := range []*[]*sequence{&e.decodes, &e.prefills} {
		keep := (*list)[:0]
		for _, s := range *list {
			if s.state == gone {
				e.recycle(s)
			} else {
				keep = append(keep, s)
			}
		}
		*list = keep
	}
}

func (e *Engine) newSequence(j Job) *sequence {
	if n := len(e.free); n > 0 {
		s := e.free[n-1]
		e.free = e.free[:n-1]
		*s = sequence{Job: j, arrived: e.now, prefilled: j.Computed}
		return s
	}
	return &sequence{Job: j, arrived: e.now, prefilled: j.Computed}
}

func (e *Engine) recycle(s *sequence) {
	s.Data = nil
	e.free = append(e.free, s)
}
