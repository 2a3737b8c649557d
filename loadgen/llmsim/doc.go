// Package llmsim simulates an LLM inference engine with continuous batching, so that load can be put on something that
// behaves like one where there is no GPU: it queues, it batches, its steps get slower as the batch and its contexts grow,
// and it runs out of KV cache.
//
// The model is [Engine], a state machine without a clock: the same calls give the same tokens at the same nanoseconds.
// [Params] says what it can do and what its steps cost; [OPT13B], [OPT13BTP2], [OPT13BTP4] and [OPT66BTP4] are measured ones,
// their source named. Params are a [Model], as [Replicas] and [Disaggregated] are, and a model is driven in three ways:
//
//   - [Server] is an http.Handler that speaks the chat completions of OpenAI's API, in real time;
//   - [Target] is a loadgen.Target in process, in real time or in a testing/synctest bubble;
//   - [Runner] is a loadgen.Runner over an event loop in virtual time, outside of tests too: an hour takes seconds.
//
// For the same plan, Runner and a Target in a bubble give the same records, to the nanosecond.
//
// [FixedServer] is no engine: its tokens come at instants that are known beforehand, so that the error of a client can
// be told from that of the server.
//
// # Scheduling
//
// What a step computes is a [Policy]'s to say, Params.Policy. [Chunked] is the one of an engine that has none, and what
// vLLM and Sarathi-Serve do today: output tokens first, and prompts in chunks beside them. [PrefillFirst] is vLLM as it
// was: prompts whole, and everybody else waits for them. [EarliestDeadline] takes prompts in order of when their first
// token is due, and leaves those for last whom nothing can help any more. One's own is a method that fills in a [Step]. Where
// it, or another part of one's own, fails, that is the end of the machine: [FaultError] says what becomes of the requests.
//
// # KV cache
//
// An engine keeps a place in the KV cache for a job's whole output when it enters the batch, as if it knew how long that
// will be. vLLM keeps none, and when the cache is full it preempts: it throws out who came last and computes all of it
// again later. Params.Preemption does that, and [Stats] count what it costs.
//
// With Params.BlockTokens the engine has a prefix cache: what a job has computed stays, and a later one that begins with the
// same blocks need not compute them. Blocks are known by hashes of the words of prompt, messages and answer, each of which
// stands for a token; roles and what a template adds are no words. So the turns of a session hit what was said before, and a
// trace of loadgen/workload with block ids hits what its ids share. A request without text hits nothing.
//
// # Several engines
//
// [Replicas] is several engines behind a [Router]: [RoundRobin], [LeastLoad], [LeastTTFT], which knows what each engine's prefix
// cache spares a job, or one's own.
//
//	gpu := llmsim.OPT13B()
//	colocated := llmsim.Replicas{Engines: []llmsim.Params{gpu, gpu, gpu, gpu}, Router: llmsim.LeastTTFT{}}
//
// [Disaggregated] is a pool of engines for prompts and one for answers, with a [Transfer] of the KV cache from one to the
// other. The decode engine calls for it when it has room, and until then prompts keep their place where they were computed.
//
//	pair := llmsim.Replicas{Engines: []llmsim.Params{gpu, gpu}}
//	disaggregated := llmsim.Disaggregated{Prefill: pair, Decode: pair, Transfer: llmsim.Transfer{KVBytes: 819_200, Bandwidth: 300e9}}
//	limit, err := capacity.Search(ctx, llmsim.Runner(disaggregated), plan)
//
// Which of the two can take more depends on the SLO: examples/disaggregation searches for the goodput limits of both.
// docs/simulator.md holds both against what was measured.
//
// # What it leaves out
//
// The costs of a step are linear in what the step does. Real engines have kernels that are chosen by the size of the
// batch, graphs for some sizes and not for others, and steps that differ although they do the same; here nothing is
// random. The doc comment of OPT13B says how far its costs are from what a client measured.
//
// Preemption is by recomputation: swapping to the host's memory is not there, nor vLLM's reserve of free blocks on entry.
// The KV cache is counted in tokens, and what is lost at the ends of blocks is not. Nor has the model a context length: the
// KV cache is the only limit.
//
// Of several engines, each has its queue: a job that a router has given to one stays there, also where another has become
// idle. A router knows the state of the engines as it is now, which in a real system it learns later. Engines do not fail,
// start or stop, and never share a network: a prefill engine's link is its own, and what a decode engine receives is not
// limited. The KV cache of a prompt is transferred when all of it has been computed, not layer by layer.
//
// There is no speculative decoding, no quantisation, and no parallelism but what the costs contain. A token's text means
// nothing, words stand in for tokens, and nothing ends before its limit. Tokenizer, HTTP front end and network cost nothing,
// but for what a real connection to Server takes.
package llmsim
