package slo

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What can be wrong with an SLO. Every error of this package wraps exactly one of these; its message says more.
var (
	ErrSyntax     = errors.New("not in the form of an objective")
	ErrTooLong    = errors.New("longer than an SLO can be")
	ErrEmpty      = errors.New("no objectives")
	ErrMetric     = errors.New("no such metric")
	ErrPercentile = errors.New("no percentile, or one that cannot be meant")
	ErrComparison = errors.New("no comparison, or the wrong way round")
	ErrThreshold  = errors.New("no threshold, or one that cannot be meant")
	ErrDuplicate  = errors.New("said twice")
	ErrUndefined  = errors.New("no rule for undefined values, or one that cannot be meant")
)

// ParseError says what is wrong with a text, where, and how to write it: with the metric, the percentile and the numbers
// that stand in it, as far as they can be made out, and so that Parse reads it.
type ParseError struct {
	Pos   int    // byte offset in the text that was parsed
	Piece string // what stands there, shortened; "" where something is missing
	Err   error  // what is wrong with it; wraps one of the Err… values of this package
}

func (e *ParseError) Error() string {
	if e.Piece == "" {
		return fmt.Sprintf("slo: at byte %d: %v", e.Pos, e.Err)
	}
	return fmt.Sprintf("slo: at byte %d, %s: %v", e.Pos, quote(e.Piece), e.Err)
}

func (e *ParseError) Unwrap() error { return e.Err }

// problem is the message of one fault together with its kind.
type problem struct {
	kind  error
	text  string
	write []string // how to write it: one text, or several of which one may be meant
}

func (p *problem) Error() string {
	if len(p.write) == 0 {
		return p.text
	}
	return p.text + ": write " + strings.Join(p.write, " or ")
}

func (p *problem) Unwrap() error { return p.kind }

func problemf(kind error, format string, args ...any) error {
	return &problem{kind: kind, text: fmt.Sprintf(format, args...)}
}

// advise adds to a problem how to write it, unless it says so already.
func advise(err error, write ...string) error {
	var p *problem
	if errors.As(err, &p) && len(p.write) == 0 {
		p.write = write
	}
	return err
}

// invalidError is a fault in a value that did not come from a text.
type invalidError struct {
	where string
	err   error
}

func (e *invalidError) Error() string { return "slo: " + e.where + ": " + e.err.Error() }
func (e *invalidError) Unwrap() error { return e.err }

const maxPiece = 40

// shorten cuts a piece of hostile length down to what a line of a log can bear, between two runes.
func shorten(s string) string {
	if len(s) <= maxPiece {
		return s
	}
	n := maxPiece
	for n > maxPiece-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// quote makes a piece safe for one line.
func quote(s string) string { return strconv.Quote(shorten(s)) }
