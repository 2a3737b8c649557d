package loadgen

import (
	"fmt"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/percentile"
	"github.com/goodputkit/goodputkit/slo"
)

// HealthLimits say from where on a client is no longer sound. Beyond Suspect its figures are to be read with care,
// beyond Invalid they show the client and not the server.
type HealthLimits struct {
	// Delivered is the rate at which requests were sent over that at which they were due, in an open loop. It is judged
	// where the last one left more than DeliveredLag late: over a run of milliseconds it says nothing. As suspect as one
	// that delivers too little is one that dropped as many at the limit of requests in flight.
	DeliveredSuspect, DeliveredInvalid float64
	DeliveredLag                       time.Duration
	// Lag is the P99 of how late requests were sent, as a share of the tightest threshold that it enters: those on ttft,
	// ttfo, e2e and lag.
	LagSuspect, LagInvalid float64
	// Exhausted is the share of requests for which the client had no file descriptor or no port.
	ExhaustedSuspect, ExhaustedInvalid float64
}

// DefaultHealth is what a run judges its client by: delivered below 99 % is suspect and below 95 % invalid, where the last
// request left more than 10 ms late; a lag above 10 % of the tightest threshold is suspect and above 50 % invalid; a
// single request without a descriptor or a port is suspect and more than 1 % are invalid.
func DefaultHealth() HealthLimits {
	return HealthLimits{
		DeliveredSuspect: 0.99, DeliveredInvalid: 0.95, DeliveredLag: 10 * time.Millisecond,
		LagSuspect: 0.10, LagInvalid: 0.50,
		ExhaustedSuspect: 0, ExhaustedInvalid: 0.01,
	}
}

// lags is how late a client sent its requests. Waiting for a place in flight is not its fault, and not in here; it is in
// the lag of each record.
type lags struct {
	values          *percentile.Recorder // s
	due, sent       time.Time            // when the last request could have been sent, and when it was
	exhausted, over uint64               // dropped for lack of a descriptor or a port, and at the limit of requests in flight
}

func newLags(start time.Time) lags {
	return lags{values: percentile.NewRecorder(), due: start, sent: start}
}

// add counts a request, and says how late it was sent, in s; NaN: it was not.
func (l *lags) add(c *Call, r *goodput.Record) float64 {
	switch {
	case c.handed.IsZero():
		if r.Outcome == goodput.Dropped {
			l.over++
		}
		return math.NaN()
	case r.Outcome == goodput.Dropped:
		l.exhausted++
		return math.NaN()
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
	}
	limits := DefaultHealth()
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
	if due, sent := l.due.Sub(t.start), l.sent.Sub(t.start); due > 0 && sent-due > limits.DeliveredLag && t.plan.Arrivals != nil {
		rate := due.Seconds() / sent.Seconds()
		judge(1-rate, 1-limits.DeliveredSuspect, 1-limits.DeliveredInvalid,
			"requests were sent at %.4g %% of the rate at which they were due: the last one left %v late", 100*rate, l.sent.Sub(l.due).Round(time.Microsecond))
	}
	if least := tightest(t.plan); h.LagP99 > 0 {
		judge(h.LagP99/least, limits.LagSuspect, limits.LagInvalid,
			"the P99 of the lag with which requests were sent, %.3g ms, is %.3g %% of the tightest threshold", 1e3*h.LagP99, 100*h.LagP99/least)
	}
	if t.offered > 0 {
		n := float64(t.offered)
		judge(float64(l.exhausted)/n, limits.ExhaustedSuspect, limits.ExhaustedInvalid,
			"for %d of %d requests the client had no file descriptor or no port", l.exhausted, t.offered)
		judge(float64(l.over)/n, 1-limits.DeliveredSuspect, math.Inf(1),
			"%d of %d requests were dropped at the limit of %d in flight: the target had less load than was offered", l.over, t.offered, t.plan.MaxInFlight)
	}
	return h
}
