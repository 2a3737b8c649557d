package llmsim

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Params is what an engine can do and what its steps cost. A step that computes p prompt tokens, and one token more for
// each of d sequences whose contexts are c tokens long together, takes
//
//	Base + PerPromptToken·p + PerPromptPair·a + PerSequence·d + PerContextToken·c
//
// where a is the number of pairs of a computed prompt token and a token that it attends to: itself or one before it. The
// form is that of DistServe's simulator (see OPT13B), with one base for both kinds of work, because chunked prefill does
// them in one step.
//
// Costs are whole nanoseconds. There is no usable zero value: begin with OPT13B or OPT13BTP4 and change what differs.
type Params struct {
	Model string `json:"model"` // its name in /v1/models

	Base            time.Duration `json:"base_ns"`              // of every step: mostly the reading of the weights
	PerPromptToken  time.Duration `json:"per_prompt_token_ns"`  // computing one prompt token
	PerPromptPair   time.Duration `json:"per_prompt_pair_ns"`   // attention of one prompt token to one token
	PerSequence     time.Duration `json:"per_sequence_ns"`      // decoding one sequence
	PerContextToken time.Duration `json:"per_context_token_ns"` // reading the KV cache of one token of a decoding sequence

	TokenBudget int `json:"token_budget"` // most tokens of a step: one for each decoding sequence, the rest for prompts
	MaxBatch    int `json:"max_batch"`    // most sequences that run at once, at most TokenBudget
	KVTokens    int `json:"kv_tokens"`    // tokens that the KV cache holds
	MaxQueue    int `json:"max_queue"`    // most requests that wait; one more is refused; 0: no limit

	DefaultOutput int `json:"default_output"` // output tokens of a request that sets no limit

	// BlockTokens is how many tokens a block of the prefix cache has, 16 in vLLM; 0: there is none. With one, the KV cache of
	// jobs that are over stays until its room is wanted. A job whose first blocks are there (Job.Blocks) shares them with
	// those who have them and need not compute them, but for its last token. A block can be hit from the end of the step on
	// that filled it; who computes the same at the same time has it twice. What nobody has any more goes in the order in which
	// it was left, the end of a job before its beginning, as in vLLM.
	BlockTokens int `json:"block_tokens,omitempty"`

	// Preemption is vLLM's way with the KV cache: no place is kept for the output. A job enters the batch when its prompt and
	// one token more fit, and when there is no place for the next tokens, those who entered last are thrown out: they wait
	// at the head of the queue, and what they had, Job.Computed too, is computed again. Without it the whole output has its place.
	Preemption bool `json:"preemption,omitempty"`

	Policy Policy `json:"-"` // what a step computes; nil: Chunked. It is not in the JSON
}

// OPT13B is OPT-13B on one A100 with 80 GB under vLLM.
//
// The costs are those that DistServe (Zhong et al., OSDI 2024) measured and fitted for its simulator, in its repository
// LLMServe/DistServe, simdistserve/estimators/profile_data/profiler-a100-80g.vllm.json, facebook/opt-13b on one GPU:
// a prefill of n tokens takes 23.627 + 0.150546·n + 8.6535e-6·n² ms, a decode step of b sequences with c tokens of context
// 19.563 + 0.050606·b + 0.00049411·c ms (its fit for fewer than 95 sequences). Base here is the mean of the two
// constants, PerPromptPair twice the quadratic term, because n tokens make n(n+1)/2 pairs. What DistServe measured at the
// client of an all but idle server (vllm-100-1.exp in the same repository) is a TTFT up to 20 % shorter than here for
// prompts of 400 to 1,600 tokens, and a TPOT of 25 to 26 ms where it is 22 here.
//
// KVTokens is what vLLM's own arithmetic gives (Kwon et al., SOSP 2023, section 3 and table 1: 26 GB of weights and 800 KB
// a token) with 90 % of 80 GB in use, rounded down to thousands; on 40 GB the same arithmetic gives the table's 15.7 K.
// TokenBudget and MaxBatch are the larger setting of Sarathi-Serve (Agrawal et al., OSDI 2024, figure 12). MaxQueue is
// unlimited, as vLLM's queue is. DefaultOutput is our own choice.
func OPT13B() Params {
	return Params{
		Model:           "opt-13b",
		Base:            21_600 * time.Microsecond,
		PerPromptToken:  150_546,
		PerPromptPair:   17,
		PerSequence:     50_606,
		PerContextToken: 494,
		TokenBudget:     2048,
		MaxBatch:        128,
		KVTokens:        60_000,
		DefaultOutput:   128,
	}
}

