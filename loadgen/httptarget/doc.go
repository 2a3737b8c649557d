// Package httptarget is a target for any HTTP service: one request, the same each time or made anew by a function, and what
// became of it. For endpoints that speak OpenAI's API there is package openai.
//
//	target, err := httptarget.New(httptarget.Config{URL: "http://127.0.0.1:8080/search?q=goodput"})
//	result, err := loadgen.Run(ctx, target, loadgen.Plan{SLO: slo.MustParse("e2e p99 < 50ms, error_rate < 0.1%"), …})
//
// # Times
//
// A request ends with the last byte of the answer's body, which is always read. Its first byte is in its record. A service
// that streams says in Config.Stream how its body is cut into pieces; each of them is a token event, or what Config.Piece
// makes of it, with the instant at which its bytes arrived. Without that nobody sees tokens, and an SLO on ttft, ttfo,
// tpot, itl, speed or service_ttft is refused.
//
// On Linux, over HTTP/1.1 with or without TLS, the kernel says when bytes arrived at the client's machine (SO_TIMESTAMPNS),
// and how long the client's goroutine then waited for a processor is in no latency. All that one read returns has the
// instant of the last segment in it. Over HTTP/2, with a Client of the caller's, elsewhere than on Linux, with
// Config.NoKernelTime, and while the system's clock is being set, instants are those at which the client came to read.
//
// # Outcomes
//
//	status 2xx, or what Config.Success allows,    success
//	and the body came to its proper end
//	408, 504                                      timeout
//	429                                           rate_limited; with the header Goodput-Reason rejected
//	503 with Retry-After                          rejected
//	any other 5xx                                 server_error
//	any other 4xx, a 3xx                          client_error
//	no connection; lost before the body           connection_error
//	lost within the body; no end marker           truncated
//	longer than Config.MaxBody; Check or Piece    malformed, or what the error names (loadgen.Fail)
//	fails
//	a stream without a token event                empty
//	Config.Request, or its body, fails; a Client  client_error
//	refuses a redirect
//	the deadline passes, the context is done      timeout, cancelled
//
// Redirects are followed where Config.Redirects says so, ten at most, unless a Client of the caller's has another policy; one
// that is not followed is the answer, and one that the policy refuses with an error a client_error. What is named like a
// credential in the request's header (with key, token, auth, secret, cookie, … in its name) goes to no other host, and from
// https:// to no http://. One thing is repeated, once: a request on a kept-alive connection
// that the server had closed, or, over HTTP/2, which the server said it had not taken up (GOAWAY, REFUSED_STREAM), before a
// byte came back, if its body can be had again. Record.Attempts is 2 then.
//
// # Connections
//
// The target's own client uses no proxy, keeps every connection, asks for no compression, and speaks HTTP/1.1, or HTTP/2
// where Config.HTTP2 says so. Connect opens connections ahead of a run. Where the time of the requests went on their way
// is in the report's Health.Network.
//
// # Secrets
//
// What a server or the network says goes into Record.Detail in one short line, without what is named like a credential in
// the request's header and URL, and without what it quotes of the request's body.
//
// One thing is out of reach: package net/http itself writes a line to package log, with the first bytes, where a server
// sends more than the length that its answer has. log.SetOutput keeps that out of a log.
package httptarget
