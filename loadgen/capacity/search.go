package capacity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// Search finds the goodput limit of what run measures: the highest rate of an open loop at which the plan's SLO is met. The
// plan's Duration is each probe's budget; its Arrivals are not set, for the search sets them. A plan wants a Warmup, too:
// a probe begins with an idle system, and until it is as full as it will be, its requests find it emptier than that
// (goodput limits come out too high). WarmupAuto finds its end.
//
// It goes from the first rate up by doubling, or down by halving, until one rate is met and a higher one missed. Then it
// probes where the limit is estimated to be, a little below and a little above it by turns, until the interval of the
// estimate is narrow enough. Where there is nothing to estimate from, because the curve falls from all to nothing
// between two rates, it bisects. The package comment says what an interval rests on, and how often it is wrong.
//
// A probe whose client was not sound (goodput.Invalid) says nothing of the server: the search stays below its rate, and
// where it never gets to see the SLO missed the limit is said to be at least the highest rate that was met.
//
// The error is about a plan or an option that cannot be meant, a run that failed, or the context's cause where that
// ended the search; with the latter two there is a Limit all the same, of the probes so far.
func Search(ctx context.Context, run loadgen.Runner, p loadgen.Plan, opts ...Option) (*Limit, error) {
	c, err := newConfig(opts, func(o Option) bool { return o.search }, "a sweep")
	if err != nil {
		return nil, err
	}
	if err := checkPlan(run, p); err != nil {
		return nil, err
	}
	switch {
	case p.Concurrency > 0:
		return nil, planError("Concurrency", "is for a closed loop: a search sets the rate of an open one")
	case p.Duration == 0:
		return nil, planError("Duration", "is a probe's budget: set it, to 2m for instance")
	}
	s := &search{config: c, run: run, plan: p, seeds: rand.New(rand.NewPCG(p.Seed, 0x63617061))}
	err = s.probeAll(ctx)
	return s.limit(), err
}

// search is a search under way.
type search struct {
	config
	run    loadgen.Runner
	plan   loadgen.Plan
	seeds  *rand.Rand
	probes []*Probe
}

func (s *search) probeAll(ctx context.Context) error {
	for len(s.probes) < s.config.probes {
		rate, ok := s.next()
		if !ok {
			return nil
		}
		if len(s.probes) > 0 {
			if err := pause(ctx, s.pause); err != nil {
				return err
			}
		}
		p, err := s.probe(ctx, rate, s.seeds.Uint64()|1)
		if err != nil {
			return err
		}
		s.probes = append(s.probes, p)
		if s.watch != nil {
			s.watch(p)
		}
	}
	return nil
}

// bracket is what the probes so far say: the highest rate met below any that was missed, and the lowest that was missed
// or at which the client was. 0 and +Inf: there is none.
type bracket struct {
	lo, hi float64
	client bool // hi is the client's
	soft   bool // lo rests on a sample that holds, and on no verdict
}

func (s *search) bracket() bracket {
	b := bracket{hi: math.Inf(1)}
	for _, p := range s.probes {
		client := p.ClientLimited()
		if (client || p.Verdict == goodput.Missed) && (p.Rate < b.hi || p.Rate == b.hi && !client) {
			b.hi, b.client = p.Rate, client
		}
	}
	for _, soft := range []bool{false, true} {
		for _, p := range s.probes {
			if p.Rate > b.lo && p.Rate < b.hi && (p.Verdict == goodput.Met || soft && b.lo == 0 && p.Verdict == goodput.Inconclusive && p.holds()) {
				b.lo, b.soft = p.Rate, soft
			}
		}
		if b.lo > 0 {
			break
		}
	}
	return b
}

// next is the rate to probe next; not ok where the search is over.
func (s *search) next() (float64, bool) {
	if len(s.probes) == 0 {
		return s.start, true
	}
	b := s.bracket()
	least, most := s.extremes()
	switch {
	case math.IsInf(b.hi, 1):
		return s.up(most)
	case b.lo == 0 && !s.lowEnough(least):
		return s.down(least)
	}
	e := s.estimate()
	if e.near >= nearLeast && (e.hi-e.lo)/2 <= s.precision*e.rate {
		return 0, false
	}
	if b.client && b.hi-b.lo <= 2*s.precision*b.hi { // the client's limit is as near as need be
		return 0, false
	}
	if good := e.near >= 3 && (e.hi-e.lo)/2 <= goodEstimate*e.rate; !good && !(e.rate > b.lo && e.rate < b.hi) { // none, or verdicts contradict it
		return s.middle(b)
	}
	return s.around(e, b)
}

func (s *search) extremes() (least, most float64) {
	least, most = math.Inf(1), 0
	for _, p := range s.probes {
		least, most = min(least, p.Rate), max(most, p.Rate)
	}
	return least, most
}

// lowEnough reports whether the lowest probe's sample holds, so that the limit is above it as far as anybody knows.
func (s *search) lowEnough(least float64) bool {
	for _, p := range s.probes {
		if p.Rate == least && !p.ClientLimited() && p.Verdict != goodput.Missed && p.holds() {
			return true
		}
	}
	return false
}

func (s *search) up(most float64) (float64, bool) {
	return min(2*most, s.most), most < s.most
}

