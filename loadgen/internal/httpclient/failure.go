package httpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/wellformed"
	"github.com/goodputkit/goodputkit/loadgen"
)

// MaxErrorBody is what is read of the body of a failure, bytes.
const MaxErrorBody = 4 << 10

const errorBodyTime = time.Second // how long that may take

// failure is an error of the connection, in words that can be recorded.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// IsLoss says whether err is the connection's, and not an outcome that was found in the answer.
func IsLoss(err error) bool {
	var found *loadgen.OutcomeError
	var status *loadgen.StatusError
	return !errors.As(err, &found) && !errors.As(err, &status)
}

// Lost is the error of a request whose connection failed with err; an outcome stays as it is, and what failed
// on the client's own side is client_error. request is the body that was sent.
func (r *Redactor) Lost(ctx context.Context, err error, request []byte) error {
	if !IsLoss(err) {
		return err
	}
	if ctx.Err() != nil { // that is why
		return ctx.Err()
	}
	var own *ownError
	if errors.As(err, &own) {
		return loadgen.Fail(goodput.ClientError, r.Line(own.Error(), request, false))
	}
	// As an error of a client's, since not all that goes wrong on the wire has a type by which it could be known.
	var u *url.Error
	if !errors.As(err, &u) {
		u = &url.Error{Op: "Read", Err: err}
	}
	return &failure{r.Line(u.Err.Error(), request, false), u}
}

// Status is the error of an answer whose status is no success: a *loadgen.StatusError with what its body says, or that of
// ctx. It ends the trace of the request at the body's last piece. request is the body that was sent.
func (r *Redactor) Status(ctx context.Context, resp *http.Response, in *Body, request []byte) error {
	defer in.Bound(errorBodyTime)()
	body, cut := make([]byte, 0, 512), false
	for {
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err != nil {
			break
		}
		if len(body) == cap(body) {
			if cut = len(body) > MaxErrorBody; cut {
				body = body[:MaxErrorBody]
				break
			}
			body = slices.Grow(body, min(len(body), MaxErrorBody+1-len(body)))
			body = body[:len(body):min(cap(body), MaxErrorBody+1)]
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	in.trace.EndAt(in.At)
	return &loadgen.StatusError{
		Code: resp.StatusCode, Rejected: goodput.OutcomeOfStatus(resp.StatusCode, resp.Header) == goodput.Rejected,
		Detail: r.Line(ErrorText(body), request, cut),
	}
}

// ErrorText is what the body of a failure says to a person.
func ErrorText(body []byte) string {
	if !wellformed.JSON(body) {
		return string(body)
	}
	doc := gjson.ParseBytes(body)
	if doc.IsArray() {
		doc = doc.Get("0")
	}
	if text := Message(doc); text != "" {
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

// Message is the text of an error, in the shapes that servers give it.
func Message(doc gjson.Result) string {
	for _, path := range []string{"error.message", "error", "message", "detail.0.msg", "detail"} {
		if v := doc.Get(path); v.Type == gjson.String && strings.TrimSpace(v.Str) != "" {
			return v.Str
		}
	}
	return ""
}
