package goodputprom

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodputkit/goodputkit/goodput/internal/exporter"
	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
)

// budgetDescriptions are the gauges of the monitor's budgets and alerts.
type budgetDescriptions struct {
	burn, left, alert *prometheus.Desc
}

func describeBudgets(constant prometheus.Labels) budgetDescriptions {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("goodput_"+name, help, append([]string{"class", "slo", "objective"}, labels...), constant)
	}
	return budgetDescriptions{
		burn:  desc("burn_rate", exporter.BurnRate, "window"),
		left:  desc("error_budget_left_ratio", exporter.BudgetLeft),
		alert: desc("alert_state", exporter.AlertState, "alert", "severity", "state"),
	}
}

// collectBudgets writes what the monitor says of budgets and alerts. A figure that is absent, a share of nothing, has no
// series.
func (c *Collector) collectBudgets(out chan<- prometheus.Metric) {
	state, err := exporter.State(c.monitor)
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.budgets.alert, fmt.Errorf("goodputprom: %w", err))
		return
	}
	label := map[string]string{}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, s := range state.SLOs {
		label[s.Name] = c.label(s.Name)
		for _, o := range s.Objectives {
			if !o.Budget.Left.Absent() {
				gauge(c.budgets.left, float64(o.Budget.Left), s.Name, label[s.Name], o.Objective)
			}
			for _, b := range o.Burns {
				if !b.Rate.Absent() {
					gauge(c.budgets.burn, float64(b.Rate), s.Name, label[s.Name], o.Objective, exposition.Duration(b.Window))
				}
			}
		}
	}
	for _, a := range state.Alerts {
		for _, is := range exporter.AlertStates {
			v := 0.0
			if a.State == is {
				v = 1
			}
			gauge(c.budgets.alert, v, a.SLO, label[a.SLO], a.Objective, exposition.AlertName(string(a.Rule.Severity), a.Rule.Long), string(a.Rule.Severity), is.String())
		}
	}
}
