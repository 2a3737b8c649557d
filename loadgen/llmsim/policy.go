package llmsim

import (
	"math"
	"slices"
	"time"
)

// Policy decides what each step of an engine computes: the scheduler. Chunked, PrefillFirst and EarliestDeadline come along.
type Policy interface {
	// Plan fills in the step that begins now. It is asked again, with a step that is empty, whenever something more
	// happens in the instant in which the step begins, so that it has to make the same of the same and keep nothing; the
	// engine is not to be called from it, and a value serves any number of engines at once.
	//
	// While there is work there is a step: an empty one is a FaultError, and so is a panic, and whatever a Step cannot hold.
	Plan(s *Step)
}

// PolicyFunc makes a Policy of a function.
type PolicyFunc func(s *Step)

// Plan calls f.
func (f PolicyFunc) Plan(s *Step) { f(s) }

// Chunked is the policy of an engine that has none: one output token for each sequence whose prompt is done; what is left
// of the budget goes to the prompts of the batch, oldest first, in chunks; then jobs enter from the head of the queue.
// Nobody overtakes: where the head of the queue has to wait, all do; and nobody enters with a step that preempts.
//
// It is Sarathi-Serve's (Agrawal et al., OSDI 2024, algorithm 3), and that of vLLM with chunked prefill, its default
// since V1.
type Chunked struct{}

// Plan plans a step.
func (Chunked) Plan(s *Step) {
	s.DecodeAll()
	for q := range s.Prefilling() {
		if !s.Compute(q) {
			return
		}
	}
	if s.Preempted() > 0 {
		return
	}
	for q := range s.Waiting() {
		if !s.Compute(q) {
			return
		}
	}
}

// PrefillFirst computes prompts whole and never beside output tokens: where prompts can be computed, oldest first, a step
// holds as many as fit and nothing else, and all who have their first token wait for it; else each of those gets one more. A
// prompt that is longer than the budget takes several steps. Nobody overtakes.
//
// It is the schedule of vLLM before it had chunked prefill (Kwon et al., SOSP 2023; _schedule_default in
// vllm/core/scheduler.py up to 0.10), which however refuses a prompt that is longer than the budget. TTFT is short, and the
// price is a gap in the output of all others for each prompt that comes.
type PrefillFirst struct{}

// Plan plans a step.
func (PrefillFirst) Plan(s *Step) {
	for q := range s.Prefilling() {
		s.Compute(q)
	}
	for q := range s.Waiting() {
		n := q.Remaining()
		if n == 0 || n > s.Budget() && !s.Empty() || !s.Compute(q) {
			break
		}
	}
	if !s.Empty() {
		return
	}
	s.DecodeAll()
	if s.Preempted() > 0 {
		return
	}
	for q := range s.Waiting() {
		if q.Remaining() > 0 || !s.Compute(q) {
			return
		}
	}
}

// EarliestDeadline is Chunked in another order: output tokens first, and then prompts by when their first token is due
// (Job.Deadline), whether they wait or are begun. Those that nobody gave a deadline come after those that have one; last
// come the hopeless, whose first token would be late even if they were next (see Step.Soonest). Among equals the one that
// came first is first. Where the next in order does not fit into the batch, nobody else enters it, nor with a
// step that preempts; nor does a step take in what would make it end too late for one who is in it.
//
// The SLO that a plan is judged by is no deadline: where neither TTFT nor a job has one, the order is that of Chunked. A request whose Limits have a TTFT brings it to the engine as its job's deadline. Both count from when the engine got it.
//
// Where everybody's deadline can be met one after the other, this order meets all (Jackson, 1955). The deadlines of those
// who are late already mean nothing in it, which is what keeps the others in time past saturation. vLLM's priority
// scheduling with the deadline as priority is this order without that last rule.
type EarliestDeadline struct {
	TTFT time.Duration // the Deadline of jobs that have none; 0: they have none
}

// Plan plans a step.
func (p EarliestDeadline) Plan(s *Step) {
	s.DecodeAll()
	if s.Budget() == 0 {
		return
	}
	s.ranks = s.ranks[:0]
	for q := range s.Prefilling() {
		s.ranks = append(s.ranks, p.rank(s, q))
	}
	if s.Places() > 0 && s.Preempted() == 0 {
		for q := range s.Waiting() {
			s.ranks = append(s.ranks, p.rank(s, q))
		}
	}
	until := time.Duration(math.MaxInt64) // when the step has to end, for those in it who are in time
	for len(s.ranks) > 0 && s.Budget() > 0 {
		first := 0
		for i := range s.ranks {
			if s.ranks[i].less(&s.ranks[first]) {
				first = i
			}
		}
		r := s.ranks[first]
		if r.late(s) { // because of those before it; others can be so, too
			for i := range s.ranks {
				if s.ranks[i].late(s) {
					s.ranks[i].class = hopeless
				}
			}
			continue
		}
		n := min(r.q.Remaining(), s.Budget())
		if s.endWith(r.q, n) > until {
			return
		}
		if !s.Compute(r.q) { // it waits, and so do all others that do
			s.ranks = slices.DeleteFunc(s.ranks, func(r rank) bool { return r.q.state == waiting })
			continue
		}
		if r.class == due && r.q.Remaining() == n {
			until = min(until, r.at)
		}
		s.ranks = slices.Delete(s.ranks, first, first+1)
	}
}

// rank is a sequence's place in the order of EarliestDeadline.
type rank struct {
	q     *Sequence
	class class
	at    time.Duration // when it is due, where that counts
}

type class uint8

const (
	due class = iota
	undated
	hopeless
)

func (p EarliestDeadline) rank(s *Step, q *Sequence) rank {
	after := q.job.Deadline
	if after == 0 {
		after = p.TTFT
	}
	if after == 0 {
		return rank{q: q, class: undated}
	}
	r := rank{q: q, at: q.arrived + after}
	if r.late(s) {
		r.class = hopeless
	}
	return r
}

// late says whether a sequence that is due could not be in time any more.
func (r *rank) late(s *Step) bool {
	return r.class == due && r.q.generated == 0 && s.Soonest(r.q) > r.at
}

func (r *rank) less(o *rank) bool {
	if r.class != o.class {
		return r.class < o.class
	}
	return r.at < o.at
}
