package goodput

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/percentile"
	"github.com/goodputkit/goodputkit/slo"
)

// Report reads the figures off. It may be called while others observe: it has every record whose Observe has returned,
// each of them whole, so that its books close.
func (a *Accumulator) Report() *Report { return a.ReportAt(a.confidence) }

// ReportAt is Report with another confidence for verdicts and intervals than the accumulator's own, for a caller that
// looks at one sample several times and spends α over the looks. It panics if confidence is not between 0 and 1.
func (a *Accumulator) ReportAt(confidence float64) *Report {
	if !(confidence > 0 && confidence < 1) {
		panic(fmt.Sprintf("goodput: confidence %v is not between 0 and 1", confidence))
	}
	b := builder{a: a, snapshot: a.snapshot(), confidence: confidence}
	return b.total()
}

// window is the window so far. mu is held.
func (a *Accumulator) window() Window {
	w := Window{Kind: WholeRun, ToIncluded: true}
	if !a.windowed {
		if a.seen.any {
			w.From, w.To = instant(a.seen.first), instant(a.seen.last)
		}
		return w
	}
	w = Window{Kind: SteadyState, From: instant(a.from), ToIncluded: a.included}
	switch to := a.to.Load(); {
	case to == math.MaxInt64:
		w.Open = true
		w.To = instant(max(a.from, a.seen.last))
		w.ToIncluded = true
	case a.included:
		w.To = instant(to - 1)
	default:
		w.To = instant(to)
	}
	return w
}

