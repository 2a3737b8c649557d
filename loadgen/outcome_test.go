package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

func TestOutcomeOf(t *testing.T) {
	const byteless, bytes = false, true
	opErr := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	cancelled, deadline := context.Canceled, context.DeadlineExceeded
	for _, c := range []struct {
		name  string
		err   error
		ctx   error
		bytes bool
		want  goodput.Outcome
	}{
		{"nil", nil, nil, bytes, goodput.Success},
		{"nil although cancelled meanwhile", nil, cancelled, bytes, goodput.Success},

		{"no descriptor", opErr("dial", os.NewSyscallError("socket", syscall.EMFILE)), nil, byteless, goodput.Dropped},
		{"no descriptor in the system", opErr("dial", os.NewSyscallError("socket", syscall.ENFILE)), nil, byteless, goodput.Dropped},
		{"no port", &url.Error{Op: "Post", URL: "http://h/", Err: opErr("dial", os.NewSyscallError("connect", syscall.EADDRNOTAVAIL))}, nil, byteless, goodput.Dropped},
		{"no port, though the deadline passed", syscall.EADDRNOTAVAIL, deadline, byteless, goodput.Dropped},
		{"no port, of one's own choice", opErr("dial", os.NewSyscallError("bind", syscall.EADDRINUSE)), nil, byteless, goodput.Dropped},
		{"no descriptor to ask for the address with", opErr("dial", &net.DNSError{Err: opErr("dial", os.NewSyscallError("socket", syscall.EMFILE)).Error(), Name: "h"}), nil, byteless, goodput.Dropped},
		{"no such address", opErr("dial", &net.DNSError{Err: "no such host", Name: syscall.EMFILE.Error(), IsNotFound: true}), nil, byteless, goodput.ConnectionError},
		{"named dropped goes first", Fail(goodput.Dropped, "x"), cancelled, byteless, goodput.Dropped},

		{"cancelled", context.Canceled, cancelled, byteless, goodput.Cancelled},
		{"cancelled, seen as a closed connection", io.ErrUnexpectedEOF, cancelled, bytes, goodput.Cancelled},
		{"cancelled goes before a status", &StatusError{Code: 500}, cancelled, byteless, goodput.Cancelled},
		{"cancelled goes before a named outcome", Fail(goodput.Malformed, "x"), cancelled, bytes, goodput.Cancelled},
		{"deadline", fmt.Errorf("read: %w", os.ErrDeadlineExceeded), deadline, bytes, goodput.Timeout},
		{"the target's own cancellation", fmt.Errorf("gave up: %w", context.Canceled), nil, byteless, goodput.Cancelled},
		{"the target's own deadline", fmt.Errorf("gave up: %w", context.DeadlineExceeded), nil, byteless, goodput.Timeout},
		{"a read's timeout", opErr("read", os.ErrDeadlineExceeded), nil, bytes, goodput.Timeout},
		{"a named timeout", Fail(goodput.Timeout, "x"), nil, bytes, goodput.Timeout},
		{"a named unfinished", Fail(goodput.Unfinished, "x"), deadline, bytes, goodput.Unfinished},

		{"408", &StatusError{Code: 408}, nil, byteless, goodput.Timeout},
		{"504", &StatusError{Code: 504}, nil, byteless, goodput.Timeout},
		{"429", &StatusError{Code: 429}, nil, byteless, goodput.RateLimited},
		{"429 with a reason", &StatusError{Code: 429, Rejected: true}, nil, byteless, goodput.Rejected},
		{"503", &StatusError{Code: 503}, nil, byteless, goodput.ServerError},
		{"503 with Retry-After", &StatusError{Code: 503, Rejected: true}, nil, byteless, goodput.Rejected},
		{"500 rejects nothing", &StatusError{Code: 500, Rejected: true}, nil, byteless, goodput.ServerError},
		{"wrapped", fmt.Errorf("chat: %w", &StatusError{Code: 404}), nil, byteless, goodput.ClientError},
		{"400", &StatusError{Code: 400}, nil, byteless, goodput.ClientError},
		{"301", &StatusError{Code: 301}, nil, byteless, goodput.ClientError},
		{"599", &StatusError{Code: 599}, nil, byteless, goodput.ServerError},
		{"200 is no failure to report", &StatusError{Code: 200}, nil, byteless, goodput.ServerError},

		{"named malformed", Fail(goodput.Malformed, "x"), nil, bytes, goodput.Malformed},
		{"named, wrapped", fmt.Errorf("y: %w", Fail(goodput.Truncated, "x")), nil, byteless, goodput.Truncated},
		{"named success", Fail(goodput.Success, "x"), nil, bytes, goodput.ServerError},
		{"named nothing", Fail(0, "x"), nil, bytes, goodput.ServerError},
		{"named no outcome at all", Fail(99, "x"), nil, bytes, goodput.ServerError},

		{"refused", opErr("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)), nil, byteless, goodput.ConnectionError},
		{"dial timeout", opErr("dial", os.ErrDeadlineExceeded), nil, byteless, goodput.ConnectionError},
		{"DNS timeout", &net.DNSError{Err: "i/o timeout", IsTimeout: true}, nil, byteless, goodput.ConnectionError},
		{"the kernel gave up", opErr("read", os.NewSyscallError("read", syscall.ETIMEDOUT)), nil, bytes, goodput.Truncated},
		{"reset before the first byte", opErr("read", os.NewSyscallError("read", syscall.ECONNRESET)), nil, byteless, goodput.ConnectionError},
		{"reset after it", opErr("read", os.NewSyscallError("read", syscall.ECONNRESET)), nil, bytes, goodput.Truncated},
		{"EOF", io.EOF, nil, byteless, goodput.ConnectionError},
		{"unexpected EOF", fmt.Errorf("body: %w", io.ErrUnexpectedEOF), nil, bytes, goodput.Truncated},
		{"a pipe", io.ErrClosedPipe, nil, bytes, goodput.Truncated},
		{"closed", net.ErrClosed, nil, byteless, goodput.ConnectionError},
		{"the transport", &url.Error{Op: "Post", URL: "http://h/", Err: errors.New("http2: server sent GOAWAY")}, nil, byteless, goodput.ConnectionError},
		{"a URL that is none", &url.Error{Op: "parse", URL: ":", Err: errors.New("missing protocol scheme")}, nil, byteless, goodput.ServerError},
		{"anything else", errors.New("boom"), nil, bytes, goodput.ServerError},
		{"a panic", &panicError{value: "boom"}, nil, bytes, goodput.ServerError},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, detail := outcomeOf(c.err, c.ctx, c.bytes)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.err == nil, detail == "", "detail %q", detail)
		})
	}
}

