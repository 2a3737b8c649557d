package capacity

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// Probe is one run of a search, at one rate.
type Probe struct {
	Rate       float64         // of the arrivals asked for, requests/s
	Seed       uint64          // of its arrivals
	Verdict    goodput.Verdict // of the last look, at Confidence
	Confidence float64         // of that look: 1 − α/(k(k+1)) at the k-th
	Looks      int             // at the verdict while it ran, the one at its end included
	Early      bool            // it ended before its budget was spent, for the verdict was clear
	Report     *goodput.Report // its confidence is that of any report: DefaultConfidence
	Elapsed    time.Duration   // how long it took, warm-up and drain included
}

// ClientLimited reports whether the client, and not the server, was measured: the verdict says nothing of the system.
func (p *Probe) ClientLimited() bool {
	return p.Report.Health != nil && p.Report.Health.Verdict == goodput.Invalid
}

// holds reports whether the sample meets every objective, whatever may be said of the system.
func (p *Probe) holds() bool {
	some := false
	for _, o := range p.Report.AllObjectives() {
		if !o.Holds {
			return false
		}
		some = true
	}
	return some
}

// When a probe is looked at, and what it takes to end it.
const (
	firstLook = 200 // requests; looks follow at twice as many each
	// A look counts once the run has so many batches, none of which is shorter than requests take (their P95), for so long
	// they meet each other, or has fewer requests than neighbours are known to be alike, from the probes at other rates.
	correlated = 20
	// So many looks in a row have to find the same for the probe to end early. Queues have spells: on M/M/4 at the line of a
	// P90 one look alone said "met" in 13 of 100 runs.
	clearLooks = 2
	// What a look that does not count can find is that the SLO is missed by far, and then so many in a row have to. Each of
	// them has one farShare-th of the error.
	farLooks = 3
	farShare = 10
)

// looks is the sequence of looks at a probe while it runs. The k-th that counts may err with probability α/(k(k+1)), which
// adds up to α over any number of them.
type looks struct {
	alpha    float64
	least    float64 // requests that it takes for a look to count
	k, far   int     // looks that counted, and that did not
	next     uint64  // requests at which the next one is due
	before   uint64  // requests of the warm-up
	counting bool
	over     atomic.Bool // the arrivals are to end

	report     *goodput.Report // of the last look
	confidence float64         // at which it was judged
	counted    bool
	inRow      int // looks that found the same, this one included
}

// spent is the confidence of a look with that number, which has a share of the error.
func (l *looks) spent(k int, share float64) float64 { return 1 - l.alpha*share/float64(k*(k+1)) }

// at looks at the run, if it is time to.
func (l *looks) at(p loadgen.Progress) {
	switch {
	case p.Done && l.over.Load(): // what was found, with what was in flight then
		l.report = p.ReportAt(l.confidence)
		return
	case p.Done:
		l.look(p, true)
		return
	case p.Warmup || p.Drain || l.over.Load():
		return
	case !l.counting:
		l.counting, l.before, l.next = true, p.Ended, firstLook
	}
	n := p.Ended - l.before
	if n < l.next {
		return
	}
	for l.next <= n {
		l.next *= 2
	}
	l.look(p, false)
	if l.clear() {
		l.over.Store(true)
	}
}

// look is one look; the last one always counts where there are batches.
func (l *looks) look(p loadgen.Progress, last bool) {
	before := l.report
	r := p.ReportAt(l.spent(l.k+1, 1))
	if r == nil {
		return
	}
	if l.counted = batched(r) && (last || float64(r.Offered) >= l.least && r.WindowS >= correlated*r.Percentiles[string(slo.E2E)].P95); l.counted {
		l.k++
		l.report, l.confidence = r, l.spent(l.k, 1)
	} else {
		l.far++
		l.confidence = l.spent(l.far, 1.0/farShare)
		l.report = p.ReportAt(l.confidence)
	}
	if before == nil || before.Verdict != l.report.Verdict {
		l.inRow = 0
	}
	l.inRow++
}

// clear reports whether the last looks are enough.
func (l *looks) clear() bool {
	if l.report == nil {
		return false
	}
	switch v := l.report.Verdict; {
	case l.counted:
		return l.inRow >= clearLooks && (v == goodput.Met || v == goodput.Missed)
	default:
		return l.inRow >= farLooks && v == goodput.Missed
	}
}

// batched reports whether every share has its batches.
func batched(r *goodput.Report) bool {
	for _, o := range r.AllObjectives() {
		if o.Batches == 0 {
			return false
		}
	}
	return true
}

// badShare is the share of an objective that does not count towards it, and what the objective leaves.
func badShare(o *goodput.ObjectiveResult) (bad, leaves float64) {
	if o.Objective.Metric == slo.ErrorRate {
		return o.Share, o.Target
	}
	return 1 - o.Share, 1 - o.Target
}

// probe runs the plan at a rate until its verdict is clear or its budget is spent.
func (s *search) probe(ctx context.Context, rate float64, seed uint64) (*Probe, error) {
	l := &looks{alpha: 1 - s.confidence, least: correlated * s.alike(rate)}
	p, watched := s.plan, s.plan.Progress
	p.Seed = seed
	p.Arrivals = loadgen.Until(s.arrivals(rate, seed), l.over.Load)
	p.Progress = func(pr loadgen.Progress) {
		l.at(pr)
		if watched != nil {
			watched(pr)
		}
	}
	res, err := once(ctx, s.run, p)
	if err != nil {
		return nil, err
	}
	pr := &Probe{Rate: rate, Seed: seed, Verdict: res.Report.Verdict, Confidence: res.Report.Confidence, Looks: max(1, l.k+l.far),
		Early: l.over.Load(), Report: res.Report, Elapsed: res.Elapsed}
	if l.report != nil { // else the Runner tells nobody how it stands, and the report is the only look
		pr.Verdict, pr.Confidence = l.report.Verdict, l.confidence
	}
	return pr, nil
}
