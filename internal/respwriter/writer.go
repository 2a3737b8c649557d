// Package respwriter watches an [http.ResponseWriter]: a middleware wraps the one that it was given and hears of the
// status, the bytes, the flushes and the hijack.
//
// What a handler can find out about its writer stays as it was. The wrapped one is an [http.Flusher], [http.Hijacker],
// [io.ReaderFrom], [http.Pusher] and http.CloseNotifier exactly where the one below is, so that no handler believes in a flush
// or a push that there is none of; an [http.ResponseController] reaches everything below, deadlines and full duplex
// included, and cannot get past the observer; sendfile stays possible where nobody has to see the bytes.
package respwriter

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"unsafe"
)

// Observer hears what is done to a response, after it was done and from the goroutine that did it. After Hijacked it hears
// nothing more.
type Observer interface {
	// Before is the only one that comes before: before each piece of the body, each copy and each flush.
	Before()
	// Status is the final status, once: the first code that is no 1xx (101 is final over HTTP/1), or the 200 that stands for none once
	// there is a body or a flush. A handler that does neither leaves the 200 to the server, and Status is not called.
	Status(code int)
	// Wrote is a piece of the body, as far as the writer below took it, and its error. A piece must neither be kept nor
	// changed.
	Wrote(p []byte, err error)
	// Blind says whether a body may be copied from a reader without Wrote, so that the system may do it (sendfile). Copied
	// then has how many bytes of it the writer below took.
	Blind() bool
	Copied(n int64, err error)
	// Flushed: what was written before has left for the client, or could not.
	Flushed(err error)
	// Hijacked: the connection is the handler's.
	Hijacked()
}

// Writer is a watched ResponseWriter. It can be part of a greater struct, so that a request costs no allocation of its own
// for it. Its methods are of no use before [Writer.Wrap].
type Writer struct {
	below    http.ResponseWriter
	watch    Observer
	status   bool // the final status is known
	hijacked bool
	deep     bool // Hijack is to be found below the one below
	switches bool // 101 is final

	keptName, keptValue string // a header of the final status; "": none
}

// Wrap makes w watch below, and returns what a handler is given: w with the interfaces that below has. A response of HTTP/2 cannot
// switch protocols, and net/http takes its 101 for one more informational status.
func (w *Writer) Wrap(below http.ResponseWriter, req *http.Request, watch Observer) http.ResponseWriter {
	*w = Writer{below: below, watch: watch, switches: req.ProtoMajor < 2}
	has := of(below)
	w.deep = has&hijacker == 0 && deepHijacker(below)
	return with(has, w)
}

// Observer is who hears of what is done to w.
func (w *Writer) Observer() Observer { return w.watch }

// Find is the nearest observer of type T that watches w, which may have been wrapped further.
func Find[T Observer](w http.ResponseWriter) (found T, ok bool) {
	for w != nil {
		if watched, is := w.(interface{ Observer() Observer }); is {
			if found, ok = watched.Observer().(T); ok {
				return found, true
			}
		}
		inner, is := w.(interface{ Unwrap() http.ResponseWriter })
		if !is {
			break
		}
		w = inner.Unwrap()
	}
	return found, false
}

// Keep has the final status carry a header, whatever a handler does to those that it finds: [net/http/httputil.ReverseProxy] takes
// all away behind an informational status. What a handler has under that name itself stands behind it.
func (w *Writer) Keep(name, value string) {
	w.keptName, w.keptValue = http.CanonicalHeaderKey(name), value
	w.keep()
}

func (w *Writer) keep() {
	if w.keptName == "" || w.status || w.hijacked {
		return
	}
	h := w.below.Header()
	if v := h[w.keptName]; !slices.Contains(v, w.keptValue) {
		h[w.keptName] = append([]string{w.keptValue}, v...)
	}
}

// Header is the header of the writer below.
func (w *Writer) Header() http.Header { return w.below.Header() }

