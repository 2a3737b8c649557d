package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/sse"
	"github.com/goodputkit/goodputkit/internal/wellformed"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// maxEvents bounds the token events of one answer, and so the memory of its record.
const maxEvents = 1 << 20

// answer is what was understood so far of one answer, whatever its form.
type answer struct {
	endpoint Endpoint
	trace    *loadgen.Trace
	redact   *httpclient.Redactor
	request  []byte // the body that was sent, for redact

	limit   int         // the request's own, tokens of one choice; 0: none
	choices int         // to come; more where the answer has more
	header  http.Header // of the answer
	texts   bool        // somebody wants the text

	kind     kind
	events   int  // events with data
	tokens   int  // token events
	counted  int  // tokens in them, as far as they say
	figures  bool // each token event so far carried a usage figure
	finished []uint64
	finishes int // choices in finished
	lengths  int // of which at the limit of tokens
	reason   string
	in, out  int // the last usage figures; 0: none
	end      time.Time

	chunk chunk
	like  template
}

type kind uint8

const (
	unknown kind = iota // nothing but white space yet
	eventStream
	document
)

// begin makes a, which is zero but for the memory that it has, ready for an answer.
func (a *answer) begin(t *Target, q *query, resp *http.Response, trace *loadgen.Trace) {
	a.endpoint, a.trace, a.redact, a.request = t.endpoint, trace, t.redact, q.body
	a.limit, a.choices, a.figures = q.limit, q.choices, true
	a.header, a.texts = resp.Header, trace.WantsText()
}

// read reads the answer to its end. a.end is then when it ended, or when the failure was seen.
func (a *answer) read(ctx context.Context, in *httpclient.Body, s *scratch) error {
	for {
		n, err := in.Read(s.buf)
		a.end = in.At
		stop := a.piece(s.buf[:n], in.At, s)
		if stop == nil && err != nil {
			if err != io.EOF && ctx.Err() != nil {
				return err // the reading was cut off: nobody knows what was to come
			}
			stop = a.bodyEnd(err, s)
		}
		if stop != nil {
			return a.verdict(stop)
		}
		if n == len(s.buf) && n < mostRead {
			s.buf = make([]byte, mostRead)
		}
	}
}

// errDone stops the reading after the end marker.
var errDone = errors.New("the end marker")

// piece takes the next piece of the body. An error ends the reading.
func (a *answer) piece(b []byte, at time.Time, s *scratch) error {
	if a.kind == unknown {
		i := 0
		for i < len(b) && strings.IndexByte(" \t\r\n\xEF\xBB\xBF", b[i]) >= 0 { // a byte order mark may be cut too
			i++
		}
		switch {
		case i == len(b):
		case b[i] == '{' || b[i] == '[':
			a.kind = document
			b = b[i:]
		default:
			a.kind = eventStream
		}
	}
	if a.kind == document {
		if len(s.body)+len(b) > maxBody {
			return a.malformed(fmt.Sprintf("the body is longer than %d bytes", maxBody), nil)
		}
		s.body = append(s.body, b...)
		return nil
	}
	s.parser.Feed(b, at)
	for ev, ok := s.parser.Next(); ok; ev, ok = s.parser.Next() {
		if err := a.event(ev); err != nil {
			a.end = ev.At
			return err
		}
	}
	if err := s.parser.Err(); err != nil {
		return a.malformed(err.Error(), nil)
	}
	return nil
}

// bodyEnd takes the end of the body, or the loss of the connection, err.
func (a *answer) bodyEnd(err error, s *scratch) error {
	switch a.kind {
	case document:
		if !wellformed.JSON(s.body) {
			if err == io.EOF {
				return a.malformed("the body is not JSON", s.body)
			}
			return err
		}
		if err := a.document(s.body); err != nil {
			return err
		}
		return errDone
	default:
		if ev, ok := s.parser.Rest(); ok && isDone(ev.Data) {
			a.end = ev.At
			return a.done()
		}
	}
	return err
}

// done is what [DONE] says: the end, but not of a protocol that ends with an event of its own.
func (a *answer) done() error {
	if a.endpoint == Responses {
		return io.EOF
	}
	return errDone
}

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

// event takes one event of a stream. An error ends the reading.
func (a *answer) event(ev sse.Event) error {
	data := bytes.TrimSpace(ev.Data)
	if len(data) == 0 { // some servers' way to keep the connection alive
		return nil
	}
	a.events++
	if isDone(data) {
		return a.done()
	}
	named := string(ev.Name) == "error"
	if text, ok := a.like.match(data); ok && !named {
		if a.texts && a.chunk.index == 0 {
			a.trace.Text(a.chunk.kind, string(text))
		}
		return a.token(ev.At)
	}
	if !wellformed.JSON(data) || data[0] != '{' {
		if named {
			return a.errorEvent(gjson.Result{Type: gjson.String, Str: string(data)})
		}
		return a.malformed(fmt.Sprintf("event %d is not a JSON object", a.events), data)
	}
	switch a.endpoint {
	case Embeddings:
		return a.malformed("a stream of events where one JSON body was asked for", data)
	case Responses:
		if err := a.takeEvent(view(data)); err != nil {
			return err
		}
	default:
		if err := a.take(view(data), false); err != nil {
			return err
		}
	}
	a.like.set(data, &a.chunk)
	if a.chunk.output || a.chunk.reasoning {
		if err := a.token(ev.At); err != nil {
			return err
		}
	}
	switch {
	case a.chunk.err.Exists():
		return a.errorEvent(a.chunk.err)
	case named:
		return a.errorEvent(gjson.Parse(view(data)))
	case a.chunk.end:
		return errDone
	}
	return nil
}

