package slo

import (
	"slices"
	"strings"
	"unicode"
)

// lexeme is a word of a refused text, as hints read it: more freely than the grammar.
type lexeme struct {
	kind lexemeKind
	text string
	unit string // of a number
}

type lexemeKind uint8

const (
	noLexeme lexemeKind = iota
	wordLexeme
	numberLexeme
	comparisonLexeme
	punctLexeme
)

// fold brings a text nearer to what the grammar reads: lower case, ASCII for full-width forms and for the digits of other
// scripts, no characters that cannot be seen.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '！' && r <= '～':
			r -= '！' - '!'
		case r == '−':
			r = '-'
		case unicode.Is(unicode.Cf, r):
			return -1
		case r > unicode.MaxASCII && unicode.IsDigit(r):
			// The digits of a script are ten in a row, from 0 on, and a row may follow another.
			n := rune(0)
			for unicode.IsDigit(r - n - 1) {
				n++
			}
			r = '0' + n%10
		}
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isWordRune(r rune) bool { return unicode.IsLetter(r) || isDigit(r) || r == '_' }

const hintComparisons = comparisonRunes + "≦≧⩽⩾"

// lex cuts a folded text into lexemes.
func lex(text string) (all []lexeme) {
	for rest := (piece{text: text}).trim(); !rest.empty(); rest = rest.trimLeft() {
		var w piece
		runes := []rune(rest.text)
		first, second := runes[0], rune(0)
		if len(runes) > 1 {
			second = runes[1]
		}
		switch {
		case isDigit(first) || first == '.' && isDigit(second):
			w, rest = takeNumber(rest)
			l := lexeme{kind: numberLexeme, text: w.text}
			l.unit, rest = takeUnit(rest)
			all = append(all, l)
		case unicode.IsLetter(first) || first == '_':
			w, rest = takeWord(rest)
			all = append(all, lexeme{kind: wordLexeme, text: w.text})
		case strings.ContainsRune(hintComparisons, first):
			w, rest = rest.take(func(r rune) bool { return strings.ContainsRune(hintComparisons, r) })
			all = append(all, lexeme{kind: comparisonLexeme, text: w.text})
		default:
			n := len(string(first))
			all = append(all, lexeme{kind: punctLexeme, text: rest.text[:n]})
			rest = rest.sub(n, len(rest.text))
		}
	}
	return all
}

// takeNumber takes digits, a point, underscores and an exponent.
func takeNumber(p piece) (number, rest piece) {
	number, rest = p.take(func(r rune) bool { return isDigit(r) || r == '.' || r == '_' })
	if after, ok := strings.CutPrefix(rest.text, "e"); ok {
		digits := strings.TrimLeft(after, "+-")
		if n := strings.IndexFunc(digits+" ", func(r rune) bool { return !isDigit(r) }); n > 0 && len(after)-len(digits) <= 1 {
			end := len(number.text) + 1 + len(after) - len(digits) + n
			return p.sub(0, end), p.sub(end, len(p.text))
		}
	}
	return number, rest
}

// takeUnit takes what stands right behind a number, or after a space where it is a unit.
func takeUnit(p piece) (string, piece) {
	if unit, rest := p.take(isUnitRune); !unit.empty() {
		return unit.text, rest
	}
	if word, rest := p.trimLeft().take(isUnitRune); !word.empty() && !strings.HasPrefix(rest.text, "_") && !isDigit(rune((rest.text + " ")[0])) {
		_, isTime := timeUnit(word.text)
		if isTime || isPercent(word.text) || word.text == "‰" || isToken(word.text) || hours[word.text] > 0 || alias[word.text] == Speed || rates[word.text] ||
			strings.HasPrefix(word.text, "req") {
			return word.text, rest
		}
	}
	return "", p
}

// takeWord takes letters, digits and underscores, and a point or a hyphen between them.
func takeWord(p piece) (word, rest piece) {
	runes := []rune(p.text)
	n := 0
	for i, r := range runes {
		between := (r == '.' || r == '-' || r == '@') && i > 0 && isWordRune(runes[i-1]) && i+1 < len(runes) && isWordRune(runes[i+1])
		if !isWordRune(r) && !between {
			break
		}
		n += len(string(r))
	}
	return p.sub(0, n), p.sub(n, len(p.text))
}

// filler are words that are no metric.
var filler = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields("a all and at be below by every for has have in is it less lower least more most must no of on or " +
		"over above greater requests request should shall than the them to under up users within with e x s") {
		all[w] = true
	}
	return all
}()

