package httpclient

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// late is how much later than bytes come the tests read them.
const late = 10 * time.Millisecond

// wait waits until late after t, with no timer that could be late itself.
func wait(t time.Time) {
	for time.Since(t) < late {
		runtime.Gosched()
	}
}

// pair is both ends of a TCP connection.
func pair(t *testing.T) (client *stamped, server *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c, err := (&dialer{stamps: true, over: new(net.Dialer).DialContext}).connect(t.Context(), "tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	s, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	require.IsType(t, &stamped{}, c)
	client, server = c.(*stamped), s.(*net.TCPConn)
	require.Eventually(t, func() bool {
		write(t, server, "x")
		_, err := client.Read(make([]byte, 1))
		return err == nil && client.stampOf() != 0
	}, time.Minute, time.Millisecond, "the kernel takes its time to begin to stamp")
	return client, server
}

func write(t *testing.T, w io.Writer, s string) (before, after time.Time) {
	t.Helper()
	before = time.Now()
	_, err := io.WriteString(w, s)
	after = time.Now()
	require.NoError(t, err)
	return before, after
}

// within says that at, of a read that was late, lies between what the sender's clock said before and after it wrote.
func within(t *testing.T, at, before, after time.Time) {
	t.Helper()
	assert.WithinRange(t, at, before, after.Add(time.Duration(stepTolerance)))
}

func (r *reader) last() time.Time { return epoch.Add(time.Duration(r.attempt.Load().arrival.Load())) }

func TestArrivalIsWhenItCame(t *testing.T) {
	c, s := pair(t)
	c.attempt.Store(&attempt{})
	buf := make([]byte, 100)
	read := func(p []byte, want string) time.Time {
		n, err := c.Read(p)
		require.NoError(t, err)
		require.Equal(t, want, string(p[:n]))
		return c.last()
	}
	before, after := write(t, s, "one")
	wait(after)
	within(t, read(buf, "one"), before, after)

	write(t, s, "and")
	before, after = write(t, s, "two") // the last counts
	wait(after)
	within(t, read(buf, "andtwo"), before, after)

	before, after = write(t, s, "three")
	wait(after)
	first := read(buf[:2], "th")
	within(t, first, before, after)
	within(t, read(buf, "ree"), before, after)

	wrote := make(chan [2]time.Time, 1)
	go func() {
		wait(time.Now())
		before, after := write(t, s, "four")
		wrote <- [2]time.Time{before, after}
	}()
	at := read(buf, "four") // for which it waits
	is := <-wrote
	within(t, at, is[0], is[1])

	require.NoError(t, s.CloseWrite())
	wait(time.Now())
	began := time.Now()
	n, err := c.Read(buf)
	assert.Zero(t, n)
	assert.Equal(t, io.EOF, err)
	assert.False(t, c.last().Before(began), "an end has no stamp")
}

// TestReadFails compares errors with those of the connection itself.
func TestReadFails(t *testing.T) {
	for name, f := range map[string]func(c *stamped, s *net.TCPConn){
		"deadline": func(c *stamped, _ *net.TCPConn) { c.SetReadDeadline(time.Unix(0, 0)) },
		"closed":   func(c *stamped, _ *net.TCPConn) { c.Close() },
		"reset": func(_ *stamped, s *net.TCPConn) {
			s.SetLinger(0)
			s.Close()
		},
		"end": func(_ *stamped, s *net.TCPConn) { s.Close() },
	} {
		var errs [2]error
		for i := range errs {
			c, s := pair(t)
			f(c, s)
			if i == 0 {
				_, errs[i] = c.TCPConn.Read(make([]byte, 1))
			} else {
				_, errs[i] = c.Read(make([]byte, 1))
			}
			if op, ok := errs[i].(*net.OpError); ok {
				op.Source, op.Addr = nil, nil // whose ports are different
			}
		}
		assert.Equal(t, errs[0], errs[1], name)
	}
	c, _ := pair(t)
	n, err := c.Read(nil)
	assert.Zero(t, n)
	assert.NoError(t, err)
}

func TestReadAllocatesNothing(t *testing.T) {
	c, s := pair(t)
	buf, b := make([]byte, 100), []byte("x")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		s.Write(b)
		c.Read(buf)
	}))
}

// TestArrivalIsTheRequestsOwn has the next request on a connection read before the one before has asked when its answer
// came.
func TestArrivalIsTheRequestsOwn(t *testing.T) {
	c, s := pair(t)
	a, b := &attempt{trace: loadgen.NewTrace(time.Now())}, &attempt{trace: loadgen.NewTrace(time.Now())}
	buf := make([]byte, 100)
	a.gotConn(httptrace.GotConnInfo{Conn: c})
	a.body = arrivingBody{io.NopCloser(nil), a}
	_, after := write(t, s, "a")
	wait(after)
	c.Read(buf)
	b.gotConn(httptrace.GotConnInfo{Conn: c})
	before, _ := write(t, s, "b")
	c.Read(buf)
	at, ok := a.body.arrival()
	assert.True(t, ok)
	assert.True(t, at.Before(before))
	assert.False(t, c.last().Before(before))
	require.NoError(t, a.body.Close())
	assert.Same(t, b, c.attempt.Load(), "which is another's by now")
}

