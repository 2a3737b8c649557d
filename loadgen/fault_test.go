package loadgen

import (
	"context"
	"net"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// brokenError is an error whose methods panic where it is nil.
type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

// unwrapsToPanic is an error that cannot even be unwrapped.
type unwrapsToPanic struct{}

func (unwrapsToPanic) Error() string { return "x" }
func (unwrapsToPanic) Unwrap() error { panic("unwrap") }

// A nil pointer that is returned as an error is not nil, and its methods panic: a mistake in the target, which costs a
// request and not the program.
func TestErrorsThatCannotBeRead(t *testing.T) {
	for name, failure := range map[string]error{
		"a type of the caller's": (*brokenError)(nil),
		"an OutcomeError":        (*OutcomeError)(nil),
		"a StatusError":          (*StatusError)(nil),
		"of package net":         (*net.OpError)(nil),
		"cannot be unwrapped":    unwrapsToPanic{},
	} {
		t.Run(name, func(t *testing.T) {
			target := TargetFunc(func(context.Context, *Request, *Trace) error { return failure })
			res, rs := run(t, target, Plan{SLO: e2e, Concurrency: 2, Requests: 10})
			assert.EqualValues(t, 10, res.Report.Outcomes[goodput.ServerError], res.Report.Outcomes)
			assert.Regexp(t, `^the target's error cannot be read: panic: `, rs[0].Detail)
			rec := Do(t.Context(), target, nil)
			assert.Equal(t, goodput.ServerError, rec.Outcome)
			assert.Regexp(t, `^the target's error cannot be read: panic: `, rec.Detail)
		})
	}
}

// A session that ends its goroutine, as a test's FailNow does, ends and no more: its worker goes on, and so does the run.
func TestSessionEndsItsGoroutine(t *testing.T) {
	exits := &Request{Next: func(Answer) (*Request, time.Duration) { runtime.Goexit(); return nil, 0 }}
	res, rs := run(t, takes(ms), Plan{SLO: e2e, Concurrency: 1, Workload: slices.Values([]*Request{exits, exits, {}})})
	assert.Equal(t, []time.Duration{0, ms, 2 * ms}, starts(rs))
	warning(t, res, ErrSessions, "2 of 2, the first because Request.Next ended its goroutine (runtime.Goexit): 2 turns or more were never offered")
}

// Progress is the caller's code, too: one that ends its goroutine is not called again, and one may carry out a run.
func TestProgressDoesWhatItWants(t *testing.T) {
	p := Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Duration: 5 * time.Second}
	calls := 0
	exits := p
	exits.Progress = func(Progress) { calls++; runtime.Goexit() }
	res, _ := run(t, takes(ms), exits)
	assert.Equal(t, 1, calls)
	assert.EqualValues(t, 50, res.Report.Good)
	warning(t, res, ErrProgress, "runtime.Goexit")

	synctest.Test(t, func(t *testing.T) {
		var inner []uint64
		outer := p
		outer.Progress = func(Progress) {
			res, err := Run(t.Context(), takes(ms), Plan{SLO: e2e, Concurrency: 1, Requests: 3})
			assert.NoError(t, err)
			inner = append(inner, res.Report.Good)
		}
		res, err := Run(t.Context(), takes(ms), outer)
		require.NoError(t, err)
		assert.EqualValues(t, 50, res.Report.Good)
		assert.Zero(t, res.Report.Health.LagMax)
		assert.Equal(t, []uint64{3, 3, 3, 3, 3}, inner)
	})
}
