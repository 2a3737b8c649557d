package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A client that does not read its answer holds its permit as long as a request may take, and no longer.
func TestAClientThatDoesNotRead(t *testing.T) {
	for _, admission := range []string{"on", "off"} {
		synctest.Test(t, func(t *testing.T) {
			s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				_, _ = io.Copy(io.Discard, req.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				for req.Context().Err() == nil {
					fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"a"}}]}`+"\n\n")
					w.(http.Flusher).Flush()
					time.Sleep(10 * time.Millisecond)
				}
			}), "--timeout", "30s", "--admission", admission)
			conn, err := s.memory.dial(t.Context(), "tcp", strings.TrimPrefix(s.where, "http://"))
			require.NoError(t, err)
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(ask), ask)
			require.NoError(t, err)
			_, err = io.ReadFull(conn, make([]byte, 4000)) // it begins
			require.NoError(t, err)
			time.Sleep(10 * time.Second)
			require.EqualValues(t, 1, s.monitor.State().InFlight)
			time.Sleep(30 * time.Second)
			require.Equal(t, map[string]int{map[string]string{"on": defended, "off": bestEffort}[admission] + " timeout": 1}, s.booked())
			require.Zero(t, s.controller.State().InFlight)
		})
	}
}

// However a path is written, what an endpoint may take for one of the SLO's comes under admission control.
func TestNoWayAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paths []string
		s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			paths = append(paths, req.URL.EscapedPath())
			events(w, "stop")
		}))
		ways := []string{
			"/v1/chat/completions", "/v1/chat/completions/", "//v1/chat/completions", "/v1//chat/completions", "/v1/chat%2Fcompletions", "/v1%2fchat/%63ompletions",
			"/v1/./chat/completions", "/v1/x/../chat/completions", "/v1/completions", "/v1/responses/",
		}
		for i, path := range ways {
			conn, err := s.memory.dial(t.Context(), "tcp", strings.TrimPrefix(s.where, "http://"))
			require.NoError(t, err)
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", path, len(ask), ask)
			require.NoError(t, err)
			answer, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Contains(t, string(answer), "200 OK")
			require.Equal(t, map[string]int{"admission success": i + 1}, s.booked(), path)
		}
		require.Equal(t, ways, paths, "they are handed on as they came")
		for _, req := range []string{"GET /v1/chat/completions", "POST /v1/chat/completions/x", "POST /v1/embeddings"} {
			method, path, _ := strings.Cut(req, " ")
			r, err := http.NewRequest(method, s.where+path, nil)
			require.NoError(t, err)
			resp, err := s.client.Do(r)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		require.Equal(t, map[string]int{"admission success": len(ways)}, s.booked())
	})
}

// events answers with a token and an end.
func events(w http.ResponseWriter, finish string) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"choices":[{"delta":{"content":"a"},"finish_reason":%q}]}`+"\n\ndata: [DONE]\n\n", finish)
}

// An endpoint that cannot be reached, for whatever reason, is no evidence of how much is too much.
func TestAnEndpointThatCannotBeReached(t *testing.T) {
	for name, failure := range map[string]error{
		"no route": &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)},
		"no name":  &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}},
		"refused":  &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, simulator(t))
				for range 20 { // what the endpoint does when it is there
					resp, _ := s.ask()
					require.Equal(t, 200, resp.StatusCode)
				}
				s.transport.CloseIdleConnections()
				s.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
					time.Sleep(time.Second) // longer than a first token takes
					return nil, failure
				}
				for range 50 {
					resp, text := s.ask()
					require.Equal(t, 502, resp.StatusCode)
					require.Contains(t, text, "cannot be reached")
				}
				require.True(t, math.IsInf(s.controller.State().Limit, 1))
				require.Equal(t, map[string]int{"admission success": 20, "admission server_error": 50}, s.booked())
			})
		})
	}
}

