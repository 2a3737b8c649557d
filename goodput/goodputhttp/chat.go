package goodputhttp

import (
	"net/http"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/chatevent"
	"github.com/goodputkit/goodputkit/internal/sse"
)

// ChatCounter is a [Config.Counter] for answers of OpenAI's chat completions, completions and responses, and what speaks them: of a
// stream it takes those events for token events that carry output (text, reasoning, a refusal, a tool call's name or arguments, a
// transcript), and neither a role nor an empty delta or the usage. How many tokens an event carries is the growth of the usage figure,
// where each event has one; else the number of its log-probability entries; else 1. Usage and finish reason go into the record. An error
// event, a finish reason "error" and a failed response are a [goodput.ServerError], or [goodput.RateLimited] where the event says so; an
// event that is no JSON is [goodput.Malformed], an answer with no output [goodput.Empty], and one with neither [DONE] nor a finish
// reason nor a response that is over [goodput.Truncated]. Of a whole answer in JSON, of up to 1 MiB, it takes usage and finish reason.
// Any other answer is [CounterFor]'s.
//
// An event takes about as long as gjson takes to go through it once, which is more than [SSE] takes.
func ChatCounter(_ *http.Request, header http.Header) TokenCounter {
	switch mediaType(header) {
	case "text/event-stream":
		c := &chatStream{}
		c.eventReader.each = c.event
		return c
	case "application/json":
		return &chatWhole{}
	}
	return CounterFor(header)
}

type chatStream struct {
	eventReader
	figures  chatevent.Stream
	tokens   bool // there was one
	finished bool // there was a finish reason, or the end marker
	response bool // it is a stream of the Responses API, whose end is an event and no marker
	over     bool // nothing that follows counts
}

// event takes one event.
func (c *chatStream) event(t *Tally, data []byte) {
	if c.over {
		return
	}
	e := chatevent.Read(data)
	if c.response = c.response || e.Response; c.response && e.Marker {
		return
	}
	c.finished = c.finished || e.Marker || e.Finish != ""
	c.over = e.Marker || e.Complete || e.Malformed || e.Failed && e.Finish == ""
	if e.Malformed {
		t.Fail(goodput.Malformed, "a chunk is no JSON, or not what its type says")
		return
	}
	tell(t, &e)
	if e.Output || e.Reasoning {
		c.tokens = true
		if n := c.figures.Tokens(&e); e.Output {
			t.Token(n)
		} else {
			t.Reasoning(n)
		}
	}
	if e.Marker || e.Complete {
		c.empty(t)
		t.EndMarker()
	}
}

// End is the end of the stream, whose marker may lack its own.
func (c *chatStream) End(t *Tally) {
	c.eventReader.End(t)
	if !c.finished && !c.over {
		t.Fail(goodput.Truncated, "the stream ended with neither an end marker nor a finish reason")
		return
	}
	c.empty(t)
}

func (c *chatStream) empty(t *Tally) {
	if !c.tokens {
		t.Fail(goodput.Empty, "not one token of output")
	}
}

// tell tells t what an event, or a whole answer, says beside its tokens.
func tell(t *Tally, e *chatevent.Event) {
	t.Usage(e.In, e.Out)
	if e.Finish != "" { // of which the record keeps no more than a word
		t.Finish(strings.Clone(e.Finish[:min(len(e.Finish), 32)]))
	}
	switch {
	case e.Limited:
		t.Fail(goodput.RateLimited, "the answer has an error")
	case e.Failed && e.Finish != "":
		t.Fail(goodput.ServerError, "the finish reason is error")
	case e.Failed:
		t.Fail(goodput.ServerError, "the answer has an error")
	case e.Cut:
		t.Fail(goodput.Truncated, "the answer says that it is incomplete")
	}
}

// chatWhole keeps a whole answer, up to a limit beyond which nothing is known of it.
type chatWhole struct {
	body []byte
	long bool
}

func (c *chatWhole) Count(_ *Tally, p []byte) {
	if c.long = c.long || len(c.body)+len(p) > sse.DefaultLimit; c.long {
		c.body = nil
		return
	}
	c.body = append(c.body, p...)
}

func (c *chatWhole) End(t *Tally) {
	if c.long {
		return
	}
	e := chatevent.Whole(c.body)
	if e.Malformed {
		t.Fail(goodput.Malformed, "the body is no JSON")
		return
	}
	tell(t, &e)
}
