package goodput

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

func TestWindowIsHalfOpen(t *testing.T) {
	from, to := epoch.Add(10*time.Second), epoch.Add(20*time.Second)
	at := func(start, end time.Duration) *Record { return request(start, end-start) }
	records := []*Record{
		at(9*time.Second, 10*time.Second-1),   // before
		at(9*time.Second, 10*time.Second),     // flow only
		at(10*time.Second-1, 11*time.Second),  // flow only
		at(10*time.Second, 15*time.Second),    // both
		at(19*time.Second, 20*time.Second-1),  // both
		at(19*time.Second, 20*time.Second),    // cohort only
		at(20*time.Second-1, 21*time.Second),  // cohort only
		at(20*time.Second, 20*time.Second+ms), // after
	}
	s := slo.MustParse("e2e p50 < 1s")
	fixed := NewAccumulator(s, WithWindow(from, to))
	open := NewAccumulator(s, WithWindow(from, time.Time{}))
	for _, r := range records {
		fixed.Observe(r)
	}
	for i, r := range records {
		if i == 5 { // nothing at or beyond the end has been observed yet
			open.EndWindow(to)
		}
		open.Observe(r)
	}
	for name, a := range map[string]*Accumulator{"fixed": fixed, "ended": open} {
		r := a.Report()
		assert.EqualValues(t, 4, r.Offered, name)
		assert.EqualValues(t, 4, r.Flow.Ended, name)
		assert.Equal(t, 10.0, r.WindowS, name)
		assert.Equal(t, 0.4, r.ThroughputRPS, name)
		assert.Equal(t, Window{Kind: SteadyState, From: from, To: to}, r.Window, name)
		assert.False(t, hasWarning(r, ErrWindowEndedLate), name)
		assert.EqualValues(t, 4, r.Percentiles["e2e"].N)
		requireBooksClose(t, r)
	}
}

func TestWindowThatEndsWithTheLastStart(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p50 < 1s"), WithWindow(epoch, time.Time{}))
	last := epoch.Add(8 * time.Second)
	a.EndWindowWith(last)
	r := observe(a, request(0, time.Second), request(4*time.Second, 4*time.Second), request(8*time.Second, time.Second), request(7*time.Second, time.Second+1))
	assert.EqualValues(t, 4, r.Offered)
	assert.EqualValues(t, 2, r.Flow.Ended, "what ends at the last Start is inside, a nanosecond later is not")
	assert.Equal(t, 8.0, r.WindowS)
	assert.Equal(t, Window{Kind: SteadyState, From: epoch, To: last, ToIncluded: true}, r.Window)

	a.EndWindow(epoch.Add(9 * time.Second))
	assert.Equal(t, last, a.Report().Window.To, "an end is only brought forward")
}

func TestWindowStillOpen(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p50 < 1s"), WithWindow(epoch, time.Time{}))
	r := observe(a, request(-5*time.Second, time.Second), request(time.Second, time.Second), request(2*time.Second, 3*time.Second))
	assert.Equal(t, Window{Kind: SteadyState, From: epoch, To: epoch.Add(5 * time.Second), ToIncluded: true, Open: true}, r.Window)
	assert.EqualValues(t, 2, r.Offered)
	assert.Equal(t, 0.4, r.ThroughputRPS)
}

func TestWindowEnded(t *testing.T) {
	late := NewAccumulator(slo.MustParse("e2e p50 < 1s"), WithWindow(epoch, time.Time{}))
	late.Observe(request(time.Second, time.Second))
	late.EndWindow(epoch.Add(2 * time.Second))
	assert.True(t, hasWarning(late.Report(), ErrWindowEndedLate))

	cut := NewAccumulator(slo.MustParse("e2e p50 < 1s"), WithWindow(epoch, time.Time{}))
	cut.EndWindow(epoch.Add(-time.Second))
	r := observe(cut, request(-2*time.Second, time.Second))
	assert.Zero(t, r.WindowS)
	assert.Zero(t, r.Offered)
	assert.True(t, hasWarning(r, ErrNoWindow))
	assert.True(t, math.IsNaN(r.ThroughputRPS))
}

func TestWindowOfAnInstant(t *testing.T) {
	r := observe(NewAccumulator(slo.MustParse("e2e p50 < 1s")), request(0, 0))
	assert.Zero(t, r.WindowS)
	assert.True(t, math.IsNaN(r.GoodputRPS))
	assert.Equal(t, 1.0, r.Attainment)
	assert.True(t, hasWarning(r, ErrNoWindow))
}

// A record can be placed before the window's end is known and booked after it.
func TestWindowEndedWhileARecordWasOnItsWay(t *testing.T) {
	for name, c := range map[string]struct {
		at   time.Duration
		late bool
	}{"before the end": {time.Second, false}, "beyond it": {2 * time.Second, true}} {
		a := NewAccumulator(slo.MustParse("e2e p95 < 1s"), WithWindow(epoch, time.Time{}))
		observe(a, request(0, ms))
		r := request(c.at, ms)
		m := measured(r)
		start := a.at(r.Start)
		e := entry{start: start, end: start + m.e2e, outcome: Success, first: -1, flags: a.place(start, start+m.e2e) | isGood}
		a.EndWindow(epoch.Add(2 * time.Second))
		s := a.lockShard(0)
		*s.next() = e
		s.mu.Unlock()
		report := a.Report()
		assert.EqualValues(t, 2, report.Offered, name)
		assert.Equal(t, c.late, slices.ContainsFunc(report.Warnings, func(w error) bool { return errors.Is(w, ErrWindowEndedLate) }), name)
	}
}

func TestWindowEndedAtTheEndsOfTime(t *testing.T) {
	for year, length := range map[int]float64{-100: 0, 1: 0, 1969: 0, 2300: 1, 9999: 1, 200_000_000_000: 1} { // as long as it is open: 1 s
		for _, included := range []bool{true, false} {
			a := NewAccumulator(slo.MustParse("e2e p95 < 1s"), WithWindow(epoch, time.Time{}))
			end := a.EndWindow
			if included {
				end = a.EndWindowWith
			}
			end(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
			r := observe(a, request(0, time.Second))
			assert.Equal(t, length, r.WindowS, "%d", year)
			assert.Equal(t, length > 0, r.Window.Open, "%d", year)
			b, err := a.MarshalBinary()
			require.NoError(t, err)
			require.NoError(t, new(Accumulator).UnmarshalBinary(b), "%d", year)
		}
	}
}