// What an endpoint says of its request in an answer that is no HTTP stands in no log and in no error.
func TestAnEndpointThatTalksNonsense(t *testing.T) {
	const secret = "what the client asked, and sk-client"
	for name, answer := range map[string]string{
		"no HTTP":          secret + "\r\n\r\n",
		"a status":         "HTTP/1.1 " + secret + "\r\n\r\n",
		"a header":         "HTTP/1.1 200 OK\r\n" + secret + "\r\n\r\n",
		"a length":         "HTTP/1.1 200 OK\r\nContent-Length: " + secret + "\r\n\r\n",
		"an encoding":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + secret + "\r\n\r\n",
		"a chunk":          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + secret + "\r\n",
		"nothing":          "",
		"half a header":    "HTTP/1.1 200 OK\r\nX-A: ",
		"too much header":  "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 2<<20) + "\r\n\r\n",
		"half a body":      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
		"half a stream":    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n",
		"hints for ever":   strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n", 100),
		"another protocol": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					_, _ = io.Copy(io.Discard, req.Body)
					conn, _, err := w.(http.Hijacker).Hijack()
					require.NoError(t, err)
					defer conn.Close()
					_, _ = io.WriteString(conn, answer)
				}))
				resp, err := s.post(t.Context(), strings.NewReader(ask))
				var b []byte
				if err == nil {
					b, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				require.True(t, err != nil || resp.StatusCode == 502, "it looks whole: %s", b)
				_, metrics := s.operate("GET", "/metrics")
				_, page := s.operate("GET", "/goodput")
				require.NotContains(t, s.log.String()+string(b)+metrics+page, "sk-client")
				require.Len(t, s.booked(), 1)
				require.NotContains(t, s.booked(), "admission success")
				require.Zero(t, s.controller.State().InFlight)
			})
		})
	}
}

// The endpoint's hints, trailers and grants reach the client.
func TestWhatStandsAroundAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			w.Header().Set("Link", "<a>")
			w.WriteHeader(103)
			w.Header().Set("Trailer", "X-End")
			events(w, "stop")
			w.Header().Set("X-End", "yes")
		}))
		hints := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints++
			require.Equal(t, "<a>", h.Get("Link"))
			return nil
		}})
		resp, err := s.post(ctx, strings.NewReader(ask))
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Contains(t, string(b), "[DONE]")
		require.Equal(t, "yes", resp.Trailer.Get("X-End"))
		require.Equal(t, 1, hints)
		require.Equal(t, map[string]int{"admission success": 1}, s.booked())
	})
}

// A client that sends its body only when it is asked to is asked once, here, and waits no second time for an endpoint that does not ask.
func TestABodyThatIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			conn, in, err := w.(http.Hijacker).Hijack() // which asks for nothing
			require.NoError(t, err)
			defer conn.Close()
			require.NotContains(t, req.Header, "Expect")
			body := make([]byte, len(ask))
			_, err = io.ReadFull(in, body)
			require.NoError(t, err)
			require.Equal(t, ask, string(body))
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		}))
		conn, err := s.memory.dial(t.Context(), "tcp", strings.TrimPrefix(s.where, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", len(ask))
		require.NoError(t, err)
		begin := time.Now()
		const asks = "HTTP/1.1 100 Continue\r\n\r\n"
		asked := make([]byte, len(asks))
		_, err = io.ReadFull(conn, asked)
		require.NoError(t, err)
		require.Equal(t, asks, string(asked))
		_, err = io.WriteString(conn, ask)
		require.NoError(t, err)
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 200 OK\r\n"), "%s", answer)
		require.Zero(t, time.Since(begin))
	})
}

// The gateway's own key takes the place of whatever a client has for one.
func TestNoOtherKeyGoesOn(t *testing.T) {
	for _, args := range [][]string{nil, {"--api-key-env", "KEY"}} {
		synctest.Test(t, func(t *testing.T) {
			var got http.Header
			s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				got = req.Header
				events(w, "stop")
			}), args...)
			req, err := http.NewRequest("POST", s.where+"/v1/chat/completions", strings.NewReader(ask))
			require.NoError(t, err)
			for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key"} {
				req.Header.Set(name, "sk-client")
			}
			resp, err := s.client.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			if args == nil {
				require.Equal(t, "sk-client", got.Get("X-Api-Key"))
			} else {
				require.NotContains(t, fmt.Sprint(got), "sk-client")
			}
		})
	}
}
