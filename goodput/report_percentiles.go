package goodput

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// What stands behind a percentile that is not to be taken at its word.
const (
	thinMark  = "*" // above what the sample can carry
	roughMark = "~" // a bracket more than a figure
)

// maxIntervals is how many intervals of percentiles a report prints.
const maxIntervals = 12

// percentileTable has a row for each distribution. A percentile that is the subject of an objective, and one in a gap of
// the data, has its interval below the table.
type percentileTable struct {
	figure.Table
	report      *Report
	thin, rough bool // these marks are in it
	intervals   []string
}

// rows adds the distributions of those names that there are.
func (t *percentileTable) rows(title string, names []string, text func(name string, v float64) string) {
	names = slices.DeleteFunc(names, func(name string) bool { _, ok := t.report.Percentiles[name]; return !ok })
	if len(names) == 0 {
		return
	}
	if t.Rows() > 0 {
		t.Row("")
	}
	head := []string{title, "n"}
	for _, p := range percentileNames {
		head = append(head, p.title+" ")
	}
	t.Row(append(head, "max")...)
	for _, name := range names {
		d := t.report.Percentiles[name]
		metric := figure.Clean(strings.ReplaceAll(name, "_tokens", " tokens"), 30)
		cells := []string{metric, figure.Count(d.N)}
		for i, v := range []float64{d.P50, d.P90, d.P95, d.P99, d.P999} {
			p := percentileNames[i]
			ci, known := d.CI95[p.name]
			mark := " "
			switch {
			case math.IsNaN(v):
			case slices.Contains(d.Thin, p.name):
				mark, t.thin = thinMark, true
			case ci[1]-ci[0] > math.Abs(v):
				mark, t.rough = roughMark, true
			}
			cells = append(cells, text(name, v)+mark)
			if known && (mark == roughMark || t.judged(slo.Metric(name), p.q)) {
				if ends := bracket(ci, func(v float64) string { return text(name, v) }); ends != "" {
					t.intervals = append(t.intervals, metric+" "+p.title+" "+ends)
				}
			}
		}
		t.Row(append(cells, text(name, d.Max))...)
	}
}

// judged reports whether an objective is about that percentile of m or of a twin. One on speed is about the slow end.
func (t *percentileTable) judged(m slo.Metric, q float64) bool {
	return m != slo.Speed && slices.ContainsFunc(t.report.Objectives, func(o ObjectiveResult) bool {
		of := o.Objective.Metric
		return math.Abs(float64(o.Objective.Percentile)-100*q) < 1e-6 && (of == m || twins[of] == m && t.report.sameFigures(of, m))
	})
}

// bracket is an interval in words; an end that is NaN is not known. "" if neither is.
func bracket(ci [2]float64, text func(float64) string) string {
	switch lo, hi := text(ci[0]), text(ci[1]); {
	case math.IsNaN(ci[0]) && math.IsNaN(ci[1]):
		return ""
	case math.IsNaN(ci[0]):
		return hi + " or less"
	case math.IsNaN(ci[1]):
		return lo + " or more"
	default:
		return lo + " to " + hi
	}
}

// slowSide says of speed, where an objective is about it, what its percentiles do not, which are of the fast side.
func (r *Report) slowSide() string {
	d := r.Percentiles[string(slo.Speed)]
	var reached []string
	for class, o := range r.AllObjectives() {
		if o.Objective.Metric != slo.Speed || !(o.AtLeast > 0) {
			continue
		}
		of := ""
		if class != "" {
			of = " of " + figure.Clean(class, 16)
		}
		share := figure.Percent(float64(o.Objective.Percentile) / 100)
		reached = append(reached, fmt.Sprintf("%s%s at least %s tok/s", share, of, figure.Number(o.AtLeast)))
	}
	if len(reached) == 0 {
		return ""
	}
	return figure.Wrap("speed       ", "higher is better, so the slow ones are not those on the right: "+strings.Join(reached, ", ")+
		"; the slowest was "+figure.Number(d.Min)+" tok/s", textWidth)
}

// notes are the lines below the table.
func (t *percentileTable) notes() (text string) {
	r := t.report
	text += r.slowSide()
	if t.thin {
		text += thinMark + " fewer values than the percentile takes: it lies next to the greatest of them\n"
	}
	if t.rough {
		text += roughMark + " a bracket more than a figure: its 95% interval is wider than the figure itself\n"
	}
	if len(t.intervals) == 0 {
		return text
	}
	if more := len(t.intervals) - maxIntervals; more > 0 {
		t.intervals = append(t.intervals[:maxIntervals], fmt.Sprintf("and %d more in the JSON", more))
	}
	words := []string{"95%, with requests taken as independent:"}
	for i, w := range t.intervals {
		if i+1 < len(t.intervals) {
			w += ","
		}
		words = append(words, w)
	}
	text += figure.WrapWords(label("Intervals"), words, textWidth)
	return text
}
