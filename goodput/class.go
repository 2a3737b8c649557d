package goodput

import (
	"math"
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/percentile"
	"github.com/goodputkit/goodputkit/slo"
)

// class is what an accumulator knows of one class. The accumulator's mu is held to read or change its books.
type class struct {
	name    string
	index   int // in the table of classes
	checker *checker
	worst   worst // has its own lock
	books
}

// class is the class of that name, made where it is new; other says that there was no room for it.
func (a *Accumulator) class(name string) (c *class, other bool) {
	unnamed := name == "" || name == slo.DefaultClass
	if unnamed {
		if c := a.unnamed.Load(); c != nil {
			return c, false
		}
	}
	c, other = a.classes.Of(name, &a.mu, a.newClass)
	if unnamed {
		a.unnamed.Store(c)
	}
	return c, other
}

func (a *Accumulator) newClass(name string, index int) *class {
	chk := a.checker
	if own, ok := a.set[name]; ok {
		chk = compile(own)
	}
	return &class{name: name, index: index, checker: chk, books: newBooks(chk, a.from)}
}

// books are the counts of a population.
type books struct {
	offered, good, undecided            uint64 // of the cohort
	outcomes                            [outcomes]uint64
	starts                              span     // of the cohort: its first and its last Start
	within, missed, undefined, excluded []uint64 // of the cohort's successes, by objective

	flow        Flow
	flowOutcome [outcomes]uint64
	flowFirst   []uint64 // lost to the objective, being the first that was missed
	flowMissed  []uint64 // missed it, whatever else

	notes Notes

	series  []series // whose sums the slices keep: e2e, and what the objectives are about
	slices  *timeSlices
	digests [builtins]*percentile.Digest

	// As long as every request's first output was its first token, ttfo has ttft's digest and none of its own.
	ttfoDiffers bool

	customs map[slo.Metric]*percentile.Digest
}

// newBooks are empty books for what chk judges; without one they have no objectives.
func newBooks(chk *checker, anchor int64) books {
	b := books{series: []series{{slo.E2E, mE2E}}}
	if chk != nil {
		for _, counts := range b.byObjective() {
			*counts = make([]uint64, len(chk.rules))
		}
		for i := range chk.rules {
			if r := &chk.rules[i]; !r.kind.population() && b.seriesOf(r.metric) < 0 {
				b.series = append(b.series, series{r.metric, r.kind})
			}
		}
	}
	b.slices = newSlices(anchor, len(b.within), len(b.series))
	return b
}

// byObjective are the counts that there are of each objective.
func (b *books) byObjective() []*[]uint64 {
	return []*[]uint64{&b.within, &b.missed, &b.undefined, &b.excluded, &b.flowFirst, &b.flowMissed}
}

// clone is a copy that shares nothing that changes.
func (b *books) clone() books {
	c := *b
	for _, counts := range c.byObjective() {
		*counts = slices.Clone(*counts)
	}
	c.slices = b.slices.clone()
	for m, d := range b.digests {
		if d != nil {
			c.digests[m] = d.Clone()
		}
	}
	c.customs = make(map[slo.Metric]*percentile.Digest, len(b.customs))
	for m, d := range b.customs {
		c.customs[m] = d.Clone()
	}
	return c
}

// series is a metric whose values the slices add up.
type series struct {
	metric slo.Metric
	kind   kind
}

// seriesOf is the index of a metric's series; −1: none.
func (b *books) seriesOf(m slo.Metric) int {
	for i, s := range b.series {
		if s.metric == m {
			return i
		}
	}
	return -1
}

// book enters a judged record.
func (c *class) book(e *entry, steps []float64, multi []multiStep, customs []customValue) {
	c.note(e)
	start := c.slices.row(e.start)
	c.slices.add(start, cOffered, 1)
	if e.has(inCohort) {
		c.bookCohort(e, start, customs)
		c.addSteps(steps, multi)
	}
	if e.has(inFlow) {
		c.bookFlow(e)
	}
	if !e.outcome.Throughput() {
		return
	}
	end := c.slices.row(e.end)
	c.slices.add(end, cEnded, 1)
	c.slices.add(end, cTokens, uint64(e.out))
	if e.outcome == Success {
		c.slices.add(end, cSuccess, 1)
	}
	if e.has(isGood) {
		c.slices.add(end, cGood, 1)
		c.slices.add(end, cGoodTokens, uint64(e.out))
	}
}

