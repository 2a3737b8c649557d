package goodputhttp

import (
	"bytes"
	"mime"
	"net/http"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/sse"
)

// TokenCounter finds the token events in the body of one answer. It sees the body in the pieces in which it is written or
// read, cut anywhere, and from one goroutine at a time. What it keeps has to be bounded, whatever the body is.
type TokenCounter interface {
	// Count tells t what the next piece of the body completes. It must neither keep nor change the piece.
	Count(t *Tally, piece []byte)
	// End is the end of the body, where it has come to one: it was not lost before.
	End(t *Tally)
}

// CounterFor is a counter by the Content-Type: [SSE] for text/event-stream, [NDJSON] for the names of JSON in lines; nil:
// none, for a body of any other type has no steps that could be seen.
func CounterFor(header http.Header) TokenCounter {
	switch mediaType(header) {
	case "text/event-stream":
		return SSE()
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl", "application/jsonlines", "application/x-jsonlines":
		return NDJSON()
	}
	return nil
}

func mediaType(header http.Header) string {
	values := header["Content-Type"]
	if len(values) == 0 {
		return ""
	}
	switch values[0] { // without an allocation
	case "text/event-stream", "application/x-ndjson", "application/json", "text/html; charset=utf-8", "text/plain; charset=utf-8":
		return values[0]
	}
	t, _, err := mime.ParseMediaType(values[0])
	if err != nil && t == "" {
		return ""
	}
	return t
}

// SSE counts the events of an event stream, by the rules of the WHATWG: each whose data is not empty is a token event, but for
// [DONE], which is the end marker. It does not look into the data, and so takes a role, an empty delta or the usage for a token:
// [ChatCounter] does look, and with [SSEFunc] one can.
func SSE() TokenCounter { return &eventCounter{} }

// NDJSON counts lines: each that is not empty is a token event.
func NDJSON() TokenCounter { return &lineCounter{} }

// SSEFunc is a counter of event streams that leaves it to each what an event is: it tells t. The data must neither be kept nor
// changed. A line or an event of more than 1 MiB makes the answer [goodput.Malformed].
func SSEFunc(each func(t *Tally, data []byte)) TokenCounter { return &eventReader{each: each} }

// NDJSONFunc is a counter of lines that leaves it to each what a line is: it tells t. Empty lines are left out. The line must
// neither be kept nor changed. One of more than 1 MiB makes the answer [goodput.Malformed].
func NDJSONFunc(each func(t *Tally, line []byte)) TokenCounter { return &lineReader{each: each} }

const (
	byteOrderMark = "\xEF\xBB\xBF"
	dataField     = "data"
	doneMarker    = "[DONE]"
)

// An ownCounter is one that keeps nothing of the body, and so needs no Tally to tell what is in a piece: so many token events, and
// behind them perhaps the end marker. What comes after that is no event.
type ownCounter interface {
	count(piece []byte) (events int, marker bool)
	end() (events int, marker bool)
}

// eventCounter knows of an event no more than whether it has data and whether that is the end marker, so that it keeps
// nothing of it, however long it is.
type eventCounter struct {
	bom    int8 // bytes of a byte order mark that were seen; < 0: the start is over
	skipLF bool // the last line ended with a CR: an LF that follows belongs to it
	field  int8 // of the line: bytes of "data" that were seen, or one of the below
	some   bool // the event has data that is no white space
	marker int8 // bytes of the end marker that its data is so far; < 0: it is another one

	events int // of the piece
	over   bool
}

const (
	fieldValue int8 = -1 // what follows is the value of a data field
	fieldOther int8 = -2 // of another one
)

func (c *eventCounter) Count(t *Tally, p []byte) { t.add(c.count(p)) }

// End discards an incomplete event, but for the end marker.
func (c *eventCounter) End(t *Tally) { t.add(c.end()) }

func (c *eventCounter) end() (int, bool) { return 0, int(c.marker) == len(doneMarker) }

func (c *eventCounter) count(p []byte) (events int, marker bool) {
	c.events = 0
	for c.bom >= 0 && len(p) > 0 {
		if p[0] != byteOrderMark[c.bom] {
			if c.bom > 0 { // what looked like one is the beginning of a line
				c.field = fieldOther
			}
			c.bom = -1
			break
		}
		p = p[1:]
		if c.bom++; int(c.bom) == len(byteOrderMark) {
			c.bom = -1
		}
	}
	lf := -1 // of the first LF that was not passed; each is looked for once, so that a stream of CRs does not cost the square of its length
	for i := 0; i < len(p); {
		if c.skipLF {
			c.skipLF = false
			if p[i] == '\n' {
				i++
				continue
			}
		}
		if p[i] == '\n' {
			c.lineEnd()
			i++
			continue
		}
		if lf < i {
			if lf = bytes.IndexByte(p[i:], '\n') + i; lf < i {
				lf = len(p)
			}
		}
		end := lf
		if cr := bytes.IndexByte(p[i:lf], '\r'); cr >= 0 {
			end, c.skipLF = i+cr, true
		}
		c.part(p[i:end])
		if end < len(p) {
			c.lineEnd()
		}
		i = end + 1
	}
	return c.events, c.over
}

