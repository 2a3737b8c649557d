package llmsim

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// refusal is why a machine does not take a job: one of the errors with a name, and what there is to say of this job.
type refusal struct {
	kind   error
	detail string // what a client is told
}

func (r *refusal) Error() string { return r.kind.Error() + ": " + r.detail }
func (r *refusal) Unwrap() error { return r.kind }

func tooLong(j Job, kvTokens int) error {
	return &refusal{ErrTooLong, fmt.Sprintf("%d prompt tokens and %d output tokens are more than the %d that the KV cache holds", j.Prompt, j.Output, kvTokens)}
}

func queueFull(waiting int) error {
	return &refusal{ErrQueueFull, fmt.Sprintf("%d requests are waiting already", waiting)}
}

// ErrRoute is the error of a job for which the router of a pool named no engine of that pool.
var ErrRoute = errors.New("llmsim: the router named no engine")

func routedNowhere(router string, i, engines int) error {
	return &refusal{ErrRoute, fmt.Sprintf("router %s chose engine %d, and they are 0 to %d", router, i, engines-1)}
}

// statusOf is a refusal as an answer over HTTP.
func statusOf(err error) *loadgen.StatusError {
	s := &loadgen.StatusError{Code: http.StatusBadRequest, Detail: err.Error()}
	if r, ok := errors.AsType[*refusal](err); ok {
		s.Detail = r.detail
	}
	switch {
	case errors.Is(err, ErrQueueFull):
		s.Code, s.Rejected = http.StatusServiceUnavailable, true
	case errors.Is(err, ErrRoute):
		s.Code = http.StatusInternalServerError
	}
	return s
}

// outcomeOf is the outcome of a request that is answered so.
func outcomeOf(s *loadgen.StatusError) goodput.Outcome {
	if s.Rejected {
		return goodput.Rejected
	}
	return goodput.OutcomeOfStatus(s.Code, nil)
}