// TestArrivals has a client come late to all that it reads: of what a server wrote, and noted when.
func TestArrivals(t *testing.T) {
	type truth struct{ before, after time.Time }
	for _, c := range []struct {
		name    string
		options Options
		start   func(*httptest.Server)
		ahead   bool
		want    bool // what came is known, and not when it was read
	}{
		{"plain", Options{}, (*httptest.Server).Start, false, true},
		{"ahead", Options{}, (*httptest.Server).Start, true, true},
		{"TLS", Options{}, startTLS(false), false, true},
		{"TLS, ahead", Options{}, startTLS(false), true, true},
		{"asked not to", Options{NoKernelTime: true}, (*httptest.Server).Start, false, false},
		{"HTTP/2", Options{HTTP2: true}, startTLS(true), false, false},
		{"the caller's client", Options{Client: &http.Client{Transport: &http.Transport{}}}, (*httptest.Server).Start, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pair(t) // so that the kernel stamps
			reads := make(chan struct{})
			wrote := make(chan truth)
			srv, _ := server(t, c.start, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				for _, s := range []string{"one", "two"} {
					var is truth
					is.before = time.Now()
					io.WriteString(w, s)
					http.NewResponseController(w).Flush()
					is.after = time.Now()
					wrote <- is
					<-reads
				}
			})
			cl := client(t, c.options)
			if srv.TLS != nil {
				trust(cl, srv)
			}
			if c.ahead {
				require.NoError(t, cl.Connect(t.Context(), must(srv.URL), 1))
			}
			rec := loadgen.Do(t.Context(), loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, trace *loadgen.Trace) error {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, nil)
				require.NoError(t, err)
				answered := make(chan *http.Response, 1)
				go func() {
					resp, err := cl.Do(ctx, req, trace)
					assert.NoError(t, err)
					answered <- resp
				}()
				first := <-wrote
				wait(first.after)
				resp := <-answered
				defer resp.Body.Close()
				in := NewBody(resp, trace)
				buf := make([]byte, 100)
				check := func(is truth) {
					began := time.Now()
					_, err := in.Read(buf)
					require.NoError(t, err)
					if c.want {
						within(t, in.At, is.before, is.after)
					} else {
						assert.False(t, in.At.Before(began))
					}
				}
				check(first)
				trace.TokenAt(in.At, 1)
				reads <- struct{}{}
				second := <-wrote
				wait(second.after)
				check(second)
				trace.TokenAt(in.At, 1)
				reads <- struct{}{}
				_, err = in.Read(buf)
				require.Equal(t, io.EOF, err)
				trace.EndAt(in.At)
				return nil
			}), nil)
			require.Len(t, rec.Tokens, 2, rec.Detail)
			assert.Equal(t, rec.FirstByte, rec.Tokens[0].At)
			assert.Less(t, rec.Tokens[0].At, rec.Tokens[1].At)
			assert.LessOrEqual(t, rec.Tokens[1].At, rec.End)
		})
	}
}

// TestPhaseFirstByteIsTheArrival: net/http may say late that the request was written, and that an answer is there.
func TestPhaseFirstByteIsTheArrival(t *testing.T) {
	c, s := pair(t)
	n := run(t, loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, trace *loadgen.Trace) error {
		a := newAttempt(ctx, trace)
		a.gotConn(httptrace.GotConnInfo{Conn: c})
		_, after := write(t, s, "HTTP/1.1 200 OK\r\n")
		wait(after)
		_, err := c.Read(make([]byte, 1))
		a.written(time.Since(a.begin))
		a.firstByte()
		return err
	}), 1, 1)
	assert.EqualValues(t, 1, n.FirstByte.N)
	assert.Zero(t, n.FirstByte.Max, "it came before the client heard that the request was written")
}

// TestStampedConnectionIsOne: what net/http and crypto/tls know of a TCP connection is there.
func TestStampedConnectionIsOne(t *testing.T) {
	c, s := pair(t)
	var _ io.ReaderFrom = c
	var _ io.WriterTo = c
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	io.WriteString(f, "sent")
	f.Seek(0, io.SeekStart)
	_, err = c.ReadFrom(f)
	require.NoError(t, err)
	require.NoError(t, c.CloseWrite())
	b, err := io.ReadAll(s)
	require.NoError(t, err)
	assert.Equal(t, "sent", string(b))
	_, err = c.SyscallConn()
	require.NoError(t, err)
}

// TestIdleConnectionsHoldNothing: not the context of a request that has ended, in which its record is.
func TestIdleConnectionsHoldNothing(t *testing.T) {
	srv, _ := server(t, (*httptest.Server).Start, hello)
	c := client(t, Options{})
	var conn *reader
	rec := loadgen.Do(t.Context(), loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, trace *loadgen.Trace) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
		require.NoError(t, err)
		resp, err := c.Do(ctx, req, trace)
		require.NoError(t, err)
		conn = resp.Body.(*arrivingBody).of.conn
		assert.NotNil(t, conn.attempt.Load())
		io.Copy(io.Discard, resp.Body)
		return resp.Body.Close()
	}), nil)
	require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
	assert.Nil(t, conn.attempt.Load())
}
