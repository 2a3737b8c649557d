package curve

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// Axis is what load is counted in.
type Axis string

// The axes.
const (
	Rate        Axis = "rate"        // of an open loop: requests/s that were asked for
	Concurrency Axis = "concurrency" // of a closed loop: workers
)

// Text is a load for people: "8/s", or "8" workers.
func (a Axis) Text(load float64) string {
	if a == Rate {
		return figure.Number(load) + "/s"
	}
	return figure.Number(load)
}

// DefaultHeadroom is what a recommended load keeps free of the goodput limit, as a share.
const DefaultHeadroom = 0.20

// Point is a report and the load that it is of: what was asked for, and not what was offered in the end.
type Point struct {
	Load   float64         `json:"load"` // requests/s, or workers
	Report *goodput.Report `json:"report"`
}

// Peak is the greatest value of a figure, and the load at which it was seen.
type Peak struct {
	Load  float64 // NaN: there is none
	Value float64 // requests/s
}

// Curve is a load-latency curve. A load or a rate that does not exist is NaN here and null in JSON.
type Curve struct {
	Axis        Axis
	SLO         slo.SLO // the default one, where classes have their own
	Fingerprint string
	Points      []Point // in the order of their loads

	Raw         Peak       // raw throughput limit; what failed is throughput too, see ErrFailed
	RawRises    bool       // throughput still rises at the highest load, by more than chance explains: the raw limit is at least Raw
	Succeeded   Peak       // the highest rate of successes at any load: what of the raw limit the system can deliver
	Limit       Crossing   // goodput limit
	Peak        Peak       // goodput peak
	Bloat       [2]float64 // loads from the goodput limit to the raw limit; NaN where either is not known, or they are the wrong way round
	Recommended float64    // Limit.Load × (1 − Headroom)
	Headroom    float64
	Steps       []Step // by objective and percentile
	Falls       string // where goodput falls while throughput rises, a sentence that says so; else ""
	Stopped     string // why whoever measured stopped before the last load; "": nobody did
	Warnings    []error
}

// Warnings and errors, for errors.Is.
var (
	ErrClient      = errors.New("the client was not sound at this load, which is left out")
	ErrNotMonotone = errors.New("the SLO is met again at a higher load than one at which it was not")
	ErrFailed      = errors.New("requests that failed are a part of the raw throughput limit, which may be more than the system can do")
	ErrSLO         = errors.New("reports that are not of one SLO")
)

// An Option changes how a curve is read.
type Option func(*Curve)

// WithHeadroom is what the recommended load keeps free of the goodput limit, as a share; the default is DefaultHeadroom.
func WithHeadroom(share float64) Option { return func(c *Curve) { c.Headroom = share } }

// New reads a curve from points in any order. Points of one load are replicates: their counts are added, and their rates
// averaged. It is an error if there is no point, one has no report or no load, the reports are not of one SLO (ErrSLO), or
// the head-room is not a share from 0 to below 1.
func New(axis Axis, points []Point, opts ...Option) (*Curve, error) {
	c := &Curve{Axis: axis, Points: slices.Clone(points), Headroom: DefaultHeadroom}
	for _, o := range opts {
		o(c)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.Points, func(a, b Point) int { return cmp.Compare(a.Load, b.Load) })
	c.SLO, c.Fingerprint = c.Points[0].Report.SLO, c.Points[0].Report.Fingerprint
	c.read(c.loads())
	return c, nil
}

func (c *Curve) check() error {
	switch {
	case c.Axis != Rate && c.Axis != Concurrency:
		return fmt.Errorf("curve: axis %.40q is neither %q nor %q", string(c.Axis), Rate, Concurrency)
	case len(c.Points) == 0:
		return errors.New("curve: there are no points: give at least one")
	case !(c.Headroom >= 0 && c.Headroom < 1):
		return fmt.Errorf("curve: head-room %v is not a share from 0 to below 1: 0.2 leaves 20 %% free", c.Headroom)
	}
	for i, p := range c.Points {
		switch {
		case p.Report == nil:
			return fmt.Errorf("curve: point %d has no report", i)
		case !(p.Load > 0) || math.IsInf(p.Load, 0):
			return fmt.Errorf("curve: point %d: load %v is not above 0", i, p.Load)
		}
		if a, b := c.Points[0].Report, p.Report; a.Fingerprint != b.Fingerprint {
			return fmt.Errorf("curve: %w: %s at load %v and %s at load %v", ErrSLO, a.SLO, c.Points[0].Load, b.SLO, p.Load)
		}
	}
	return nil
}

