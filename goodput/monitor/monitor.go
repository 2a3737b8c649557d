package monitor

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/internal/classtable"
	"github.com/goodputkit/goodputkit/slo"
)

// A Monitor counts the requests of a service by time, class and objective. Its methods may be called from any goroutine,
// but for UnmarshalBinary. It has no goroutine of its own: what is due is done when it is told something or asked.
type Monitor struct {
	slo        slo.SLO
	set        slo.Set
	period     time.Duration
	maxClasses int
	groups     []*group // the default's first
	rules      []Rule   // nil: derived
	evidence   uint64
	confidence float64
	z          float64 // quantile of the confidence
	onChange   []func(Change)

	began time.Time // reading of the monotonic clock at axis
	axis  int64     // Unix time, ns

	classes classtable.Table[*class] // made under mu
	cached  sync.Pool                // *shard: the one that this processor used last
	shards  [maxShards]shard

	mu      sync.Mutex // after a shard's
	alerts  []alert    // what they are changes under mu
	untold  []Change
	telling bool
	watched [len(layout)]ring // ns of each slot in which the monitor was there
	seen    int64             // up to when that is noted
	since   int64             // when counting began
}

// An Option changes a Monitor at its construction.
type Option func(*Monitor)

// WithClasses gives classes SLOs of their own. A class that the set does not name is judged by the default SLO, under its
// own name.
func WithClasses(set slo.Set) Option {
	return func(m *Monitor) {
		m.set = make(slo.Set, len(set))
		for class, s := range set {
			m.set[class] = cloneSLO(s)
		}
	}
}

// WithPeriod sets the period of the error budgets: from an hour to [MaxWindow]; the default is [DefaultPeriod]. A quarter is 90 days to most, and 92 at the
// most. It is rounded to the millisecond, in which metrics systems write a window.
func WithPeriod(d time.Duration) Option {
	return func(m *Monitor) { m.period = d.Round(time.Millisecond) }
}

// WithMaxClasses sets how many classes are told apart, beside the default and those of [WithClasses]; the default is
// [goodput.MaxClasses]. Requests of any further class are counted in [goodput.OtherClass].
func WithMaxClasses(n int) Option { return func(m *Monitor) { m.maxClasses = n } }

// WithRules gives alert rules in place of the derived ones ([DefaultRules]); none at all, and there are no alerts. No two for an
// objective have the same severity and long window: as alerts nobody could tell them apart.
func WithRules(rules ...Rule) Option {
	return func(m *Monitor) { m.rules = append([]Rule{}, rules...) }
}

// WithEvidence sets how sure an alert has to be to fire: how many bad requests there have to be in its long window, and at
// which one-sided confidence the bound of their share has to be above the threshold. The defaults are 5 and 0.95. Without the
// first, one failure in ten requests would do for an SLO of P99.9.
func WithEvidence(bad int, confidence float64) Option {
	return func(m *Monitor) { m.evidence, m.confidence = uint64(max(bad, 1)), confidence }
}

// New is a monitor that judges by s. Its error names the option or the objective that cannot be meant.
func New(s slo.SLO, opts ...Option) (*Monitor, error) {
	m := &Monitor{slo: cloneSLO(s), period: DefaultPeriod, maxClasses: goodput.MaxClasses, evidence: 5, confidence: 0.95, began: time.Now()}
	for _, o := range opts {
		o(m)
	}
	if err := m.init(); err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	return m, nil
}

func (m *Monitor) init() error {
	if err := m.slo.Validate(); err != nil {
		return fmt.Errorf("SLO: %w", err)
	}
	if err := m.set.Validate(); err != nil {
		return fmt.Errorf("WithClasses: %w", err)
	}
	if m.period < time.Hour || m.period > MaxWindow {
		return fmt.Errorf("WithPeriod: %w", windowError(m.period, leastPeriod))
	}
	if m.maxClasses < 0 {
		return fmt.Errorf("WithMaxClasses: %d is below 0", m.maxClasses)
	}
	if !(m.confidence > 0.5 && m.confidence < 1) {
		return fmt.Errorf("WithEvidence: the confidence %v is not between 0.5 and 1", m.confidence)
	}
	m.z = distuv.UnitNormal.Quantile(m.confidence)
	m.axis = m.began.UnixNano()
	m.since, m.seen = m.axis, m.axis
	m.watched = newRings(1)
	m.groups = []*group{newGroup(m.defaultName(), m.slo)}
	for _, name := range m.set.Classes() {
		m.groups = append(m.groups, newGroup(name, m.set[name]))
	}
	m.classes.Init(m.maxClasses, m.set.Classes(), m.newClass)
	return m.initAlerts()
}

