package httpclient

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"sync/atomic"
)

// givenBody is the body of a request that a caller gave. It notes in broken that it failed, or was not as long as the
// request says, if that was before it was closed: net/http returns the error as if it were the connection's.
type givenBody struct {
	io.ReadCloser
	length int64 // −1: unknown
	n      int64
	broken *atomic.Bool
	closed atomic.Bool
}

func (b *givenBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	if long := b.length > 0 && b.n > b.length; !b.closed.Load() &&
		(long || err == io.EOF && b.length > 0 && b.n < b.length || err != nil && err != io.EOF) {
		b.broken.Store(true)
	}
	return n, err
}

func (b *givenBody) Close() error {
	b.closed.Store(true)
	return b.ReadCloser.Close()
}

var (
	nopCloser         = reflect.TypeOf(io.NopCloser(nil))
	nopCloserWriterTo = reflect.TypeOf(io.NopCloser(new(bytes.Reader)))
)

// inMemory says that a body cannot fail, since it is a closer of nothing around a reader of memory that has length bytes.
// net/http sends such a one together with the header, and has to find it as it is.
func inMemory(body io.Reader, length int64) bool {
	switch t := reflect.TypeOf(body); t {
	case nopCloser, nopCloserWriterTo:
		body, _ = reflect.ValueOf(body).Field(0).Interface().(io.Reader)
	}
	switch r := body.(type) {
	case *bytes.Reader:
		return int64(r.Len()) == length
	case *bytes.Buffer:
		return int64(r.Len()) == length
	case *strings.Reader:
		return int64(r.Len()) == length
	}
	return false
}

// ownError is the error of a request that failed on the client's side: its body was not to be had, or the caller has
// redirects refused.
type ownError struct {
	what string
	err  error
}

func (e *ownError) Error() string { return e.what + ": " + e.err.Error() }
func (e *ownError) Unwrap() error { return e.err }
