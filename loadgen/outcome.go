package loadgen

import (
	"context"
	"errors"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/netfault"
)

// outcomeOf says how a request ended whose target returned err. ctxErr is the error of the request's context at that
// time, bytes says that a byte of the response body had come. The first rule that fits decides:
//
//  1. no error: success
//  2. dropped: the target says so, or the client had no descriptor or no port
//  3. the target says cancelled, unfinished or timeout; the context was cancelled, or its deadline passed
//  4. the outcome that the target names (OutcomeError), or that the error has, as an admission.RejectedError does
//  5. the HTTP status (StatusError)
//  6. a timeout of the target's own, once it had a connection
//  7. the loss of the connection: before the first byte, or after it
//  8. anything else is the server's error
func outcomeOf(err, ctxErr error, bytes bool) (goodput.Outcome, string) {
	if err == nil {
		return goodput.Success, ""
	}
	var named *OutcomeError
	if errors.As(err, &named) {
		switch o := named.Outcome; {
		case o == goodput.Dropped, o == goodput.Cancelled, o == goodput.Unfinished, o == goodput.Timeout:
			return o, clean(named.Detail)
		case o == 0, o == goodput.Success, o > goodput.Unfinished: // no failure: a mistake in the target
			named = &OutcomeError{goodput.ServerError, "the target failed with the outcome " + o.String() + ": " + named.Detail}
		}
	}
	detail := clean(err.Error())
	switch {
	case netfault.Exhausted(err):
		return goodput.Dropped, detail
	case ctxErr != nil && errors.Is(ctxErr, context.DeadlineExceeded):
		return goodput.Timeout, detail
	case ctxErr != nil:
		return goodput.Cancelled, detail
	case named != nil:
		return named.Outcome, clean(named.Detail)
	}
	var has interface {
		error
		Outcome() goodput.Outcome
	}
	if errors.As(err, &has) {
		if o := has.Outcome(); o.Valid() && o != goodput.Success {
			return o, detail
		}
	}
	var status *StatusError
	if errors.As(err, &status) {
		return statusOutcome(status), detail
	}
	lost := goodput.ConnectionError
	if bytes {
		lost = goodput.Truncated
	}
	switch netfault.Of(err) {
	case netfault.Lost:
		return lost, detail
	case netfault.TimedOut:
		return goodput.Timeout, detail
	case netfault.Cancelled:
		return goodput.Cancelled, detail
	}
	return goodput.ServerError, detail
}

// unreadable, deferred, makes an outcome of an error whose methods panic, as those of a nil pointer do that was returned as
// an error.
func unreadable(o *goodput.Outcome, detail *string) {
	if p := recover(); p != nil {
		*o, *detail = goodput.ServerError, clean("the target's error cannot be read: "+asPanic(p).Error())
	}
}

// statusOutcome is the outcome of an answer whose HTTP status is no success. What the answer's header says is in
// Rejected.
func statusOutcome(e *StatusError) goodput.Outcome {
	if e.Rejected && (e.Code == 429 || e.Code == 503) {
		return goodput.Rejected
	}
	if o := goodput.OutcomeOfStatus(e.Code, nil); o != goodput.Success {
		return o
	}
	return goodput.ServerError // a mistake in the target
}
