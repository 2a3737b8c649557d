package loadgen

import (
	"fmt"
	"math"
	"slices"
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

	// The difference between the requests in flight that were counted and those that Little's law gives, as a share of the
	// larger; where it is more than booksApart a request, for a target's end is heard of a little later.
	booksSuspect, booksInvalid = 0.01, 0.10
	booksApart                 = 10 * time.Millisecond
	// Of the workers of a closed loop the share that had a request to send in place of one in flight; where that took them
	// more than achievedLag a request, which is what it takes to wake a goroutine up.
	achievedSuspect, achievedInvalid = 0.10, 0.50
	achievedLag                      = 100 * time.Microsecond

	// The share of the requests that opened a connection though one could have been kept for them: beyond the most that were
	// in flight at once and those that failed. It is judged where the opening takes, in the median, more than lagSuspect of
	// the tightest threshold that the client's own lag enters: half of that share, 5 % of all, had to wait so long.
	reopenedSuspect = 0.10

	// What a client's lag may be a goroutine's wait for a processor may be, too: an answer is read that much late. It is a
	// P99 from so many waits on.
	waitsLeast = 100
	// The share of the run that stood still in pauses of more than pauseSuspect of the tightest threshold: what happens at
	// a random instant meets one with that probability, so that it is in the P99.
	pauseSuspect, pausesSuspect = lagSuspect, 0.01
	// The share of the run's seconds in which the client or its host was full: what a P95 may neglect.
	fullSuspect = 0.05
	// The share of a CPU quota's periods in which the client was halted for the rest of them, by the same argument.
	haltedSuspect = 0.01
	// The share of CPU time that was stolen, by the argument of pausesSuspect; over less than stolenLeast one hundredth of
	// a second would be too much of it.
	stolenSuspect = 0.01
	stolenLeast   = 2 * time.Second
)

