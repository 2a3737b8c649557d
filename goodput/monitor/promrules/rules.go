package promrules

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// Rules are those of a plan.
type Rules struct {
	Group    Group
	Bounds   []Bound // of an engine's histograms, one for each objective that it has
	Warnings []error // objectives that the source does not have; each wraps ErrUnsupported

	plan   Plan
	alerts []alert
}

// Group is a rule group as Prometheus reads it.
type Group struct {
	Name  string `yaml:"name"`
	Rules []Rule `yaml:"rules"`
}

// Rule is a recording or an alerting rule.
type Rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

type alert struct {
	objective slo.Objective
	rule      monitor.Rule
	bound     Bound
	labels    map[string]string // as they are; in what is written a template says it
	written   Rule
}

// YAML is the file that Prometheus loads.
func (r *Rules) YAML() []byte {
	head := fmt.Sprintf("# %s\n# Written by goodputkit from the SLO; to change it change the SLO.\n"+
		"# Scrape and evaluate at least every %s; keep samples for %s, or the budget is that of the time that is kept.\n",
		oneLine(r.plan.SLO.String()), exposition.Duration(r.ScrapeInterval()), exposition.Duration(r.plan.Period))
	for _, b := range r.Bounds {
		head += "# " + oneLine(b.String()) + "\n"
	}
	for _, w := range r.Warnings {
		head += "# left out: " + oneLine(w.Error()) + "\n"
	}
	return append([]byte(head), encode(map[string]any{"groups": []Group{r.Group}})...)
}

// ScrapeInterval is the longest interval at which to scrape the series and to evaluate the rules: a fourth of the shortest window.
// Prometheus reads a rate off two samples in a window at least: an alert whose short window never has them can never fire.
func (r *Rules) ScrapeInterval() time.Duration { return r.plan.shortest() / 4 }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func encode(v any) []byte {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil { // only what this package made itself
		panic("promrules: " + err.Error())
	}
	return b.Bytes()
}

// Rules are the recording and alerting rules. An error wraps ErrPlan, or ErrUnsupported where the source has none of the
// objectives.
func (p Plan) Rules() (*Rules, error) {
	if err := p.normalise(); err != nil {
		return nil, err
	}
	r := &Rules{plan: p, Group: Group{Name: "goodput-" + p.label()}}
	if p.Source != Goodput {
		r.Group.Name += "-" + string(p.Source)
	} else {
		r.rates()
	}
	var had int
	for _, o := range p.SLO.Objectives {
		b := Bound{Objective: o}
		if p.Source != Goodput {
			var err error
			if b, err = p.Source.bound(o); err != nil {
				r.Warnings = append(r.Warnings, err)
				continue
			}
			r.Bounds = append(r.Bounds, b)
		}
		had++
		if err := r.objective(o, b); err != nil {
			return nil, err
		}
	}
	if had == 0 {
		return nil, fmt.Errorf("promrules: %s has none of the objectives of %s: %w", p.Source, p.SLO, ErrUnsupported)
	}
	for _, a := range r.alerts {
		r.Group.Rules = append(r.Group.Rules, a.written)
	}
	return r, nil
}

// shortest is the window that rates are recorded over: the shortest of any alert, but five minutes at most.
func (p *Plan) shortest() time.Duration {
	least := 5 * time.Minute
	for _, o := range p.SLO.Objectives {
		rules, _ := p.rules(o)
		for _, r := range rules {
			least = min(least, r.Short)
		}
	}
	return least
}

func (r *Rules) record(name, expr string, labels map[string]string) {
	r.Group.Rules = append(r.Group.Rules, Rule{Record: name, Expr: expr, Labels: labels})
}

// labels are those of what is recorded: of the SLO or of one of its objectives, and those that the series have to have, so that the same SLO of
// two jobs is not one.
func (p *Plan) labels(o ...slo.Objective) map[string]string {
	labels := maps.Clone(p.Match)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["slo"] = p.label()
	for _, o := range o {
		labels["objective"] = o.String()
	}
	maps.DeleteFunc(labels, empty)
	return labels
}

// empty reports whether a label is none, as to Prometheus one without a value is.
func empty(_, value string) bool { return value == "" }

// selector is the matchers of the plan and some more.
func (p *Plan) selector(more ...string) string {
	for _, name := range slices.Sorted(maps.Keys(p.Match)) {
		more = append(more, name+"="+strconv.Quote(p.Match[name]))
	}
	return "{" + strings.Join(more, ",") + "}"
}

// own is the matcher of the SLO's own series, and recorded the selector of what is recorded of an objective.
func (p *Plan) own() string { return "slo=" + strconv.Quote(p.label()) }

func (p *Plan) recorded(o slo.Objective) string {
	return p.selector(p.own(), "objective="+strconv.Quote(o.String()))
}

func (r *Rules) rates() {
	p := &r.plan
	w := exposition.Duration(p.shortest())
	own := p.selector(p.own())
	ended := p.selector(p.own(), `outcome!~"dropped|unfinished"`)
	label := p.labels()
	rate := func(name, sel string) string { return fmt.Sprintf("sum(rate(%s%s[%s]))", name, sel, w) }
	r.record("slo:goodput_throughput:rate"+w, rate("goodput_requests_total", ended), label)
	r.record("slo:goodput_goodput:rate"+w, rate("goodput_good_requests_total", own), label)
	r.record("slo:goodput_attainment:ratio_rate"+w,
		rate("goodput_good_requests_total", own)+" / ("+rate("goodput_decided_requests_total", own)+" > 0)", label)
}

