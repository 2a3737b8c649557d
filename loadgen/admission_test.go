package loadgen

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/admission"
)

// A target behind an admission.Controller returns its error as it is, and the request is booked as refused before any work.
func TestAdmissionRefusalIsRejected(t *testing.T) {
	refusal := &admission.RejectedError{Reason: admission.PredictedLate, RetryAfter: time.Second}
	rec := Do(t.Context(), TargetFunc(func(context.Context, *Request, *Trace) error { return fmt.Errorf("at the gate: %w", refusal) }), &Request{})
	require.Equal(t, goodput.Rejected, rec.Outcome)
	require.Contains(t, rec.Detail, "would be late")

	rec = Do(t.Context(), TargetFunc(func(context.Context, *Request, *Trace) error { return says(goodput.Success) }), &Request{})
	require.Equal(t, goodput.ServerError, rec.Outcome, "an error is no success, whatever it says")
}

type says goodput.Outcome

func (s says) Error() string            { return "says" }
func (s says) Outcome() goodput.Outcome { return goodput.Outcome(s) }
