package openai

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

func TestNewFindsTheEndpoint(t *testing.T) {
	for _, c := range []struct {
		base     string
		endpoint Endpoint
		url      string
		want     Endpoint
	}{
		{"http://h:1", "", "http://h:1/v1/chat/completions", ChatCompletions},
		{"http://h:1/", "", "http://h:1/v1/chat/completions", ChatCompletions},
		{"http://h/v1", "", "http://h/v1/chat/completions", ChatCompletions},
		{"https://h/api/v1/", "", "https://h/api/v1/chat/completions", ChatCompletions},
		{"http://h/v1", Completions, "http://h/v1/completions", Completions},
		{"http://h", Completions, "http://h/v1/completions", Completions},
		{"http://h/v1/completions", "", "http://h/v1/completions", Completions},
		{"http://h/v1/completions/", Completions, "http://h/v1/completions", Completions},
		{"http://h/v1/chat/completions", "", "http://h/v1/chat/completions", ChatCompletions},
		{"http://h/v1/chat/completions", ChatCompletions, "http://h/v1/chat/completions", ChatCompletions},
		{"http://h/completions", "", "http://h/completions", Completions},
		{"http://h/v1/responses", "", "http://h/v1/responses", Responses},
		{"http://h", Responses, "http://h/v1/responses", Responses},
		{"http://h/v1/embeddings/", "", "http://h/v1/embeddings", Embeddings},
		{"http://h/v1", Embeddings, "http://h/v1/embeddings", Embeddings},
		{"https://h/d/a%2Fb/chat/completions?api-version=1", "", "https://h/d/a%2Fb/chat/completions?api-version=1", ChatCompletions},
		{"https://h/v1?x=y", "", "https://h/v1/chat/completions?x=y", ChatCompletions},
		{"http://[::1]:80", "", "http://[::1]:80/v1/chat/completions", ChatCompletions},
	} {
		tgt, err := New(Config{BaseURL: c.base, Endpoint: c.endpoint})
		require.NoError(t, err, c.base)
		assert.Equal(t, c.url, tgt.url.String(), c.base)
		assert.Equal(t, c.want, tgt.endpoint, c.base)
	}
}

