package goodputhttp

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"strconv"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/netfault"
)

// redirectGrace is how long the record of a redirection waits for the request that follows it. An http.Client that follows
// sends that as soon as it has closed the body.
const redirectGrace = time.Second

// exchange is one request of a client. Reading, and what it finds, is one goroutine's at a time; Close may come from another.
type exchange struct {
	Tally
	config *Config
	req    *http.Request
	resp   *http.Response

	counter  TokenCounter
	status   goodput.Outcome
	redirect bool  // http.Client follows such an answer
	length   int64 // of the body; < 0: unknown
	eof      bool  // it came to its end

	// mu is held.
	bytes int64
	last  time.Duration // when a piece of the body came
	timer *time.Timer   // the record waits for the request that follows the redirection
}

// end is how a request ended, and when.
type end struct {
	outcome goodput.Outcome
	detail  string
	at      time.Duration
}

func (x *exchange) now() time.Duration { return max(time.Since(x.rec.Start), 1) }

// follow makes x go on with the request whose answer was the redirection that req follows.
func (x *exchange) follow(from *http.Response) bool {
	if from == nil {
		return false
	}
	b, ok := from.Body.(*body)
	if !ok || !b.x.redirect || b.x.config != x.config {
		return false
	}
	first := b.x
	first.mu.Lock()
	defer first.mu.Unlock()
	if first.done && (first.timer == nil || !first.timer.Stop()) { // it is in the books
		return false
	}
	first.done = true
	x.rec.Start, x.rec.Class, x.rec.Limits, x.flight = first.rec.Start, first.rec.Class, first.rec.Limits, first.flight
	return true
}

// answered takes the answer's head.
func (x *exchange) answered(resp *http.Response) {
	x.resp, x.length = resp, resp.ContentLength
	x.status = goodput.OutcomeOfStatus(resp.StatusCode, resp.Header)
	switch resp.StatusCode {
	case http.StatusSwitchingProtocols:
		x.status = goodput.Success
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		x.redirect = resp.Header.Get("Location") != ""
	}
	none := resp.Body == nil || resp.Body == http.NoBody || x.req.Method == http.MethodHead
	switch {
	case none:
		x.length = 0
	case x.length == 0: // net/http has NoBody then: a transport of another's making left it at its zero value
		x.length = -1
	}
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols, none && !x.redirect:
		x.finish(x.whole(x.now()))
	case resp.Body == nil:
		resp.Body = &body{http.NoBody, x}
	default:
		x.counter = x.config.counter(x.req, resp.StatusCode, resp.Header)
		resp.Body = &body{resp.Body, x}
	}
}

// whole is the end of an answer that is all there.
func (x *exchange) whole(at time.Duration) end {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended > 0 {
		at = x.ended
	}
	switch {
	case x.fail != 0:
		return end{x.fail, x.detail, at}
	case x.status != goodput.Success:
		return end{x.status, "HTTP status " + strconv.Itoa(x.resp.StatusCode), at}
	}
	return end{goodput.Success, "", at}
}

// lost is the end of an answer that will not be whole.
func (x *exchange) lost(err error) end {
	ctx, kind, now := over(x.req), netfault.Of(err), x.now()
	x.mu.Lock()
	complete, failed, some := x.ended > 0, x.fail != 0, x.bytes > 0
	x.mu.Unlock()
	var corrupt flate.CorruptInputError
	switch {
	case complete:
		return x.whole(now)
	case errors.Is(ctx, context.DeadlineExceeded):
		return end{goodput.Timeout, "the deadline passed", now}
	case ctx != nil:
		return end{goodput.Cancelled, "the context was cancelled", now}
	case failed, x.resp != nil && x.status != goodput.Success:
		return x.whole(now)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return end{goodput.Malformed, "the body is not gzip, though its header says so", now}
	case kind == netfault.TimedOut:
		return end{goodput.Timeout, "the deadline passed", now}
	case kind == netfault.Cancelled:
		return end{goodput.Cancelled, "cancelled", now}
	case some:
		return end{goodput.Truncated, words("the connection was lost", err), now}
	}
	return end{goodput.ConnectionError, words("no answer", err), now}
}

