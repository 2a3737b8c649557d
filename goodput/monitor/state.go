package monitor

import (
	"slices"
	"time"
)

// State is what a monitor sees at one instant. It is what its page and its JSON show.
type State struct {
	Time        time.Time     `json:"time"`
	Since       time.Time     `json:"since"` // when counting began
	Fingerprint string        `json:"slo_fingerprint"`
	Period      time.Duration `json:"period_ns"`

	SLOs    []SLOState   `json:"slos"`    // the default's first
	Windows []Window     `json:"windows"` // of all classes together
	Classes []ClassState `json:"classes"` // by name
}

// SLOState is an SLO with the classes that it judges: all those that have none of their own share the default's.
type SLOState struct {
	Name string `json:"name"` // "default", or the class
	SLO  string `json:"slo"`
}

// ClassState is one class.
type ClassState struct {
	Class    string   `json:"class"`
	SLO      string   `json:"slo"` // name of the SLO that judges it
	InFlight int64    `json:"in_flight"`
	Overdue  int64    `json:"overdue"` // of those in flight: past a deadline, and so bad already
	Windows  []Window `json:"windows"`
}

// windows are what a state shows, beside the period.
var windows = []time.Duration{time.Minute, 5 * time.Minute, time.Hour, 6 * time.Hour, 3 * 24 * time.Hour}

// State is the state now.
func (m *Monitor) State() *State {
	now, flights := m.settle()
	defer m.mu.Unlock()
	s := &State{Time: instant(now), Since: instant(m.since), Fingerprint: m.Fingerprint(), Period: m.period}
	for _, g := range m.groups {
		s.SLOs = append(s.SLOs, SLOState{Name: g.name, SLO: g.slo.String()})
	}
	t := m.classes.Load()
	shown := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(windows), m.period))))
	shown = slices.DeleteFunc(shown, func(d time.Duration) bool { return d > m.period })
	for _, d := range shown {
		s.Windows = append(s.Windows, m.window(d, now, t.all))
	}
	for _, c := range t.sorted() {
		one := ClassState{Class: c.name, SLO: c.group.name}
		if c.index < len(flights) {
			one.InFlight, one.Overdue = flights[c.index].inFlight, flights[c.index].overdue
		}
		for _, d := range shown {
			one.Windows = append(one.Windows, m.window(d, now, []*class{c}))
		}
		s.Classes = append(s.Classes, one)
	}
	return s
}
