package main

import (
	"fmt"
	"math"

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
	from := fmt.Sprintf("From %.3g to %.3g requests/s offered, throughput %s and goodput %s", best.OfferedRPS, last.OfferedRPS,
		change(best.ThroughputRPS, last.ThroughputRPS), change(best.GoodputRPS, last.GoodputRPS))
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

// change is from what to what, and by how much.
func change(from, to float64) string {
	verb := "stays at"
	switch {
	case to > from:
		verb = "rises"
	case to < from:
		verb = "falls"
	default:
		return fmt.Sprintf("%s %.3g", verb, to)
	}
	if from == 0 || math.IsNaN(from) || math.IsNaN(to) {
		return fmt.Sprintf("%s from %.3g to %.3g", verb, from, to)
	}
	return fmt.Sprintf("%s from %.3g to %.3g (%+.0f %%)", verb, from, to, 100*(to-from)/from)
}
