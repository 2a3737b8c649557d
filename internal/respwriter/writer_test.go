package respwriter

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var http1 = httptest.NewRequest(http.MethodGet, "/", nil)

// log is an Observer that writes down what it hears.
type log struct {
	blind   bool
	befores int
	said    []string
	body    bytes.Buffer
	err     error
}

func (l *log) say(s string) { l.said = append(l.said, s) }

func (l *log) Before()         { l.befores++ }
func (l *log) Status(code int) { l.say(http.StatusText(code)) }
func (l *log) Wrote(p []byte, err error) {
	l.body.Write(p)
	l.err = err
	l.say("wrote")
}
func (l *log) Blind() bool { return l.blind }
func (l *log) Copied(n int64, err error) {
	l.err = err
	l.say("copied")
}
func (l *log) Flushed(err error) {
	l.err = err
	l.say("flushed")
}
func (l *log) Hijacked() { l.say("hijacked") }

// below can do everything that a ResponseWriter may.
type below struct {
	httptest.ResponseRecorder
	calls []string
	err   error
}

func (b *below) FlushError() error {
	b.calls = append(b.calls, "flush")
	return b.err
}
func (b *below) Flush() { _ = b.FlushError() }
func (b *below) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	b.calls = append(b.calls, "hijack")
	return nil, nil, b.err
}
func (b *below) ReadFrom(src io.Reader) (int64, error) {
	b.calls = append(b.calls, "copy")
	return io.Copy(b.Body, src)
}
func (b *below) Push(string, *http.PushOptions) error {
	b.calls = append(b.calls, "push")
	return b.err
}
func (b *below) CloseNotify() <-chan bool { return nil }
func (b *below) SetWriteDeadline(t time.Time) error {
	b.calls = append(b.calls, "deadline")
	return nil
}
func (b *below) EnableFullDuplex() error { b.calls = append(b.calls, "duplex"); return nil }

func newBelow() *below { return &below{ResponseRecorder: *httptest.NewRecorder()} }

// bare is a writer with no more than it has to have.
type bare struct{ http.ResponseWriter }

// middle is another middleware's, which hides everything and can be unwrapped.
type middle struct{ http.ResponseWriter }

func (m middle) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// Every set of interfaces is kept as it is, neither more nor less.
func TestEverySetIsKept(t *testing.T) {
	for has := range sets {
		var inner Writer
		inner.Wrap(newBelow(), http1, &log{})
		w := with(has, &inner) // this has the set …
		for _, one := range []struct {
			set set
			has func() bool
		}{
			{flusher, func() bool { _, ok := w.(http.Flusher); return ok }},
			{hijacker, func() bool { _, ok := w.(http.Hijacker); return ok }},
			{readerFrom, func() bool { _, ok := w.(io.ReaderFrom); return ok }},
			{pusher, func() bool { _, ok := w.(http.Pusher); return ok }},
			{closeNotifier, func() bool { _, ok := w.(notifier); return ok }},
		} {
			require.Equal(t, has&one.set != 0, one.has(), "%b: %b", has, one.set)
		}
		var outer Writer
		require.Equal(t, has, of(outer.Wrap(w, http1, &log{})), "%b", has) // … and so has what wraps it
	}
}

// What net/http itself gives, over either protocol, keeps its interfaces too.
func TestRealWritersKeepTheirs(t *testing.T) {
	for _, two := range []bool{false, true} {
		checked := false
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			var w Writer
			wrapped := w.Wrap(rw, http1, &log{})
			checked = of(rw) == of(wrapped) && of(rw)&flusher != 0 && (of(rw)&pusher != 0) == two && (of(rw)&hijacker != 0) != two
			rc := http.NewResponseController(wrapped)
			checked = checked && rc.SetWriteDeadline(time.Now().Add(time.Minute)) == nil && rc.EnableFullDuplex() == nil && rc.Flush() == nil
		}))
		s.EnableHTTP2 = two
		s.StartTLS()
		resp, err := s.Client().Get(s.URL)
		require.NoError(t, err)
		resp.Body.Close()
		s.Close()
		require.Equal(t, map[bool]int{false: 1, true: 2}[two], resp.ProtoMajor)
		require.True(t, checked)
	}
}

// Over HTTP/2, which cannot switch protocols, net/http goes on after a 101 as after any other 1xx.
func TestNoSwitchOverHTTP2(t *testing.T) {
	http2 := httptest.NewRequest(http.MethodGet, "/", nil)
	http2.ProtoMajor = 2
	l := &log{}
	w := new(Writer).Wrap(newBelow(), http2, l)
	w.WriteHeader(http.StatusSwitchingProtocols)
	w.WriteHeader(http.StatusInternalServerError)
	require.Equal(t, []string{"Internal Server Error"}, l.said)
}

