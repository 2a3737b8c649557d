package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// longest is how much of a text from outside is shown, in columns.
const longest = 1000

func clean(s string) string { return figure.Clean(s, longest) }

// sections are all of a document's: those of the curve and its steps, those of the runs, what others added, and at the end how it
// was counted and what it warns of.
func (d *Document) sections() []Section {
	all := d.curveSections()
	steps, runs := d.steps(), d.runs()
	if d.Comparison != nil {
		all = append(all, comparisonSection(d.Comparison))
	}
	both := ""
	if len(steps) > 0 && len(runs) > 0 {
		both = " of the steps"
	}
	all = append(all, runSections(steps, "load", both)...)
	all = append(all, runSections(runs, "run", "")...)
	all = append(all, d.Sections...)
	all = append(all, d.countedSection(slices.Concat(runs, steps)))
	if s := d.warningSection(runs, steps); len(s.Text) > 0 {
		all = append(all, s)
	}
	return all
}

// runSections are those of runs side by side, whose names are of that kind.
func runSections(runs []Run, kind, of string) (all []Section) {
	if len(runs) == 0 {
		return nil
	}
	all = append(all, Section{Title: "Objectives" + of, Tables: []Table{objectiveTable(runs, kind)}})
	lost := Section{Title: "Lost, by cause" + of, Charts: []Chart{lostChart(runs, kind)}}
	if len(runs) == 1 {
		lost.Tables = []Table{rateTable(runs[0].Report)}
	}
	latencies := Section{Title: "Latency" + of, Charts: distributionCharts(runs)}
	if len(runs) == 1 && len(runs[0].Report.Percentiles) > 0 {
		latencies.Tables = []Table{percentileTable(runs[0].Report)}
	}
	times := Section{Title: "Time line" + of}
	for _, r := range runs {
		if c, ok := timelineChart(r); ok {
			c.Small = len(runs) > 1
			times.Charts = append(times.Charts, c)
			times.Text = []string{"What ended in each slice of time, over its width. The first and the last slice may be covered in part only."}
		}
	}
	classes := Section{Title: "Classes" + of}
	if t := classTable(runs, kind); len(t.Rows) > 0 {
		classes.Tables = []Table{t}
	}
	health := healthSection(runs, kind)
	health.Title += of
	worst := Section{Title: "Requests that did worst" + of}
	if t := worstTable(runs); len(t.Rows) > 0 && kind == "run" {
		worst.Tables = []Table{t}
	}
	all = append(all, lost, latencies, times, classes, health, worst)
	return slices.DeleteFunc(all, func(s Section) bool { return len(s.Charts)+len(s.Tables)+len(s.Text) == 0 })
}

// inFront puts the name of the run before its cells, where there are several.
func inFront(runs []Run, name string, cells ...string) []string {
	if len(runs) == 1 && name == "" {
		return cells
	}
	return append([]string{name}, cells...)
}

func objectiveTable(runs []Run, kind string) Table {
	byClass := slices.ContainsFunc(runs, func(r Run) bool {
		return slices.ContainsFunc(objectives(r.Report), func(o classed) bool { return o.class != "" })
	})
	of := figure.Percent(runs[0].Report.Confidence) + " interval"
	if slices.ContainsFunc(runs, func(r Run) bool { return r.Report.Confidence != runs[0].Report.Confidence }) {
		of = "interval"
	}
	head := []string{"objective", "share", "target", of, "late", "sample", "verdict"}
	if byClass {
		head = append([]string{"class"}, head...)
	}
	t := Table{Caption: "The share of requests that each objective is met by, and what that says of the system", Head: head}
	if len(runs) > 1 || runs[0].Name != "" {
		t.Head = append([]string{kind}, head...)
	}
	for i := range t.Head {
		if slices.Contains([]string{"class", "objective", "sample", "verdict"}, t.Head[i]) {
			t.Words = append(t.Words, i)
		}
	}
	for _, r := range runs {
		for _, o := range objectives(r.Report) {
			cells := o.Row()
			if byClass {
				cells = append([]string{o.class}, cells...)
			}
			t.Rows = append(t.Rows, inFront(runs, r.Name, cells...))
		}
	}
	t.Folded = len(t.Rows) > 16
	return t
}

