// Package chatevent reads the events of OpenAI's streams: the chunks of chat completions and of completions, and the events of
// the Responses API. What is output in them and what is not, who watches a server's answers and who admits its requests tell
// alike; loadgen/openai, which also wants the texts, shares the names.
package chatevent

import (
	"bytes"
	"net/http"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/internal/wellformed"
)

// Event is what one event says. Its texts point into the data that it was read from.
type Event struct {
	Empty     bool // there is no data
	Malformed bool // it is no JSON
	Foreign   bool // it is JSON, and not of a kind that is known here
	Marker    bool // [DONE], which ends the streams of completions and says nothing in those of the Responses API
	Response  bool // it is an event of the Responses API

	Output    bool // text, a refusal, a tool call's name or arguments, a transcript
	Reasoning bool
	Entries   int // log-probability entries

	In, Out  int    // the usage figures; 0: none
	Finish   string // why the answer, or a choice of it, ended
	Complete bool   // it is the last event of a stream that has no marker
	Cut      bool   // it says that the answer is not complete, for no reason that the request gave

	Failed  bool // it is an error, or ends with one
	Limited bool // and that one says that there were too many requests
}

const doneMarker = "[DONE]"

// Read reads the data of one event.
func Read(data []byte) (e Event) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return Event{Empty: true}
	case string(data) == doneMarker:
		return Event{Marker: true}
	case !wellformed.JSON(data):
		return Event{Malformed: true}
	}
	e.read(gjson.Parse(unsafe.String(unsafe.SliceData(data), len(data))), "delta")
	return e
}

// Whole reads a body that is one completion or one response, not streamed.
func Whole(body []byte) (e Event) {
	if !wellformed.JSON(body) {
		return Event{Malformed: true}
	}
	doc := gjson.Parse(unsafe.String(unsafe.SliceData(body), len(body)))
	if doc.Get("output").IsArray() {
		e.response(doc, "")
		return e
	}
	e.read(doc, "message")
	return e
}

// read takes a chunk, whose choices have their text in part.
func (e *Event) read(doc gjson.Result, part string) {
	if err := doc.Get("error"); isError(err) {
		e.fail(err, doc)
		return
	}
	if doc.Get("object").Str == "error" {
		e.fail(doc, doc)
		return
	}
	if typ := doc.Get("type").Str; typ == "error" || strings.HasPrefix(typ, "response.") {
		e.typed(typ, doc)
		return
	}
	e.Foreign = true
	doc.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "choices":
			e.Foreign = false
			v.ForEach(func(_, choice gjson.Result) bool {
				e.choice(choice, part)
				return true
			})
		case "usage":
			e.Foreign = false
			e.usage(v)
		}
		return true
	})
}

func isError(v gjson.Result) bool { return v.Type == gjson.JSON || some(v) }

// fail takes an error; where it is no more than a text, what it stands in has the rest.
func (e *Event) fail(err, doc gjson.Result) {
	if !err.IsObject() {
		err = doc
	}
	e.Failed = true
	for _, key := range [...]string{"code", "type", "status", "status_code"} {
		if v := err.Get(key); v.Num == http.StatusTooManyRequests || v.Str == "429" || strings.Contains(v.Str, "rate_limit") || v.Str == "too_many_requests" {
			e.Limited = true
		}
	}
}

func (e *Event) choice(choice gjson.Result, part string) {
	choice.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "text":
			e.Output = e.Output || some(v)
		case part:
			e.delta(v)
		case "logprobs":
			v.ForEach(func(key, v gjson.Result) bool {
				if k := key.Str; v.IsArray() && (k == "content" || k == "refusal" || k == "tokens") {
					e.Entries += int(v.Get("#").Int())
				}
				return true
			})
		case "finish_reason":
			if v.Type == gjson.String && v.Str != "" {
				e.finish(v.Str)
			}
		}
		return true
	})
}

func (e *Event) finish(reason string) {
	e.Finish = reason
	e.Failed = e.Failed || reason == "error"
}

// some says that v is a text with something in it.
func some(v gjson.Result) bool { return v.Type == gjson.String && v.Str != "" }

// call says whether a tool's call, or a piece of one, has something that the model wrote.
func call(v gjson.Result) (has bool) {
	if !v.IsObject() {
		return false
	}
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "name":
			has = has || some(v)
		case "arguments", "input":
			has = has || some(v) || v.Type == gjson.JSON // some servers send the object itself
		}
		return true
	})
	return has
}

// delta says what a choice's piece carries.
func (e *Event) delta(delta gjson.Result) {
	delta.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "content":
			if v.IsArray() {
				e.parts(v)
			}
			e.Output = e.Output || some(v)
		case "refusal":
			e.Output = e.Output || some(v)
		case "reasoning", "reasoning_content":
			e.Reasoning = e.Reasoning || some(v)
		case "tool_calls":
			if v.IsArray() {
				v.ForEach(func(_, one gjson.Result) bool {
					e.Output = e.Output || call(one.Get("function")) || call(one.Get("custom"))
					return true
				})
			}
		case "function_call":
			e.Output = e.Output || call(v)
		case "audio":
			e.Output = e.Output || some(v.Get("transcript"))
		}
		return true
	})
}

// parts takes content that is a list of parts: text, and thinking, which may have parts of its own.
func (e *Event) parts(list gjson.Result) {
	list.ForEach(func(_, part gjson.Result) bool {
		switch thinking := part.Get("thinking"); {
		case thinking.IsArray():
			thinking.ForEach(func(_, v gjson.Result) bool {
				e.Reasoning = e.Reasoning || some(v.Get("text"))
				return true
			})
		case thinking.Exists():
			e.Reasoning = e.Reasoning || some(thinking)
		default:
			e.Output = e.Output || some(part.Get("text"))
		}
		return true
	})
}

// usage takes the server's counts.
func (e *Event) usage(v gjson.Result) {
	v.ForEach(func(key, v gjson.Result) bool {
		if v.Type != gjson.Number || v.Num < 1 || v.Num > 1<<31-1 {
			return true
		}
		switch key.Str {
		case "prompt_tokens", "input_tokens":
			e.In = int(v.Num)
		case "completion_tokens", "output_tokens":
			e.Out = int(v.Num)
		}
		return true
	})
}

// Stream tells how many tokens the events of one stream carry. The zero Stream is ready for the first.
type Stream struct {
	unsaid bool // some token event so far had no usage figure
	figure int  // the last one
}

// Tokens is how many tokens an event with output or reasoning carries: the growth of the usage figure where each of them so far had
// one, else the number of its log-probability entries; 0: nobody says.
func (s *Stream) Tokens(e *Event) int {
	if s.unsaid = s.unsaid || e.Out == 0; s.unsaid {
		return e.Entries
	}
	n := e.Out - s.figure
	s.figure = e.Out
	return max(n, 0)
}
