package slo

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Parse reads an SLO as the package documentation describes it. The error is a *ParseError.
func Parse(text string) (SLO, error) {
	if len(text) > MaxText {
		return SLO{}, tooLong(text)
	}
	s, item, err := read(text)
	if err != nil {
		text, err := apart(text, item, err)
		return SLO{}, hint(text, err, MaxObjectives)
	}
	return s, nil
}

// read is Parse without its hints. With an error comes the item that is at fault.
func read(text string) (SLO, piece, error) {
	var s SLO
	var rules []piece // where the metrics of the undefined clauses stand
	whole := piece{text: text}
	for _, item := range whole.split(",;\n") {
		if item = item.trim(); item.empty() {
			continue
		}
		if m, rule, isRule, err := parseUndefined(item); err != nil {
			return SLO{}, item, err
		} else if isRule {
			if s.Undefined == nil {
				s.Undefined = map[Metric]UndefinedRule{}
			}
			metric := Metric(m.lower())
			if _, ok := s.Undefined[metric]; ok {
				return SLO{}, item, item.failf(ErrDuplicate, "there is already a rule for undefined %s: keep one of the two", metric)
			}
			s.Undefined[metric] = rule
			rules = append(rules, m)
			continue
		}
		o, err := parseObjective(item)
		if err != nil {
			return SLO{}, item, err
		}
		if s.Objectives = append(s.Objectives, o); len(s.Objectives) > MaxObjectives {
			return SLO{}, item, item.failf(ErrTooLong, "there are more than %d objectives", MaxObjectives)
		}
		if err := s.checkRepeated(len(s.Objectives) - 1); err != nil {
			return SLO{}, item, item.fail(err)
		}
	}
	if len(s.Objectives) == 0 {
		return SLO{}, whole, whole.end().fail(emptyProblem())
	}
	for _, m := range rules {
		if err := s.checkUndefined(Metric(m.lower())); err != nil {
			return SLO{}, m, m.fail(err)
		}
	}
	return s, piece{}, nil
}

// apart is the error of an item that a comma cut off that does not stand between objectives, with the whole of it; any other
// item and error it leaves as they are.
func apart(text string, item piece, err error) (string, error) {
	if joined, err := decimalComma(text, item); err != nil {
		return joined, err
	}
	if joined, err := oneThreshold(text, item); err != nil {
		return joined, err
	}
	return item.text, err
}

// decimalComma is the error of an item that a comma inside a number cut off.
func decimalComma(text string, item piece) (string, error) {
	from, to := item.pos, item.pos+len(item.text)
	inNumber := func(i int) bool {
		return i > 0 && i+1 < len(text) && text[i] == ',' && isDigit(rune(text[i-1])) && isDigit(rune(text[i+1]))
	}
	switch {
	case inNumber(to):
		to += 1 + strings.IndexAny(text[to+1:]+",", ",;\n")
	case inNumber(from - 1):
		from = strings.LastIndexAny(text[:from-1], ",;\n") + 1
	default:
		return "", nil
	}
	item = piece{text[from:to], from}.trim()
	before, after, _ := strings.Cut(item.text, ",")
	if digits, _ := (piece{text: after}).take(isDigit); len(digits.text) != 3 {
		before += "." // no thousands
	}
	return before + after, item.failf(ErrThreshold, "a comma stands between objectives, a point before decimals, and nothing between thousands")
}

