package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// source reads a file within bounds, and gives errors the file's name and the line.
type source struct {
	name    string
	r       *bufio.Reader
	maxLine int
	skipped int // line feeds before the first byte that counts
}

// visit is called with each line of a file, or each element of its array, until it is done. The bytes are its own until
// it returns.
type visit func(text []byte) (done bool, err error)

func newSource(name string, r io.Reader, o *options) *source {
	return &source{
		name:    name,
		r:       bufio.NewReaderSize(&bounded{r: r, left: o.maxSize, max: o.maxSize}, 64<<10),
		maxLine: o.maxLine,
	}
}

// bounded is a file that must not have more than max bytes.
type bounded struct {
	r         io.Reader
	left, max int64
}

func (b *bounded) Read(p []byte) (int, error) {
	// One byte more than may be read, to tell a file of just that size from a larger one.
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.max)
	}
	return n, err
}

// fail is err with file and line.
func (s *source) fail(line int, err error) error {
	return &FileError{File: s.name, Line: line, Err: err}
}

func (s *source) tooLong() error { return fmt.Errorf("%w: more than %d bytes", ErrTooLong, s.maxLine) }

// start skips a byte order mark and white space, and is the first byte after them, which stays unread; 0 at the end.
func (s *source) start() (byte, error) {
	head, err := s.r.Peek(3)
	switch {
	case bytes.Equal(head, []byte("\xef\xbb\xbf")):
		_, _ = s.r.Discard(3)
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return 0, s.fail(1, errors.New("is UTF-16; want UTF-8"))
	case err != nil && err != io.EOF:
		return 0, s.fail(0, err)
	}
	for {
		c, err := s.r.ReadByte()
		switch {
		case err == io.EOF:
			return 0, nil
		case err != nil:
			return 0, s.fail(1+s.skipped, err)
		case c == '\n':
			s.skipped++
		case c != ' ' && c != '\t' && c != '\r':
			return c, s.r.UnreadByte()
		}
	}
}

// eachLine visits the lines that are not blank, without the white space around them.
func (s *source) eachLine(f visit) error {
	sc := bufio.NewScanner(s.r)
	sc.Buffer(make([]byte, 0, min(64<<10, s.maxLine+2)), s.maxLine+2) // CR and LF do not count
	line := s.skipped
	for sc.Scan() && sc.Err() == nil { // with an error, what Scan gives is a part of a line
		line++
		text := sc.Bytes()
		if len(text) > s.maxLine {
			return s.fail(line, s.tooLong())
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if done, err := visitUTF8(f, text); err != nil {
			return s.fail(line, err)
		} else if done {
			return nil
		}
	}
	switch err := sc.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return s.fail(line+1, s.tooLong())
	case err != nil:
		return s.fail(line+1, err)
	}
	return nil
}

func visitUTF8(f visit, text []byte) (bool, error) {
	if !utf8.Valid(text) {
		return false, errors.New("is not UTF-8")
	}
	return f(text)
}
