package report

import (
	"fmt"

	"github.com/goodputkit/goodputkit/goodput/posthoc"
	"github.com/goodputkit/goodputkit/internal/figure"
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
			Charts: scaleCharts(&v), Tables: []Table{{
				Caption: "The tightest that the sample meets, as a scale of the thresholds", Head: []string{"of", "scale", "which is"},
				Words: []int{2}, Rows: a.TightestRows(v),
			}},
		})
		if v.Surface != nil {
			rows := v.Surface.Rows()
			all = append(all, Section{
				Title: "Attainment over ttft and tpot" + of, Label: posthoc.Label,
				Text: []string{"All other objectives are as they were. The SLO's own thresholds are marked *."},
				Tables: []Table{{
					Caption: "Share of requests that would have been good, by a threshold on ttft (rows) and on tpot (columns)", Head: rows[0], Rows: rows[1:],
				}},
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
	between := fmt.Sprintf("From thresholds of %v times the SLO's to %v times", first.Scale, last.Scale)
	x := Axis{Label: "scale of all thresholds"}
	before := []Mark{{Name: "fixed before the run", At: 1, X: true}}
	return []Chart{
		{Title: "Attainment over the scale of the SLO", X: x, Y: Axis{Label: "attainment", Unit: Share}, At: at, Series: []Series{attainment}, Lines: before, Small: true,
			Sentence: fmt.Sprintf("%s, %s to %s of the requests would have been good.", between, figure.Share(first.Attainment), figure.Share(last.Attainment))},
		{Title: "Goodput over the scale of the SLO", X: x, Y: Axis{Label: "goodput", Unit: PerSecond}, At: at, Series: []Series{goodput}, Lines: before, Small: true,
			Sentence: fmt.Sprintf("%s, goodput would have been %s to %s requests/s.", between, figure.Number(first.GoodputRPS), figure.Number(last.GoodputRPS))},
	}
}
