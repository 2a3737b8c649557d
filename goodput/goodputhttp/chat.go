package goodputhttp

import (
	"bytes"
	"net/http"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/sse"
	"github.com/goodputkit/goodputkit/internal/wellformed"
)

// ChatCounter is a [Config.Counter] for answers of OpenAI's chat completions and completions, and what speaks them: of a stream it
// takes those chunks for token events that carry output (text, reasoning, a refusal, a tool call's name or arguments, a transcript), and
// neither a role nor an empty delta or the usage. How many tokens an event carries is the growth of the usage figure, where each
// event has one; else the number of its log-probability entries; else 1. Usage and finish reason go into the record. An error
// event and a finish reason "error" are a [goodput.ServerError], or [goodput.RateLimited] where the event says so; a chunk that is no
// JSON is [goodput.Malformed], an answer with no output [goodput.Empty], and one with neither [DONE] nor a finish reason
// [goodput.Truncated]. Of a whole completion in JSON, of up to 1 MiB, it takes usage and finish reason. Any other answer is
// [CounterFor]'s.
//
// A chunk takes about as long as gjson takes to go through it once, which is more than [SSE] takes.
func ChatCounter(_ *http.Request, header http.Header) TokenCounter {
	switch mediaType(header) {
	case "text/event-stream":
		c := &chatStream{figures: true}
		c.eventReader.each = c.event
		return c
	case "application/json":
		return &chatWhole{}
	}
	return CounterFor(header)
}

type chatStream struct {
	eventReader
	figures  bool // each token event so far had a usage figure
	figure   int  // the last one
	tokens   bool // there was one
	finished bool // there was a finish reason, or the end marker
	over     bool // nothing that follows counts
}

// event takes one event.
func (c *chatStream) event(t *Tally, data []byte) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0, c.over:
		return
	case string(data) == doneMarker:
		c.finished, c.over = true, true
		c.empty(t)
		t.EndMarker()
		return
	case !wellformed.JSON(data):
		c.over = true
		t.Fail(goodput.Malformed, "a chunk is no JSON")
		return
	}
	doc := gjson.Parse(unsafe.String(unsafe.SliceData(data), len(data))) // of which nothing is kept
	if failed(t, doc) {
		c.over = true
		return
	}
	output, reasoning, entries := false, false, 0
	doc.Get("choices").ForEach(func(_, choice gjson.Result) bool {
		o, r := delta(choice)
		output, reasoning = output || o, reasoning || r
		choice.Get("logprobs").ForEach(func(key, v gjson.Result) bool {
			if k := key.Str; v.IsArray() && (k == "content" || k == "refusal" || k == "tokens") {
				entries += int(v.Get("#").Int())
			}
			return true
		})
		if reason := choice.Get("finish_reason"); reason.Type == gjson.String && reason.Str != "" {
			c.finished = true
			finish(t, reason.Str)
		}
		return true
	})
	figure := usage(t, doc.Get("usage"))
	if !output && !reasoning {
		return
	}
	c.tokens = true
	if c.figures = c.figures && figure > 0; c.figures {
		entries, c.figure = figure-c.figure, figure
	}
	if output {
		t.Token(max(entries, 0))
	} else {
		t.Reasoning(max(entries, 0))
	}
}

// End is the end of the stream, whose marker may lack its own.
func (c *chatStream) End(t *Tally) {
	c.eventReader.End(t)
	if !c.finished {
		t.Fail(goodput.Truncated, "the stream ended with neither [DONE] nor a finish reason")
		return
	}
	c.empty(t)
}

func (c *chatStream) empty(t *Tally) {
	if !c.tokens {
		t.Fail(goodput.Empty, "not one token of output")
	}
}

// delta says what a choice's piece carries.
func delta(choice gjson.Result) (output, reasoning bool) {
	some := func(v gjson.Result) bool {
		return v.Type == gjson.String && v.Str != "" || v.IsArray() && v.Get("#").Int() > 0
	}
	call := func(v gjson.Result) bool {
		arguments := v.Get("arguments")
		return some(v.Get("name")) || some(arguments) || arguments.IsObject() || some(v.Get("input"))
	}
	if some(choice.Get("text")) {
		return true, false
	}
	choice.Get("delta").ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "content", "refusal":
			output = output || some(v)
		case "reasoning", "reasoning_content":
			reasoning = reasoning || some(v)
		case "tool_calls":
			v.ForEach(func(_, one gjson.Result) bool {
				output = output || call(one.Get("function")) || call(one.Get("custom"))
				return true
			})
		case "function_call":
			output = output || call(v)
		case "audio":
			output = output || some(v.Get("transcript"))
		}
		return true
	})
	return output, reasoning
}

// failed takes an error event.
func failed(t *Tally, doc gjson.Result) bool {
	e := doc.Get("error")
	switch {
	case e.IsObject():
	case e.Type == gjson.String && e.Str != "", doc.Get("object").Str == "error":
		e = doc
	default:
		return false
	}
	o := goodput.ServerError
	for _, key := range []string{"code", "type", "status", "status_code"} {
		if v := e.Get(key); v.Num == http.StatusTooManyRequests || v.Str == "429" || strings.Contains(v.Str, "rate_limit") {
			o = goodput.RateLimited
		}
	}
	t.Fail(o, "the answer has an error")
	return true
}

// finish takes a finish reason, of which the record keeps no more than a word.
func finish(t *Tally, reason string) {
	t.Finish(strings.Clone(reason[:min(len(reason), 32)]))
	if reason == "error" {
		t.Fail(goodput.ServerError, "the finish reason is error")
	}
}

// usage takes the server's counts and returns that of the output; 0: it does not say.
func usage(t *Tally, v gjson.Result) int {
	if !v.IsObject() {
		return 0
	}
	count := func(keys ...string) int {
		for _, key := range keys {
			if n := v.Get(key); n.Type == gjson.Number && n.Num >= 1 && n.Num <= 1<<31-1 {
				return int(n.Num)
			}
		}
		return 0
	}
	out := count("completion_tokens", "output_tokens")
	t.Usage(count("prompt_tokens", "input_tokens"), out)
	return out
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
	if !wellformed.JSON(c.body) {
		t.Fail(goodput.Malformed, "the body is no JSON")
		return
	}
	doc := gjson.ParseBytes(c.body)
	if failed(t, doc) {
		return
	}
	usage(t, doc.Get("usage"))
	if reason := doc.Get("choices.0.finish_reason"); reason.Type == gjson.String && reason.Str != "" {
		finish(t, reason.Str)
	}
}