func TestNewRefuses(t *testing.T) {
	const key = "sk-secret-0123456789"
	for _, c := range []struct {
		want string
		c    Config
	}{
		{"openai: Config.BaseURL: is missing; for example http://127.0.0.1:8000/v1", Config{}},
		{"openai: Config.BaseURL: has to begin with http:// or https://", Config{BaseURL: "localhost:8000"}},
		{"openai: Config.BaseURL: has to begin with http:// or https://", Config{BaseURL: "/v1"}},
		{"openai: Config.BaseURL: has to begin with http:// or https://", Config{BaseURL: "ftp://h"}},
		{"openai: Config.BaseURL: is not a URL", Config{BaseURL: "http://u:" + key + "@h:port"}},
		{"openai: Config.BaseURL: has no host", Config{BaseURL: "http:///v1"}},
		{"openai: Config.BaseURL: has no host", Config{BaseURL: "http://:80"}},
		{"openai: Config.BaseURL: has a fragment (#…), which no server gets to see", Config{BaseURL: "http://h#x"}},
		{"openai: Config.BaseURL: ends in /models, which is no endpoint that is known here; it may end in /v1, /chat/completions, /completions, /responses or /embeddings",
			Config{BaseURL: "http://h/v1/models"}},
		{`openai: Config.Endpoint: "images" is not known; "chat/completions", "completions", "responses" and "embeddings" are`, Config{BaseURL: "http://h", Endpoint: "images"}},
		{`openai: Config.Endpoint: is "completions", but BaseURL ends in /chat/completions`, Config{BaseURL: "http://h/v1/chat/completions", Endpoint: Completions}},
		{`openai: Config.Endpoint: is "chat/completions", but BaseURL ends in /completions`, Config{BaseURL: "http://h/v1/completions", Endpoint: ChatCompletions}},
		{"openai: Config.APIKey: begins or ends with white space", Config{BaseURL: "http://h", APIKey: key + "\n"}},
		{"openai: Config.APIKey: has a character that no header can carry", Config{BaseURL: "http://h", APIKey: key + "\n" + key}},
		{"openai: Config.APIKey: Header has an Authorization too; only one can be sent",
			Config{BaseURL: "http://h", APIKey: key, Header: http.Header{"authorization": {key}}}},
		{"openai: Config.APIKey: BaseURL has a user too; only one can be sent", Config{BaseURL: "http://u:p@h", APIKey: key}},
		{"openai: Config.Header: has an Authorization, but BaseURL has a user too; only one can be sent",
			Config{BaseURL: "http://u:p@h", Header: http.Header{"Authorization": {key}}}},
		{`openai: Config.Header: "a b" is no name of a field`, Config{BaseURL: "http://h", Header: http.Header{"a b": {"x"}}}},
		{"openai: Config.Header: the value of X-Key has a character that no header can carry",
			Config{BaseURL: "http://h", Header: http.Header{"x-key": {key + "\r\nX: y"}}}},
		{"openai: Config.Header: Content-Length is set by the client itself", Config{BaseURL: "http://h", Header: http.Header{"Content-Length": {"3"}}}},
		{"openai: Config.Body: stream is not set here: Config.NoStream says whether the answer is a stream",
			Config{BaseURL: "http://h", Body: map[string]any{"stream": true}}},
		{"openai: Config.Body: x cannot be JSON: it is a float64", Config{BaseURL: "http://h", Body: map[string]any{"x": math.NaN()}}},
		{"openai: Config.Body: x cannot be JSON: it is a func()", Config{BaseURL: "http://h", Body: map[string]any{"x": func() {}}}},
		{"openai: Config.HTTP2: is set, but it is the Client that chooses the protocol", Config{BaseURL: "http://h", HTTP2: true, Client: &http.Client{}}},
		{"openai: Config.Body: stream_options is not an object", Config{BaseURL: "http://h", Body: map[string]any{"stream_options": 3}}},
	} {
		_, err := New(c.c)
		require.EqualError(t, err, c.want)
		require.NotContains(t, err.Error(), key)
		var field *ConfigError
		require.ErrorAs(t, err, &field)
		require.Error(t, errors.Unwrap(field))
	}
}

func TestDescribe(t *testing.T) {
	d := target(t, Config{BaseURL: "http://user:sk-secret-1@h:1/v1?key=sk-secret-2", Model: "m"}).Describe()
	assert.Equal(t, `chat/completions of model "m" at http://h:1/v1/chat/completions`, d.Name)
	assert.True(t, d.Tokens)
	for _, m := range slo.Metrics() {
		assert.True(t, d.Gives(m), "a stream gives everything: %s", m)
	}
	assert.False(t, d.Gives("x_foo"), "but for what only the caller can measure")

	tgt := target(t, Config{BaseURL: "http://h", NoStream: true})
	d = tgt.Describe()
	assert.True(t, d.Tokens)
	for _, m := range []slo.Metric{slo.TTFT, slo.TTFO, slo.TPOT, slo.ITL, slo.Speed, slo.ServiceTTFT} {
		assert.False(t, d.Gives(m), m)
		_, err := loadgen.Run(t.Context(), tgt, loadgen.Plan{
			SLO:         slo.SLO{Objectives: []slo.Objective{{Metric: m, Percentile: slo.P95, Threshold: slo.Threshold{Limit: 1}}}},
			Concurrency: 1, Requests: 1,
		})
		assert.ErrorContains(t, err, string(m), "refused before the first request")
	}
	for _, m := range []slo.Metric{slo.E2E, slo.ServiceE2E, slo.Lag, slo.ErrorRate, slo.Attainment} {
		assert.True(t, d.Gives(m), m)
	}
}

