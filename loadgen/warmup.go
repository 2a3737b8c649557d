package loadgen

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// WarmupAuto, as a plan's Warmup, has the run find the end of its transient itself, while it goes on.
//
// The rule is MSER-5 on the end-to-end times of successes in order of their End: of all truncations that leave at least
// five of the means of five values each, the one is taken that makes the standard error of the mean of the rest least. It
// stands where it cuts off no more than half, and where there are at least 50 values; else the transient was not over.
// (White: An Effective Truncation Heuristic for Bias Reduction in Simulation Output, Simulation 69(6), 1997, has the rule;
// White, Cobb and Spratt: A Comparison of Five Steady-State Truncation Heuristics for Simulation, WSC 2000, the batches of
// five and the half.) The window begins with the End of the last value that is cut off, but no sooner than a P99 of the
// end-to-end times that remain after the start of the run: until then fewer requests end than begin.
//
// The decision is taken once, after half of Duration, half of Requests or 16,384 requests, whichever is first: that is the
// longest that the warm-up can be. Where no end was found by then, the window begins there all the same, with the warning
// ErrTransient: the more neighbours correlate, the more often the rule cannot tell (in M/M/1 over 4,000 mean service times
// in 14 of 100 runs at ρ = 0.5, in 42 at ρ = 0.9), and a longer run is what helps. Until the decision, records are held in
// memory.
//
// The warning comes too where the window, once it is over, has a trend: where the means of the end-to-end times of its two
// halves are more than 4 standard errors and more than a tenth apart. Beyond capacity there is no steady state to find, though
// the rule can take a pause of the rise for one: of 60 runs of M/M/1 at ρ = 1.1 over 1,000 mean service times it had no end in
// 45, and of the other 15 windows 12 had a trend; at ρ = 0.5 and at 0.7 no window of 60 had one (TestWarmupAutoSeesATrend).
//
// Near saturation it is the window that is too short, and not the warm-up. Of M/M/1 at ρ = 0.95 over 2,000 mean service times
// the P95 is on average 36 % too low without a warm-up, 34 % with this one, and 33 % after one of 10,000 mean service times
// (TestWarmupAutoNearSaturation): few stretches of time are independent of each other, and long queues are rare.
// goodput.ErrRunTooShort says so, of 32 of those 40 runs.
//
// Result.Warmup and the report's window say where it begins.
const WarmupAuto time.Duration = -1

// The bounds of the search for the end of a transient.
const (
	warmupShare   = 2     // it is over after one in so many of Duration or of Requests
	mostTransient = 16384 // and of this many requests, whose records are held
	mserBatch     = 5     // values in a mean
	mserLeast     = 10    // means without which nothing can be said
	mserSpared    = 5     // means that every truncation leaves: the standard error of fewer is small by chance
)

// transient is the search for the end of a run's warm-up.
type transient struct {
	deadline time.Time   // when it is decided; zero: not known yet
	starts   []time.Time // of all requests so far
	missed   bool        // no end was found
	window   trend       // of the end-to-end times of the window's successes, in order of their End
}

// saw hears of a record that is observed; a nil transient wants to know of none.
func (t *transient) saw(r *goodput.Record, s *schedule) {
	if t != nil && r.Outcome == goodput.Success && s.inside(r.Start) {
		t.window.add(r.End.Seconds())
	}
}

func newTransient(p *Plan, start time.Time) *transient {
	if p.Warmup != WarmupAuto {
		return nil
	}
	t := &transient{}
	if p.Duration > 0 {
		t.deadline = start.Add(p.Duration / warmupShare)
	}
	return t
}

// took notes the Start of a request.
func (t *transient) took(p *Plan, at time.Time) {
	t.starts = append(t.starts, at)
	most := mostTransient
	if p.Requests > 0 {
		most = min(most, max(1, p.Requests/warmupShare))
	}
	if len(t.starts) >= most && (t.deadline.IsZero() || at.Before(t.deadline)) {
		t.deadline = at
	}
}

// due says that the time of the search is over. What ended at the deadline itself is to be seen: it has to have passed.
func (t *transient) due(now time.Time) bool { return !t.deadline.IsZero() && now.After(t.deadline) }

// steadyFrom is where the steady state begins of a run that started at start, by the records of what has ended until the
// deadline. It is not ok where that cannot be said.
func steadyFrom(start, deadline time.Time, records []*goodput.Record) (from time.Time, ok bool) {
	type value struct {
		end time.Time
		e2e time.Duration
	}
	var vs []value
	for _, r := range records {
		if end := r.Start.Add(r.End); r.Outcome == goodput.Success && !end.After(deadline) {
			vs = append(vs, value{end, r.End})
		}
	}
	slices.SortFunc(vs, func(a, b value) int { return cmp.Or(a.end.Compare(b.end), cmp.Compare(a.e2e, b.e2e)) })
	xs := make([]float64, len(vs))
	for i, v := range vs {
		xs[i] = v.e2e.Seconds()
	}
	cut, ok := mser(xs)
	if !ok {
		return from, false
	}
	from = start
	if cut > 0 {
		from = vs[cut-1].end
	}
	rest := vs[cut:]
	slices.SortFunc(rest, func(a, b value) int { return cmp.Compare(a.e2e, b.e2e) })
	from = later(from, start.Add(rest[(len(rest)-1)*99/100].e2e))
	return from, !from.After(deadline)
}

// mser is how many of the first values MSER-5 cuts off. It is not ok where that is more than half of them, or where there
// are too few.
func mser(xs []float64) (cut int, ok bool) {
	k := len(xs) / mserBatch
	if k < mserLeast {
		return 0, false
	}
	// From the end, so that each truncation adds one mean to the sums of the one after it: Welford's update.
	best, at := math.Inf(1), 0
	n, mean, squares := 0.0, 0.0, 0.0
	for d := k - 1; d >= 0; d-- {
		y := 0.0
		for _, x := range xs[d*mserBatch : (d+1)*mserBatch] {
			y += x / mserBatch
		}
		n++
		delta := y - mean
		mean += delta / n
		squares += delta * (y - mean)
		if v := squares / (n * n); n >= mserSpared && v <= best {
			best, at = v, d
		}
	}
	return at * mserBatch, at <= k/2
}
