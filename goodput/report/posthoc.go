package report

import (
	"fmt"
	"strconv"

	"github.com/goodputkit/goodputkit/goodput/posthoc"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// PostHoc is what a run would have been by other thresholds, for Document.Sections: of the total and of each class the SLO-scale
// curve, the tightest SLO that the sample meets, and attainment over thresholds on ttft and tpot. Each section is labelled as
// chosen after the run; the run itself belongs in Document.Runs.
func PostHoc(a *posthoc.Analysis) (all []Section) {
	for _, v := range append([]posthoc.View{a.Total}, a.Classes...) {
		of := ""
		if v.Class != "" {
			of = " of " + figure.Clean(v.Class, 60)
		}
		all = append(all, Section{
			Title: "If all thresholds had been others" + of, Label: posthoc.Label,
			Text:   []string{"It is no result: the result is by the SLO that was fixed before the run, and of all that follows only what is at scale 1 is the same. Whoever likes another SLO fixes that, and measures again."},
			Charts: scaleCharts(&v), Tables: []Table{tightestTable(a, &v)},
		})
		if v.Surface != nil {
			all = append(all, Section{
				Title: "Attainment over ttft and tpot" + of, Label: posthoc.Label,
				Text:   []string{"All other objectives are as they were. The SLO's own thresholds are marked *."},
				Tables: []Table{surfaceTable(v.Surface)},
			})
		}
	}
	return all
}

// scaleCharts are the SLO-scale curve: a share, and a rate.
func scaleCharts(v *posthoc.View) []Chart {
	if v.Offered == 0 {
		return nil
	}
	attainment := Series{Name: "attainment", Role: Good}
	goodput := Series{Name: "goodput", Role: Good}
	var at []float64
	for _, s := range v.Curve {
		at = append(at, s.Scale)
		attainment.Values, goodput.Values = append(attainment.Values, s.Attainment), append(goodput.Values, s.GoodputRPS)
	}
	first, last := v.Curve[0], v.Curve[len(v.Curve)-1]
	between := fmt.Sprintf("From thresholds of %s times the SLO's to %s times", scaleText(first.Scale), scaleText(last.Scale))
	x := Axis{Label: "scale of all thresholds"}
	before := []Mark{{Name: "fixed before the run", At: 1, X: true}}
	return []Chart{
		{Title: "Attainment over the scale of the SLO", X: x, Y: Axis{Label: "attainment", Unit: Share}, At: at, Series: []Series{attainment}, Lines: before, Small: true,
			Sentence: fmt.Sprintf("%s, %s to %s of the requests would have been good.", between, figure.Share(first.Attainment), figure.Share(last.Attainment))},
		{Title: "Goodput over the scale of the SLO", X: x, Y: Axis{Label: "goodput", Unit: PerSecond}, At: at, Series: []Series{goodput}, Lines: before, Small: true,
			Sentence: fmt.Sprintf("%s, goodput would have been %s to %s requests/s.", between, figure.Number(first.GoodputRPS), figure.Number(last.GoodputRPS))},
	}
}

func scaleText(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

func tightestTable(a *posthoc.Analysis, v *posthoc.View) Table {
	t := Table{Caption: "The tightest that the sample meets, as a scale of the thresholds", Head: []string{"of", "scale", "which is"}, Words: []int{2}}
	t.Rows = append(t.Rows, []string{"the whole SLO", boundText(v.Tightest)})
	for _, o := range v.Objectives {
		row := []string{o.Objective.String(), boundText(o.Bound)}
		switch {
		case o.Objective.Metric == slo.ErrorRate && o.State == posthoc.AtMost:
			row[1] = "any"
		case o.Objective.Metric == slo.ErrorRate && o.State == posthoc.Never:
			row[1] = "none"
		case o.State == posthoc.Found && !o.Objective.Metric.Population():
			row = append(row, o.At.String())
		}
		t.Rows = append(t.Rows, row)
	}
	t.Rows = append(t.Rows, []string{figure.Percent(a.Attainment) + " of the requests good", boundText(v.Attains)})
	return t
}

func boundText(b posthoc.Bound) string {
	switch b.State {
	case posthoc.Found:
		return scaleText(b.Scale)
	case posthoc.AtMost:
		return "≤ " + scaleText(b.Scale)
	case posthoc.Never:
		return "> " + scaleText(posthoc.MaxScale)
	}
	return figure.Absent
}

func surfaceTable(s *posthoc.Surface) Table {
	mark := func(text string, own bool) string {
		if own {
			return "* " + text
		}
		return text
	}
	t := Table{Caption: "Share of requests that would have been good, by a threshold on ttft (rows) and on tpot (columns)", Head: []string{"ttft ↓ tpot →"}}
	for j, v := range s.TPOT {
		t.Head = append(t.Head, mark(figure.Seconds(v), j == s.Own[1]))
	}
	for i, v := range s.TTFT {
		row := []string{mark(figure.Seconds(v), i == s.Own[0])}
		for j, share := range s.Attainment[i] {
			row = append(row, mark(figure.Share(share), s.Own == [2]int{i, j}))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
