package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goodputkit/goodputkit/goodput"
)

// compare says in a sentence what reports, in the order of load, show: what the highest load did to throughput and to
// goodput, compared with the load at which goodput was best.
func compare(reports []*goodput.Report) string {
	if len(reports) < 2 {
		return "One load shows no curve: give several."
	}
	for _, r := range reports {
		if r.Health != nil && r.Health.Verdict == goodput.Invalid {
			return "This machine was too busy to make the load that was asked for, so the reports show nothing of the engine and there is nothing to compare."
		}
	}
	last := reports[len(reports)-1]
	best := reports[0]
	for _, r := range reports[:len(reports)-1] {
		if r.GoodputRPS > best.GoodputRPS {
			best = r
		}
	}
	figure := inOneForm(last.OfferedRPS, last.ThroughputRPS)
	from := fmt.Sprintf("From %s to %s requests/s offered, throughput %s and goodput %s", figure(best.OfferedRPS), figure(last.OfferedRPS),
		change(figure, best.ThroughputRPS, last.ThroughputRPS), change(figure, best.GoodputRPS, last.GoodputRPS))
	switch up, down := last.ThroughputRPS > best.ThroughputRPS, last.GoodputRPS < best.GoodputRPS; {
	case up && down:
		return from + ": the engine does more work, and its users get less of it in time."
	case down:
		return from + ": past its limit the engine does less of both."
	case up:
		return from + ": at these loads the engine is not past its limit."
	}
	return from + "."
}

// inOneForm writes rates with as many decimals as give the greatest of those three digits, as a report does.
func inOneForm(rates ...float64) func(float64) string {
	decimals := 0
	if most := slices.Max(rates); most > 0 && !math.IsInf(most, 0) {
		decimals = max(0, 2-int(math.Floor(math.Log10(most))))
	}
	return func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
}

// change is from what to what, and by how much.
func change(figure func(float64) string, from, to float64) string {
	verb := "stays at"
	switch {
	case to > from:
		verb = "rises"
	case to < from:
		verb = "falls"
	default:
		return verb + " " + figure(to)
	}
	if from == 0 || math.IsNaN(from) || math.IsNaN(to) {
		return fmt.Sprintf("%s from %s to %s", verb, figure(from), figure(to))
	}
	return fmt.Sprintf("%s from %s to %s (%+.0f %%)", verb, figure(from), figure(to), 100*(to-from)/from)
}

// wrap breaks a sentence into lines as wide as a report's.
func wrap(text string) string {
	const width = 100
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch n := utf8.RuneCountInString(word); {
		case column == 0:
			column = n
		case column+1+n > width:
			b.WriteByte('\n')
			column = n
		default:
			b.WriteByte(' ')
			column += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}