// oneThreshold is the error of an item without a comparison that has to share that of a later one: "ttft p90, p99 < 1s". It
// joins as many as there are to the first that has one, which has to leave out what the item says.
func oneThreshold(text string, item piece) (string, error) {
	compared := func(p piece) bool { return strings.ContainsAny(fold(p.text), hintComparisons) }
	if item.pos >= len(text) || compared(item) || strings.HasPrefix(item.lower(), "undefined") {
		return "", nil
	}
	rest := piece{text: text}.sub(item.pos, min(len(text), item.pos+maxHintText)).split(";\n")[0]
	for _, p := range rest.split(",") {
		if !compared(p) {
			continue
		}
		metric, percentile := names(p)
		if hasMetric, hasPercentile := names(item); metric && percentile && hasMetric && hasPercentile {
			return "", nil // two objectives, the first without its threshold
		}
		item = piece{text[item.pos : p.pos+len(p.text)], item.pos}.trim()
		err := item.failf(ErrSyntax, "an objective has one metric, one percentile and one threshold")
		if strings.HasPrefix(item.lower(), "histogram_quantile") {
			err = item.failf(ErrSyntax, "this is PromQL: an objective is a metric, a percentile and a threshold")
		}
		return strings.ReplaceAll(item.text, ",", " "), err
	}
	return "", nil
}

