package promrules

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

type object = map[string]any

// Dashboard is a Grafana dashboard (schema 39) as JSON, to be imported: throughput beside goodput, attainment, what is lost
// by cause, burn rates, budget left, and each latency against its threshold. It reads what the rules record, and asks for
// the data source. Of an engine's histograms there are burn rates, budgets and latencies alone.
func (r *Rules) Dashboard() []byte {
	p := &r.plan
	d := &dashboard{w: exposition.Duration(p.shortest())}
	of := p.selector(p.own())
	if p.Source == Goodput {
		own := p.selector(p.own())
		d.add("Throughput and goodput", "reqps", nil,
			query{"slo:goodput_throughput:rate" + d.w + of, "throughput"}, query{"slo:goodput_goodput:rate" + d.w + of, "goodput"},
			query{fmt.Sprintf("sum(rate(goodput_offered_requests_total%s[%s]))", own, d.w), "offered"})
		d.add("Attainment", "percentunit", nil, query{"slo:goodput_attainment:ratio_rate" + d.w + of, "good of all decided"})
		d.stack("Lost, by cause", "reqps", query{fmt.Sprintf("sum by (cause) (rate(goodput_lost_requests_total%s[%s])) > 0", own, d.w), "{{cause}}"})
		d.add("Token throughput and token goodput", "short", nil,
			query{fmt.Sprintf("sum(rate(goodput_output_tokens_total%s[%s]))", own, d.w), "output tokens/s"},
			query{fmt.Sprintf("sum(rate(goodput_good_output_tokens_total%s[%s]))", own, d.w), "good output tokens/s"})
	}
	seen := map[string]bool{}
	var burns []query
	for _, a := range r.alerts {
		w := exposition.Duration(a.rule.Long)
		key := a.objective.String() + w
		if !seen[key] {
			seen[key] = true
			burns = append(burns, query{fmt.Sprintf("objective:goodput_bad:ratio_rate%s%s / %s", w, p.recorded(a.objective), number(monitor.Allowed(a.objective))), a.objective.String() + " over " + w})
		}
	}
	if len(burns) > 0 {
		d.add("Burn rates", "short", nil, burns...)
	}
	d.add("Error budget left", "percentunit", nil, query{"objective:goodput_error_budget_left:ratio" + of, "{{objective}}"})
	for _, o := range p.SLO.Objectives {
		d.latency(p, o)
	}
	text, err := json.MarshalIndent(object{
		"title": "Goodput: " + p.SLO.String(), "uid": p.uid(), "schemaVersion": 39, "version": 1,
		"tags": []string{"goodput", string(p.Source)}, "refresh": "30s", "time": object{"from": "now-6h", "to": "now"},
		"templating": object{"list": []object{{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}}},
		"panels":     d.panels,
	}, "", "  ")
	if err != nil { // only what this package made itself
		panic("promrules: " + err.Error())
	}
	return append(text, '\n')
}

type query struct{ expr, legend string }

// refID is what a panel calls its query: A to Z, AA, AB, …
func refID(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return refID(i/26-1) + string(rune('A'+i%26))
}

// noVariables has strings in which Grafana finds no variable of its own, as in an SLO that is called "$interval": outside of strings
// PromQL has neither.
var noVariables = strings.NewReplacer("$", `\x24`, "[[", `\x5b[`)

type dashboard struct {
	w      string
	panels []object
}

func (d *dashboard) add(title, unit string, threshold object, queries ...query) object {
	var targets []object
	for i, q := range queries {
		targets = append(targets, object{"refId": refID(i), "expr": noVariables.Replace(q.expr), "legendFormat": q.legend, "datasource": source})
	}
	defaults := object{"unit": unit, "min": 0, "custom": object{"drawStyle": "line", "fillOpacity": 5, "spanNulls": false}}
	if unit == "percentunit" {
		delete(defaults, "min") // a budget can be overspent
	}
	if threshold != nil {
		defaults["thresholds"] = threshold
		defaults["custom"].(object)["thresholdsStyle"] = object{"mode": "line"}
	}
	n := len(d.panels)
	panel := object{
		"id": n + 1, "type": "timeseries", "title": title, "datasource": source, "targets": targets,
		"gridPos":     object{"x": 12 * (n % 2), "y": 8 * (n / 2), "w": 12, "h": 8},
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}},
		"options":     object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi"}},
	}
	d.panels = append(d.panels, panel)
	return panel
}

var source = object{"type": "prometheus", "uid": "${datasource}"}

func (d *dashboard) stack(title, unit string, queries ...query) {
	panel := d.add(title, unit, nil, queries...)
	custom := panel["fieldConfig"].(object)["defaults"].(object)["custom"].(object)
	custom["stacking"], custom["fillOpacity"] = object{"mode": "normal"}, 40
}

// latency is a metric's percentile against its threshold. Of a speed, of which more is better, P95 is what a histogram calls P5.
func (d *dashboard) latency(p *Plan, o slo.Objective) {
	if o.Metric.Population() {
		return
	}
	name, sel := exposition.Histogram(o.Metric), p.selector(p.own())
	if p.Source != Goodput {
		h, ok := engines[p.Source][o.Metric]
		if !ok {
			return
		}
		name, sel = h.name, p.selector()
	}
	share := float64(o.Percentile.PPM()) / 1e6
	if o.Metric.HigherIsBetter() {
		share = float64(1e6-o.Percentile.PPM()) / 1e6
	}
	unit := map[bool]string{true: "s", false: "short"}[o.Metric.IsTime()]
	var threshold object
	if limit := o.Threshold.Limit; o.Threshold.PerToken == 0 {
		below, above := "green", "red"
		if o.Metric.HigherIsBetter() {
			below, above = above, below
		}
		threshold = object{"mode": "absolute", "steps": []object{{"color": below, "value": nil}, {"color": above, "value": limit}}}
	}
	// Of the classic buckets, which have an edge on the threshold; or, where a Prometheus keeps native histograms alone, of these.
	panel := d.add(fmt.Sprintf("%s %s of successes, against %s", o.Metric, o.Percentile, o), unit, threshold,
		query{fmt.Sprintf("histogram_quantile(%[1]s, sum by (le) (rate(%[2]s_bucket%[3]s[%[4]s]))) or histogram_quantile(%[1]s, sum(rate(%[2]s%[3]s[%[4]s])))",
			number(share), name, sel, d.w), fmt.Sprint(o.Percentile)})
	if o.Metric.Custom() { // whose values can be below 0
		delete(panel["fieldConfig"].(object)["defaults"].(object), "min")
	}
}
