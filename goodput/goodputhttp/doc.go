// Package goodputhttp makes goodput records of a service's HTTP requests: a middleware for those that it answers, an
// [http.RoundTripper] for those that it makes.
//
//	acc := goodput.NewAccumulator(slo.MustParse("ttft p95 < 800ms, error_rate < 1%"))
//	m := goodputhttp.NewMiddleware(goodputhttp.Config{Sink: acc})
//	http.ListenAndServe("127.0.0.1:8080", m.Handler(mux))
//
//	client := &http.Client{Transport: goodputhttp.NewTransport(nil, goodputhttp.Config{Sink: acc})}
//
// Each request is one record, booked once, whatever becomes of it. With a [monitor.Monitor] in the [Config] it is watched
// while it is in flight, so that one that hangs is bad at its deadline.
//
// # When, in a server
//
// A request starts when the handler is entered. What a handler writes waits in net/http's buffers until it is flushed, and
// so a byte or a token counts from the flush after it. Without a flush it counts from the handler's return, which is when the
// server flushes, or, in a long answer, from when some 6 KiB more were written, since net/http buffers no more than that; of a body that is
// copied without being seen (sendfile) the first byte is not known. The request ends with the end marker, where the
// [TokenCounter] finds one; with the flush that makes the body as long as its Content-Length; else with the handler's return.
//
// A handler that takes over the connection, as for a websocket, ends the request there: with a success (or the status that it
// had sent before), for what follows is no HTTP.
//
// # When, in a client
//
// A request starts with RoundTrip; connecting is part of it. Bytes and tokens come when the reader gets them, and the request
// ends with the end marker, the end of the body, or the failure. A redirection that an [http.Client] follows and the request that follows it are
// one request, from the first start on: the record of one that nobody follows is booked a second after its body was closed.
// A retry by whoever calls RoundTrip again is a request of its own. A body has to be read to its end or closed: a request whose
// body is neither stays in flight, for ever, and gets no record.
//
// # Outcomes
//
// The first that fits decides.
//
//	the handler or a function of the Config panics         server_error; cancelled or timeout, where the context had ended
//	the end marker has left or come, and no Tally.Fail     as the status says
//	the context's deadline passed, a write deadline too    timeout
//	the client went away, the context was cancelled        cancelled
//	Tally.Fail, as a counter does for an error event       what it says
//	status                                                 see goodput.OutcomeOfStatus
//	http.ErrAbortHandler, a lost connection                truncated; before the body's first byte connection_error
//	a body that is shorter than its Content-Length         truncated
//	the client has no file descriptor or no port           dropped
//	a body that is said to be gzip and is not              malformed
//
// Of a body that its reader closes before the end it is success, where all that the Content-Length says had come, or where
// neither a length nor a stream said that there was more: a decoder that has its value does not look for the end. Else it is
// cancelled.
//
// # Tokens
//
// A counter watches the body. [CounterFor] takes the events of event streams and the lines of NDJSON for one token each;
// [ChatCounter], for answers of OpenAI's shape, looks into them; [SSEFunc] and [NDJSONFunc] leave it to a function what an event is, and [Config.Counter] takes any other [TokenCounter]. A handler
// that knows better tells the [Tally] of its request: see [TallyOf]. A body with a Content-Encoding is passed on as it is
// and not looked into: in a server, wrap the compressing handler around this one; in a client, leave Accept-Encoding to
// net/http, which decodes before this package reads. Of one answer 65,536 token events are told apart; the last one has the rest.
//
// # What is kept
//
// Neither a body nor a URL, a header or an error's text gets into a record: its Detail is a sentence of this package's, with
// the system's own word for a failed call, or what [Tally.Fail] was given.
//
// # What it costs
//
// About a microsecond a request, and a tenth of one for each write of an event with the flush behind it: docs/performance.md has
// the figures, and BenchmarkOverhead makes them.
package goodputhttp
