package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// event is one event of the Responses API; fields are those beside its type.
func event(typ, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":7%s}\n\n", typ, typ, fields)
}

func textDelta(s string) string {
	return event("response.output_text.delta", `"item_id":"msg_1","output_index":0,"content_index":0,"delta":"`+s+`","logprobs":[]`)
}

// response is a response object within an event.
func response(fields string) string {
	return `"response":{"id":"resp_1","object":"response",` + fields + `}`
}

const (
	created    = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"status\":\"in_progress\",\"error\":null,\"output\":[],\"usage\":null}}\n\n"
	aMessage   = `"output":[{"type":"message","content":[{"type":"output_text","text":"ab"}]}]`
	usage32    = `"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}`
	completed  = `"status":"completed","error":null,"incomplete_details":null,` + usage32
	incomplete = `"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},` + usage32
	noEnd      = "the body ended with no response.completed, response.incomplete or response.failed"
)

// TestEndpoints has every outcome of an answer of the Responses API and of embeddings, from a real server, however the
// body is cut.
func TestEndpoints(t *testing.T) {
	const sse, js = "text/event-stream", "application/json"
	for _, c := range []struct {
		name     string
		endpoint Endpoint
		noStream bool
		body     map[string]any
		max      int
		status   int // 0: 200
		header   map[string]string
		typ      string
		answer   string
		drop     bool // the connection is lost behind the answer
		outcome  goodput.Outcome
		detail   string
		events   []int // tokens of each token event
		first    int   // the event that is the first output; < 0: none
		finish   string
		text     said
		in, out  int
	}{
		// A stream of responses.
		{name: "text", typ: sse, answer: created + textDelta("a") + textDelta("b") + event("response.output_text.done", `"text":"ab"`) +
			event("response.completed", response(completed+","+aMessage)),
			outcome: goodput.Success, events: []int{0, 0}, finish: "completed", text: said{loadgen.Content: "ab"}, in: 3, out: 2},
		{name: "what follows the end is not read", typ: sse, answer: textDelta("a") + event("response.completed", response(completed)) + "data: [DONE]\n\n" + textDelta("late"),
			outcome: goodput.Success, events: []int{0}, finish: "completed", text: said{loadgen.Content: "a"}, in: 3, out: 2},
		{name: "reasoning first", typ: sse, answer: created + event("response.reasoning_text.delta", `"delta":"r"`) + event("response.reasoning_summary_text.delta", `"delta":"s"`) +
			textDelta("a") + event("response.completed", response(completed)),
			outcome: goodput.Success, events: []int{0, 0, 0}, first: 2, finish: "completed", text: said{loadgen.ReasoningText: "rs", loadgen.Content: "a"}, in: 3, out: 3},
		{name: "reasoning alone", typ: sse, answer: event("response.reasoning.delta", `"delta":"r"`) + event("response.completed", response(completed)),
			outcome: goodput.Success, events: []int{0}, first: -1, finish: "completed", text: said{loadgen.ReasoningText: "r"}, in: 3, out: 2},
		{name: "a function call", typ: sse, answer: event("response.output_item.added", `"item":{"type":"function_call","name":"f","arguments":""}`) +
			event("response.function_call_arguments.delta", `"delta":"{"`) + event("response.function_call_arguments.delta", `"delta":"}"`) +
			event("response.function_call_arguments.done", `"arguments":"{}"`) + event("response.completed", response(completed)),
			outcome: goodput.Success, events: []int{0, 0, 0}, finish: "completed", text: said{loadgen.ToolArguments: "{}"}, in: 3, out: 3},
		{name: "items that are no calls", typ: sse, answer: event("response.output_item.added", `"item":{"type":"message","name":"x"}`) +
			event("response.output_item.added", `"item":{"type":"web_search_call","name":"x"}`) + event("response.web_search_call.searching", "") +
			textDelta("") + textDelta("a") + event("response.completed", response(completed)),
			outcome: goodput.Success, events: []int{0}, finish: "completed", text: said{loadgen.Content: "a"}, in: 3, out: 2},
		{name: "a custom tool, code, a refusal, a transcript", typ: sse, answer: event("response.custom_tool_call_input.delta", `"delta":"x"`) +
			event("response.code_interpreter_call_code.delta", `"delta":"y"`) + event("response.refusal.delta", `"delta":"no"`) +
			event("response.audio.transcript.delta", `"delta":"t"`) + event("response.audio.delta", `"delta":"AAAA"`) + event("response.completed", response(completed)),
			outcome: goodput.Success, events: []int{0, 0, 0, 0}, finish: "completed", in: 3, out: 4,
			text: said{loadgen.ToolArguments: "xy", loadgen.RefusalText: "no", loadgen.Content: "t"}},
		{name: "log-probabilities count tokens", typ: sse, answer: event("response.output_text.delta", `"delta":"abc","logprobs":[{"token":"a"},{"token":"bc"}]`) + event("response.completed", response(`"status":"completed"`)),
			outcome: goodput.Success, events: []int{2}, finish: "completed", text: said{loadgen.Content: "abc"}, out: 2},
		{name: "nobody saw it come", typ: sse, answer: created + event("response.completed", response(`"status":"completed",`+aMessage)),
			outcome: goodput.Success, finish: "completed", text: said{loadgen.Content: "ab"}},
		{name: "a status that is not said", typ: sse, answer: textDelta("a") + event("response.completed", response(usage32)), outcome: goodput.Success,
			events: []int{0}, finish: "completed", text: said{loadgen.Content: "a"}, in: 3, out: 2},
		{name: "stopped by a filter", typ: sse, answer: textDelta("a") + event("response.incomplete", response(`"status":"incomplete","incomplete_details":{"reason":"content_filter"}`)),
			outcome: goodput.Success, events: []int{0}, finish: "content_filter", text: said{loadgen.Content: "a"}, out: 1},
		{name: "lost behind the end", typ: sse, drop: true, answer: textDelta("a") + event("response.completed", response(completed)), outcome: goodput.Success,
			events: []int{0}, finish: "completed", text: said{loadgen.Content: "a"}, in: 3, out: 2},

		{name: "at the limit", max: 2, typ: sse, answer: textDelta("a") + event("response.incomplete", response(incomplete)), outcome: goodput.Success,
			events: []int{0}, finish: "max_output_tokens", text: said{loadgen.Content: "a"}, in: 3, out: 2},
		{name: "at the limit, called completed", body: map[string]any{"max_output_tokens": 2}, typ: sse, answer: textDelta("a") + event("response.completed", response(incomplete)),
			outcome: goodput.Success, events: []int{0}, finish: "max_output_tokens", text: said{loadgen.Content: "a"}, in: 3, out: 2},
		{name: "before the limit", max: 9, typ: sse, answer: textDelta("a") + event("response.incomplete", response(incomplete)), outcome: goodput.Truncated,
			detail: "finish reason max_output_tokens after 2 tokens of 9", events: []int{0}, finish: "max_output_tokens", text: said{loadgen.Content: "a"}, in: 3, out: 2},
		{name: "no limit", typ: sse, answer: textDelta("a") + event("response.completed", response(incomplete)), outcome: goodput.Truncated,
			detail: "finish reason max_output_tokens, though the request set no limit", events: []int{0}, finish: "max_output_tokens", text: said{loadgen.Content: "a"}, in: 3, out: 2},
		{name: "incomplete for no reason", typ: sse, answer: textDelta("a") + event("response.incomplete", response(`"status":"incomplete","incomplete_details":null`)), outcome: goodput.Truncated,
			detail: "the response is incomplete", events: []int{0}, text: said{loadgen.Content: "a"}, out: 1},
		{name: "no end", typ: sse, answer: created + textDelta("a"), outcome: goodput.Truncated, detail: noEnd, events: []int{0}, text: said{loadgen.Content: "a"}, out: 1},
		{name: "[DONE] is no end", typ: sse, answer: created + textDelta("a") + "data: [DONE]\n\n", outcome: goodput.Truncated, detail: noEnd, events: []int{0},
			text: said{loadgen.Content: "a"}, out: 1},
		{name: "[DONE] without its line feed is none either", typ: sse, answer: textDelta("a") + "data: [DONE]", outcome: goodput.Truncated, detail: noEnd, events: []int{0},
			text: said{loadgen.Content: "a"}, out: 1},
		{name: "an end that is cut", typ: sse, answer: textDelta("a") + strings.TrimSuffix(event("response.completed", response(completed)), "\n"), outcome: goodput.Truncated, detail: noEnd,
			events: []int{0}, text: said{loadgen.Content: "a"}, out: 1},
		{name: "lost", typ: sse, drop: true, answer: created + textDelta("a"), outcome: goodput.Truncated, detail: "unexpected EOF", events: []int{0}, text: said{loadgen.Content: "a"}, out: 1},
		{name: "nothing", typ: sse, outcome: goodput.Truncated, detail: "the body is empty"},
		{name: "a chat stream", typ: sse, answer: deltas("a") + stop + done, outcome: goodput.Truncated, detail: noEnd},
		{name: "empty", typ: sse, answer: created + event("response.completed", response(`"status":"completed","output":[{"type":"message","content":[]}],"usage":{"input_tokens":3,"output_tokens":0}`)),
			outcome: goodput.Empty, detail: "no output token", finish: "completed", in: 3},

		{name: "failed", typ: sse, answer: textDelta("a") + event("response.failed", response(`"status":"failed","error":{"code":"server_error","message":"boom"}`)),
			outcome: goodput.ServerError, detail: "error event: boom", events: []int{0}, text: said{loadgen.Content: "a"}, out: 1},
		{name: "failed without a word", typ: sse, answer: event("response.failed", response(`"status":"failed","error":null`)), outcome: goodput.ServerError,
			detail: "error event: the response is failed"},
		{name: "failed at a limit of rate", typ: sse, answer: event("response.failed", response(`"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}`)),
			outcome: goodput.RateLimited, detail: "error event: slow down"},
		{name: "an error", typ: sse, answer: textDelta("a") + event("error", `"code":"server_error","message":"boom","param":null`), outcome: goodput.ServerError, detail: "error event: boom",
			events: []int{0}, text: said{loadgen.Content: "a"}, out: 1},
		{name: "an error in an object", typ: sse, answer: "data: {\"type\":\"error\",\"error\":{\"type\":\"too_many_requests\",\"message\":\"slow down\"}}\n\n", outcome: goodput.RateLimited,
			detail: "error event: slow down"},
		{name: "an error of another make", typ: sse, answer: textDelta("a") + "data: {\"error\":\"boom\"}\n\n" + event("response.completed", response(completed)), outcome: goodput.ServerError,
			detail: "error event: boom", events: []int{0}, text: said{loadgen.Content: "a"}, out: 1},
		{name: "no JSON", typ: sse, answer: created + "data: {\n\n", outcome: goodput.Malformed, detail: "event 2 is not a JSON object: {"},
		{name: "a delta that is no text", typ: sse, answer: event("response.output_text.delta", `"delta":{"a":1}`), outcome: goodput.Malformed, detail: `delta is not a string: {"a":1}`},
		{name: "an end without its response", typ: sse, answer: textDelta("a") + "data: {\"type\":\"response.completed\"}\n\n", outcome: goodput.Malformed,
			detail: `response.completed has no response: {"type":"response.completed"}`, events: []int{0}, text: said{loadgen.Content: "a"}, out: 1},

		// A response that is one body.
		{name: "document", noStream: true, typ: js, answer: `{"object":"response",` + completed + `,"output":[
			{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"r"}]},
			{"type":"reasoning","summary":[{"type":"summary_text","text":"t"}]},
			{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]},
			{"type":"function_call","name":"f","arguments":"{}"},{"type":"web_search_call"}]}`,
			outcome: goodput.Success, finish: "completed", in: 3, out: 2,
			text: said{loadgen.ReasoningText: "rt", loadgen.Content: "a", loadgen.RefusalText: "no", loadgen.ToolArguments: "{}"}},
		{name: "document in answer to a stream", typ: js, answer: `{` + completed + `,` + aMessage + `}`, outcome: goodput.Success, finish: "completed", text: said{loadgen.Content: "ab"}, in: 3, out: 2},
		{name: "document at the limit", noStream: true, max: 2, typ: js, answer: `{` + incomplete + `,` + aMessage + `}`, outcome: goodput.Success, finish: "max_output_tokens",
			text: said{loadgen.Content: "ab"}, in: 3, out: 2},
		{name: "document before the limit", noStream: true, max: 3, typ: js, answer: `{` + incomplete + `,` + aMessage + `}`, outcome: goodput.Truncated, finish: "max_output_tokens",
			detail: "finish reason max_output_tokens after 2 tokens of 3", text: said{loadgen.Content: "ab"}, in: 3, out: 2},
		{name: "document that is not ready", noStream: true, typ: js, answer: `{"status":"queued","output":[]}`, outcome: goodput.Truncated, detail: "the response is queued"},
		{name: "document that was cancelled", noStream: true, typ: js, answer: `{"status":"cancelled","output":[]}`, outcome: goodput.ServerError, detail: "error event: the response is cancelled"},
		{name: "document that failed", noStream: true, typ: js, answer: `{"status":"failed","error":{"code":"x","message":"boom"},"output":[]}`, outcome: goodput.ServerError, detail: "error event: boom"},
		{name: "document of nothing", noStream: true, typ: js, answer: `{"status":"completed","output":[]}`, outcome: goodput.Empty, detail: "no output token", finish: "completed"},
		{name: "document of another make", noStream: true, typ: js, answer: `{"choices":[]}`, outcome: goodput.Malformed, detail: `the body has no output: {"choices":[]}`},
		{name: "document that is lost", noStream: true, typ: js, drop: true, answer: `{"status":"comp`, outcome: goodput.Truncated, detail: "unexpected EOF"},

		// Statuses.
		{name: "400", status: 400, typ: js, answer: `{"error":{"message":"no such model"}}`, outcome: goodput.ClientError, detail: "HTTP status 400: no such model"},
		{name: "429", status: 429, typ: js, outcome: goodput.RateLimited, detail: "HTTP status 429"},
		{name: "503 by admission", status: 503, header: map[string]string{"Retry-After": "1"}, outcome: goodput.Rejected, detail: "HTTP status 503"},
		{name: "500", status: 500, outcome: goodput.ServerError, detail: "HTTP status 500"},
		{name: "504", status: 504, outcome: goodput.Timeout, detail: "HTTP status 504"},

		// Embeddings.
		{name: "embeddings", endpoint: Embeddings, typ: js, answer: `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2e-3]}],"usage":{"prompt_tokens":3,"total_tokens":3}}`,
			outcome: goodput.Success, in: 3},
		{name: "embeddings in base64", endpoint: Embeddings, typ: js, answer: `{"data":[{"embedding":"AACAPw=="}],"usage":{"prompt_tokens":3,"completion_tokens":3}}`, outcome: goodput.Success, in: 3},
		{name: "embeddings of two inputs", endpoint: Embeddings, body: map[string]any{"input": []string{"a", "b"}}, typ: js, answer: `{"data":[{"embedding":[1]},{"embedding":[2]}]}`,
			outcome: goodput.Success},
		{name: "embeddings of token numbers", endpoint: Embeddings, body: map[string]any{"input": []int{1, 2, 3}}, typ: js, answer: `{"data":[{"embedding":[1]}]}`, outcome: goodput.Success},
		{name: "embeddings lost behind their end", endpoint: Embeddings, drop: true, typ: js, answer: `{"data":[{"embedding":[1]}]}`, outcome: goodput.Success},
		{name: "one embedding of two", endpoint: Embeddings, body: map[string]any{"input": [][]int{{1}, {2}}}, typ: js, answer: `{"data":[{"embedding":[1]}]}`, outcome: goodput.Malformed,
			detail: "1 embeddings for 2 inputs"},
		{name: "no embedding", endpoint: Embeddings, typ: js, answer: `{"data":[]}`, outcome: goodput.Malformed, detail: "0 embeddings for 1 inputs"},
		{name: "an embedding of nothing", endpoint: Embeddings, typ: js, answer: `{"data":[{"embedding":[]}]}`, outcome: goodput.Malformed,
			detail: `embedding 0 is neither numbers nor base64: {"embedding":[]}`},
		{name: "an embedding of words", endpoint: Embeddings, typ: js, answer: `{"data":[{"embedding":[1]},{"embedding":["a"]}]}`, outcome: goodput.Malformed,
			detail: `embedding 1 is neither numbers nor base64: {"embedding":["a"]}`},
		{name: "no data", endpoint: Embeddings, typ: js, answer: `{"object":"list"}`, outcome: goodput.Malformed, detail: `the body has no data: {"object":"list"}`},
		{name: "embeddings that fail", endpoint: Embeddings, typ: js, answer: `{"error":{"message":"boom"}}`, outcome: goodput.ServerError, detail: "error event: boom"},
		{name: "embeddings as a stream", endpoint: Embeddings, typ: sse, answer: stream(`{"data":[]}`), outcome: goodput.Malformed,
			detail: `a stream of events where one JSON body was asked for: {"data":[]}`},
		{name: "embeddings that are cut", endpoint: Embeddings, typ: js, answer: `{"data":[{"embedding":[1`, outcome: goodput.Malformed, detail: `the body is not JSON: {"data":[{"embedding":[1`},
		{name: "embeddings that are lost", endpoint: Embeddings, drop: true, typ: js, answer: `{"data":[{"embedding":[1`, outcome: goodput.Truncated, detail: "unexpected EOF"},
		{name: "embeddings of nobody", endpoint: Embeddings, typ: js, outcome: goodput.Truncated, detail: "the body is empty"},
	} {
		for how, cut := range cuts {
			t.Run(c.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				endpoint := c.endpoint
				if endpoint == "" {
					endpoint = Responses
				}
				tgt := served(t, Config{BaseURL: "/v1/" + string(endpoint), NoStream: c.noStream, Body: c.body}, func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					assert.Equal(t, "/v1/"+string(endpoint), r.URL.Path)
					w.Header().Set("Content-Type", c.typ)
					for k, v := range c.header {
						w.Header().Set(k, v)
					}
					w.WriteHeader(max(200, c.status))
					rc := http.NewResponseController(w)
					cut([]byte(c.answer), func(b []byte) bool {
						_, err := w.Write(b)
						return err == nil && rc.Flush() == nil
					})
					if c.drop {
						panic(http.ErrAbortHandler)
					}
				})
				rec, text := do(t, tgt, &loadgen.Request{Prompt: "x", MaxTokens: c.max})
				require.Equal(t, c.outcome, rec.Outcome, rec.Detail)
				assert.Equal(t, c.detail, rec.Detail)
				require.Len(t, rec.Tokens, len(c.events))
				for i, n := range c.events {
					assert.Equal(t, n, rec.Tokens[i].N)
				}
				switch {
				case c.first < 0:
					assert.Negative(t, rec.FirstOutput)
				case c.first > 0:
					assert.Equal(t, rec.Tokens[c.first].At, rec.FirstOutput)
				default:
					assert.Zero(t, rec.FirstOutput)
				}
				assert.Equal(t, c.finish, rec.Finish)
				if len(c.text)+len(text) > 0 {
					assert.Equal(t, c.text, text)
				}
				assert.Equal(t, c.in, rec.InputTokens)
				assert.Equal(t, c.out, tokens(rec))
			})
		}
	}
}