func (c *class) note(e *entry) {
	n := &c.notes
	n.IgnoredLimits += uint64(e.ignoredLimits)
	n.BadCustom += uint64(e.badCustoms)
	n.IgnoredCustom += uint64(e.ignoredCustoms)
	if !e.has(wasRepaired | hadUsageBelow | hadNoOutcome | hadLimits | inOther) {
		return
	}
	count := func(n *uint64, yes bool) {
		if yes {
			*n++
		}
	}
	count(&n.Repaired, e.has(wasRepaired))
	count(&n.UsageBelow, e.has(hadUsageBelow))
	count(&n.NoOutcome, e.has(hadNoOutcome))
	count(&n.OtherClasses, e.has(inOther))
	count(&n.Limits, e.has(hadLimits) && e.has(inCohort))
}

func (c *class) bookCohort(e *entry, row int, customs []customValue) {
	c.offered++
	c.starts.add(e.start, e.start)
	c.outcomes[e.outcome]++
	c.slices.add(row, nCohort, 1)
	if e.has(isUndecided) {
		c.undecided++
	}
	if e.outcome != Success {
		c.slices.add(row, nFailed, 1)
		return
	}
	if e.has(isGood) {
		c.good++
		c.slices.add(row, nGood, 1)
	}
	for i := range c.within {
		bit := uint64(1) << i
		if e.judged.undefined&bit != 0 {
			c.undefined[i]++
		}
		switch {
		case e.judged.within&bit != 0:
			c.within[i]++
			c.slices.add(row, c.slices.within(i), 1)
		case e.judged.excluded&bit != 0:
			c.excluded[i]++
			c.slices.add(row, c.slices.excluded(i), 1)
		case e.missed&bit != 0:
			c.missed[i]++
		}
	}
	c.bookValues(e, row, customs)
}

// bookValues enters the values of a success of the cohort into the digests and the series.
func (c *class) bookValues(e *entry, row int, customs []customValue) {
	if e.values[mTTFO] != e.values[mTTFT] {
		c.splitTTFO()
	}
	for m, v := range e.values {
		if v == absent || m == mITL || m == mTTFO && !c.ttfoDiffers { // the steps between tokens come one by one
			continue
		}
		c.digest(m).Add(v)
	}
	for _, x := range customs {
		if d := c.customDigest(x.metric); d != nil {
			d.Add(x.v)
		} else {
			c.notes.IgnoredCustom++
		}
	}
	for i, s := range c.series {
		if s.kind < builtins {
			if v := e.values[s.kind]; v != absent {
				c.slices.value(row, i, v)
			}
			continue
		}
		for _, x := range customs {
			if x.metric == s.metric {
				c.slices.value(row, i, x.v)
			}
		}
	}
}

func (c *class) bookFlow(e *entry) {
	f := &c.flow
	c.flowOutcome[e.outcome]++
	switch e.outcome {
	case Dropped:
		f.Dropped++
		return
	case Unfinished:
		f.Unfinished++
		return
	}
	f.Ended++
	f.InputTokens += uint64(e.in)
	f.OutputTokens += uint64(e.out)
	if e.outcome != Success {
		return
	}
	f.Success++
	if e.has(isGood) {
		f.Good++
		f.GoodInputTokens += uint64(e.in)
		f.GoodOutputTokens += uint64(e.out)
		return
	}
	c.flowFirst[e.first]++
	for i := range c.flowMissed {
		if e.missed&(1<<i) != 0 {
			c.flowMissed[i]++
		}
	}
}

// fewSteps is how many equal steps are added one by one, which costs less than one with a weight.
const fewSteps = 32

func (b *books) addSteps(steps []float64, multi []multiStep) {
	if len(steps)+len(multi) == 0 {
		return
	}
	d := b.digest(mITL)
	d.AddSlice(steps)
	for _, s := range multi {
		if s.n > fewSteps {
			d.AddN(s.s, uint64(s.n))
			continue
		}
		for range s.n {
			d.Add(s.s)
		}
	}
}

