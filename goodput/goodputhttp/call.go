package goodputhttp

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/netfault"
	"github.com/goodputkit/goodputkit/internal/respwriter"
)

// buffered is what net/http may keep of a body that nobody flushes, bytes: 2 KiB in the response and 4 KiB in the connection of
// HTTP/1.1, 4 KiB in the stream of HTTP/2. What was written before so much has left.
const buffered = 6 << 10

// call is one request in a server. But for the Tally everything in it is the handler's goroutine's.
type call struct {
	Tally
	config *Config
	req    *http.Request
	ctx    context.Context // the request's
	writer respwriter.Writer

	counter TokenCounter
	own     ownCounter // the same, where it is one
	ahead   ahead
	code    int // the final status; 0: not yet
	status  goodput.Outcome
	head    bool  // there is no body, whatever is written
	length  int64 // the body's, by its header; < 0: it does not say
	bytes   int64 // of it so far
	since   int   // of them since the last flush
	copied  bool  // some of them nobody saw leave
	broken  error // the first error of a write

	returned bool // the handler has, and did not panic
}

// now is the time since the handler was entered, at least 1 ns, since 0 stands for an instant that there is not.
func (c *call) now() time.Duration { return max(time.Since(c.rec.Start), 1) }

func (c *call) Before() {
	if c.ctx.Err() != nil {
		c.gone.Store(true)
	}
}

func (c *call) Status(code int) {
	header := c.writer.Header()
	c.code, c.status = code, goodput.OutcomeOfStatus(code, header)
	switch {
	case code == http.StatusSwitchingProtocols:
		c.status = goodput.Success
	case code == http.StatusNoContent, code == http.StatusNotModified:
		c.head = true
	}
	if c.head { // over HTTP/2 the context ends with the header
		c.EndMarker()
		return
	}
	if length := header["Content-Length"]; len(length) > 0 {
		if n, err := strconv.ParseInt(length[0], 10, 64); err == nil {
			c.length = n
		}
	}
	c.counter = c.config.counter(c.req, code, header)
	c.own, _ = c.counter.(ownCounter)
}

func (c *call) Wrote(p []byte, err error) {
	if c.head {
		return
	}
	if err != nil && c.broken == nil {
		c.broken = err
	}
	if len(p) == 0 {
		return
	}
	switch {
	case c.own != nil:
		if events, marker := c.own.count(p); events > 0 || marker {
			c.found(events, marker)
		}
	case c.counter != nil:
		c.counter.Count(&c.Tally, p)
	}
	c.add(int64(len(p)))
	c.since += len(p)
	if c.since > buffered {
		c.pushed(len(p) > buffered)
	}
}

// ahead is what the handler's goroutine knows of the Tally for itself, so that of a write and the flush behind it, where a stream
// spends its time, one alone takes the lock. That is so once the first output has left, until the end marker is written, and as
// long as no TokenCounter but an ownCounter tells the Tally of events, and nobody else does.
type ahead struct {
	may    bool
	events int // how many there were when it was last under the lock
	left   int // of them so many have left, which the Tally may not know yet
	at     time.Duration
}

// settle tells the Tally which events have left. mu is held.
func (c *call) settle() {
	if a := &c.ahead; a.left > c.sent {
		c.leave(a.left, a.at)
	}
}

// found is what there is in a piece of the body.
func (c *call) found(events int, marker bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	c.Tally.found(events, marker)
	c.ahead.events = len(c.rec.Tokens)
	c.ahead.may = c.rec.FirstByte > 0 && !c.marked && c.over == 0 && (c.flight == nil || c.told == toldOutput)
}

// add counts what was written of the body; where its header says how long it is, its end is marked by that.
func (c *call) add(n int64) {
	if c.bytes += n; c.length >= 0 && c.bytes >= c.length && c.broken == nil {
		c.EndMarker()
		c.ahead.may = false
	}
}

// pushed: so much was written since that what came before has left. all: and this with it, which is too long for the buffers.
func (c *call) pushed(all bool) {
	c.since = 0
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	c.began(now)
	c.leave(c.aged, now)
	c.aged = len(c.rec.Tokens)
	if all && c.marked {
		c.left(now)
	}
}

// began: the body's first byte has left by then. mu is held.
func (c *call) began(at time.Duration) {
	if c.rec.FirstByte == 0 && c.bytes > 0 && !c.copied {
		c.rec.FirstByte = at
	}
}

