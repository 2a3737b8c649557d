package promrules

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// Source is whose metrics the rules are about.
type Source string

const (
	Goodput Source = "goodput" // package goodputprom's counters: exact
	VLLM    Source = "vllm"    // vLLM's own histograms
	SGLang  Source = "sglang"  // SGLang's own histograms
)

// The evidence that an alert wants where a plan says nothing else; as the monitor's.
const (
	DefaultEvidence   = 5    // bad requests in the long window
	DefaultConfidence = 0.95 // of the lower bound, one-sided
)

// A Plan says what to write rules for. Only SLO is required.
type Plan struct {
	SLO    slo.SLO
	Source Source            // "": Goodput
	Match  map[string]string // labels that the series have to have, such as job; what is recorded and the alerts have them too

	Period     time.Duration  // of the error budget, from an hour to monitor.MaxWindow, rounded to the millisecond; 0: 30 days
	Alerts     []monitor.Rule // nil: monitor.DefaultRules of each objective; empty: none
	Evidence   int            // bad requests that an alert wants; 0: DefaultEvidence
	Confidence float64        // 0: DefaultConfidence

	Labels map[string]string // added to every alert as they are, such as team: no templates
}

// Plans are those of a monitor whose counters package goodputprom exports: one for each of its SLOs, the default's first, with
// the label that the collector gives it as the SLO's name, and with the monitor's period, alert rules and evidence. What they do not say they can be given.
func Plans(m *monitor.Monitor) []Plan {
	var all []Plan
	names := m.SLONames()
	label := exposition.Labels(m.SLO(names[0]), m.Classes())
	for _, name := range names {
		s := m.SLO(name)
		s.Name = label(name)
		p := Plan{SLO: s, Period: m.Period()}
		p.Evidence, p.Confidence = m.Evidence()
		if rules := m.Rules(); rules != nil {
			p.Alerts = slices.DeleteFunc(rules, func(r monitor.Rule) bool { return r.Objective != "" && !has(s, r.Objective) })
		}
		all = append(all, p)
	}
	return all
}

func has(s slo.SLO, objective string) bool {
	return slices.ContainsFunc(s.Objectives, func(o slo.Objective) bool { return o.String() == objective })
}

// What can be wrong with a plan.
var (
	ErrPlan        = errors.New("promrules: the plan cannot be meant")
	ErrUnsupported = errors.New("not to be had from this source")
)

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (p *Plan) normalise() error {
	if err := p.SLO.Validate(); err != nil {
		return fmt.Errorf("%w: SLO: %w", ErrPlan, err)
	}
	if p.Source == "" {
		p.Source = Goodput
	}
	if _, known := engines[p.Source]; !known && p.Source != Goodput {
		return fmt.Errorf("%w: Source: %.40q is none of goodput, vllm, sglang", ErrPlan, string(p.Source))
	}
	if p.Period == 0 {
		p.Period = monitor.DefaultPeriod
	}
	if p.Period < time.Hour || p.Period > monitor.MaxWindow {
		return fmt.Errorf("%w: Period: %v is not between 1h and %s", ErrPlan, p.Period, exposition.Duration(monitor.MaxWindow))
	}
	p.Period = p.Period.Round(time.Millisecond)
	if p.Evidence == 0 {
		p.Evidence = DefaultEvidence
	}
	if p.Evidence < 0 {
		return fmt.Errorf("%w: Evidence: %d is negative", ErrPlan, p.Evidence)
	}
	if p.Confidence == 0 {
		p.Confidence = DefaultConfidence
	}
	if !(p.Confidence >= 0.5 && p.Confidence < 1) {
		return fmt.Errorf("%w: Confidence: %v is not between 0.5 and 1", ErrPlan, p.Confidence)
	}
	for _, r := range p.Alerts {
		if r.Objective != "" && !has(p.SLO, r.Objective) {
			return fmt.Errorf("%w: Alerts: there is no objective %.80q, as it stands in %q", ErrPlan, r.Objective, p.SLO)
		}
	}
	for _, set := range []map[string]string{p.Match, p.Labels} {
		for name, value := range set {
			if !labelName.MatchString(name) || strings.HasPrefix(name, "__") || slices.Contains(taken, name) {
				return fmt.Errorf("%w: %.40q is no label name, or taken", ErrPlan, name)
			}
			if !utf8.ValidString(value) || strings.Contains(value, "\uFFFD") { // which no query can have
				return fmt.Errorf("%w: the value of the label %s is no UTF-8, or has U+FFFD", ErrPlan, name)
			}
		}
	}
	return nil
}

// taken are labels that the rules themselves ask for or give, or that say which of an objective's series one is.
var taken = []string{"slo", "objective", "severity", "le", "alertname", "outcome", "cause"}

// z is the one-sided quantile of the normal distribution.
func (p *Plan) z() float64 { return math.Sqrt2 * math.Erfinv(2*p.Confidence-1) }

// rules are the alerts of an objective.
func (p *Plan) rules(o slo.Objective) ([]monitor.Rule, error) {
	if p.Alerts == nil {
		return monitor.DefaultRules(o, p.Period), nil
	}
	var own []monitor.Rule
	for _, r := range p.Alerts {
		if r.Objective != "" && r.Objective != o.String() {
			continue
		}
		if err := r.Check(o, p.Period); err != nil {
			return nil, fmt.Errorf("%w: Alerts: %w", ErrPlan, err)
		}
		for _, before := range own {
			if before.Severity == r.Severity && exposition.Duration(before.Long) == exposition.Duration(r.Long) {
				return nil, fmt.Errorf("%w: Alerts: two for %v with severity %s and a long window of %s, which nobody could tell apart: keep one",
					ErrPlan, o, r.Severity, exposition.Duration(r.Long))
			}
		}
		own = append(own, r)
	}
	return own, nil
}

func (p *Plan) label() string { return exposition.Label(p.SLO) }

// uid tells the plan's dashboard from those of other SLOs, of the same one under another name or of other series, and of other sources. It has no
// more than Grafana's 40 characters.
func (p *Plan) uid() string {
	id := "goodput-" + p.SLO.Fingerprint()
	if p.SLO.Name != "" || len(p.Match) > 0 {
		sum := sha256.Sum256([]byte(p.SLO.Name + "\n" + p.SLO.String() + strings.TrimPrefix(p.selector(), "{}")))
		id = "goodput-" + hex.EncodeToString(sum[:8])
	}
	if p.Source != Goodput {
		id += "-" + string(p.Source)
	}
	return id
}
