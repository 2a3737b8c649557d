package monitor

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
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

	began time.Time // reading of the monotonic clock at axis
	axis  int64     // Unix time, ns

	classes atomic.Pointer[classTable]
	cached  sync.Pool // *shard: the one that this processor used last
	shards  [maxShards]shard

	mu      sync.Mutex        // after a shard's
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

// WithPeriod sets the period of the error budgets: from an hour to [MaxWindow], which is the default.
func WithPeriod(d time.Duration) Option { return func(m *Monitor) { m.period = d } }

// WithMaxClasses sets how many classes are told apart, beside the default and those of [WithClasses]; the default is
// [goodput.MaxClasses]. Requests of any further class are counted in [goodput.OtherClass].
func WithMaxClasses(n int) Option { return func(m *Monitor) { m.maxClasses = n } }

// New is a monitor that judges by s. Its error names the option or the objective that cannot be meant.
func New(s slo.SLO, opts ...Option) (*Monitor, error) {
	m := &Monitor{slo: cloneSLO(s), period: MaxWindow, maxClasses: goodput.MaxClasses, began: time.Now()}
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
		return fmt.Errorf("WithPeriod: %w", windowError(m.period, time.Hour))
	}
	if m.maxClasses < 0 {
		return fmt.Errorf("WithMaxClasses: %d is below 0", m.maxClasses)
	}
	m.axis = m.began.UnixNano()
	m.since, m.seen = m.axis, m.axis
	m.watched = newRings(1)
	m.groups = []*group{newGroup(m.defaultName(), m.slo)}
	t := &classTable{byName: map[string]*class{}}
	for _, name := range m.set.Classes() {
		g := newGroup(name, m.set[name])
		m.groups = append(m.groups, g)
		t = t.with(newClass(name, g), false)
	}
	m.classes.Store(t)
	return nil
}

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

// SLO is what a class is judged by.
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

// now is the time of the monotonic clock as Unix time, ns: what the wall clock showed at the beginning, and what has passed since.
func (m *Monitor) now() int64 { return m.axis + int64(time.Since(m.began)) }

// at is an instant on the same axis, not after now.
func (m *Monitor) at(t time.Time, now int64) int64 {
	return min(m.axis+max(int64(t.Sub(m.began)), -m.axis), now)
}

func instant(t int64) time.Time { return time.Unix(0, t) }

// ErrWindow is what the errors about a window wrap that is longer than the rings, or too short to be meant.
var ErrWindow = windowErr{}

type windowErr struct{}

func (windowErr) Error() string { return "no such window" }

func windowError(d, least time.Duration) error {
	return fmt.Errorf("%w: %v is not between %v and %v", ErrWindow, d, least, MaxWindow)
}
