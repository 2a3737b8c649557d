package openai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/chatevent"
	"github.com/goodputkit/goodputkit/loadgen"
)

// takeEvent takes in what one event of a stream of the Responses API says. Which it is stands in its type; one of a type
// that says nothing of tokens or of the end is passed over, whatever it is, since types are added now and then.
func (a *answer) takeEvent(json string) error {
	doc := gjson.Parse(json)
	c := &a.chunk
	*c = chunk{}
	var delta, item, response gjson.Result
	typ := ""
	doc.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "type":
			typ = v.Str
		case "sequence_number":
			c.number = v
		case "delta":
			delta = v
		case "item":
			item = v
		case "response":
			response = v
		case "logprobs":
			if v.IsArray() {
				v.ForEach(func(_, _ gjson.Result) bool {
					c.logprobs++
					return true
				})
			}
		case "error":
			if v.Type == gjson.JSON || v.Type == gjson.String && v.Str != "" {
				c.err = v
			}
		}
		return true
	})
	if c.err.Exists() {
		return nil
	}
	switch chatevent.PieceOf(typ) {
	case chatevent.Text:
		return a.delta(loadgen.Content, delta)
	case chatevent.Reasoning:
		return a.delta(loadgen.ReasoningText, delta)
	case chatevent.Refusal:
		return a.delta(loadgen.RefusalText, delta)
	case chatevent.Arguments:
		return a.delta(loadgen.ToolArguments, delta)
	}
	switch typ {
	case "response.output_item.added":
		c.output = chatevent.IsCall(item.Get("type").Str) && item.Get("name").Str != ""
	case "response.completed", "response.incomplete", "response.failed":
		if !response.IsObject() {
			return a.malformed(typ+" has no response", []byte(json))
		}
		c.end = true
		err := a.takeResponse(response, strings.TrimPrefix(typ, "response."), a.tokens == 0)
		if c.output || c.reasoning { // there is output, but nobody saw it come
			a.trace.Output()
			c.output, c.reasoning = false, false
		}
		return err
	case "error":
		c.err = doc
	}
	return nil
}

// delta takes a piece of text of an event.
func (a *answer) delta(kind loadgen.TextKind, v gjson.Result) error {
	if v.Exists() && v.Type != gjson.String && v.Type != gjson.Null {
		return a.malformed("delta is not a string", []byte(v.Raw))
	}
	a.add(kind, v)
	return nil
}

// takeResponse takes a whole response object: how it ended, what was counted, and its output if nobody has seen it yet.
// What its own status says goes before status: some servers (vLLM) say response.completed of an incomplete one.
func (a *answer) takeResponse(v gjson.Result, status string, unseen bool) error {
	var reason string
	var failure gjson.Result
	v.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "status":
			if v.Str != "" {
				status = v.Str
			}
		case "incomplete_details":
			reason = v.Get("reason").Str
		case "error":
			if v.Type == gjson.JSON || v.Type == gjson.String && v.Str != "" {
				failure = v
			}
		case "usage":
			if v.Type == gjson.JSON {
				a.usage(v)
			}
		case "output":
			if v.IsArray() {
				a.chunk.choices = true
				if unseen {
					v.ForEach(func(_, item gjson.Result) bool {
						a.item(item)
						return true
					})
				}
			}
		}
		return true
	})
	switch {
	case failure.Exists():
		a.chunk.err = failure
	case status == "failed", status == "cancelled":
		a.chunk.err = gjson.Result{Type: gjson.String, Str: "the response is " + status}
	case status == "completed":
		a.finish(0, status)
	case status == "incomplete" && (reason == "max_output_tokens" || reason == "content_filter"):
		a.finish(0, reason)
	case status != "":
		return loadgen.Fail(goodput.Truncated, a.redact.Line("the response is "+strings.TrimSpace(status+" "+reason), a.request, false))
	}
	return nil
}

// item takes the text of an output item.
func (a *answer) item(item gjson.Result) {
	texts := func(list gjson.Result, kind loadgen.TextKind) {
		list.ForEach(func(_, part gjson.Result) bool {
			a.add(kind, part.Get("text"))
			a.add(loadgen.RefusalText, part.Get("refusal"))
			return true
		})
	}
	switch typ := item.Get("type").Str; {
	case typ == "message":
		texts(item.Get("content"), loadgen.Content)
	case typ == "reasoning": // the text itself, else what it comes to
		if content := item.Get("content"); content.IsArray() && content.Get("0").Exists() {
			texts(content, loadgen.ReasoningText)
		} else {
			texts(item.Get("summary"), loadgen.ReasoningText)
		}
	case chatevent.IsCall(typ):
		a.call(item)
	}
}
