package posthoc

import (
	"fmt"
	"strings"

	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

const textWidth = 100

// String is the analysis for people: the result first, then what is chosen after the run, of the total and of each class.
func (a Analysis) String() string {
	var b strings.Builder
	r := a.Report
	b.WriteString(figure.Wrap("Fixed before  ", fmt.Sprintf("%s: %s", strings.ToUpper(figure.Clean(string(r.Verdict), 20)), r.SLO), textWidth))
	b.WriteString(figure.Wrap("              ", fmt.Sprintf("%s of %s requests were good, goodput %s requests/s",
		figure.Share(r.Attainment), figure.Count(r.Offered), figure.Number(r.GoodputRPS)), textWidth))
	b.WriteString(figure.Wrap("Chosen after  ", "everything below, but for the rows at scale 1 and the places marked *, which are the report's. "+
		"It is no result: fix the SLO that you like, and measure again.", textWidth))
	if n := r.Notes.Limits; n > 0 {
		b.WriteString(figure.Wrap("Own limits    ", fmt.Sprintf("%s requests brought thresholds of their own, which are scaled as their class's are, and stay what they are on a surface",
			figure.Count(n)), textWidth))
	}
	b.WriteString("\n" + a.view(a.Total))
	for _, v := range a.Classes {
		b.WriteString("\n" + figure.Wrap("Class         ", figure.Clean(v.Class, 60)+": "+v.SLO.String(), textWidth) + "\n" + a.view(v))
	}
	return b.String()
}

func (a *Analysis) view(v View) string {
	parts := []string{v.curveText(), a.tightestText(v)}
	if v.Surface != nil {
		parts = append(parts, v.Surface.String())
	}
	return strings.Join(parts, "\n")
}

func (v *View) curveText() string {
	t := figure.Table{Left: map[int]bool{5: true}}
	t.Row("Scale, "+Label, "good", "attainment", "goodput/s", "output tokens/s in time", "sample")
	most := v.Curve[len(v.Curve)-1]
	d, dTokens := figure.Decimals(most.GoodputRPS, 3), figure.Decimals(most.TokenGoodputTPS, 3)
	for _, s := range v.Curve {
		name := text(s.Scale)
		if s.Scale == 1 {
			name = "* " + name
		}
		sample := "misses"
		switch {
		case s.Holds:
			sample = "holds"
		case v.Offered == 0:
			sample = figure.Absent
		}
		t.Row(name, figure.Count(s.Good), figure.Share(s.Attainment), figure.Fixed(s.GoodputRPS, d), figure.Fixed(s.TokenGoodputTPS, dTokens), sample)
	}
	return t.String()
}

func (a *Analysis) tightestText(v View) string {
	t := figure.Table{Left: map[int]bool{2: true}}
	t.Row("Tightest, "+Label, "scale", "")
	for _, row := range a.TightestRows(v) {
		t.Row(row...)
	}
	return t.String()
}

// TightestRows are a table of the bounds of v, one of the total and the classes: whose, which scale, and what is to be said of it.
func (a *Analysis) TightestRows(v View) (rows [][]string) {
	rows = append(rows, []string{"the whole SLO", v.Tightest.Text()})
	for _, o := range v.Objectives {
		row := []string{o.Objective.String(), o.Bound.Text()}
		switch {
		case o.Objective.Metric == slo.ErrorRate && o.State == AtMost:
			row = []string{row[0], "any", "does not depend on it"}
		case o.Objective.Metric == slo.ErrorRate && o.State == Never:
			row = []string{row[0], "none", "does not depend on it"}
		case o.State == Found && !o.Objective.Metric.Population():
			row = append(row, o.At.String())
		}
		rows = append(rows, row)
	}
	return append(rows, []string{figure.Percent(a.Attainment) + " of the requests good", v.Attains.Text()})
}

// Text is like "0.85", "≤ 0.01" or "> 100".
func (b Bound) Text() string {
	switch b.State {
	case Found:
		return text(b.Scale)
	case AtMost:
		return "≤ " + text(b.Scale)
	case Never:
		return "> " + text(MaxScale)
	}
	return figure.Absent
}

// String is the attainment at each place. The SLO's own place is marked.
func (s Surface) String() string {
	var t figure.Table
	for _, row := range s.Rows() {
		t.Row(row...)
	}
	return "Attainment by thresholds on ttft and tpot, " + Label + ", all other objectives as they are\n" + t.String()
}

// Rows are the attainment at each place as a table, of which the first row and column are the thresholds. The SLO's own are marked *.
func (s Surface) Rows() [][]string {
	mark := func(text string, own bool) string {
		if own {
			return "* " + text
		}
		return text
	}
	head := []string{"ttft ↓  tpot →"}
	for j, tpot := range s.TPOT {
		head = append(head, mark(figure.Seconds(tpot), j == s.Own[1]))
	}
	rows := [][]string{head}
	for i, ttft := range s.TTFT {
		row := []string{mark(figure.Seconds(ttft), i == s.Own[0])}
		for j, v := range s.Attainment[i] {
			row = append(row, mark(figure.Share(v), s.Own == [2]int{i, j}))
		}
		rows = append(rows, row)
	}
	return rows
}
