package openai

import (
	"math"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/loadgen"
)

// view is b as a string without a copy. What gjson gives of it points into b: it must be cloned to outlive b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// chunk is what is in one chunk of a stream, or in a whole completion.
type chunk struct {
	output    bool // text, a tool call, a refusal, a transcript
	reasoning bool
	logprobs  int // entries
	out       int // the usage figure; 0: none
	choices   bool
	err       gjson.Result // an error object
	texts     int          // pieces of text
	text      gjson.Result // the last of them
	number    gjson.Result // that of an event of the Responses API, which says nothing
	kind      loadgen.TextKind
	index     int  // of its choice
	end       bool // it is the end marker
}

// take takes in what an object says: what counts for this one alone into a.chunk, finish reasons and usage into a, text
// to whoever wants it. isWhole: it is a completion with messages and not a chunk with deltas.
func (a *answer) take(json string, isWhole bool) (err error) {
	doc := gjson.Parse(json)
	c := &a.chunk
	*c = chunk{}
	doc.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "choices":
			if v.Type == gjson.Null {
				break
			}
			if !v.IsArray() {
				err = a.malformed("choices is not an array", []byte(v.Raw))
				return false
			}
			c.choices = true
			i := -1
			v.ForEach(func(_, v gjson.Result) bool {
				i++
				err = a.choice(v, i, isWhole)
				return err == nil
			})
		case "usage":
			if v.Type == gjson.JSON {
				c.out = a.usage(v)
			}
		case "error":
			if v.Type == gjson.JSON || v.Type == gjson.String && v.Str != "" {
				c.err = v
			}
		case "object":
			if v.Str == "error" {
				c.err = doc
			}
		}
		return err == nil
	})
	return err
}

// usage takes the server's token counts, as far as it says them, and returns that of the output.
func (a *answer) usage(v gjson.Result) (out int) {
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "prompt_tokens", "input_tokens":
			if n := count(v); n > 0 {
				a.in = n
			}
		case "completion_tokens", "output_tokens":
			if out = count(v); out > 0 {
				a.out = out
			}
		}
		return true
	})
	return out
}

// count is a number of tokens; 0: it is none.
func count(v gjson.Result) int {
	if v.Type != gjson.Number || v.Num < 1 || v.Num > math.MaxInt32 {
		return 0
	}
	return int(v.Num)
}

// choice takes the choice that stands at position pos.
func (a *answer) choice(choice gjson.Result, pos int, isWhole bool) (err error) {
	if !choice.IsObject() {
		return a.malformed("a choice is not an object", []byte(choice.Raw))
	}
	part := "delta"
	if isWhole {
		part = "message"
	}
	index, reason := pos, ""
	var content gjson.Result
	choice.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "index":
			if v.Type == gjson.Number {
				index = int(v.Num)
			}
		case "finish_reason":
			reason = v.Str
		case "text", part:
			switch {
			case v.Type == gjson.Null:
			case key.Str == "text" && v.Type != gjson.String:
				err = a.malformed("text is not a string", []byte(v.Raw))
			case key.Str == part && !v.IsObject():
				err = a.malformed(part+" is not an object", []byte(v.Raw))
			default:
				content = v
			}
		case "logprobs":
			if v.IsObject() {
				a.chunk.logprobs += logprobs(v)
			}
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	if index < 0 || index >= maxChoices {
		return a.malformed("the index of a choice is out of range", nil)
	}
	a.choices = max(a.choices, index+1)
	a.chunk.index = index
	if content.Type == gjson.String {
		a.add(loadgen.Content, content)
	} else {
		a.message(content)
	}
	if reason != "" {
		a.finish(index, own(reason))
	}
	return nil
}

// own is a finish reason in memory of its own.
func own(reason string) string {
	switch reason {
	case "stop":
		return "stop"
	case "length":
		return "length"
	}
	return strings.Clone(reason)
}

// logprobs is the number of entries: chat's content and refusal, completions' tokens.
func logprobs(v gjson.Result) (n int) {
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "content", "refusal", "tokens":
			if v.IsArray() {
				v.ForEach(func(_, _ gjson.Result) bool {
					n++
					return true
				})
			}
		}
		return true
	})
	return n
}

// add takes a piece of text; anything but a string with something in it is none. Of several choices the first one's text
// is handed on.
func (a *answer) add(kind loadgen.TextKind, v gjson.Result) {
	if v.Type != gjson.String || v.Str == "" {
		return
	}
	c := &a.chunk
	if kind == loadgen.ReasoningText {
		c.reasoning = true
	} else {
		c.output = true
	}
	c.texts++
	c.text, c.kind = v, kind
	if a.texts && c.index == 0 {
		a.trace.Text(kind, strings.Clone(v.Str))
	}
}

// message takes the text of a delta or a message.
func (a *answer) message(m gjson.Result) {
	if !m.IsObject() {
		return
	}
	reasoned := false
	m.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "content":
			if v.IsArray() {
				a.parts(v)
			} else {
				a.add(loadgen.Content, v)
			}
		case "reasoning", "reasoning_content": // some servers send the same under both names
			if !reasoned {
				a.add(loadgen.ReasoningText, v)
				reasoned = v.Str != ""
			}
		case "refusal":
			a.add(loadgen.RefusalText, v)
		case "tool_calls":
			if v.IsArray() {
				v.ForEach(func(_, call gjson.Result) bool {
					a.call(call.Get("function"))
					a.call(call.Get("custom"))
					return true
				})
			}
		case "function_call":
			a.call(v)
		case "audio":
			if v.IsObject() {
				a.add(loadgen.Content, v.Get("transcript"))
			}
		}
		return true
	})
}

// call takes a tool call, or a piece of one: its name or its arguments are output.
func (a *answer) call(v gjson.Result) {
	if !v.IsObject() {
		return
	}
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "name":
			if v.Str != "" {
				a.chunk.output = true
			}
		case "arguments", "input":
			if v.Type == gjson.JSON { // some servers send the object itself
				v = gjson.Result{Type: gjson.String, Str: v.Raw}
			}
			a.add(loadgen.ToolArguments, v)
		}
		return true
	})
}

// parts takes content that is a list of parts: text, and thinking with parts of its own.
func (a *answer) parts(list gjson.Result) {
	list.ForEach(func(_, part gjson.Result) bool {
		switch thinking := part.Get("thinking"); {
		case thinking.IsArray():
			thinking.ForEach(func(_, v gjson.Result) bool {
				a.add(loadgen.ReasoningText, v.Get("text"))
				return true
			})
		case thinking.Exists():
			a.add(loadgen.ReasoningText, thinking)
		default:
			a.add(loadgen.Content, part.Get("text"))
		}
		return true
	})
}
