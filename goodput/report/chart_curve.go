package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// curveSections are the charts over load, and the table of the steps.
func (d *Document) curveSections() []Section {
	c := d.Curve
	if c == nil {
		return nil
	}
	over := Section{Title: "Latency over load"}
	for _, m := range c.Latencies() {
		if chart, ok := d.latencyChart(m); ok {
			over.Charts = append(over.Charts, chart)
		}
	}
	rates := Section{Title: "Throughput and goodput over load", Charts: []Chart{d.ratesChart(), d.attainmentChart()}}
	metrics := c.Latencies()
	steps := Section{Title: "The steps", Tables: []Table{{
		Caption: "What was measured at each load", Head: rowHeader(metrics),
		Words: []int{5 + 3*len(metrics), 6 + 3*len(metrics)},
	}}}
	for _, p := range c.Points {
		steps.Tables[0].Rows = append(steps.Tables[0].Rows, c.Row(p, metrics...))
	}
	if rows := c.StepRows(); len(rows) > 1 {
		steps.Tables = append(steps.Tables, Table{Caption: "What each step of the percentile costs in capacity", Head: rows[0], Rows: rows[1:]})
	}
	if c.Stopped != "" {
		steps.Text = append(steps.Text, "Stopped "+clean(c.Stopped))
	}
	return slices.DeleteFunc([]Section{over, rates, steps}, func(s Section) bool { return len(s.Charts)+len(s.Tables) == 0 })
}

// rowHeader is the curve's, where a P95 says what it is of, for a table that may be read out cell by cell.
func rowHeader(metrics []slo.Metric) []string {
	head := curve.RowHeader(metrics...)
	for i, m := range metrics {
		for k := 1; k < 3; k++ {
			head[5+3*i+k] = string(m) + " " + head[5+3*i+k]
		}
	}
	return head
}

// overLoad is a chart over the loads of the curve, with its limit, the interval of that and the bloat zone.
func (d *Document) overLoad(title string, y Axis) Chart {
	c := d.Curve
	x := Axis{Label: "offered load", Unit: PerSecond}
	if c.Axis == curve.Concurrency {
		x = Axis{Label: "workers", Unit: Number}
	}
	chart := Chart{Title: title, X: x, Y: y}
	for _, p := range c.Points {
		chart.At = append(chart.At, p.Load)
	}
	chart.X.Log = spread(chart.At) >= 64 // a ladder of doublings; else the knee of the curve would be squeezed
	chart.X.Ticks = slices.Compact(slices.Clone(chart.At))
	limit, bloat := c.Limit.Load, c.Bloat
	if l := d.Limit; l != nil && c.Axis == curve.Rate {
		limit, bloat = l.Rate, [2]float64{math.NaN(), math.NaN()}
		if c.Raw.Load > limit {
			bloat = [2]float64{limit, c.Raw.Load}
		}
		if l.Lo > 0 && l.Hi < math.Inf(1) {
			chart.Bands = append(chart.Bands, Band{Name: figure.Percent(l.Confidence) + " interval of the limit", From: l.Lo, To: l.Hi, Interval: true})
		}
	}
	if !math.IsNaN(bloat[0]) {
		chart.Bands = append(chart.Bands, Band{Name: "bloat zone", From: bloat[0], To: bloat[1]})
	}
	if !math.IsNaN(limit) {
		chart.Lines = append(chart.Lines, Mark{"goodput limit " + c.Axis.Text(limit), limit, true})
	}
	return chart
}

// latencyChart is the load-latency curve of one metric, with its objectives as lines.
func (d *Document) latencyChart(m slo.Metric) (Chart, bool) {
	chart := d.overLoad(string(m)+" over load", Axis{Label: string(m), Unit: unitOf(m)})
	read := []slo.Percentile{slo.P50, slo.P95, slo.P99}
	said := ""
	for _, o := range objectivesOn(d.steps(), m) {
		if len(chart.Series) == 0 && !slices.Contains(read, o.Percentile) && slices.ContainsFunc(percentiles, func(p percentile) bool { return p.at == o.Percentile }) {
			read = append(read, o.Percentile)
		}
		if o.Threshold.PerToken == 0 {
			chart.Lines = append(chart.Lines, Mark{Name: o.String(), At: o.Threshold.Limit})
			said += " The SLO asks for " + o.String() + "."
		}
	}
	slices.Sort(read)
	read = slices.Compact(read)
	var shown []float64
	for _, p := range percentiles {
		if !slices.Contains(read, p.at) {
			continue
		}
		s := Series{Name: p.name, Role: Ramp}
		any := false
		for _, point := range d.Curve.Points {
			v := math.NaN()
			if dist, ok := point.Report.Percentiles[string(m)]; ok {
				v = p.of(&dist)
			}
			any = any || !math.IsNaN(v)
			s.Values = append(s.Values, v)
		}
		if any {
			chart.Series = append(chart.Series, s)
			shown = append(shown, s.Values...)
		}
	}
	if len(chart.Series) == 0 {
		return chart, false
	}
	for _, l := range chart.Lines {
		if !l.X {
			shown = append(shown, l.At)
		}
	}
	chart.Y.Log = spread(shown) >= 20
	s := chart.Series[len(chart.Series)-1]
	for _, o := range chart.Series {
		if o.Name == "P95" {
			s = o
		}
	}
	chart.Sentence = d.fromTo(string(m)+" "+s.Name, s.Values, func(v float64) string { return text(unitOf(m), v) }) + said + " Percentiles are of successful requests."
	return chart, true
}

