package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// array decodes a JSON array element by element, holds no more than one element and what was read ahead, and knows the
// lines.
type array struct {
	s     *source
	dec   *json.Decoder
	read  int64 // bytes given to the decoder
	lines int   // line feeds in them, and before them
	fits  int64 // until so many were read, the element at hand cannot be too long
}

// eachElement visits the elements of the JSON array that begins here.
func (s *source) eachElement(f visit) error {
	a := &array{s: s, lines: s.skipped}
	a.dec = json.NewDecoder(a)
	if _, err := a.dec.Token(); err != nil { // the bracket
		return a.fail(err)
	}
	at := a.dec.InputOffset() // where the last element, or the bracket, ended
	for a.dec.More() {
		var raw json.RawMessage
		if err := a.dec.Decode(&raw); err != nil {
			return a.fail(err)
		}
		before := a.dec.InputOffset() - int64(len(raw)) - at
		if max(before, int64(len(raw))) > int64(s.maxLine) {
			return s.fail(a.lineOf(raw), s.tooLong())
		}
		at = a.dec.InputOffset()
		if done, err := visitUTF8(f, raw); err != nil {
			return s.fail(a.lineOf(raw), err)
		} else if done {
			return nil
		}
	}
	if _, err := a.dec.Token(); err != nil { // the other bracket
		return a.fail(err)
	}
	if a.dec.InputOffset()-1-at > int64(s.maxLine) {
		return a.fail(s.tooLong())
	}
	return a.end()
}

// end reads what follows the array, which is to be white space alone.
func (a *array) end() error {
	rest, buf := a.unread(), make([]byte, 512)
	for {
		if rest = bytes.TrimLeft(rest, " \t\r\n"); len(rest) > 0 {
			return a.s.fail(a.line(rest), errors.New("something follows the JSON array"))
		}
		n, err := a.take(buf)
		if rest = buf[:n]; n > 0 {
			continue
		}
		switch err {
		case nil:
		case io.EOF:
			return nil
		default:
			return a.s.fail(a.line(nil), err)
		}
	}
}

// Read is what the decoder reads from. The decoder only asks for more while the element that it is at is not complete,
// so what it has not passed yet is a part of one element, after white space and a comma. This bounds each of the two, as
// eachElement does where they came whole.
func (a *array) Read(p []byte) (int, error) {
	if a.read-a.dec.InputOffset() > int64(a.s.maxLine) && a.read > a.fits {
		rest := a.unread()
		element := bytes.TrimLeft(rest, " \t\r\n,")
		room := a.s.maxLine - max(len(element), len(rest)-len(element))
		if room < 0 {
			return 0, a.s.tooLong()
		}
		a.fits = a.read + int64(room)
	}
	return a.take(p)
}

// take reads and counts.
func (a *array) take(p []byte) (int, error) {
	n, err := a.s.r.Read(p)
	a.read += int64(n)
	a.lines += bytes.Count(p[:n], []byte{'\n'})
	return n, err
}

// unread is what the decoder has read and not passed. It is asked for seldom: it can be long.
func (a *array) unread() []byte {
	rest, _ := io.ReadAll(a.dec.Buffered()) // from memory: cannot fail
	return rest
}

// line is the line of the first byte of a tail of what was read.
func (a *array) line(tail []byte) int { return 1 + a.lines - bytes.Count(tail, []byte{'\n'}) }

// lineOf is the line at which the element that was just decoded begins.
func (a *array) lineOf(raw []byte) int { return a.line(a.unread()) - bytes.Count(raw, []byte{'\n'}) }

// fail is the decoder's error, with the line that it is about.
func (a *array) fail(err error) error {
	tail := bytes.TrimLeft(a.unread(), " \t\r\n")
	var syntax, alone *json.SyntaxError
	switch {
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		err, tail = errors.New("the file ends within the JSON array"), nil
	case errors.As(err, &syntax):
		// The offset that the decoder gives leaves out what it read as single tokens. The element looked at alone gives
		// its own, if the error is in it and not between two.
		if errors.As(json.Unmarshal(tail, new(any)), &alone) && alone.Error() == syntax.Error() {
			tail = tail[min(max(alone.Offset-1, 0), int64(len(tail))):]
		}
	}
	return a.s.fail(a.line(tail), err)
}
