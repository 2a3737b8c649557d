package goodput

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// textWidth is how many columns a report takes at most, as far as texts can be broken.
const textWidth = 100

// String is the report as a table for people, at most about 100 columns wide: first what is wrong with the client, if
// anything is, then whether the SLO is met and what goodput was; below it the objectives, throughput beside goodput and
// where the difference went, the books, the latencies and lengths, the classes, how it was counted, and the warnings.
// "–" is a number that there is not. Below the percentiles stand the intervals of those that an objective is about, and of
// those that are a bracket more than a figure, because they lie in a gap of the data or are of few values. The JSON has
// more: see the fields of Report.
func (r Report) String() string {
	sections := []string{r.textHead(), r.textObjectives(), r.textRates(), r.textBooks(), r.textPercentiles(), r.textClasses(),
		r.textCounted(), r.textWarnings()}
	sections = slices.DeleteFunc(sections, func(s string) bool { return s == "" })
	return strings.Join(sections, "\n")
}

// Line is something that a report says in words, under a name: "Goodput", "7.1 of 31.9 requests/s (22.1% of throughput)".
type Line struct{ Name, Text string }

// Lines are what String says in words, beside its tables: the verdict and the SLO under "SLO", then Goodput and Attainment, the
// Window, how it was Counted, what it was "Judged by", and the Load, the Client and the Network as far as they are known. They are
// for whoever shows a report in another form. Texts have no line breaks, and nothing in them that does not print.
func (r Report) Lines() []Line { return append(r.headLines(), r.countedLines()...) }

// label is the beginning of a line that is no table.
func label(name string) string { return fmt.Sprintf("%-12s", name) }

func clean(s string) string { return figure.Clean(s, textWidth) }

// textHead is what a reader sees first.
func (r *Report) textHead() string {
	var b strings.Builder
	if !r.Health.Sound() {
		what := "the client may have had a part in these figures"
		if r.Health.Verdict == Invalid {
			what = "these figures show the client, not the server"
		}
		b.WriteString(clean(fmt.Sprintf("CLIENT %s: %s", strings.ToUpper(string(r.Health.Verdict)), what)) + "\n")
		for _, reason := range r.Health.Reasons {
			b.WriteString(figure.Wrap("  - ", figure.Clean(reason, 1000), textWidth))
		}
		b.WriteByte('\n')
	}
	for _, l := range r.headLines() {
		b.WriteString(figure.Wrap(label(l.Name), l.Text, textWidth))
	}
	return b.String()
}

// headLines are the first lines of a report.
func (r *Report) headLines() (lines []Line) {
	if r.Class != "" {
		lines = append(lines, Line{"Class", clean(r.Class)})
	}
	return append(lines, Line{"SLO", r.verdictText() + ": " + r.sloText()}, Line{"Goodput", r.goodputText()}, Line{"Attainment", r.attainmentText()})
}

func (r *Report) verdictText() string {
	v := strings.ToUpper(clean(string(r.Verdict)))
	if v == "" {
		v = "NOT JUDGED"
	}
	if r.Verdict != Inconclusive {
		return v
	}
	if r.Undecided > 0 {
		return fmt.Sprintf("%s (%s were cut off undecided)", v, figure.Count(r.Undecided)+" requests")
	}
	for _, o := range r.AllObjectives() {
		if !o.Holds {
			return v + " (the sample misses it)"
		}
	}
	return v + " (the sample holds it)"
}

func (r *Report) sloText() string {
	if r.bySLOs() {
		return "each class by its own, any other by " + r.SLO.String()
	}
	return r.SLO.String()
}

// bySLOs reports whether the classes have SLOs of their own.
func (r *Report) bySLOs() bool { return len(r.Objectives) == 0 && len(r.Classes) > 0 }

func (r *Report) goodputText() string {
	if math.IsNaN(r.GoodputRPS) {
		return figure.Absent + " (the window has no length)"
	}
	of := func(v, all float64, unit string) string {
		d := figure.Decimals(all, 3)
		return figure.Fixed(v, d) + " of " + figure.Fixed(all, d) + " " + unit
	}
	text := of(r.GoodputRPS, r.ThroughputRPS, "requests/s")
	if r.Flow.Ended > 0 && r.Flow.Success == 0 {
		return text + ": no request succeeded, " + r.failuresText()
	}
	if r.Flow.Ended > 0 {
		text += " (" + figure.Share(float64(r.Flow.Good)/float64(r.Flow.Ended)) + " of throughput" + r.mainLossText() + ")"
	}
	if r.OutputTPS > 0 {
		text += ", " + of(r.TokenGoodputTPS, r.OutputTPS, "output tokens/s")
	}
	return text
}

