// Package sse takes event streams apart by the rules of the WHATWG HTML standard, "Server-sent events"
// (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation).
//
// A [Parser] is fed the bytes of a stream in whatever pieces they come, with the instant of each piece's arrival, and
// yields events that carry the instant of the piece that completed them. It does no reading of its own, so that the same
// code serves a client, which reads a body, and a server, which watches what is written to one. How a stream is cut
// changes nothing about its events.
//
// The fields id and retry are for clients that reconnect, and are ignored here.
package sse
