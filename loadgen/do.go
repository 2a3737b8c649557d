package loadgen

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/panicsite"
)

// grace is how long a target may take to return once its context is done. One that takes longer is booked without it:
// what its trace had by then counts, and what it says later is ignored. The end is the deadline either way.
const grace = time.Second

// A DoOption changes how Do performs its request.
type DoOption func(*Trace)

// WithText has f called for each piece of the answer's text, as it arrives and from the target's goroutine.
func WithText(f func(kind TextKind, s string)) DoOption {
	return func(t *Trace) { t.text = f }
}

// Do performs one request, outside any run, that is meant to start now, and says what it did. It never fails: whatever
// happens, a panic of the target included, is the record's Outcome and Detail.
//
// The request's deadline is that of ctx. A target that goes on for more than a second after ctx is done is left alone:
// Do returns without it.
func Do(ctx context.Context, t Target, req *Request, opts ...DoOption) *goodput.Record {
	start := time.Now()
	tr := NewTrace(start)
	for _, o := range opts {
		o(tr)
	}
	if req == nil {
		req = &Request{}
	}
	// A goroutine of its own, since runtime.Goexit would take the caller with it.
	done := make(chan error, 1)
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { invoke(own, t, req, tr, done) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case err = <-done:
		case <-timer.C:
			err = context.Cause(ctx)
		}
	}
	rec, bytes, _ := tr.seal(start, time.Now())
	label(rec, req)
	func() {
		defer unreadable(&rec.Outcome, &rec.Detail)
		rec.Outcome, rec.Detail = outcomeOf(err, ctx.Err(), bytes)
	}()
	if dl, ok := ctx.Deadline(); ok && rec.Outcome != goodput.Cancelled {
		expire(rec, dl.Sub(start), goodput.Timeout)
	}
	if !tr.some {
		settle(rec, describe(t))
	}
	return rec
}

// invoke calls the target and sends what became of it, once, however it ends.
func invoke(ctx context.Context, t Target, req *Request, tr *Trace, done chan<- error) {
	var err error = errGoexit
	defer func() {
		if p := recover(); p != nil {
			err = asPanic(p)
		}
		done <- err
	}()
	err = t.Do(ctx, req, tr)
}

var errGoexit = &OutcomeError{goodput.ServerError, "the target ended its goroutine (runtime.Goexit)"}

// panicError is a panic of the caller's code.
type panicError struct {
	value any
	where string // file:line, without the directory
}

// asPanic is the panic of which v was recovered. One that was passed on from another goroutine keeps its place.
func asPanic(v any) *panicError {
	if e, ok := v.(*panicError); ok {
		return e
	}
	return &panicError{value: v, where: panicsite.Find()}
}

func (e *panicError) Error() string {
	if e.where == "" {
		return fmt.Sprintf("panic: %v", e.value)
	}
	return fmt.Sprintf("panic: %v (%s)", e.value, e.where)
}

// describe is what the target says of itself; of one that says nothing, nothing is assumed.
func describe(t Target) Description {
	if d, ok := t.(Describer); ok {
		return d.Describe()
	}
	return Description{}
}

// label puts into the record what it has from its request.
func label(rec *goodput.Record, req *Request) { rec.Class, rec.Limits = req.Class, req.Limits }

// expire makes o the outcome of a request that had not ended before limit, an offset from Start. What came at the limit
// or later came too late, and is taken out.
func expire(rec *goodput.Record, limit time.Duration, o goodput.Outcome) {
	if rec.End < limit {
		return
	}
	switch rec.Outcome {
	case goodput.Dropped:
	case o:
		// Who notices first that the time is over, the target or the run, is chance.
		if strings.Contains(rec.Detail, context.DeadlineExceeded.Error()) {
			rec.Detail = ""
		}
	default:
		rec.Outcome, rec.Detail = o, ""
	}
	rec.End = max(0, limit)
	rec.Sent = min(rec.Sent, rec.End)
	if rec.FirstByte > rec.End {
		rec.FirstByte = 0
	}
	n := len(rec.Tokens)
	for n > 0 && rec.Tokens[n-1].At > rec.End {
		n--
	}
	if n < len(rec.Tokens) {
		rec.Tokens = rec.Tokens[:n]
		rec.OutputTokens = 0 // the usage counted what came too late
		switch {
		case n == 0:
			rec.FirstOutput = 0
		case rec.FirstOutput > rec.End:
			rec.FirstOutput = -1
		}
	}
}

// settle applies the rules that look at the whole record.
func settle(rec *goodput.Record, d Description) {
	if rec.Outcome == goodput.Success && d.Tokens && len(rec.Tokens) == 0 && rec.OutputTokens == 0 {
		rec.Outcome, rec.Detail = goodput.Empty, "no output token"
	}
}
