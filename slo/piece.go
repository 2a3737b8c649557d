package slo

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a part of the text that knows where it stands.
type piece struct {
	text string
	pos  int
}

func (p piece) sub(from, to int) piece { return piece{p.text[from:to], p.pos + from} }

func (p piece) trim() piece {
	left := strings.TrimLeftFunc(p.text, unicode.IsSpace)
	p.pos += len(p.text) - len(left)
	p.text = strings.TrimRightFunc(left, unicode.IsSpace)
	return p
}

func (p piece) trimLeft() piece {
	left := strings.TrimLeftFunc(p.text, unicode.IsSpace)
	return piece{left, p.pos + len(p.text) - len(left)}
}

func (p piece) end() piece { return p.sub(len(p.text), len(p.text)) }

func (p piece) empty() bool { return p.text == "" }

// lower is the text in lower case; only ASCII has any here.
func (p piece) lower() string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, p.text)
}

// take cuts off the longest beginning whose runes all satisfy f.
func (p piece) take(f func(rune) bool) (head, rest piece) {
	n := strings.IndexFunc(p.text, func(r rune) bool { return !f(r) })
	if n < 0 {
		n = len(p.text)
	}
	return p.sub(0, n), p.sub(n, len(p.text))
}

// split cuts at every rune of seps, which are in no piece.
func (p piece) split(seps string) []piece {
	var all []piece
	for {
		i := strings.IndexAny(p.text, seps)
		if i < 0 {
			return append(all, p)
		}
		_, n := utf8.DecodeRuneInString(p.text[i:])
		all = append(all, p.sub(0, i))
		p = p.sub(i+n, len(p.text))
	}
}

func (p piece) fail(err error) error {
	return &ParseError{Pos: p.pos, Piece: shorten(p.text), Err: err}
}

func (p piece) failf(kind error, format string, args ...any) error {
	return p.fail(problemf(kind, format, args...))
}
