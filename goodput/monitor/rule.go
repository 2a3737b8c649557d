package monitor

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// Severity is what to do about an alert: a word of up to 32 letters, digits, - and _, for it is part of names and labels elsewhere, or "" for
// none.
type Severity string

func (s Severity) valid() bool {
	return len(s) <= 32 && strings.Trim(string(s), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// The severities of the derived rules.
const (
	Page   Severity = "page"   // somebody has to look now
	Ticket Severity = "ticket" // somebody has to look tomorrow
)

// A Rule says when an error budget burns too fast: when, over a long and over a short window, more of the requests are bad
// than would spend so much of the period's budget in the long one. The short window is there so that the alert ends soon
// after its cause. The Site Reliability Workbook (B. Beyer et al., 2018), chapter 5, calls it a multi-window, multi-burn-rate
// alert.
//
//	factor    = budget · period / long        burn rate: 1 spends the whole budget in just the period
//	threshold = factor · (1 − target)         share of bad requests
type Rule struct {
	Severity  Severity      `json:"severity"`
	Budget    float64       `json:"budget"`              // share of the period's budget, above 0 and up to 1
	Long      time.Duration `json:"-"`                   // "long_s" in JSON, in seconds
	Short     time.Duration `json:"-"`                   // "short_s" in JSON, in seconds
	Objective string        `json:"objective,omitempty"` // canonical text of the only one that it is about; "": every one
}

// Factor is the burn rate above which the rule fires.
func (r Rule) Factor(period time.Duration) float64 {
	return r.Budget * (float64(period) / float64(r.Long))
}

// Threshold is the share of bad requests above which it fires, where allowed is the share that may be bad.
func (r Rule) Threshold(allowed float64, period time.Duration) float64 {
	return r.Factor(period) * allowed
}

// String says it in words: "2% of the budget in 1h".
func (r Rule) String() string {
	return fmt.Sprintf("%s of the budget in %s", percent(r.Budget), duration(r.Long))
}

// Allowed is the share of a population that may be bad by an objective, which is its whole error budget: 5 % for a P95, the
// threshold of an error_rate, what is left of an attainment.
func Allowed(o slo.Objective) float64 { return float64(o.Budget()) / 1e9 }

// ladder is the customary rules, by parts of the period or, where that is longer, of 30 days: of these 1 h, 6 h, 1 d and 3 d, with factors of
// 14.4, 6, 3 and 1.
var ladder = []struct {
	severity Severity
	budget   float64
	parts    int
}{{Page, 0.02, 720}, {Page, 0.05, 120}, {Ticket, 0.1, 30}, {Ticket, 0.1, 10}}

const (
	shortPart   = 12               // of a long window: the short one
	leastWindow = 10 * time.Second // ten slots
	leastPeriod = time.Hour
	greatest    = 0.5 // threshold of a derived rule
)

// DefaultRules are the rules of an objective where nobody gives others, derived from its target and the period. They are
// the customary ones, the long windows in proportion to the period (of 30 days 1 h, 6 h, 1 d and 3 d, with factors of 14.4, 6, 3 and 1)
// and the short ones a twelfth of them; but
//
//   - of a period that is longer than 30 days the windows and the factors are those of 30 days, and the shares of the budget smaller: an outage is
//     noticed as soon, and not three times as late, because the budget is a quarter's.
//   - no factor is so high that more than half of all requests have to be bad: of a P95 the first one is 10 (the
//     customary 14.4 would need 72 % bad), of a P90 it is 5 (14.4 could never be, for 10 is all bad). It is at least 1.
//   - a rule with a longer window and no lower factor says nothing new and is left out;
//   - so is one whose short window would be below 10 s.
func DefaultRules(o slo.Objective, period time.Duration) []Rule {
	var rules []Rule
	allowed := Allowed(o)
	last := math.Inf(1)
	of := min(period, DefaultPeriod)
	for _, step := range ladder {
		long := of / time.Duration(step.parts)
		r := Rule{Severity: step.severity, Budget: step.budget * (float64(of) / float64(period)), Long: long, Short: long / shortPart}
		factor := r.Factor(period)
		if most := max(greatest/allowed, 1); factor > most {
			factor = most
			r.Budget = factor * float64(long) / float64(period)
		}
		if factor < last && r.Short >= leastWindow {
			last = factor
			rules = append(rules, r)
		}
	}
	return rules
}

// What can be wrong with a rule; the errors of [New] wrap them.
var (
	ErrUnreachable = errors.New("cannot fire: not even if every request is bad")
	ErrRule        = errors.New("cannot be meant as an alert")
)

// Check refuses a rule that cannot be meant for an objective and a period. One that could not fire even if every request
// was bad is an error that wraps [ErrUnreachable] and says which could be had; a window that is too long or too short is one that
// wraps [ErrWindow], and anything else wraps [ErrRule].
func (r Rule) Check(o slo.Objective, period time.Duration) error {
	switch {
	case !r.Severity.valid():
		return fmt.Errorf("%w: the severity %.40q is no word of up to 32 letters, digits, - and _, such as page", ErrRule, string(r.Severity))
	case !(r.Budget > 0 && r.Budget <= 1):
		return fmt.Errorf("%w: a share of the budget is above 0 and up to 1, not %v", ErrRule, r.Budget)
	case r.Short < leastWindow:
		return fmt.Errorf("the short window of %v: %w", r, windowError(r.Short, leastWindow))
	case r.Long > MaxWindow:
		return fmt.Errorf("the long window of %v: %w", r, windowError(r.Long, leastWindow))
	case r.Long > period:
		return fmt.Errorf("%w: %v is longer than the period of %v", ErrRule, r, duration(period))
	case r.Short > r.Long:
		return fmt.Errorf("%w: the short window, %v, is longer than the long one, %v", ErrRule, duration(r.Short), duration(r.Long))
	}
	factor, allowed := r.Factor(period), Allowed(o)
	if factor < 1-1e-12 {
		return fmt.Errorf("%w: %v is a burn rate of %s, at which the budget of %v lasts: ask for %s or more in %v", ErrRule, r,
			short(factor), duration(period), percent(float64(r.Long)/float64(period)), duration(r.Long))
	}
	if factor*allowed < 1 {
		return nil
	}
	// At θ = ½, as the derived ones are.
	budget := greatest * float64(r.Long) / float64(period) / allowed
	long := time.Duration(math.Ceil(r.Budget * float64(period) * allowed / greatest))
	what := fmt.Sprintf("%s of the budget in %s", percent(budget), duration(r.Long))
	if budget*float64(period)/float64(r.Long) < 1 { // where half bad is less than may be
		what = "no alert on a burn rate"
	} else if long <= period {
		what += fmt.Sprintf(", or %s in %s (where half are bad)", percent(r.Budget), duration(long.Round(time.Second)))
	}
	return fmt.Errorf("%w: %v is a burn rate of %s, and %v, which allows %s bad, has none above %s: what can be had is %s", ErrUnreachable, r,
		short(factor), o, percent(allowed), short(1/allowed), what)
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

func percent(x float64) string { return short(100*x) + "%" }

// duration is d as people write it: 6h and not 6h0m0s.
func duration(d time.Duration) string {
	if d >= 24*time.Hour && d%(24*time.Hour) == 0 {
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	s := d.String()
	if n := len(s); n > 2 && s[n-2:] == "0s" && (s[n-3] == 'm' || s[n-3] == 'h') {
		s = s[:n-2]
	}
	if n := len(s); n > 2 && s[n-2:] == "0m" && s[n-3] == 'h' {
		s = s[:n-2]
	}
	return s
}
