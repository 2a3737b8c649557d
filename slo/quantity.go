package slo

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// part is a number with what stands after it: "1m" of "1m30s".
type part struct {
	number, unit piece
}

// term is what stands between two plus signs: parts, and what they are counted per ("token" of "40ms/token").
type term struct {
	parts []part
	per   piece
	whole piece
}

// parseThreshold reads what stands after the comparison.
func parseThreshold(m Metric, right piece) (Threshold, error) {
	if right.empty() {
		return Threshold{}, right.failf(ErrThreshold, "the threshold is missing")
	}
	if m.Custom() {
		return parseBare(right)
	}
	var terms []term
	for _, p := range right.split("+") {
		t, err := parseTerm(p.trim())
		if err != nil {
			return Threshold{}, err
		}
		terms = append(terms, t)
	}
	if m.IsTime() {
		return parseTime(m, right, terms)
	}
	if len(terms) > 1 {
		return Threshold{}, terms[1].whole.failf(ErrThreshold, "a threshold on %s is one number", m)
	}
	if m == Speed {
		return parseSpeed(terms[0])
	}
	return parsePercent(m, terms[0])
}

// parseBare reads the number of a caller's own metric.
func parseBare(right piece) (Threshold, error) {
	f, err := strconv.ParseFloat(right.text, 64)
	mantissa, ok := mantissaOf(right.lower())
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && f == 0 && strings.ContainsAny(mantissa, "123456789"):
		return Threshold{}, right.failf(ErrThreshold, "no float64 is so great or so small")
	case strings.ContainsFunc(right.text, isForeignDigit):
		return Threshold{}, right.failf(ErrThreshold, "digits are 0 to 9")
	case err != nil || !ok:
		return Threshold{}, right.failf(ErrThreshold,
			"the threshold of a metric of your own is a bare number, in your unit")
	}
	return Threshold{Limit: f}, nil
}

// mantissaOf is what stands before the exponent. It is not ok for what strconv reads beside decimal numbers:
// hexadecimal, underscores, a plus sign, names. A negative number, nan and inf pass, since the check of the threshold
// has better words for them.
func mantissaOf(s string) (mantissa string, ok bool) {
	s = strings.TrimPrefix(s, "-")
	if s == "nan" || s == "inf" {
		return "", true
	}
	mantissa, _, _ = strings.Cut(s, "e")
	return mantissa, isDecimal(mantissa)
}

func isUnitRune(r rune) bool {
	return unicode.IsLetter(r) || r == '%' || r == '‰' || r == '$' || r == '°'
}

func isForeignDigit(r rune) bool { return r > unicode.MaxASCII && unicode.IsDigit(r) }

func isNumberRune(r rune) bool { return r >= '0' && r <= '9' || r == '.' }

// maxNumber bounds the exact arithmetic on what may come from a network.
const maxNumber = 64

func parseTerm(p piece) (term, error) {
	t := term{whole: p}
	if p.empty() {
		return t, p.failf(ErrThreshold, "there is a number missing beside the +")
	}
	if strings.HasPrefix(p.text, "-") || strings.HasPrefix(p.text, "−") {
		return t, p.failf(ErrThreshold, "a threshold is not negative")
	}
	rest := p
	for {
		var q part
		q.number, rest = rest.take(isNumberRune)
		if !isDecimal(q.number.text) {
			if strings.ContainsFunc(p.text, isForeignDigit) {
				return t, p.failf(ErrThreshold, "digits are 0 to 9")
			}
			return t, p.failf(ErrThreshold, "a threshold is a number with its unit")
		}
		if len(q.number.text) > maxNumber {
			return t, q.number.failf(ErrThreshold, "a number has at most %d characters", maxNumber)
		}
		q.unit, rest = rest.trimLeft().take(isUnitRune)
		if q.unit.lower() == "e" {
			return t, p.failf(ErrThreshold, "a number with a unit has no exponent")
		}
		t.parts = append(t.parts, q)
		rest = rest.trimLeft()
		if rest.empty() {
			return t, nil
		}
		if !isNumberRune(rune(rest.text[0])) {
			break
		}
		if q.unit.empty() {
			return t, p.failf(ErrThreshold, "two numbers with nothing between")
		}
	}
	switch lower := rest.lower(); {
	case rest.text[0] == '/':
	case lower == "or" || strings.HasPrefix(lower, "or ") || rest.text[0] == '|':
		return t, rest.failf(ErrSyntax, "%s", noOr)
	case isTimes(lower) && strings.Contains(lower, "tok"):
		return t, rest.failf(ErrThreshold, "what is counted for each token stands after a /, as in 40ms/token")
	default:
		return t, rest.failf(ErrThreshold, "this cannot stand after the threshold; between objectives there is a comma")
	}
	t.per, rest = rest.sub(1, len(rest.text)).trimLeft().take(unicode.IsLetter)
	if rest = rest.trim(); t.per.empty() || !rest.empty() {
		return t, p.failf(ErrThreshold, "after / stands what is counted, and then nothing")
	}
	return t, nil
}

// isTimes reports whether a text begins with a sign of multiplication.
func isTimes(text string) bool {
	return strings.HasPrefix(text, "*") || strings.HasPrefix(text, "×") || strings.HasPrefix(text, "x ")
}

