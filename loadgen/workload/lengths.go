package workload

import (
	"fmt"
	"math/rand/v2"
)

// MaxLength is the greatest length, in tokens, that a law or a file may ask for.
const MaxLength = 1 << 22

// Lengths is a law of lengths in tokens. One's own need not do more than these two methods; a law that also has
// Validate() error is asked before it is used.
type Lengths interface {
	// Draw is the next length, from 1 to MaxLength, drawn with r and nothing else, so that a seed decides it. What lies
	// outside is taken as the nearer end.
	Draw(r *rand.Rand) int
	// String says the law in one line.
	String() string
}

// validate is the law's own opinion of itself, under the name of the field it stands in.
func validate(field string, l Lengths) error {
	if l == nil {
		return invalid(field, "is nil; want a law of lengths such as Fixed(128)")
	}
	if v, ok := l.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	return nil
}

// draw is a length within the bounds that everybody may rely on.
func draw(l Lengths, r *rand.Rand) int { return min(max(l.Draw(r), 1), MaxLength) }

// Fixed is always the same length.
type Fixed int

// Draw is the length.
func (f Fixed) Draw(*rand.Rand) int { return int(f) }

// Validate refuses a length below 1 and above MaxLength.
func (f Fixed) Validate() error { return checkLength("Fixed", int(f)) }

// String is such as "fixed 128".
func (f Fixed) String() string { return fmt.Sprintf("fixed %d", int(f)) }

// Uniform is each length from Min to Max, both included, with the same probability.
type Uniform struct{ Min, Max int }

// Draw is a length from Min to Max.
func (u Uniform) Draw(r *rand.Rand) int { return u.Min + r.IntN(u.Max-u.Min+1) }

// Validate refuses bounds outside 1 to MaxLength, and a Min above Max.
func (u Uniform) Validate() error { return checkBounds("Uniform", u.Min, u.Max) }

// String is such as "uniform 100 to 200".
func (u Uniform) String() string { return fmt.Sprintf("uniform %d to %d", u.Min, u.Max) }

// Truncated is another law under the condition that the length lies from Min to Max, both included: what lies outside
// is drawn again. So nothing piles up at the bounds, as it does where lengths are cut to them.
type Truncated struct {
	Lengths  Lengths
	Min, Max int // in tokens
}

// A law has to lie within the bounds of its truncation with a probability of about a hundredth at least.
const (
	truncationTrials = 2000
	truncationHits   = 10
	truncationDraws  = 100_000 // at a hundredth, all of them miss once in 10⁴³⁶
)

// Draw draws from the law until the length is within the bounds.
func (t Truncated) Draw(r *rand.Rand) int {
	n := 0
	for range truncationDraws {
		if n = t.Lengths.Draw(r); n >= t.Min && n <= t.Max {
			return n
		}
	}
	return min(max(n, t.Min), t.Max)
}

// Validate refuses bounds outside 1 to MaxLength, a Min above Max, an invalid law, and one of which hardly anything
// lies within the bounds: fewer than 10 of 2,000 lengths.
func (t Truncated) Validate() error {
	if err := validate("Truncated.Lengths", t.Lengths); err != nil {
		return err
	}
	if err := checkBounds("Truncated", t.Min, t.Max); err != nil {
		return err
	}
	r, hits := rand.New(rand.NewPCG(1, 2)), 0
	for range truncationTrials {
		if n := t.Lengths.Draw(r); n >= t.Min && n <= t.Max {
			hits++
		}
	}
	if hits < truncationHits {
		return invalid("Truncated", "%d of %d lengths of %v lie from %d to %d; want bounds that hold more of the law",
			hits, truncationTrials, t.Lengths, t.Min, t.Max)
	}
	return nil
}

// String is the law and its bounds.
func (t Truncated) String() string { return fmt.Sprintf("%v, from %d to %d", t.Lengths, t.Min, t.Max) }

func checkLength(name string, n int) error {
	if n < 1 || n > MaxLength {
		return invalid(name, "is %d tokens; want 1 to %d", n, MaxLength)
	}
	return nil
}

func checkBounds(name string, lo, hi int) error {
	if err := checkLength(name+".Min", lo); err != nil {
		return err
	}
	if err := checkLength(name+".Max", hi); err != nil {
		return err
	}
	if lo > hi {
		return invalid(name, "Min %d is above Max %d", lo, hi)
	}
	return nil
}
