package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/internal/figure"
)

// tone is how a verdict looks.
type tone string

const (
	fine  tone = "met"
	wrong tone = "missed"
	open  tone = "open"
	plain tone = "plain"
)

// card is what a reader sees first: a verdict, one figure, and what stands behind it.
type card struct {
	Name   string // of the run; "" where there is one
	Badge  string // the verdict in capitals
	Tone   tone
	Figure string // the figure that counts
	Unit   string
	Lines  []goodput.Line
	Alarm  []string // why the client's figures are not to be believed; nil: nothing is known against it
	Alarms string   // what that means
}

// cards are the head of a document: of what was found over all, and then of each run.
func (d *Document) cards() (all []card) {
	switch {
	case d.Limit != nil:
		all = append(all, d.limitCard())
	case d.Curve != nil:
		all = append(all, d.curveCard())
	}
	if d.Comparison != nil {
		all = append(all, comparisonCard(d.Comparison))
	}
	for _, r := range d.runs() {
		all = append(all, runCard(r))
	}
	return all
}

// limitCard is the limit as a search found it, and what else the curve through its probes has to say.
func (d *Document) limitCard() card {
	l := d.Limit
	c := card{Tone: plain, Unit: "requests/s", Badge: "GOODPUT LIMIT"}
	interval := func() string {
		of := figure.Percent(l.Confidence) + " interval "
		switch {
		case l.Lo > 0 && !math.IsInf(l.Hi, 0):
			return of + figure.Number(l.Lo) + " to " + figure.Number(l.Hi) + " requests/s"
		case l.Lo > 0:
			return of + figure.Number(l.Lo) + " requests/s or more"
		case !math.IsInf(l.Hi, 0):
			return of + figure.Number(l.Hi) + " requests/s or less"
		}
		return "no interval is known"
	}
	switch {
	case l.State == "found" && !math.IsNaN(l.Rate):
		c.Figure, c.Tone = figure.Number(l.Rate), fine
		said := "the highest rate at which the SLO is met is " + figure.Number(l.Rate) + " requests/s, " + interval()
		if curve.Wide(l.Rate, l.Lo, l.Hi) {
			c.Figure, c.Tone = l.between(), open
			said += ": too wide for that figure to stand alone"
		}
		c.Lines = append(c.Lines, goodput.Line{Name: "Searched", Text: said})
	case l.State == "at least" && l.Lo > 0:
		c.Figure, c.Tone = "≥ "+figure.Number(l.Lo), open
		c.Lines = append(c.Lines, goodput.Line{Name: "Searched", Text: "the SLO is met at " + figure.Number(l.Lo) + " requests/s, and " + d.above(l.Lo)})
	case l.State == "never met" && !math.IsInf(l.Hi, 0):
		c.Figure, c.Tone = "< "+figure.Number(l.Hi), wrong
		c.Lines = append(c.Lines, goodput.Line{Name: "Searched", Text: "the SLO is missed at " + figure.Number(l.Hi) + " requests/s, the lowest rate that was tried"})
	default:
		c.Figure, c.Tone = l.between(), open
		c.Lines = append(c.Lines, goodput.Line{Name: "Searched", Text: "the probes do not show where the limit is: they want a longer Duration"})
	}
	if !math.IsNaN(l.Recommended) && l.Recommended > 0 {
		why := "the goodput limit less " + figure.Percent(l.Headroom)
		if l.Recommended == l.Lo && l.Recommended < l.Rate*(1-l.Headroom) {
			why = "the lower bound of the interval, which is less than " + why
		}
		c.Lines = append(c.Lines, goodput.Line{Name: "Recommended", Text: figure.Number(l.Recommended) + " requests/s: " + why})
	}
	if d.Curve == nil {
		return c
	}
	for _, l := range d.Curve.Lines() {
		switch l.Name {
		case "SLO":
			c.Lines = append([]goodput.Line{l}, c.Lines...)
		case "Raw limit", "Success limit", "Goodput peak", "Falls":
			c.Lines = append(c.Lines, l)
		}
	}
	c.Alarm, c.Alarms = d.curveAlarm()
	return c
}