// mainLossText names the failure that most of the lost requests were lost to, where they were not lost to lateness.
func (r *Report) mainLossText() string {
	causes := figure.ByCount(r.Lost)
	if len(causes) == 0 || 2*r.Lost[causes[0]] <= r.Flow.Ended-r.Flow.Good {
		return ""
	}
	if o := r.commonest(); o == 0 || o.String() != causes[0] {
		return ""
	}
	return ", most lost to " + causes[0]
}

// failuresText is what requests ended with where none of them succeeded: the most frequent outcomes, and what was said of
// one with the first.
func (r *Report) failuresText() string {
	const most = 3
	var parts []string
	for i, cause := range figure.ByCount(r.Lost) {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, figure.Count(r.Lost[cause])+" "+figure.Clean(cause, 50))
	}
	text := strings.Join(parts, ", ")
	if detail := r.detailOf(r.commonest()); detail != "" {
		text += "; for one, " + detail
	}
	return text
}

// commonest is the outcome other than success of most of the cohort; 0: there is none.
func (r *Report) commonest() (most Outcome) {
	for _, o := range Outcomes() {
		if o != Success && r.Outcomes[o] > r.Outcomes[most] {
			most = o
		}
	}
	return most
}

func (r *Report) attainmentText() string {
	if r.Offered == 0 {
		return figure.Absent + " (no request started in the window)"
	}
	text := fmt.Sprintf("%s of %s requests were good", figure.Share(r.Attainment), figure.Count(r.Offered))
	if math.IsNaN(r.AttainmentCI[0]) {
		text += " (too much alike for an interval"
		for _, o := range r.Objectives {
			if o.Verdict == Missed && math.IsNaN(o.CI[0]) {
				return text + "; " + o.Objective.String() + " is missed by far all the same)"
			}
		}
		return text + ")"
	}
	return fmt.Sprintf("%s (%s interval %s)", text, figure.Percent(r.Confidence), figure.Interval(r.AttainmentCI))
}

func (r *Report) textObjectives() string {
	t := figure.Table{Left: map[int]bool{1: true, 7: true}}
	class := ""
	if r.bySLOs() {
		class = "Class"
	}
	t.Row("Objective", class, "share", "target", figure.Percent(r.Confidence)+" interval", "late", "sample", "verdict")
	for class, o := range r.AllObjectives() {
		t.Row(slices.Insert(o.Row(), 1, figure.Clean(class, 16))...)
	}
	if t.Rows() == 1 {
		return ""
	}
	return t.String()
}

// Row is the result for a table: the objective, its share, its target, the share's interval, how many were late, "holds" or "misses"
// of the sample, and the verdict.
func (o ObjectiveResult) Row() []string {
	sign, late, sample := "≥ ", figure.Count(o.Missed), "misses"
	if o.Objective.Metric == slo.ErrorRate {
		sign = "≤ "
	}
	if o.Objective.Metric.Population() {
		late = ""
	}
	switch {
	case o.N == 0:
		sample = figure.Absent
	case o.Holds:
		sample = "holds"
	}
	return []string{o.Objective.String(), figure.Share(o.Share, o.Target), sign + figure.Percent(o.Target), figure.Interval(o.CI, o.Target),
		late, sample, figure.Clean(string(o.Verdict), 20)}
}

