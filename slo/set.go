package slo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// DefaultClass is the class of a request that has none.
const DefaultClass = "default"

// Set is an SLO per class of traffic. A class that is not in it is judged by the default that stands beside the set.
type Set map[string]SLO

// For is the SLO that judges a class: the set's, or def where the set does not name the class. The empty class is
// DefaultClass.
func (s Set) For(class string, def SLO) SLO {
	if class == "" {
		class = DefaultClass
	}
	if own, ok := s[class]; ok {
		return own
	}
	return def
}

// Classes are the names in the set, sorted.
func (s Set) Classes() []string { return slices.Sorted(maps.Keys(s)) }

// Validate refuses a set with an invalid SLO or with a class that has no name, or one that is not UTF-8, which could stand in no
// report and no metric. An empty set is fine: then the default
// judges everything.
func (s Set) Validate() error {
	for _, class := range s.Classes() {
		if class == "" {
			return &invalidError{where: `class ""`, err: problemf(ErrSyntax,
				"a class has a name: write %q for requests that have none", DefaultClass)}
		}
		if !utf8.ValidString(class) {
			return &invalidError{where: "class " + quote(class), err: problemf(ErrSyntax, "the name is not UTF-8")}
		}
		if err := s[class].check(); err != nil {
			err.where = "class " + quote(class) + ", " + err.where
			return err
		}
	}
	return nil
}

// Fingerprint is that of a whole set with its default: of an empty set it is the default's own. Two sets that give
// each class the same SLO have the same one.
func (s Set) Fingerprint(def SLO) string {
	if len(s) == 0 {
		return def.Fingerprint()
	}
	var b strings.Builder
	b.WriteString(def.String())
	for _, class := range s.Classes() {
		fmt.Fprintf(&b, "\n%q: %s", class, s[class])
	}
	return fingerprint(b.String())
}
