package slo

import (
	"strings"
	"unicode"
)

// vllmMetrics are the names that vLLM's --goodput takes.
var vllmMetrics = map[string]Metric{"ttft": TTFT, "tpot": TPOT, "e2el": E2E}

// ParseVLLM reads what vLLM's benchmark takes after --goodput: "ttft:800 tpot:50 e2el:8000", pairs of a metric and its
// limit in milliseconds, between spaces or commas. vLLM judges each request and says nothing about a share, so the
// percentile, the same for each pair, is p. The error is a *ParseError, except where p is at fault.
func ParseVLLM(text string, p Percentile) (SLO, error) {
	if err := p.check(); err != nil {
		return SLO{}, &invalidError{where: "percentile " + formatFloat(float64(p)), err: advise(err, formatFloat(float64(p.nearest())))}
	}
	if len(text) > MaxText {
		return SLO{}, tooLong(text)
	}
	var s SLO
	whole := piece{text: text}
	for rest := whole; ; {
		between := func(r rune) bool { return r == ',' || unicode.IsSpace(r) }
		_, rest = rest.take(between)
		if rest.empty() {
			break
		}
		var pair piece
		pair, rest = rest.take(func(r rune) bool { return !between(r) })
		o, err := parsePair(pair, p)
		if err != nil {
			return SLO{}, advise(err, suggestPair(pair.text)...)
		}
		s.Objectives = append(s.Objectives, o)
		if err := s.checkRepeated(len(s.Objectives) - 1); err != nil {
			return SLO{}, pair.fail(err)
		}
	}
	if len(s.Objectives) == 0 {
		return SLO{}, advise(whole.end().failf(ErrEmpty, "an SLO has at least one objective"), "ttft:2000")
	}
	return s, nil
}

func parsePair(pair piece, p Percentile) (Objective, error) {
	parts := pair.split(":")
	if len(parts) != 2 {
		return Objective{}, pair.failf(ErrSyntax, "a pair has a metric, a colon and milliseconds")
	}
	name, value := parts[0], parts[1]
	m, ok := vllmMetrics[name.lower()]
	if !ok {
		return Objective{}, name.failf(ErrMetric, "unknown metric: vLLM has ttft, tpot and e2el")
	}
	if strings.HasPrefix(value.text, "-") {
		return Objective{}, value.failf(ErrThreshold, "a threshold is not negative")
	}
	if !isDecimal(value.text) {
		return Objective{}, value.failf(ErrThreshold, "the limit is a bare number of milliseconds")
	}
	t := term{parts: []part{{number: value, unit: piece{text: "ms"}}}}
	ns, err := t.nanoseconds(m)
	if err != nil {
		return Objective{}, err
	}
	o := Objective{m, p, Threshold{Limit: float64(ns) / billion}}
	if err := o.Threshold.check(m); err != nil {
		return Objective{}, value.fail(err)
	}
	return o, nil
}