// counters are the expressions for how many requests an objective is about, and how many are within, over a window.
// upper counts as within only what surely is.
func (r *Rules) counters(o slo.Objective, b Bound, w string) (total, within, surely string) {
	p := &r.plan
	if p.Source == Goodput {
		sel := p.selector(p.own(), "objective="+strconv.Quote(o.String()))
		count := func(name string) string { return fmt.Sprintf("sum(increase(%s%s[%s]))", name, sel, w) }
		within = count("goodput_objective_within_requests_total")
		return count("goodput_objective_requests_total"), within, within
	}
	bucket := func(edge float64) string {
		return fmt.Sprintf("sum(increase(%s_bucket%s[%s]))", b.Metric, p.selector(le(edge)), w)
	}
	surely = bucket(b.Below)
	if b.Below == 0 {
		surely = "0"
	}
	return fmt.Sprintf("sum(increase(%s_count%s[%s]))", b.Metric, p.selector(), w), bucket(b.Above), surely
}

func (r *Rules) objective(o slo.Objective, b Bound) error {
	p := &r.plan
	rules, err := p.rules(o)
	if err != nil {
		return err
	}
	labels := p.labels(o)
	series := p.recorded(o)
	windows := []time.Duration{p.Period}
	var long []time.Duration
	for _, rule := range rules {
		windows = append(windows, rule.Long.Round(time.Millisecond), rule.Short.Round(time.Millisecond))
		long = append(long, rule.Long.Round(time.Millisecond))
	}
	slices.Sort(windows)
	for _, d := range slices.Compact(windows) {
		w := exposition.Duration(d)
		total, within, surely := r.counters(o, b, w)
		n, bad := "objective:goodput_requests:increase"+w, "objective:goodput_bad:ratio_rate"+w
		r.record(n, total, labels)
		r.record(bad, fmt.Sprintf("1 - (%s) / (%s > 0)", within, total), labels)
		if surely != within {
			r.record("objective:goodput_bad_upper:ratio_rate"+w, fmt.Sprintf("1 - (%s) / (%s > 0)", surely, total), labels)
		}
		if slices.Contains(long, d) {
			r.record("objective:goodput_bad:wilson_lower"+w, wilson(bad+series, n+series, p.z()), labels)
		}
	}
	r.record("objective:goodput_error_budget_left:ratio",
		fmt.Sprintf("1 - objective:goodput_bad:ratio_rate%s%s / %s", exposition.Duration(p.Period), series, number(monitor.Allowed(o))), labels)
	for _, rule := range rules {
		r.alerts = append(r.alerts, r.alert(o, b, rule, series))
	}
	return nil
}

// wilson is the lower bound of the Wilson interval of the share p of n:
//
//	(p + z²/2n − z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n)
func wilson(p, n string, z float64) string {
	zz := number(z * z)
	return fmt.Sprintf("(%[1]s + %[3]s / (2 * %[2]s) - %[4]s * sqrt(%[1]s * (1 - %[1]s) / %[2]s + %[3]s / (4 * %[2]s ^ 2))) / (1 + %[3]s / %[2]s)",
		p, n, zz, number(z))
}

func (r *Rules) alert(o slo.Objective, b Bound, rule monitor.Rule, series string) alert {
	p := &r.plan
	long, short := exposition.Duration(rule.Long), exposition.Duration(rule.Short)
	limit := strconv.FormatFloat(rule.Threshold(monitor.Allowed(o), p.Period), 'g', 12, 64)
	a := Rule{
		Alert: exposition.AlertName(string(rule.Severity), rule.Long),
		Expr: fmt.Sprintf("objective:goodput_bad:wilson_lower%[1]s%[3]s > %[4]s\nand objective:goodput_bad:ratio_rate%[2]s%[3]s > %[4]s\nand objective:goodput_bad:ratio_rate%[1]s%[3]s * objective:goodput_requests:increase%[1]s%[3]s >= %[5]d\n",
			long, short, series, limit, p.Evidence),
		Labels: map[string]string{},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("The error budget of %s burns at more than %s times the rate that lasts %s", o,
				strconv.FormatFloat(rule.Factor(p.Period), 'g', 3, 64), exposition.Duration(p.Period)),
			"description": fmt.Sprintf("Over %s and over %s more than %s of the requests break %s, where %s may: %s.", long, short,
				percent(rule.Threshold(monitor.Allowed(o), p.Period)), o, percent(monitor.Allowed(o)), rule),
		},
	}
	if p.Source != Goodput && (!b.Exact() || b.Steps) {
		a.Annotations["bound"] = b.String()
	}
	labels := p.labels(o)
	labels["severity"] = string(rule.Severity)
	maps.Copy(labels, p.Labels)
	maps.DeleteFunc(labels, empty)
	for name, value := range labels {
		a.Labels[name] = literal(value)
	}
	return alert{o, rule, b, labels, a}
}

// percent is a share in as many digits as tell it from 0 and from all.
func percent(share float64) string {
	text := strconv.FormatFloat(100*share, 'f', figure.Decimals(100*min(share, 1-share), 3), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + "%"
}

// literal is a template that says a text as it is: Prometheus takes an alert's labels for templates.
func literal(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }
