package llmsim

import "time"

// Llama70BH100 is Llama-2-70B on a DGX-H100, eight GPUs with 80 GB each, tensor parallel.
//
// The costs are fitted to what Splitwise (Patel et al., ISCA 2024) measured for its simulator, in its repository
// Mutinifni/splitwise-sim, data/perf_model.csv, llama2-70b and h100-80gb with tensor_parallel 8: to the medians of prompt_time
// and token_time for prompts of 128 to 8,192 tokens alone, prompts of 512 tokens two and four at once, and output tokens in batches
// of 1 to 64 after prompts of 512, by the least sum of squared relative errors. Against those medians output tokens are off
// by 9 % at most and prompts from 512 tokens on by 13 %. Shorter ones are too fast: 128 tokens take 36 ms here and 58 ms there,
// 256 take 43 and 52, because there a step takes some 50 ms whatever its prompt.
//
// KVTokens is arithmetic: 90 % of 8 × 80 GiB, less 140 GB of weights, at 327,680 bytes a token (80 layers, 8 key-value heads of
// 128; Touvron et al., 2023), rounded down to ten thousands. TokenBudget is that of OPT13B, MaxBatch the largest batch that was
// measured. MaxQueue is unlimited, and DefaultOutput our own choice.
func Llama70BH100() Params {
	return Params{
		Model:           "llama-2-70b-h100",
		Base:            30_427 * time.Microsecond,
		PerPromptToken:  45_947,
		PerPromptPair:   11,
		PerSequence:     239_227,
		PerContextToken: 78,
		TokenBudget:     2048,
		MaxBatch:        64,
		KVTokens:        1_460_000,
		DefaultOutput:   128,
	}
}

// Llama70BA100 is Llama-2-70B on a DGX-A100, eight GPUs with 80 GB each, tensor parallel: half as fast as Llama70BH100 with
// prompts, and two thirds as fast with output tokens.
//
// The costs are of the same source and fitted in the same way, a100-80gb in place of h100-80gb. Against the medians output
// tokens are off by 6 % at most and prompts by 12 %. The rest is as in Llama70BH100.
func Llama70BA100() Params {
	p := Llama70BH100()
	p.Model = "llama-2-70b-a100"
	p.Base = 43_811 * time.Microsecond
	p.PerPromptToken = 106_229
	p.PerPromptPair = 15
	p.PerSequence = 166_110
	p.PerContextToken = 388
	return p
}
