package goodputhttp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// What comes counts when the reader gets it.
func TestTransportTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBooks()
		m := newMonitor(t, "ttft p95 < 50ms")
		base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			f := stream(w)
			f.Flush()
			time.Sleep(100 * ms)
			io.WriteString(w, ":\n\n")
			f.Flush()
			time.Sleep(20 * ms)
			io.WriteString(w, "data: a\n\nda")
			f.Flush()
			time.Sleep(30 * ms)
			io.WriteString(w, "ta: b\n\ndata: [DONE]\n\n")
			f.Flush()
			time.Sleep(time.Second)
		}))
		client := &http.Client{Transport: NewTransport(base, Config{Sink: b, Monitor: m, OwnLimits: true})}
		req, _ := http.NewRequest("GET", "http://x/", nil)
		req.Header.Set(TPOTHeader, "20")
		resp, err := client.Do(req)
		require.NoError(t, err)
		w, err := m.Window(time.Minute)
		require.NoError(t, err)
		require.EqualValues(t, []uint64{1, 0}, []uint64{w.Offered, w.Decided})
		n, err := resp.Body.Read(make([]byte, 100))
		require.NoError(t, err)
		require.Equal(t, 3, n)
		w, _ = m.Window(time.Minute)
		require.EqualValues(t, 1, w.Decided, "its first token is late")
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		r := b.one(t)
		require.Equal(t, goodput.Success, r.Outcome)
		require.Equal(t, 100*ms, r.FirstByte)
		require.Equal(t, []goodput.Token{{At: 120 * ms}, {At: 150 * ms}}, r.Tokens)
		require.Equal(t, 150*ms, r.End, "the end marker")
		require.Equal(t, map[slo.Metric]float64{slo.TPOT: 0.02}, r.Limits)
		w, _ = m.Window(time.Minute)
		require.EqualValues(t, []uint64{1, 1, 0}, []uint64{w.Decided, w.Ended, w.Good})
	})
}

type clientCase struct {
	name    string
	handler func(w http.ResponseWriter, r *http.Request)
	method  string
	do      func(t *testing.T, resp *http.Response, cancel func()) // nil: it reads all of it and closes it
	fails   bool                                                   // there is no answer
	want    goodput.Outcome
	tokens  int
	only    int
}

func await(r *http.Request) { <-r.Context().Done() }

