package loadgen

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
)

// outcomeOf says how a request ended whose target returned err. ctxErr is the error of the request's context at that
// time, bytes says that a byte of the response body had come. The first rule that fits decides:
//
//  1. no error: success
//  2. dropped: the target says so, or the client had no descriptor or no port
//  3. the target says cancelled, unfinished or timeout; the context was cancelled, or its deadline passed
//  4. the outcome that the target names (OutcomeError)
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
	case exhausted(err):
		return goodput.Dropped, detail
	case ctxErr != nil && errors.Is(ctxErr, context.DeadlineExceeded):
		return goodput.Timeout, detail
	case ctxErr != nil:
		return goodput.Cancelled, detail
	case named != nil:
		return named.Outcome, clean(named.Detail)
	}
	var status *StatusError
	if errors.As(err, &status) {
		return statusOutcome(status), detail
	}
	lost := goodput.ConnectionError
	if bytes {
		lost = goodput.Truncated
	}
	var timeout interface{ Timeout() bool }
	switch {
	case noConnection(err), gaveUp(err):
		return lost, detail
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return goodput.Timeout, detail
	case errors.Is(err, context.Canceled):
		return goodput.Cancelled, detail
	case lostConnection(err):
		return lost, detail
	}
	return goodput.ServerError, detail
}

// exhausted says that the client had no file descriptor or no local port left: the request was never sent. Of an error of a
// query for an address package net keeps the text alone.
func exhausted(err error) bool {
	var dns *net.DNSError
	inQuery := errors.As(err, &dns)
	return slices.ContainsFunc(exhaustion, func(e error) bool {
		return errors.Is(err, e) || inQuery && strings.HasSuffix(dns.Err, e.Error())
	})
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

// noConnection: there never was a connection, for whatever reason, a dialler's own timeout included.
func noConnection(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	if errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var alert tls.AlertError
	return errors.As(err, &record) || errors.As(err, &cert) || errors.As(err, &alert)
}

// lostConnection: the network, or what stands in for it, failed.
func lostConnection(err error) bool {
	var netErr net.Error
	var op *net.OpError
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, io.ErrNoProgress, net.ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	if errors.As(err, &op) || isErrno(err) {
		return true
	}
	// What net/http's client wraps comes from its transport, except for a URL that it could not use at all.
	var u *url.Error
	if errors.As(err, &u) {
		return u.Op != "parse"
	}
	return errors.As(err, &netErr)
}
