package posthoc

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// A Study takes the records of a run in and gives an [Analysis] of them. It is for one goroutine; [Read] is for files.
type Study struct {
	config
	slo     slo.SLO
	acc     *goodput.Accumulator
	classes map[string]*population
}

// Defaults of the options.
const DefaultAttainment = 0.90

// DefaultScales are the steps of the SLO-scale curve: 0.4, 0.5 … 2.
func DefaultScales() (all []float64) {
	for i := 4; i <= 20; i++ {
		all = append(all, float64(i)/10)
	}
	return all
}

// MaxSteps is how many scales a curve, and thresholds a side of a surface, can have.
const MaxSteps = 64

// config is what options change.
type config struct {
	set        slo.Set
	from, to   time.Time
	windowed   bool
	steps      []scale
	ttft, tpot []time.Duration
	attainment float64
	read       []goodput.ReadOption
	file, live bool // an option was given that is for Read, or for New
	err        error
}

// An Option changes what is looked at.
type Option func(*config)

// WithScales are the steps of the SLO-scale curve, in any order; the default is DefaultScales. The scale 1, at which the
// figures are the report's, is always among them.
func WithScales(scales ...float64) Option {
	return func(c *config) {
		c.steps = nil
		for _, f := range scales {
			s, err := scaleOf(f)
			if err != nil {
				c.refuse("WithScales", err)
				return
			}
			c.steps = append(c.steps, s)
		}
	}
}

// WithTTFT are the thresholds on ttft of the surface, and WithTPOT those on tpot, in any order. The defaults are 0.4, 0.6, 0.8,
// 1, 1.25, 1.6 and 2 times the threshold of the SLO; where it has none, 0.1 to 10 s and 10 to 200 ms. The SLO's own
// threshold is always among them.
func WithTTFT(thresholds ...time.Duration) Option {
	return func(c *config) { c.ttft = c.axis("WithTTFT", thresholds) }
}

// WithTPOT are the thresholds on tpot of the surface: see [WithTTFT].
func WithTPOT(thresholds ...time.Duration) Option {
	return func(c *config) { c.tpot = c.axis("WithTPOT", thresholds) }
}

// WithAttainment is the share of good requests that [View].Attains is about; the default is DefaultAttainment.
func WithAttainment(share float64) Option {
	return func(c *config) {
		c.attainment = share
		if !(share > 0 && share < 1) {
			c.refuse("WithAttainment", fmt.Errorf("%v is not between 0 and 1", share))
		}
	}
}

// WithClasses gives classes SLOs of their own, as goodput.WithClasses does. It is for [New] alone: a file says it itself.
func WithClasses(set slo.Set) Option {
	return func(c *config) { c.set, c.live = set, true }
}

// WithWindow makes the window the steady state [from, to), as goodput.WithWindow does. It is for [New] alone.
func WithWindow(from, to time.Time) Option {
	return func(c *config) { c.from, c.to, c.windowed, c.live = from, to, true, true }
}

// AllowIncomplete has [Read], alone, take a file from which records are missing: see goodput.AllowIncomplete.
func AllowIncomplete() Option {
	return func(c *config) { c.read, c.file = append(c.read, goodput.AllowIncomplete()), true }
}

func (c *config) refuse(option string, err error) {
	c.err = cmp.Or(c.err, fmt.Errorf("posthoc: %s: %w", option, err))
}

func (c *config) axis(option string, thresholds []time.Duration) []time.Duration {
	for _, t := range thresholds {
		if t <= 0 || t > slo.MaxTime {
			c.refuse(option, fmt.Errorf("%v is no threshold: give times above 0, and no more than %v", t, slo.MaxTime))
			return nil
		}
	}
	return thresholds
}

func newConfig(opts []Option) (config, error) {
	c := config{attainment: DefaultAttainment}
	for _, f := range DefaultScales() {
		s, _ := scaleOf(f)
		c.steps = append(c.steps, s)
	}
	for _, o := range opts {
		o(&c)
	}
	c.steps = append(c.steps, one)
	slices.Sort(c.steps)
	c.steps = slices.Compact(c.steps)
	if most := max(len(c.steps), len(c.ttft), len(c.tpot)); most > MaxSteps {
		c.refuse("steps", fmt.Errorf("there are %d, at most %d are allowed", most, MaxSteps))
	}
	return c, c.err
}

// New studies records that s judges. It is an error if the SLO is invalid, or an option cannot be meant.
func New(s slo.SLO, opts ...Option) (*Study, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	if c.file {
		return nil, errors.New("posthoc: AllowIncomplete is for files: use Read")
	}
	if err := cmp.Or(s.Validate(), c.set.Validate()); err != nil {
		return nil, fmt.Errorf("posthoc: %w", err)
	}
	var of []goodput.Option
	if len(c.set) > 0 {
		of = append(of, goodput.WithClasses(c.set))
	}
	if c.windowed {
		if year := c.from.Year(); year < 1970 || year > 2149 || !c.to.IsZero() && (c.to.Before(c.from) || c.to.Year() > 2149) {
			return nil, errors.New("posthoc: WithWindow: from is after to, or one is not between the years 1970 and 2150")
		}
		of = append(of, goodput.WithWindow(c.from, c.to))
	}
	st := newStudy(c, s)
	st.acc = goodput.NewAccumulator(s, of...)
	return st, nil
}

