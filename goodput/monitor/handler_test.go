package monitor

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func ask(h http.Handler, method, target, remote, host string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr, r.Host = remote, host
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const (
	here  = "127.0.0.1:1234"
	there = "192.0.2.1:1234"
)

func TestHandlerIsForThisMachine(t *testing.T) {
	m := newMonitor(t, "ttft p95 < 2s")
	closed, open, named := m.Handler(), m.Handler(AllowRemote()), m.Handler(AllowRemote("Mon.Example.", "[2001:db8::1]"))
	for _, c := range []struct {
		h            http.Handler
		remote, host string
		want         int
		header       []string
	}{
		{closed, here, "127.0.0.1:8080", 200, nil},
		{closed, here, "localhost", 200, nil},
		{closed, here, "LOCALHOST.:80", 200, nil},
		{closed, "[::1]:99", "[::1]:8080", 200, nil},
		{closed, "[::1]:99", "[::1]", 200, nil},
		{closed, "[::ffff:127.0.0.1]:99", "monitor.localhost:80", 200, nil},
		{closed, there, "localhost", 403, nil},
		{closed, there, "192.0.2.1", 403, nil},
		{closed, "pipe", "localhost", 403, nil},
		{closed, "", "localhost", 403, nil},
		{closed, here, "evil.example:8080", 403, nil}, // DNS rebinding
		{closed, here, "127.0.0.1.evil.example", 403, nil},
		{closed, here, "notlocalhost", 403, nil},
		{closed, here, "", 403, nil},
		{closed, here, "localhost", 403, []string{"X-Forwarded-For", "192.0.2.1"}},
		{closed, here, "localhost", 403, []string{"Forwarded", "for=192.0.2.1"}},
		{closed, here, "localhost", 403, []string{"X-Forwarded-For", "", "X-Forwarded-For", "192.0.2.1"}}, // the empty line is the client's
		{closed, here, "localhost", 403, []string{"X-Real-Ip", "192.0.2.1"}},
		{closed, here, "localhost", 403, []string{"Via", "1.1 proxy"}},
		{named, there, "[2001:DB8::1]:443", 200, nil},
		{open, there, "anything.example", 200, nil},
		{named, there, "mon.example:443", 200, nil},
		{named, there, "localhost", 200, nil},
		{named, there, "evil.example", 403, nil},
	} {
		w := ask(c.h, "GET", "/?format=json", c.remote, c.host, c.header...)
		require.Equal(t, c.want, w.Code, "%+v", c)
		if c.want != 200 {
			require.NotContains(t, w.Body.String(), "ttft", "nothing of the state")
		}
	}
}

func TestHandlerOnAUnixSocket(t *testing.T) {
	r := httptest.NewRequest("GET", "/?format=json", nil)
	r.RemoteAddr, r.Host = "@", "anything"
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.UnixAddr{Net: "unix", Name: "/run/x"})))
	w := httptest.NewRecorder()
	newMonitor(t, "ttft p95 < 2s").Handler().ServeHTTP(w, r)
	require.Equal(t, 200, w.Code)
}

func TestHandlerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 2s, error_rate < 1%")
		load(m, 90*sec, 2, nil)
		h := m.Handler()
		var s State
		w := ask(h, "GET", "/any/path?format=json", here, "localhost")
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &s))
		require.EqualValues(t, 8, s.Windows[0].Goodput.round())
		want, err := json.Marshal(m.State())
		require.NoError(t, err)
		require.JSONEq(t, string(want), w.Body.String())
		require.JSONEq(t, string(want), ask(h, "GET", "/", here, "localhost", "Accept", "application/json").Body.String())

		var r Series
		w = ask(h, "GET", "/?format=series&window=1m", here, "localhost")
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &r))
		require.Equal(t, sec, r.Step)
		require.Len(t, r.Good, 61)
		require.EqualValues(t, 8, r.Good[0])

		w = ask(h, "GET", "/", here, "localhost")
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		csp := w.Header().Get("Content-Security-Policy")
		require.Contains(t, csp, "default-src 'none'")
		require.NotContains(t, csp, "unsafe")
		require.Equal(t, 2, strings.Count(csp, "'sha256-"))
		require.NotContains(t, w.Body.String(), "http://localhost")
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))

		for target, code := range map[string]int{
			"/?format=series&window=rubbish": 400, "/?format=series&window=8929h": 400, "/?format=series&window=1ms": 400, "/?format=series&window=-1m": 400,
			"/?format=xml": 400, "/?format=series": 200,
		} {
			require.Equal(t, code, ask(h, "GET", target, here, "localhost").Code, target)
		}
		require.Equal(t, 405, ask(h, "POST", "/", here, "localhost").Code)
		require.Equal(t, 200, ask(h, "HEAD", "/", here, "localhost").Code)
	})
}

func (f Figure) round() float64 { return float64(int(f + 0.5)) }

// A series has all that its window has, step by step.
func TestSeriesAddsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, "ttft p95 < 2s, error_rate < 1%")
		load(m, 3*time.Hour, 2, nil)
		time.Sleep(time.Hour)
		load(m, time.Hour, 5, nil)
		for _, d := range []time.Duration{sec, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 3 * day, DefaultPeriod, MaxWindow} {
			s, err := m.Series(d)
			require.NoError(t, err)
			w := window(t, m, d)
			require.LessOrEqual(t, len(s.Good), seriesPoints)
			require.True(t, s.From.Equal(w.From))
			var good, offered, ended, decided, bad, total uint64
			var watched time.Duration
			for i := range s.Good {
				good += s.Good[i]
				offered += s.Offered[i]
				ended += s.Ended[i]
				decided += s.Decided[i]
				watched += s.Watched[i]
				bad += s.Objectives[0].Bad[i]
				total += s.Objectives[0].Total[i]
			}
			require.Equal(t, []uint64{w.Good, w.Offered, w.Ended, w.Decided}, []uint64{good, offered, ended, decided})
			require.Equal(t, w.Watched, watched)
			burns, err := m.Burns(d)
			require.NoError(t, err)
			require.Equal(t, []uint64{burns[0].Bad, burns[0].Total}, []uint64{bad, total})
		}
		_, err := m.Series(MaxWindow + 1)
		require.ErrorIs(t, err, ErrWindow)
		_, err = m.Window(0)
		require.ErrorIs(t, err, ErrWindow)
		_, err = m.ClassWindow("", 373*day)
		require.ErrorIs(t, err, ErrWindow)
		_, err = m.Burns(373 * day)
		require.ErrorIs(t, err, ErrWindow)
	})
}
