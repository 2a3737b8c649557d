// Package exporter is what those share who export what a monitor counts: the classes that have labels, the figures of each, and
// the words that say what they are.
package exporter

import (
	"fmt"
	"slices"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// SLOs are all by which a monitor judges, the default's first.
func SLOs(m *monitor.Monitor) (all []slo.SLO) {
	for _, name := range m.SLONames() {
		all = append(all, m.SLO(name))
	}
	return all
}

// Counters are a monitor's. The default class is always among them, also where it has had no request yet, so that its series are
// there from the start, with 0, and an increase from there is seen.
func Counters(m *monitor.Monitor) *monitor.Counters {
	counted := m.Counters()
	if slices.ContainsFunc(counted.Classes, func(k monitor.ClassCounters) bool { return k.Class == slo.DefaultClass }) {
		return counted
	}
	k := monitor.ClassCounters{Class: slo.DefaultClass}
	for _, o := range m.SLO(slo.DefaultClass).Objectives {
		if !o.Metric.Population() {
			k.Objectives = append(k.Objectives, monitor.ObjectiveCounters{Objective: o.String()})
		}
	}
	counted.Classes = append(counted.Classes, k)
	return counted
}

// An Objective is one of a class.
type Objective struct {
	Text             string
	Requests, Within uint64  // that it is about, and of them those that hold it
	Target           float64 // share of them that it asks for
	Loses            bool    // it is about a request, which can be lost under it, or have no value of its metric
	Lost, Undefined  uint64
}

// Objectives are those of a class's SLO, in its order.
func Objectives(k *monitor.ClassCounters, judged slo.SLO) (all []Objective) {
	each := k.Objectives
	for _, o := range judged.Objectives {
		one := Objective{Text: o.String(), Requests: k.Recorded, Within: k.Outcomes[goodput.Success], Target: exposition.Target(o)}
		switch {
		case o.Metric == slo.Attainment:
			one.Requests, one.Within = k.Decided, k.Good
		case !o.Metric.Population():
			if len(each) == 0 || each[0].Objective != one.Text {
				panic("goodput: the monitor does not count " + one.Text)
			}
			one.Requests, one.Within, one.Loses, one.Lost = each[0].Decided, each[0].Within, true, each[0].First
			one.Undefined = each[0].Undefined
			each = each[1:]
		}
		all = append(all, one)
	}
	return all
}

// AlertStates are all that an alert can be in.
var AlertStates = []monitor.AlertState{monitor.Inactive, monitor.Pending, monitor.Firing, monitor.Resolved, monitor.NoData}

// State is a monitor's. It judges the alerts and so calls those who want to hear of a change, in a goroutine of the metrics library's, where one
// that panics would end the process: that is an error here.
func State(m *monitor.Monitor) (s *monitor.State, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a callback of the monitor (WithOnChange, WithLogger) panicked: %s", figure.Clean(fmt.Sprint(p), 200))
		}
	}()
	return m.State(), nil
}