// splitTTFO gives ttfo a digest of its own.
func (b *books) splitTTFO() {
	if b.ttfoDiffers {
		return
	}
	b.ttfoDiffers = true
	if d := b.digests[mTTFT]; d != nil {
		b.digests[mTTFO] = d.Clone()
	}
}

// distribution is the digest of a metric; nil where it has no value.
func (b *books) distribution(m int) *percentile.Digest {
	if m == mTTFO && !b.ttfoDiffers {
		m = mTTFT
	}
	if d := b.digests[m]; d != nil && d.Count() > 0 {
		return d
	}
	return nil
}

func (b *books) digest(m int) *percentile.Digest {
	if b.digests[m] == nil {
		b.digests[m] = percentile.New()
	}
	return b.digests[m]
}

// customDigest is the digest of a custom metric; nil where there are too many.
func (b *books) customDigest(m slo.Metric) *percentile.Digest {
	if d, ok := b.customs[m]; ok {
		return d
	}
	if b.seriesOf(m) < 0 {
		others := 0
		for have := range b.customs {
			if b.seriesOf(have) < 0 {
				others++
			}
		}
		if others >= maxCustom || m.Validate() != nil {
			return nil
		}
	}
	if b.customs == nil {
		b.customs = map[slo.Metric]*percentile.Digest{}
	}
	d := percentile.New()
	b.customs[slo.Metric(strings.Clone(string(m)))] = d
	return d
}

// addCustoms puts the custom values of a record into the shard: those that the SLO names, and a few more.
func (c *class) addCustoms(s *shard, e *entry, r *Record) {
	had := len(s.customs)
	for m, v := range r.Custom {
		switch {
		case !m.Custom() || len(m) > slo.MaxMetricName: // which a shard would otherwise hold on to
			e.ignoredCustoms++
		case math.IsNaN(v) || math.IsInf(v, 0):
			e.badCustoms++
		case c.checker.has(m) || len(s.customs)-had < shardEntries:
			s.customs = append(s.customs, customValue{m, v})
		default:
			e.ignoredCustoms++
		}
	}
	e.customs = len(s.customs) - had
}

// merge adds the books of o, as far as both have objectives.
func (b *books) merge(o *books) {
	b.offered += o.offered
	b.good += o.good
	b.undecided += o.undecided
	if o.starts.any {
		b.starts.add(o.starts.first, o.starts.last)
	}
	addTo(b.outcomes[:], o.outcomes[:])
	addTo(b.flowOutcome[:], o.flowOutcome[:])
	from := o.byObjective()
	for i, to := range b.byObjective() {
		addTo(*to, *from[i])
	}
	b.flow.merge(&o.flow)
	b.notes.merge(&o.notes)
	b.slices.merge(o.slices)
	if o.ttfoDiffers {
		b.splitTTFO()
	}
	for m := range o.digests {
		if d := o.distribution(m); d != nil && (m != mTTFO || b.ttfoDiffers) {
			b.digest(m).Merge(d)
		}
	}
	for m, d := range o.customs {
		if to := b.customDigest(m); to != nil {
			to.Merge(d)
		} else {
			b.notes.IgnoredCustom += d.Count()
		}
	}
}

func (f *Flow) fields() []*uint64 {
	return []*uint64{&f.Ended, &f.Success, &f.Good, &f.Dropped, &f.Unfinished, &f.InputTokens, &f.OutputTokens,
		&f.GoodInputTokens, &f.GoodOutputTokens}
}

func (f *Flow) merge(o *Flow) { mergeFields(f.fields(), o.fields()) }

func (n *Notes) fields() []*uint64 {
	return []*uint64{&n.Limits, &n.IgnoredLimits, &n.UsageBelow, &n.NoOutcome, &n.Repaired, &n.Refused, &n.BadCustom,
		&n.IgnoredCustom, &n.OtherClasses}
}

func (n *Notes) merge(o *Notes) { mergeFields(n.fields(), o.fields()) }

func mergeFields(to, from []*uint64) {
	for i := range to {
		*to[i] += *from[i]
	}
}
