package admission

import (
	"errors"
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// Reason is why a request was refused. It is one of the constants below, the value of the header [goodput.ReasonHeader],
// and an error to compare with: errors.Is(err, admission.PredictedLate).
type Reason string

// The reasons.
const (
	PredictedLate Reason = "predicted_late" // on arrival: by what waits ahead of it, it would miss its deadline
	BecameLate    Reason = "became_late"    // it has waited so long that it would miss its deadline if it were served now
	TooLong       Reason = "too_long"       // its prompt alone takes longer than it has, and others wait
	QueueFull     Reason = "queue_full"     // as many wait as may, none of them less important
	Shed          Reason = "shed"           // it waited, and its place was needed for something more important
	Stalled       Reason = "stalled"        // nothing ends although work is in flight
	Closed        Reason = "closed"         // the controller was closed
)

var reasons = []Reason{PredictedLate, BecameLate, TooLong, QueueFull, Shed, Stalled, Closed}

// Reasons is every reason there is, in the order of their declaration.
func Reasons() []Reason { return append([]Reason(nil), reasons...) }

func (r Reason) index() int {
	for i, x := range reasons {
		if x == r {
			return i
		}
	}
	return -1
}

// Error is the reason in words.
func (r Reason) Error() string {
	switch r {
	case PredictedLate:
		return "it would be late by what waits ahead of it"
	case BecameLate:
		return "it has waited too long to be in time"
	case TooLong:
		return "its prompt takes longer than it has, and others wait"
	case QueueFull:
		return "the queue is full"
	case Shed:
		return "its place was needed for something more important"
	case Stalled:
		return "nothing ends although work is in flight"
	case Closed:
		return "the controller is closed"
	}
	return string(r)
}

// NothingServed says that it is no matter of load: nothing can be served at all, now.
func (r Reason) NothingServed() bool { return r == Stalled || r == Closed }

// ErrRejected is what every [RejectedError] is, by errors.Is.
var ErrRejected = errors.New("admission: refused")

// RejectedError says that a request was refused before any work was done for it. errors.Is finds its Reason, and [ErrRejected].
type RejectedError struct {
	Reason     Reason
	RetryAfter time.Duration // when it may be worth another try, by what waits and how fast it is served; above 0
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("admission: refused: %v; retry after %v", e.Reason.Error(), e.RetryAfter)
}

// Unwrap is ErrRejected and the Reason.
func (e *RejectedError) Unwrap() []error { return []error{ErrRejected, e.Reason} }

// Outcome is how a record has it.
func (e *RejectedError) Outcome() goodput.Outcome { return goodput.Rejected }

// drain is how long so many tokens take, s.
func (s *Scheduler) drain(tokens float64) float64 {
	if rate, ok := s.rate.PerSecond(); ok && rate > 0 {
		return tokens / rate
	}
	return 1
}

func (s *Scheduler) refuse(t *Ticket, r Reason, retry float64) {
	t.status = Refused
	t.err = RejectedError{r, duration(min(max(retry, shortRetry), longRetry))}
	s.stats.refused[r.index()]++
}

// refuseWaiting refuses one that its caller waits for.
func (s *Scheduler) refuseWaiting(t *Ticket, r Reason, retry float64) {
	s.refuse(t, r, retry)
	s.decided = append(s.decided, t)
}
