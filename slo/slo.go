package slo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bounds of an SLO, so that one from a network or a file cannot cost much.
const (
	MaxText       = 16 << 10 // bytes of text that are read
	MaxObjectives = 64
)

// UndefinedRule says what becomes of a request for which an objective's metric is undefined. The empty rule is the
// default: tpot, itl and speed hold where the answer was one token long and are missed otherwise, and any other metric
// is missed.
type UndefinedRule string

// The rules.
const (
	UndefinedHolds    UndefinedRule = "holds"
	UndefinedMisses   UndefinedRule = "misses"
	UndefinedExcluded UndefinedRule = "excluded" // leaves the objective's share, decides nothing about good
)

// Words say what becomes of requests that succeeded and have no value of m, up to where the objective is named: "each counts as a
// miss of".
func (r UndefinedRule) Words(m Metric) string {
	switch {
	case r == UndefinedHolds:
		return "each counts as within"
	case r == UndefinedExcluded:
		return "each is left out of"
	case r == "" && (m == TPOT || m == ITL || m == Speed):
		return "an answer of one token counts as within, any other as a miss of"
	}
	return "each counts as a miss of"
}

func (r UndefinedRule) check() error {
	switch r {
	case UndefinedHolds, UndefinedMisses, UndefinedExcluded:
		return nil
	}
	return problemf(ErrUndefined, "the rule is holds, misses or excluded")
}

// SLO is a list of objectives, each of which has to hold. Their order says under which objective a request that misses
// several is booked: the first. Name is for people: it is part of neither the text nor the fingerprint. Undefined has
// the rules that differ from the default, each for a metric on which there is an objective.
//
// The zero SLO has no objectives, which Validate refuses.
type SLO struct {
	Name       string
	Objectives []Objective
	Undefined  map[Metric]UndefinedRule
}

// Metrics are the metrics on which there are objectives, each once, in their order.
func (s SLO) Metrics() []Metric {
	var all []Metric
	for _, o := range s.Objectives {
		if !slices.Contains(all, o.Metric) {
			all = append(all, o.Metric)
		}
	}
	return all
}

// IsZero reports whether the SLO says nothing, so that encoding/json's omitzero can leave it out.
func (s SLO) IsZero() bool { return s.Name == "" && len(s.Objectives) == 0 && len(s.Undefined) == 0 }

// Validate refuses an SLO that cannot be meant: no objectives, an invalid one, the same metric and percentile twice, a
// rule for undefined values that is none or that nothing depends on. The error names the objective and says what would
// be right; it wraps one of the Err… values of this package.
func (s SLO) Validate() error {
	if err := s.check(); err != nil {
		return err
	}
	return nil
}

func (s SLO) check() *invalidError {
	if len(s.Objectives) == 0 {
		return &invalidError{where: "Objectives", err: emptyProblem()}
	}
	if len(s.Objectives) > MaxObjectives {
		return &invalidError{where: "Objectives", err: problemf(ErrTooLong, "there are %d, at most %d are allowed",
			len(s.Objectives), MaxObjectives)}
	}
	for i, o := range s.Objectives {
		err := o.check()
		if err != nil {
			err = o.advise(err)
		} else {
			err = s.checkRepeated(i)
		}
		if err != nil {
			return &invalidError{where: fmt.Sprintf("Objectives[%d], %s", i, quote(o.String())), err: err}
		}
	}
	for _, m := range s.undefinedMetrics() {
		err := s.checkUndefined(m)
		if near := m.nearest(); errors.Is(err, ErrMetric) && near != "" {
			err = advise(err, string(near))
		}
		if err == nil {
			err = s.Undefined[m].check()
		}
		if err != nil {
			return &invalidError{where: fmt.Sprintf("Undefined[%s]", quote(string(m))), err: err}
		}
	}
	return nil
}

func emptyProblem() error {
	return advise(problemf(ErrEmpty, "an SLO has at least one objective"), "ttft p95 < 2s")
}

// checkRepeated refuses the objective at i where an earlier one has its metric and percentile.
func (s SLO) checkRepeated(i int) error {
	o := s.Objectives[i]
	for _, before := range s.Objectives[:i] {
		if before.Metric == o.Metric && before.Percentile.PPM() == o.Percentile.PPM() {
			return problemf(ErrDuplicate, "there is already %q: keep one of the two", before.String())
		}
	}
	return nil
}

// checkUndefined refuses a rule for undefined values of m where nothing depends on it.
func (s SLO) checkUndefined(m Metric) error {
	if err := m.check(); err != nil {
		return err
	}
	if !m.canBeUndefined() {
		return problemf(ErrUndefined, "%s is never undefined for a request: leave the rule out", m)
	}
	if !slices.ContainsFunc(s.Objectives, func(o Objective) bool { return o.Metric == m }) {
		return problemf(ErrUndefined, "there is no objective on %s: leave the rule out", m)
	}
	return nil
}

// undefinedMetrics has the metrics with a rule, in the order of the documentation, the caller's own after them.
func (s SLO) undefinedMetrics() []Metric {
	rank := func(m Metric) int {
		if i := slices.Index(builtin, m); i >= 0 {
			return i
		}
		return len(builtin)
	}
	return slices.SortedFunc(maps.Keys(s.Undefined), func(a, b Metric) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(string(a), string(b))
	})
}

// String is the canonical text: the objectives in their order, then the rules for undefined values, joined by commas.
// Parse gives the SLO back, without its Name. The text of an invalid SLO is for people only.
func (s SLO) String() string {
	var parts []string
	for _, o := range s.Objectives {
		parts = append(parts, o.String())
	}
	for _, m := range s.undefinedMetrics() {
		parts = append(parts, fmt.Sprintf("undefined %s: %s", m, s.Undefined[m]))
	}
	return strings.Join(parts, ", ")
}

// MarshalText is the canonical text, or Validate's error. With it encoding/json, flag.TextVar and YAML libraries take
// an SLO as one string.
func (s SLO) MarshalText() ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return []byte(s.String()), nil
}

// UnmarshalText is Parse. The text says nothing about a Name, so there is none afterwards. On an error s is left as it
// was.
func (s *SLO) UnmarshalText(text []byte) error {
	p, err := Parse(string(text))
	if err == nil {
		*s = p
	}
	return err
}

// Equal reports whether two SLOs have the same canonical text, which is to say that they judge alike and book alike.
func (s SLO) Equal(o SLO) bool { return s.String() == o.String() }

// Fingerprint is the first 16 hexadecimal digits of the SHA-256 of the canonical text. It stays the same from run to
// run and from version to version, so that a report can prove which SLO it was judged by. The order of the objectives
// is part of it, since it decides under which one a lost request is booked.
func (s SLO) Fingerprint() string { return fingerprint(s.String()) }

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