// initAlerts makes the alerts of each objective.
func (m *Monitor) initAlerts() error {
	used := make([]bool, len(m.rules))
	for _, g := range m.groups {
		for i := range g.objects {
			o := &g.objects[i]
			if m.rules == nil {
				for _, r := range DefaultRules(o.Objective, m.period) {
					m.alerts = append(m.alerts, alert{g: g, o: o, rule: r, state: NoData, since: m.axis})
				}
			}
			for k, r := range m.rules {
				if r.Objective != "" && r.Objective != o.text {
					continue
				}
				used[k] = true
				if slices.ContainsFunc(m.alerts, func(a alert) bool { return a.o == o && a.rule.Severity == r.Severity && alike(a.rule.Long, r.Long) }) {
					return fmt.Errorf("WithRules: %w: two for %s with severity %s and a long window of %s, which nobody could tell apart: keep one",
						ErrRule, o.text, r.Severity, duration(r.Long))
				}
				if err := r.Check(o.Objective, m.period); err != nil {
					return fmt.Errorf("WithRules: %w", err)
				}
				m.alerts = append(m.alerts, alert{g: g, o: o, rule: r, state: NoData, since: m.axis})
			}
		}
	}
	for k, r := range m.rules {
		if !used[k] {
			return fmt.Errorf("WithRules: %w: no SLO has the objective %.80q, as it stands in %q", ErrRule, r.Objective, m.slo)
		}
	}
	return nil
}

// alike reports whether two windows are one in the millisecond in which they are written.
func alike(a, b time.Duration) bool { return a.Round(time.Millisecond) == b.Round(time.Millisecond) }

// defaultName is what the default SLO is called beside those of the set.
func (m *Monitor) defaultName() string {
	name := slo.DefaultClass
	for {
		if _, taken := m.set[name]; !taken {
			return name
		}
		name += " SLO"
	}
}

func cloneSLO(s slo.SLO) slo.SLO {
	s.Objectives, s.Undefined = slices.Clone(s.Objectives), maps.Clone(s.Undefined)
	return s
}

// SLO is what a class is judged by, or the SLO of one of [Monitor.SLONames].
func (m *Monitor) SLO(class string) slo.SLO { return cloneSLO(m.set.For(class, m.slo)) }

// Classes is the set of [WithClasses].
func (m *Monitor) Classes() slo.Set {
	set := make(slo.Set, len(m.set))
	for class, s := range m.set {
		set[class] = cloneSLO(s)
	}
	return set
}

// Fingerprint is that of the SLOs.
func (m *Monitor) Fingerprint() string { return m.set.Fingerprint(m.slo) }

// Period is that of the error budgets.
func (m *Monitor) Period() time.Duration { return m.period }

// Rules are those of [WithRules]; nil where the alerts are derived ([DefaultRules]).
func (m *Monitor) Rules() []Rule { return slices.Clone(m.rules) }

// Evidence is what an alert wants to fire, as [WithEvidence] says it.
func (m *Monitor) Evidence() (bad int, confidence float64) { return int(m.evidence), m.confidence }

// now is the time of the monotonic clock as Unix time, ns: what the wall clock showed at the beginning, and what has passed since.
func (m *Monitor) now() int64 { return m.axis + int64(time.Since(m.began)) }

// at is the start of a request on the same axis: not after now, and not longer ago than maxAge.
func (m *Monitor) at(t time.Time, now int64) int64 {
	ago := now - m.axis - max(int64(t.Sub(m.began)), math.MinInt64/2)
	return now - min(max(ago, 0), int64(maxAge))
}

// maxAge is how long ago a request can have started that begins now.
const maxAge = time.Hour

func instant(t int64) time.Time { return time.Unix(0, t) }

// ErrWindow is what the errors about a window wrap that is longer than the rings, or too short to be meant.
var ErrWindow = errors.New("no such window")

func windowError(d, least time.Duration) error {
	return fmt.Errorf("%w: %s is not between %s and %s", ErrWindow, duration(d), duration(least), duration(MaxWindow))
}