func newStudy(c config, s slo.SLO) *Study {
	return &Study{config: c, slo: s, classes: map[string]*population{}}
}

// Observe takes one record in and keeps nothing of it.
func (st *Study) Observe(r *goodput.Record) {
	st.acc.Observe(r)
	st.observe(st.acc, r)
}

// Analysis is what there is to say of the records so far.
func (st *Study) Analysis() *Analysis { return st.analysis(st.acc.Report()) }

// Read studies a file of records by the SLO in its header, with the report that goodput.ReadReport gives of it. The errors
// are those of that, or about an option that cannot be meant.
func Read(r io.ReadSeeker, opts ...Option) (*Analysis, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	if c.live {
		return nil, errors.New("posthoc: a file says its classes and its window itself: WithClasses and WithWindow are for New")
	}
	head, err := goodput.ReadRecords(r)
	if err != nil {
		return nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	c.set = head.Header().Classes
	st := newStudy(c, head.Header().SLO)
	report, err := goodput.ReadReport(r, append(c.read, goodput.Each(st.observe))...)
	if err != nil {
		return nil, err
	}
	return st.analysis(report), nil
}

// population is what is counted of the requests of a class.
type population struct {
	slo              slo.SLO
	good             counts // of the cohort, by the least scale at which they are
	flow, flowTokens counts // of the flow: requests, and their output tokens
	objectives       []objectiveCounts
	surface          *grid
}

// objectiveCounts are those of an objective: of the cohort's successes.
type objectiveCounts struct {
	within   counts
	excluded uint64
}

func (st *Study) population(class string) *population {
	p := st.classes[class]
	if p == nil {
		own := st.set.For(class, st.slo)
		p = &population{slo: own, objectives: make([]objectiveCounts, len(own.Objectives)), surface: newGrid(own, st.ttft, st.tpot)}
		st.classes[class] = p
	}
	return p
}

// observe counts a record that a has observed.
func (st *Study) observe(a *goodput.Accumulator, r *goodput.Record) {
	if r.Outcome != goodput.Success {
		return // good at no scale; the report has how many there are
	}
	v := r.Measure()
	class, cohort, flow := a.Place(r, &v)
	if !cohort && !flow {
		return
	}
	st.population(class).observe(r, &v, cohort, flow)
}

func (p *population) observe(r *goodput.Record, v *goodput.Values, cohort, flow bool) {
	good := scale(0)
	for i, o := range p.slo.Objectives {
		if o.Metric.Population() {
			continue
		}
		if own, ok := r.Limit(o.Metric); ok {
			o.Threshold = own
		}
		at, excluded := leastFor(v, o, p.slo.Undefined[o.Metric])
		if !excluded {
			good = max(good, at)
		}
		switch of := &p.objectives[i]; {
		case !cohort:
		case excluded:
			of.excluded++
		default:
			of.within.add(at, 1)
		}
	}
	if cohort {
		p.good.add(good, 1)
	}
	if flow {
		p.flow.add(good, 1)
		p.flowTokens.add(good, uint64(v.OutputTokens()))
	}
	p.surface.observe(r, v, p.slo, cohort, flow)
}

// leastFor is the least scale at which a request holds an objective; never where it does at none.
func leastFor(v *goodput.Values, o slo.Objective, rule slo.UndefinedRule) (at scale, excluded bool) {
	if _, excluded := v.Holds(o, rule); excluded {
		return never, true
	}
	holds := func(s scale) bool {
		holds, _ := v.Holds(s.objective(o), rule)
		return holds
	}
	x, ok := v.Value(o.Metric)
	switch limit := o.Threshold.Limit + o.Threshold.PerToken*float64(v.OutputTokens()); {
	case ok && (o.Metric.HigherIsBetter() || limit < 0): // where the threshold is divided by the scale
		return least(near(limit/x), holds), false
	case ok:
		return least(near(x/limit), holds), false
	case holds(0): // the rule for undefined values decides, whatever the threshold
		return 0, false
	}
	return never, false
}

// merge adds the counts of p's like.
func (p *population) merge(o *population) {
	p.good.merge(&o.good)
	p.flow.merge(&o.flow)
	p.flowTokens.merge(&o.flowTokens)
	for i := range p.objectives {
		p.objectives[i].within.merge(&o.objectives[i].within)
		p.objectives[i].excluded += o.objectives[i].excluded
	}
	if p.surface != nil {
		p.surface.merge(o.surface)
	}
}
