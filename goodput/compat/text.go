package compat

import (
	"fmt"
	"math"
	"strings"

	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

const textWidth = 100

// short are the heads of columns.
var short = map[Tool]string{"": "goodput", VLLM: "vLLM", AIPerf: "AIPerf", GuideLLM: "GuideLLM", InferencePerf: "inference-perf", DistServe: "DistServe", MLPerf: "MLPerf"}

// Table is the figures side by side: a row of heads, then one for each figure, with "–" for one that a tool does not have.
func (c Comparison) Table() [][]string {
	all := append([]Score{c.Ours}, c.Scores...)
	rows := [][]string{{""}}
	for _, s := range all {
		rows[0] = append(rows[0], short[s.Tool])
	}
	add := func(name string, of func(s *Score) string) {
		row := []string{name}
		for i := range all {
			row = append(row, of(&all[i]))
		}
		rows = append(rows, row)
	}
	add("requests judged", func(s *Score) string { return figure.Count(s.Requests) })
	add("completed", func(s *Score) string { return figure.Count(s.Completed) })
	add("failed", func(s *Score) string {
		if s.Tool == DistServe || s.Tool == MLPerf {
			return figure.Absent
		}
		return figure.Count(s.Failed)
	})
	add("good", func(s *Score) string {
		if math.IsNaN(s.Attainment) {
			return figure.Absent
		}
		return figure.Count(s.Good)
	})
	add("attainment", func(s *Score) string { return figure.Share(s.Attainment) })
	add("valid", func(s *Score) string {
		switch {
		case s.Server == nil:
			return ""
		case s.Server.Valid():
			return "yes"
		}
		return "no"
	})
	add("duration", func(s *Score) string { return figure.Seconds(s.DurationS) })
	rate := func(v float64) string { return figure.Fixed(v, figure.Decimals(v, 4)) }
	add("completed/s", func(s *Score) string { return rate(s.ThroughputRPS) })
	add("goodput/s", func(s *Score) string { return rate(s.GoodputRPS) })
	add("output tok/s", func(s *Score) string { return rate(s.OutputTPS) })
	for _, m := range []struct {
		name slo.Metric
		of   func(s *Score) Distribution
	}{
		{slo.TTFT, func(s *Score) Distribution { return s.TTFT }}, {slo.TPOT, func(s *Score) Distribution { return s.TPOT }},
		{slo.ITL, func(s *Score) Distribution { return s.ITL }}, {slo.E2E, func(s *Score) Distribution { return s.E2E }},
	} {
		seen := false
		for i := range all {
			seen = seen || m.of(&all[i]).N > 0
		}
		if !seen {
			continue
		}
		add(string(m.name)+" P50", func(s *Score) string { return figure.Seconds(m.of(s).P50) })
		add(string(m.name)+" P95", func(s *Score) string { return figure.Seconds(m.of(s).P95) })
		add(string(m.name)+" P99", func(s *Score) string { return figure.Seconds(m.of(s).P99) })
	}
	return rows
}

// String is the comparison for people: the SLO, the table, what makes the differences of each tool, and the warnings.
func (c Comparison) String() string {
	var b strings.Builder
	b.WriteString(figure.Wrap("SLO  ", c.SLO.String(), textWidth) + "\n")
	var t figure.Table
	for _, row := range c.Table() {
		t.Row(row...)
	}
	b.WriteString(t.String())
	for _, s := range c.Scores {
		fmt.Fprintf(&b, "\n%s\n", s.Tool)
		for _, d := range s.Differences {
			b.WriteString(figure.Wrap("  - ", d.String(), textWidth))
		}
		if len(s.Differences) == 0 {
			b.WriteString("  - no difference\n")
		}
	}
	if len(c.Warnings) > 0 {
		b.WriteString("\nWarnings\n")
		for _, w := range c.Warnings {
			b.WriteString(figure.Wrap("  - ", figure.Clean(w.Error(), 1000), textWidth))
		}
	}
	return b.String()
}

// Markdown is the same as a table and lists, for a pull request.
func (c Comparison) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "SLO: `%s`\n\n", c.SLO)
	for i, row := range c.Table() {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|---:", len(row)-1) + "|\n")
		}
	}
	for _, s := range c.Scores {
		fmt.Fprintf(&b, "\n**%s**\n\n", s.Tool)
		for _, d := range s.Differences {
			b.WriteString("- " + markdown(d.String()) + "\n")
		}
		if len(s.Differences) == 0 {
			b.WriteString("- no difference\n")
		}
	}
	if len(c.Warnings) > 0 {
		b.WriteString("\n**Warnings**\n\n")
		for _, w := range c.Warnings {
			b.WriteString("- " + markdown(figure.Clean(w.Error(), 1000)) + "\n")
		}
	}
	return b.String()
}

// markdown keeps what a text from outside has in it from being read as Markdown.
func markdown(s string) string {
	return strings.NewReplacer("<", "&lt;", "*", "\\*", "_", "\\_", "`", "\\`", "|", "\\|", "[", "\\[").Replace(s)
}
