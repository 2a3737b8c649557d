package openai

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// pieces is a body that comes as it is cut, and then ends with err, or io.EOF.
type pieces struct {
	b   [][]byte
	err error
}

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.b) > 0 && len(p.b[0]) == 0 {
		p.b = p.b[1:]
	}
	if len(p.b) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		return 0, io.EOF
	}
	n := copy(b, p.b[0])
	p.b[0] = p.b[0][n:]
	return n, nil
}

func (p *pieces) Close() error { return nil }

// answered is what the target makes of a 200 with that body, without a network.
func answered(c Config, req *loadgen.Request, contentType string, body *pieces) (*goodput.Record, said) {
	c.BaseURL = "http://h" + c.BaseURL
	c.Client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		if contentType != "" {
			h.Set("Content-Type", contentType)
		}
		return &http.Response{StatusCode: 200, Header: h, Body: body, Request: r}, nil
	})}
	tgt, err := New(c)
	if err != nil {
		panic(err)
	}
	return doCtx(context.Background(), tgt, req)
}

func stream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return b.String()
}

// choice is a chunk with one choice.
func choice(fields string) string { return `{"choices":[{"index":0,` + fields + `}]}` }

func TestAnswers(t *testing.T) {
	const (
		sse   = "text/event-stream"
		js    = "application/json"
		text  = `"delta":{"content":"a"}`
		DONE  = "[DONE]"
		ended = `"delta":{},"finish_reason":"stop"`
	)
	long := strings.Repeat("x", 1<<20)
	lost := fmt.Errorf("read: %w", io.ErrUnexpectedEOF)
	for _, c := range []struct {
		name    string
		c       Config
		req     loadgen.Request
		typ     string
		body    string
		err     error // of the connection, behind the body
		outcome goodput.Outcome
		detail  string
		events  []int // tokens of each token event
		finish  string
		text    said
		in, out int
	}{
		// The end.
		{name: "lost after the marker", typ: sse, body: stream(choice(text), DONE), err: lost, outcome: goodput.Success, events: []int{0}},
		{name: "lost after every finish reason", typ: sse, body: stream(choice(text), choice(ended)), err: lost, outcome: goodput.Success,
			events: []int{0}, finish: "stop"},
		{name: "lost within the marker", typ: sse, body: stream(choice(text)) + "data: [DON", err: lost, outcome: goodput.Truncated,
			detail: "read: unexpected EOF", events: []int{0}},
		{name: "lost after a marker without its line feed", typ: sse, body: stream(choice(text)) + "data: [DONE]", err: lost,
			outcome: goodput.Success, events: []int{0}},
		{name: "an event without its empty line is none", typ: sse, body: stream(choice(text)) + "data: " + choice(ended) + "\n",
			outcome: goodput.Truncated, detail: "the body ended with no finish reason for every choice and no [DONE]", events: []int{0}},
		{name: "white space around the marker", typ: sse, body: stream(choice(text)) + "data:  [DONE] \n\n", outcome: goodput.Success, events: []int{0}},
		{name: "lost before a byte", typ: sse, err: lost, outcome: goodput.ConnectionError, detail: "read: unexpected EOF"},
		{name: "one of two choices", c: Config{Body: map[string]any{"n": 2}}, typ: sse, body: stream(choice(text), choice(ended)),
			outcome: goodput.Truncated, detail: "the body ended with no finish reason for every choice and no [DONE]", events: []int{0}, finish: "stop"},
		{name: "one of two choices, then the marker", c: Config{Body: map[string]any{"n": 2}}, typ: sse, body: stream(choice(text), choice(ended), DONE),
			outcome: goodput.Success, events: []int{0}, finish: "stop"},
		{name: "a choice that nobody asked for has to end too", typ: sse, outcome: goodput.Truncated,
			body:   stream(choice(text), `{"choices":[{"index":1,"delta":{"content":"b"}}]}`, choice(ended)),
			detail: "the body ended with no finish reason for every choice and no [DONE]", events: []int{0, 0}, finish: "stop", text: said{loadgen.Content: "a"}},
		{name: "the same choice ends twice", c: Config{Body: map[string]any{"n": 2}}, typ: sse, body: stream(choice(text), choice(ended), choice(ended)),
			outcome: goodput.Truncated, detail: "the body ended with no finish reason for every choice and no [DONE]", events: []int{0}, finish: "stop"},
		{name: "completions of two prompts", c: Config{Endpoint: Completions, Body: map[string]any{"prompt": []string{"a", "b"}}}, typ: sse,
			body:    stream(`{"choices":[{"index":0,"text":"a","finish_reason":"stop"}]}`),
			outcome: goodput.Truncated, detail: "the body ended with no finish reason for every choice and no [DONE]", events: []int{0}, finish: "stop",
			text: said{loadgen.Content: "a"}},

		// Length.
		{name: "length, limit of the body", req: loadgen.Request{MaxTokens: 9, Body: map[string]any{"max_tokens": 3}}, typ: sse,
			body:    stream(choice(text), choice(`"finish_reason":"length"`), `{"usage":{"completion_tokens":3}}`, DONE),
			outcome: goodput.Success, events: []int{0}, finish: "length", out: 3},
		{name: "length before the limit of the body", c: Config{Body: map[string]any{"max_completion_tokens": 4}}, typ: sse,
			body:    stream(choice(text), choice(`"finish_reason":"length"`), `{"usage":{"completion_tokens":3}}`, DONE),
			outcome: goodput.Truncated, detail: "finish reason length after 3 tokens of 4", events: []int{0}, finish: "length", out: 3},
		{name: "length without usage", req: loadgen.Request{MaxTokens: 9}, typ: sse,
			body:    stream(choice(text), choice(`"finish_reason":"length"`), DONE),
			outcome: goodput.Success, events: []int{0}, finish: "length"},
		{name: "length, a limit that is none", c: Config{Body: map[string]any{"max_tokens": -1}}, typ: sse,
			body:    stream(choice(text), choice(`"finish_reason":"length"`), DONE),
			outcome: goodput.Truncated, detail: "finish reason length, though the request set no limit", events: []int{0}, finish: "length"},
		{name: "length of one choice of two", c: Config{Body: map[string]any{"n": 2, "max_tokens": 4}}, typ: sse, outcome: goodput.Success,
			body: stream(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"length"},{"index":1,"delta":{},"finish_reason":"stop"}]}`,
				`{"usage":{"completion_tokens":5}}`, DONE), events: []int{0}, finish: "length", out: 5, text: said{loadgen.Content: "a"}},
		{name: "length of two choices of two", c: Config{Body: map[string]any{"n": 2, "max_tokens": 4}}, typ: sse, outcome: goodput.Truncated,
			body: stream(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"length"},{"index":1,"delta":{},"finish_reason":"length"}]}`,
				`{"usage":{"completion_tokens":7}}`, DONE), detail: "finish reason length after 7 tokens of 8", events: []int{0}, finish: "length", out: 7,
			text: said{loadgen.Content: "a"}},
		{name: "length goes before the loss", typ: sse, body: stream(choice(text), choice(`"finish_reason":"length"`)), err: lost,
			outcome: goodput.Truncated, detail: "finish reason length, though the request set no limit", events: []int{0}, finish: "length"},
		{name: "length goes before empty", typ: sse, body: stream(choice(`"finish_reason":"length"`), DONE),
			outcome: goodput.Truncated, detail: "finish reason length, though the request set no limit", finish: "length"},

		// Errors in a 200.
		{name: "an error goes before malformed", typ: sse, body: stream(choice(text), `{"error":{"message":"boom"}}`, "no"),
			outcome: goodput.ServerError, detail: "error event: boom", events: []int{0}},
		{name: "finish error goes before malformed", typ: sse, body: stream(choice(text), choice(`"finish_reason":"error"`), "no"),
			outcome: goodput.ServerError, detail: "finish reason error", events: []int{0}, finish: "error"},
		{name: "finish error goes before the loss", typ: sse, body: stream(choice(text), choice(`"finish_reason":"error"`)), err: lost,
			outcome: goodput.ServerError, detail: "finish reason error", events: []int{0}, finish: "error"},
		{name: "malformed goes before an error behind it", typ: sse, body: stream("no", `{"error":{"message":"boom"}}`),
			outcome: goodput.Malformed, detail: "event 1 is not a JSON object: no"},
		{name: "an error beside a token", typ: sse, body: stream(`{"error":{"message":"boom"},"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"error"}]}`, DONE),
			outcome: goodput.ServerError, detail: "error event: boom", events: []int{0}, finish: "error", text: said{loadgen.Content: "a"}},
		{name: "an error after the finish reason", typ: sse, body: stream(choice(text), choice(ended), `{"error":{"message":"boom"}}`),
			outcome: goodput.ServerError, detail: "error event: boom", events: []int{0}, finish: "stop"},
		{name: "an error after the marker is not read", typ: sse, body: stream(choice(text), DONE, `{"error":{"message":"boom"}}`),
			outcome: goodput.Success, events: []int{0}},
		{name: "no error", typ: sse, body: stream(`{"error":null,"choices":[{"index":0,"delta":{"content":"a"}}]}`, DONE),
			outcome: goodput.Success, events: []int{0}, text: said{loadgen.Content: "a"}},
		{name: "an error that is a text", typ: sse, body: stream(`{"error":"boom"}`), outcome: goodput.ServerError, detail: "error event: boom"},
		{name: "an error with no message", typ: sse, body: stream(`{"error":{"code":3}}`), outcome: goodput.ServerError, detail: `error event: {"code":3}`},
		{name: "an object that is an error", typ: sse, body: stream(`{"object":"error","message":"boom","type":"BadRequestError","code":400}`),
			outcome: goodput.ServerError, detail: "error event: boom"},
		{name: "an event named error", typ: sse, body: "event: error\ndata: {\"message\":\"boom\"}\n\n", outcome: goodput.ServerError, detail: "error event: boom"},
		{name: "an event named error that is no JSON", typ: sse, body: "event: error\ndata: boom\n\n", outcome: goodput.ServerError, detail: "error event: boom"},
		{name: "an event named error like the chunk before it", typ: sse, body: stream(choice(text)) + "event: error\ndata: " + choice(text) + "\n\n",
			outcome: goodput.ServerError, detail: `error event: {"choices":[{"delta":{"content":"a"},"index":0}]}`, events: []int{0, 0}, text: said{loadgen.Content: "aa"}},
		{name: "rate limit by number", typ: sse, body: stream(`{"error":{"message":"x","code":429}}`), outcome: goodput.RateLimited, detail: "error event: x"},
		{name: "rate limit by text", typ: sse, body: stream(`{"error":{"message":"x","code":"429"}}`), outcome: goodput.RateLimited, detail: "error event: x"},
		{name: "rate limit by type", typ: sse, body: stream(`{"error":{"message":"x","type":"RateLimitError","code":null}}`), outcome: goodput.RateLimited, detail: "error event: x"},
		{name: "rate limit by quota", typ: sse, body: stream(`{"error":{"message":"x","code":"insufficient_quota"}}`), outcome: goodput.RateLimited, detail: "error event: x"},
		{name: "no rate limit", typ: sse, body: stream(`{"error":{"message":"rate limit","type":"overloaded_error","code":503}}`), outcome: goodput.ServerError,
			detail: "error event: rate limit"},
		{name: "rate limit in a document", typ: js, body: `{"error":{"message":"x","type":"rate_limit_exceeded"}}`, outcome: goodput.RateLimited, detail: "error event: x"},

		// What is no protocol.
		{name: "a number", typ: sse, body: stream("3"), outcome: goodput.Malformed, detail: "event 1 is not a JSON object: 3"},
		{name: "an array", typ: sse, body: stream("[]"), outcome: goodput.Malformed, detail: "event 1 is not a JSON object: []"},
		{name: "two objects", typ: sse, body: "data: {}\ndata: {}\n\n", outcome: goodput.Malformed, detail: "event 1 is not a JSON object: {} {}"},
		{name: "an object in lines", typ: sse, body: "data: " + strings.ReplaceAll(choice(text), ",", ",\ndata: ") + "\n\n" + done,
			outcome: goodput.Success, events: []int{0}},
		{name: "choices", typ: sse, body: stream(`{"choices":{}}`), outcome: goodput.Malformed, detail: "choices is not an array: {}"},
		{name: "a choice", typ: sse, body: stream(`{"choices":[3]}`), outcome: goodput.Malformed, detail: "a choice is not an object: 3"},
		{name: "a delta", typ: sse, body: stream(`{"choices":[{"delta":"a"}]}`), outcome: goodput.Malformed, detail: `delta is not an object: "a"`},
		{name: "a text", typ: sse, body: stream(`{"choices":[{"text":{}}]}`), outcome: goodput.Malformed, detail: "text is not a string: {}"},
		{name: "an index below", typ: sse, body: stream(`{"choices":[{"index":-1}]}`), outcome: goodput.Malformed, detail: "the index of a choice is out of range"},
		{name: "an index above", typ: sse, body: stream(`{"choices":[{"index":4096}]}`), outcome: goodput.Malformed, detail: "the index of a choice is out of range"},
		{name: "an index above all", typ: sse, body: stream(`{"choices":[{"index":1e300}]}`), outcome: goodput.Malformed, detail: "the index of a choice is out of range"},
		{name: "deep", typ: sse, body: stream(strings.Repeat("[", 1<<19)), outcome: goodput.Malformed, detail: "event 1 is not a JSON object: " + strings.Repeat("[", 80)},
		{name: "deep within limits", typ: sse, body: stream(`{"a":"`+strings.Repeat("[", 1<<15)+`","b":`+strings.Repeat("[", 999)+strings.Repeat("]", 999)+`}`, DONE),
			outcome: goodput.Empty, detail: "no output token"},
		{name: "deep above them", typ: sse, body: stream(`{"a":"`+strings.Repeat("x", 1<<15)+`","b":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)+`}`, DONE),
			outcome: goodput.Malformed, detail: `event 1 is not a JSON object: {"a":"` + strings.Repeat("x", 74)},
		{name: "a long line", typ: sse, body: stream(choice(text)) + "data: " + long, outcome: goodput.Malformed,
			detail: "sse: a line or an event of more than 1048576 bytes", events: []int{0}},
		{name: "a page", typ: "text/html", body: "<html>\n<p>hello</p>\n</html>\n", outcome: goodput.Malformed, detail: "the body is neither an event stream nor JSON"},
		{name: "no type", body: stream(choice(text), DONE), outcome: goodput.Success, events: []int{0}},
		{name: "a stream called JSON", typ: js, body: stream(choice(text), DONE), outcome: goodput.Success, events: []int{0}},
		{name: "parameters of the type", typ: "Text/Event-Stream;charset=utf-8;x", body: "junk\n\n", outcome: goodput.Truncated,
			detail: "the body ended with no finish reason for every choice and no [DONE]"},
		{name: "empty events are nothing", typ: sse, body: "data:\n\ndata: \n\n" + stream(choice(text), DONE), outcome: goodput.Success, events: []int{0}},
		{name: "pings are nothing", typ: sse, body: "event: ping\ndata: {}\n\n" + stream(`{"type":"ping"}`, choice(text), DONE), outcome: goodput.Success, events: []int{0}},

		// Documents.
		{name: "a document called a stream", typ: sse, body: "\uFEFF \r\n" + `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`,
			outcome: goodput.Success, finish: "stop", text: said{loadgen.Content: "hi"}, in: 3, out: 2},
		{name: "a document without usage", c: Config{NoStream: true}, typ: js, body: `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`,
			outcome: goodput.Success, finish: "stop", text: said{loadgen.Content: "hi"}},
		{name: "a document without finish reason", c: Config{NoStream: true}, typ: js, body: `{"choices":[{"message":{"content":"hi"}}]}`,
			outcome: goodput.Success, text: said{loadgen.Content: "hi"}},
		{name: "a document without output", c: Config{NoStream: true}, typ: js, body: `{"choices":[{"message":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":0}}`,
			outcome: goodput.Empty, detail: "no output token", finish: "stop", in: 3},
		{name: "a document of everything", c: Config{NoStream: true}, typ: js, outcome: goodput.Success, finish: "tool_calls", out: 9,
			body: `{"choices":[{"message":{"content":"a","reasoning_content":"b","refusal":"c","tool_calls":[{"function":{"name":"f","arguments":"{}"}}],"audio":{"transcript":"d"}},
				"finish_reason":"tool_calls"}],"usage":{"completion_tokens":9}}`,
			text: said{loadgen.Content: "ad", loadgen.ReasoningText: "b", loadgen.RefusalText: "c", loadgen.ToolArguments: "{}"}},
		{name: "a completion", c: Config{Endpoint: Completions, NoStream: true}, typ: js, body: `{"choices":[{"text":"hi","index":0,"finish_reason":"length"}],"usage":{"completion_tokens":2}}`,
			req: loadgen.Request{MaxTokens: 2}, outcome: goodput.Success, finish: "length", text: said{loadgen.Content: "hi"}, out: 2},
		{name: "a document that is cut", c: Config{NoStream: true}, typ: js, body: `{"choices":[{"message":{"cont`, outcome: goodput.Malformed,
			detail: `the body is not JSON: {"choices":[{"message":{"cont`},
		{name: "a document that is lost", c: Config{NoStream: true}, typ: js, body: `{"choices":[{"message":{"cont`, err: lost, outcome: goodput.Truncated, detail: "read: unexpected EOF"},
		{name: "a document that is lost after its end", c: Config{NoStream: true}, typ: js, body: `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, err: lost,
			outcome: goodput.Success, finish: "stop", text: said{loadgen.Content: "a"}},
		{name: "no document", c: Config{NoStream: true}, typ: js, body: `{"ok":true}`, outcome: goodput.Malformed, detail: `the body has no choices: {"ok":true}`},
		{name: "an array of documents", c: Config{NoStream: true}, typ: js, body: `[{}]`, outcome: goodput.Malformed, detail: `the body is not a JSON object: [{}]`},
		{name: "an empty document", c: Config{NoStream: true}, typ: js, body: " \n", outcome: goodput.Truncated, detail: "the body is empty"},
		{name: "a stream though a document was asked for", c: Config{NoStream: true}, typ: sse, body: stream(choice(text), DONE), outcome: goodput.Success, events: []int{0}},
		{name: "a document that never ends", c: Config{NoStream: true}, typ: js, body: `{"a":"` + strings.Repeat(long, 16), outcome: goodput.Malformed,
			detail: "the body is longer than 16777216 bytes"},

		// Kinds of output.
		{name: "reasoning under two names is one", typ: sse, body: stream(choice(`"delta":{"reasoning":"r","reasoning_content":"r"}`), DONE),
			outcome: goodput.Success, events: []int{0}, text: said{loadgen.ReasoningText: "r"}},
		{name: "audio", typ: sse, body: stream(choice(`"delta":{"audio":{"id":"1"}}`), choice(`"delta":{"audio":{"transcript":"t"}}`), choice(`"delta":{"audio":{"data":"AAAA"}}`), DONE),
			outcome: goodput.Success, events: []int{0}, text: said{loadgen.Content: "t"}},
		{name: "a function call", typ: sse, body: stream(choice(`"delta":{"function_call":{"name":"f"}}`), choice(`"delta":{"function_call":{"arguments":"{}"}}`), DONE),
			outcome: goodput.Success, events: []int{0, 0}, text: said{loadgen.ToolArguments: "{}"}},
		{name: "a custom tool", typ: sse, body: stream(choice(`"delta":{"tool_calls":[{"custom":{"name":"f","input":""}}]}`), choice(`"delta":{"tool_calls":[{"custom":{"input":"x"}}]}`), DONE),
			outcome: goodput.Success, events: []int{0, 0}, text: said{loadgen.ToolArguments: "x"}},
		{name: "a tool call with nothing", typ: sse, body: stream(choice(`"delta":{"tool_calls":[{"index":0,"function":{"name":"","arguments":""}}]}`), choice(`"delta":{"tool_calls":[]}`), DONE),
			outcome: goodput.Empty, detail: "no output token"},
		{name: "arguments that are an object", typ: sse, body: stream(choice(`"delta":{"tool_calls":[{"function":{"arguments":{"a":1}}}]}`), DONE),
			outcome: goodput.Success, events: []int{0}, text: said{loadgen.ToolArguments: `{"a":1}`}},
		{name: "parts", typ: sse, body: stream(choice(`"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]}]}`), choice(`"delta":{"content":[{"type":"text","text":"a"}]}`), DONE),
			outcome: goodput.Success, events: []int{0, 0}, text: said{loadgen.Content: "a", loadgen.ReasoningText: "r"}},
		{name: "parts of another kind", typ: sse, body: stream(choice(`"delta":{"content":[{"type":"thinking","thinking":"r"},{"type":"image"}]}`), DONE),
			outcome: goodput.Success, events: []int{0}, text: said{loadgen.ReasoningText: "r"}},
		{name: "no choices", typ: sse, body: stream(`{"choices":null}`, choice(text), DONE), outcome: goodput.Success, events: []int{0}},
		{name: "a document with a choice that is none", typ: js, body: `{"choices":[3]}`, outcome: goodput.Malformed, detail: "a choice is not an object: 3"},
		{name: "what is no text", typ: sse, body: stream(choice(`"delta":{"content":5,"reasoning":false,"refusal":null,"tool_calls":null,"audio":null,"function_call":null}`), choice(`"delta":null,"text":null`), DONE),
			outcome: goodput.Empty, detail: "no output token"},
		{name: "two choices in a chunk are one event", typ: sse, body: stream(`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`, DONE),
			outcome: goodput.Success, events: []int{0}, text: said{loadgen.Content: "a"}},
		{name: "escapes", typ: sse, body: stream(choice(`"delta":{"content":"\u00e9\n\"\\\/\ud83d\ude00"}`), DONE), outcome: goodput.Success, events: []int{0},
			text: said{loadgen.Content: "é\n\"\\/😀"}},
		{name: "escaped names", typ: sse, body: stream(`{"c\u0068oices":[{"d\u0065lta":{"content":"a"}}]}`, DONE), outcome: goodput.Success, events: []int{0}, text: said{loadgen.Content: "a"}},

		// Counts.
		{name: "growth of usage", typ: sse, outcome: goodput.Success, events: []int{2, 1, 4}, in: 5, out: 9, text: said{loadgen.Content: "aaa"},
			body: stream(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`,
				`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":3}}`,
				`{"choices":[{"delta":{"content":""}}],"usage":{"prompt_tokens":5,"completion_tokens":5}}`,
				`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":7}}`,
				`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":9}}`, DONE)},
		{name: "usage that does not grow", typ: sse, outcome: goodput.Success, events: []int{2, 1, 2}, out: 5, text: said{loadgen.Content: "aaa"},
			body: stream(`{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":2}}`,
				`{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":2}}`,
				`{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":5}}`, DONE)},
		{name: "usage that stops", typ: sse, outcome: goodput.Success, events: []int{2, 0, 0}, out: 6, text: said{loadgen.Content: "aaa"},
			body: stream(`{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":2}}`,
				`{"choices":[{"delta":{"content":"a"}}],"usage":null}`,
				`{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":6}}`, DONE)},
		{name: "usage of zero is none", typ: sse, outcome: goodput.Success, events: []int{0, 0}, in: 3, out: 2, text: said{loadgen.Content: "aa"},
			body: stream(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`,
				`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, DONE)},
		{name: "usage that is none", typ: sse, outcome: goodput.Success, events: []int{0}, text: said{loadgen.Content: "a"},
			body: stream(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":-4,"completion_tokens":"7"}}`, `{"usage":3}`, `{"usage":{"completion_tokens":1e99}}`, DONE)},
		{name: "log-probabilities of completions", c: Config{Endpoint: Completions}, typ: sse, outcome: goodput.Success, events: []int{3}, text: said{loadgen.Content: "abc"},
			body: stream(`{"choices":[{"text":"abc","logprobs":{"tokens":["a","b","c"],"token_logprobs":[-1,-1,-1]}}]}`, DONE)},
		{name: "log-probabilities of a refusal", typ: sse, outcome: goodput.Success, events: []int{2}, text: said{loadgen.RefusalText: "no"},
			body: stream(choice(`"delta":{"refusal":"no"},"logprobs":{"content":null,"refusal":[{},{}]}`), DONE)},
		{name: "a finish reason that is a tale", typ: sse, body: stream(choice(text), choice(`"finish_reason":"`+strings.Repeat("é\\n", 100)+`"`), DONE),
			outcome: goodput.Success, events: []int{0}, finish: strings.Repeat("é ", 20) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, cut := range cuts {
				if how != "whole" && len(c.body) > 1<<20 {
					continue
				}
				body := &pieces{err: c.err}
				cut([]byte(c.body), func(b []byte) bool { body.b = append(body.b, bytes.Clone(b)); return true })
				rec, text := answered(c.c, &c.req, c.typ, body)
				require.Equal(t, c.outcome, rec.Outcome, "%s: %s", how, rec.Detail)
				assert.Equal(t, c.detail, rec.Detail, how)
				var events []int
				for _, tok := range rec.Tokens {
					events = append(events, tok.N)
				}
				assert.Equal(t, c.events, events, how)
				assert.Equal(t, c.finish, rec.Finish, how)
				assert.Equal(t, c.in, rec.InputTokens, how)
				assert.Equal(t, c.out, rec.OutputTokens, how)
				if c.text != nil {
					assert.Equal(t, c.text, text, how)
				}
			}
		})
	}
}
