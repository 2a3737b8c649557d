package goodputhttp

import (
	"bufio"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

const (
	created   = `{"type":"response.created","response":{"status":"in_progress","output":[]}}`
	textDelta = `{"type":"response.output_text.delta","delta":"a","logprobs":[]}`
	completed = `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":3,"output_tokens":2},"output":[{"type":"message","content":[{"type":"output_text","text":"ab"}]}]}}`
)

// The events of OpenAI's Responses API: what each is worth by its definition.
func TestResponsesStreams(t *testing.T) {
	for _, x := range []struct {
		name    string
		events  []string
		outcome goodput.Outcome
		tokens  []int
		first   int // the token event that is the first output; < 0: none
		finish  string
		in, out int
	}{
		{"text", []string{created, textDelta, textDelta, completed}, goodput.Success, []int{0, 0}, 0, "completed", 3, 2},
		{"a marker behind the end", []string{textDelta, completed, "[DONE]"}, goodput.Success, []int{0}, 0, "completed", 3, 2},
		{"reasoning first", []string{`{"type":"response.reasoning_text.delta","delta":"r"}`, `{"type":"response.reasoning_summary_text.delta","delta":"s"}`, textDelta, completed},
			goodput.Success, []int{0, 0, 0}, 2, "completed", 3, 2},
		{"reasoning alone", []string{`{"type":"response.reasoning.delta","delta":"r"}`, completed}, goodput.Success, []int{0}, -1, "completed", 3, 2},
		{"a function call", []string{`{"type":"response.output_item.added","item":{"type":"function_call","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","delta":"{}"}`, `{"type":"response.function_call_arguments.done","arguments":"{}"}`, completed},
			goodput.Success, []int{0, 0}, 0, "completed", 3, 2},
		{"a refusal, a tool's input, code", []string{`{"type":"response.refusal.delta","delta":"no"}`, `{"type":"response.custom_tool_call_input.delta","delta":"x"}`,
			`{"type":"response.code_interpreter_call_code.delta","delta":"y"}`, completed}, goodput.Success, []int{0, 0, 0}, 0, "completed", 3, 2},
		{"what says nothing", []string{`{"type":"response.output_item.added","item":{"type":"message","name":"x"}}`, `{"type":"response.audio.delta","delta":"AAAA"}`,
			`{"type":"response.output_text.delta","delta":""}`, textDelta, completed}, goodput.Success, []int{0}, 0, "completed", 3, 2},
		{"log-probabilities count tokens", []string{`{"type":"response.output_text.delta","delta":"abc","logprobs":[{"token":"a"},{"token":"bc"}]}`, completed},
			goodput.Success, []int{2}, 0, "completed", 3, 2},
		{"at its limit", []string{textDelta, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`},
			goodput.Success, []int{0}, 0, "max_output_tokens", 0, 0},
		{"incomplete for no reason", []string{textDelta, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":null}}`}, goodput.Truncated, []int{0}, 0, "", 0, 0},
		{"no end", []string{created, textDelta}, goodput.Truncated, []int{0}, 0, "", 0, 0},
		{"a marker is no end", []string{created, textDelta, "[DONE]"}, goodput.Truncated, []int{0}, 0, "", 0, 0},
		{"nobody saw it come", []string{created, completed}, goodput.Empty, nil, 0, "completed", 3, 2},
		{"failed", []string{textDelta, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"boom"}}}`}, goodput.ServerError, []int{0}, 0, "", 0, 0},
		{"failed at a limit of rate", []string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded"}}}`}, goodput.RateLimited, nil, 0, "", 0, 0},
		{"an error", []string{textDelta, `{"type":"error","code":"server_error","message":"boom","param":null}`}, goodput.ServerError, []int{0}, 0, "", 0, 0},
		{"an error in an object", []string{`{"type":"error","error":{"type":"too_many_requests"}}`}, goodput.RateLimited, nil, 0, "", 0, 0},
		{"no JSON", []string{created, "{"}, goodput.Malformed, nil, 0, "", 0, 0},
		{"a delta that is no text", []string{`{"type":"response.output_text.delta","delta":{"a":1}}`}, goodput.Malformed, nil, 0, "", 0, 0},
		{"an end without its response", []string{textDelta, `{"type":"response.completed"}`}, goodput.Malformed, []int{0}, 0, "", 0, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			body := "data: " + strings.Join(x.events, "\n\ndata: ") + "\n\n"
			r := answered(t, 200, http.Header{"Content-Type": {"text/event-stream"}}, iotest.OneByteReader(strings.NewReader(body)))
			require.Equal(t, x.outcome.String(), r.Outcome.String(), r.Detail)
			var n []int
			for _, token := range r.Tokens {
				n = append(n, token.N)
			}
			require.Equal(t, x.tokens, n)
			require.Equal(t, []any{x.finish, x.in, x.out}, []any{r.Finish, r.InputTokens, r.OutputTokens})
			switch {
			case x.first < 0:
				require.Negative(t, r.FirstOutput)
			case x.first > 0:
				require.Equal(t, max(r.Tokens[x.first].At, 1), r.FirstOutput)
			default:
				require.Zero(t, r.FirstOutput)
			}
		})
	}
}

// A stream of a real server comes to what its client found.
func TestResponsesCapture(t *testing.T) {
	f, err := os.Open("../../loadgen/openai/testdata/captures/ollama-responses-length.http")
	require.NoError(t, err)
	defer f.Close()
	resp, err := http.ReadResponse(bufio.NewReader(f), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	r := answered(t, resp.StatusCode, resp.Header, resp.Body)
	require.Equal(t, []any{goodput.Success, 12, 16, 12, "completed"}, []any{r.Outcome, len(r.Tokens), r.InputTokens, r.OutputTokens, r.Finish})
}

func TestResponsesWhole(t *testing.T) {
	for body, want := range map[string]goodput.Outcome{
		`{"object":"response","status":"completed","output":[],"usage":{"input_tokens":7,"output_tokens":9}}`: goodput.Success,
		`{"object":"response","status":"queued","output":[]}`:                                                 goodput.Truncated,
		`{"object":"response","status":"cancelled","output":[]}`:                                              goodput.ServerError,
		`{"object":"response","status":"failed","error":{"code":"x","message":"boom"},"output":[]}`:           goodput.ServerError,
	} {
		r := answered(t, 200, http.Header{"Content-Type": {"application/json"}}, strings.NewReader(body))
		require.Equal(t, want.String(), r.Outcome.String(), body)
		if want == goodput.Success {
			require.Equal(t, []any{7, 9, "completed"}, []any{r.InputTokens, r.OutputTokens, r.Finish})
		}
	}
}
