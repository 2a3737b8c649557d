// Package netfault tells from an error what became of a connection. Who makes load and who watches a client's requests
// tell it alike.
package netfault

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
)

// Kind is what an error says of a connection.
type Kind uint8

// The kinds.
const (
	Other     Kind = iota // nothing
	Lost                  // there is none any more, or never was
	TimedOut              // a deadline passed, once there was one
	Cancelled             // a context was cancelled
)

// Of is the kind of err. That of a client without resources is for [Exhausted] to tell, before.
func Of(err error) Kind {
	var timeout interface{ Timeout() bool }
	switch {
	case noConnection(err), gaveUp(err):
		return Lost
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return TimedOut
	case errors.Is(err, context.Canceled):
		return Cancelled
	case lostConnection(err):
		return Lost
	}
	return Other
}

// Exhausted says that the client had no file descriptor or no local port left: the request was never sent. Of an error of a
// query for an address package net keeps the text alone.
func Exhausted(err error) bool {
	var dns *net.DNSError
	inQuery := errors.As(err, &dns)
	return slices.ContainsFunc(exhaustion, func(e error) bool {
		return errors.Is(err, e) || inQuery && strings.HasSuffix(dns.Err, e.Error())
	})
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
