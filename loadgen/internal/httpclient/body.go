package httpclient

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

const (
	drainSize = 64 << 10
	drainTime = 50 * time.Millisecond
)

// Body is the body of an answer, and when its last piece came.
type Body struct {
	At    time.Time // when the bytes of the last Read came: by the kernel's account, else taken as soon as they were there
	body  io.ReadCloser
	from  *arrivingBody // the body, where it is known when it came
	plain io.Reader     // the body, decoded where it is encoded
	trace *loadgen.Trace
	some  bool // a byte came
	ended bool // it has come to its end
}

// NewBody is the body of resp, decoded where it is gzip. It tells trace of the first byte.
func NewBody(resp *http.Response, trace *loadgen.Trace) *Body {
	in := NewRawBody(resp, trace)
	if resp.Header["Content-Encoding"] == nil {
		return in
	}
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		in.plain = &gunzip{wire: in.plain}
	default:
		in.plain = unreadable{loadgen.Fail(goodput.Malformed, "the content encoding is neither identity nor gzip")}
	}
	return in
}

// NewRawBody is the body of resp as it came, encoded or not.
func NewRawBody(resp *http.Response, trace *loadgen.Trace) *Body {
	from, _ := resp.Body.(*arrivingBody)
	var in *Body
	if from != nil {
		in = &from.of.in
	} else {
		in = new(Body)
	}
	*in = Body{body: resp.Body, from: from, trace: trace}
	in.plain = wire{in}
	return in
}

// Read reads what the protocol means: the decoded body.
func (in *Body) Read(p []byte) (int, error) { return in.plain.Read(p) }

// wire reads from the connection.
type wire struct{ *Body }

func (w wire) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	w.At = w.arrival(err)
	w.ended = w.ended || err == io.EOF
	if n > 0 && !w.some {
		w.some = true
		w.trace.FirstByteAt(w.At)
	}
	return n, err
}

// arrival is when the bytes came that a Read has just returned. One that failed has ended now, and so has the last one
// where the end of the connection is the body's.
func (in *Body) arrival(err error) time.Time {
	if in.from != nil && (err == nil || err == io.EOF) {
		if at, ok := in.from.arrival(); ok {
			return at
		}
	}
	return time.Now()
}

// gunzip decodes a body that nobody asked to be compressed. It waits for its header when it is read, and not before.
type gunzip struct {
	wire io.Reader
	zip  *gzip.Reader
}

func (g *gunzip) Read(p []byte) (n int, err error) {
	if g.zip == nil {
		if g.zip, err = gzip.NewReader(g.wire); err != nil {
			g.zip = nil
			return 0, broken(err)
		}
	}
	n, err = g.zip.Read(p)
	return n, broken(err)
}

// broken makes malformed what is wrong in the encoding itself.
func broken(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		return loadgen.Fail(goodput.Malformed, "the body is not gzip, though its header says so")
	}
	return err
}

type unreadable struct{ err error }

func (u unreadable) Read([]byte) (int, error) { return 0, u.err }

// Drain reads, into buf, the little that may follow the end of an answer, so that the connection can be used again: at
// most 64 KiB, and no longer than 50 ms.
func (in *Body) Drain(buf []byte) {
	if in.ended {
		return
	}
	defer in.Bound(drainTime)()
	for left := drainSize; left > 0; {
		n, err := in.body.Read(buf)
		if err != nil {
			return
		}
		left -= n
	}
}

// Bound closes the body after d, which ends a Read, unless the function that it returns is called before.
func (in *Body) Bound(d time.Duration) (stop func() bool) {
	return time.AfterFunc(d, func() { in.body.Close() }).Stop
}

// MediaType is that of the body, without its parameters; empty where the server does not say.
func MediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return t
}
