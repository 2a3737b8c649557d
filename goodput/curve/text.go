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
// warnings. "–" is a number that there is not.
func (c Curve) String() string {
	var b strings.Builder
	line := func(name, text string) { b.WriteString(figure.Wrap(label(name), text, textWidth)) }
	line("SLO", c.SLO.String())
	line("Goodput limit", c.limitText())
	line("Raw limit", c.peakText(c.Raw, "requests/s of throughput"))
	if slices.ContainsFunc(c.Warnings, func(err error) bool { return errors.Is(err, ErrFailed) }) {
		line("Success limit", c.peakText(c.Succeeded, "requests/s of successes"))
	}
	line("Goodput peak", c.peakText(c.Peak, "requests/s"))
	if !math.IsNaN(c.Bloat[0]) {
		line("Bloat zone", fmt.Sprintf("load %s to %s: work is done, and users do not get it in time", c.Axis.text(c.Bloat[0]), c.Axis.text(c.Bloat[1])))
	}
	if !math.IsNaN(c.Recommended) {
		line("Recommended", fmt.Sprintf("load %s: the goodput limit less %s", c.Axis.text(c.Recommended), figure.Percent(c.Headroom)))
	}
	if c.Falls != "" {
		line("Falls", c.Falls)
	}
	b.WriteString("\n" + c.table())
	if steps := c.stepsText(); steps != "" {
		b.WriteString("\n" + steps)
	}
	if c.Stopped != "" {
		b.WriteString("\n" + figure.Wrap(label("Stopped"), figure.Clean(c.Stopped, 1000), textWidth))
	}
	if len(c.Warnings) > 0 {
		b.WriteString("\nWarnings\n")
		for _, w := range c.Warnings {
			b.WriteString(figure.Wrap("  - ", figure.Clean(w.Error(), 1000), textWidth))
		}
	}
	return b.String()
}

func (c *Curve) limitText() string {
	x := c.Limit
	switch x.State {
	case Crosses:
		text := fmt.Sprintf("load %s, interpolated between %s and %s, where %s stops being met", c.Axis.text(x.Load), c.Axis.text(x.Lo), c.Axis.text(x.Hi), x.Objective)
		if x.Shown != [2]float64{x.Lo, x.Hi} {
			text += "; verdicts show no more than that it is " + c.shownText(x.Shown)
		}
		return text
	case AtLeast:
		return fmt.Sprintf("at least load %s: the SLO is met at every load", c.Axis.text(x.Lo))
	case Below:
		return fmt.Sprintf("below load %s: the SLO is met at none", c.Axis.text(x.Hi))
	}
	return figure.Absent + " (there is nothing to judge)"
}

func (c *Curve) shownText(v [2]float64) string {
	switch {
	case math.IsNaN(v[0]) && math.IsNaN(v[1]):
		return "anywhere"
	case math.IsNaN(v[0]):
		return "below " + c.Axis.text(v[1])
	case math.IsNaN(v[1]):
		return "above " + c.Axis.text(v[0])
	}
	return "from " + c.Axis.text(v[0]) + " to " + c.Axis.text(v[1])
}

func (c *Curve) peakText(p Peak, unit string) string {
	if math.IsNaN(p.Load) {
		return figure.Absent
	}
	return fmt.Sprintf("%s %s, at load %s", figure.Number(p.Value), unit, c.Axis.text(p.Load))
}

// latencies are the metrics that a row shows percentiles of: those of the SLO or, where it has none, e2e.
func (c *Curve) latencies() (all []slo.Metric) {
	seen := map[slo.Metric]bool{}
	for _, p := range c.Points {
		each(p.Report, func(_ string, o goodput.ObjectiveResult) {
			m := o.Objective.Metric
			if !m.Population() && !seen[m] && m != slo.Speed && !strings.HasPrefix(string(m), "x_") {
				seen[m] = true
				all = append(all, m)
			}
		})
	}
	if len(all) == 0 {
		return []slo.Metric{slo.E2E}
	}
	return all[:min(len(all), 2)]
}

func (c *Curve) table() string {
	var t figure.Table
	metrics := c.latencies()
	head := []string{"load", "throughput/s", "goodput/s", "attainment", "errors"}
	for _, m := range metrics {
		head = append(head, string(m)+" P50", "P95", "P99")
	}
	t.Row(append(head, "verdict", "client")...)
	for _, p := range c.Points {
		t.Row(c.Row(p, metrics...)...)
	}
	return t.String()
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
	row := []string{c.Axis.text(p.Load), figure.Fixed(r.ThroughputRPS, d), figure.Fixed(r.GoodputRPS, d), figure.Share(r.Attainment), figure.Share(errors)}
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

// stepsText is a row for each objective: its goodput limit at each percentile.
func (c *Curve) stepsText() string {
	var t figure.Table
	var row []string
	of := func(s Step) string {
		words := strings.Fields(s.Objective.String()) // "ttft p95 < 800ms"
		name := strings.Join(append(words[:1], words[2:]...), " ")
		if s.Class != "" {
			name = figure.Clean(s.Class, 20) + ": " + name
		}
		return name
	}
	for i, s := range c.Steps {
		if s.Percentile == slo.P50 {
			row = []string{of(s)}
		}
		if slices.Contains(stepsAt, s.Percentile) {
			row = append(row, c.stepText(s.Crossing))
		}
		if i+1 == len(c.Steps) || c.Steps[i+1].Percentile == slo.P50 {
			if t.Rows() == 0 {
				t.Row("Goodput limit at", "P50", "P90", "P95", "P99")
			}
			t.Row(row...)
		}
	}
	return t.String()
}

func (c *Curve) stepText(x Crossing) string {
	switch x.State {
	case Crosses:
		return c.Axis.text(x.Load)
	case AtLeast:
		return "≥ " + c.Axis.text(x.Lo)
	case Below:
		return "< " + c.Axis.text(x.Hi)
	}
	return figure.Absent
}