// textRates is throughput beside goodput and what was lost between them. The columns add up: their numbers have equally
// many decimals.
func (r *Report) textRates() string {
	f := &r.Flow
	lost, lostOutput := f.Ended-f.Good, f.OutputTokens-f.GoodOutputTokens
	lostTotal := lostOutput + f.InputTokens - f.GoodInputTokens
	decimals := figure.Decimals(max(r.ThroughputRPS, r.OfferedRPS), 4)
	tokenDecimals := figure.Decimals(r.TotalTPS, 4)
	rps := func(v float64) string { return figure.Fixed(v, decimals) }
	tps := func(v float64) string {
		if f.InputTokens+f.OutputTokens == 0 {
			return ""
		}
		return figure.Fixed(v, tokenDecimals)
	}
	share := func(n uint64) string {
		if f.Ended == 0 {
			return ""
		}
		return figure.Share(float64(n) / float64(f.Ended))
	}
	var t figure.Table
	t.Row("Rates", "requests", "requests/s", "of throughput", "output tokens/s", "total tokens/s")
	t.Row("offered", figure.Count(r.Offered), rps(r.OfferedRPS))
	if r.drained() {
		t.Row("  arrival rate", "", rps(r.ArrivalRPS))
	}
	t.Row("throughput", figure.Count(f.Ended), rps(r.ThroughputRPS), share(f.Ended), tps(r.OutputTPS), tps(r.TotalTPS))
	t.Row("success", figure.Count(f.Success), rps(r.SuccessRPS), share(f.Success))
	t.Row("goodput", figure.Count(f.Good), rps(r.GoodputRPS), share(f.Good), tps(r.TokenGoodputTPS), tps(r.TotalGoodputTPS))
	t.Row("lost", figure.Count(lost), rps(r.perSecond(lost)), share(lost), tps(r.perSecond(lostOutput)), tps(r.perSecond(lostTotal)))
	for _, cause := range figure.ByCount(r.Lost) {
		t.Row("  "+figure.Clean(cause, 50), figure.Count(r.Lost[cause]), rps(r.LostRPS[cause]), share(r.Lost[cause]))
	}
	if f.Dropped > 0 {
		t.Row("dropped", figure.Count(f.Dropped), rps(r.DroppedRPS))
	}
	if f.Unfinished > 0 {
		t.Row("unfinished", figure.Count(f.Unfinished), rps(r.UnfinishedRPS))
	}
	return t.String()
}

// drained reports whether requests arrived faster, by a twentieth, than they were offered over the window, which goes on after the
// last of them. In a closed loop they arrive as the system lets them.
func (r *Report) drained() bool {
	return r.ArrivalRPS > 1.05*r.OfferedRPS && !(r.Health != nil && r.Health.Load != nil && r.Health.Load.Closed)
}

func (r *Report) perSecond(n uint64) float64 {
	if !(r.WindowS > 0) {
		return math.NaN()
	}
	return float64(n) / r.WindowS
}

// textBooks closes the books of the cohort.
func (r *Report) textBooks() string {
	if r.Offered == 0 {
		return ""
	}
	books := []string{figure.Count(r.Offered) + " offered", "= " + figure.Count(r.Good) + " good", "+ " + figure.Count(r.Late) + " late"}
	for _, o := range Outcomes() {
		if n := r.Outcomes[o]; o != Success && n > 0 {
			books = append(books, "+ "+figure.Count(n)+" "+o.String())
		}
	}
	text := figure.WrapWords(label("Requests"), books, textWidth)
	for _, o := range Outcomes() {
		if detail := r.detailOf(o); r.Outcomes[o] > 0 && detail != "" {
			text += figure.Wrap(label(""), "for one, "+o.String()+": "+detail, textWidth)
		}
	}
	if r.Undecided > 0 {
		text += figure.Wrap(label("Undecided"), fmt.Sprintf("%s of the unfinished could still have become good: attainment is %s",
			figure.Count(r.Undecided), figure.Interval(r.AttainmentBounds)), textWidth)
	}
	if r.Notes.Limits > 0 {
		text += figure.Wrap(label("Own limits"), fmt.Sprintf("%s requests were judged by thresholds that they brought along",
			figure.Count(r.Notes.Limits)), textWidth)
	}
	return text
}

// detailOf is what one of the worst requests with that outcome said of it.
func (r *Report) detailOf(o Outcome) string {
	for _, w := range r.Worst {
		if w.Outcome == o && w.Detail != "" {
			return clean(w.Detail)
		}
	}
	return ""
}

// twins are what a metric is compared with: where all its figures are the same, it says nothing of its own.
var twins = map[slo.Metric]slo.Metric{slo.TTFO: slo.TTFT, slo.ServiceTTFT: slo.TTFT, slo.ServiceE2E: slo.E2E}

// textPercentiles are the latencies, the lengths and the caller's own metrics.
func (r *Report) textPercentiles() string {
	var latencies, own []string
	for _, m := range []slo.Metric{slo.TTFT, slo.TTFO, slo.TPOT, slo.ITL, slo.E2E, slo.ServiceTTFT, slo.ServiceE2E, slo.Lag, slo.Speed} {
		if twin, ok := twins[m]; !ok || !r.sameFigures(m, twin) {
			latencies = append(latencies, string(m))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Percentiles)) {
		if slo.Metric(name).Custom() {
			own = append(own, name)
		}
	}
	t := percentileTable{report: r}
	t.rows("Latency", latencies, func(name string, v float64) string {
		if name == string(slo.Speed) && !math.IsNaN(v) {
			return figure.Number(v) + " tok/s"
		}
		return figure.Seconds(v)
	})
	number := func(_ string, v float64) string { return figure.Number(v) }
	t.rows("Length", []string{"input_tokens", "output_tokens"}, number)
	t.rows("Measured", own, number)
	return t.String() + t.notes()
}

