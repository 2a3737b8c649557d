package llmsim

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// Step is a step of an engine while a Policy plans it: what there is to compute, what it can hold, and what it holds so
// far. It is to be used during the call of Policy.Plan alone.
//
// What cannot be planned is a FaultError, which says why: more than Budget, a waiting sequence that has no place in the
// batch or in the KV cache, one sequence twice, one that is not in the engine. Compute asks first.
type Step struct {
	e      *Engine
	serial uint64
	end    time.Duration

	budget int // tokens that are left
	places int // in the batch
	free   int // tokens of KV cache that are promised to nobody

	all     bool // each of the engine's decodes gets a token; else
	singles []*Sequence
	chunks  []chunk
	entered []*Sequence // from the queue, in this order
	out     []*Sequence // preempted, in this order

	prompt, pairs, decodes, context int64 // what it costs
	outDecodes, outContext          int   // of those preempted
	reserved, used, cached          int   // what it adds to the engine's Stats when it begins

	ranks []rank // room for EarliestDeadline
}

// chunk is n prompt tokens of q.
type chunk struct {
	q *Sequence
	n int
}

// begin empties the plan: the step begins now.
func (s *Step) begin(e *Engine) {
	e.serial++
	*s = Step{
		e: e, serial: e.serial,
		budget: e.p.TokenBudget, places: e.p.MaxBatch - e.stats.Running, free: e.p.KVTokens - e.stats.KVReserved,
		singles: s.singles[:0], chunks: s.chunks[:0], entered: s.entered[:0], out: s.out[:0], ranks: s.ranks,
	}
}

// Now is when the step begins.
func (s *Step) Now() time.Duration { return s.e.now }

// Budget is how many tokens the step can still take, of Params.TokenBudget.
func (s *Step) Budget() int { return s.budget }

// Places is how many sequences can still enter the batch, of Params.MaxBatch.
func (s *Step) Places() int { return s.places }

// KVFree is how many tokens of the KV cache are promised to nobody.
func (s *Step) KVFree() int { return s.free }

// Empty says whether nothing is planned so far.
func (s *Step) Empty() bool { return s.decodes == 0 && len(s.chunks) == 0 }

// Waiting is the queue, in order of arrival: what came in one instant in order of Rank.
func (s *Step) Waiting() iter.Seq[*Sequence] { return slices.Values(s.e.queue.items[s.e.queue.head:]) }

// Prefilling is the sequences of the batch whose prompt is not done, in the order in which they entered, without those
// that the step preempts.
func (s *Step) Prefilling() iter.Seq[*Sequence] { return s.staying(s.e.prefills) }

// Decoding is the sequences of the batch whose prompt is done, in the order in which it was, without those that the step
// preempts.
func (s *Step) Decoding() iter.Seq[*Sequence] { return s.staying(s.e.decodes) }

func (s *Step) staying(list []*Sequence) iter.Seq[*Sequence] {
	if len(s.out) == 0 {
		return slices.Values(list)
	}
	return func(yield func(*Sequence) bool) {
		for _, q := range list {
			if !slices.Contains(s.out, q) && !yield(q) {
				return
			}
		}
	}
}

// Preempted is how many sequences the step throws out of the batch.
func (s *Step) Preempted() int { return len(s.out) }

// DecodeAll plans an output token for each of Decoding. Under Params.Preemption it preempts, where the KV cache has no room
// for them, who entered the batch last and is not planned yet, until it has. It comes before any Decode.
func (s *Step) DecodeAll() {
	if s.decodes > 0 {
		s.bad("DecodeAll comes before any Decode, and once")
	}
	n := len(s.e.decodes) - s.outDecodes
	for s.e.grow*n > s.free {
		s.Preempt(s.latest())
		n = len(s.e.decodes) - s.outDecodes
	}
	if n == 0 {
		return
	}
	if n > s.budget {
		s.bad("%d sequences decode, the budget has %d tokens left", n, s.budget)
	}
	s.all = true
	s.budget -= n
	s.free -= s.e.grow * n
	s.decodes = int64(n)
	s.context = s.e.context - int64(s.outContext)
}

// latest is the sequence of the batch that entered last, of those that the step does not hold.
func (s *Step) latest() (last *Sequence) {
	for _, list := range [][]*Sequence{s.e.prefills, s.e.decodes} {
		for _, q := range list {
			if !s.Holds(q) && (last == nil || q.entry > last.entry) {
				last = q
			}
		}
	}
	return last
}

// Preempt plans to throw q, which runs, out of the batch before the step begins: its KV cache is free, it waits at the
// head of the queue, and when it enters again its prompt and the answer so far are computed from the beginning. Tokens
// that have come out do not come again. A policy that lets nobody stay long enough to be done never ends.
func (s *Step) Preempt(q *Sequence) {
	s.check(q, 0)
	if q.state == waiting {
		s.bad("sequence %d cannot be preempted: it waits", q.job.ID)
	}
	shared := 0
	for _, b := range q.shared {
		b.plan(s.serial, -1)
		if b.planned(s.serial) > 0 {
			shared += s.e.cache.size
		} else {
			s.cached += s.e.cache.size
		}
	}
	promised := s.e.promised(q) - shared
	s.out = append(s.out, q)
	s.places++
	s.free += promised
	s.reserved -= promised
	s.used -= q.held() - shared
	if q.state == decoding {
		s.outDecodes++
		s.outContext += q.length()
	}
}

