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

// ErrRoute is the error of a job for which the router of a pool named no engine of that pool, or one that it does not fit.
var ErrRoute = errors.New("llmsim: the router named no engine for the job")

// statusOf is a refusal as an answer over HTTP.
func statusOf(err error) *loadgen.StatusError {
	if fault, ok := errors.AsType[*FaultError](err); ok {
		return &loadgen.StatusError{Code: http.StatusInternalServerError, Detail: fault.Error()}
	}
	s := &loadgen.StatusError{Code: http.StatusBadRequest, Detail: detailOf(err)}
	switch {
	case errors.Is(err, ErrQueueFull):
		s.Code, s.Rejected = http.StatusServiceUnavailable, true
	case errors.Is(err, ErrRoute):
		s.Code = http.StatusInternalServerError
	}
	return s
}

// detailOf is what there is to say of this job.
func detailOf(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.detail
	}
	return err.Error()
}

// outcomeOf is the outcome of a request that is answered so.
func outcomeOf(s *loadgen.StatusError) goodput.Outcome {
	if s.Rejected {
		return goodput.Rejected
	}
	return goodput.OutcomeOfStatus(s.Code, nil)
}
