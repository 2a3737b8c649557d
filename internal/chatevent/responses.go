package chatevent

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Piece is what an event of the Responses API with a delta carries a piece of.
type Piece uint8

// The pieces.
const (
	NoPiece Piece = iota
	Text
	Reasoning
	Refusal
	Arguments // of a tool, in whatever form that takes them
)

// PieceOf is what the delta is of an event of a type. Types are added now and then: one that is not known carries nothing.
func PieceOf(typ string) Piece {
	switch typ {
	case "response.output_text.delta", "response.audio.transcript.delta":
		return Text
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta", "response.reasoning.delta", "response.reasoning_summary.delta":
		return Reasoning
	case "response.refusal.delta":
		return Refusal
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta",
		"response.code_interpreter_call_code.delta":
		return Arguments
	}
	return NoPiece
}

// IsCall says whether an output item of a type is the call of a tool whose name and arguments the model writes.
func IsCall(typ string) bool {
	switch typ {
	case "function_call", "custom_tool_call", "mcp_call":
		return true
	}
	return false
}

// typed takes an event of the Responses API.
func (e *Event) typed(typ string, doc gjson.Result) {
	e.Response = typ != "error"
	switch piece := PieceOf(typ); {
	case piece != NoPiece:
		delta := doc.Get("delta")
		e.Malformed = delta.Exists() && delta.Type != gjson.String && delta.Type != gjson.Null
		if delta.Type == gjson.String && delta.Str != "" {
			e.Reasoning, e.Output = piece == Reasoning, piece != Reasoning
			e.Entries = int(doc.Get("logprobs.#").Int())
		}
	case typ == "error":
		e.fail(doc, doc)
	case typ == "response.output_item.added":
		item := doc.Get("item")
		e.Output = IsCall(item.Get("type").Str) && item.Get("name").Str != ""
	case typ == "response.completed", typ == "response.incomplete", typ == "response.failed":
		response := doc.Get("response")
		if !response.IsObject() {
			e.Malformed = true
			return
		}
		e.Complete = true
		e.response(response, strings.TrimPrefix(typ, "response."))
		e.Output, e.Reasoning = false, false // nobody saw it come
	}
}

// response takes a whole response object. What its own status says goes before status: some servers say response.completed
// of an incomplete one.
func (e *Event) response(v gjson.Result, status string) {
	if own := v.Get("status").Str; own != "" {
		status = own
	}
	e.usage(v.Get("usage"))
	v.Get("output").ForEach(func(_, item gjson.Result) bool {
		e.item(item)
		return true
	})
	switch err := v.Get("error"); {
	case isError(err):
		e.fail(err, v)
	case status == "failed", status == "cancelled":
		e.Failed = true
	case status == "completed":
		e.Finish = status
	case status == "incomplete":
		e.Finish = v.Get("incomplete_details.reason").Str
		e.Cut = e.Finish != "max_output_tokens" && e.Finish != "content_filter"
	default:
		e.Cut = status != ""
	}
}

// item takes an output item.
func (e *Event) item(item gjson.Result) {
	texts := func(list gjson.Result, to *bool) {
		list.ForEach(func(_, part gjson.Result) bool {
			*to = *to || some(part.Get("text"))
			e.Output = e.Output || some(part.Get("refusal"))
			return true
		})
	}
	switch typ := item.Get("type").Str; {
	case typ == "message":
		texts(item.Get("content"), &e.Output)
	case typ == "reasoning": // the text itself, else what it comes to; without either nobody is shown any
		if content := item.Get("content"); content.IsArray() && content.Get("0").Exists() {
			texts(content, &e.Reasoning)
		} else {
			texts(item.Get("summary"), &e.Reasoning)
		}
	case IsCall(typ):
		e.Output = e.Output || call(item)
	}
}
