package loadgen

import (
	"fmt"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/percentile"
	"github.com/goodputkit/goodputkit/slo"
)

// From where on a client is no longer sound. The package comment has these numbers too.
const (
	// Of the requests due, the share that was not delivered in time: 1 − the rate at which they were sent over that at
	// which they were due, in an open loop. It is judged where the last one left more than undeliveredLag late: over a run
	// of milliseconds it says nothing. Requests dropped at the limit of requests in flight are as suspect.
	undeliveredSuspect, undeliveredInvalid = 0.01, 0.05
	undeliveredLag                         = 10 * time.Millisecond
	// The P99 of the client's own lag, as a share of the tightest threshold that it enters: those on ttft, ttfo,
	// e2e and lag.
	lagSuspect, lagInvalid = 0.10, 0.50
	// The share of requests for which the client had no file descriptor or no port.
	exhaustedSuspect, exhaustedInvalid = 0, 0.01
)

// lags is a client's own lag: from when a request could have been sent to when it was. Waiting for a place in flight is
// not its fault, and not in here; it is in the lag of each record.
type lags struct {
	values          *percentile.Recorder // s
	waits           *percentile.Recorder // of those that waited for a place in flight, s
	due, sent       time.Time            // when the last request could have been sent, and when it was
	exhausted, over uint64               // dropped for lack of a descriptor or a port, and at the limit of requests in flight
}

func newLags(start time.Time) lags {
	return lags{values: percentile.NewRecorder(), waits: percentile.NewRecorder(), due: start, sent: start}
}

// add counts a request, and says how late it was sent, in s; NaN: it was not.
func (l *lags) add(c *Call, r *goodput.Record) float64 {
	switch {
	case c.handed.IsZero():
		if r.Outcome == goodput.Dropped {
			l.over++
		} else {
			l.waits.Add(r.Sent.Seconds()) // to its end
		}
		return math.NaN()
	case r.Outcome == goodput.Dropped:
		l.exhausted++
		return math.NaN()
	}
	if wait := c.ready.Sub(c.Start); wait > 0 {
		l.waits.Add(wait.Seconds())
	}
	sent := c.Start.Add(r.Sent)
	l.due, l.sent = later(l.due, c.ready), later(l.sent, sent)
	return max(0, sent.Sub(c.ready)).Seconds()
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// load is what was asked for, and what the limit of requests in flight held back.
func (t *tally) load() *goodput.Load {
	load := &goodput.Load{Plan: t.plan.load(), Closed: t.plan.Arrivals == nil, MaxInFlight: t.plan.MaxInFlight}
	if d := t.lags.waits.Snapshot(); d.Count() > 0 {
		load.Wait = goodput.PhaseTimes{N: d.Count(), P50: d.Quantile(0.5), P99: d.Quantile(0.99), Max: d.Max()}
	}
	return load
}

// tightest is the tightest threshold that a client's lag enters, in s; +Inf: there is none.
func tightest(p *Plan) float64 {
	least := math.Inf(1)
	check := func(s slo.SLO) {
		for _, o := range s.Objectives {
			switch o.Metric {
			case slo.TTFT, slo.TTFO, slo.E2E, slo.Lag:
				if o.Threshold.Limit > 0 {
					least = min(least, o.Threshold.Limit)
				}
			}
		}
	}
	check(p.SLO)
	for _, s := range p.Classes {
		check(s)
	}
	return least
}

// health is the client's condition over the whole run.
func (t *tally) health() *goodput.ClientHealth {
	l := &t.lags
	values := l.values.Snapshot()
	h := &goodput.ClientHealth{
		Verdict: goodput.Valid, Offered: t.offered, Sent: t.sent - l.exhausted, Retried: t.retried,
		LagP50: values.Quantile(0.5), LagP99: values.Quantile(0.99), LagMax: values.Max(),
		Network: t.network.result(), Load: t.load(),
	}
	judge := func(v, suspect, invalid float64, reason string, args ...any) {
		switch {
		case v > invalid:
			h.Verdict = goodput.Invalid
		case v > suspect:
			if h.Verdict == goodput.Valid {
				h.Verdict = goodput.Suspect
			}
		default:
			return
		}
		h.Reasons = append(h.Reasons, fmt.Sprintf(reason, args...))
	}
	if due, sent := l.due.Sub(t.start), l.sent.Sub(t.start); due > 0 && sent-due > undeliveredLag && t.plan.Arrivals != nil {
		rate := due.Seconds() / sent.Seconds()
		judge(1-rate, undeliveredSuspect, undeliveredInvalid,
			"requests were sent at %.4g %% of the rate at which they were due: the last one left %v late", 100*rate, l.sent.Sub(l.due).Round(time.Microsecond))
	}
	if least := tightest(t.plan); h.LagP99 > 0 {
		judge(h.LagP99/least, lagSuspect, lagInvalid,
			"the P99 of the client's own lag, %s, is %.3g %% of the tightest threshold", figure.Seconds(h.LagP99), 100*h.LagP99/least)
	}
	if t.offered > 0 {
		n := float64(t.offered)
		judge(float64(l.exhausted)/n, exhaustedSuspect, exhaustedInvalid,
			"for %d of %d requests the client had no file descriptor or no port", l.exhausted, t.offered)
		judge(float64(l.over)/n, undeliveredSuspect, math.Inf(1),
			"%d of %d requests were dropped at the limit of %d in flight: the target had less load than was offered", l.over, t.offered, t.plan.MaxInFlight)
	}
	return h
}
