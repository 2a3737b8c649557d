package monitor

import (
	"fmt"
	"log/slog"
	"time"
)

// AlertState is what an alert does. Its text form, in JSON too, is its name.
type AlertState uint8

// The states. What an alert without data was before, it remembers: one that fired has not resolved because nobody came.
const (
	Inactive AlertState = iota
	Pending             // the budget burns too fast, by too few requests to be sure
	Firing              // it does, surely; or it did, and the short window has no requests that would say otherwise
	Resolved            // it fired, and now the budget burns slowly enough; for as long as the short window
	NoData              // no request in the long window
)

var alertStates = [...]string{"inactive", "pending", "firing", "resolved", "no_data"}

// String is the state's name.
func (s AlertState) String() string {
	if int(s) < len(alertStates) {
		return alertStates[s]
	}
	return fmt.Sprintf("AlertState(%d)", uint8(s))
}

// MarshalText is the state's name.
func (s AlertState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes a state's name.
func (s *AlertState) UnmarshalText(text []byte) error {
	for i, name := range alertStates {
		if name == string(text) {
			*s = AlertState(i)
			return nil
		}
	}
	return fmt.Errorf("monitor: %.40q is no state of an alert", text)
}

// Alert is a rule applied to an objective. It fires when the bad share of both windows is above the threshold, that of the
// long one surely: at least so many requests were bad ([WithEvidence]), and the lower bound of the share's Wilson interval is
// above it. It goes on until the long share is not above it any more, or the short one surely is not: until the upper bound of
// its interval is not. So an alert at the line does not flap. It is judged when somebody asks ([Monitor.State], [Monitor.Alerts],
// [Monitor.Watch], the [Monitor.Handler]), so Since is not before that.
type Alert struct {
	SLO       string     `json:"slo"`                // its name
	SLOName   string     `json:"slo_name,omitempty"` // what its author called it, slo.SLO.Name: exported metrics and rules have it as the label slo
	Objective string     `json:"objective"`          // canonical text
	Rule      Rule       `json:"rule"`
	Factor    float64    `json:"factor"`    // burn rate above which it fires
	Threshold float64    `json:"threshold"` // the same as a share of bad requests
	State     AlertState `json:"state"`
	Since     time.Time  `json:"since"` // of the state
	Long      Burn       `json:"long"`
	Short     Burn       `json:"short"`
	Lower     Figure     `json:"lower"`             // bound of the long window's bad share, which it has to have above the threshold
	Warning   string     `json:"warning,omitempty"` // the objective's, as in [State]
}

// LogValue is the alert for package log/slog. There is nothing in it of any request.
func (a Alert) LogValue() slog.Value {
	all := []slog.Attr{
		slog.String("slo", a.SLO), slog.String("objective", a.Objective), slog.String("severity", string(a.Rule.Severity)),
		slog.String("state", a.State.String()), slog.Float64("factor", a.Factor),
		slog.Duration("long", a.Rule.Long), slog.Float64("long_burn", a.Long.Rate.or(-1)), slog.Uint64("long_total", a.Long.Total),
		slog.Duration("short", a.Rule.Short), slog.Float64("short_burn", a.Short.Rate.or(-1)), slog.Uint64("short_total", a.Short.Total),
	}
	if a.SLOName != "" {
		all = append(all, slog.String("slo_name", a.SLOName))
	}
	if a.Warning != "" {
		all = append(all, slog.String("warning", a.Warning))
	}
	return slog.GroupValue(all...)
}

// or is the figure or, where it is absent, another.
func (f Figure) or(v float64) float64 {
	if f.Absent() {
		return v
	}
	return float64(f)
}

// A Change is an alert that went from one state to another.
type Change struct {
	From  AlertState `json:"from"`
	Alert Alert      `json:"alert"` // its State is the new one
}

// alert is what is kept of an alert.
type alert struct {
	g     *group
	o     *objective
	rule  Rule
	state AlertState
	since int64
	open  bool // it fired, and has not resolved
}

// is reports whether it is that of a rule for an objective, whatever is to be done about it.
func (a *alert) is(g *group, o *objective, r Rule) bool {
	return a.g == g && a.o == o && a.rule.Budget == r.Budget && a.rule.Long == r.Long && a.rule.Short == r.Short
}

// judge brings an alert's state up to date, and says what it is.
func (r *reading) judge(a *alert) Alert {
	factor := a.rule.Factor(r.m.period)
	v := Alert{SLO: a.g.name, SLOName: a.g.slo.Name, Objective: a.o.text, Rule: a.rule, Factor: factor, Threshold: factor * a.o.allowed,
		Long: r.burn(a.g, a.o, a.rule.Long), Short: r.burn(a.g, a.o, a.rule.Short)}
	v.Warning = r.undefinedWarning(a.g, a.o)
	v.Lower = Figure(wilsonLower(v.Long.Bad, v.Long.Total, r.m.z))
	if s := a.next(r, &v); s != a.state {
		a.state, a.since = s, r.now
	}
	v.State, v.Since = a.state, instant(a.since)
	return v
}

func (a *alert) next(r *reading, v *Alert) AlertState {
	limit := Figure(v.Threshold)
	over := v.Long.Share > limit && v.Short.Share > limit
	upper := 1 - wilsonLower(v.Short.Total-v.Short.Bad, v.Short.Total, r.m.z) // of the short window's bad share
	switch {
	case v.Long.Total == 0:
		return NoData
	case a.open && (v.Short.Total == 0 || v.Long.Share > limit && upper > v.Threshold): // with nobody it can neither fire nor resolve
		return Firing
	case over && v.Long.Bad >= r.m.evidence && v.Lower > limit:
		a.open = true
		return Firing
	case a.open:
		a.open = false
		return Resolved
	case over:
		return Pending
	case a.state == Resolved && r.now-a.since < int64(a.rule.Short):
		return Resolved
	}
	return Inactive
}

// judgeAll judges all alerts, and leaves those that changed to be told. mu is held.
func (r *reading) judgeAll() []Alert {
	all := make([]Alert, 0, len(r.m.alerts))
	for i := range r.m.alerts {
		a := &r.m.alerts[i]
		from := a.state
		v := r.judge(a)
		if all = append(all, v); from != v.State {
			r.m.untold = append(r.m.untold, Change{from, v})
		}
	}
	return all
}

// Alerts are all alerts, judged now: by SLO, the default's first, objective and rule.
func (m *Monitor) Alerts() []Alert {
	r := m.read()
	all := r.judgeAll()
	m.mu.Unlock()
	m.tell()
	return all
}