func instant(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// builder makes a report's figures from books.
type builder struct {
	a *Accumulator // for what never changes: its SLOs
	snapshot
	confidence float64
}

func (b *builder) total() *Report {
	if len(b.classes) == 1 && b.classes[0].name == slo.DefaultClass && len(b.a.set) == 0 {
		r := b.class(&b.classes[0], "")
		return b.finish(r, r.Warnings)
	}
	// With a set each class is judged by its own SLO, and the total by none.
	var chk *checker
	if len(b.a.set) == 0 {
		chk = b.a.checker
	}
	all := newBooks(chk, b.a.from)
	for i := range b.classes {
		all.merge(&b.classes[i].books)
	}
	r := b.figures("", chk, &all)
	if len(b.classes) == 0 {
		return b.finish(r, r.warnings())
	}
	r.Lost, r.LostRPS = map[string]uint64{}, map[string]float64{}
	r.Classes = make(map[string]*Report, len(b.classes))
	var warnings []error
	var verdicts []Verdict
	for i := range b.classes {
		c := &b.classes[i]
		b.lost(r, c.checker, &c.books)
		own := b.class(c, c.name)
		for _, w := range own.Warnings {
			warnings = append(warnings, fmt.Errorf("class %s: %w", figure.Clean(c.name, 60), w))
		}
		verdicts = append(verdicts, own.Verdict)
		r.Classes[c.name] = own
	}
	r.Verdict = joint(verdicts...)
	r.Worst = worstOf(r.Classes)
	return b.finish(r, warnings)
}

// class is the report of one class, under that name.
func (b *builder) class(c *classSnapshot, name string) *Report {
	r := b.figures(name, c.checker, &c.books)
	r.Worst = c.worstRequests(name)
	r.Warnings = r.warnings()
	return r
}

// finish adds what is the total's alone.
func (b *builder) finish(r *Report, warnings []error) *Report {
	r.SLO, r.SLOName = cloneSLO(b.a.slo), b.a.slo.Name
	r.Fingerprint = b.a.set.Fingerprint(b.a.slo)
	if n := b.refused; n > 0 {
		r.Notes.Refused = n
		only := Notes{Refused: n}
		warnings = append(warnings, only.warnings()...)
	}
	if r.WindowS == 0 {
		warnings = append(warnings, ErrNoWindow)
	}
	if b.late {
		warnings = append(warnings, fmt.Errorf("%w: something beyond %s had been booked", ErrWindowEndedLate,
			r.Window.To.Format(time.RFC3339Nano)))
	}
	r.Warnings = warnings
	return r
}

// figures are those of one class, or of the total, where chk may be nil: no objectives.
func (b *builder) figures(class string, chk *checker, k *books) *Report {
	r := &Report{
		Format: ReportFormat, Class: class, Window: b.window, Confidence: b.confidence, Notes: k.notes,
		Offered: k.offered, Outcomes: map[Outcome]uint64{}, Good: k.good, Late: k.outcomes[Success] - k.good,
		Undecided: k.undecided, Flow: k.flow,
		Lost: map[string]uint64{}, LostRPS: map[string]float64{}, Percentiles: map[string]Distribution{},
	}
	if chk != nil {
		r.SLO, r.SLOName, r.Fingerprint = cloneSLO(chk.slo), chk.slo.Name, chk.slo.Fingerprint()
	}
	for o, n := range k.outcomes {
		if n > 0 {
			r.Outcomes[Outcome(o)] = n
		}
	}
	b.attainment(r, chk, k)
	b.rates(r, k)
	b.lost(r, chk, k)
	b.objectives(r, chk, k)
	b.percentiles(r, k)
	r.Timeline = timeline(k.slices)
	return r
}

func (b *builder) attainment(r *Report, chk *checker, k *books) {
	n := float64(k.offered)
	none := [2]float64{math.NaN(), math.NaN()}
	r.Attainment, r.AttainmentCI95, r.AttainmentCI, r.AttainmentBounds = math.NaN(), none, none, none
	if k.offered == 0 {
		return
	}
	r.Attainment = float64(k.good) / n
	r.AttainmentCI95 = wilson(r.Attainment, n, normalQuantile(0.95))
	r.AttainmentBounds = [2]float64{r.Attainment, float64(k.good+k.undecided) / n}
	r.AttainmentCI = judgeShare(k.good, k.offered, k.evidenceOfGood(chk, 0), slo.Objective{Metric: slo.Attainment}, b.confidence, 1).ci
}

func (b *builder) rates(r *Report, k *books) {
	r.WindowS = r.Window.To.Sub(r.Window.From).Seconds()
	f := &k.flow
	for _, rate := range []struct {
		to *float64
		n  uint64
	}{
		{&r.OfferedRPS, k.offered}, {&r.ThroughputRPS, f.Ended}, {&r.SuccessRPS, f.Success}, {&r.GoodputRPS, f.Good},
		{&r.OutputTPS, f.OutputTokens}, {&r.TokenGoodputTPS, f.GoodOutputTokens},
		{&r.TotalTPS, f.InputTokens + f.OutputTokens}, {&r.TotalGoodputTPS, f.GoodInputTokens + f.GoodOutputTokens},
		{&r.DroppedRPS, f.Dropped}, {&r.UnfinishedRPS, f.Unfinished},
	} {
		*rate.to = b.rate(rate.n)
	}
	r.ArrivalRPS = math.NaN()
	if s := k.starts; s.last > s.first {
		r.ArrivalRPS = float64(k.offered-1) / (float64(s.last-s.first) / 1e9)
	}
}

// rate is a count over the window's length; NaN where it has none.
func (b *builder) rate(n uint64) float64 {
	length := b.window.To.Sub(b.window.From).Seconds()
	if length <= 0 {
		return math.NaN()
	}
	return float64(n) / length
}

func (b *builder) lost(r *Report, chk *checker, k *books) {
	book := func(cause string, n uint64) {
		if n > 0 {
			r.Lost[cause] += n
		}
	}
	for o, n := range k.flowOutcome {
		if o := Outcome(o); o != Success && o.Throughput() {
			book(o.String(), n)
		}
	}
	for i, n := range k.flowFirst { // objectives of several classes can have the same text
		book(chk.text[i], n)
	}
	for cause, n := range r.Lost {
		r.LostRPS[cause] = b.rate(n)
	}
}

func (b *builder) objectives(r *Report, chk *checker, k *books) {
	if chk == nil {
		return
	}
	var verdicts []Verdict
	for i, o := range chk.slo.Objectives {
		res := ObjectiveResult{Objective: o, N: k.offered - k.excluded[i], Within: k.within[i], Missed: k.missed[i],
			MissedRPS: b.rate(k.flowMissed[i]), Undefined: k.undefined[i], Excluded: k.excluded[i], Target: targetOf(o)}
		var from []evidence
		count := k.within[i]
		res.AtLeast = math.NaN()
		if d := k.distribution(mSpeed); d != nil && o.Metric == slo.Speed {
			res.AtLeast = d.Quantile(1 - float64(o.Percentile)/100)
		}
		switch o.Metric {
		case slo.ErrorRate:
			count = k.offered - k.outcomes[Success]
			from = []evidence{{batches: k.batches(nFailed, -1, -1), reach: math.NaN(), spread: math.NaN()}}
		case slo.Attainment:
			count = k.good
			from = k.evidenceOfGood(chk, o.Threshold.Limit)
		default:
			from = []evidence{k.evidence(chk, i)}
		}
		res.Holds = o.Reached(count, res.N)
		s := judgeShare(count, res.N, from, o, b.confidence, len(chk.rules))
		if s.verdict == Missed && k.undecided > 0 {
			s.allowFor(k.undecided, count, res.N, o, b.confidence, len(chk.rules))
		}
		res.suffices = s.suffices(o, b.confidence)
		res.Share, res.CI, res.Verdict = s.value, s.ci, s.verdict
		res.Inflation, res.EffectiveN, res.Batches = s.phi, s.effective, s.batches
		if o.Metric.Population() {
			res.Within, res.Missed = 0, 0
			res.MissedRPS = math.NaN()
		}
		r.Objectives = append(r.Objectives, res)
		verdicts = append(verdicts, s.verdict)
	}
	r.Verdict = joint(verdicts...)
}

func (b *builder) percentiles(r *Report, k *books) {
	for m := range k.digests {
		if d := k.distribution(m); d != nil {
			r.Percentiles[distributionNames[m]] = newDistribution(d)
		}
	}
	for m, d := range k.customs {
		r.Percentiles[string(m)] = newDistribution(d)
	}
}

// percentileNames are the percentiles of a Distribution.
var percentileNames = []struct {
	name  string // in JSON
	title string
	q     float64
	per   uint64 // 1/(1−q): the values that it takes
}{
	{"p50", "P50", 0.50, 2}, {"p90", "P90", 0.90, 10}, {"p95", "P95", 0.95, 20}, {"p99", "P99", 0.99, 100}, {"p99_9", "P99.9", 0.999, 1000},
}

func newDistribution(d *percentile.Digest) Distribution {
	v := Distribution{N: d.Count(), Min: d.Min(), Max: d.Max(), Mean: d.Mean(), P999: math.NaN(), CI95: map[string][2]float64{}}
	for i, to := range []*float64{&v.P50, &v.P90, &v.P95, &v.P99, &v.P999} {
		p := percentileNames[i]
		if v.N < p.per {
			if to == &v.P999 {
				continue
			}
			v.Thin = append(v.Thin, p.name)
		}
		*to = d.Quantile(p.q)
		lo, hi := d.Interval(p.q, 0.95)
		v.CI95[p.name] = [2]float64{finite(lo), finite(hi)}
	}
	return v
}

// finite is x, or NaN where the sample was too small for a bound.
func finite(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.NaN()
	}
	return x
}

