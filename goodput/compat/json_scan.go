package compat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A SyntaxError is where a file stops being JSON.
type SyntaxError struct {
	Offset  int64 // bytes from the beginning
	Problem string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("compat: not JSON at byte %d: %s", e.Offset, e.Problem)
}

// A scanner reads JSON as Python's json module writes it, NaN and Infinity included, from a stream. It keeps no more than
// the value that it is asked for: strings beyond the bounds of text are skipped as they come.
type scanner struct {
	r   *bufio.Reader
	off int64
}

const (
	maxNumber = 64      // bytes of a number
	maxHead   = 256     // bytes of a string that are kept from its beginning,
	maxTail   = 256     // and from its end
	maxDepth  = 64      // of values that are skipped
	eof       = byte(0) // no byte of JSON
)

// peek is the next byte that is no space, not yet taken; eof at the end.
func (s *scanner) peek() (byte, error) {
	for {
		b, err := s.r.ReadByte()
		if err == io.EOF {
			return eof, nil
		}
		if err != nil {
			return eof, err
		}
		switch b {
		case ' ', '\t', '\n', '\r':
			s.off++
			continue
		case eof:
			return eof, s.wrong("a byte of 0")
		}
		return b, s.r.UnreadByte()
	}
}

func (s *scanner) next() (byte, error) {
	b, err := s.r.ReadByte()
	if err == io.EOF {
		return eof, fmt.Errorf("%w: %w", ErrTruncated, s.wrong("it ends"))
	}
	s.off++
	return b, err
}

func (s *scanner) wrong(format string, args ...any) error {
	return &SyntaxError{Offset: s.off, Problem: fmt.Sprintf(format, args...)}
}

// expect takes one byte, after space.
func (s *scanner) expect(want byte) error {
	b, err := s.peek()
	if err != nil {
		return err
	}
	if b != want {
		if b == eof {
			return fmt.Errorf("%w: %w", ErrTruncated, s.wrong("it ends"))
		}
		return s.wrong("%q in place of %q", b, want)
	}
	_, err = s.next()
	return err
}