// TestEndpointsLoseTheirServer has what no answer says: no connection, a deadline, a cancelled request.
func TestEndpointsLoseTheirServer(t *testing.T) {
	for endpoint, beginning := range map[Endpoint]string{Responses: created, Embeddings: `{"data":[`} {
		bubble(t, Config{Endpoint: endpoint}, func(w http.ResponseWriter, r *http.Request) {
			write(w, beginning)
			<-r.Context().Done()
		}, func(t *testing.T, tgt *Target) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			rec := loadgen.Do(ctx, tgt, &loadgen.Request{Prompt: "x"})
			cancel()
			assert.Equal(t, goodput.Timeout, rec.Outcome, rec.Detail)
			assert.Equal(t, time.Second, rec.End)

			ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
			time.AfterFunc(time.Minute, cancel)
			rec = loadgen.Do(ctx, tgt, &loadgen.Request{Prompt: "x"})
			assert.Equal(t, goodput.Cancelled, rec.Outcome, rec.Detail)
			assert.Equal(t, time.Minute, rec.End)
		})
		rec, _ := do(t, target(t, Config{BaseURL: "http://127.0.0.1:1/v1/" + string(endpoint)}), &loadgen.Request{Prompt: "x"})
		assert.Equal(t, goodput.ConnectionError, rec.Outcome, rec.Detail)
	}
}

