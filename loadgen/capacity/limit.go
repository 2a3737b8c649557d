package capacity

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// State says what a search found.
type State string

// The states.
const (
	Found    State = "found"     // a limit, and its interval
	AtLeast  State = "at least"  // met at Lo, and missed at no rate that could be tried: the range or the client ended first
	NeverMet State = "never met" // missed at Hi, the lowest rate that was tried
	Unknown  State = "unknown"   // the probes do not show where it is: give them a longer Duration
)

// Warnings of a search, for errors.Is.
var (
	ErrNotMonotone = errors.New("the SLO is met at a higher rate than one at which it is missed")
	ErrClient      = errors.New("the client was not sound: its limit, and not the server's")
	ErrNoWarmup    = errors.New("probes without a warm-up begin with an idle system, which flatters it")
	ErrPrecision   = errors.New("the interval is wider than was asked for")
	ErrSamples     = errors.New("the limit lies far above rates whose samples missed the SLO: look at the probes")
	ErrDrift       = errors.New("the system got worse while it was searched")
)

// Limit is a goodput limit: what Search found.
type Limit struct {
	SLO         slo.SLO
	State       State
	Rate        float64    // the limit, requests/s; NaN unless it was found
	Lo, Hi      float64    // its interval at Confidence; 0 and +Inf: not bounded on that side
	Confidence  float64    // 1 − α
	Bracket     [2]float64 // the highest rate whose verdict was met, below the lowest whose verdict was missed, and that one; NaN: none
	Objective   string     // whose share decides the estimate; "": it rests on the bracket
	Raw         curve.Peak // raw throughput limit: the highest throughput of any probe, and the rate that was asked for then; what failed is throughput too
	Recommended float64    // Rate × (1 − Headroom), and no more than Lo; NaN unless a limit was found whose interval is bounded below
	Headroom    float64
	Probes      []*Probe // in the order in which they were made
	Warnings    []error
}

// limit is what the probes so far say.
func (s *search) limit() *Limit {
	l := &Limit{SLO: s.plan.SLO, State: Unknown, Rate: math.NaN(), Hi: math.Inf(1), Confidence: s.confidence, Raw: curve.Peak{Load: math.NaN(), Value: math.NaN()},
		Headroom: s.headroom, Probes: s.probes}
	b := s.bracket()
	l.Bracket = [2]float64{math.NaN(), math.NaN()}
	if b.lo > 0 && !b.soft {
		l.Bracket[0] = b.lo
	}
	if !math.IsInf(b.hi, 1) && !b.client {
		l.Bracket[1] = b.hi
	}
	l.decide(s, b)
	l.Recommended = math.NaN()
	if l.State == Found && l.Lo > 0 { // beyond Lo the data do not show that the SLO is met
		l.Recommended = min(l.Rate*(1-l.Headroom), l.Lo)
	}
	for _, p := range s.probes {
		if v := p.Report.ThroughputRPS; !p.ClientLimited() && !math.IsNaN(v) && !(v <= l.Raw.Value) {
			l.Raw = curve.Peak{Load: p.Rate, Value: v}
		}
	}
	l.warnings(s, b)
	if c, err := l.Curve(); err == nil { // it knows what of the raw limit failed
		for _, w := range c.Warnings {
			if errors.Is(w, curve.ErrFailed) {
				l.Warnings = append(l.Warnings, w)
			}
		}
	}
	return l
}

