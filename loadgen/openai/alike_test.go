package openai

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/internal/chatevent"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// What stands under a key that the two know, of whatever type it is.
var values = []string{
	`null`, `true`, `false`, `0`, `7`, `""`, `"a"`, `"\u0000"`, `{}`, `[]`, `[""]`, `["a"]`, `[null]`, `[[]]`, `[{}]`, `{"a":"b"}`,
	`{"text":"a"}`, `[{"text":"a"}]`, `[{"type":"text","text":""}]`, `[{"text":["a"]}]`, `[{"text":{"value":"a"}}]`, `[{"text":7}]`,
	`[{"thinking":"a"}]`, `[{"thinking":""}]`, `[{"thinking":null}]`, `[{"thinking":["a"]}]`, `[{"thinking":[{"text":"a"}]}]`, `[{"thinking":{"text":"a"}}]`,
	`[{"thinking":[{"text":["a"]}]}]`, `[{"thinking":"","text":"a"}]`, `{"thinking":"a"}`, `[{"thinking":"a"},{"text":"b"}]`,
	`{"name":"a"}`, `{"name":""}`, `{"name":["a"]}`, `{"name":7}`, `{"name":"","name":"a"}`,
	`{"arguments":"a"}`, `{"arguments":""}`, `{"arguments":{}}`, `{"arguments":[]}`, `{"arguments":["a"]}`, `{"arguments":7}`, `{"arguments":true}`, `{"arguments":null}`,
	`{"input":"a"}`, `{"input":{}}`, `{"input":[]}`, `{"input":""}`,
	`[{"function":{"name":"a"}}]`, `[{"function":{"arguments":"a"}}]`, `[{"function":{"arguments":[]}}]`, `[{"custom":{"input":"a"}}]`, `[{"custom":{"input":["a"]}}]`,
	`[{"function":"a"}]`, `[{"function":["a"]}]`, `{"0":{"function":{"name":"a"}}}`, `{"function":{"name":"a"}}`, `[[{"function":{"name":"a"}}]]`,
	`{"transcript":"a"}`, `{"transcript":""}`, `{"transcript":["a"]}`, `{"data":"a"}`, `[{"transcript":"a"}]`,
}

// What is output, what is reasoning and what is neither, whoever watches a server and who admits its requests (internal/chatevent) tell
// as the target does that measures it from outside, in each chunk and in each whole answer that the target does not refuse.
func TestOutputIsWhatOthersTakeForIt(t *testing.T) {
	told := 0
	for _, part := range []string{"delta", "message"} {
		for _, key := range []string{"content", "reasoning", "reasoning_content", "refusal", "tool_calls", "function_call", "audio", "role", "text"} {
			for _, v := range values {
				field := fmt.Sprintf(`%q:%s`, key, v)
				for _, choice := range []string{
					fmt.Sprintf(`{%q:{%s}}`, part, field),
					fmt.Sprintf(`{%q:{%s,"content":""}}`, part, field),
					fmt.Sprintf(`{%q:{"content":"",%s}}`, part, field),
					fmt.Sprintf(`{%s}`, field),
				} {
					json := `{"choices":[` + choice + `]}`
					a := &answer{trace: loadgen.NewTrace(time.Now()), redact: httpclient.NewRedactor(), choices: 1}
					if a.take(json, part == "message") != nil {
						continue
					}
					told++
					read := chatevent.Read
					if part == "message" {
						read = chatevent.Whole
					}
					e := read([]byte(json))
					assert.Equal(t, [2]bool{a.chunk.output, a.chunk.reasoning}, [2]bool{e.Output, e.Reasoning}, "%s: output, reasoning", json)
				}
			}
		}
	}
	assert.Greater(t, told, 3000)
}

// The same of the events and the answers of the Responses API.
func TestOutputOfAResponseIsWhatOthersTakeForIt(t *testing.T) {
	told := 0
	compare := func(json string, take func(*answer) error, read func([]byte) chatevent.Event) {
		a := &answer{trace: loadgen.NewTrace(time.Now()), redact: httpclient.NewRedactor(), choices: 1, endpoint: Responses}
		err := take(a)
		e := read([]byte(json))
		if err != nil {
			assert.True(t, e.Malformed || e.Cut, "%s: %v", json, err)
			return
		}
		told++
		c := &a.chunk
		assert.Equal(t, [4]bool{c.output, c.reasoning, c.end, c.err.Exists()}, [4]bool{e.Output, e.Reasoning, e.Complete, e.Failed}, "%s: output, reasoning, end, error", json)
		assert.Equal(t, a.reason, e.Finish, json)
	}
	event := func(json string) {
		compare(json, func(a *answer) error { return a.takeEvent(json) }, chatevent.Read)
	}
	whole := func(json string) {
		compare(json, func(a *answer) error { return a.takeResponse(gjson.Parse(json), "", true) }, chatevent.Whole)
	}
	for _, typ := range []string{
		"response.output_text.delta", "response.reasoning_text.delta", "response.refusal.delta", "response.function_call_arguments.delta",
		"response.output_text.done", "response.output_item.added", "response.new", "response.completed", "response.incomplete", "response.failed",
	} {
		for _, key := range []string{"delta", "item", "response", "error", "part"} {
			for _, v := range values {
				event(fmt.Sprintf(`{"type":%q,%q:%s}`, typ, key, v))
			}
		}
		for _, item := range []string{"message", "reasoning", "function_call", "custom_tool_call", "web_search_call"} {
			event(fmt.Sprintf(`{"type":%q,"item":{"type":%q,"name":"a"}}`, typ, item))
			event(fmt.Sprintf(`{"type":%q,"item":{"type":%q,"name":["a"]}}`, typ, item))
		}
	}
	for _, typ := range []string{"message", "reasoning", "function_call", "custom_tool_call", "mcp_call", "web_search_call"} {
		for _, key := range []string{"content", "summary", "name", "arguments", "input"} {
			for _, v := range values {
				whole(fmt.Sprintf(`{"object":"response","status":"completed","output":[{"type":%q,%q:%s}]}`, typ, key, v))
			}
		}
	}
	for _, key := range []string{"status", "error", "incomplete_details", "usage"} {
		for _, v := range append([]string{`"completed"`, `"incomplete"`, `"failed"`, `"cancelled"`, `{"reason":"max_output_tokens"}`, `{"reason":"content_filter"}`, `{"reason":"other"}`}, values...) {
			for _, status := range []string{"completed", "incomplete", "failed", "queued"} {
				response := fmt.Sprintf(`{"object":"response","output":[],"status":%q,%q:%s}`, status, key, v)
				if key == "status" {
					response = fmt.Sprintf(`{"object":"response","output":[],"status":%s}`, v)
				}
				whole(response)
				event(fmt.Sprintf(`{"type":"response.completed","response":%s}`, response))
			}
		}
	}
	assert.Greater(t, told, 3000)
}
