package goodputotel

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
)

var alertStates = []monitor.AlertState{monitor.Inactive, monitor.Pending, monitor.Firing, monitor.Resolved, monitor.NoData}

// readBudgets observes what the monitor says of budgets and alerts. A figure that is absent, a share of nothing, is not
// observed.
func (i *Instruments) readBudgets(to metric.Observer) {
	state := i.monitor.State()
	of := func(name, objective string) reading {
		return reading{to, &i.observed, append(ownAttributes(name, i.label(name)), attribute.String("goodput.objective", objective))}
	}
	for _, s := range state.SLOs {
		for _, o := range s.Objectives {
			r := of(s.Name, o.Objective)
			r.share(r.o.left, o.Budget.Left)
			for _, b := range o.Burns {
				r.share(r.o.burn, b.Rate, attribute.String("goodput.window", exposition.Duration(b.Window)))
			}
		}
	}
	for _, a := range state.Alerts {
		r := of(a.SLO, a.Objective)
		alert := attribute.String("goodput.alert", exposition.AlertName(a.Rule.Budget, a.Rule.Long, a.Rule.Short))
		severity := attribute.String("goodput.severity", string(a.Rule.Severity))
		for _, is := range alertStates {
			v := int64(0)
			if a.State == is {
				v = 1
			}
			to.ObserveInt64(r.o.alert, v, r.with(alert, severity, attribute.String("goodput.state", is.String())))
		}
	}
}

func (r reading) share(g metric.Float64Observable, v monitor.Figure, more ...attribute.KeyValue) {
	if !v.Absent() {
		r.to.ObserveFloat64(g, float64(v), r.with(more...))
	}
}