// percentileWords stand before or behind the number of a percentile.
var percentileWords = []string{"p", "tp", "q", "pct", "pctl", "perc", "percentile", "quantile", "centile", "ile", "histogram_quantile"}

// ordinal reads "95th" and "95 percentile", and says how many words after the number belong to it; -1: it is neither.
func ordinal(number, next lexeme) (Percentile, int) {
	named := next.kind == wordLexeme && len(next.text) > 2 && slices.Contains(percentileWords, next.text)
	switch number.unit {
	case "th", "st", "nd", "rd", "percentile", "%ile":
		if named {
			return percentileOf(number.text), 1
		}
		return percentileOf(number.text), 0
	case "":
		if named {
			return percentileOf(number.text), 1
		}
	}
	return 0, -1
}

// percentileAt reads "p95", "tp99", "p(95)" and "percentile 95", and says how many words that takes; 0: it is none.
func percentileAt(words []lexeme) (Percentile, int) {
	text := words[0].text
	for _, prefix := range percentileWords {
		rest, ok := strings.CutPrefix(text, prefix)
		if !ok {
			continue
		}
		if rest = strings.TrimLeft(rest, "_-.@"); isDecimal(rest) {
			return percentileOf(rest), 1
		}
		if rest != "" {
			// p95x, p9.9.9
			if n := strings.IndexFunc(rest, func(r rune) bool { return !isDigit(r) }); n > 0 && !strings.Contains(rest, "_") {
				return percentileOf(rest[:n]), 1
			}
			continue
		}
		for i := 1; i < len(words) && i <= 2; i++ {
			if words[i].kind == numberLexeme && words[i].unit == "" {
				n := i + 1
				if n < len(words) && words[i-1].text == "(" && words[n].text == ")" {
					n++
				}
				return percentileOf(words[i].text), n
			}
			if words[i].kind != punctLexeme {
				break
			}
		}
	}
	return 0, 0
}

// named is a metric that a refused text names.
type named struct {
	metric     Metric // "": a rate of requests, on which there is no objective
	opposite   bool   // error_rate by the name of the share that succeeds
	percentile Percentile
}

// metricAt finds a metric, by its name or by another, in one word or in several, and says how many words that takes; 0:
// there is none.
func metricAt(words []lexeme) (named, int) {
	const most = 5 // time to first output token
	n := 0
	for n < len(words) && n < most && words[n].kind == wordLexeme {
		n++
	}
	for ; n > 0; n-- {
		var parts []string
		for _, w := range words[:n] {
			parts = append(parts, w.text)
		}
		name := strings.NewReplacer("-", "_", ".", "_", "@", "_").Replace(strings.Join(parts, "_"))
		if m, ok := metricNamed(name); ok {
			return m, n
		}
	}
	text := words[0].text
	for i := 1; i < len(text); i++ { // ttft_p95, p95_ttft
		front, back := strings.TrimRight(text[:i], "_-.@"), strings.TrimLeft(text[i:], "_-.@")
		for _, c := range [][2]string{{front, back}, {back, front}} {
			m, ok := metricNamed(c[0])
			p, n := percentileAt([]lexeme{{kind: wordLexeme, text: c[1]}})
			if ok && n > 0 {
				m.percentile = p
				return m, 1
			}
		}
	}
	if m := ownMetric(text); m != "" {
		return named{metric: m}, 1
	}
	return named{}, 0
}

func metricNamed(name string) (named, bool) {
	if slices.Contains(builtin, Metric(name)) {
		return named{metric: Metric(name)}, true
	}
	if m, ok := alias[name]; ok {
		return named{metric: m}, true
	}
	if _, ok := successes[name]; ok {
		return named{metric: ErrorRate, opposite: true}, true
	}
	if of, ok := strings.CutSuffix(name, "_bucket"); ok { // of a histogram in Prometheus
		return metricNamed(strings.TrimSuffix(of, "_seconds"))
	}
	if isOneOutcome(name) {
		return named{metric: ErrorRate}, true
	}
	return named{}, rates[name]
}

// ownMetric is the name of a caller's own metric with what cannot stand in it as underscores; "": it is no such name.
func ownMetric(text string) Metric {
	if !strings.HasPrefix(text, customPrefix) {
		return ""
	}
	m := Metric(strings.Map(func(r rune) rune {
		if isWordRune(r) && r <= unicode.MaxASCII {
			return r
		}
		return '_'
	}, text))
	if strings.Trim(string(m[len(customPrefix):]), "_") == "" {
		m = customPrefix + "cost"
	}
	if len(m) > MaxMetricName {
		m = m[:MaxMetricName]
	}
	return m
}
