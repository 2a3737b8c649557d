package llmsim_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

const ms = time.Millisecond

func TestFixedServerTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := llmsim.NewFixedServer(100*ms, 20*ms)
		client := serve(t, srv)
		start := time.Now()
		status, events, _ := post(t, client, http.Header{"X-Request-Id": {"one"}},
			`{"model":"m","messages":[{"role":"user","content":"three words here"}],"max_tokens":4,"stream":true,"stream_options":{"include_usage":true}}`)
		require.Equal(t, http.StatusOK, status)
		require.Len(t, events, 8) // role, 4 tokens, finish, usage, [DONE]

		assert.Equal(t, time.Duration(0), events[0].at, "the role chunk comes at once")
		assert.Equal(t, "assistant", gjson.Get(events[0].data, "choices.0.delta.role").String())
		for i, e := range events[1:5] {
			want := 100*ms + time.Duration(i)*20*ms
			assert.Equal(t, want, e.at, "token %d", i)
			assert.NotEmpty(t, gjson.Get(e.data, "choices.0.delta.content").String())
			assert.Equal(t, start.Add(want).UnixNano(), gjson.Get(e.data, "written_ns").Int())
			assert.InDelta(t, 250, len(e.data), 50, "a token chunk is about as long as vLLM's")
		}
		assert.Equal(t, "length", gjson.Get(events[5].data, "choices.0.finish_reason").String())
		assert.JSONEq(t, `{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}`, gjson.Get(events[6].data, "usage").Raw)
		assert.Equal(t, "[DONE]", events[7].data)
		for _, e := range events[:7] {
			assert.True(t, gjson.Valid(e.data), e.data)
		}

		assert.Equal(t, start.Add(100*ms).UnixNano(), srv.FirstTokens()["one"].UnixNano())
		resp, err := client.Get("http://sim/first-tokens")
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, start.Add(100*ms).UnixNano(), gjson.GetBytes(body, "one").Int())
	})
}

func TestFixedServerOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serve(t, &llmsim.FixedServer{First: 10 * ms, Step: 5 * ms, Tokens: 3, NoRole: true})
		_, events, _ := post(t, client, nil, `{"messages":[{"role":"user","content":"a"}],"stream":true}`)
		require.Len(t, events, 5) // 3 tokens, finish, [DONE]: no role chunk, no usage
		assert.Equal(t, 10*ms, events[0].at)
		assert.Equal(t, 20*ms, events[2].at)
		assert.Equal(t, "stop", gjson.Get(events[3].data, "choices.0.finish_reason").String())
		assert.Contains(t, events[0].data, "written_ns")

		plain := serve(t, &llmsim.FixedServer{First: 10 * ms, Step: 5 * ms, Tokens: 3, Plain: true})
		_, events, _ = post(t, plain, nil, `{"messages":[{"role":"user","content":"a"}],"stream":true}`)
		require.Len(t, events, 6)
		assert.NotContains(t, events[1].data, "written_ns")
		assert.Equal(t, " goodput", gjson.Get(events[1].data, "choices.0.delta.content").String())

		start := time.Now()
		status, _, body := post(t, client, nil, `{"messages":[{"role":"user","content":"a"}]}`)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, 20*ms, time.Since(start), "without a stream the answer comes with the last token")
		assert.Equal(t, "chat.completion", gjson.Get(body, "object").String())
		assert.Equal(t, int64(3), gjson.Get(body, "usage.completion_tokens").Int())
		assert.Equal(t, " goodput is what", gjson.Get(body, "choices.0.message.content").String())
	})
}

func TestBadRequests(t *testing.T) {
	long := `{"messages":[{"content":"` + strings.Repeat("a", 17<<20) + `"}]}`
	for _, c := range []struct {
		name, body string
		status     int
		message    string
	}{
		{"not JSON", `{"messages":`, 400, "not a chat completion request"},
		{"no messages", `{}`, 400, "messages must not be empty"},
		{"content a number", `{"messages":[{"content":7}]}`, 400, "neither a string nor a list"},
		{"no tokens", `{"messages":[{"content":"a"}],"max_tokens":0}`, 400, "max_tokens must be from 1"},
		{"too many tokens", `{"messages":[{"content":"a"}],"max_completion_tokens":9999999}`, 400, "max_completion_tokens must be from 1 to 1048576"},
		{"two choices", `{"messages":[{"content":"a"}],"n":2}`, 400, "n above 1"},
		{"too long", long, 413, "longer than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			llmsim.NewFixedServer(0, 0).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(c.body)))
			assert.Equal(t, c.status, w.Code)
			assert.Contains(t, gjson.Get(w.Body.String(), "error.message").String(), c.message)
			assert.Equal(t, "invalid_request_error", gjson.Get(w.Body.String(), "error.type").String())
		})
	}
}

func TestOtherRoutes(t *testing.T) {
	srv := llmsim.NewFixedServer(0, 0)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	assert.Equal(t, 200, get("/health").Code)
	assert.Equal(t, "fixed", gjson.Get(get("/v1/models").Body.String(), "data.0.id").String())
	w := get("/v1/nothing")
	assert.Equal(t, 404, w.Code)
	assert.Equal(t, "there is no GET /v1/nothing here", gjson.Get(w.Body.String(), "error.message").String())
}