func (s *search) down(least float64) (float64, bool) {
	return max(least/2, s.least), least > s.least
}

// samples is the bracket within b that samples make, whether or not they show anything of the system.
func (s *search) samples(b bracket) bracket {
	for _, p := range sorted(s.probes) {
		if p.Rate <= b.lo || p.Rate >= b.hi {
			continue
		}
		if !p.holds() {
			b.hi = p.Rate
			break
		}
		b.lo = p.Rate
	}
	return b
}

// middle is where a bracket is bisected. Where samples have made it narrow and verdicts have not, it is beside the middle,
// below and above by turns, until there is something to estimate from.
func (s *search) middle(b bracket) (float64, bool) {
	narrow := func(b bracket) bool { return (b.hi-b.lo)/2 <= s.precision*(b.hi+b.lo)/2 }
	if narrow(b) {
		return 0, false
	}
	in := s.samples(b)
	middle := (in.lo + in.hi) / 2
	switch {
	case !narrow(in):
		return middle, true
	case len(s.probes)%2 == 0:
		return min(middle*(1+beside), (middle+b.hi)/2), true
	}
	return max(middle*(1-beside), (middle+b.lo)/2), true
}

// beside is how far, as a share of the rate, that is.
const beside = 0.05

// goodEstimate is half of an interval's width over the limit, up to which an estimate is believed before single verdicts.
const goodEstimate = 0.1

// nearLeast is how many probes near the limit an estimate has to rest on before its interval is believed to be narrow.
const nearLeast = 4

// aside is how far from the estimate a probe is made, in logits of the bad share: far enough for the slope to be seen, and
// near enough for the line to be straight. It is no less and no more than these shares of the rate, for a slope of few
// probes is a rough one.
const (
	aside                 = 0.7
	asideLeast, asideMost = 0.02, 0.15
)

// around is a rate beside the estimate, below or above it, where there is less known.
func (s *search) around(e estimate, b bracket) (float64, bool) {
	d := min(max(aside/e.slope, asideLeast*e.rate), asideMost*e.rate)
	var below, above float64
	for _, p := range s.probes {
		switch away := p.Rate - e.rate; {
		case math.Abs(away) > 2.5*d:
		case away < 0:
			below += weight(p)
		default:
			above += weight(p)
		}
	}
	// Above a rate that was missed there is little to learn, and where the system is not stable nothing.
	rate := e.rate + math.Copysign(d, below-above)
	if b.hi > e.rate {
		rate = min(rate, b.hi-(b.hi-b.lo)/10)
	}
	return min(max(rate, s.least), s.most), true
}

// weight is what a probe says of the crossing: its effective sample size.
func weight(p *Probe) float64 {
	w := math.Inf(1)
	for _, o := range p.Report.AllObjectives() {
		if !math.IsNaN(o.EffectiveN) {
			w = min(w, o.EffectiveN)
		}
	}
	if math.IsInf(w, 1) {
		return 0
	}
	return w
}

// estimate is the limit by the lines through all objectives' shares: the lowest of their crossings. Its lower bound is the
// lowest of theirs. So is the upper, each at 1 − α/m with m objectives, for which of them decides is not known before.
func (s *search) estimate() estimate {
	all := noEstimate
	series := s.series()
	alpha := 1 - s.confidence
	z, zHi := quantile(s.confidence), quantile(1-alpha/max(1, float64(len(series))))
	for _, one := range series {
		e := cross(one.of, one.leaves, z, zHi)
		e.objective = one.objective.String()
		if math.IsNaN(e.rate) {
			continue
		}
		if math.IsNaN(all.rate) {
			all = e
			continue
		}
		lo, hi := min(all.lo, e.lo), min(all.hi, e.hi)
		if e.rate < all.rate {
			all = e
		}
		all.lo, all.hi = lo, hi
	}
	return all
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// checkPlan refuses what neither a search nor a sweep can run.
func checkPlan(run loadgen.Runner, p loadgen.Plan) error {
	switch {
	case run == nil:
		return errors.New("capacity: the Runner is nil")
	case p.Arrivals != nil:
		return planError("Arrivals", "has to be nil: the rate is what varies (WithArrivals chooses the process)")
	case p.Records != nil:
		return planError("Records", "has to be nil: one file has the records of one run")
	}
	return nil
}

// once is a whole run of the plan: a part of one is none.
func once(ctx context.Context, run loadgen.Runner, p loadgen.Plan) (*loadgen.Result, error) {
	res, err := run(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case res != nil && res.Cut != nil:
		return nil, res.Cut
	case res == nil || res.Report == nil:
		return nil, errors.New("capacity: the Runner gave neither a report nor an error")
	}
	return res, nil
}

func planError(field, format string, args ...any) error {
	return &loadgen.PlanError{Field: field, Err: fmt.Errorf(format, args...)}
}

// sorted are the probes in the order of their rates.
func sorted(probes []*Probe) []*Probe {
	probes = slices.Clone(probes)
	slices.SortStableFunc(probes, func(a, b *Probe) int {
		switch {
		case a.Rate < b.Rate:
			return -1
		case a.Rate > b.Rate:
			return 1
		}
		return 0
	})
	return probes
}
