package admission

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/memnet"
	"github.com/goodputkit/goodputkit/slo"
)

// serve serves h in memory, over HTTP/1, until the test ends; its client ends with it.
func serve(t *testing.T, h http.Handler) *http.Client {
	return serveOver(t, h, (*http.Protocols).SetHTTP1)
}

// serveOver serves h over a protocol.
func serveOver(t *testing.T, h http.Handler, set func(*http.Protocols, bool)) *http.Client {
	protocols := &http.Protocols{}
	set(protocols, true)
	transport := memnet.Serve(t, &http.Server{Handler: h, Protocols: protocols})
	transport.Protocols, transport.ExpectContinueTimeout = protocols, time.Minute
	return &http.Client{Transport: transport}
}

func TestMiddlewareHoldsThePermitUntilTheBodyHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Config{SLO: slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms")})
		client := serve(t, c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			require.NotNil(t, PermitOf(req.Context()))
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			time.Sleep(300 * time.Millisecond)
			for i := range 11 {
				fmt.Fprintf(w, "data: {\"n\":%d}\n\n", i)
				_ = http.NewResponseController(w).Flush()
				time.Sleep(50 * time.Millisecond)
			}
			fmt.Fprint(w, "data: [DONE]\n\n")
		}), MiddlewareConfig{Request: func(*http.Request) Request { return Request{InputTokens: 700, MaxOutputTokens: 11} }}))
		resp, err := client.Get("http://x/")
		require.NoError(t, err)
		require.Equal(t, 700.0+11, c.State().Tokens)
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() && lines.Text() == "" || lines.Text() != "" && !strings.Contains(lines.Text(), `"n":5`) {
		}
		synctest.Wait()
		st := c.State()
		require.Equal(t, 1, st.InFlight, "it streams")
		require.Zero(t, st.PendingTokens, "its first token has been seen")
		require.Equal(t, 50*time.Millisecond, st.Pace, "and its pace")
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		synctest.Wait()
		st = c.State()
		require.Zero(t, st.InFlight)
		require.Equal(t, uint64(1), st.Ended)
		require.Equal(t, []count{{1, 0}, {1, 0}}, c.s.limit.counts, "in time by both objectives")
		require.InDelta(t, 0.3, c.s.line.at(700), 1e-6)
		require.Nil(t, PermitOf(t.Context()))
	})
}

func TestMiddlewareRefusesWithoutCallingTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tight(t, Config{})
		p, err := c.Admit(t.Context(), Request{})
		require.NoError(t, err)
		h := c.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("called") }), MiddlewareConfig{})
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("POST", "/", nil))
		require.Equal(t, 429, rec.Code)
		require.Equal(t, string(BecameLate), rec.Header().Get(goodput.ReasonHeader))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		rec = httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("POST", "/", nil).WithContext(ctx))
		require.Equal(t, 499, rec.Code)
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rec = httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("POST", "/", nil).WithContext(late))
		require.Equal(t, 504, rec.Code)
		require.Equal(t, goodput.Timeout, goodput.OutcomeOfStatus(rec.Code, rec.Header()))
		require.JSONEq(t, `{"error":{"message":"admission: the request's time was over before it could be sent","type":"server_error","param":null,"code":"timeout"}}`, rec.Body.String())
		own := c.Middleware(nil, MiddlewareConfig{Refused: func(w http.ResponseWriter, _ *http.Request, err *RejectedError) { w.WriteHeader(418) }})
		rec = httptest.NewRecorder()
		own.ServeHTTP(rec, httptest.NewRequest("POST", "/", nil))
		require.Equal(t, 418, rec.Code)
		p.Done(goodput.Success)
	})
}

func TestMiddlewareLosesNoPermitToAPanic(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"before anything": func(http.ResponseWriter, *http.Request) { panic("boom") },
		"in the body":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x"); panic("boom") },
		"in an event": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: panic\n\n")
		},
		"abort": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			c := controller(t, Config{SLO: slo.MustParse("error_rate < 5%")})
			m := c.Middleware(h, MiddlewareConfig{Tokens: func(data []byte) int { panic("boom") }})
			require.Panics(t, func() { m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil)) })
			require.Zero(t, c.State().InFlight)
			require.Equal(t, uint64(1), c.State().Ended)
			require.Equal(t, []count{{1, 1}}, c.s.limit.counts)
		})
	}
}

// What an answer without events says: nothing about first tokens until it is flushed, and how it ended by its status.
func TestMiddlewareWithoutEvents(t *testing.T) {
	get := func(h http.HandlerFunc) *Controller {
		c := controller(t, Config{SLO: slo.MustParse("error_rate < 5%")})
		c.Middleware(h, MiddlewareConfig{}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil))
		require.Zero(t, c.State().InFlight)
		return c
	}
	c := get(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "whole") })
	require.Zero(t, c.s.line.w, "nobody saw a first token")
	require.Equal(t, []count{{1, 0}}, c.s.limit.counts)
	c = get(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "some"); w.(http.Flusher).Flush() })
	require.Equal(t, 1.0, c.s.line.w)
	c = get(func(w http.ResponseWriter, _ *http.Request) {})
	require.Equal(t, []count{{1, 0}}, c.s.limit.counts)
	for code, want := range map[int]count{200: {1, 0}, 400: {}, 429: {1, 1}, 500: {1, 1}, 504: {1, 1}} {
		c = get(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		require.Equal(t, []count{want}, c.s.limit.counts, "%d", code)
	}
}