func TestWhatIsHeard(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w http.ResponseWriter)
		said []string
		body string
	}{
		{"nothing", func(http.ResponseWriter) {}, nil, ""},
		{"a body without a status", func(w http.ResponseWriter) { io.WriteString(w, "a"); w.Write([]byte("b")) }, []string{"OK", "wrote", "wrote"}, "ab"},
		{"a status", func(w http.ResponseWriter) { w.WriteHeader(404) }, []string{"Not Found"}, ""},
		{"two", func(w http.ResponseWriter) { w.WriteHeader(404); w.WriteHeader(500) }, []string{"Not Found"}, ""},
		{"a status after the body", func(w http.ResponseWriter) { io.WriteString(w, "a"); w.WriteHeader(500) }, []string{"OK", "wrote"}, "a"},
		{"early hints", func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(100); w.WriteHeader(201) }, []string{"Created"}, ""},
		{"another protocol", func(w http.ResponseWriter) { w.WriteHeader(101) }, []string{"Switching Protocols"}, ""},
		{"a flush first", func(w http.ResponseWriter) { w.(http.Flusher).Flush(); io.WriteString(w, "a") }, []string{"OK", "flushed", "wrote"}, "a"},
		{"a controller's flush", func(w http.ResponseWriter) { http.NewResponseController(w).Flush() }, []string{"OK", "flushed"}, ""},
		{"a hijack", func(w http.ResponseWriter) {
			w.(http.Hijacker).Hijack()
			w.Write([]byte("a"))
			w.(http.Flusher).Flush()
		}, []string{"hijacked"}, ""},
		{"a controller's hijack", func(w http.ResponseWriter) { http.NewResponseController(w).Hijack(); w.WriteHeader(200) }, []string{"hijacked"}, ""},
		{"two hijacks", func(w http.ResponseWriter) { w.(http.Hijacker).Hijack(); w.(http.Hijacker).Hijack() }, []string{"hijacked"}, ""},
		{"a copy", func(w http.ResponseWriter) { io.Copy(w, iotest.OneByteReader(strings.NewReader("ab"))) }, []string{"OK", "wrote", "wrote"}, "ab"},
		{"a copy of nothing", func(w http.ResponseWriter) {
			io.Copy(w, struct{ io.Reader }{strings.NewReader("")})
			w.WriteHeader(404)
		}, []string{"Not Found"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w Writer
			l := &log{}
			c.do(w.Wrap(newBelow(), http1, l))
			require.Equal(t, c.said, l.said)
			require.Equal(t, c.body, l.body.String())
			after := 0
			for _, what := range l.said {
				if what == "wrote" || what == "flushed" {
					after++
				}
			}
			require.Equal(t, after, l.befores, "once before each")
		})
	}
}

func TestBlindCopyIsLeftToTheWriterBelow(t *testing.T) {
	var w Writer
	b, l := newBelow(), &log{blind: true}
	n, err := w.Wrap(b, http1, l).(io.ReaderFrom).ReadFrom(strings.NewReader("abc"))
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	require.Equal(t, []string{"copy"}, b.calls)
	require.Equal(t, []string{"OK", "copied"}, l.said)
}

func TestErrorsAreHeard(t *testing.T) {
	gone := errors.New("gone")
	var w Writer
	b, l := newBelow(), &log{}
	b.err = gone
	wrapped := w.Wrap(b, http1, l)
	require.Equal(t, gone, http.NewResponseController(wrapped).Flush())
	require.Equal(t, gone, l.err)
	_, _, err := wrapped.(http.Hijacker).Hijack()
	require.Equal(t, gone, err, "and it is not hijacked")
	require.NotContains(t, l.said, "hijacked")
	require.Equal(t, gone, wrapped.(http.Pusher).Push("/", nil))
}

// A status that is none panics as it does without the wrapper, and is no status.
func TestInvalidStatus(t *testing.T) {
	var w Writer
	l := &log{}
	require.Panics(t, func() { w.Wrap(httptest.NewRecorder(), http1, l).WriteHeader(99) })
	require.Empty(t, l.said)
}

// Where the writer below cannot flush or be hijacked, and one below that can, a controller finds it and the observer hears of it.
func TestControllerDoesNotGetPast(t *testing.T) {
	var w Writer
	b, l := newBelow(), &log{}
	wrapped := w.Wrap(middle{b}, http1, l)
	_, ok := wrapped.(http.Flusher)
	require.False(t, ok)
	rc := http.NewResponseController(wrapped)
	require.NoError(t, rc.Flush())
	require.NoError(t, rc.SetWriteDeadline(time.Now()))
	require.NoError(t, rc.EnableFullDuplex())
	_, _, err := rc.Hijack()
	require.NoError(t, err)
	require.Equal(t, []string{"flush", "deadline", "duplex", "hijack"}, b.calls)
	require.Equal(t, []string{"OK", "flushed", "hijacked"}, l.said)

	l = &log{}
	rc = http.NewResponseController(w.Wrap(bare{b}, http1, l))
	require.ErrorIs(t, rc.Flush(), http.ErrNotSupported)
	_, _, err = rc.Hijack()
	require.ErrorIs(t, err, http.ErrNotSupported)
	require.ErrorIs(t, rc.SetWriteDeadline(time.Now()), http.ErrNotSupported)
	require.Empty(t, l.said)
}

type other struct{ log }

func TestFind(t *testing.T) {
	var inner, outer Writer
	one, two := &log{}, &other{}
	w := outer.Wrap(middle{inner.Wrap(newBelow(), http1, one)}, http1, two)
	found, ok := Find[*log](middle{w})
	require.True(t, ok)
	require.Same(t, one, found)
	last, ok := Find[*other](w)
	require.True(t, ok)
	require.Same(t, two, last)
	_, ok = Find[*other](bare{w})
	require.False(t, ok, "it cannot be unwrapped")
}