func TestRequestOfEndpoints(t *testing.T) {
	type m = map[string]any
	messages := []loadgen.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "u"}}
	for _, c := range []struct {
		name string
		c    Config
		req  loadgen.Request
		want m
	}{
		{"a prompt", Config{Endpoint: Responses, Model: "m"}, loadgen.Request{Prompt: "a \"b\"", MaxTokens: 7},
			m{"model": "m", "stream": true, "input": "a \"b\"", "max_output_tokens": 7.0}},
		{"messages", Config{Endpoint: Responses, NoStream: true}, loadgen.Request{Messages: messages},
			m{"stream": false, "input": []any{m{"role": "system", "content": "s"}, m{"role": "user", "content": "u"}}}},
		{"fields", Config{Endpoint: Responses, Body: m{"max_output_tokens": 5, "input": "given", "stream_options": m{"include_obfuscation": false}}}, loadgen.Request{Prompt: "x", MaxTokens: 7},
			m{"stream": true, "input": "given", "max_output_tokens": 5.0, "stream_options": m{"include_obfuscation": false}}},
		{"an input", Config{Endpoint: Embeddings, Model: "e"}, loadgen.Request{Prompt: "x", MaxTokens: 7}, m{"model": "e", "input": "x"}},
		{"an input alone", Config{Endpoint: Embeddings}, loadgen.Request{Prompt: "x"}, m{"input": "x"}},
		{"nothing of the target's own", Config{Endpoint: Embeddings}, loadgen.Request{Body: m{"input": []string{"a", "b"}, "encoding_format": "base64"}},
			m{"input": []any{"a", "b"}, "encoding_format": "base64"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, got := sentTo(t, c.c, &c.req)
			assert.Equal(t, c.want, got)
			want := "text/event-stream"
			if c.c.NoStream || c.c.Endpoint == Embeddings {
				want = "application/json"
			}
			assert.Equal(t, want, r.Header.Get("Accept"))
		})
	}
	rec, _ := do(t, target(t, Config{BaseURL: "http://h/v1/embeddings"}), &loadgen.Request{Messages: messages})
	assert.Equal(t, goodput.ClientError, rec.Outcome)
	assert.Equal(t, "Request.Messages: embeddings take a Prompt; chat completions and responses take Messages", rec.Detail)
}