// lags is a client's own lag: from when a request could have been sent to when it was. Waiting for a place in flight is
// not its fault, and not in here; it is in the lag of each record.
type lags struct {
	values          percentile.Digest // s
	waits           percentile.Digest // of those that waited for a place in flight, s
	due, sent       time.Time         // when the last request could have been sent, and when it was
	exhausted, over uint64            // dropped for lack of a descriptor or a port, and at the limit of requests in flight
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

// loadResult is what was asked for, and what the limit of requests in flight held back.
func (t *tally) loadResult() *goodput.Load {
	p := t.plan
	return &goodput.Load{Plan: t.load, Closed: p.Arrivals == nil, MaxInFlight: p.MaxInFlight, Wait: percentilesOf(&t.lags.waits)}
}

// tightest is the tightest threshold on one of these metrics, in s; +Inf: there is none.
func tightest(p *Plan, metrics ...slo.Metric) float64 {
	least := math.Inf(1)
	check := func(s slo.SLO) {
		for _, o := range s.Objectives {
			if o.Threshold.Limit > 0 && slices.Contains(metrics, o.Metric) {
				least = min(least, o.Threshold.Limit)
			}
		}
	}
	check(p.SLO)
	for _, s := range p.Classes {
		check(s)
	}
	return least
}

// judge comes to a client's verdict.
type judge struct{ *goodput.ClientHealth }

// over makes the client suspect where v is above the first number, and invalid where it is above the second; reason says
// why.
func (j judge) over(v, suspect, invalid float64, reason string, args ...any) {
	switch {
	case v > invalid:
		j.Verdict = goodput.Invalid
	case v > suspect:
		if j.Verdict == goodput.Valid {
			j.Verdict = goodput.Suspect
		}
	default:
		return
	}
	j.Reasons = append(j.Reasons, fmt.Sprintf(reason, args...))
}

// health is the client's condition over the whole run, which took so long.
func (t *tally) health(took time.Duration) *goodput.ClientHealth {
	t.times.Lock()
	defer t.times.Unlock()
	l := &t.lags
	h := &goodput.ClientHealth{
		Verdict: goodput.Valid, Offered: t.offered, Sent: t.sent - l.exhausted, Retried: t.retried,
		LagP50: l.values.Quantile(0.5), LagP99: l.values.Quantile(0.99), LagMax: l.values.Max(),
		Network: t.network.result(), Load: t.loadResult(), InFlight: t.flight.result(took, t.plan.Concurrency),
	}
	j := judge{h}
	if due, sent := l.due.Sub(t.start), l.sent.Sub(t.start); due > 0 && sent-due > undeliveredLag && t.plan.Arrivals != nil {
		missing := (sent - due).Seconds() / sent.Seconds()
		j.over(missing, undeliveredSuspect, undeliveredInvalid,
			"requests were sent at %.4g %% of the rate at which they were due: the last one left %v late", 100*(1-missing), l.sent.Sub(l.due).Round(time.Microsecond))
	}
	if least := tightest(t.plan, slo.TTFT, slo.TTFO, slo.E2E, slo.Lag); h.LagP99 > 0 {
		j.over(h.LagP99/least, lagSuspect, lagInvalid,
			"the P99 of the client's own lag, %s, is %.3g %% of the tightest threshold", figure.Seconds(h.LagP99), 100*h.LagP99/least)
	}
	if t.offered > 0 {
		n := float64(t.offered)
		j.over(float64(l.exhausted)/n, exhaustedSuspect, exhaustedInvalid,
			"for %d of %d requests the client had no file descriptor or no port", l.exhausted, t.offered)
		j.over(float64(l.over)/n, undeliveredSuspect, math.Inf(1),
			"%d of %d requests were dropped at the limit of %d in flight: the target had less load than was offered", l.over, t.offered, t.plan.MaxInFlight)
	}
	j.flight(&t.flight)
	if !t.desc.OpensEach {
		j.connections(uint64(t.flight.most), t.network.failed, tightest(t.plan, slo.TTFT, slo.TTFO, slo.E2E, slo.Lag))
	}
	if m := t.machine; m != nil {
		least := tightest(t.plan, slo.TTFT, slo.TTFO, slo.ITL, slo.E2E, slo.Lag)
		var stopped float64
		h.Runtime, stopped = m.histograms.result(pauseSuspect * least)
		h.CPU = m.cpu()
		j.runtime(least, stopped/m.took().Seconds())
		j.cpu(m.judged)
	}
	return h
}

// flight judges how many requests were in flight.
func (j judge) flight(f *flight) {
	n := j.InFlight
	if n == nil || f.ended == 0 {
		return
	}
	if apart := math.Abs(f.area - f.noted); apart > booksApart.Seconds()*float64(f.ended) {
		why := "the books or the clock are wrong"
		if f.area > f.noted { // the kernel's instants are known of what is read
			why = "answers lay unread, or the books or the clock are wrong"
		}
		j.over(apart/max(f.area, f.noted), booksSuspect, booksInvalid,
			"%.4g requests were in flight by the client's own count, and %.4g by Little's law, from their records: %s", n.Mean, n.Little, why)
	}
	if f.due-f.sent > achievedLag.Seconds()*float64(f.ended) && n.Asked > 0 {
		j.over((f.due-f.sent)/f.due, achievedSuspect, achievedInvalid,
			"%.4g of the %d requests that were asked for were in flight, on average: the others the client was late to send", n.Achieved, n.Asked)
	}
}

// connections judges whether they were kept: once as many are open as there were ever requests in flight, none more is needed
// but in place of those that failures have cost.
func (j judge) connections(most, failed uint64, least float64) {
	n := j.Network
	if n == nil || n.Opened <= most+failed {
		return
	}
	opening := n.DNS.P50 + n.Connect.P50 + n.TLS.P50
	if opening <= lagSuspect*least {
		return
	}
	j.over(float64(n.Opened-most-failed)/float64(n.Opened+n.Reused), reopenedSuspect, math.Inf(1),
		"%d of %d requests opened a connection, though no more than %d were in flight at once and %d failed: connections were not kept, and to open one took %s, %.3g %% of the tightest threshold",
		n.Opened, n.Opened+n.Reused, most, failed, figure.Seconds(opening), 100*opening/least)
}

// runtime judges Go's: goroutines that waited for a processor, and the share of the run that stood still in long pauses.
func (j judge) runtime(least, stopped float64) {
	if p99 := j.Runtime.Waits.P99; j.Runtime.Waits.N >= waitsLeast {
		j.over(p99/least, lagSuspect, lagInvalid,
			"the P99 of the time for which the client's goroutines waited to run, %s, is %.3g %% of the tightest threshold", figure.Seconds(p99), 100*p99/least)
	}
	j.over(stopped, pausesSuspect, math.Inf(1),
		"%.3g %% of the run the client stood still, in garbage collections that took more than %.3g %% of the tightest threshold each", 100*stopped, 100*pauseSuspect)
}

// cpu judges who had the CPUs; judged is how long they were looked at, in whole seconds.
func (j judge) cpu(judged time.Duration) {
	c := j.CPU
	if c == nil {
		return
	}
	j.over(c.Busy, fullSuspect, math.Inf(1),
		"for %.3g %% of the time the client kept more than %.3g %% of its %d CPUs busy; on average it took %.3g", 100*c.Busy, 100*fullClient, c.Procs, c.Client)
	if q := c.Quota; q != nil {
		j.over(float64(q.Throttled)/float64(q.Periods), haltedSuspect, math.Inf(1),
			"in %d of %d periods the client had used its CPU quota up, and was halted until the next", q.Throttled, q.Periods)
	}
	h := c.Host
	if h == nil {
		return
	}
	j.over(h.Full, fullSuspect, math.Inf(1),
		"for %.3g %% of the time the host had no idle CPU; on average the client took %.3g of %d, and others %.3g: a server on the same host is one of them",
		100*h.Full, c.Client, h.CPUs, h.Others)
	if judged >= stolenLeast {
		j.over(h.Stolen/float64(h.CPUs), stolenSuspect, math.Inf(1),
			"%.3g %% of the time of the host's CPUs was stolen by other virtual machines", 100*h.Stolen/float64(h.CPUs))
	}
}
