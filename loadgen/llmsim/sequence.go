package llmsim

import "time"

// Sequence is a job in an engine, as a Policy sees it. It is to be used during the call of Policy.Plan alone.
type Sequence struct {
	job     Job
	e       *Engine
	arrived time.Duration
	state   state

	target    int // tokens to compute before the next output token: the prompt; after a preemption the answer so far, too
	prefilled int // of these, computed: here, or before
	generated int // output tokens
	computed  int // tokens that were computed when it was preempted

	shared []*block // of the prefix cache that it references, in order
	filled int      // how many of job.Blocks it has computed or hit
	hit    int      // how many it would hit, by the plan hitsOf
	hitsOf uint64

	nth   uint64        // the how manieth it was to be submitted
	front uint64        // where it was put at the head of the queue: the how manieth it was to be; else 0
	due   time.Duration // when EarliestDeadline wants its first token; 0: at any time
	place int           // in the heap of a waitlist

	entry uint64 // the how manieth it was to enter the batch
	mark  uint64 // the plan that has a place for it, or preempts it
}

type state uint8

const (
	waiting state = iota
	prefilling
	decoding
	gone
)

// Job is what was submitted.
func (q *Sequence) Job() Job { return q.job }

// Arrived is when the job came.
func (q *Sequence) Arrived() time.Duration { return q.arrived }

// Running says whether it is in the batch.
func (q *Sequence) Running() bool { return q.state != waiting }

// Generated is how many output tokens have come out.
func (q *Sequence) Generated() int { return q.generated }

// Remaining is how many prompt tokens are still to be computed, without those that the prefix cache has now; 0: the next
// output token comes of a decode step. After a preemption the answer so far is a part of
// the prompt.
func (q *Sequence) Remaining() int { return q.target - q.done() }

// done is how many prompt tokens need not be computed any more; of a sequence that waits, those that the prefix cache has.
func (q *Sequence) done() int {
	if q.state == waiting && len(q.job.Blocks) > 0 {
		return max(q.prefilled, q.e.hits(q)*q.e.p.BlockTokens)
	}
	return q.prefilled
}

// held is the tokens of KV cache that a running sequence fills.
func (q *Sequence) held() int {
	if q.state == decoding {
		return q.length()
	}
	return q.prefilled
}

// length is the tokens of the prompt and of the answer so far.
func (q *Sequence) length() int { return q.job.Prompt + q.generated }
