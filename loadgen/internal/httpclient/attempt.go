package httpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
)

// attempt is what is known of one attempt at a request: of its connection, and where its time went. It is the request's
// context, which knows the trace.
type attempt struct {
	context.Context
	trace    *loadgen.Trace
	begin    time.Time
	tries    int          // connections that it had
	got      atomic.Int64 // when it had its connection, and had been written: ns since begin
	wrote    atomic.Int64 // and 1: 0 is not yet
	reused   atomic.Bool  // the connection had been there before
	answered atomic.Bool
	broken   atomic.Bool // the request's body was not to be had
	payload  bytes.Reader

	connected func()        // is to hear that there is a connection; nil: nobody is
	given     chan struct{} // closed: it was given one; nil: it is not to be shared
	asked     atomic.Int32  // how often it was told that one is looked for, since

	alone   bool                                  // nobody else wants to hear of its connection
	hooks   atomic.Pointer[httptrace.ClientTrace] // of its connection, where that is a pool's
	pooled  atomic.Pointer[conn]                  // that connection, until its answer's body is closed
	conn    *reader                               // of its connection, which says when its answer came; nil: none does
	arrival atomic.Int64                          // when the last of it came: ns since the epoch; 0: nobody knows
	body    arrivingBody
	in      Body
}

func newAttempt(ctx context.Context, trace *loadgen.Trace) *attempt {
	return &attempt{Context: ctx, trace: trace, begin: time.Now()}
}

// Value knows the trace and the hooks, with no context around the other one for them alone.
func (a *attempt) Value(key any) any {
	switch key {
	case traceKey{}:
		return a.trace
	case attemptKey{}:
		return a
	case hooksKey:
		if h := a.hooks.Load(); h != nil {
			return h
		}
	}
	return a.Context.Value(key)
}

// hooksKey is where package httptrace has a context's hooks; nil: it has them in a way that is not known, and http.Transport
// does what a pool else would.
var hooksKey = keyOf(httptrace.ContextClientTrace)

// keyOf is what of asks a context for when it wants its hooks, and takes for an answer.
func keyOf(of func(context.Context) *httptrace.ClientTrace) any {
	asked := &asked{Context: context.Background()}
	of(asked)
	asked.hooks = new(httptrace.ClientTrace)
	if asked.key == nil || of(asked) != asked.hooks {
		return nil
	}
	return asked.key
}

// asked is a context that notes what it was asked for first, and has it where hooks is not nil.
type asked struct {
	context.Context
	key   any
	hooks *httptrace.ClientTrace
}

func (c *asked) Value(key any) any {
	if c.key == nil {
		c.key = key
	}
	if c.hooks != nil && key == c.key {
		return c.hooks
	}
	return nil
}

// attemptKey is where an attempt's context has the attempt.
type attemptKey struct{}

// share has the attempt share its connection with others.
func (a *attempt) share() { a.given = make(chan struct{}) }

// getConn hears that net/http looks for a connection. Where it has found one, it says so once more before gotConn.
func (a *attempt) getConn(string) { a.asked.Add(1) }

// useless says that the attempt was given a connection that took no request, or that failed it.
func (a *attempt) useless() bool { return a.asked.Load() > 1 || a.asked.Load() > 0 && a.has() }

// has says that the attempt was given a connection.
func (a *attempt) has() bool {
	select {
	case <-a.given:
		return true
	default:
		return false
	}
}

// watch is the attempt's context for a transport of net/http's. all: the connections are opened by one that tells nobody else
// how long it took.
func (a *attempt) watch(all bool) context.Context {
	h := &httptrace.ClientTrace{GotConn: a.gotConn, WroteRequest: a.wroteRequest, GotFirstResponseByte: a.firstByte}
	if a.given != nil {
		h.GetConn = a.getConn
	}
	if all {
		watchDial(h, a.trace)
		var begin atomic.Int64
		h.TLSHandshakeStart = func() { begin.Store(int64(time.Since(a.begin))) }
		h.TLSHandshakeDone = func(_ tls.ConnectionState, err error) {
			if err == nil {
				a.trace.Phase(loadgen.PhaseTLS, time.Since(a.begin)-time.Duration(begin.Load()))
			}
		}
	}
	return httptrace.WithClientTrace(a, h)
}

func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	a.connection(stampedOf(info.Conn), info.Reused || isAhead(info.Conn))
}

// connection hears of its connection: of what says when bytes come, and whether it had been there before.
func (a *attempt) connection(stamps *reader, reused bool) {
	d := time.Since(a.begin)
	if a.tries++; a.tries > 1 { // net/http repeats it after all: one without a body of which the server has taken nothing
		a.trace.Attempt()
		a.wrote.Store(0)
	} else if a.given != nil {
		close(a.given)
	}
	a.asked.Store(0)
	a.got.Store(int64(d))
	if a.conn = stamps; stamps != nil {
		stamps.attempt.Store(a)
	}
	a.reused.Store(reused)
	if a.connected != nil {
		a.connected()
	}
	a.trace.Connection(reused)
	a.trace.Phase(loadgen.PhaseWait, d)
}

// leave has its connection forget it.
func (a *attempt) leave() {
	if a.conn != nil {
		a.conn.attempt.CompareAndSwap(a, nil)
	}
}

func (a *attempt) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		a.written(time.Since(a.begin))
	}
}

// written says that the request was written by then.
func (a *attempt) written(by time.Duration) {
	if a.wrote.CompareAndSwap(0, int64(by)+1) {
		a.trace.Phase(loadgen.PhaseWrite, by-time.Duration(a.got.Load()))
	}
}

func (a *attempt) firstByte() {
	a.answered.Store(true)
	d := time.Since(a.begin)
	if ns := a.arrival.Load(); ns != 0 {
		d = epoch.Add(time.Duration(ns)).Sub(a.begin)
	}
	a.written(d) // an answer can come before the whole request was written, or before net/http says so
	a.trace.Phase(loadgen.PhaseFirstByte, max(0, d+1-time.Duration(a.wrote.Load())))
}

// watchDial has h tell trace how long the name and the connection took. Of several addresses that are tried the one that
// is reached counts.
func watchDial(h *httptrace.ClientTrace, trace *loadgen.Trace) {
	base := time.Now()
	var dns, connect atomic.Int64
	since := func(begin *atomic.Int64) time.Duration { return time.Since(base) - time.Duration(begin.Load()) }
	h.DNSStart = func(httptrace.DNSStartInfo) { dns.Store(int64(time.Since(base))) }
	h.DNSDone = func(info httptrace.DNSDoneInfo) {
		if info.Err == nil {
			trace.Phase(loadgen.PhaseDNS, since(&dns))
		}
	}
	h.ConnectStart = func(_, _ string) { connect.Store(int64(time.Since(base))) }
	h.ConnectDone = func(_, _ string, err error) {
		if err == nil {
			trace.Phase(loadgen.PhaseConnect, since(&connect))
		}
	}
}

// stale says whether err is that of a kept-alive connection that the server had closed, or, over HTTP/2, of a request that
// the server has not taken up: RFC 9113, section 8.7, of which net/http's error says no more than that it would repeat it.
func (a *attempt) stale(err error) bool {
	var timeout net.Error
	var stream streamError
	return a.reused.Load() && !a.answered.Load() &&
		!(errors.As(err, &timeout) && timeout.Timeout()) && !errors.As(err, &stream)
}

// streamError is HTTP/2's error of one stream: its connection lives. net/http's own, which is not exported, fills in any
// type that has its fields.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (streamError) Error() string { return "stream error" }