// decide finds the limit: by the estimate or, where there is none, by the bracket.
func (l *Limit) decide(s *search, b bracket) {
	if b.lo > 0 && !b.soft {
		l.Lo = b.lo
	}
	if !math.IsNaN(l.Bracket[1]) {
		l.Hi = b.hi
	}
	e := s.estimate()
	switch {
	case e.near >= nearLeast && !math.IsInf(e.hi, 1):
		l.State, l.Objective = Found, e.objective
		if wide := (e.hi-e.lo)/2 > goodEstimate*e.rate; wide { // verdicts say more
			e = s.within(e, b)
		}
		l.Rate, l.Lo, l.Hi = e.rate, e.lo, e.hi
	case math.IsNaN(l.Bracket[1]): // nothing was missed
		if l.Lo > 0 {
			l.State = AtLeast
		}
	case b.lo == 0:
		if least, _ := s.extremes(); least <= s.least || b.hi == least {
			l.State = NeverMet
		}
	case e.rate > b.lo && e.rate < b.hi:
		l.State, l.Rate, l.Objective = Found, e.rate, e.objective
		l.Lo, l.Hi = max(l.Lo, e.lo), min(l.Hi, e.hi)
	case !b.soft: // all here and nothing there
		within := s.samples(b)
		l.State, l.Rate = Found, (within.lo+within.hi)/2
	}
}

// within is the estimate with an interval that ends at verdicts: at the lowest missed, and at the highest met of a probe that was long
// enough at the limit too, where neighbours are alike for longer.
func (s *search) within(e estimate, b bracket) estimate {
	lo, hi := e.lo, e.hi
	if !b.client {
		hi = min(hi, b.hi)
	}
	least := correlated * s.alike(e.rate)
	for _, p := range s.probes {
		if p.Verdict == goodput.Met && !p.ClientLimited() && float64(p.Report.Offered) >= least && p.Rate < hi {
			lo = max(lo, p.Rate)
		}
	}
	if lo >= hi {
		return e
	}
	e.rate, e.lo, e.hi = min(max(e.rate, lo), hi), lo, hi
	return e
}

func (l *Limit) warnings(s *search, b bracket) {
	warn := func(err error, format string, args ...any) {
		l.Warnings = append(l.Warnings, fmt.Errorf("%w: %s", err, fmt.Sprintf(format, args...)))
	}
	if s.plan.Warmup == 0 && s.plan.WarmupRequests == 0 {
		warn(ErrNoWarmup, "set Plan.Warmup, or WarmupAuto")
	}
	if hi := l.Bracket[1]; !math.IsNaN(hi) {
		for _, p := range sorted(s.probes) {
			if p.Rate > hi && p.Verdict == goodput.Met && !p.ClientLimited() {
				warn(ErrNotMonotone, "met at %s/s and missed at %s/s; the limit is sought below", figure.Number(p.Rate), figure.Number(hi))
				break
			}
		}
	}
	for _, p := range sorted(s.probes) {
		if p.ClientLimited() {
			why := ""
			if r := p.Report.Health.Reasons; len(r) > 0 {
				why = ": " + figure.Clean(r[0], 200)
			}
			warn(ErrClient, "at %s/s%s", figure.Number(p.Rate), why)
			break
		}
	}
	if at, ok := l.missedBelow(); ok {
		warn(ErrSamples, "from %s/s on they did, and the limit is %s/s", figure.Number(at), figure.Number(l.Rate))
	}
	if d, ok := s.worse(); ok {
		warn(ErrDrift, "%v", d)
	}
	half := (l.Hi - l.Lo) / 2
	switch below := l.Lo > 0; {
	case l.State != Found || half <= s.precision*l.Rate:
	case !below || math.IsInf(l.Hi, 1): // half of what has no end is no figure
		end := "above"
		if !below {
			end = "below"
		}
		warn(ErrPrecision, "it is not bounded %s after %d probes, where ± %s was asked for: give them a longer Duration, or more of them", end, len(s.probes), figure.Percent(s.precision))
	default:
		warn(ErrPrecision, "± %s where %s was asked for, after %d probes: give them a longer Duration, or more of them", figure.Share(half/l.Rate), figure.Percent(s.precision), len(s.probes))
	}
}

// farBelow is the share of the limit below which no sample is to miss the SLO with none in between that meets it.
const farBelow = 0.9