// sent is what a server gets to see of a request.
func sent(t *testing.T, c Config, req *loadgen.Request) (*http.Request, map[string]any) {
	t.Helper()
	var got *http.Request
	body := map[string]any{}
	tgt := served(t, c, func(w http.ResponseWriter, r *http.Request) {
		got = r
		b, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, int64(len(b)), r.ContentLength)
		assert.NoError(t, json.Unmarshal(b, &body), string(b))
		streaming(deltas("x")+stop+done)(w, r)
	})
	rec, _ := do(t, tgt, req)
	require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
	return got, body
}

func TestRequest(t *testing.T) {
	type m = map[string]any
	usage := m{"include_usage": true}
	user := func(s string) []any { return []any{m{"role": "user", "content": s}} }
	for _, c := range []struct {
		name string
		c    Config
		req  loadgen.Request
		want m
	}{
		{"a prompt", Config{Model: "m"}, loadgen.Request{Prompt: "a\n\"b\" <é> \xff", MaxTokens: 7},
			m{"model": "m", "stream": true, "stream_options": usage, "max_tokens": 7.0, "messages": user("a\n\"b\" <é> \uFFFD")}},
		{"nothing", Config{}, loadgen.Request{}, m{"stream": true, "stream_options": usage, "messages": user("")}},
		{"messages", Config{}, loadgen.Request{Messages: []loadgen.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "u"}}},
			m{"stream": true, "stream_options": usage, "messages": []any{m{"role": "system", "content": "s"}, m{"role": "user", "content": "u"}}}},
		{"no stream", Config{NoStream: true}, loadgen.Request{Prompt: "x"}, m{"stream": false, "messages": user("x")}},
		{"completions", Config{Endpoint: Completions}, loadgen.Request{Prompt: "x", MaxTokens: 3},
			m{"stream": true, "stream_options": usage, "prompt": "x", "max_tokens": 3.0}},
		{"fields", Config{Body: m{"temperature": 0.5, "stop": []string{"a"}}}, loadgen.Request{Prompt: "x"},
			m{"stream": true, "stream_options": usage, "temperature": 0.5, "stop": []any{"a"}, "messages": user("x")}},
		{"the request's go over the config's", Config{Model: "m", Body: m{"temperature": 0.5, "seed": 1}},
			loadgen.Request{Prompt: "x", Body: m{"temperature": 1, "model": "n", "user": "u"}},
			m{"stream": true, "stream_options": usage, "model": "n", "temperature": 1.0, "seed": 1.0, "user": "u", "messages": user("x")}},
		{"nil takes a field out", Config{Model: "m", Body: m{"stream_options": nil, "seed": 1}},
			loadgen.Request{Prompt: "x", Body: m{"seed": nil, "model": nil}}, m{"stream": true, "messages": user("x")}},
		{"null can be sent", Config{Body: m{"seed": json.RawMessage("null")}}, loadgen.Request{Prompt: "x"},
			m{"stream": true, "stream_options": usage, "seed": nil, "messages": user("x")}},
		{"usage off", Config{Body: m{"stream_options": m{"include_usage": false}}}, loadgen.Request{Prompt: "x"},
			m{"stream": true, "stream_options": m{"include_usage": false}, "messages": user("x")}},
		{"options are merged", Config{Body: m{"stream_options": m{"a": 1}}}, loadgen.Request{Prompt: "x", Body: m{"stream_options": m{"b": 2}}},
			m{"stream": true, "stream_options": m{"include_usage": true, "a": 1.0, "b": 2.0}, "messages": user("x")}},
		{"a limit in the body stands", Config{Body: m{"max_completion_tokens": 9}}, loadgen.Request{Prompt: "x", MaxTokens: 5},
			m{"stream": true, "stream_options": usage, "max_completion_tokens": 9.0, "messages": user("x")}},
		{"a limit in the request's body stands", Config{}, loadgen.Request{Prompt: "x", MaxTokens: 5, Body: m{"max_tokens": 4}},
			m{"stream": true, "stream_options": usage, "max_tokens": 4.0, "messages": user("x")}},
		{"messages in the body stand", Config{}, loadgen.Request{Prompt: "x", Body: m{"messages": []any{m{"role": "user", "content": []any{m{"type": "text", "text": "t"}}}}}},
			m{"stream": true, "stream_options": usage, "messages": []any{m{"role": "user", "content": []any{m{"type": "text", "text": "t"}}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, got := sent(t, c.c, &c.req)
			assert.Equal(t, c.want, got)
			assert.Equal(t, http.MethodPost, r.Method)
			assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
			assert.Equal(t, "identity", r.Header.Get("Accept-Encoding"))
			assert.NotContains(t, r.Header, "Authorization")
			if c.c.NoStream {
				assert.Equal(t, "application/json", r.Header.Get("Accept"))
			} else {
				assert.Equal(t, "text/event-stream", r.Header.Get("Accept"))
			}
		})
	}
}

