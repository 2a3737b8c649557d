package openai

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// Endpoint is the kind of request: the path below /v1.
type Endpoint string

// The endpoints.
const (
	ChatCompletions Endpoint = "chat/completions"
	Completions     Endpoint = "completions"
	Responses       Endpoint = "responses"
	Embeddings      Endpoint = "embeddings" // one JSON body, never a stream, and no output tokens
)

// endpoints are those that are known; of two of which one is the other's end the longer comes first.
var endpoints = []Endpoint{ChatCompletions, Completions, Responses, Embeddings}

// resolve is the endpoint's whole URL, and which endpoint it is.
func resolve(base string, endpoint Endpoint) (*url.URL, Endpoint, error) {
	if endpoint != "" && !slices.Contains(endpoints, endpoint) {
		return nil, "", refuse("Endpoint", "%q is not known; %q, %q, %q and %q are", endpoint, ChatCompletions, Completions, Responses, Embeddings)
	}
	if base == "" {
		return nil, "", refuse("BaseURL", "is missing; for example http://127.0.0.1:8000/v1")
	}
	u, err := httpclient.URL(base)
	if err != nil {
		return nil, "", &ConfigError{"BaseURL", err}
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	i := slices.IndexFunc(endpoints, func(e Endpoint) bool { return strings.HasSuffix(path, "/"+string(e)) })
	switch {
	case i < 0:
		if strings.HasSuffix(path, "/models") {
			return nil, "", refuse("BaseURL", "ends in /models, which is no endpoint that is known here; it may end in /v1, /%s, /%s, /%s or /%s",
				ChatCompletions, Completions, Responses, Embeddings)
		}
		if path == "" {
			path = "/v1"
		}
		if endpoint == "" {
			endpoint = ChatCompletions
		}
		path += "/" + string(endpoint)
	case endpoint == "":
		endpoint = endpoints[i]
	case endpoint != endpoints[i]:
		return nil, "", refuse("Endpoint", "is %q, but BaseURL ends in /%s", endpoint, endpoints[i])
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return nil, "", refuse("BaseURL", "is not a URL")
	}
	u.Path, u.RawPath = plain, path
	return u, endpoint, nil
}

// input is the field that holds what the model is given.
func (e Endpoint) input() string {
	switch e {
	case Completions:
		return "prompt"
	case Responses, Embeddings:
		return "input"
	}
	return "messages"
}

// messages says whether a conversation can be the input.
func (e Endpoint) messages() bool { return e == ChatCompletions || e == Responses }

// limits are the fields that limit the output tokens, that in which Request.MaxTokens goes first.
func (e Endpoint) limits() []string {
	switch e {
	case Responses:
		return responsesLimits
	case Embeddings:
		return nil
	}
	return limits
}

var limits, responsesLimits = []string{"max_tokens", "max_completion_tokens"}, []string{"max_output_tokens"}

// limit is the request's own token limit by its fields: the lowest of them; 0: none.
func (e Endpoint) limit(f map[string]json.RawMessage) int {
	l := 0
	for _, name := range e.limits() {
		if n := whole(f[name]); n > 0 && (l == 0 || n < l) {
			l = n
		}
	}
	return l
}

// choices is how many answers the fields ask for: n for each prompt, an embedding for each input.
func (e Endpoint) choices(f map[string]json.RawMessage) int {
	switch e {
	case Embeddings:
		return inputs(f["input"])
	case Responses:
		return 1
	}
	return min(max(1, whole(f["n"]))*inputs(f["prompt"]), maxChoices)
}

// inputs is how many inputs a field holds: of a list of texts, or of lists of token numbers, as many as it has; else 1.
func inputs(raw json.RawMessage) int {
	if list := gjson.ParseBytes(raw); list.IsArray() {
		if first := list.Get("0"); first.Type == gjson.String || first.IsArray() {
			return int(list.Get("#").Int())
		}
	}
	return 1
}

// end is the detail of an answer whose body ended too early.
func (e Endpoint) end() string {
	if e == Responses {
		return "the body ended with no response.completed, response.incomplete or response.failed"
	}
	return "the body ended with no finish reason for every choice and no [DONE]"
}
