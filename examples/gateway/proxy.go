package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/admission"
)

// newTransport keeps as many connections to the endpoint as there are requests in flight, and decodes nothing.
func newTransport(o options, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, o.dialTimeout)
			defer cancel()
			return dial(ctx, network, addr)
		},
		MaxIdleConnsPerHost: 1024, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		ExpectContinueTimeout: time.Second, DisableCompression: true, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// newProxy hands requests on to the endpoint, and answers back as they come.
func newProxy(o options, transport http.RoundTripper, log *slog.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // at once
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(o.upstream)
			r.Out.Header.Del("Accept-Encoding") // nobody would see the tokens of a stream that is packed
			if o.key != "" {
				for _, name := range []string{"Api-Key", "X-Api-Key"} { // where some clients have theirs
					r.Out.Header.Del(name)
				}
				r.Out.Header.Set("Authorization", "Bearer "+o.key)
			}
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // of answers that are cut off, which their records tell, too
		ErrorHandler: func(w http.ResponseWriter, req *http.Request, err error) {
			code, message := cause(req, err)
			if code >= 500 {
				log.Warn("no answer from the endpoint", "status", code, "error", reason(err))
			}
			if p := admission.PermitOf(req.Context()); p != nil && unreachable(err) {
				p.Done(goodput.Dropped) // nobody is there: that says nothing of how much is too much
			}
			fail(w, code, message)
		},
	}
}

// cause is what is to be said of an answer that there is not.
func cause(req *http.Request, err error) (code int, message string) {
	var dial *net.OpError
	switch {
	case errors.Is(req.Context().Err(), context.DeadlineExceeded):
		return http.StatusGatewayTimeout, "the endpoint took too long"
	case req.Context().Err() != nil:
		return 499, "the client went away" // nobody reads it
	case errors.As(err, &dial) && dial.Op == "dial":
		return http.StatusBadGateway, "the endpoint cannot be reached"
	}
	return http.StatusBadGateway, "the endpoint gave no answer"
}

// unreachable says that there was no connection, for another reason than that it took too long: an endpoint with too much to do can be
// why that is.
func unreachable(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial" && !dial.Timeout()
}

// reason is an error for the log. What package net/http says of an answer that is no HTTP quotes it, and that may quote the request.
func reason(err error) string {
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &network):
		return network.Error()
	case errors.As(err, &certificate):
		return certificate.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	}
	return fmt.Sprintf("the answer is none (%T)", err)
}

// fail answers as OpenAI's API would.
func fail(w http.ResponseWriter, code int, message string) {
	kind := "invalid_request_error"
	if code >= 500 {
		kind = "server_error"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": nil}})
}

// bounded reads a request's body, which may be so long and take so long to come.
func bounded(o options, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ContentLength != 0 {
			conn := http.NewResponseController(w)
			_ = conn.SetReadDeadline(time.Now().Add(o.bodyTimeout))
			body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, o.maxBody))
			var long *http.MaxBytesError
			switch {
			case errors.As(err, &long):
				fail(w, http.StatusRequestEntityTooLarge, "the body is too long")
				return
			case errors.Is(err, os.ErrDeadlineExceeded):
				fail(w, http.StatusRequestTimeout, "the body took too long to come")
				return
			case err != nil:
				fail(w, http.StatusBadRequest, "the body could not be read")
				return
			}
			_ = conn.SetReadDeadline(time.Time{}) // from here on reading is how the server finds out that a client has gone
			req.ContentLength, req.TransferEncoding = int64(len(body)), nil
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil } // for a connection that has just been closed
			req.Body, _ = req.GetBody()
			req.Header.Del("Expect") // that was met: an endpoint that takes no notice of it would cost a second
		}
		next.ServeHTTP(w, req)
	})
}
