package admission

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// RetryAfterMsHeader is the header in which a refusal says, in milliseconds, when it may be worth another try. Clients of
// OpenAI's API read it before Retry-After.
const RetryAfterMsHeader = "Retry-After-Ms"

// WriteRejection answers a request that was refused: 429, or 503 where nothing can be served at all; Retry-After in whole
// seconds, rounded up, [RetryAfterMsHeader], [goodput.ReasonHeader], and a body like an error of OpenAI's API.
func WriteRejection(w http.ResponseWriter, err *RejectedError) {
	a := apiError{code: http.StatusTooManyRequests, Type: "rate_limit_error", Code: string(err.Reason), Message: err.Error()}
	if err.Reason.NothingServed() {
		a.code, a.Type = http.StatusServiceUnavailable, "server_error"
	}
	ms := int64(max(err.RetryAfter, 1)-1)/int64(time.Millisecond) + 1
	h := w.Header()
	h.Set("Retry-After", strconv.FormatInt((ms-1)/1000+1, 10))
	h.Set(RetryAfterMsHeader, strconv.FormatInt(ms, 10))
	h.Set(goodput.ReasonHeader, string(err.Reason))
	a.write(w)
}

// apiError is an error of OpenAI's API.
type apiError struct {
	code    int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

func (a *apiError) write(w http.ResponseWriter) {
	text, _ := json.Marshal(map[string]*apiError{"error": a})
	h := w.Header()
	h.Del("Content-Length") // of what somebody had in mind who did not know of this
	h.Del("Content-Encoding")
	h.Set("Content-Type", "application/json")
	w.WriteHeader(a.code)
	_, _ = w.Write(append(text, '\n'))
}