func (c *call) Blind() bool {
	if c.code != 0 || c.head {
		return c.counter == nil
	}
	return c.config.counter(c.req, http.StatusOK, c.writer.Header()) == nil
}

// Copied has an error of the source or of the connection, and does not say which: the handler knows, and the context.
func (c *call) Copied(n int64, _ error) {
	if c.head || n <= 0 {
		return
	}
	c.mu.Lock()
	c.copied = c.copied || c.rec.FirstByte == 0
	c.mu.Unlock()
	c.add(n)
	if n > buffered {
		c.pushed(true)
	}
}

func (c *call) Flushed(err error) {
	if err != nil && !c.head {
		if c.broken == nil {
			c.broken = err
		}
		return
	}
	c.since = 0
	now := c.now()
	if a := &c.ahead; a.may && !c.open.Load() {
		if a.events > a.left {
			a.left, a.at = a.events, now
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	c.began(now)
	c.left(now)
	c.aged = len(c.rec.Tokens)
}

func (c *call) Hijacked() {
	if c.code == 0 {
		c.status = goodput.Success
	}
	c.finish(c.status, "", true)
}

// end is deferred around the handler.
func (c *call) end() {
	var p any
	if !c.returned {
		p = recover()
	}
	defer c.book(goodput.ServerError, "a function of the Config panicked", false)
	if c.code == 0 && c.returned {
		c.Status(http.StatusOK) // as the server will say
	}
	o, detail, reached := c.outcome(p)
	c.finish(o, detail, reached)
	if p != nil {
		panic(p)
	}
}

// outcome is how the request ended. reached: what was written reaches the client, as far as anybody knows.
func (c *call) outcome(p any) (o goodput.Outcome, detail string, reached bool) {
	err, _ := p.(error)
	aborted := err == http.ErrAbortHandler
	if c.returned && c.broken == nil && c.counter != nil && c.ctx.Err() == nil {
		c.counter.End(&c.Tally)
	}
	c.mu.Lock()
	complete, fail, said, some := c.ended > 0, c.fail, c.detail, c.rec.FirstByte > 0 || c.copied
	c.mu.Unlock()
	failed := goodput.ConnectionError
	if some {
		failed = goodput.Truncated
	}
	ctx := c.ctx
	switch {
	case !c.returned && !aborted && ctx.Err() == nil:
		return goodput.ServerError, "the handler panicked", false
	case complete && fail == 0 && (c.returned || aborted):
		return c.status, "", true
	case c.broken != nil && (errors.Is(c.broken, os.ErrDeadlineExceeded) || errors.Is(c.broken, http.ErrHandlerTimeout)),
		ctx.Err() == context.DeadlineExceeded:
		return goodput.Timeout, "the deadline passed", false
	case ctx.Err() != nil, c.broken != nil && netfault.Of(c.broken) == netfault.Lost:
		return goodput.Cancelled, "the client went away", false
	case fail != 0:
		return fail, said, !aborted
	case c.code != 0 && c.status != goodput.Success:
		return c.status, "HTTP status " + strconv.Itoa(c.code), !aborted
	case aborted:
		return failed, "the handler aborted the answer", false
	case c.broken != nil && !netfault.Mistaken(c.broken):
		return failed, "a write failed", false
	case c.length > c.bytes && !c.head:
		return goodput.Truncated, "the body is shorter than its Content-Length", true
	}
	return goodput.Success, "", true
}

// finish ends the request.
func (c *call) finish(o goodput.Outcome, detail string, reached bool) {
	defer c.book(o, detail, reached) // also where one of these functions panics
	var in, out int
	if c.config.InputTokens != nil {
		in = c.config.InputTokens(c.req)
	}
	if c.config.OutputTokens != nil {
		out = c.config.OutputTokens(c.req, c.writer.Header())
	}
	c.Usage(in, out)
}

// book books the request, once.
func (c *call) book(o goodput.Outcome, detail string, reached bool) {
	if r := c.close(o, detail, reached); r != nil {
		c.config.book(c.flight, r)
	}
}

// close makes the record; nil: it was made before.
func (c *call) close(o goodput.Outcome, detail string, reached bool) *goodput.Record {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return nil
	}
	c.done = true
	c.settle()
	if reached {
		c.began(now)
		c.left(now)
	} else {
		c.lost()
	}
	c.rec.End = now
	if c.ended > 0 && o == goodput.Success {
		c.rec.End = c.ended
	}
	c.rec.Outcome, c.rec.Detail = o, detail
	return c.record()
}