// over is why a request is over before its answer is; nil: it is not. A transport can hear of a deadline before the context
// says so, and http.Client tells one that is not its own by a channel, too.
func over(req *http.Request) error {
	ctx := req.Context()
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	select {
	case <-req.Cancel: //lint:ignore SA1019 there are callers that use it
		return context.Canceled
	default:
		return nil
	}
}

// closed is the end of an answer whose reader does not want more of it.
func (x *exchange) closed() end {
	now := x.now()
	x.mu.Lock()
	complete, failed, all, last := x.ended > 0, x.fail != 0, x.length >= 0 && x.bytes >= x.length, x.last
	x.mu.Unlock()
	ctx := over(x.req)
	switch {
	case complete, failed:
		return x.whole(now)
	case all:
		return x.whole(max(last, 1))
	case ctx != nil:
		return x.lost(ctx)
	case x.status != goodput.Success:
		return x.whole(now)
	case x.counter != nil, x.length >= 0:
		return end{goodput.Cancelled, "the body was closed before its end", now}
	case last > 0: // a decoder that has its value does not look for the end
		return x.whole(last)
	}
	return x.whole(now)
}

// finish ends the request.
func (x *exchange) finish(e end) {
	defer x.book(e) // also where one of these functions panics
	var in, out int
	if x.config.InputTokens != nil {
		in = x.config.InputTokens(x.req)
	}
	if x.config.OutputTokens != nil && x.resp != nil {
		out = x.config.OutputTokens(x.req, x.header())
	}
	x.Usage(in, out)
}

// book books the request, once.
func (x *exchange) book(e end) {
	if r := x.close(e); r != nil {
		x.config.book(x.flight, r)
	}
}

// broke books a request of which something panicked.
func (x *exchange) broke() {
	x.book(end{goodput.ServerError, "the transport, or a function of the Config, panicked", x.now()})
}

// close makes the record; nil: it was made before, or waits.
func (x *exchange) close(e end) *goodput.Record {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done {
		return nil
	}
	x.done = true
	x.rec.End, x.rec.Outcome, x.rec.Detail = e.at, e.outcome, e.detail
	r := x.record()
	if x.redirect {
		x.timer = time.AfterFunc(redirectGrace, func() { x.bookLate(r) })
		return nil
	}
	return r
}

// bookLate books the record of a redirection that nobody followed. No caller is there to see a Sink panic: it is logged, as net/http
// logs that of a handler, and does not end the process.
func (x *exchange) bookLate(r *goodput.Record) {
	defer func() {
		if p := recover(); p != nil {
			log.Printf("goodputhttp: panic in a Sink, at the record of a redirection: %v", p)
		}
	}()
	x.config.book(x.flight, r)
}

// header is the answer's, with what its trailer added.
func (x *exchange) header() http.Header {
	if len(x.resp.Trailer) == 0 {
		return x.resp.Header
	}
	h := x.resp.Header.Clone()
	for key, values := range x.resp.Trailer {
		h[key] = append(h[key], values...)
	}
	return h
}

// body is the body of an answer, watched while its reader reads.
type body struct {
	io.ReadCloser
	x *exchange
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.x.read(p[:min(max(n, 0), len(p))], err)
	return n, err
}

func (b *body) Close() (err error) {
	defer func() { err = b.ReadCloser.Close() }()
	b.x.finish(b.x.closed())
	return nil
}

// read takes a piece of the body, and how it goes on.
func (x *exchange) read(p []byte, err error) {
	now := x.now()
	counted := false
	defer func() {
		if !counted {
			x.broke()
		}
	}()
	if x.counter != nil {
		if len(p) > 0 {
			x.counter.Count(&x.Tally, p)
		}
		if err == io.EOF && !x.eof {
			x.eof = true
			x.counter.End(&x.Tally)
		}
	}
	counted = true
	x.mu.Lock()
	if len(p) > 0 && !x.done {
		x.bytes += int64(len(p))
		x.last = now
		if x.rec.FirstByte == 0 {
			x.rec.FirstByte = now
		}
	}
	if !x.done {
		x.left(now)
	}
	x.mu.Unlock()
	switch err {
	case nil:
	case io.EOF:
		x.finish(x.whole(now))
	default:
		x.finish(x.lost(err))
	}
}