// each calls f for every element of an array, or item with its key for every one of an object.
func (s *scanner) each(open, end byte, f func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	b, err := s.peek()
	if err != nil {
		return err
	}
	if b == end {
		return s.expect(end)
	}
	for {
		if err := f(); err != nil {
			return err
		}
		if b, err = s.peek(); err != nil {
			return err
		}
		if b == end {
			return s.expect(end)
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

func (s *scanner) array(f func() error) error { return s.each('[', ']', f) }

func (s *scanner) object(f func(key string) error) error {
	return s.each('{', '}', func() error {
		key, err := s.text()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return f(key)
	})
}

// text is a string: as it is up to maxHead + maxTail bytes, else its beginning and its end with "…" between them.
func (s *scanner) text() (string, error) {
	if err := s.expect('"'); err != nil {
		return "", err
	}
	var k keeper
	for {
		s.plain(&k)
		b, err := s.next()
		if err != nil {
			return "", err
		}
		switch {
		case b == '"':
			return k.text(), nil
		case b < ' ':
			return "", s.wrong("a control character in a string")
		case b == '\\':
			r, err := s.escape()
			if err != nil {
				return "", err
			}
			k.rune(r)
		default:
			k.add(b)
		}
	}
}

// plain takes what of a string is in the buffer and means itself.
func (s *scanner) plain(k *keeper) {
	buf, _ := s.r.Peek(s.r.Buffered())
	n := 0
	for n < len(buf) && buf[n] != '"' && buf[n] != '\\' && buf[n] >= ' ' {
		n++
	}
	k.addAll(buf[:n])
	discarded, _ := s.r.Discard(n)
	s.off += int64(discarded)
}

// escape is what comes after a backslash.
func (s *scanner) escape() (rune, error) {
	b, err := s.next()
	if err != nil {
		return 0, err
	}
	switch b {
	case '"', '\\', '/':
		return rune(b), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		r, err := s.hex()
		if err != nil || !utf16.IsSurrogate(r) {
			return r, err
		}
		if rest, err := s.r.Peek(2); err != nil || string(rest) != `\u` {
			return utf8.RuneError, nil
		}
		for range 2 {
			if _, err := s.next(); err != nil {
				return 0, err
			}
		}
		low, err := s.hex()
		return utf16.DecodeRune(r, low), err
	}
	return 0, s.wrong("%q after a backslash", b)
}

func (s *scanner) hex() (r rune, err error) {
	for range 4 {
		b, err := s.next()
		if err != nil {
			return 0, err
		}
		d, err := strconv.ParseUint(string(rune(b)), 16, 8)
		if err != nil {
			return 0, s.wrong("%q in a \\u escape", b)
		}
		r = r<<4 | rune(d)
	}
	return r, nil
}

// A keeper keeps the beginning and the end of a string.
type keeper struct {
	head, tail []byte
	at         int  // in tail, where the next byte goes once it is full
	cut        bool // there was more
}

func (k *keeper) rune(r rune) {
	var buf [utf8.UTFMax]byte
	for _, b := range buf[:utf8.EncodeRune(buf[:], r)] {
		k.add(b)
	}
}

func (k *keeper) add(b byte) {
	switch {
	case len(k.head) < maxHead:
		k.head = append(k.head, b)
	case len(k.tail) < maxTail:
		k.tail = append(k.tail, b)
	default:
		k.tail[k.at], k.cut = b, true
		k.at = (k.at + 1) % maxTail
	}
}

func (k *keeper) addAll(p []byte) {
	if n := maxHead - len(k.head); n > 0 {
		n = min(n, len(p))
		k.head, p = append(k.head, p[:n]...), p[n:]
	}
	if len(p) > maxTail { // only the last of them stay
		k.cut = true
		p = p[len(p)-maxTail:]
	}
	for _, b := range p {
		k.add(b)
	}
}

func (k *keeper) text() string {
	if !k.cut {
		return string(k.head) + string(k.tail)
	}
	return string(k.head) + "…" + string(k.tail[k.at:]) + string(k.tail[:k.at])
}

var errNoNumber = errors.New("no number")

// number is a JSON number, or Python's NaN, Infinity and -Infinity; errNoNumber for null, which is taken too.
func (s *scanner) number() (float64, error) {
	if _, err := s.peek(); err != nil {
		return 0, err
	}
	word := make([]byte, 0, maxNumber)
	var b byte
	var err error
	for {
		b, err = s.r.ReadByte()
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
		if b != '+' && b != '-' && b != '.' && (b < '0' || b > '9') && (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') {
			if err := s.r.UnreadByte(); err != nil {
				return 0, err
			}
			break
		}
		if len(word) == maxNumber {
			return 0, s.wrong("a number over %d bytes long", maxNumber)
		}
		word = append(word, b)
		s.off++
	}
	switch string(word) {
	case "":
		if err == io.EOF {
			return 0, fmt.Errorf("%w: %w", ErrTruncated, s.wrong("it ends"))
		}
		return 0, s.wrong("%q in place of a number", b)
	case "null":
		return 0, errNoNumber
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	for _, c := range word {
		if (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') && c != 'e' && c != 'E' { // hexadecimal, inf
			return 0, s.wrong("%q in place of a number", word)
		}
	}
	v, perr := strconv.ParseFloat(string(word), 64)
	if perr != nil && !errors.Is(perr, strconv.ErrRange) {
		if err == io.EOF {
			return 0, fmt.Errorf("%w: %w", ErrTruncated, s.wrong("it ends in a number"))
		}
		return 0, s.wrong("%q in place of a number", word)
	}
	return v, nil
}

// skip takes a value of any kind and keeps nothing of it.
func (s *scanner) skip(depth int) error {
	b, err := s.peek()
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return s.wrong("nested over %d deep", maxDepth)
	}
	switch b {
	case '{':
		return s.object(func(string) error { return s.skip(depth + 1) })
	case '[':
		return s.array(func() error { return s.skip(depth + 1) })
	case '"':
		_, err := s.text()
		return err
	case 't', 'f':
		for _, want := range map[byte]string{'t': "true", 'f': "false"}[b] {
			got, err := s.next()
			if err != nil {
				return err
			}
			if got != byte(want) {
				return s.wrong("neither true nor false")
			}
		}
		return nil
	}
	if _, err = s.number(); err == errNoNumber {
		return nil
	}
	return err
}
