package sse

import (
	"bytes"
	"fmt"
	"time"
)

// DefaultLimit is the longest line, and the longest data of one event, that a Parser takes unless it is told otherwise,
// in bytes.
const DefaultLimit = 1 << 20

// Event is one event of a stream.
type Event struct {
	Name []byte    // its event field; empty where it has none, which stands for "message"
	Data []byte    // its data fields, joined by line feeds
	At   time.Time // when the piece arrived that completed it
}

// LimitError says that a line, or the data of an event, is longer than the Parser takes.
type LimitError struct {
	Limit int // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("sse: a line or an event of more than %d bytes", e.Limit)
}

// Parser takes one stream apart. The zero Parser is ready for the first piece. It keeps what is incomplete, at most some
// three times the limit, and otherwise points into the pieces: in the steady state it allocates nothing.
//
//	for {
//		n, err := r.Read(buf)
//		p.Feed(buf[:n], time.Now())
//		for ev, ok := p.Next(); ok; ev, ok = p.Next() {
//			// use ev
//		}
//		if err := cmp.Or(p.Err(), err); err != nil {
//			return err // the stream has ended; p.Rest says with what
//		}
//	}
type Parser struct {
	Limit int // longest line and longest data of an event, bytes, without line ends; 0: DefaultLimit

	in     []byte // the piece at hand
	at     time.Time
	pos    int // of the first byte of in that was not looked at
	lf, cr int // of the first LF and CR at pos or behind, len(in) where there is none; before pos: to be looked for

	bom    int    // bytes of a byte order mark that were seen at the start; < 0: the start is over
	skipLF bool   // the last line ended with a CR: an LF that follows belongs to it
	line   []byte // the beginning of a line that is not complete

	name  []byte
	data  []byte // points into in or line, or is buf
	buf   []byte
	some  bool // the event has a data field, be it an empty one
	owned bool // data is buf
	out   bool // the event was handed out
	err   error
}

const byteOrderMark = "\xEF\xBB\xBF"

// Feed gives the Parser the next piece of the stream and the instant at which it came. Next has to have returned false
// before, and the piece must not change until it does so again.
func (p *Parser) Feed(piece []byte, at time.Time) {
	if len(piece) == 0 {
		return
	}
	p.in, p.at, p.pos, p.lf, p.cr = piece, at, 0, -1, -1
	for p.bom >= 0 && p.pos < len(piece) {
		if piece[p.pos] != byteOrderMark[p.bom] { // what looked like one is the beginning of a line
			p.line = append(p.line, byteOrderMark[:p.bom]...)
			p.bom = -1
			break
		}
		p.pos++
		p.bom++
		if p.bom == len(byteOrderMark) {
			p.bom = -1
		}
	}
}

// Next is the next event that the pieces so far complete. false: there is none, and the next piece is wanted, or Err
// says why not. The bytes of an event are valid until the next call.
func (p *Parser) Next() (Event, bool) {
	p.clear()
	for p.err == nil {
		line, ok := p.next()
		if !ok {
			break
		}
		if len(line) > 0 {
			p.field(line)
			continue
		}
		p.out = true // an empty line ends the event; one without data is none
		if p.some {
			return Event{Name: p.name, Data: p.data, At: p.at}, true
		}
		p.clear()
	}
	if p.some && !p.owned { // the piece may change now
		p.own()
	}
	return Event{}, false
}

// Err is why the Parser has stopped, a *LimitError, or nil where it has not.
func (p *Parser) Err() error { return p.err }

// Rest is the event that is incomplete, once the stream has ended and Next has returned false: its last line may lack
// its end, and the empty line is missing. The standard discards it. At is the arrival of its last piece. false: there is
// none with data. Afterwards the Parser is of no use before Reset.
func (p *Parser) Rest() (Event, bool) {
	if p.err == nil && len(p.line) > 0 {
		p.field(p.line)
	}
	return Event{Name: p.name, Data: p.data, At: p.at}, p.some && p.err == nil
}

// Reset makes the Parser ready for another stream. It keeps the limit, and its memory where that is small.
func (p *Parser) Reset() {
	const small = 64 << 10
	fresh := Parser{Limit: p.Limit}
	if cap(p.line)+cap(p.name)+cap(p.buf) <= small {
		fresh.line, fresh.name, fresh.buf = p.line[:0], p.name[:0], p.buf[:0]
	}
	*p = fresh
}

// clear forgets the event that was handed out.
func (p *Parser) clear() {
	if p.out {
		p.name, p.data, p.buf = p.name[:0], nil, p.buf[:0]
		p.some, p.owned, p.out = false, false, false
	}
}

// next is the next line, without its end; false: there is no complete one. A line that is not whole in the piece is put
// together in p.line, which the line after it uses again.
func (p *Parser) next() ([]byte, bool) {
	in := p.in
	if p.pos < len(in) && p.skipLF {
		if in[p.pos] == '\n' {
			p.pos++
		}
		p.skipLF = false
	}
	if p.pos >= len(in) {
		return nil, false
	}
	// Each end is looked for once, so that a stream of CRs alone does not cost the square of its length.
	if p.lf < p.pos {
		p.lf = index(in, p.pos, '\n')
	}
	if p.cr < p.pos {
		p.cr = index(in, p.pos, '\r')
	}
	end := min(p.lf, p.cr)
	part := in[p.pos:end]
	if len(p.line)+len(part) > p.limit() {
		p.err = &LimitError{p.limit()}
		return nil, false
	}
	if end == len(in) {
		p.pos = end
		if p.some && !p.owned { // it may point into p.line
			p.own()
		}
		p.line = append(p.line, part...)
		return nil, false
	}
	p.pos = end + 1
	p.skipLF = in[end] == '\r'
	if len(p.line) > 0 {
		part = append(p.line, part...)
		p.line = part[:0]
	}
	return part, true
}

func index(b []byte, from int, c byte) int {
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}

// field takes a line that is not empty.
func (p *Parser) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'}) // a comment is a field without a name
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		p.datum(value)
	case "event":
		p.name = append(p.name[:0], value...)
	}
}

// datum adds a data field to the event.
func (p *Parser) datum(value []byte) {
	if !p.some {
		p.some, p.data = true, value
		return
	}
	if !p.owned {
		p.own()
	}
	if len(p.buf)+1+len(value) > p.limit() {
		p.err = &LimitError{p.limit()}
		return
	}
	p.buf = append(append(p.buf, '\n'), value...)
	p.data = p.buf
}

// own copies the data of the event into memory of the Parser's.
func (p *Parser) own() {
	p.buf = append(p.buf[:0], p.data...)
	p.data, p.owned = p.buf, true
}

func (p *Parser) limit() int {
	if p.Limit > 0 {
		return p.Limit
	}
	return DefaultLimit
}