// part takes a part of a line.
func (c *eventCounter) part(p []byte) {
	if c.field == 0 && len(p) > len(dataField) && string(p[:len(dataField)+1]) == dataField+":" { // nearly always
		c.field, p = fieldValue, p[len(dataField)+1:]
	}
	for c.field >= 0 && len(p) > 0 {
		switch {
		case int(c.field) < len(dataField) && p[0] == dataField[c.field]:
			c.field++
		case int(c.field) == len(dataField) && p[0] == ':':
			c.field = fieldValue
		default:
			c.field = fieldOther
		}
		p = p[1:]
	}
	if c.field != fieldValue {
		return
	}
	for _, b := range p {
		switch {
		case c.some && c.marker < 0:
			return // what is to be known of the event is known
		case b == ' ' || b == '\t':
			c.gap()
		case c.marker >= 0 && int(c.marker) < len(doneMarker) && b == doneMarker[c.marker]:
			c.some = true
			c.marker++
		default:
			c.some, c.marker = true, -1
		}
	}
}

// gap is white space in the data, which may stand around the end marker and not within it.
func (c *eventCounter) gap() {
	if 0 < c.marker && int(c.marker) < len(doneMarker) {
		c.marker = -1
	}
}

func (c *eventCounter) lineEnd() {
	if c.field == 0 { // an empty line ends the event
		switch {
		case c.over:
		case int(c.marker) == len(doneMarker):
			c.over = true
		case c.some:
			c.events++
		}
		c.some, c.marker = false, 0
	}
	if c.field == fieldValue {
		c.gap()
	}
	c.field = 0
}

// lineCounter knows of a line no more than whether there is something in it.
type lineCounter struct{ some bool }

func (c *lineCounter) Count(t *Tally, p []byte) { t.add(c.count(p)) }

func (c *lineCounter) End(t *Tally) { t.add(c.end()) }

func (c *lineCounter) count(p []byte) (events int, marker bool) {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			c.some = c.some || len(bytes.Trim(p, " \t\r")) > 0
			return events, false
		}
		if c.some || len(bytes.Trim(p[:i], " \t\r")) > 0 {
			events++
		}
		c.some, p = false, p[i+1:]
	}
}

func (c *lineCounter) end() (events int, marker bool) {
	if c.some {
		events++
	}
	c.some = false
	return events, false
}

// eventReader hands each event on.
type eventReader struct {
	each   func(*Tally, []byte)
	parser sse.Parser
	failed bool
}

func (c *eventReader) Count(t *Tally, p []byte) {
	if c.failed {
		return
	}
	c.parser.Feed(p, time.Time{})
	for ev, ok := c.parser.Next(); ok; ev, ok = c.parser.Next() {
		c.each(t, ev.Data)
	}
	if err := c.parser.Err(); err != nil {
		c.failed = true
		t.Fail(goodput.Malformed, err.Error())
	}
}

func (c *eventReader) End(t *Tally) {
	if ev, ok := c.parser.Rest(); ok && string(bytes.TrimSpace(ev.Data)) == doneMarker {
		c.each(t, ev.Data)
	}
}

// lineReader hands each line on.
type lineReader struct {
	each   func(*Tally, []byte)
	line   []byte // the beginning of one
	failed bool
}

func (c *lineReader) Count(t *Tally, p []byte) {
	for !c.failed {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		if len(c.line)+len(line) > sse.DefaultLimit {
			c.failed, c.line = true, nil
			t.Fail(goodput.Malformed, "a line of more than 1 MiB")
			return
		}
		if !ended {
			c.line = append(c.line, line...)
			return
		}
		if len(c.line) > 0 {
			c.line = append(c.line, line...)
			line = c.line
		}
		c.hand(t, line)
		c.line, p = c.line[:0], rest
	}
}

func (c *lineReader) hand(t *Tally, line []byte) {
	if line = bytes.TrimSpace(line); len(line) > 0 {
		c.each(t, line)
	}
}

func (c *lineReader) End(t *Tally) {
	c.hand(t, c.line)
	c.line = nil
}