// Decode plans an output token for q, whose prompt is done. Where q waits, it enters the batch.
func (s *Step) Decode(q *Sequence) {
	s.check(q, 1)
	if q.Remaining() > 0 {
		s.bad("sequence %d cannot decode: %d tokens of its prompt are not computed", q.job.ID, q.Remaining())
	}
	if q.state == waiting {
		s.enter(q)
	}
	if s.free < s.e.grow {
		s.bad("there is no KV cache for a token of sequence %d", q.job.ID)
	}
	s.free -= s.e.grow
	if !s.all {
		s.singles = append(s.singles, q)
	}
	s.budget--
	s.decodes++
	s.context += int64(q.length())
}

// Prefill plans n tokens of the prompt of q, at least 1 and at most Remaining. Where q waits, it enters the batch.
func (s *Step) Prefill(q *Sequence, n int) {
	s.check(q, n)
	if n < 1 || n > q.Remaining() {
		s.bad("sequence %d has %d prompt tokens to compute, %d are none of them", q.job.ID, q.Remaining(), n)
	}
	if q.state == waiting {
		s.enter(q)
	}
	s.chunks = append(s.chunks, chunk{q, n})
	s.budget -= n
	s.prompt += int64(n)
	s.pairs += pairs(q.done(), n)
}

// Compute plans as much of q as fits: an output token where its prompt is done, else a chunk of its prompt. It is false, and
// nothing was planned, where the step holds q already or preempts it, the budget is spent, q waits and does not Fit, or the
// KV cache has no room for its output token.
func (s *Step) Compute(q *Sequence) bool {
	if s.budget == 0 || s.Holds(q) || q.state == waiting && !s.Fits(q) || q.state == decoding && s.free < s.e.grow {
		return false
	}
	if n := q.Remaining(); n > 0 {
		s.Prefill(q, min(n, s.budget))
	} else {
		s.Decode(q)
	}
	return true
}

// Fits says whether q, which waits, could enter the batch now: there is a place, and the KV cache has room for its prompt and
// whole output, or under Params.Preemption for its prompt and a token.
func (s *Step) Fits(q *Sequence) bool {
	need := s.e.need(q) - s.e.shares(q)
	if q.Remaining() == 0 {
		need += s.e.grow
	}
	return s.places > 0 && need <= s.free
}

// Soonest is when q's next output token would come if, beside what is planned so far, q alone were computed, whether it
// Fits or not: the end of this step where it fits into the budget that is left; else that of as many more as it takes,
// in which the output tokens of this one take their part again.
func (s *Step) Soonest(q *Sequence) time.Duration {
	n := q.Remaining()
	at := s.endWith(q, n)
	if n > s.budget {
		p := &s.e.p
		each := max(1, p.TokenBudget-int(s.decodes))
		more := (n - s.budget + each - 1) / each
		at = later(at, times(more, p.step(0, 0, s.decodes, s.context)))
	}
	return at
}

// endWith is when the step would end with n tokens of q's prompt, all that Remain or fewer; 0: with an output token.
func (s *Step) endWith(q *Sequence, n int) time.Duration {
	if n == 0 {
		return later(s.e.now, s.e.p.step(s.prompt, s.pairs, s.decodes+1, s.context+int64(q.length())))
	}
	return later(s.e.now, s.e.p.span(s.prompt+int64(n), s.pairs+pairs(q.done(), n), s.decodes, s.context))
}

// pairs is how many pairs of a token and one that it attends to n prompt tokens make, where so many are done before.
func pairs(done, n int) int64 { return int64(n)*int64(done) + int64(n)*int64(n+1)/2 }

// Holds says whether the step computes something of q so far, or preempts it.
func (s *Step) Holds(q *Sequence) bool { return q.mark == s.serial || s.all && q.state == decoding }

// check panics where n tokens of q cannot be planned, and marks q as planned.
func (s *Step) check(q *Sequence, n int) {
	switch {
	case q == nil || q.e != s.e || s.e.jobs[q.job.ID] != q:
		s.bad("a sequence that is not in this engine")
	case slices.Contains(s.out, q):
		s.bad("sequence %d is preempted in this step", q.job.ID)
	case s.Holds(q):
		s.bad("sequence %d twice in one step", q.job.ID)
	case n > s.budget:
		s.bad("%d tokens of sequence %d, the budget has %d left", n, q.job.ID, s.budget)
	}
	q.mark = s.serial
}

// enter plans the entry of q, which waits, into the batch.
func (s *Step) enter(q *Sequence) {
	shared := s.e.shares(q)
	need := s.e.need(q) - shared
	if s.places == 0 {
		s.bad("sequence %d has no place: %d run, which is MaxBatch", q.job.ID, s.e.p.MaxBatch)
	}
	if need > s.free {
		s.bad("sequence %d needs %d tokens of KV cache, %d are free", q.job.ID, need, s.free)
	}
	s.places--
	s.free -= need
	s.reserved += need
	s.used += q.done() - shared
	for _, h := range q.job.Blocks[:s.e.hits(q)] {
		b := s.e.cache.blocks[h]
		if b.planned(s.serial) == 0 {
			s.cached -= s.e.cache.size
		}
		b.plan(s.serial, +1)
	}
	s.entered = append(s.entered, q)
}

// bad is the end of a policy that planned what cannot be.
func (s *Step) bad(format string, args ...any) {
	panic(&FaultError{Of: policyName(s.e.policy), Detail: fmt.Sprintf(format, args...)})
}