// MustParse is Parse for a text that the program itself contains: it panics where Parse has an error.
func MustParse(text string) SLO {
	s, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

// ParseObjective reads one objective, as Parse reads each of several. The error is a *ParseError.
func ParseObjective(text string) (Objective, error) {
	if len(text) > MaxText {
		return Objective{}, tooLong(text)
	}
	item := piece{text: text}.trim()
	if item.empty() {
		return Objective{}, item.fail(emptyProblem())
	}
	if i := strings.IndexAny(item.text, ",;\n"); i >= 0 {
		return Objective{}, item.sub(i, i+1).failf(ErrSyntax, "there is to be one objective and no more")
	}
	o, err := parseObjective(item)
	if err != nil {
		return Objective{}, hint(item.text, err, 1)
	}
	return o, nil
}

func tooLong(text string) error {
	return &ParseError{Pos: MaxText, Err: problemf(ErrTooLong, "the text has %d bytes, at most %d are read", len(text), MaxText)}
}

// parseUndefined reads "undefined METRIC: RULE". isRule is false where the item is something else.
func parseUndefined(item piece) (metric piece, rule UndefinedRule, isRule bool, err error) {
	const keyword = "undefined"
	if !strings.HasPrefix(item.lower(), keyword) {
		return piece{}, "", false, nil
	}
	rest := item.sub(len(keyword), len(item.text))
	if trimmed := rest.trimLeft(); !trimmed.empty() && len(trimmed.text) == len(rest.text) && trimmed.text[0] != ':' {
		return piece{}, "", false, nil // a longer word
	}
	parts := rest.split(":")
	if len(parts) != 2 {
		err := item.failf(ErrUndefined, "a rule has a metric, a colon and holds, misses or excluded")
		return piece{}, "", true, advise(err, suggestRule(rest.text))
	}
	metric, said := parts[0].trim(), parts[1].trim()
	if err := Metric(metric.lower()).check(); err != nil {
		return piece{}, "", true, advise(metric.fail(err), suggestRule(rest.text))
	}
	rule = UndefinedRule(said.lower())
	if err := rule.check(); err != nil {
		return piece{}, "", true, advise(said.fail(err), suggestRule(rest.text))
	}
	return metric, rule, true, nil
}

const comparisonRunes = "<>=≤≥!~≠"

func parseObjective(item piece) (Objective, error) {
	i := strings.IndexAny(item.text, comparisonRunes)
	if i < 0 {
		return Objective{}, noComparison(item)
	}
	left := item.sub(0, i).trim()
	op, right := item.sub(i, len(item.text)).take(func(r rune) bool { return strings.ContainsRune(comparisonRunes, r) })
	right = right.trim()

	subject, err := parseSubject(left)
	if err != nil {
		return Objective{}, err
	}
	m := subject.metric
	if err := checkComparison(op, m); err != nil {
		return Objective{}, err
	}
	t, err := parseThreshold(m, right)
	if err != nil {
		return Objective{}, err
	}
	if err := t.check(m); err != nil {
		return Objective{}, right.fail(err)
	}
	return Objective{m, subject.percentile, t}, nil
}

func noComparison(item piece) error {
	metric, _, colon := strings.Cut(item.lower(), ":")
	if _, ok := vllmMetrics[metric]; ok && colon {
		return item.failf(ErrComparison, "this is vLLM's form, which ParseVLLM reads")
	}
	if strings.ContainsAny(fold(item.text), hintComparisons) {
		return item.failf(ErrComparison, "the comparison is one of < <= ≤ > >= ≥")
	}
	subject, err := parseSubject(item)
	switch {
	case err == nil:
		return item.failf(ErrThreshold, "there is no comparison with a threshold")
	case subject.metric != "" && slices.ContainsFunc(subjectWords(item), startsWithDigit):
		return item.failf(ErrComparison, "there is no comparison before the threshold")
	}
	return err
}

// noOr is said where an SLO has an "or".
const noOr = `an SLO has no "or": it is met where all of its objectives are, with a comma between them`

// isStatus reports whether a word is an HTTP status of an error, or a class of them: 503, 5xx.
func isStatus(word string) bool {
	return len(word) == 3 && (word[0] == '4' || word[0] == '5') && (word[1:] == "xx" || isDigit(rune(word[1])) && isDigit(rune(word[2])))
}

func startsWithDigit(w piece) bool { return w.text[0] >= '0' && w.text[0] <= '9' }

func checkComparison(op piece, m Metric) error {
	higher := false
	switch op.text {
	case "<", "<=", "≤":
	case ">", ">=", "≥":
		higher = true
	default:
		return op.failf(ErrComparison, "the comparison is one of < <= ≤ > >= ≥")
	}
	switch {
	case higher == m.HigherIsBetter():
		return nil
	case higher && m.Custom():
		return op.failf(ErrComparison, "lower is better for %s: of a value of which more is better observe the negative", m)
	case higher:
		return op.failf(ErrComparison, "lower is better for %s", m)
	}
	return op.failf(ErrComparison, "higher is better for %s", m)
}

// subject is what stands before the comparison.
type subject struct {
	metric     Metric
	percentile Percentile
}

// aggregate is what people put where the percentile belongs: the reason why it cannot stand there, and the percentile to
// ask for instead.
type aggregate struct {
	why     string
	instead Percentile
}

var (
	mean      = aggregate{"a mean hides the slow requests: ask for a percentile", P95}
	unlucky   = aggregate{"the worst is one request's bad luck, and gets worse as the sample grows: ask for a percentile", P999}
	lucky     = aggregate{"the best is one request's good luck: ask for a percentile", P95}
	deviation = aggregate{"a deviation bounds no request: ask for a percentile", P95}
)

var aggregates = map[string]aggregate{
	"avg": mean, "average": mean, "mean": mean,
	"median": {"the median is p50", P50}, "med": {"the median is p50", P50},
	"max": unlucky, "maximum": unlucky, "worst": unlucky,
	"min": lucky, "minimum": lucky, "best": lucky,
	"sum": {"a sum says nothing of a request: ask for a percentile", P95},
	"std": deviation, "stdev": deviation, "stddev": deviation,
}

// aggregateOf is what an aggregate's name stands for on a metric: the least is the best but where higher is better.
func aggregateOf(word string, m Metric) aggregate {
	if m.HigherIsBetter() {
		switch word {
		case "max", "maximum":
			return lucky
		case "min", "minimum":
			return unlucky
		}
	}
	return aggregates[word]
}

func isPercentile(word string) bool {
	return len(word) > 1 && word[0] == 'p' && strings.IndexByte("0123456789.-+", word[1]) >= 0
}

// parseSubject reads "ttft p95", "p95 ttft", "p95(ttft)" or, of a population, "error_rate". Where the metric is known
// and something else is wrong, the subject that comes with the error has the metric.
func parseSubject(left piece) (subject, error) {
	if left.empty() {
		return subject{}, left.failf(ErrMetric, "the metric is missing")
	}
	words := subjectWords(left)
	var metric, percentile, aggregated *piece
	for i, w := range words {
		text := w.lower()
		_, isAggregate := aggregates[text]
		switch {
		case text == "(" || text == ")":
		case isAggregate && aggregated == nil:
			aggregated = &words[i]
		case isPercentile(text):
			if percentile != nil {
				return subject{}, w.failf(ErrPercentile, "there is a percentile already, and an objective has one")
			}
			percentile = &words[i]
		case metric == nil && isOneOutcome(text):
			return subject{}, w.failf(ErrMetric, "%s", oneOutcome)
		case metric == nil && text == "or":
			return subject{}, w.failf(ErrSyntax, "%s", noOr)
		case metric == nil:
			if strings.IndexByte("0123456789.-", text[0]) >= 0 {
				return subject{}, w.failf(ErrSyntax, "an objective begins with its metric")
			}
			if text == "p" {
				return subject{}, w.failf(ErrPercentile, "a percentile is a p and a number with nothing between, such as p95")
			}
			metric = &words[i]
			if err := Metric(text).check(); err != nil {
				return subject{}, w.fail(err)
			}
		default:
			s := subject{metric: Metric(metric.lower())}
			return s, w.failf(ErrPercentile, "this is no percentile, which is a p and a number such as p95")
		}
	}
	if metric == nil {
		return subject{}, left.failf(ErrMetric, "the metric is missing")
	}
	s := subject{metric: Metric(metric.lower())}
	if aggregated != nil {
		return s, aggregated.failf(ErrPercentile, "%s", aggregateOf(aggregated.lower(), s.metric).why)
	}
	if s.metric.Population() {
		if percentile != nil {
			return s, percentile.fail(noPercentile(s.metric))
		}
		if len(words) > 1 {
			return s, left.failf(ErrSyntax, "there is nothing to put in parentheses")
		}
		return s, nil
	}
	if percentile == nil {
		return s, left.failf(ErrPercentile, "the percentile is missing")
	}
	p, err := parsePercentile(*percentile)
	if err != nil {
		return s, err
	}
	if err := p.checkFor(s.metric); err != nil {
		return s, percentile.fail(err)
	}
	if len(words) > 2 && !isCall(words) {
		return s, left.failf(ErrSyntax, "parentheses stand around the metric alone, as in p95(ttft)")
	}
	s.percentile = p
	return s, nil
}

func subjectWords(left piece) []piece {
	var words []piece
	for rest := left.trim(); !rest.empty(); rest = rest.trimLeft() {
		word, after := rest.take(func(r rune) bool { return !unicode.IsSpace(r) && r != '(' && r != ')' })
		if word.empty() {
			word, after = rest.sub(0, 1), rest.sub(1, len(rest.text)) // a parenthesis
		}
		words, rest = append(words, word), after
	}
	return words
}

// isCall reports whether words are those of p95(ttft).
func isCall(words []piece) bool {
	return len(words) == 4 && isPercentile(words[0].lower()) && words[1].text == "(" && words[3].text == ")"
}

func parsePercentile(w piece) (Percentile, error) {
	digits := w.text[1:]
	if !isDecimal(strings.TrimPrefix(digits, "-")) {
		return 0, w.failf(ErrPercentile, "a percentile is a p and a number, such as p95 or p99.9")
	}
	if _, frac, _ := strings.Cut(digits, "."); len(strings.TrimRight(frac, "0")) > 4 {
		return 0, w.failf(ErrPercentile, "a percentile has at most four decimals, such as p99.9999")
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, w.failf(ErrPercentile, "a percentile is above 0 and below 100")
	}
	p := Percentile(f)
	if err := p.check(); err != nil {
		return 0, w.fail(err)
	}
	return p, nil
}

// isDecimal reports whether s is digits with at most one point among, before or after them.
func isDecimal(s string) bool {
	digits, points := 0, 0
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			points++
		default:
			return false
		}
	}
	return digits > 0 && points <= 1
}