// Errors as net/http really makes them.
func TestOutcomeOfRealErrors(t *testing.T) {
	do := func(t *testing.T, c *http.Client, url string) *goodput.Record {
		return Do(t.Context(), TargetFunc(func(ctx context.Context, _ *Request, tr *Trace) error {
			req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader("x"))
			if err != nil {
				return err
			}
			resp, err := c.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if _, err := resp.Body.Read(make([]byte, 1)); err != nil && err != io.EOF {
				return err
			}
			tr.FirstByte()
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		}), nil)
	}
	client := func(t *testing.T) *http.Client {
		tr := &http.Transport{}
		t.Cleanup(tr.CloseIdleConnections)
		return &http.Client{Transport: tr}
	}
	const query = "?api_key=abcdefghijk"

	t.Run("refused", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addr := l.Addr().String()
		require.NoError(t, l.Close())
		rec := do(t, client(t), "http://user:pass@"+addr+"/v1"+query)
		assert.Equal(t, goodput.ConnectionError, rec.Outcome)
		assert.Contains(t, rec.Detail, "refused")
		assert.Contains(t, rec.Detail, addr+"/v1")
		assert.NotContains(t, rec.Detail, "abcdefghijk")
		assert.NotContains(t, rec.Detail, "pass")
	})
	t.Run("TLS", func(t *testing.T) {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = quiet
		s.StartTLS()
		defer s.Close()
		assert.Equal(t, goodput.ConnectionError, do(t, client(t), s.URL).Outcome)
	})
	t.Run("no TLS there", func(t *testing.T) {
		s := httptest.NewServer(http.NotFoundHandler())
		defer s.Close()
		assert.Equal(t, goodput.ConnectionError, do(t, client(t), strings.Replace(s.URL, "http:", "https:", 1)).Outcome)
	})
	abort := func(body string) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body != "" {
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, body)
				_ = http.NewResponseController(w).Flush()
			}
			panic(http.ErrAbortHandler)
		}))
	}
	t.Run("hung up before the answer", func(t *testing.T) {
		s := abort("")
		defer s.Close()
		assert.Equal(t, goodput.ConnectionError, do(t, client(t), s.URL).Outcome)
	})
	t.Run("hung up in the answer", func(t *testing.T) {
		s := abort("half")
		defer s.Close()
		assert.Equal(t, goodput.Truncated, do(t, client(t), s.URL).Outcome)
	})
	t.Run("client's timeout", func(t *testing.T) {
		stop := make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
		defer s.Close()
		defer close(stop)
		c := client(t)
		c.Timeout = time.Millisecond
		assert.Equal(t, goodput.Timeout, do(t, c, s.URL).Outcome)
	})
	t.Run("no such scheme is no fault of the server's", func(t *testing.T) {
		rec := do(t, client(t), "http://[::1"+query)
		assert.Equal(t, goodput.ServerError, rec.Outcome)
		assert.NotContains(t, rec.Detail, "abcdefghijk")
	})
}

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"two\r\nlines\tand\x00\x1b[31m", "two lines and [31m"},
		{"a\u2028b\u202ec", "a b c"},
		{"bad \xff utf", "bad \uFFFD utf"},
		{`Post "https://u:p@h:8/v1/x?key=s#f": EOF`, `Post "https://h:8/v1/x": EOF`},
		{`Get "http://%zz?key=s": no`, `Get "http://[redacted]": no`},
		{"HTTP status 401: Incorrect API key provided: sk-proj-abcdef123456.", "HTTP status 401: Incorrect API key provided: sk[redacted]."},
		{"sent Authorization: Bearer abc.def", "sent Authorization: [redacted]"},
		{"bearer abc.def is no good", "bearer[redacted] is no good"},
		{`{"api_key":"abc"}`, `{"api_key":"[redacted]"}`},
		{"the password is wrong", "the password is wrong"},
	} {
		assert.Equal(t, c.want, clean(c.in), "%q", c.in)
	}
	long := clean(strings.Repeat("é", 1000))
	assert.LessOrEqual(t, len(long), maxDetail)
	assert.True(t, strings.HasSuffix(long, "é…"))
	assert.LessOrEqual(t, len(clean(strings.Repeat("x", 1<<20))), maxDetail)
}
