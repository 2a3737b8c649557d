package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// classed is an objective with the class that it is about, where that needs saying.
type classed struct {
	class string
	goodput.ObjectiveResult
}

// objectives are all that a report was judged by.
func objectives(r *goodput.Report) (all []classed) {
	for class, o := range r.AllObjectives() {
		all = append(all, classed{clean(class), o})
	}
	return all
}

const (
	maxCauses = 8   // told apart in a chart of what was lost; the table of one report has all
	maxPoints = 120 // of a time line, whose slices are added together until they are no more
)

// lostChart is throughput, split into goodput and what was lost to each cause.
func lostChart(runs []Run, of string) Chart {
	chart := Chart{Title: "Where throughput went", Stacked: true, Small: len(runs) < 4, X: Axis{Label: of, Unit: Category}, Y: Axis{Label: "requests/s", Unit: Number}}
	lost := map[string]uint64{}
	good := Series{Name: "good", Role: Good}
	worst, share := -1, -1.0
	for i, r := range runs {
		chart.At = append(chart.At, float64(i))
		chart.X.Names = append(chart.X.Names, r.Name)
		good.Values = append(good.Values, r.Report.GoodputRPS)
		for cause, n := range r.Report.Lost {
			lost[cause] += n
		}
		if f := r.Report.Flow; f.Ended > 0 && float64(f.Ended-f.Good)/float64(f.Ended) > share {
			worst, share = i, float64(f.Ended-f.Good)/float64(f.Ended)
		}
	}
	causes := figure.ByCount(lost)
	chart.Series = []Series{good}
	for i, cause := range causes[:min(len(causes), maxCauses)] {
		s := Series{Name: "lost: " + clean(cause)}
		rest := i == maxCauses-1 && len(causes) > maxCauses
		if rest {
			s.Name = "lost: all other causes"
		}
		for _, r := range runs {
			v := math.NaN()
			if !math.IsNaN(r.Report.ThroughputRPS) { // a cause that is not there has lost nothing
				v = r.Report.LostRPS[cause]
				for _, other := range causes[i+1:] {
					if rest {
						v += r.Report.LostRPS[other]
					}
				}
			}
			s.Values = append(s.Values, v)
		}
		chart.Series = append(chart.Series, s)
	}
	switch {
	case worst < 0:
		chart.Sentence = "Nothing ended, so there is no throughput to split."
	case share == 0:
		chart.Sentence = "Nothing was lost: all throughput is goodput."
	default:
		r := runs[worst].Report
		first := figure.ByCount(r.Lost)[0]
		chart.Sentence = fmt.Sprintf("%s of throughput was lost%s, most of it to %s (%s of %s requests).", figure.Share(share), at(runs[worst].Name, " at "),
			clean(first), figure.Count(r.Lost[first]), figure.Count(r.Flow.Ended))
	}
	return chart
}

// at is a name behind a preposition, where there is one.
func at(name, preposition string) string {
	if name == "" {
		return ""
	}
	return preposition + clean(name)
}

// distributionCharts are the percentiles of latencies: a line for each run.
func distributionCharts(runs []Run) (all []Chart) {
	metrics := []slo.Metric{slo.TTFT, slo.TPOT, slo.ITL, slo.E2E}
	for _, r := range runs {
		for _, o := range objectives(r.Report) {
			if m := o.Objective.Metric; !m.Population() && m != slo.Speed && !slices.Contains(metrics, m) {
				metrics = append(metrics, m)
			}
		}
	}
	for _, m := range metrics {
		if c, ok := distributionChart(runs, m); ok {
			all = append(all, c)
		}
	}
	return all
}