// fewSlices is how many slices a time line may have, however few the requests: beyond, it has no more of them than of these.
const fewSlices = 8

func timeline(s *timeSlices) Timeline {
	if s.n == 0 {
		return Timeline{}
	}
	if most := max(fewSlices, s.total(cOffered)); uint64(s.n) > most {
		s = s.clone()
		for uint64(s.n) > most {
			s.coarsen()
		}
	}
	t := Timeline{From: instant(s.anchor + s.lo*s.width), Width: time.Duration(s.width)}
	for row := range s.n {
		t.Slices = append(t.Slices, Slice{
			Offered: s.count(row, cOffered), Ended: s.count(row, cEnded), Success: s.count(row, cSuccess),
			Good: s.count(row, cGood), OutputTokens: s.count(row, cTokens), GoodOutputTokens: s.count(row, cGoodTokens),
		})
	}
	return t
}

// worstRequests are the class's, worst first: half of the places each for late and failed ones.
func (c *classSnapshot) worstRequests(name string) []WorstRequest {
	var l, f []WorstRequest
	for _, kind := range []struct {
		from []worstOne
		to   *[]WorstRequest
	}{{c.late, &l}, {c.failed, &f}} {
		slices.SortStableFunc(kind.from, func(a, b worstOne) int { return cmp.Compare(b.score, a.score) })
		for i := range kind.from {
			*kind.to = append(*kind.to, kind.from[i].request(name, c.checker))
		}
	}
	return mixWorst(l, f)
}

func mixWorst(late, failed []WorstRequest) []WorstRequest {
	n := min(len(late), max(worstKept/2, worstKept-len(failed)))
	m := min(len(failed), worstKept-n)
	return append(late[:n:n], failed[:m]...)
}

// worstOf are the worst of all classes.
func worstOf(classes map[string]*Report) []WorstRequest {
	var late, failed []WorstRequest
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		for _, w := range classes[name].Worst {
			if w.Outcome == Success {
				late = append(late, w)
			} else {
				failed = append(failed, w)
			}
		}
	}
	slices.SortStableFunc(late, func(a, b WorstRequest) int { return cmp.Compare(b.Excess, a.Excess) }) // NaN comes last
	slices.SortStableFunc(failed, func(a, b WorstRequest) int {
		return cmp.Compare(b.Values[string(slo.E2E)], a.Values[string(slo.E2E)])
	})
	return mixWorst(late, failed)
}
