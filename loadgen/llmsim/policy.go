package llmsim

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