func distributionChart(runs []Run, m slo.Metric) (Chart, bool) {
	chart := Chart{Title: string(m) + " by percentile", X: Axis{Label: "percentile", Unit: Percentile}, Y: Axis{Label: string(m), Unit: unitOf(m)}, Small: true,
		At: []float64{0, 50, 90, 95, 99}}
	var shown []float64
	thousand := slices.ContainsFunc(runs, func(r Run) bool { d, ok := r.Report.Percentiles[string(m)]; return ok && !math.IsNaN(d.P999) })
	if thousand {
		chart.At = append(chart.At, 99.9)
	}
	said := []string{}
	for _, r := range runs {
		d, ok := r.Report.Percentiles[string(m)]
		if !ok || d.N == 0 {
			continue
		}
		s := Series{Name: cmp.Or(clean(r.Name), string(m))}
		if len(runs) > 4 {
			s.Role = Ramp
		}
		nan := math.NaN()
		s.Values, s.Lo, s.Hi = []float64{d.Min}, []float64{nan}, []float64{nan}
		for _, p := range percentiles[:len(chart.At)-1] {
			s.Values = append(s.Values, p.of(&d))
			lo, hi := nan, nan
			if ci, ok := d.CI95[p.key()]; ok {
				lo, hi = ci[0], ci[1]
			}
			s.Lo, s.Hi = append(s.Lo, lo), append(s.Hi, hi)
		}
		if len(runs) > 3 { // so many intervals would hide the lines
			s.Lo, s.Hi = nil, nil
		}
		shown = append(shown, s.Values...)
		chart.Series = append(chart.Series, s)
		said = append(said, fmt.Sprintf("%s P50, %s P99%s", text(chart.Y.Unit, d.P50), text(chart.Y.Unit, d.P99), at(r.Name, " at ")))
	}
	if len(chart.Series) == 0 {
		return chart, false
	}
	chart.Sentence = string(m) + ": " + said[0]
	if n := len(said); n > 1 {
		chart.Sentence += "; " + said[n-1]
		if n > 2 {
			chart.Sentence += fmt.Sprintf("; %d more between them in the table", n-2)
		}
	}
	for _, o := range objectivesOn(runs, m) {
		if o.Threshold.PerToken == 0 {
			chart.Points = append(chart.Points, Point{o.String(), float64(o.Percentile), o.Threshold.Limit})
			shown = append(shown, o.Threshold.Limit)
		}
	}
	chart.Sentence += "."
	if len(chart.Points) > 0 {
		var names []string
		for _, p := range chart.Points {
			names = append(names, p.Name)
		}
		chart.Sentence += " A diamond is the SLO: " + strings.Join(names, ", ") + "."
	}
	chart.Y.Log = spread(shown) >= 20
	return chart, true
}

// timelineChart is what a run did in the course of its time; false where it had none.
func timelineChart(r Run) (Chart, bool) {
	t := r.Report.Timeline
	if len(t.Slices) == 0 || t.Width <= 0 {
		return Chart{}, false
	}
	k := (len(t.Slices) + maxPoints - 1) / maxPoints
	width := t.Width.Seconds()
	title := "Time line"
	if r.Name != "" {
		title += ": " + clean(r.Name)
	}
	chart := Chart{Title: title, X: Axis{Label: "time since " + t.From.UTC().Format("15:04:05") + " UTC", Unit: Seconds}, Y: Axis{Label: "requests/s", Unit: Number},
		Series: []Series{{Name: "offered", Role: Offered, Dashed: true, Steps: true}, {Name: "throughput", Role: Throughput, Steps: true}, {Name: "goodput", Role: Good, Steps: true}}}
	from, to := r.Report.Window.From.Sub(t.From).Seconds(), r.Report.Window.To.Sub(t.From).Seconds()
	least, most := math.NaN(), math.NaN()
	for i := 0; i < len(t.Slices); i += k {
		part := t.Slices[i:min(i+k, len(t.Slices))]
		var sum goodput.Slice
		for _, s := range part {
			sum.Offered, sum.Ended, sum.Good = sum.Offered+s.Offered, sum.Ended+s.Ended, sum.Good+s.Good
		}
		begin, length := float64(i)*width, float64(len(part))*width
		chart.At = append(chart.At, begin)
		for j, n := range []uint64{sum.Offered, sum.Ended, sum.Good} {
			chart.Series[j].Values = append(chart.Series[j].Values, float64(n)/length)
		}
		if v := float64(sum.Good) / length; begin >= from && begin+length <= to {
			if !(v >= least) {
				least = v
			}
			if !(v <= most) {
				most = v
			}
		}
	}
	end := float64(len(t.Slices)) * width
	if r.Report.Window.Kind == goodput.SteadyState {
		if from > 0 {
			chart.Bands = append(chart.Bands, Band{Name: "before the window", From: 0, To: min(from, end)})
		}
		if !r.Report.Window.Open && to < end {
			chart.Bands = append(chart.Bands, Band{Name: "after the window", From: max(to, 0), To: end})
		}
	}
	// A step line ends where its last slice does.
	chart.At = append(chart.At, end)
	for j := range chart.Series {
		chart.Series[j].Values = append(chart.Series[j].Values, math.NaN())
	}
	chart.Sentence = fmt.Sprintf("Slices of %s", figure.Seconds(float64(k)*width))
	if !math.IsNaN(least) {
		chart.Sentence += fmt.Sprintf(": in the window goodput was from %s to %s requests/s", figure.Number(least), figure.Number(most))
		if !math.IsNaN(r.Report.GoodputRPS) {
			chart.Sentence += fmt.Sprintf(", %s on average", figure.Number(r.Report.GoodputRPS))
		}
	}
	chart.Sentence += "."
	return chart, true
}
