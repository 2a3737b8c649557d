// Package workload says what is asked of a server: sequences of requests for the Workload of a loadgen.Plan.
//
// There are three sources. Each is read and checked before the run, so that a mistake is an error at once and not half a
// run. Its method Requests then gives the requests, as often as they are wanted and to any number of goroutines.
//
//   - [Prompts], from a file of JSON lines or in ShareGPT's format: [OpenPrompts]. Conversations of several turns become
//     sessions: [WithSessions].
//   - [Synthetic], random words whose lengths follow laws: [NewSynthetic] with a [Shape], of which [AzureConversation]
//     and [AzureCode] are those of public traces.
//   - [Trace], instants and lengths that were seen, in Azure's or Mooncake's format: [OpenTrace]. Its Arrivals
//     and its Requests go into one plan.
//
// [Mix] draws from several by weight, for classes of traffic in their proportions.
//
// # Salt
//
// Servers keep the attention state of prompts, so that a prefix that they have seen before takes them no time. A
// benchmark that sends the same prompts a second time then measures the cache: such reruns have cut the time to the first
// token from 144 to 22 ms. So each prompt begins with four random words, a salt. Within a pass of up to 2⁴⁰ requests no two
// salts are the same, and each pass draws others. A prompt from a file gets its salt as a first line, before the first
// message if it has messages; a synthetic prompt has it as its first four words.
//
// The salt of each pass is drawn anew, whatever the seed. [WithSaltSeed] makes it reproducible: use it if you need the same
// bytes twice, and restart the server in between. [WithoutSalt] leaves prompts as they are: use it to measure the cache.
//
// What Request.Body adds in front of the prompt, such as tools, has no salt.
//
// # Lengths and tokens
//
// Lengths are in tokens, and only the server's tokenizer knows what a token is. The words of synthetic prompts are chosen
// so that the rule is short: one word is one token. It is exact for the vocabularies of GPT-2 to GPT-4o, Llama 2 and 3,
// and Mistral, and should be near for others of 32,000 pieces and more. A small model's
// tokenizer spells words out: [WithTokensPerWord] gives the ratio, 4 for a vocabulary of a few hundred pieces. A prompt of
// n tokens has round(n/ratio) words, at least one, and the request's InputTokens is n, what was asked for, so that the
// report can say where the server counted otherwise. A server that applies a chat template counts that, too:
// [WithTemplateTokens].
//
// Output lengths become MaxTokens, a limit. A model may stop before; where the lengths have to be met, forbid it with
// the field that the server has for it, such as WithBody(map[string]any{"ignore_eos": true}) for vLLM and SGLang.
//
// # Laws
//
// [Fixed], [Uniform], [LogNormal] (by median and sigma, median and a percentile, or mean and standard deviation),
// [Histogram], [Percentiles], and any of them within bounds: [Truncated]. Draws use math/rand/v2's PCG and the seed of
// [WithSeed]: the same seed gives the same lengths, in the same order, in each pass. Input and output lengths have
// streams of their own, so changing one law leaves the other's lengths as they were.
//
// # Files
//
// Files are UTF-8, with or without a byte order mark, lines end with LF or CRLF, blank lines are passed over. What is
// read is bounded: a line by [DefaultMaxLine], a file by [DefaultMaxSize]; it is kept in memory. An error says the file,
// the line, and what would be right, and quotes no value, so that prompts do not reach logs.
package workload
