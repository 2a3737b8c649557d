package report

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/internal/figure"
)

// Document is what is to be shown: reports, a curve, a comparison, in any combination, and what others add to them.
// The zero value has nothing to show, which every writer refuses.
type Document struct {
	Title      string            // "" is "Goodput"
	Limit      *Limit            // of a search, beside the curve through its probes
	Curve      *curve.Curve      // a load-latency curve with its steps
	Comparison *curve.Comparison // of two systems
	Runs       []Run             // one report, or several side by side
	Sections   []Section         // what other packages have found out: text, Markdown and HTML show it below the charts of the runs
}

// Run is a report and what it is called beside others.
type Run struct {
	Name   string          `json:"name,omitempty"` // "" is "run 1", "run 2" … where there are several
	Report *goodput.Report `json:"report"`
}

// Limit is a goodput limit with its interval, as a search finds it: what loadgen/capacity's Limit says, without its probes.
type Limit struct {
	State       string  // "found", "at least", "never met", "unknown"
	Rate        float64 // requests/s; NaN unless it was found
	Lo, Hi      float64 // its interval at Confidence; 0 and +Inf: not bounded on that side
	Confidence  float64
	Recommended float64 // NaN: there is none
	Headroom    float64
	Warnings    []error
}

// Errors of a document that cannot be written, for errors.Is.
var (
	ErrNothing  = errors.New("report: there is nothing to show: give Runs, a Curve, a Comparison or Sections")
	ErrNoReport = errors.New("report: a run or a point without its Report")
	ErrSection  = errors.New("report: a section that cannot be drawn")
)

// check refuses what cannot be meant.
func (d *Document) check() error {
	if len(d.Runs) == 0 && d.Curve == nil && d.Comparison == nil && len(d.Sections) == 0 {
		return ErrNothing
	}
	for i, r := range d.Runs {
		if r.Report == nil {
			return fmt.Errorf("%w: run %d %.40q", ErrNoReport, i, r.Name)
		}
	}
	if d.Curve != nil {
		for i, p := range d.Curve.Points {
			if p.Report == nil {
				return fmt.Errorf("%w: point %d of the curve", ErrNoReport, i)
			}
		}
	}
	for _, s := range d.Sections {
		if err := s.check(); err != nil {
			return fmt.Errorf("%w: %.80q: %w", ErrSection, s.Title, err)
		}
	}
	return nil
}

func (d *Document) title() string {
	if d.Title == "" {
		return "Goodput"
	}
	return d.Title
}

// runs are the document's, each with a name of its own; a single one may have none.
func (d *Document) runs() []Run {
	named := make([]Run, len(d.Runs))
	seen := map[string]int{}
	for i, r := range d.Runs {
		r.Name = figure.Clean(r.Name, 200)
		if r.Name == "" && len(d.Runs) > 1 {
			r.Name = "run " + strconv.Itoa(i+1)
		}
		if seen[r.Name]++; seen[r.Name] > 1 {
			r.Name += fmt.Sprintf(" (%d)", seen[r.Name])
		}
		named[i] = r
	}
	return named
}

// steps are the points of the curve as runs, each under its load.
func (d *Document) steps() (all []Run) {
	if d.Curve == nil {
		return nil
	}
	seen := map[float64]int{}
	for _, p := range d.Curve.Points {
		name := d.Curve.Axis.Text(p.Load)
		if seen[p.Load]++; seen[p.Load] > 1 {
			name += fmt.Sprintf(" (%d)", seen[p.Load])
		}
		all = append(all, Run{name, p.Report})
	}
	return all
}

// failed is the share of the offered requests that were no success; NaN where none was offered.
func failed(r *goodput.Report) float64 {
	if r.Offered == 0 {
		return math.NaN()
	}
	return 1 - float64(r.Outcomes[goodput.Success])/float64(r.Offered)
}
