package httptarget

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/sse"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// answer is the body of an answer with a good status.
type answer struct {
	c     *Config
	req   *http.Request
	resp  *http.Response
	trace *loadgen.Trace
	body  *httpclient.Body
	some  int64     // bytes of it so far
	err   error     // the end of the body, or what went wrong with it
	end   time.Time // when the answer ended, or the failure was seen

	events int // token events
	line   []byte
}

// maxEvents bounds the token events of one answer, and so the memory of its record; maxLine a line, bytes.
const (
	maxEvents = 1 << 20
	maxLine   = sse.DefaultLimit
)

// Read reads the body, as far as it may go.
func (a *answer) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.body.Read(p)
	a.some += int64(n)
	a.end = a.body.At
	if a.some > a.c.MaxBody {
		err = loadgen.Fail(goodput.Malformed, fmt.Sprintf("the body is longer than %d bytes", a.c.MaxBody))
	}
	a.err = err
	return n, err
}

func (a *answer) read(buf *buffer) error {
	if a.c.Stream != NoStream {
		return a.stream(buf)
	}
	if a.c.Check != nil {
		err := a.c.Check(a.resp, struct{ io.Reader }{a})
		switch {
		case a.err != nil && a.err != io.EOF: // whatever Check made of that
			return a.err
		case err != nil:
			a.end = time.Now()
			return a.judged(err)
		}
	}
	for {
		n, err := a.Read(buf.b)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		buf.filled(n)
	}
}

// judged is the outcome of an answer that the user's code has refused.
func (a *answer) judged(err error) error {
	var named *loadgen.OutcomeError
	var status *loadgen.StatusError
	if errors.As(err, &named) || errors.As(err, &status) {
		return err
	}
	return loadgen.Fail(goodput.Malformed, redactor(a.req).Line(err.Error(), sent(a.req), false)) // it may quote the answer
}

// errEnd stops the reading after the end marker.
var errEnd = errors.New("the end marker")

// stream reads a stream to its end.
func (a *answer) stream(buf *buffer) error {
	cut := a.lines
	var parser sse.Parser
	if a.c.Stream == SSE {
		cut = func(b []byte) error {
			parser.Feed(b, a.end)
			for ev, ok := parser.Next(); ok; ev, ok = parser.Next() {
				if err := a.piece(ev.Data); err != nil {
					return err
				}
			}
			if err := parser.Err(); err != nil {
				return loadgen.Fail(goodput.Malformed, err.Error())
			}
			return nil
		}
	}
	for {
		n, err := a.Read(buf.b)
		stop := cut(buf.b[:n])
		if stop == nil && err == io.EOF && len(a.line) > 0 { // the last line may lack its end
			stop = a.piece(a.line)
		}
		switch {
		case stop == errEnd:
			return nil
		case stop != nil:
			return stop
		case err == io.EOF && a.c.EndMarker:
			return loadgen.Fail(goodput.Truncated, "the body ended with no end marker")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		buf.filled(n)
	}
}

// lines cuts what came into lines.
func (a *answer) lines(b []byte) error {
	for {
		i := bytes.IndexByte(b, '\n')
		if len(a.line)+max(i, 0) > maxLine || i < 0 && len(a.line)+len(b) > maxLine {
			return loadgen.Fail(goodput.Malformed, fmt.Sprintf("a line of more than %d bytes", maxLine))
		}
		if i < 0 {
			a.line = append(a.line, b...)
			return nil
		}
		line := b[:i]
		if len(a.line) > 0 {
			a.line = append(a.line, line...)
			line = a.line
		}
		if err := a.piece(line); err != nil {
			return err
		}
		a.line, b = a.line[:0], b[i+1:]
	}
}

// piece takes one piece of the stream.
func (a *answer) piece(data []byte) error {
	data = bytes.TrimSpace(data)
	p := Piece{Token: len(data) > 0}
	if a.c.Piece != nil {
		var err error
		if p, err = a.c.Piece(data); err != nil {
			return a.judged(err)
		}
	}
	if p.Token {
		if a.events++; a.events > maxEvents {
			return loadgen.Fail(goodput.Malformed, fmt.Sprintf("more than %d token events", maxEvents))
		}
		a.trace.TokenAt(a.end, p.Tokens)
	}
	if p.End {
		return errEnd
	}
	return nil
}