// rateTable is throughput beside goodput, and every cause of what lies between them.
func rateTable(r *goodput.Report) Table {
	f := r.Flow
	t := Table{Caption: "Rates", Head: []string{"rate", "requests", "requests/s", "of throughput", "output tokens/s"}}
	d := figure.Decimals(max(r.ThroughputRPS, r.OfferedRPS), 4)
	row := func(name string, n uint64, rate float64, tokens ...float64) {
		share := math.NaN()
		if f.Ended > 0 && name != "offered" {
			share = float64(n) / float64(f.Ended)
		}
		cells := []string{name, figure.Count(n), figure.Fixed(rate, d), figure.Share(share)}
		for _, v := range tokens {
			if f.OutputTokens > 0 {
				cells = append(cells, figure.Fixed(v, figure.Decimals(r.OutputTPS, 4)))
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	row("offered", r.Offered, r.OfferedRPS)
	row("throughput", f.Ended, r.ThroughputRPS, r.OutputTPS)
	row("success", f.Success, r.SuccessRPS)
	row("goodput", f.Good, r.GoodputRPS, r.TokenGoodputTPS)
	for _, cause := range figure.ByCount(r.Lost) {
		row("lost: "+clean(cause), r.Lost[cause], r.LostRPS[cause])
	}
	return t
}

func percentileTable(r *goodput.Report) Table {
	t := Table{Caption: "Percentiles of successful requests", Head: []string{"metric", "n"}}
	for _, p := range percentiles {
		t.Head = append(t.Head, p.name)
	}
	t.Head = append(t.Head, "max")
	order := slices.Concat(slo.Metrics(), []slo.Metric{"input_tokens", "output_tokens"})
	for _, name := range slices.Sorted(maps.Keys(r.Percentiles)) {
		if !slices.Contains(order, slo.Metric(name)) {
			order = append(order, slo.Metric(name))
		}
	}
	for _, m := range order {
		d, ok := r.Percentiles[string(m)]
		if !ok {
			continue
		}
		row := []string{clean(string(m)), figure.Count(d.N)}
		for _, p := range percentiles {
			v := text(unitOf(m), p.of(&d))
			if slices.Contains(d.Thin, p.key()) && !math.IsNaN(p.of(&d)) {
				v += "*"
			}
			row = append(row, v)
		}
		t.Rows = append(t.Rows, append(row, text(unitOf(m), d.Max)))
		if len(d.Thin) > 0 {
			t.Caption = "Percentiles of successful requests (* fewer values than the percentile takes: it lies next to the greatest of them)"
		}
	}
	return t
}

func classTable(runs []Run, kind string) Table {
	t := Table{Caption: "Each class of traffic by itself", Head: []string{"class", "verdict", "offered", "attainment", "throughput/s", "goodput/s", "ttft P95", "e2e P95", "SLO"}}
	if len(runs) > 1 || runs[0].Name != "" {
		t.Head = append([]string{kind}, t.Head...)
	}
	t.Words = []int{len(t.Head) - 9, len(t.Head) - 8, len(t.Head) - 1}
	for _, r := range runs {
		if len(r.Report.Classes) == 1 && r.Report.Classes[slo.DefaultClass] != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(r.Report.Classes)) {
			c := r.Report.Classes[name]
			p95 := func(m slo.Metric) string {
				if d, ok := c.Percentiles[string(m)]; ok {
					return figure.Seconds(d.P95)
				}
				return figure.Absent
			}
			d := figure.Decimals(r.Report.ThroughputRPS, 4)
			t.Rows = append(t.Rows, inFront(runs, r.Name, clean(name), clean(string(c.Verdict)), figure.Count(c.Offered), figure.Share(c.Attainment),
				figure.Fixed(c.ThroughputRPS, d), figure.Fixed(c.GoodputRPS, d), p95(slo.TTFT), p95(slo.E2E), c.SLO.String()))
		}
	}
	return t
}

// healthSection is what the clients say of themselves.
func healthSection(runs []Run, kind string) Section {
	s := Section{Title: "Client health"}
	t := Table{Caption: "What whoever made the load says of itself", Head: []string{"client", "sent", "lag P50", "lag P99", "lag max", "in flight", "by Little's law", "own CPUs", "why"}}
	if len(runs) > 1 || runs[0].Name != "" {
		t.Head = append([]string{kind}, t.Head...)
	}
	t.Words = []int{len(t.Head) - 9, len(t.Head) - 1}
	for _, r := range runs {
		h := r.Report.Health
		if h == nil {
			t.Rows = append(t.Rows, inFront(runs, r.Name, "not measured"))
			continue
		}
		lag := func(v float64) string {
			if h.Sent == 0 {
				return figure.Absent
			}
			return figure.Seconds(v)
		}
		mean, little, cpus := figure.Absent, figure.Absent, figure.Absent
		if f := h.InFlight; f != nil {
			mean, little = figure.Number(f.Mean), figure.Number(f.Little)
		}
		if c := h.CPU; c != nil {
			cpus = figure.Number(c.Client) + " of " + figure.Count(c.Procs)
		}
		t.Rows = append(t.Rows, inFront(runs, r.Name, cmp.Or(clean(string(h.Verdict)), "not judged"), figure.Count(h.Sent)+" of "+figure.Count(h.Offered),
			lag(h.LagP50), lag(h.LagP99), lag(h.LagMax), mean, little, cpus, clean(strings.Join(h.Reasons, "; "))))
	}
	s.Tables = []Table{t}
	if len(runs) == 1 {
		for _, l := range runs[0].Report.Lines() {
			if l.Name == "Load" || l.Name == "Network" {
				s.Text = append(s.Text, l.Name+": "+l.Text)
			}
		}
	}
	return s
}

func worstTable(runs []Run) Table {
	t := Table{Caption: "The requests furthest beyond a threshold, and those that took longest to fail", Folded: true, Words: []int{1, 2, 8},
		Head: []string{"start, UTC", "class", "outcome", "times the threshold", "ttft", "e2e", "output tokens", "attempts", "said"}}
	if len(runs) > 1 || runs[0].Name != "" {
		t.Head = append([]string{"run"}, t.Head...)
		t.Words = []int{1, 2, 3, 9}
	}
	value := func(w goodput.WorstRequest, m slo.Metric) string {
		if v, ok := w.Values[string(m)]; ok {
			return figure.Seconds(v)
		}
		return figure.Absent
	}
	count := func(n int) string {
		if n == 0 {
			return figure.Absent
		}
		return figure.Count(n)
	}
	for _, r := range runs {
		for _, w := range r.Report.Worst {
			said := clean(w.Detail)
			if len(w.Missed) > 0 {
				said = strings.TrimSuffix("missed "+clean(strings.Join(w.Missed, ", "))+"; "+said, "; ")
			}
			t.Rows = append(t.Rows, inFront(runs, r.Name, w.Start.UTC().Format("15:04:05.000"), clean(w.Class), w.Outcome.String(), figure.Number(w.Excess),
				value(w, slo.TTFT), value(w, slo.E2E), count(w.OutputTokens), count(w.Attempts), said))
		}
	}
	return t
}

func comparisonSection(c *curve.Comparison) Section {
	t := Table{Caption: "Means over the runs of each, and the difference", Head: []string{"figure", "A", "B", "B − A", figure.Percent(c.Confidence) + " interval", "more"}, Words: []int{5}}
	for _, d := range []curve.Difference{c.Goodput, c.TokenGoodput, c.Throughput, c.TokenThroughput} {
		ci := figure.Absent
		if !math.IsNaN(d.Lo) && !math.IsNaN(d.Hi) {
			ci = figure.Number(d.Lo) + " to " + figure.Number(d.Hi)
		}
		t.Rows = append(t.Rows, []string{d.Figure + ", " + d.Unit, figure.Number(d.A), figure.Number(d.B), figure.Number(d.Diff), ci, winner(d.Winner)})
	}
	return Section{Title: "Comparison", Text: []string{comparisonText(c) + fmt.Sprintf(" There were %d runs of A and %d of B.", c.RunsA, c.RunsB)}, Tables: []Table{t}}
}

// winner is one for people.
func winner(w curve.Winner) string {
	if w == curve.A || w == curve.B {
		return strings.ToUpper(string(w))
	}
	return string(w)
}

func comparisonText(c *curve.Comparison) string {
	g := c.Goodput
	means := fmt.Sprintf("%s requests/s of goodput for A, %s for B", figure.Number(g.A), figure.Number(g.B))
	switch c.Winner() {
	case curve.A, curve.B:
		return fmt.Sprintf("%s has the greater goodput: %s.", winner(c.Winner()), means)
	case curve.NoDifference:
		return "No difference in goodput is shown: " + means + "."
	}
	return "There are too few runs to tell which has the greater goodput: " + means + "."
}

// countedSection says by which SLO it was judged, and what is counted where.
func (d *Document) countedSection(runs []Run) Section {
	s := Section{Title: "SLO and how it was counted"}
	t := Table{Caption: "What was judged by", Head: []string{"class", "SLO", "name", "fingerprint"}, Words: []int{1, 2, 3}}
	add := func(class string, by slo.SLO, name, fingerprint string) {
		row := []string{class, by.String(), clean(name), clean(fingerprint)}
		if !slices.ContainsFunc(t.Rows, func(r []string) bool { return slices.Equal(r, row) }) {
			t.Rows = append(t.Rows, row)
		}
	}
	for _, r := range runs {
		if len(r.Report.Objectives) > 0 || len(r.Report.Classes) == 0 {
			add("all", r.Report.SLO, r.Report.SLOName, r.Report.Fingerprint)
			continue
		}
		add("any other", r.Report.SLO, r.Report.SLOName, r.Report.Fingerprint)
		for _, name := range slices.Sorted(maps.Keys(r.Report.Classes)) {
			c := r.Report.Classes[name]
			add(clean(name), c.SLO, c.SLOName, c.Fingerprint)
		}
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	for _, r := range runs {
		for _, l := range r.Report.Lines() {
			if l.Name == "Window" && len(runs) == 1 || l.Name == "Counted" {
				if said := l.Name + ": " + l.Text + "."; !slices.Contains(s.Text, said) {
					s.Text = append(s.Text, said)
				}
			}
		}
	}
	if len(runs) > 1 {
		w := Table{Caption: "The window of each", Folded: true, Head: []string{"of", "window"}, Words: []int{1}}
		for _, r := range runs {
			for _, l := range r.Report.Lines() {
				if l.Name == "Window" {
					w.Rows = append(w.Rows, []string{r.Name, l.Text})
				}
			}
		}
		s.Tables = append(s.Tables, w)
	}
	s.Text = append(s.Text, "“"+figure.Absent+"” is a number that there is not: it is never 0.")
	return s
}

// warningSection has every warning once, with what it is of.
func (d *Document) warningSection(runs, steps []Run) Section {
	s := Section{Title: "Warnings"}
	add := func(of string, all []error) {
		for _, w := range all {
			said := clean(w.Error())
			if of != "" {
				said = clean(of) + ": " + said
			}
			if !slices.Contains(s.Text, said) {
				s.Text = append(s.Text, said)
			}
		}
	}
	if d.Limit != nil {
		add("", d.Limit.Warnings)
	}
	if d.Curve != nil {
		add("", d.Curve.Warnings)
	}
	if d.Comparison != nil {
		add("", d.Comparison.Warnings)
	}
	for _, r := range steps {
		add("load "+r.Name, r.Report.Warnings)
	}
	for _, r := range runs {
		add(r.Name, r.Report.Warnings)
	}
	return s
}