// above says why a limit is no more than at least a rate.
func (d *Document) above(rate float64) string {
	if d.Curve != nil {
		if none := d.Curve.Axis.NoVerdict(d.Curve.Points, rate); none != "" {
			return "above it there is " + none
		}
	}
	return "was missed at no rate that could be tried"
}

// between is where the limit lies, as far as that is known.
func (l *Limit) between() string {
	below := l.Hi > 0 && !math.IsInf(l.Hi, 0)
	switch {
	case l.Lo > 0 && below:
		return figure.Number(l.Lo) + " to " + figure.Number(l.Hi)
	case l.Lo > 0:
		return "≥ " + figure.Number(l.Lo)
	case below:
		return "< " + figure.Number(l.Hi)
	}
	return figure.Absent
}

// curveCard is the limit as the curve has it.
func (d *Document) curveCard() card {
	c := card{Badge: "GOODPUT LIMIT", Tone: open, Figure: figure.Absent, Lines: d.Curve.Lines()}
	c.Unit = "requests/s"
	if d.Curve.Axis == curve.Concurrency {
		c.Unit = "workers"
	}
	x := d.Curve.Limit
	switch x.State {
	case curve.Crosses:
		c.Figure, c.Tone = figure.Number(x.Load), fine
	case curve.AtLeast:
		c.Figure = "≥ " + figure.Number(x.Lo)
	case curve.Below:
		c.Figure, c.Tone = "< "+figure.Number(x.Hi), wrong
	}
	c.Alarm, c.Alarms = d.curveAlarm()
	return c
}

// curveAlarm is at which loads the client was not sound, and why.
func (d *Document) curveAlarm() (all []string, what string) {
	for i, p := range d.Curve.Points {
		if h := p.Report.Health; !h.Sound() {
			why := string(h.Verdict)
			if len(h.Reasons) > 0 {
				why += ": " + strings.Join(h.Reasons, "; ")
			}
			all = append(all, clean("load "+d.steps()[i].Name+" "+why))
		}
	}
	return all, "at some loads the client may have had a part in these figures"
}

func comparisonCard(x *curve.Comparison) card {
	c := card{Tone: plain, Badge: strings.ToUpper(string(x.Winner())), Unit: "requests/s, B − A",
		Lines: []goodput.Line{{Name: "Comparison", Text: comparisonText(x)}}}
	if w := x.Winner(); w == curve.A || w == curve.B {
		c.Badge = "GREATER GOODPUT: " + c.Badge
	}
	c.Figure = figure.Number(x.Goodput.Diff)
	if x.Goodput.Diff > 0 {
		c.Figure = "+" + c.Figure
	}
	return c
}

func runCard(r Run) card {
	c := card{Name: r.Name, Badge: strings.ToUpper(clean(string(r.Report.Verdict))), Unit: "requests/s of goodput", Figure: figure.Number(r.Report.GoodputRPS)}
	switch r.Report.Verdict {
	case goodput.Met:
		c.Tone = fine
	case goodput.Missed:
		c.Tone = wrong
	default:
		c.Tone = open
	}
	if c.Badge == "" {
		c.Badge = "NOT JUDGED"
	}
	for _, l := range r.Report.Lines() {
		switch l.Name {
		case "Class", "SLO", "Goodput", "Attainment", "Client":
			c.Lines = append(c.Lines, l)
		}
	}
	if h := r.Report.Health; !h.Sound() {
		c.Alarms = "the client may have had a part in these figures"
		if h.Verdict == goodput.Invalid {
			c.Alarms = "these figures show the client, not the server"
		}
		for _, why := range h.Reasons {
			c.Alarm = append(c.Alarm, clean(why))
		}
		if len(c.Alarm) == 0 {
			c.Alarm = []string{fmt.Sprintf("the client is %s", clean(string(h.Verdict)))}
		}
	}
	return c
}