// read finds the figures.
func (c *Curve) read(loads []load) {
	none := Peak{math.NaN(), math.NaN()}
	c.Raw, c.Succeeded, c.Peak = none, none, none
	for _, l := range loads {
		if v := l.rate(success); !math.IsNaN(v) && !(v <= c.Succeeded.Value) {
			c.Succeeded = Peak{l.at, v}
		}
		if v := l.rate(throughput); !math.IsNaN(v) && !(v <= c.Raw.Value) {
			c.Raw = Peak{l.at, v}
		}
		if v := l.rate(good); !math.IsNaN(v) && !(v <= c.Peak.Value) {
			c.Peak = Peak{l.at, v}
		}
	}
	if n := len(loads); n > 1 && c.Raw.Load == loads[n-1].at { // requests that fail end at any rate, and show no more that can be done
		c.RawRises = apart(loads[n-2], loads[n-1], throughput) > significant && apart(loads[n-2], loads[n-1], success) > significant
	}
	c.Limit = c.cross(loads, nil)
	c.Recommended = c.Limit.Load * (1 - c.Headroom)
	c.Bloat = [2]float64{math.NaN(), math.NaN()}
	if c.Raw.Load > c.Limit.Load {
		c.Bloat = [2]float64{c.Limit.Load, c.Raw.Load}
	}
	c.Steps = c.steps(loads)
	c.Falls = c.falls(loads)
	for _, l := range loads {
		if l.at == c.Raw.Load && l.failed() > mostFailed {
			c.Warnings = append(c.Warnings, fmt.Errorf("%w: at load %s %s requests/s, of which %s failed; at no load did more than %s succeed%s", ErrFailed,
				c.Axis.Text(l.at), figure.Number(c.Raw.Value), figure.Share(l.failed()), figure.Number(c.Succeeded.Value), l.failure()))
		}
	}
}

// load is the points of one load.
type load struct {
	at      float64
	reports []*goodput.Report
	judged  []judged // by all of them together
}

// loads are the points by load, without those whose client was not sound.
func (c *Curve) loads() (all []load) {
	for _, p := range c.Points {
		if h := p.Report.Health; h != nil && h.Verdict == goodput.Invalid {
			why := ""
			if len(h.Reasons) > 0 {
				why = ": " + figure.Clean(h.Reasons[0], 200)
			}
			c.Warnings = append(c.Warnings, fmt.Errorf("load %s: %w%s", c.Axis.Text(p.Load), ErrClient, why))
			continue
		}
		if n := len(all); n > 0 && all[n-1].at == p.Load {
			all[n-1].reports = append(all[n-1].reports, p.Report)
			continue
		}
		all = append(all, load{at: p.Load, reports: []*goodput.Report{p.Report}})
	}
	for i := range all {
		all[i].judged = all[i].objectives()
	}
	return all
}

// flow is what a rate counts.
type flow func(*goodput.Report) (perSecond float64, count uint64)

func throughput(r *goodput.Report) (float64, uint64) { return r.ThroughputRPS, r.Flow.Ended }
func success(r *goodput.Report) (float64, uint64)    { return r.SuccessRPS, r.Flow.Success }
func good(r *goodput.Report) (float64, uint64)       { return r.GoodputRPS, r.Flow.Good }

// mostFailed is the share of a load's throughput that may have failed before the text says so.
const mostFailed = 0.05

// failed is the share of the throughput that did not succeed: timeouts and refusals are throughput, by the definitions. NaN where
// there is none.
func (l load) failed() float64 { return 1 - l.rate(success)/l.rate(throughput) }

// failure is what was said of one request that failed; "" where nothing was.
func (l load) failure() string {
	for _, r := range l.reports {
		for _, w := range r.Worst {
			if w.Outcome != goodput.Success && w.Detail != "" {
				return "; for one, " + w.Outcome.String() + ": " + figure.Clean(w.Detail, 200)
			}
		}
	}
	return ""
}

// rate is the mean of a rate over the replicates; NaN where one has none.
func (l load) rate(f flow) (mean float64) {
	for _, r := range l.reports {
		v, _ := f(r)
		mean += v / float64(len(l.reports))
	}
	return mean
}

// err2 is the variance of that mean as that of a Poisson count.
func (l load) err2(f flow) float64 {
	var count, seconds float64
	for _, r := range l.reports {
		_, n := f(r)
		count, seconds = count+float64(n), seconds+r.WindowS
	}
	return (count + 1) / (seconds * seconds)
}

// apart is how many standard errors a flow is greater at m than at l.
func apart(l, m load, f flow) float64 {
	return (m.rate(f) - l.rate(f)) / math.Sqrt(l.err2(f)+m.err2(f))
}

// significant is how many standard errors have to be between two flows before the text says that one is the greater.
const significant = 3

// falls says in a sentence that goodput falls while throughput rises, where it does by more than chance explains: from the
// load at which goodput is highest to that beyond it at which throughput is.
func (c *Curve) falls(loads []load) string {
	i := slices.IndexFunc(loads, func(l load) bool { return l.at == c.Peak.Load })
	if i < 0 {
		return ""
	}
	peak, most := loads[i], -1
	for j := i + 1; j < len(loads); j++ {
		l := loads[j]
		if apart(peak, l, throughput) > significant && apart(peak, l, good) < -significant &&
			(most < 0 || l.rate(throughput) > loads[most].rate(throughput)) {
			most = j
		}
	}
	if most < 0 {
		return ""
	}
	l := loads[most]
	what := "more work is done, and users get less of it in time"
	if l.failed() > mostFailed {
		what = fmt.Sprintf("%s of that throughput failed, %s succeeded, and users get less in time", figure.Number(l.rate(throughput)-l.rate(success)), figure.Number(l.rate(success)))
	}
	return fmt.Sprintf("From load %s to %s throughput rises from %s to %s requests/s and goodput falls from %s to %s: %s.",
		c.Axis.Text(peak.at), c.Axis.Text(l.at), figure.Number(peak.rate(throughput)), figure.Number(l.rate(throughput)),
		figure.Number(peak.rate(good)), figure.Number(l.rate(good)), what)
}
