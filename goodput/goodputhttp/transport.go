package goodputhttp

import (
	"net/http"
	"net/url"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/netfault"
)

// Transport is an [http.RoundTripper] that makes a record of each request that goes through it. See the package comment for
// what counts when.
type Transport struct {
	base   http.RoundTripper
	config Config
	own    limitCount
}

// NewTransport makes records of what base does; nil: [http.DefaultTransport]. It panics if the configuration has neither a
// Sink nor a Monitor.
func NewTransport(base http.RoundTripper, c Config) *Transport {
	c.check("NewTransport")
	if base == nil {
		base = http.DefaultTransport
	}
	return &Transport{base: base, config: c}
}

// MalformedLimits is how many headers with thresholds of a request's own could not be meant, and were ignored: see
// [Config.OwnLimits].
func (t *Transport) MalformedLimits() uint64 { return t.own.malformed.Load() }

// CloseIdleConnections does so where base can, for [http.Client.CloseIdleConnections].
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends a request. Its record is booked once: when the body of the answer has come to its end, fails or is closed,
// or, without a body, at once. A body that is neither read to its end nor closed, which net/http asks of its readers, leaves
// its request without a record.
func (t *Transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	x := &exchange{config: &t.config, req: req, length: -1}
	returned := false
	defer func() {
		if returned {
			return
		}
		x.broke()
		if resp != nil && resp.Body != nil { // nobody will get it
			resp.Body.Close()
		}
	}()
	if !x.follow(req.Response) {
		t.config.begin(&x.Tally, req, &t.own)
	}
	resp, err = t.base.RoundTrip(req)
	switch {
	case err != nil:
		x.finish(x.unsent(err))
	case resp != nil:
		x.answered(resp)
	default: // which http.Client makes an error of
		x.finish(end{goodput.ServerError, "the transport gave neither an answer nor an error", x.now()})
	}
	returned = true
	return resp, err
}

// unsent is the end of a request that got no answer.
func (x *exchange) unsent(err error) end {
	if netfault.Exhausted(err) {
		return end{goodput.Dropped, words("the client had no descriptor or no port", err), x.now()}
	}
	return x.lost(&url.Error{Op: x.req.Method, Err: err}) // as an http.Client has it
}

// words is a sentence, with the system's word for it where there is one. The error itself may quote a URL with a key in it.
func words(what string, err error) string {
	if text := netfault.Text(err); text != "" {
		return what + ": " + text
	}
	return what
}
