package openai

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// errorEvent is the outcome that an error object in a 200 stands for. doc is the object, or the text, under the name
// "error", or the whole event where the event is the error.
func (a *answer) errorEvent(doc gjson.Result) error {
	o := goodput.ServerError
	for _, name := range []string{"code", "type", "status", "status_code"} {
		if saysRateLimit(doc.Get(name)) {
			o = goodput.RateLimited
		}
	}
	text := doc.String()
	if m := httpclient.Message(doc); m != "" {
		text = m
	} else if doc.IsObject() {
		text = httpclient.ErrorText([]byte(doc.Raw))
	}
	return loadgen.Fail(o, a.redact.Line("error event: "+text, a.request, false))
}

// saysRateLimit reads an error's code or type: 429, rate_limit_exceeded, RateLimitError, too_many_requests,
// insufficient_quota, ThrottlingException.
func saysRateLimit(v gjson.Result) bool {
	switch v.Type {
	case gjson.Number:
		return v.Num == http.StatusTooManyRequests
	case gjson.String:
		s := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(v.Str))
		for _, part := range []string{"ratelimit", "toomanyrequests", "quota", "throttl"} {
			if strings.Contains(s, part) {
				return true
			}
		}
		return s == "429"
	}
	return false
}

// malformed is the outcome of a body that is not what the protocol says; quote is the place.
func (a *answer) malformed(what string, quote []byte) error {
	const enough = 80
	cut := len(quote) > enough
	q := string(quote[:min(len(quote), enough)])
	if q != "" && !strings.Contains(q, `\u`) { // which could hide a secret
		what += ": " + a.redact.Line(q, a.request, cut)
	}
	return loadgen.Fail(goodput.Malformed, what)
}

// finishReason is a finish reason as it can be recorded: the server may say anything there.
func finishReason(r *httpclient.Redactor, s string) string {
	switch s {
	case "stop", "length", "tool_calls", "content_filter", "function_call", "error", "completed", "max_output_tokens":
		return s
	}
	return httpclient.Short(r.Line(s, nil, false), 64)
}