// missedBelow is the lowest rate from which on no sample up to the limit meets the SLO, where that is far below the limit.
func (l *Limit) missedBelow() (rate float64, ok bool) {
	for _, p := range sorted(l.Probes) {
		switch {
		case l.State != Found || p.Rate > l.Rate:
			return rate, ok
		case p.ClientLimited():
		case p.holds():
			ok = false
		case !ok && p.Rate < farBelow*l.Rate:
			rate, ok = p.Rate, true
		}
	}
	return rate, ok
}

// Curve is the load-latency curve through the probes.
func (l Limit) Curve() (*curve.Curve, error) {
	var points []curve.Point
	for _, p := range l.Probes {
		points = append(points, curve.Point{Load: p.Rate, Report: p.Report})
	}
	return curve.New(curve.Rate, points, curve.WithHeadroom(l.Headroom))
}

const textWidth = 100

func label(name string) string { return fmt.Sprintf("%-15s", name) }

// String is the limit for people, then a row for each probe in the order of their rates, and the warnings.
func (l Limit) String() string {
	var b strings.Builder
	line := func(name, text string) { b.WriteString(figure.Wrap(label(name), text, textWidth)) }
	line("SLO", l.SLO.String())
	line("Goodput limit", l.limitText())
	if c, err := l.Curve(); err == nil && !math.IsNaN(l.Raw.Load) {
		for _, of := range c.Lines() {
			if of.Name == "Raw limit" || of.Name == "Success limit" {
				line(of.Name, of.Text)
			}
		}
	}
	if !math.IsNaN(l.Recommended) {
		why := "the goodput limit less " + figure.Percent(l.Headroom)
		if l.Recommended < l.Rate*(1-l.Headroom) {
			why = "the lower bound of the interval, which is less than " + why
		}
		line("Recommended", figure.Number(l.Recommended)+" requests/s: "+why)
	}
	if len(l.Probes) > 0 {
		t := figure.Table{}
		t.Row(append(ProbeHeader(), "")...)
		for _, p := range sorted(l.Probes) {
			t.Row(p.Row()...)
		}
		b.WriteString("\n" + t.String())
	}
	if len(l.Warnings) > 0 {
		b.WriteString("\nWarnings\n")
		for _, w := range l.Warnings {
			b.WriteString(figure.Wrap("  - ", figure.Clean(w.Error(), 1000), textWidth))
		}
	}
	return b.String()
}

func (l *Limit) limitText() string {
	n := fmt.Sprintf(", after %d probes", len(l.Probes))
	switch l.State {
	case Found:
		text := fmt.Sprintf("%s requests/s (%s interval %s to %s)%s", figure.Number(l.Rate), figure.Percent(l.Confidence), figure.Number(l.Lo), figure.Number(l.Hi), n)
		if curve.Wide(l.Rate, l.Lo, l.Hi) {
			text = fmt.Sprintf("%s to %s requests/s ? (%s interval; the estimate is %s)%s", figure.Number(l.Lo), figure.Number(l.Hi), figure.Percent(l.Confidence), figure.Number(l.Rate), n)
		}
		if l.Objective != "" {
			text += "; " + l.Objective + " decides"
		}
		return text
	case AtLeast:
		why := "the SLO was missed at no rate that was tried"
		if none := l.noVerdict(); none != "" {
			why = "above it there is " + none
		}
		return "at least " + figure.Number(l.Lo) + " requests/s: " + why + n
	case NeverMet:
		return "none: the SLO is missed at " + figure.Number(l.Hi) + " requests/s, the lowest rate that was tried" + n
	}
	known := ""
	switch lo, hi := l.Bracket[0], l.Bracket[1]; {
	case lo > 0 && hi > 0:
		known = fmt.Sprintf("from %s to %s requests/s, and ", figure.Number(lo), figure.Number(hi))
	case hi > 0:
		known = fmt.Sprintf("< %s requests/s, where the SLO is missed, and ", figure.Number(hi))
	case lo > 0:
		known = fmt.Sprintf("≥ %s requests/s, where the SLO is met, and ", figure.Number(lo))
	}
	switch {
	case len(l.Probes) == 0:
		return "not found: no probe came to its end"
	case !slices.ContainsFunc(l.Probes, func(p *Probe) bool { return !p.ClientLimited() }):
		return "not found: the client was sound at no rate that was tried" + n
	}
	return "not found: " + known + "the probes were too short to show more: give them a longer Duration" + n
}

