package monitor

import (
	"time"
)

// State is what a monitor sees at one instant. It is what its page and its JSON show.
type State struct {
	Time        time.Time     `json:"time"`
	Since       time.Time     `json:"since"` // when counting began
	Fingerprint string        `json:"slo_fingerprint"`
	Period      time.Duration `json:"-"` // "period_s" in JSON, in seconds

	SLOs    []SLOState   `json:"slos"`    // the default's first
	Windows []Window     `json:"windows"` // of all classes together
	Classes []ClassState `json:"classes"` // by name
	Alerts  []Alert      `json:"alerts"`

	// Warnings say, for each objective, of how many successes since counting began the metric was undefined, and what became of
	// them: an alert that fires for want of a value is about what the service tells, and not about its speed. Absent: none.
	Warnings []string `json:"warnings,omitempty"`

	InFlight int64 `json:"in_flight"`
	Overdue  int64 `json:"overdue"` // of those in flight: past a deadline, and so bad already
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
	r := m.read()
	s := r.state()
	m.mu.Unlock()
	m.tell()
	return s
}

func (r *reading) state() *State {
	m := r.m
	s := &State{Time: instant(r.now), Since: instant(m.since), Fingerprint: m.Fingerprint(), Period: m.period, Alerts: r.judgeAll()}
	shown := m.shown()
	for _, g := range m.groups {
		one := SLOState{Name: g.name, SLO: g.slo.String()}
		for i := range g.objects {
			o := &g.objects[i]
			if text := r.undefinedWarning(g, o); text != "" {
				s.Warnings = append(s.Warnings, text)
			}
			x := ObjectiveState{Objective: o.text, Allowed: o.allowed, Budget: r.budget(g, o)}
			for _, d := range shown {
				x.Burns = append(x.Burns, r.burn(g, o, d))
			}
			one.Objectives = append(one.Objectives, x)
		}
		s.SLOs = append(s.SLOs, one)
	}
	for _, d := range shown {
		s.Windows = append(s.Windows, r.window(d, r.all(d)))
	}
	for _, c := range m.sorted() {
		f := r.flights[c.index]
		one := ClassState{Class: c.name, SLO: c.group.name, InFlight: f.inFlight, Overdue: f.overdue}
		for _, d := range shown {
			one.Windows = append(one.Windows, r.window(d, r.class(c, d)))
		}
		s.Classes = append(s.Classes, one)
		s.InFlight += f.inFlight
		s.Overdue += f.overdue
	}
	return s
}