// sentTo is what a server gets to see of a request to an endpoint that is not chat.
func sentTo(t *testing.T, c Config, req *loadgen.Request) (got *http.Request, body map[string]any) {
	t.Helper()
	tgt := served(t, c, func(w http.ResponseWriter, r *http.Request) {
		got = r
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&body))
	})
	do(t, tgt, req)
	return got, body
}

func TestEmbeddingsGiveNoTokens(t *testing.T) {
	tgt := target(t, Config{BaseURL: "http://h/v1/embeddings", Model: "e"})
	d := tgt.Describe()
	assert.False(t, d.Tokens)
	assert.Equal(t, `embeddings of model "e" at http://h/v1/embeddings`, d.Name)
	for _, m := range []slo.Metric{slo.TTFT, slo.TTFO, slo.TPOT, slo.ITL, slo.Speed, slo.ServiceTTFT} {
		assert.False(t, d.Gives(m), m)
	}
	for _, m := range []slo.Metric{slo.E2E, slo.ServiceE2E, slo.Lag, slo.ErrorRate, slo.Attainment} {
		assert.True(t, d.Gives(m), m)
	}
	_, err := loadgen.Run(t.Context(), tgt, loadgen.Plan{SLO: slo.MustParse("ttft p95 < 1s"), Concurrency: 1, Requests: 1})
	assert.ErrorContains(t, err, "ttft", "refused before the first request")
}

// A server that quotes what it was given: a list of numbers among it.
func TestDetailOfARequestWithNumbers(t *testing.T) {
	for _, endpoint := range []Endpoint{Completions, Embeddings} {
		tgt := served(t, Config{BaseURL: "/v1/" + string(endpoint), Body: map[string]any{endpoint.input(): []int{1, 2, 3}}}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":{"message":"no"}}`)
		})
		rec, _ := do(t, tgt, &loadgen.Request{})
		assert.Equal(t, goodput.ClientError, rec.Outcome)
		assert.Equal(t, "HTTP status 400: no", rec.Detail)
	}
	tgt := served(t, Config{Endpoint: Responses}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	})
	rec, _ := do(t, tgt, &loadgen.Request{Prompt: "my private question"})
	assert.Equal(t, goodput.ClientError, rec.Outcome)
	assert.NotContains(t, rec.Detail, "private")
}
