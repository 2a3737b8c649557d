package slo

import (
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// hint adds to the error of an item how to write what it seems to mean: texts that Parse reads, with the item's own
// metric, percentile and numbers as far as they can be made out, and at most so many objectives.
func hint(item string, err error, most int) error {
	for _, kind := range []error{ErrTooLong, ErrDuplicate, ErrUndefined} {
		if errors.Is(err, kind) {
			return err
		}
	}
	return advise(err, suggest(item, most)...)
}

const (
	maxHintText = 512 // bytes of an item that are looked at
	maxHint     = 240 // bytes of the texts that are suggested
)

// suggest is what a refused item may have meant: one text, or several where it does not say which unit or metric; none
// where nothing can be made out. Each is an SLO of at most so many objectives.
func suggest(item string, most int) []string {
	drafts := readDrafts(lex(fold(item[:min(len(item), maxHintText)])))
	for drafts = drafts[:min(len(drafts), MaxObjectives)]; len(drafts) > 0; drafts = drafts[:len(drafts)/2] {
		var texts []string
		size := 0
		for choice := range 4 {
			var parts []string
			for _, d := range drafts {
				parts = append(parts, d.texts(choice)...)
			}
			text := strings.Join(parts, ", ")
			if s, _, err := read(text); err == nil && len(s.Objectives) <= most && size+len(text) <= maxHint && !slices.Contains(texts, text) {
				texts = append(texts, text)
				size += len(text)
			}
		}
		if len(texts) > 0 {
			return texts
		}
	}
	return nil
}

// amount is a number of a refused text, with what stands after it.
type amount struct {
	number, unit string
	per          string // "token" of "40ms/token"
	after        bool   // the comparison
	added        bool   // a + stands before it
	joined       bool   // nothing stands between it and the amount before it
}

// names reports which parts of an objective a text names.
func names(p piece) (metric, percentile bool) {
	for _, d := range readDrafts(lex(fold(p.text))) {
		metric, percentile = metric || len(d.metrics) > 0, percentile || len(d.percentiles) > 0
	}
	return metric, percentile
}

// draft is what seems to be one objective of a refused text.
type draft struct {
	metrics     []Metric
	unknown     string // a word that may have been meant as a metric
	percentiles []Percentile
	aggregate   string // a word that stands where the percentile belongs
	amounts     []amount
	compared    bool // a comparison was seen
	higher      bool // and it was that for metrics of which more is better
	closed      bool // a second comparison was seen: what follows does not belong here
	opposite    bool // the share of successes was named, and error_rate is meant
	millis      bool // the form is one in which bare numbers are milliseconds
	seconds     bool // or seconds
	rate        bool // a rate of requests was named, on which there is no objective
}

// has reports whether the draft has a threshold and those of the other parts that are asked for, so that another such part
// begins the next objective.
func (d *draft) has(metric, percentile bool) bool {
	return (len(d.metrics) > 0 || !metric) && (len(d.percentiles) > 0 || !percentile) && len(d.amounts) > 0
}

// readDrafts finds the objectives in the words of a refused text.
func readDrafts(words []lexeme) []*draft {
	d := &draft{}
	all := []*draft{d}
	next := func(begin bool) {
		if begin {
			d = &draft{}
			all = append(all, d)
		}
	}
	at := func(i int) lexeme {
		if i < len(words) {
			return words[i]
		}
		return lexeme{}
	}
	last := -1 // where the amount before ended
	added := false
	for i := 0; i < len(words); i++ {
		switch w := words[i]; w.kind {
		case comparisonLexeme:
			d.closed = d.compared && slices.ContainsFunc(d.amounts, func(a amount) bool { return a.after })
			d.compared, d.higher = true, strings.ContainsAny(w.text, ">≥≧⩾")
		case punctLexeme:
			if w.text == ":" && !d.compared && len(d.metrics) > 0 {
				d.millis = true
			}
			added = w.text == "+"
		case numberLexeme:
			if p, n := ordinal(w, at(i+1)); n >= 0 { // 95th percentile
				next(d.has(true, true))
				d.percentiles = append(d.percentiles, p)
				i += n
				break
			}
			a := amount{number: w.text, unit: w.unit, after: d.compared, added: added, joined: last == i-1}
			switch sep, unit := at(i+1), at(i+2); {
			case unit.kind != wordLexeme:
			case sep.text == "/" || sep.text == "per":
				a.per = unit.text
				i += 2
			case isTimes(sep.text+" ") && strings.Contains(unit.text, "tok"): // 40ms * output_tokens
				a.per = "token"
				i += 2
			}
			if last = i; !d.closed {
				d.amounts = append(d.amounts, a)
			}
			added = false
		case wordLexeme:
			if p, n := percentileAt(words[i:]); n > 0 {
				next(d.has(true, true))
				d.percentiles = append(d.percentiles, p)
				d.millis = d.millis || w.text == "p" && at(i+1).text == "(" // p(95), as in k6
				d.seconds = d.seconds || w.text == "histogram_quantile"
				i += n - 1
				break
			}
			if _, ok := aggregates[w.text]; ok {
				d.aggregate = w.text
				break
			}
			if m, n := metricAt(words[i:]); n > 0 {
				next(d.has(true, false))
				d.take(m)
				i += n - 1
				if m.percentile != 0 {
					d.percentiles = append(d.percentiles, m.percentile)
				}
			} else if d.unknown == "" && !filler[w.text] {
				d.unknown = w.text
			}
		}
	}
	// A metric behind the last threshold is no objective.
	return slices.DeleteFunc(all, func(d *draft) bool { return d != all[0] && len(d.amounts) == 0 })
}

func (d *draft) take(m named) {
	switch {
	case m.metric == "":
		d.rate = true
	case !slices.Contains(d.metrics, m.metric):
		d.metrics = append(d.metrics, m.metric)
		d.opposite = m.opposite
	}
}

// texts are the objectives that the draft may have meant, one for each of its metrics and percentiles. Where it does not
// say enough, choice, 0 to 3, tells apart what it can mean: its lower bit the unit, its upper one the metric.
func (d *draft) texts(choice int) (all []string) {
	metrics := d.guess(choice / 2)
	choice %= 2
	for _, m := range metrics {
		amounts, percentiles := d.sort(m)
		head := func(p Percentile) string { return string(m) + " " + p.String() }
		if m.Population() {
			percentiles = []Percentile{0}
			head = func(Percentile) string { return string(m) }
		}
		for _, p := range percentiles {
			if p.checkFor(m) != nil {
				p = p.rest()
			}
			for _, threshold := range append(d.thresholds(m, amounts, choice), exampleThreshold(m).text(m)) {
				o := Objective{Metric: m}
				text := head(p) + " " + o.comparison() + " " + threshold
				if _, err := parseObjective(piece{text: text}); err == nil {
					all = append(all, text)
					break
				}
			}
		}
	}
	return all
}

// guess is which metrics are meant.
func (d *draft) guess(choice int) []Metric {
	if len(d.metrics) > 0 {
		return d.metrics
	}
	if d.rate {
		return nil
	}
	if near := Metric(d.unknown).nearest(); near != "" {
		return []Metric{near}
	}
	if len(d.amounts) == 0 {
		return nil
	}
	switch a := d.amounts[len(d.amounts)-1]; {
	case isToken(a.unit):
		return []Metric{Speed}
	case isPercent(a.unit) && d.higher:
		return []Metric{Attainment}
	case isPercent(a.unit):
		return []Metric{ErrorRate}
	case a.unit == "" && d.unknown != "":
		if own := ownMetric(customPrefix + d.unknown); own != "" {
			return []Metric{own}
		}
	}
	return [][]Metric{{TTFT}, {E2E}}[choice]
}

// sort tells the amounts of the threshold from those that stand where a percentile belongs.
func (d *draft) sort(m Metric) (amounts []amount, percentiles []Percentile) {
	amounts, percentiles = slices.Clone(d.amounts), slices.Clone(d.percentiles)
	if !m.Population() && len(percentiles) == 0 && len(amounts) > 1 {
		stands := func(a amount) bool { return isPercent(a.unit) || a.unit == "" && d.compared && !a.after }
		if i := slices.IndexFunc(amounts, stands); i >= 0 {
			percentiles = append(percentiles, percentileOf(amounts[i].number))
			amounts = slices.Delete(amounts, i, i+1)
		}
	}
	if len(percentiles) == 0 && len(amounts) == 1 && isPercent(amounts[0].unit) && !amounts[0].after && !m.Population() {
		percentiles, amounts = append(percentiles, percentileOf(amounts[0].number)), nil
	}
	if after := slices.DeleteFunc(slices.Clone(amounts), func(a amount) bool { return !a.after }); len(after) > 0 {
		amounts = after
	}
	if len(percentiles) == 0 {
		percentiles = []Percentile{P95}
		if d.aggregate != "" {
			percentiles[0] = aggregateOf(d.aggregate, m).instead
		}
	}
	return amounts, percentiles
}

// thresholds are ways to write the amounts as a threshold of m, the nearest first.
func (d *draft) thresholds(m Metric, amounts []amount, choice int) []string {
	if len(amounts) == 0 {
		return nil
	}
	first := amounts[0]
	switch m.kind() {
	case timeKind:
		bare := []string{"s", "ms"}[choice]
		switch {
		case d.millis:
			bare = "ms"
		case d.seconds:
			bare = "s"
		}
		return []string{timeHint(m, amounts, bare), "720h"}[:1+tooMuch(amounts)]
	case speedKind:
		if v := plain(first.number); v != nil {
			return []string{decimalText(v) + "tok/s"}
		}
	case ratioKind:
		return ratioHint(m, amounts, d.opposite, choice)
	case customKind:
		if v := plain(first.number); v != nil && !(v.Sign() == 0 && strings.HasPrefix(first.unit, "x")) { // 0x10
			number := strings.ReplaceAll(first.number, "_", "")
			if d.higher && first.after && choice == 0 {
				number = "-" + number // of the negative, of which less is better
			}
			return []string{number}
		}
	}
	return nil
}

// tooMuch is 1 where the text may have a time beyond MaxTime, and 0 elsewhere.
func tooMuch(amounts []amount) int {
	a := amounts[0]
	if v, ok := hours[a.unit]; ok {
		if n := plain(a.number); n != nil && n.Cmp(big.NewRat(int64(MaxTime.Hours()), v)) > 0 {
			return 1
		}
	}
	return 0
}

// hours is how many hours there are in those units that can be too many.
var hours = map[string]int64{"h": 1, "hr": 1, "hrs": 1, "hour": 1, "hours": 1, "d": 24, "day": 24, "days": 24}

// timeHint writes amounts as a fixed time and a time per token.
func timeHint(m Metric, amounts []amount, bare string) string {
	var fixed, scaled string
	before := ""
	for i, a := range amounts {
		v := plain(a.number)
		if v == nil || i > 0 && !a.joined && !a.added && a.per == "" {
			continue
		}
		unit, known := timeUnit(a.unit)
		switch {
		case hours[a.unit] == 24:
			v, unit = v.Mul(v, big.NewRat(24, 1)), "h"
		case known:
		case a.unit == "" && smaller[before] != "" && a.joined && !a.added:
			unit = smaller[before] // 1m30
		case i+1 < len(amounts) && a.unit == "" && amounts[i+1].joined && !amounts[i+1].added:
			if next := amounts[i+1].number; len(next) == 3 && !strings.Contains(next, ".") { // 1 200ms
				amounts[i+1].number = a.number + next
			}
			continue
		case a.added && m.scales() || a.per != "":
			unit = "ms"
		default:
			unit = bare
		}
		before = unit
		text := decimalText(v) + unit
		switch per := a.per != "" || a.added && fixed != ""; {
		case per && m.scales() && scaled == "":
			scaled = text + "/token"
		case per && fixed == "" && scaled == "":
			fixed = text
		case !per:
			fixed += text
		}
	}
	if fixed != "" && scaled != "" {
		return fixed + " + " + scaled
	}
	return fixed + scaled
}

// smaller is the unit of the 30 in 1m30.
var smaller = map[string]string{"h": "m", "m": "s", "s": "ms", "ms": "us"}

func timeUnit(name string) (string, bool) {
	if other, ok := otherUnits[name]; ok {
		return other, true
	}
	_, ok := timeUnits[name]
	return name, ok
}

// ratioHint writes the amount that is a share in percent.
func ratioHint(m Metric, amounts []amount, opposite bool, choice int) []string {
	i := max(0, slices.IndexFunc(amounts, func(a amount) bool { return isPercent(a.unit) }))
	v := plain(amounts[i].number)
	if v == nil {
		return nil
	}
	hundred := big.NewRat(100, 1)
	switch unit := amounts[i].unit; {
	case isPercent(unit):
	case unit == "‰":
		v.Quo(v, big.NewRat(10, 1))
	case unit != "" || amounts[i].per != "":
		return nil
	case v.Sign() > 0 && v.Cmp(big.NewRat(1, 1)) <= 0 && (choice == 0 || opposite || m == Attainment): // a share of 1
		v.Mul(v, hundred)
	}
	if opposite {
		v.Sub(hundred, v)
	}
	switch {
	case v.Sign() == 0 && m == ErrorRate:
		return []string{"0.1%"}
	case v.Cmp(hundred) == 0 && m == Attainment:
		return []string{"99.9%"}
	}
	return []string{decimalText(v) + "%"}
}

// plain is the number that a text writes in decimals, an exponent of at most two digits included; nil: none.
func plain(text string) *big.Rat {
	text = strings.ReplaceAll(text, "_", "")
	mantissa, exponent, _ := strings.Cut(text, "e")
	if !isDecimal(mantissa) || len(mantissa) > maxNumber || len(strings.TrimLeft(exponent, "+-")) > 2 {
		return nil
	}
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return v
}

// decimalText writes v, which has a finite decimal.
func decimalText(v *big.Rat) string {
	places, _ := v.FloatPrec()
	return v.FloatString(places)
}

// percentileOf is the percentile nearest to a number that stands for one.
func percentileOf(number string) Percentile {
	f, err := strconv.ParseFloat(strings.ReplaceAll(number, "_", ""), 64)
	if err != nil {
		return P95
	}
	return Percentile(f).nearest()
}

func isPercent(unit string) bool { return unit == "%" || unit == "percent" || unit == "pct" }

// suggestRule is what a refused rule for undefined values may have meant.
func suggestRule(said string) string {
	metric, rule := TPOT, UndefinedHolds
	words := lex(fold(said[:min(len(said), maxHintText)]))
	for i, w := range words {
		if w.kind != wordLexeme {
			continue
		}
		if r, ok := ruleNamed(w.text); ok {
			rule = r
		} else if m, n := metricAt(words[i:]); n > 0 && m.metric.canBeUndefined() {
			metric = m.metric
		} else if near := Metric(w.text).nearest(); near.canBeUndefined() {
			metric = near
		}
	}
	return "undefined " + string(metric) + ": " + string(rule)
}

func ruleNamed(word string) (UndefinedRule, bool) {
	for _, r := range []struct {
		beginning string
		rule      UndefinedRule
	}{
		{"hold", UndefinedHolds}, {"held", UndefinedHolds}, {"pass", UndefinedHolds}, {"ok", UndefinedHolds}, {"good", UndefinedHolds},
		{"miss", UndefinedMisses}, {"fail", UndefinedMisses}, {"late", UndefinedMisses}, {"bad", UndefinedMisses},
		{"exclu", UndefinedExcluded}, {"ignor", UndefinedExcluded}, {"skip", UndefinedExcluded}, {"drop", UndefinedExcluded},
	} {
		if strings.HasPrefix(word, r.beginning) {
			return r.rule, true
		}
	}
	return "", false
}

// suggestPair is what a refused pair of vLLM's form may have meant.
func suggestPair(pair string) []string {
	d := readDrafts(lex(fold(pair[:min(len(pair), maxHintText)])))[0]
	name, own := "ttft", ""
	for _, m := range d.guess(0) {
		for n, of := range vllmMetrics {
			if of == m {
				name = n
			}
		}
	}
	if len(d.amounts) > 0 {
		unit, _ := timeUnit(d.amounts[0].unit)
		if v := plain(d.amounts[0].number); v != nil && v.Sign() > 0 {
			if ns, ok := timeUnits[unit]; ok {
				v.Mul(v, big.NewRat(ns, timeUnits["ms"]))
			}
			own = name + ":" + decimalText(v)
		}
	}
	if _, err := parsePair(piece{text: own}, P95); err == nil {
		return []string{own}
	}
	return []string{name + ":800"}
}