// sameFigures reports whether the distributions of two metrics print alike.
func (r *Report) sameFigures(a, b slo.Metric) bool {
	x, y := r.Percentiles[string(a)], r.Percentiles[string(b)]
	same := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	return x.N == y.N && same(x.P50, y.P50) && same(x.P90, y.P90) && same(x.P95, y.P95) && same(x.P99, y.P99) && same(x.P999, y.P999) &&
		same(x.Max, y.Max)
}

func (r *Report) textClasses() string {
	if len(r.Classes) == 0 || len(r.Classes) == 1 && r.Classes[slo.DefaultClass] != nil {
		return ""
	}
	var t figure.Table
	t.Left = map[int]bool{1: true}
	t.Row("Class", "verdict", "offered", "attainment", "throughput/s", "goodput/s", "ttft P95", "e2e P95")
	for _, name := range slices.Sorted(maps.Keys(r.Classes)) {
		c := r.Classes[name]
		p95 := func(m slo.Metric) string {
			d, ok := c.Percentiles[string(m)]
			if !ok {
				return figure.Absent
			}
			return figure.Seconds(d.P95)
		}
		decimals := figure.Decimals(r.ThroughputRPS, 4)
		t.Row(figure.Clean(name, 20), figure.Clean(string(c.Verdict), 20), figure.Count(c.Offered), figure.Share(c.Attainment),
			figure.Fixed(c.ThroughputRPS, decimals), figure.Fixed(c.GoodputRPS, decimals), p95(slo.TTFT), p95(slo.E2E))
	}
	return t.String()
}

// textCounted says what the figures are of.
func (r *Report) textCounted() (text string) {
	for _, l := range r.countedLines() {
		text += figure.Wrap(label(l.Name), l.Text, textWidth)
	}
	return text
}

func (r *Report) countedLines() []Line {
	w := r.Window
	when := clean(string(w.Kind))
	if !w.From.IsZero() {
		const layout = "2006-01-02 15:04:05.000"
		when += fmt.Sprintf(", %s: %s to %s UTC", figure.Seconds(r.WindowS), w.From.UTC().Format(layout), w.To.UTC().Format(layout))
		switch {
		case w.Open:
			when += ", and not over"
		case !w.ToIncluded:
			when += ", its end not included"
		}
		if w.WarmupS > 0 {
			when += ", after a warm-up of " + figure.Seconds(w.WarmupS)
		}
	}
	counted := "attainment, objectives and percentiles over what started in the window, rates over what ended in it; percentiles are of successes alone"
	if r.drained() {
		counted += "; the arrival rate is over the time from the first start to the last"
	}
	name := ""
	if r.SLOName != "" {
		name = figure.Clean(r.SLOName, 60) + ", "
	}
	lines := []Line{{"Window", when}, {"Counted", counted}, {"Judged by", "SLO " + name + "fingerprint " + figure.Clean(r.Fingerprint, 20)}}
	if r.Class == "" {
		if r.Health != nil && r.Health.Load != nil {
			lines = append(lines, Line{"Load", r.Health.Load.text()})
		}
		lines = append(lines, Line{"Client", r.clientText()})
		if r.Health != nil && r.Health.Network != nil {
			lines = append(lines, Line{"Network", r.Health.Network.text()})
		}
	}
	return lines
}

func (r *Report) clientText() string {
	h := r.Health
	if h == nil {
		return "not measured"
	}
	text := fmt.Sprintf("%s of %s requests sent", figure.Count(h.Sent), figure.Count(h.Offered))
	if h.Verdict != "" {
		text = clean(string(h.Verdict)) + "; " + text
	}
	if h.Sent > 0 {
		text += fmt.Sprintf("; its own lag %s (P50), %s (P99), %s at most", figure.Seconds(h.LagP50), figure.Seconds(h.LagP99), figure.Seconds(h.LagMax))
	}
	if f := h.InFlight; f != nil && f.Asked > 0 {
		text += fmt.Sprintf("; %s of %d in flight", figure.Number(f.Achieved), f.Asked)
	}
	if h.Retried > 0 {
		text += fmt.Sprintf("; %s repeated on a new connection", figure.Count(h.Retried))
	}
	return text
}

func (r *Report) textWarnings() string {
	if len(r.Warnings) == 0 {
		return ""
	}
	text := "Warnings\n"
	var said []string
	for _, w := range r.Warnings {
		if line := figure.Wrap("  - ", figure.Clean(w.Error(), 1000), textWidth); !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return text + strings.Join(said, "")
}