// timeUnits in nanoseconds.
var timeUnits = map[string]int64{
	"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9,
}

// otherUnits are for hints alone.
var otherUnits = map[string]string{
	"sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"msec": "ms", "msecs": "ms", "millis": "ms", "millisecond": "ms", "milliseconds": "ms",
	"usec": "us", "usecs": "us", "micros": "us", "microsecond": "us", "microseconds": "us",
	"nanos": "ns", "nanosecond": "ns", "nanoseconds": "ns",
	"min": "m", "mins": "m", "minute": "m", "minutes": "m",
	"hr": "h", "hrs": "h", "hour": "h", "hours": "h",
}

func isToken(s string) bool { return s == "token" || s == "tokens" || s == "tok" }

func parseTime(m Metric, right piece, terms []term) (Threshold, error) {
	var t Threshold
	var fixed, scaled bool
	for _, term := range terms {
		ns, err := term.nanoseconds(m)
		if err != nil {
			return Threshold{}, err
		}
		per := !term.per.empty()
		if per && !isToken(term.per.lower()) {
			return Threshold{}, term.per.failf(ErrThreshold, "a time can be counted per token and per nothing else")
		}
		if per && len(term.parts) > 1 {
			return Threshold{}, term.whole.failf(ErrThreshold,
				"the time per token is added by a +, and is one number")
		}
		if m == TPOT && len(terms) == 1 {
			per = false // its unit is s/token anyhow
		}
		switch {
		case per && !m.scales():
			return Threshold{}, term.whole.failf(ErrThreshold, "only %s and %s can grow with the output", E2E, ServiceE2E)
		case per && scaled || !per && fixed:
			return Threshold{}, term.whole.failf(ErrThreshold, "a threshold has one fixed time and one per token")
		case per:
			scaled, t.PerToken = true, float64(ns)/billion
		default:
			fixed, t.Limit = true, float64(ns)/billion
		}
	}
	// A part that was written and is 0 would vanish from the text.
	if fixed && t.Limit == 0 || scaled && t.PerToken == 0 {
		return Threshold{}, right.failf(ErrThreshold, "a time is at least 1ns")
	}
	return t, nil
}

// nanoseconds adds up the parts exactly and rounds once, a half away from 0. Beyond MaxTime it is MaxTime + 1, which
// the check of the threshold refuses.
func (t term) nanoseconds(m Metric) (int64, error) {
	sum := new(big.Rat)
	for _, p := range t.parts {
		name := p.unit.lower()
		unit, ok := timeUnits[name]
		if !ok {
			return 0, t.noTime(m, p)
		}
		value, ok := new(big.Rat).SetString(p.number.text)
		if !ok {
			return 0, p.number.failf(ErrThreshold, "a threshold is a number with its unit")
		}
		sum.Add(sum, value.Mul(value, new(big.Rat).SetInt64(unit)))
	}
	if sum.Cmp(new(big.Rat).SetInt64(int64(MaxTime))) > 0 {
		return int64(MaxTime) + 1, nil
	}
	sum.Add(sum, big.NewRat(1, 2))
	return new(big.Int).Quo(sum.Num(), sum.Denom()).Int64(), nil
}

func (t term) noTime(m Metric, p part) error {
	name := p.unit.lower()
	if p.unit.empty() {
		return t.whole.failf(ErrThreshold, "the number has no unit")
	}
	if name == "%" || isToken(name) {
		return t.whole.failf(ErrThreshold, "%s is a time", m)
	}
	return p.unit.failf(ErrThreshold, "unknown unit, a time is in ns, us, ms, s, m or h")
}

func parseSpeed(t term) (Threshold, error) {
	unit := t.parts[0].unit.lower()
	if unit == "" && t.per.empty() {
		return Threshold{}, t.whole.failf(ErrThreshold, "the number has no unit")
	}
	if len(t.parts) > 1 || !isToken(unit) || t.per.lower() != "s" {
		return Threshold{}, t.whole.failf(ErrThreshold, "a speed is in tok/s")
	}
	f, err := strconv.ParseFloat(t.parts[0].number.text, 64)
	if err != nil {
		f = 2 * MaxSpeed // out of range: the check of the threshold refuses it
	}
	return Threshold{Limit: f}, nil
}

func parsePercent(m Metric, t term) (Threshold, error) {
	number := t.parts[0].number.text
	if t.parts[0].unit.empty() && t.per.empty() {
		if f, err := strconv.ParseFloat(number, 64); err == nil && f == 0 {
			return Threshold{}, nil // the check of the threshold refuses it
		}
		return Threshold{}, t.whole.failf(ErrThreshold, "the number has no unit")
	}
	if len(t.parts) > 1 || t.parts[0].unit.text != "%" || !t.per.empty() {
		return Threshold{}, t.whole.failf(ErrThreshold, "%s is in percent", m)
	}
	// The exponent divides by 100 before the one rounding there is.
	f, err := strconv.ParseFloat(number+"e-2", 64)
	if err != nil {
		f = 2 // out of range: the check of the threshold refuses it
	}
	return Threshold{Limit: f}, nil
}