// token books the chunk at hand as a token event.
func (a *answer) token(at time.Time) error {
	if a.tokens++; a.tokens > maxEvents {
		return a.malformed(fmt.Sprintf("more than %d token events", maxEvents), nil)
	}
	n := a.attribute()
	if a.chunk.output {
		a.trace.TokenAt(at, n)
	} else {
		a.trace.ReasoningAt(at, n)
	}
	return nil
}

// attribute is how many tokens a token event carried; 0: nobody said. It is what the usage figure has grown by since the
// token event before, where each so far had a figure, and at least 1; else the number of log-probability entries.
func (a *answer) attribute() int {
	c := &a.chunk
	n := c.logprobs
	a.figures = a.figures && c.out > 0
	if a.figures {
		n = max(1, c.out-a.counted)
	}
	a.counted += max(1, n)
	return n
}

// document takes a whole JSON body: what the endpoint yields, or an error.
func (a *answer) document(body []byte) error {
	if body[0] != '{' {
		return a.malformed("the body is not a JSON object", body)
	}
	var err error
	what := "choices"
	switch a.endpoint {
	case Embeddings:
		what = "data"
		err = a.takeEmbeddings(view(body))
	case Responses:
		what = "output"
		a.chunk = chunk{}
		err = a.takeResponse(gjson.Parse(view(body)), "", true)
	default:
		err = a.take(view(body), true)
	}
	switch {
	case err != nil:
		return err
	case a.chunk.err.Exists():
		return a.errorEvent(a.chunk.err)
	case !a.chunk.choices:
		return a.malformed("the body has no "+what, body)
	case a.chunk.output || a.chunk.reasoning:
		a.trace.Output() // for a server that does not say how many tokens it is
	}
	return nil
}

// finish takes the finish reason of choice i. Of several choices the worst reason stands: error, then length.
func (a *answer) finish(i int, reason string) {
	for i/64 >= len(a.finished) {
		a.finished = append(a.finished, 0)
	}
	if bit := uint64(1) << (i % 64); a.finished[i/64]&bit == 0 {
		a.finished[i/64] |= bit
		a.finishes++
		if isLength(reason) {
			a.lengths++
		}
	}
	if a.reason != "error" && (!isLength(a.reason) || reason == "error") {
		a.reason = reason
	}
}

// isLength says whether a finish reason is that of a limit of tokens.
func isLength(reason string) bool { return reason == "length" || reason == "max_output_tokens" }

// verdict is what became of the request, once reading has stopped for the reason stop. The order is that of the
// project's definitions.
func (a *answer) verdict(stop error) error {
	if stop == errDone && a.lengths == 0 && a.reason != "error" { // which is most
		a.trace.EndAt(a.end)
		return nil
	}
	var found *loadgen.OutcomeError
	isFound := errors.As(stop, &found)
	switch {
	case isFound && found.Outcome != goodput.Malformed: // an error event
		return stop
	case a.reason == "error":
		return loadgen.Fail(goodput.ServerError, "finish reason error")
	case isFound:
		return stop
	case a.lengths > 0 && a.limit == 0:
		return loadgen.Fail(goodput.Truncated, "finish reason "+a.reason+", though the request set no limit")
	case a.lengths > 0 && a.out > 0 && a.out < a.limit*a.lengths:
		return loadgen.Fail(goodput.Truncated, fmt.Sprintf("finish reason %s after %d tokens of %d", a.reason, a.out, a.limit*a.lengths))
	case errors.Is(stop, errDone), a.finishes >= a.choices:
		a.trace.EndAt(a.end)
		return nil
	case stop != io.EOF: // which a body returns as it is when it has come to its proper end
		return stop
	case a.kind == unknown:
		return loadgen.Fail(goodput.Truncated, "the body is empty")
	case a.events == 0 && httpclient.MediaType(a.header) != "text/event-stream":
		return loadgen.Fail(goodput.Malformed, "the body is neither an event stream nor JSON")
	}
	return loadgen.Fail(goodput.Truncated, a.endpoint.end())
}

// report tells the trace what the server said of the whole answer.
func (a *answer) report() {
	if a.in > 0 || a.out > 0 {
		a.trace.Usage(a.in, a.out)
	}
	if a.reason != "" {
		a.trace.Finish(finishReason(a.redact, a.reason))
	}
}
