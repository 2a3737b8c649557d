package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

const (
	maxErrorBody  = 4 << 10     // what is read of the body of a failure, bytes
	errorBodyTime = time.Second // how long it may take
)

// failure is an error of the connection, in words that can be recorded.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// isLoss says whether err is the connection's, and not an outcome that was found in the answer.
func isLoss(err error) bool {
	var found *loadgen.OutcomeError
	return !errors.As(err, &found)
}

// lost is the error of a request whose connection failed with err.
func (t *Target) lost(ctx context.Context, err error, request []byte) error {
	if !isLoss(err) {
		return err
	}
	if ctx.Err() != nil { // that is why
		return ctx.Err()
	}
	// As an error of a client's, since not all that goes wrong on the wire has a type by which it could be known.
	var u *url.Error
	if !errors.As(err, &u) {
		u = &url.Error{Op: "Read", Err: err}
	}
	return &failure{t.redact.line(u.Err.Error(), request, false), u}
}

// status is the error of an answer whose status is no success.
func (t *Target) status(ctx context.Context, resp *http.Response, in *input, s *scratch, request []byte) error {
	defer in.bound(errorBodyTime)()
	for len(s.body) <= maxErrorBody {
		n, err := in.Read(s.buf)
		s.body = append(s.body, s.buf[:n]...)
		if err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	in.trace.EndAt(in.at)
	body, cut := s.body, false
	if len(body) > maxErrorBody {
		body, cut = body[:maxErrorBody], true
	}
	return &loadgen.StatusError{
		Code: resp.StatusCode, Rejected: goodput.OutcomeOfStatus(resp.StatusCode, resp.Header) == goodput.Rejected,
		Detail: t.redact.line(errorText(body), request, cut),
	}
}

// errorText is what the body of a failure says to a person.
func errorText(body []byte) string {
	if !valid(body) {
		return string(body)
	}
	doc := gjson.ParseBytes(body)
	if doc.IsArray() {
		doc = doc.Get("0")
	}
	if text := message(doc); text != "" {
		return text
	}
	// Written anew, so that no escape hides a secret.
	var v any
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if json.Unmarshal(body, &v) != nil || enc.Encode(v) != nil { // a number that is too large
		return ""
	}
	return b.String()
}

// message is the text of an error, in the shapes that servers give it.
func message(doc gjson.Result) string {
	for _, path := range []string{"error.message", "error", "message", "detail.0.msg", "detail"} {
		if v := doc.Get(path); v.Type == gjson.String && strings.TrimSpace(v.Str) != "" {
			return v.Str
		}
	}
	return ""
}

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
	if m := message(doc); m != "" {
		text = m
	} else if doc.IsObject() {
		text = errorText([]byte(doc.Raw))
	}
	return loadgen.Fail(o, a.redact.line("error event: "+text, a.request, false))
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
		what += ": " + a.redact.line(q, a.request, cut)
	}
	return loadgen.Fail(goodput.Malformed, what)
}
