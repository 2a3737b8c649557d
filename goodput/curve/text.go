package curve

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

const textWidth = 100

func label(name string) string { return fmt.Sprintf("%-15s", name) }

// String is the curve for people: the limits first, then a row for each point, then what each percentile costs, and the
// warnings, those of the points' reports among them. "–" is a number that there is not.
func (c Curve) String() string {
	var b strings.Builder
	for _, l := range c.Lines() {
		b.WriteString(figure.Wrap(label(l.Name), l.Text, textWidth))
	}
	b.WriteString("\n" + c.table())
	if steps := c.stepsText(); steps != "" {
		b.WriteString("\n" + steps)
	}
	if c.Stopped != "" {
		b.WriteString("\n" + figure.Wrap(label("Stopped"), figure.Clean(c.Stopped, 1000), textWidth))
	}
	if all := c.warnings(); len(all) > 0 {
		b.WriteString("\nWarnings\n")
		for _, w := range all {
			b.WriteString(figure.Wrap("  - ", w, textWidth))
		}
	}
	return b.String()
}

// warnings are the curve's, and then by load why a client was not quite sound, and the reports' own. Each is there once.
func (c *Curve) warnings() (all []string) {
	add := func(said string) {
		if said = figure.Clean(said, 1000); !slices.Contains(all, said) {
			all = append(all, said)
		}
	}
	for _, w := range c.Warnings {
		add(w.Error())
	}
	for _, p := range c.Points {
		of := "load " + c.Axis.Text(p.Load) + ": "
		if h := p.Report.Health; !h.Sound() && h.Verdict != goodput.Invalid { // which is among the curve's
			add(of + "the client was " + strings.TrimSuffix(string(h.Verdict)+": "+strings.Join(h.Reasons, "; "), ": "))
		}
		for _, w := range p.Report.Warnings {
			add(of + w.Error())
		}
	}
	return all
}

// Lines are what String says in words, above its tables: the SLO, the "Goodput limit", the "Raw limit" and the "Goodput peak", and
// as far as there are any the "Success limit", the "Bloat zone", the "Recommended" load and, under "Falls", that goodput falls while throughput rises.
func (c Curve) Lines() []goodput.Line {
	least := ""
	if c.RawRises {
		least = "at least "
	}
	lines := []goodput.Line{
		{Name: "SLO", Text: c.SLO.String()},
		{Name: "Goodput limit", Text: c.limitText()},
		{Name: "Raw limit", Text: least + c.peakText(c.Raw, "requests/s of throughput")},
	}
	add := func(name, text string) { lines = append(lines, goodput.Line{Name: name, Text: text}) }
	if slices.ContainsFunc(c.Warnings, func(err error) bool { return errors.Is(err, ErrFailed) }) {
		add("Success limit", c.peakText(c.Succeeded, "requests/s of successes"))
	}
	add("Goodput peak", c.peakText(c.Peak, "requests/s"))
	if !math.IsNaN(c.Bloat[0]) {
		add("Bloat zone", fmt.Sprintf("load %s to %s: work is done, and users do not get it in time", c.Axis.Text(c.Bloat[0]), c.Axis.Text(c.Bloat[1])))
	}
	if !math.IsNaN(c.Recommended) {
		add("Recommended", fmt.Sprintf("load %s: the goodput limit less %s", c.Axis.Text(c.Recommended), figure.Percent(c.Headroom)))
	}
	if c.Falls != "" {
		add("Falls", c.Falls)
	}
	return lines
}

func (c *Curve) limitText() string {
	x := c.Limit
	switch x.State {
	case Crosses:
		text := fmt.Sprintf("load %s, interpolated between %s and %s, where %s stops being met", c.Axis.Text(x.Load), c.Axis.Text(x.Lo), c.Axis.Text(x.Hi), x.Objective)
		if x.Shown != [2]float64{x.Lo, x.Hi} {
			text += "; verdicts show no more than that it is " + c.shownText(x.Shown)
		}
		return text
	case AtLeast:
		text := fmt.Sprintf("at least load %s: the SLO is met at every load", c.Axis.Text(x.Lo))
		if none := c.Axis.NoVerdict(c.Points, x.Lo); none != "" {
			text += " up to that; " + none
		}
		return text
	case Below:
		return fmt.Sprintf("below load %s: the SLO is met at none", c.Axis.Text(x.Hi))
	}
	return figure.Absent + " (there is nothing to judge)"
}