// fromTo says what a figure is at the first load that has it, at the last one, and at the load at which it is greatest.
func (d *Document) fromTo(name string, values []float64, text func(float64) string) string {
	first, last, most := -1, -1, -1
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if first < 0 {
			first = i
		}
		if most < 0 || v > values[most] {
			most = i
		}
		last = i
	}
	load := func(i int) string { return d.Curve.Axis.Text(d.Curve.Points[i].Load) }
	switch {
	case first < 0:
		return name + " is not known at any load."
	case first == last:
		return fmt.Sprintf("%s is %s at load %s.", name, text(values[first]), load(first))
	}
	s := fmt.Sprintf("%s goes from %s at load %s", name, text(values[first]), load(first))
	if most != first && most != last {
		s += fmt.Sprintf(" over %s at %s", text(values[most]), load(most))
	}
	return s + fmt.Sprintf(" to %s at %s.", text(values[last]), load(last))
}

func (d *Document) ratesChart() Chart {
	chart := d.overLoad("Throughput and goodput", Axis{Label: "requests/s", Unit: Number})
	chart.X.Log = false // what is offered and what is done are then straight lines
	chart.Series = []Series{{Name: "offered", Role: Offered, Dashed: true}, {Name: "throughput", Role: Throughput}, {Name: "goodput", Role: Good}}
	succeeded := Series{Name: "success rate", Dashed: true}
	differ := false
	for _, p := range d.Curve.Points {
		for i, v := range []float64{p.Report.OfferedRPS, p.Report.ThroughputRPS, p.Report.GoodputRPS} {
			chart.Series[i].Values = append(chart.Series[i].Values, v)
		}
		succeeded.Values = append(succeeded.Values, p.Report.SuccessRPS)
		differ = differ || p.Report.SuccessRPS < 0.95*p.Report.ThroughputRPS
	}
	if differ { // what failed is throughput, too
		chart.Series = append(chart.Series, succeeded)
	}
	chart.Sentence = d.Curve.Falls
	if chart.Sentence == "" {
		chart.Sentence = d.fromTo("Throughput", chart.Series[1].Values, figure.Number) + " " + d.fromTo("Goodput", chart.Series[2].Values, figure.Number)
	}
	return chart
}

func (d *Document) attainmentChart() Chart {
	chart := d.overLoad("Attainment: the share of requests that were good", Axis{Label: "attainment", Unit: Share})
	s := Series{Name: "attainment", Role: Good}
	for _, p := range d.Curve.Points {
		s.Values = append(s.Values, p.Report.Attainment)
		s.Lo, s.Hi = append(s.Lo, p.Report.AttainmentCI[0]), append(s.Hi, p.Report.AttainmentCI[1])
	}
	chart.Series = []Series{s}
	chart.Sentence = d.fromTo("Attainment", s.Values, func(v float64) string { return figure.Share(v) }) +
		" Bars are its " + figure.Percent(d.Curve.Points[0].Report.Confidence) + " interval; where there is none, requests were too much alike for one."
	return chart
}

// percentile is one of those that a Distribution has.
type percentile struct {
	name string
	at   slo.Percentile
	of   func(*goodput.Distribution) float64
}

var percentiles = []percentile{
	{"P50", slo.P50, func(d *goodput.Distribution) float64 { return d.P50 }},
	{"P90", slo.P90, func(d *goodput.Distribution) float64 { return d.P90 }},
	{"P95", slo.P95, func(d *goodput.Distribution) float64 { return d.P95 }},
	{"P99", slo.P99, func(d *goodput.Distribution) float64 { return d.P99 }},
	{"P99.9", slo.P999, func(d *goodput.Distribution) float64 { return d.P999 }},
}

// key is the percentile's name in CI95 and in the columns of CSV.
func (p percentile) key() string { return strings.ToLower(strings.ReplaceAll(p.name, ".", "_")) }

// objectivesOn are the different objectives on a metric, of all runs and of their classes.
func objectivesOn(runs []Run, m slo.Metric) (all []slo.Objective) {
	for _, r := range runs {
		for _, o := range objectives(r.Report) {
			if o.Objective.Metric == m && !slices.Contains(all, o.Objective) {
				all = append(all, o.Objective)
			}
		}
	}
	return all
}

// spread is the greatest over the least of the values above 0; NaN: there is none.
func spread(values []float64) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > hi {
		return math.NaN()
	}
	return hi / lo
}

// unitOf is what values of a metric are drawn in.
func unitOf(m slo.Metric) Unit {
	switch {
	case m.IsTime():
		return Seconds
	case m == slo.Speed:
		return "tok/s"
	}
	return Number
}

// text is a value for people.
func text(u Unit, v float64) string {
	if math.IsNaN(v) {
		return figure.Absent
	}
	switch u {
	case Number:
		return figure.Number(v)
	case Seconds:
		return figure.Seconds(v)
	case Share:
		return figure.Share(v)
	case PerSecond:
		return figure.Number(v) + "/s"
	case Percentile:
		if v == 0 {
			return "min"
		}
		return "P" + strconv.FormatFloat(v, 'f', -1, 64)
	}
	return figure.Number(v) + " " + string(u)
}