// WriteHeader sends a status. Informational ones may precede the final one; of several final ones the first is sent.
func (w *Writer) WriteHeader(code int) {
	final := code >= 200 || code == http.StatusSwitchingProtocols && w.switches
	if final {
		w.keep()
	}
	w.below.WriteHeader(code) // panics of one that is none
	if final {
		w.is(code)
	}
}

// is takes the final status.
func (w *Writer) is(code int) {
	if !w.status && !w.hijacked {
		w.status = true
		w.watch.Status(code)
	}
}

// Write writes a piece of the body.
func (w *Writer) Write(p []byte) (int, error) {
	w.before()
	n, err := w.below.Write(p)
	w.wrote(p, n, err)
	return n, err
}

// WriteString writes a piece of the body, without a copy where the writer below can do so.
func (w *Writer) WriteString(s string) (int, error) {
	w.before()
	n, err := io.WriteString(w.below, s)
	w.wrote(unsafe.Slice(unsafe.StringData(s), len(s)), n, err)
	return n, err
}

func (w *Writer) before() {
	if !w.hijacked {
		w.keep()
		w.is(http.StatusOK)
		w.watch.Before()
	}
}

func (w *Writer) wrote(p []byte, n int, err error) {
	if !w.hijacked {
		w.watch.Wrote(p[:min(max(n, 0), len(p))], err)
	}
}

// FlushError sends what was written. Its error is [http.ErrNotSupported] where nobody below can.
func (w *Writer) FlushError() error {
	if !w.hijacked {
		w.keep()
		w.watch.Before()
	}
	var err error
	if f, ok := w.below.(interface{ FlushError() error }); ok { // as the controller does, and nearly always
		err = f.FlushError()
	} else {
		err = http.NewResponseController(w.below).Flush()
	}
	if w.hijacked || err != nil && !canFlush(w.below) {
		return err
	}
	w.is(http.StatusOK)
	w.watch.Flushed(err)
	return err
}

// canFlush says whether an error of a flush is one of a flush, and not that there is none.
func canFlush(w http.ResponseWriter) bool {
	for {
		switch t := w.(type) {
		case interface{ FlushError() error }, http.Flusher:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}

// Unwrap is the writer below, for [http.ResponseController].
func (w *Writer) Unwrap() http.ResponseWriter {
	if w.deep {
		return (*controller)(w)
	}
	return w.below
}

func (w *Writer) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(w.below).Hijack()
	if err == nil && !w.hijacked {
		w.hijacked = true
		w.watch.Hijacked()
	}
	return conn, buf, err
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func (w *Writer) readFrom(src io.Reader) (int64, error) {
	if !w.hijacked && !w.watch.Blind() {
		buf := buffers.Get().(*[32 << 10]byte)
		defer buffers.Put(buf)
		return io.CopyBuffer(struct{ io.Writer }{w}, src, buf[:])
	}
	if !w.hijacked {
		w.keep()
		w.watch.Before()
	}
	n, err := w.below.(io.ReaderFrom).ReadFrom(src)
	if n > 0 { // an empty source leaves the status open
		w.is(http.StatusOK)
	}
	if !w.hijacked {
		w.watch.Copied(n, err)
	}
	return n, err
}

// controller is what an [http.ResponseController] meets on its way to a Hijack that the writer below only leads to.
type controller Writer

func (c *controller) Header() http.Header         { return (*Writer)(c).Header() }
func (c *controller) Write(p []byte) (int, error) { return (*Writer)(c).Write(p) }
func (c *controller) WriteHeader(code int)        { (*Writer)(c).WriteHeader(code) }
func (c *controller) Unwrap() http.ResponseWriter { return c.below }
func (c *controller) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return (*Writer)(c).hijack()
}

func deepHijacker(w http.ResponseWriter) bool {
	for {
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = inner.Unwrap()
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
	}
}