func TestRequestIsNotChanged(t *testing.T) {
	req := &loadgen.Request{Prompt: "x", Body: map[string]any{"seed": 1}}
	body := map[string]any{"stop": []string{"a"}}
	header := http.Header{"X-A": {"b"}}
	tgt := served(t, Config{Body: body, Header: header}, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "b", r.Header.Get("X-A"))
		b, _ := io.ReadAll(r.Body)
		assert.Contains(t, string(b), `"stop":["a"]`)
		streaming(deltas("x")+stop+done)(w, r)
	})
	header.Set("X-A", "changed")
	body["stop"].([]string)[0] = "changed"
	rec, _ := do(t, tgt, req)
	require.Equal(t, goodput.Success, rec.Outcome)
	require.Equal(t, &loadgen.Request{Prompt: "x", Body: map[string]any{"seed": 1}}, req)
}

func TestRequestRefused(t *testing.T) {
	calls := 0
	h := func(http.ResponseWriter, *http.Request) { calls++ }
	chat := served(t, Config{}, h)
	completions := served(t, Config{Endpoint: Completions}, h)
	messages := []loadgen.Message{{Role: "user", Content: "x"}}
	for _, c := range []struct {
		tgt  *Target
		req  loadgen.Request
		want string
	}{
		{chat, loadgen.Request{Prompt: "x", Messages: messages}, "Request.Prompt: Messages are there too; only one of them can be meant"},
		{completions, loadgen.Request{Messages: messages}, "Request.Messages: completions take a Prompt; chat completions and responses take Messages"},
		{chat, loadgen.Request{Body: map[string]any{"stream": false}}, "Request.Body: stream is not set here: Config.NoStream says whether the answer is a stream"},
		{chat, loadgen.Request{Body: map[string]any{"x": make(chan int)}}, "Request.Body: x cannot be JSON: it is a chan int"},
	} {
		rec, _ := do(t, c.tgt, &c.req)
		assert.Equal(t, goodput.ClientError, rec.Outcome)
		assert.Equal(t, c.want, rec.Detail)
	}
	assert.Zero(t, calls)
}

func TestHeader(t *testing.T) {
	r, _ := sent(t, Config{APIKey: "sk-1", Header: http.Header{
		"x-tenant": {"a", "b"}, "Host": {"example.org"}, "Accept": {"*/*"}, "User-Agent": {"ua"},
	}}, &loadgen.Request{})
	assert.Equal(t, "Bearer sk-1", r.Header.Get("Authorization"))
	assert.Equal(t, []string{"a", "b"}, r.Header["X-Tenant"])
	assert.Equal(t, "example.org", r.Host)
	assert.Equal(t, []string{"*/*"}, r.Header["Accept"])
	assert.Equal(t, "ua", r.UserAgent())

	var user, password string
	tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		streaming(deltas("x")+stop+done)(w, r)
	})
	u := *tgt.url
	c := Config{BaseURL: "http://me:pass%20word@" + u.Host}
	rec, _ := do(t, target(t, c), &loadgen.Request{})
	assert.Equal(t, goodput.Success, rec.Outcome)
	assert.Equal(t, "me", user)
	assert.Equal(t, "pass word", password)
}
