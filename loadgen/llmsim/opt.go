package llmsim

import "time"

// OPT13BTP2 is OPT-13B on two A100 with 80 GB each, tensor parallel, under DistServe's own engine.
//
// The costs are of the same source as OPT13BTP4's, facebook/opt-13b on two GPUs: prefill 13.403 + 0.062343·n + 2.2269e-6·n² ms,
// decode 13.295 + 0.062964·b + 0.00034109·c ms. The rest is as in OPT13B, the KV cache that of two GPUs with one set of
// weights.
func OPT13BTP2() Params {
	p := OPT13B()
	p.Model = "opt-13b-tp2"
	p.Base = 13_349 * time.Microsecond
	p.PerPromptToken = 62_343
	p.PerPromptPair = 4
	p.PerSequence = 62_964
	p.PerContextToken = 341
	p.KVTokens = 154_000
	return p
}

// OPT66BTP4 is OPT-66B on four A100 with 80 GB each, tensor parallel, under DistServe's own engine.
//
// The costs are of the same source as OPT13BTP4's, facebook/opt-66b on four GPUs: prefill 26.765 + 0.137593·n + 7.5613e-6·n² ms,
// decode 30.760 + 0.063284·b + 0.00045195·c ms. The KV cache is by the arithmetic of OPT13B, with DistServe's 132 GB of
// weights (its table 1) and 2·64·9216·2 bytes a token. The rest is as in OPT13B.
func OPT66BTP4() Params {
	p := OPT13B()
	p.Model = "opt-66b-tp4"
	p.Base = 28_763 * time.Microsecond
	p.PerPromptToken = 137_593
	p.PerPromptPair = 15
	p.PerSequence = 63_284
	p.PerContextToken = 452
	p.KVTokens = 70_000
	return p
}
