// Package openai is a target for endpoints that speak OpenAI's HTTP API: vLLM, SGLang, llama.cpp, Ollama, TGI, gateways,
// and OpenAI itself. It puts chat completions, completions and responses on them, streamed or not, and embeddings, and
// says of each request what became of it, when each token came, and what the server counted.
//
//	target, err := openai.New(openai.Config{BaseURL: "http://127.0.0.1:8000/v1", Model: "m"})
//	result, err := loadgen.Run(ctx, target, loadgen.Plan{ … })
//
// # Times
//
// A token's instant is that at which it arrived at the client's machine. On Linux, over HTTP/1.1 with or without TLS, the
// kernel says when that was (SO_TIMESTAMPNS): how long the client's goroutine then waited for a processor is no latency of
// the server's. All tokens that one read returns have the instant of the last segment in it. Over HTTP/2, whose streams
// share a connection, with a Client of the caller's, elsewhere than on Linux, with Config.NoKernelTime, and while the
// system's clock is being set, it is the instant at which the client came to read, taken before it parses.
//
// A token event is a chunk with text, reasoning, a tool call's name or arguments, a refusal, or the transcript of
// audio in it; a role, an empty delta, a comment, a chunk of usage alone is none. The end is the arrival of [DONE], or
// without it that of the body's end.
//
// How many tokens an event carried is read from the growth of the usage figure where every token event so far had one
// (vLLM: continuous_usage_stats), else from its log-probabilities where there are any, and else nobody said. Their sum
// is the server's usage, for which New asks with stream_options.include_usage.
//
// An answer is read as what it is. Where a stream was asked for and one JSON body came, the answer is a completion whose
// steps nobody saw: it has no token events, and ttft is undefined.
//
// Of the Responses API a token event is one whose type ends in .delta and that brings text: output_text, reasoning_text,
// reasoning_summary_text, refusal, the arguments or the input of a call, an audio transcript; or an output_item.added with
// a call's name. Embeddings have none, and an SLO on tokens is refused.
//
// # Outcomes
//
// An answer is complete with a finish reason for every choice, or with [DONE]. The finish reason "length" is complete
// only at the request's own limit: max_tokens or max_completion_tokens of a Body, else Request.MaxTokens. Without a limit,
// or below it by the server's own count, it was cut short and is truncated. An error object in a 200, in a stream or
// alone, is a server_error, or rate_limited where it says so. A redirect is not followed and is a client_error.
//
// A response is complete with response.completed or response.incomplete, and the status within decides, for some servers
// name the event otherwise; [DONE] says nothing here. Its finish reason is "completed", "content_filter", or
// "max_output_tokens", which is judged as "length" is, by max_output_tokens. Incomplete for another reason is truncated;
// response.failed and the event error are errors. Embeddings are complete with as many vectors as there were inputs.
//
// One thing is repeated, once: a request on a kept-alive connection that the server had closed, or, over HTTP/2, which the
// server said it had not taken up (GOAWAY, REFUSED_STREAM), before a byte came back. It goes out again on a new
// connection, Record.Attempts is 2, and the latency runs from the first. net/http repeats nothing by itself here.
//
// # Connections
//
// The target's own client uses no proxy, keeps every connection, and speaks HTTP/1.1, or HTTP/2 where Config.HTTP2 says
// so. Connect opens connections ahead of a run. Where the time of the requests went on their way, from the wait for a
// connection to the first token, is in the report's Health.Network.
//
// # Bounds
//
// A header may have 256 KiB, a line of a stream 1 MiB, a JSON body 16 MiB, one answer a million token events; what is
// longer is a connection_error or malformed. Only the request's deadline ends a body that goes on for ever. After the end
// of an answer its connection is given 50 ms and 64 KiB to come to an end too, so that it can be used again.
//
// # Secrets
//
// What a server or the network says goes into Record.Detail in one short line, without the API key, the credentials of
// Config.Header, BaseURL and Config.Body, and without the prompt, whoever quotes them.
//
// One thing is out of reach: package net/http itself writes a line to package log, with the first bytes, where a server
// sends more than the length that its answer has. log.SetOutput keeps that out of a log.
package openai