// noVerdict says at which rates above Lo the probes have no verdict, and why.
func (l *Limit) noVerdict() string {
	var points []curve.Point
	for _, p := range sorted(l.Probes) {
		r := *p.Report
		r.Verdict = p.Verdict // of the looks
		points = append(points, curve.Point{Load: p.Rate, Report: &r})
	}
	return curve.Rate.NoVerdict(points, l.Lo)
}

// ProbeHeader are the names of what a Row has.
func ProbeHeader() []string {
	return []string{"rate/s", "verdict", "looks", "requests", "throughput/s", "goodput/s", "attainment", "took", "client"}
}

// Row is the probe for a table.
func (p Probe) Row() []string {
	r := p.Report
	d := figure.Decimals(r.ThroughputRPS, 3)
	client := figure.Absent
	if r.Health != nil && r.Health.Verdict != "" {
		client = figure.Clean(string(r.Health.Verdict), 20)
	}
	return []string{figure.Number(p.Rate), string(p.Verdict), figure.Count(p.Looks), figure.Count(r.Offered), figure.Fixed(r.ThroughputRPS, d),
		figure.Fixed(r.GoodputRPS, d), figure.Share(r.Attainment), figure.Seconds(p.Elapsed.Seconds()), client}
}

// Format is the value of a limit's "format" key. It changes when a key changes its meaning.
const Format = "goodput-capacity/1"

type probeJSON struct {
	Rate       float64         `json:"rate"`
	Seed       uint64          `json:"seed,string"` // more than a float64 holds
	Verdict    goodput.Verdict `json:"verdict"`
	Confidence float64         `json:"confidence"`
	Looks      int             `json:"looks"`
	Early      bool            `json:"early"`
	ElapsedS   float64         `json:"elapsed_s"`
	Report     *goodput.Report `json:"report"`
}

// MarshalJSON writes null for a rate that there is not. Its keys are stable: some are added, none changes its meaning
// without another Format.
func (l Limit) MarshalJSON() ([]byte, error) {
	j := struct {
		Format      string      `json:"format"`
		SLO         slo.SLO     `json:"slo"`
		State       State       `json:"state"`
		Rate        *float64    `json:"rate"`
		Interval    [2]*float64 `json:"interval"`
		Confidence  float64     `json:"confidence"`
		Bracket     [2]*float64 `json:"bracket"`
		Objective   string      `json:"objective,omitempty"`
		RawRate     *float64    `json:"raw_limit_at"`
		Raw         *float64    `json:"raw_limit_rps"`
		Recommended *float64    `json:"recommended"`
		Headroom    float64     `json:"headroom"`
		Warnings    []string    `json:"warnings,omitempty"`
		Probes      []probeJSON `json:"probes"`
	}{Format: Format, SLO: l.SLO, State: l.State, Rate: figure.OrNull(l.Rate), Interval: [2]*float64{figure.OrNull(l.Lo), figure.OrNull(l.Hi)}, Confidence: l.Confidence,
		Bracket: [2]*float64{figure.OrNull(l.Bracket[0]), figure.OrNull(l.Bracket[1])}, Objective: l.Objective, RawRate: figure.OrNull(l.Raw.Load), Raw: figure.OrNull(l.Raw.Value),
		Recommended: figure.OrNull(l.Recommended), Headroom: l.Headroom}
	for _, w := range l.Warnings {
		j.Warnings = append(j.Warnings, w.Error())
	}
	for _, p := range l.Probes {
		j.Probes = append(j.Probes, probeJSON{p.Rate, p.Seed, p.Verdict, p.Confidence, p.Looks, p.Early, p.Elapsed.Seconds(), p.Report})
	}
	return json.Marshal(j)
}