// OPT13BTP4 is OPT-13B on four A100 with 80 GB each, tensor parallel, under DistServe's own engine: about four times the
// prompts of OPT13B and half its time per output token.
//
// The costs are of the same source as OPT13B's, file profiler-a100-80g.distserve.json, facebook/opt-13b on four GPUs: prefill
// 10.966 + 0.034619·n + 4.7511e-7·n² ms, decode 10.256 + 0.032693·b + 0.00018787·c ms. The rest is as in OPT13B, the KV
// cache that of four GPUs with one set of weights.
func OPT13BTP4() Params {
	p := OPT13B()
	p.Model = "opt-13b-tp4"
	p.Base = 10_611 * time.Microsecond
	p.PerPromptToken = 34_619
	p.PerPromptPair = 1
	p.PerSequence = 32_693
	p.PerContextToken = 188
	p.KVTokens = 343_000
	return p
}

// Faster is p with each cost divided by factor, to the nearest nanosecond, and all else as it is: a machine that does not
// exist, for a demonstration that should not take long. It panics where factor is not above 0.
func (p Params) Faster(factor float64) Params {
	if !(factor > 0) {
		panic(fmt.Sprintf("llmsim: Params.Faster(%v): the factor is above 0", factor))
	}
	for _, d := range []*time.Duration{&p.Base, &p.PerPromptToken, &p.PerPromptPair, &p.PerSequence, &p.PerContextToken} {
		*d = time.Duration(math.Round(float64(*d) / factor))
	}
	return p
}

// What parameters may allow at most, so that no product and no sum overflows.
const (
	maxStep   = 24 * time.Hour // one step
	maxTokens = 1 << 30        // tokens in a step or in the KV cache
)

// Validate says in one line all that cannot be meant, by the names of the fields.
func (p Params) Validate() error {
	var errs []string
	bad := func(format string, args ...any) { errs = append(errs, fmt.Sprintf(format, args...)) }
	for _, c := range []struct {
		name string
		d    time.Duration
	}{
		{"Base", p.Base}, {"PerPromptToken", p.PerPromptToken}, {"PerPromptPair", p.PerPromptPair},
		{"PerSequence", p.PerSequence}, {"PerContextToken", p.PerContextToken},
	} {
		if c.d < 0 {
			bad("%s is %v: a cost is 0 or more", c.name, c.d)
		}
	}
	if p.Base == 0 {
		bad("Base is 0: a step takes time, or an engine would generate for ever in no time")
	}
	for _, n := range []struct {
		name string
		n    int
		min  int
	}{
		{"TokenBudget", p.TokenBudget, 1}, {"MaxBatch", p.MaxBatch, 1}, {"KVTokens", p.KVTokens, 2},
		{"MaxQueue", p.MaxQueue, 0}, {"BlockTokens", p.BlockTokens, 0}, {"DefaultOutput", p.DefaultOutput, 1},
	} {
		if n.n < n.min {
			bad("%s is %d: it is at least %d", n.name, n.n, n.min)
		}
	}
	if p.TokenBudget > maxTokens || p.KVTokens > maxTokens {
		bad("TokenBudget and KVTokens are %d and %d: neither is above %d", p.TokenBudget, p.KVTokens, maxTokens)
	}
	if f, ok := p.Policy.(PolicyFunc); ok && f == nil {
		bad("Policy is a PolicyFunc that is nil: it plans nothing; without any Policy it is Chunked")
	}
	if p.MaxBatch > p.TokenBudget {
		bad("MaxBatch is %d, above TokenBudget %d: each running sequence takes one token of a step", p.MaxBatch, p.TokenBudget)
	}
	if p.BlockTokens > p.KVTokens {
		bad("BlockTokens is %d, above KVTokens %d: the cache would hold no block", p.BlockTokens, p.KVTokens)
	}
	budget, kv := float64(p.TokenBudget), float64(p.KVTokens)
	worst := float64(p.Base) + float64(p.PerPromptToken)*budget + float64(p.PerPromptPair)*budget*kv +
		float64(p.PerSequence)*float64(p.MaxBatch) + float64(p.PerContextToken)*kv
	if len(errs) == 0 && worst > float64(maxStep) {
		bad("a full step would take %.3g hours: the costs are nanoseconds, and a step is at most %v", worst/float64(time.Hour), maxStep)
	}
	return allOf("llmsim: ", errs)
}

// allOf is what is wrong in one error of one line; nil: nothing.
func allOf(prefix string, wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(prefix + strings.Join(wrong, "; "))
}

// span is how long a step would take that no budget bounds, at most lastInstant.
func (p *Params) span(prompt, pairs, sequences, context int64) time.Duration {
	if prompt > int64(p.TokenBudget) && float64(p.PerPromptToken)*float64(prompt)+float64(p.PerPromptPair)*float64(pairs) > math.MaxInt64/2 {
		return lastInstant
	}
	return p.step(prompt, pairs, sequences, context)
}

// step is how long a step takes.
func (p *Params) step(prompt, pairs, sequences, context int64) time.Duration {
	return p.Base + p.PerPromptToken*time.Duration(prompt) + p.PerPromptPair*time.Duration(pairs) +
		p.PerSequence*time.Duration(sequences) + p.PerContextToken*time.Duration(context)
}
