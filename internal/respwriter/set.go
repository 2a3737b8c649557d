package respwriter

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// set is which optional interfaces a ResponseWriter has.
type set uint8

const (
	flusher set = 1 << iota
	hijacker
	readerFrom
	pusher
	closeNotifier
	sets // how many sets there are
)

// of is the set of w.
func of(w http.ResponseWriter) (has set) {
	if _, ok := w.(http.Flusher); ok {
		has |= flusher
	}
	if _, ok := w.(http.Hijacker); ok {
		has |= hijacker
	}
	if _, ok := w.(io.ReaderFrom); ok {
		has |= readerFrom
	}
	if _, ok := w.(http.Pusher); ok {
		has |= pusher
	}
	if _, ok := w.(notifier); ok {
		has |= closeNotifier
	}
	return has
}

// notifier is http.CloseNotifier, which is deprecated, and which some still assert.
type notifier interface{ CloseNotify() <-chan bool }

// A type for each interface, with that one method: the same Writer, seen in another way.
type (
	flushing  Writer
	hijacking Writer
	reading   Writer
	pushing   Writer
	closing   Writer
)

func (w *flushing) Flush() { _ = (*Writer)(w).FlushError() }
func (w *hijacking) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return (*Writer)(w).hijack()
}
func (w *reading) ReadFrom(src io.Reader) (int64, error) { return (*Writer)(w).readFrom(src) }
func (w *pushing) Push(target string, opts *http.PushOptions) error {
	return w.below.(http.Pusher).Push(target, opts)
}
func (w *closing) CloseNotify() <-chan bool { return w.below.(notifier).CloseNotify() }

// with is w with the methods of a set. Which methods a value has is its type, so that there is one for each set.
func with(has set, w *Writer) http.ResponseWriter {
	f, h, r, p, c := (*flushing)(w), (*hijacking)(w), (*reading)(w), (*pushing)(w), (*closing)(w)
	switch has {
	case flusher:
		return struct {
			*Writer
			*flushing
		}{w, f}
	case hijacker:
		return struct {
			*Writer
			*hijacking
		}{w, h}
	case flusher | hijacker:
		return struct {
			*Writer
			*flushing
			*hijacking
		}{w, f, h}
	case readerFrom:
		return struct {
			*Writer
			*reading
		}{w, r}
	case flusher | readerFrom:
		return struct {
			*Writer
			*flushing
			*reading
		}{w, f, r}
	case hijacker | readerFrom:
		return struct {
			*Writer
			*hijacking
			*reading
		}{w, h, r}
	case flusher | hijacker | readerFrom:
		return struct {
			*Writer
			*flushing
			*hijacking
			*reading
		}{w, f, h, r}
	case pusher:
		return struct {
			*Writer
			*pushing
		}{w, p}
	case flusher | pusher:
		return struct {
			*Writer
			*flushing
			*pushing
		}{w, f, p}
	case hijacker | pusher:
		return struct {
			*Writer
			*hijacking
			*pushing
		}{w, h, p}
	case flusher | hijacker | pusher:
		return struct {
			*Writer
			*flushing
			*hijacking
			*pushing
		}{w, f, h, p}
	case readerFrom | pusher:
		return struct {
			*Writer
			*reading
			*pushing
		}{w, r, p}
	case flusher | readerFrom | pusher:
		return struct {
			*Writer
			*flushing
			*reading
			*pushing
		}{w, f, r, p}
	case hijacker | readerFrom | pusher:
		return struct {
			*Writer
			*hijacking
			*reading
			*pushing
		}{w, h, r, p}
	case flusher | hijacker | readerFrom | pusher:
		return struct {
			*Writer
			*flushing
			*hijacking
			*reading
			*pushing
		}{w, f, h, r, p}
	case closeNotifier:
		return struct {
			*Writer
			*closing
		}{w, c}
	case flusher | closeNotifier:
		return struct {
			*Writer
			*flushing
			*closing
		}{w, f, c}
	case hijacker | closeNotifier:
		return struct {
			*Writer
			*hijacking
			*closing
		}{w, h, c}
	case flusher | hijacker | closeNotifier:
		return struct {
			*Writer
			*flushing
			*hijacking
			*closing
		}{w, f, h, c}
	case readerFrom | closeNotifier:
		return struct {
			*Writer
			*reading
			*closing
		}{w, r, c}
	case flusher | readerFrom | closeNotifier:
		return struct {
			*Writer
			*flushing
			*reading
			*closing
		}{w, f, r, c}
	case hijacker | readerFrom | closeNotifier:
		return struct {
			*Writer
			*hijacking
			*reading
			*closing
		}{w, h, r, c}
	case flusher | hijacker | readerFrom | closeNotifier:
		return struct {
			*Writer
			*flushing
			*hijacking
			*reading
			*closing
		}{w, f, h, r, c}
	case pusher | closeNotifier:
		return struct {
			*Writer
			*pushing
			*closing
		}{w, p, c}
	case flusher | pusher | closeNotifier:
		return struct {
			*Writer
			*flushing
			*pushing
			*closing
		}{w, f, p, c}
	case hijacker | pusher | closeNotifier:
		return struct {
			*Writer
			*hijacking
			*pushing
			*closing
		}{w, h, p, c}
	case flusher | hijacker | pusher | closeNotifier:
		return struct {
			*Writer
			*flushing
			*hijacking
			*pushing
			*closing
		}{w, f, h, p, c}
	case readerFrom | pusher | closeNotifier:
		return struct {
			*Writer
			*reading
			*pushing
			*closing
		}{w, r, p, c}
	case flusher | readerFrom | pusher | closeNotifier:
		return struct {
			*Writer
			*flushing
			*reading
			*pushing
			*closing
		}{w, f, r, p, c}
	case hijacker | readerFrom | pusher | closeNotifier:
		return struct {
			*Writer
			*hijacking
			*reading
			*pushing
			*closing
		}{w, h, r, p, c}
	case flusher | hijacker | readerFrom | pusher | closeNotifier:
		return struct {
			*Writer
			*flushing
			*hijacking
			*reading
			*pushing
			*closing
		}{w, f, h, r, p, c}
	}
	return w
}