var clientCases = []clientCase{
	{name: "plain", want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }},
	{name: "nothing", want: goodput.Success, handler: func(http.ResponseWriter, *http.Request) {}, do: func(*testing.T, *http.Response, func()) {}},
	{name: "HEAD", method: "HEAD", want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "5") },
		do: func(*testing.T, *http.Response, func()) {}},
	{name: "204", want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		do: func(*testing.T, *http.Response, func()) {}},
	{name: "304", want: goodput.ClientError, handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }},
	{name: "404", want: goodput.ClientError, handler: http.NotFound},
	{name: "500 that is closed", want: goodput.ServerError, handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); send(w, "data: a\n\n") },
		do: func(*testing.T, *http.Response, func()) {}},
	{name: "429 by admission", want: goodput.Rejected, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(goodput.ReasonHeader, "x")
		w.WriteHeader(429)
	}},
	{name: "stream", want: goodput.Success, tokens: 2, handler: func(w http.ResponseWriter, _ *http.Request) { send(w, "data: a\n\ndata: b\n\n") }},
	{name: "closed after the end marker", want: goodput.Success, tokens: 1, handler: func(w http.ResponseWriter, r *http.Request) {
		send(w, "data: a\n\ndata: [DONE]\n\n")
		await(r)
	}, do: readSome},
	{name: "cancelled after the end marker", want: goodput.Success, tokens: 1, handler: func(w http.ResponseWriter, r *http.Request) {
		send(w, "data: a\n\ndata: [DONE]\n\n")
		await(r)
	}, do: func(t *testing.T, resp *http.Response, cancel func()) {
		readSome(t, resp, cancel)
		cancel()
		_, _ = io.ReadAll(resp.Body)
	}},
	{name: "closed before", want: goodput.Cancelled, tokens: 1, handler: func(w http.ResponseWriter, r *http.Request) {
		send(w, "data: a\n\n")
		await(r)
	}, do: readSome},
	{name: "cancelled", want: goodput.Cancelled, tokens: 1, handler: func(w http.ResponseWriter, r *http.Request) {
		send(w, "data: a\n\n")
		await(r)
		panic(http.ErrAbortHandler) // so that it does not come to its end after all
	}, do: func(t *testing.T, resp *http.Response, cancel func()) {
		readSome(t, resp, cancel)
		cancel()
		_, err := io.ReadAll(resp.Body)
		require.ErrorIs(t, err, context.Canceled)
	}},
	{name: "a decoder that has its value", want: goodput.Success, handler: func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"a":1}`)
		w.(http.Flusher).Flush() // chunked: there is no length
		<-r.Context().Done()
	}, do: func(t *testing.T, resp *http.Response, _ func()) {
		var v map[string]int
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&v))
	}},
	{name: "all of it, and no end", want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		io.WriteString(w, "ok")
	}, do: func(t *testing.T, resp *http.Response, _ func()) {
		_, err := io.ReadFull(resp.Body, make([]byte, 2))
		require.NoError(t, err)
	}},
	{name: "half of it", want: goodput.Cancelled, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		io.WriteString(w, "half")
	}, do: func(t *testing.T, resp *http.Response, _ func()) {
		_, err := io.ReadFull(resp.Body, make([]byte, 2))
		require.NoError(t, err)
	}},
	{name: "lost before the answer", fails: true, want: goodput.ConnectionError, handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	{name: "lost before the first byte", want: goodput.ConnectionError, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}},
	{name: "lost after it", want: goodput.Truncated, tokens: 1, handler: func(w http.ResponseWriter, _ *http.Request) {
		send(w, "data: a\n\n")
		panic(http.ErrAbortHandler)
	}},
	{name: "not gzip", want: goodput.Malformed, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, strings.Repeat("this is not gzip", 10))
	}},
	{name: "gzip", want: goodput.Success, tokens: 2, handler: func(w http.ResponseWriter, r *http.Request) {
		f := stream(w)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "data: a\n\n")
		z.Flush()
		f.Flush()
		io.WriteString(z, "data: b\n\n")
		z.Close()
	}},
	{name: "another protocol", only: 1, want: goodput.Success, handler: func(w http.ResponseWriter, _ *http.Request) {
		conn, buf, _ := w.(http.Hijacker).Hijack()
		defer conn.Close()
		buf.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
		buf.Flush()
		line, _ := buf.ReadString('\n')
		buf.WriteString(line)
		buf.Flush()
	}, do: func(t *testing.T, resp *http.Response, _ func()) {
		w, ok := resp.Body.(io.ReadWriter)
		require.True(t, ok, "the connection is the caller's")
		fmt.Fprintln(w, "hello")
		line := make([]byte, 6)
		_, err := io.ReadFull(w, line)
		require.NoError(t, err)
		require.Equal(t, "hello\n", string(line))
	}},
}

func readSome(t *testing.T, resp *http.Response, _ func()) {
	_, err := resp.Body.Read(make([]byte, 100))
	require.NoError(t, err)
}

func TestTransportOutcomes(t *testing.T) {
	for version := 1; version <= 2; version++ {
		for _, c := range clientCases {
			if c.only != 0 && c.only != version {
				continue
			}
			t.Run(fmt.Sprintf("HTTP %d/%s", version, c.name), func(t *testing.T) {
				s := httptest.NewUnstartedServer(http.HandlerFunc(c.handler))
				s.Config.ErrorLog, s.EnableHTTP2 = quiet, version == 2
				s.StartTLS()
				defer s.Close()
				b := newBooks()
				tr := NewTransport(s.Client().Transport, Config{Sink: b})
				client := &http.Client{Transport: tr}
				defer client.CloseIdleConnections()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				method := c.method
				if method == "" {
					method = http.MethodPost
				}
				req, err := http.NewRequestWithContext(ctx, method, s.URL+"/?key=secret", nil)
				require.NoError(t, err)
				resp, err := client.Do(req)
				require.Equal(t, c.fails, err != nil, "%v", err)
				if err == nil {
					require.Equal(t, version, resp.ProtoMajor)
					if c.do != nil {
						c.do(t, resp, cancel)
					} else {
						_, _ = io.Copy(io.Discard, resp.Body)
						_, _ = resp.Body.Read(make([]byte, 1)) // once more after its end
					}
					resp.Body.Close()
					resp.Body.Close()
				}
				r := b.one(t)
				require.Equal(t, c.want, r.Outcome, r.Detail)
				require.Len(t, r.Tokens, c.tokens)
				require.NotContains(t, r.Detail, "secret")
			})
		}
	}
}

// roundTrip is a function as a RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Without an answer the error says what became of the request.
func TestTransportErrors(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, c := range []struct {
		err    error
		want   goodput.Outcome
		detail string
	}{
		{dial(syscall.ECONNREFUSED), goodput.ConnectionError, "no answer: " + syscall.ECONNREFUSED.Error()},
		{dial(syscall.EMFILE), goodput.Dropped, "the client had no descriptor or no port: " + syscall.EMFILE.Error()},
		{&net.DNSError{Err: "no such host", Name: "secret.example", IsNotFound: true}, goodput.ConnectionError, "no answer"},
		{errors.New("http2: of secret"), goodput.ConnectionError, "no answer"},
		{context.DeadlineExceeded, goodput.Timeout, "the deadline passed"},
		{context.Canceled, goodput.Cancelled, "cancelled"},
	} {
		b := newBooks()
		tr := NewTransport(roundTrip(func(*http.Request) (*http.Response, error) { return nil, c.err }), Config{Sink: b})
		_, err := tr.RoundTrip(httptest.NewRequest("GET", "http://x/", nil))
		require.Equal(t, c.err, err, "as it was")
		r := b.one(t)
		require.Equal(t, []any{c.want, c.detail}, []any{r.Outcome, r.Detail})
	}
}

func TestTransportDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stream" {
				send(w, "data: a\n\n")
			}
			<-r.Context().Done()
		}))
		for _, path := range []string{"stream", "hangs"} {
			b := newBooks()
			client := &http.Client{Transport: NewTransport(base, Config{Sink: b}), Timeout: 3 * time.Second}
			resp, err := client.Get("http://x/" + path)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			require.Error(t, err)
			r := b.one(t)
			require.Equal(t, goodput.Timeout, r.Outcome)
			require.Equal(t, 3*time.Second, r.End)
		}
	})
}

// A redirection that is followed and what it leads to are one request; one that nobody follows is one of its own.
func TestRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * ms)
			n, _ := strconv.Atoi(r.URL.Path[1:])
			switch {
			case n > 1:
				http.Redirect(w, r, "/"+strconv.Itoa(n-1), http.StatusFound)
			case n == 1: // with no body
				w.Header().Set("Location", "/0")
				w.WriteHeader(http.StatusTemporaryRedirect)
			default:
				io.WriteString(w, "here")
			}
		}))
		get := func(client *http.Client, b *books, path string) (goodput.Record, error) {
			resp, err := client.Get("http://x/" + path)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
			}
			if resp != nil {
				resp.Body.Close()
			}
			time.Sleep(2 * redirectGrace)
			return b.one(t), err
		}
		b, m := newBooks(), newMonitor(t, "e2e p95 < 1s")
		r, err := get(&http.Client{Transport: NewTransport(base, Config{Sink: b, Monitor: m})}, b, "3")
		require.NoError(t, err)
		require.Equal(t, goodput.Success, r.Outcome)
		require.Equal(t, 400*ms, r.End)
		w, err := m.Window(time.Minute)
		require.NoError(t, err)
		require.EqualValues(t, []uint64{1, 1, 1}, []uint64{w.Offered, w.Ended, w.Good})

		b = newBooks()
		last := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		r, err = get(&http.Client{Transport: NewTransport(base, Config{Sink: b}), CheckRedirect: last}, b, "1")
		require.NoError(t, err)
		require.Equal(t, goodput.ClientError, r.Outcome, "a final 3xx")
		require.Equal(t, 100*ms, r.End)

		b = newBooks()
		no := func(*http.Request, []*http.Request) error { return errors.New("no further") }
		r, err = get(&http.Client{Transport: NewTransport(base, Config{Sink: b}), CheckRedirect: no}, b, "2")
		require.Error(t, err)
		require.Equal(t, goodput.ClientError, r.Outcome)
	})
}

// A caller that asks for gzip itself gets it, and nobody looks into it.
func TestGzipIsPassedOn(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stream(w)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		io.WriteString(z, "data: a\n\n")
	}))
	defer s.Close()
	b := newBooks()
	client := &http.Client{Transport: NewTransport(s.Client().Transport, Config{Sink: b})}
	req, _ := http.NewRequest("GET", s.URL, nil)
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := client.Do(req)
	require.NoError(t, err)
	z, err := gzip.NewReader(resp.Body)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, "data: a\n\n", string(text))
	resp.Body.Close()
	require.Empty(t, b.one(t).Tokens)
}

func TestTransportPanics(t *testing.T) {
	b := newBooks()
	tr := NewTransport(roundTrip(func(*http.Request) (*http.Response, error) { panic("secret") }), Config{Sink: b})
	require.PanicsWithValue(t, "secret", func() { _, _ = tr.RoundTrip(httptest.NewRequest("GET", "http://x/", nil)) })
	require.Equal(t, goodput.ServerError, b.one(t).Outcome)
}

// Counts can stand in the trailer.
func TestTransportTrailer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Tokens")
		io.WriteString(w, "text")
		w.Header().Set("X-Tokens", "17")
	}))
	defer s.Close()
	b := newBooks()
	client := &http.Client{Transport: NewTransport(s.Client().Transport, Config{Sink: b, OutputTokens: func(_ *http.Request, h http.Header) int {
		n, _ := strconv.Atoi(h.Get("X-Tokens"))
		return n
	}})}
	resp, err := client.Get(s.URL)
	require.NoError(t, err)
	_, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, 17, b.one(t).OutputTokens)
}

// Whoever closes a body while another reads it gets one record.
func TestCloseWhileReading(t *testing.T) {
	for range 50 {
		b := newBooks()
		r, w := io.Pipe()
		tr := NewTransport(roundTrip(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r, Request: req}, nil
		}), Config{Sink: b})
		resp, err := tr.RoundTrip(httptest.NewRequest("GET", "http://x/", nil))
		require.NoError(t, err)
		var all sync.WaitGroup
		all.Go(func() { _, _ = io.Copy(io.Discard, resp.Body) })
		all.Go(func() { resp.Body.Close() })
		_, _ = io.WriteString(w, "data: a\n\n")
		all.Wait()
		b.one(t)
	}
}

// A body that is neither read nor closed has no record, as the documentation says, and holds nothing up.
func TestBodyThatIsNeverClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := newBooks(), newMonitor(t, "e2e p95 < 1s")
		base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { send(w, "data: a\n\n") }))
		tr := NewTransport(base, Config{Sink: b, Monitor: m})
		resp, err := tr.RoundTrip(httptest.NewRequest("GET", "http://x/", nil))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		b.none(t)
		w, err := m.Window(24 * time.Hour)
		require.NoError(t, err)
		require.EqualValues(t, []uint64{1, 1, 0}, []uint64{w.Offered, w.Decided, w.Good}, "bad at its deadline")
		resp.Body.Close()
	})
}

// A Sink that panics where no caller is there to see it does not end the process.
func TestASinkPanicsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		log.SetOutput(&said)
		defer log.SetOutput(os.Stderr)
		base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/next", http.StatusFound) }))
		m := newMonitor(t, "e2e p95 < 1s")
		tr := NewTransport(base, Config{Monitor: m, Sink: SinkFunc(func(*goodput.Record) { panic("of the caller's") })})
		resp, err := tr.RoundTrip(httptest.NewRequest("GET", "http://x/", nil))
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		time.Sleep(2 * redirectGrace)
		synctest.Wait()
		require.Contains(t, said.String(), "goodputhttp: panic in a Sink, at the record of a redirection: of the caller's")
		require.Zero(t, m.State().InFlight)
	})
}

// A transport that gives neither an answer nor an error is booked, also after a redirection, and nothing stays in flight.
func TestTransportThatGivesNothing(t *testing.T) {
	for _, redirects := range []int{0, 2} {
		b, m := newBooks(), newMonitor(t, "ttft p95 < 1s")
		left := redirects
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			if left--; left < 0 {
				return nil, nil
			}
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"/again"}}, Request: r}, nil
		})
		_, err := (&http.Client{Transport: NewTransport(base, Config{Sink: b, Monitor: m})}).Get("http://x/")
		require.ErrorContains(t, err, "nil *Response")
		r := b.one(t)
		require.Equal(t, goodput.ServerError, r.Outcome)
		require.Equal(t, "the transport gave neither an answer nor an error", r.Detail)
		require.Zero(t, m.State().InFlight)
		require.EqualValues(t, 1, m.Counters().Classes[0].Recorded)
	}
}

// An answer whose transport does not say how long it is, and leaves ContentLength at its zero value, is as one of unknown length: closed before
// its end it has not ended before it began, and a stream that its reader does not want is cancelled.
func TestTransportThatTellsNoLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, length := range []int64{0, -1} {
			for contentType, want := range map[string]goodput.Outcome{"text/event-stream": goodput.Cancelled, "text/plain": goodput.Success} {
				for pieces, end := range []time.Duration{3 * time.Second, 2 * time.Second} { // of a decoder that has its value the end is the last piece
					b := newBooks()
					tr := NewTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
						time.Sleep(2 * time.Second)
						return &http.Response{StatusCode: 200, ContentLength: length, Header: http.Header{"Content-Type": {contentType}},
							Body: io.NopCloser(strings.NewReader("data: a\n\ndata: b\n\n")), Request: r}, nil
					}), Config{Sink: b})
					resp, err := tr.RoundTrip(httptest.NewRequest("GET", "http://x/", nil))
					require.NoError(t, err)
					for range pieces {
						_, err = resp.Body.Read(make([]byte, 9))
						require.NoError(t, err)
					}
					time.Sleep(time.Second)
					require.NoError(t, resp.Body.Close())
					r := b.one(t)
					require.Equal(t, want, r.Outcome, "%d, %s", length, contentType)
					if want == goodput.Cancelled {
						end = 3 * time.Second
					}
					require.Equal(t, end, r.End, "%d, %s", length, contentType)
				}
			}
		}
	})
}
