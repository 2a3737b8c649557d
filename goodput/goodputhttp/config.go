package goodputhttp

import (
	"net/http"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
)

// Sink takes the record of each request, once, when the request is over. A [goodput.Accumulator] is one. Observe is called
// from any goroutine, several at a time, and on the path of the requests: it should be quick. The record is its own to keep.
// A panic is the handler's or the RoundTrip's; that at the record of a redirection which nobody followed, a second later, is logged.
type Sink interface {
	Observe(r *goodput.Record)
}

// SinkFunc is a function as a [Sink].
type SinkFunc func(r *goodput.Record)

// Observe calls f.
func (f SinkFunc) Observe(r *goodput.Record) { f(r) }

// Config says what is made of requests. Only one has to be there: a Sink or a Monitor.
type Config struct {
	// Sink gets the records; [Tee] makes one of several.
	Sink Sink

	// Monitor hears of each request when it begins, so that one that hangs is bad at its deadline and not when it ends, if it
	// ever does; of its first token; and of its end, with the record. A Monitor as the Sink is taken for one here.
	Monitor *monitor.Monitor

	// Class is the class of a request, asked once, when it begins; nil: none, which is "default". Where clients choose it
	// themselves, bound it: what is beyond [goodput.MaxClasses] is booked as "other".
	Class func(req *http.Request) string

	// InputTokens is how many tokens a request has, asked once, when it is over; 0: nobody knows.
	InputTokens func(req *http.Request) int

	// OutputTokens is how many tokens the answer to a request has, where its header (its trailer, too, once the body is
	// over) says so; 0: nobody knows, and what the Counter has seen counts. It is asked once, when the request is over.
	OutputTokens func(req *http.Request, header http.Header) int

	// Counter is a new counter for the token events of one answer, by its header; nil: it has none. It is asked for an
	// answer of status 2xx that has a body and no content encoding. Without a Counter, [CounterFor] is asked.
	Counter func(req *http.Request, header http.Header) TokenCounter

	// OwnLimits honours the thresholds that a request brings along in the headers [TTFTHeader] and [TPOTHeader], in
	// milliseconds: they go to the record's Limits. Whoever sends a request then says by what it is judged, so that it is for
	// clients that are trusted with that.
	OwnLimits bool
}

func (c *Config) check(who string) {
	c.Sink, c.Monitor = take(c.Sink, c.Monitor)
	if c.Sink == nil && c.Monitor == nil {
		panic("goodputhttp: " + who + ": the Config has neither a Sink nor a Monitor: nobody would get the records")
	}
	if c.Counter == nil {
		c.Counter = func(_ *http.Request, header http.Header) TokenCounter { return CounterFor(header) }
	}
}

// counter is what counts in an answer; nil: nothing does.
func (c *Config) counter(req *http.Request, code int, header http.Header) TokenCounter {
	if code/100 != 2 || code == http.StatusNoContent || code == http.StatusResetContent || req.Method == http.MethodHead || encoded(header) {
		return nil
	}
	return c.Counter(req, header)
}

// encoded says that a body is not to be read as it stands.
func encoded(header http.Header) bool {
	for _, e := range header["Content-Encoding"] {
		if e != "" && e != "identity" {
			return true
		}
	}
	return false
}

// begin begins a request.
func (c *Config) begin(t *Tally, req *http.Request, own *limitCount) {
	t.rec.Start = time.Now()
	if c.Class != nil {
		t.rec.Class = c.Class(req)
	}
	if c.OwnLimits {
		t.rec.Limits = own.limits(req.Header)
	}
	if c.Monitor != nil {
		t.flight = c.Monitor.Begin(t.rec.Class, t.rec.Start)
		if t.rec.Limits != nil {
			t.flight.SetLimits(t.rec.Limits)
		}
	}
}

// book books a request.
func (c *Config) book(flight *monitor.InFlight, r *goodput.Record) {
	switch {
	case flight != nil:
		flight.End(r)
	case c.Monitor != nil: // its class could not be had
		c.Monitor.Observe(r)
	}
	if c.Sink != nil {
		c.Sink.Observe(r)
	}
}
