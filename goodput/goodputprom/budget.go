package goodputprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
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
		burn:  desc("burn_rate", "Burn rate of the objective's error budget over a window: 1 spends it in just the period.", "window"),
		left:  desc("error_budget_left_ratio", "Share of the period's error budget that is left; below 0 it is overspent."),
		alert: desc("alert_state", "1 for the state that the monitor's alert is in, 0 for the others.", "alert", "severity", "state"),
	}
}

var alertStates = []monitor.AlertState{monitor.Inactive, monitor.Pending, monitor.Firing, monitor.Resolved, monitor.NoData}

// collectBudgets writes what the monitor says of budgets and alerts. A figure that is absent, a share of nothing, has no
// series.
func (c *Collector) collectBudgets(out chan<- prometheus.Metric) {
	state := c.monitor.State()
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
		for _, is := range alertStates {
			v := 0.0
			if a.State == is {
				v = 1
			}
			gauge(c.budgets.alert, v, a.SLO, label[a.SLO], a.Objective, exposition.AlertName(a.Rule.Budget, a.Rule.Long, a.Rule.Short), string(a.Rule.Severity), is.String())
		}
	}
}