func (c *Curve) shownText(v [2]float64) string {
	switch {
	case math.IsNaN(v[0]) && math.IsNaN(v[1]):
		return "anywhere"
	case math.IsNaN(v[0]):
		return "below " + c.Axis.Text(v[1])
	case math.IsNaN(v[1]):
		return "above " + c.Axis.Text(v[0])
	}
	return "from " + c.Axis.Text(v[0]) + " to " + c.Axis.Text(v[1])
}

func (c *Curve) peakText(p Peak, unit string) string {
	if math.IsNaN(p.Load) {
		return figure.Absent
	}
	return fmt.Sprintf("%s %s, at load %s", figure.Number(p.Value), unit, c.Axis.Text(p.Load))
}

// Latencies are the metrics that the table shows percentiles of: the first two times in the SLO or, where it has none, e2e.
func (c *Curve) Latencies() (all []slo.Metric) {
	seen := map[slo.Metric]bool{}
	for _, p := range c.Points {
		for _, o := range p.Report.AllObjectives() {
			m := o.Objective.Metric
			if !m.Population() && !seen[m] && m != slo.Speed && !strings.HasPrefix(string(m), "x_") {
				seen[m] = true
				all = append(all, m)
			}
		}
	}
	if len(all) == 0 {
		return []slo.Metric{slo.E2E}
	}
	return all[:min(len(all), 2)]
}

func (c *Curve) table() string {
	var t figure.Table
	metrics := c.Latencies()
	t.Row(RowHeader(metrics...)...)
	for _, p := range c.Points {
		t.Row(c.Row(p, metrics...)...)
	}
	return t.String()
}

// RowHeader are the names of what a Row has.
func RowHeader(metrics ...slo.Metric) []string {
	head := []string{"load", "throughput/s", "goodput/s", "attainment", "errors"}
	for _, m := range metrics {
		head = append(head, string(m)+" P50", "P95", "P99")
	}
	return append(head, "verdict", "client")
}

// Row is what the table says of a point: its load, throughput and goodput in requests/s, attainment, the share of errors,
// P50, P95 and P99 of each metric, the verdict and the client's.
func (c *Curve) Row(p Point, metrics ...slo.Metric) []string {
	r := p.Report
	errors := math.NaN()
	if r.Offered > 0 {
		errors = 1 - float64(r.Outcomes[goodput.Success])/float64(r.Offered)
	}
	d := figure.Decimals(r.ThroughputRPS, 3)
	row := []string{c.Axis.Text(p.Load), figure.Fixed(r.ThroughputRPS, d), figure.Fixed(r.GoodputRPS, d), figure.Share(r.Attainment), figure.Share(errors)}
	for _, m := range metrics {
		d, ok := r.Percentiles[string(m)]
		if !ok {
			row = append(row, figure.Absent, figure.Absent, figure.Absent)
			continue
		}
		row = append(row, figure.Seconds(d.P50), figure.Seconds(d.P95), figure.Seconds(d.P99))
	}
	client := figure.Absent
	if r.Health != nil && r.Health.Verdict != "" {
		client = figure.Clean(string(r.Health.Verdict), 20)
	}
	return append(row, figure.Clean(string(r.Verdict), 20), client)
}

// StepRows are the table of what each percentile costs, its header first: a row for each objective, with its goodput limit at each
// percentile. Nil where no objective has a percentile.
func (c *Curve) StepRows() (rows [][]string) {
	of := func(s Step) string {
		words := strings.Fields(s.Objective.String()) // "ttft p95 < 800ms"
		name := strings.Join(append(words[:1], words[2:]...), " ")
		if s.Class != "" {
			name = figure.Clean(s.Class, 20) + ": " + name
		}
		return name
	}
	for _, s := range c.Steps {
		if rows == nil {
			rows = append(rows, []string{"Goodput limit at", "P50", "P90", "P95", "P99"})
		}
		if !slices.Contains(stepsAt, s.Percentile) {
			continue
		}
		if s.Percentile == stepsAt[0] {
			rows = append(rows, []string{of(s)})
		}
		last := &rows[len(rows)-1]
		*last = append(*last, c.stepText(s.Crossing))
	}
	return rows
}

func (c *Curve) stepsText() string {
	var t figure.Table
	for _, row := range c.StepRows() {
		t.Row(row...)
	}
	return t.String()
}

func (c *Curve) stepText(x Crossing) string {
	switch x.State {
	case Crosses:
		return c.Axis.Text(x.Load)
	case AtLeast:
		return "≥ " + c.Axis.Text(x.Lo)
	case Below:
		return "< " + c.Axis.Text(x.Hi)
	}
	return figure.Absent
}
