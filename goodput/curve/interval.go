package curve

import (
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
)

// WidestInterval is the widest that the interval of a limit may be, as a share of the limit, for the limit to stand alone: a
// wider one is shown in its place. With the default head-room of a fifth, a recommended load lies below every interval that is not wide and
// has the limit in its middle.
const WidestInterval = 0.20

// Wide reports whether an interval from lo to hi, as a search finds it for a limit, is wider than WidestInterval × limit. One that is
// not bounded, 0 or +Inf, is wide.
func Wide(limit, lo, hi float64) bool { return !(lo > 0 && hi-lo <= WidestInterval*limit) }

// NoVerdict says at which of the points' loads above one there is no verdict, and why: "no verdict at 60/s, 80/s (the client was not
// sound)". It is "" where the SLO is met or missed at all of them. Points are in the order of their loads.
func (a Axis) NoVerdict(points []Point, above float64) string {
	var client, unclear []string
	for _, p := range points {
		of, h := &unclear, p.Report.Health
		switch {
		case !(p.Load > above):
			continue
		case h != nil && h.Verdict == goodput.Invalid:
			of = &client
		case p.Report.Verdict == goodput.Met || p.Report.Verdict == goodput.Missed:
			continue
		}
		if load := a.Text(p.Load); !slices.Contains(*of, load) {
			*of = append(*of, load)
		}
	}
	var said []string
	if len(client) > 0 {
		said = append(said, "no verdict at "+strings.Join(client, ", ")+" (the client was not sound)")
	}
	if len(unclear) > 0 {
		said = append(said, "no verdict at "+strings.Join(unclear, ", ")+" (inconclusive)")
	}
	return strings.Join(said, ", ")
}
