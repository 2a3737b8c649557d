package goodputotel

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/goodputkit/goodputkit/goodput/internal/exporter"
	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
)

// readBudgets observes what the monitor says of budgets and alerts. A figure that is absent, a share of nothing, is not
// observed.
func (i *Instruments) readBudgets(to metric.Observer) error {
	state, err := exporter.State(i.monitor)
	if err != nil {
		return fmt.Errorf("goodputotel: %w", err)
	}
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
		alert := attribute.String("goodput.alert", exposition.AlertName(string(a.Rule.Severity), a.Rule.Long))
		severity := attribute.String("goodput.severity", string(a.Rule.Severity))
		for _, is := range exporter.AlertStates {
			v := int64(0)
			if a.State == is {
				v = 1
			}
			to.ObserveInt64(r.o.alert, v, r.with(alert, severity, attribute.String("goodput.state", is.String())))
		}
	}
	return nil
}

func (r reading) share(g metric.Float64Observable, v monitor.Figure, more ...attribute.KeyValue) {
	if !v.Absent() {
		r.to.ObserveFloat64(g, float64(v), r.with(more...))
	}
}
