package admission

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/memnet"
	"github.com/goodputkit/goodputkit/slo"
)

// judged is a controller that counts failures.
func judged(t *testing.T) *Controller {
	return controller(t, Config{SLO: slo.MustParse("error_rate < 5%")})
}

// The evidence of one request.
var (
	good  = []count{{1, 0}}
	bad   = []count{{1, 1}}
	silly = []count{{}} // it says nothing of the service
)

// over says that one request was in flight, is over, and what it was evidence for.
func over(t *testing.T, c *Controller, want []count) {
	t.Helper()
	st := c.State()
	require.Zero(t, st.InFlight)
	require.Zero(t, st.Waiting)
	require.Equal(t, uint64(1), st.Ended)
	require.Equal(t, want, c.s.limit.counts)
}

func events(w http.ResponseWriter, data ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, d := range data {
		fmt.Fprintf(w, "data: %s\n\n", d)
	}
	_ = http.NewResponseController(w).Flush()
}

const (
	role  = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`
	token = `{"choices":[{"index":0,"delta":{"content":"a"}}]}`
	stop  = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	used  = `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":9}}`
)

// A role is no token, nor is an empty delta or the usage: the first token is the first one with output, in either API.
func TestTheFirstTokenIsOneWithOutput(t *testing.T) {
	for name, x := range map[string]struct{ before, with, end []string }{
		"chat": {[]string{role, `{"choices":[{"delta":{"content":""}}]}`}, []string{token}, []string{stop, used, "[DONE]"}},
		"responses": {[]string{`{"type":"response.created","response":{}}`}, []string{`{"type":"response.output_text.delta","delta":"a"}`},
			[]string{`{"type":"response.completed","response":{"status":"completed","usage":{"output_tokens":9}}}`}},
		"of another protocol": {nil, []string{`{"n":1}`}, []string{"[DONE]"}},
		"no JSON":             {nil, []string{`a`}, []string{"[DONE]"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := controller(t, Config{SLO: slo.MustParse("ttft p95 < 2s")})
				c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					events(w, x.before...)
					time.Sleep(300 * time.Millisecond)
					require.Equal(t, 1, c.s.cap.pendingN, "nothing of it is visible yet")
					events(w, x.with...)
					require.Zero(t, c.s.cap.pendingN)
					time.Sleep(40 * time.Millisecond)
					events(w, x.with...)
					require.Equal(t, 40*time.Millisecond, c.State().Pace)
					time.Sleep(40 * time.Millisecond)
					events(w, x.end...)
					require.Equal(t, 40*time.Millisecond, c.State().Pace, "the end is no token")
				}), MiddlewareConfig{}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil))
				require.InDelta(t, 0.3, c.s.line.at(1), 1e-6)
				want := 9.0
				if !strings.Contains(strings.Join(x.end, ""), "usage") {
					want = 2 // as many as came
				}
				require.Equal(t, want, c.s.def.output.mean)
			})
		})
	}
}

// An event carries as many tokens as it says.
func TestTokensOfAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Config{})
		c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			events(w, token)
			time.Sleep(30 * time.Millisecond)
			events(w, `{"choices":[{"delta":{"content":"abc"},"logprobs":{"content":[{},{},{}]}}]}`)
			require.Equal(t, 10*time.Millisecond, c.State().Pace)
		}), MiddlewareConfig{}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil))
		require.Equal(t, 4.0, c.s.def.output.mean)
	})
}

// What carries tokens the caller can say, and then nothing else is read, but for the end.
func TestTokensThatTheCallerCounts(t *testing.T) {
	for name, x := range map[string]struct {
		last []string
		want []count
	}{"behind the end": {[]string{"[DONE]", "1"}, good}, "before it": {[]string{"1"}, bad}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := judged(t)
				h := c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					events(w, "2", "-5", `{"error":{"message":"boom"}}`)
					time.Sleep(30 * time.Millisecond)
					events(w, "3")
					events(w, x.last...)
					panic(http.ErrAbortHandler)
				}), MiddlewareConfig{Tokens: func(data []byte) int {
					n, _ := strconv.Atoi(string(data))
					return n
				}})
				resp, err := serve(t, h).Get("http://x/")
				require.NoError(t, err)
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				synctest.Wait()
				over(t, c, x.want)
				if x.last[0] == "[DONE]" {
					require.Equal(t, 6.0, c.s.def.output.mean, "2 + 3 + 1")
				}
			})
		})
	}
}

// What an answer says of itself, and how it is written, decides what it is evidence for.
func TestHowAnAnswerEnds(t *testing.T) {
	for name, x := range map[string]struct {
		h    http.HandlerFunc
		want []count
	}{
		"an event stream": {func(w http.ResponseWriter, _ *http.Request) { events(w, role, token, stop, "[DONE]") }, good},
		"an error event": {func(w http.ResponseWriter, _ *http.Request) {
			events(w, token, `{"error":{"message":"boom"}}`, "[DONE]")
		}, bad},
		"an error event of a limit": {func(w http.ResponseWriter, _ *http.Request) {
			events(w, token, `{"error":{"message":"slow down","code":429}}`, "[DONE]")
		}, bad},
		"an answer that is not complete": {func(w http.ResponseWriter, _ *http.Request) {
			events(w, `{"type":"response.output_text.delta","delta":"a"}`,
				`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"server"}}}`)
		}, bad},
		"an error in a long JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"error":{"message":"boom"}}`)
			fmt.Fprint(w, strings.Repeat(" ", 2<<20))
		}, good}, // so much is not kept
		"an error in JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			fmt.Fprint(w, `{"error":{"message":"boom"}}`)
		}, bad},
		"no JSON, though it says so": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{`)
		}, good},
		"JSON that is not read": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, `{"error":{"message":"boom"}}`)
		}, good},
		"a long event stream": {func(w http.ResponseWriter, _ *http.Request) {
			events(w, strings.Repeat("a", 2<<20), `{"error":{"message":"boom"}}`)
		}, good}, // nobody reads behind an event that is too long
		"a body where there is none": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			_, err := w.Write([]byte("x"))
			require.ErrorIs(t, err, http.ErrBodyNotAllowed)
		}, good},
		"more than its length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1")
			_, _ = w.Write([]byte("x"))
			_, err := w.Write([]byte("y"))
			require.ErrorIs(t, err, http.ErrContentLength)
		}, good},
		"less than its length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			_, _ = w.Write([]byte("x"))
		}, bad},
		"an early hint": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(103)
			w.WriteHeader(200)
		}, good},
		"the engine's own 429": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, bad},
		"aborted":              {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, bad},
		"aborted in the body": {func(w http.ResponseWriter, _ *http.Request) {
			events(w, token)
			panic(http.ErrAbortHandler)
		}, bad},
		"aborted behind the end": {func(w http.ResponseWriter, _ *http.Request) {
			events(w, token, "[DONE]")
			panic(http.ErrAbortHandler)
		}, good},
		"a write deadline": {func(w http.ResponseWriter, _ *http.Request) {
			require.NoError(t, http.NewResponseController(w).SetWriteDeadline(time.Now().Add(-time.Second)))
			events(w, token)
		}, bad},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := judged(t)
				resp, err := serve(t, c.Middleware(x.h, MiddlewareConfig{})).Get("http://x/")
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				synctest.Wait()
				over(t, c, x.want)
			})
		})
	}
}

// A client that has what it wants goes away, often before the handler has returned: that is no cancellation. One that goes before
// the end is.
func TestAClientThatGoesAway(t *testing.T) {
	protocols := map[string]func(*http.Protocols, bool){"HTTP/1": (*http.Protocols).SetHTTP1, "HTTP/2": (*http.Protocols).SetUnencryptedHTTP2}
	for protocol, set := range protocols {
		for name, x := range map[string]struct {
			sent []string
			want []count
		}{"at the end": {[]string{token, stop, "[DONE]"}, good}, "before": {[]string{token}, silly}} {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := judged(t)
					client := serveOver(t, c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
						events(w, x.sent...)
						<-req.Context().Done()
						panic(http.ErrAbortHandler) // as a reverse proxy does
					}), MiddlewareConfig{}), set)
					ctx, cancel := context.WithCancel(t.Context())
					req, err := http.NewRequestWithContext(ctx, "POST", "http://x/", nil)
					require.NoError(t, err)
					resp, err := client.Do(req)
					require.NoError(t, err)
					synctest.Wait()
					require.Equal(t, 1, c.State().InFlight)
					cancel()
					resp.Body.Close()
					synctest.Wait()
					over(t, c, x.want)
				})
			})
		}
	}
}

// A client that goes away while it waits leaves the queue at once, where its body has been read.
func TestAClientThatGoesAwayWhileItWaits(t *testing.T) {
	for name, set := range map[string]func(*http.Protocols, bool){"HTTP/1": (*http.Protocols).SetHTTP1, "HTTP/2": (*http.Protocols).SetUnencryptedHTTP2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tight(t, Config{SLO: slo.MustParse("error_rate < 5%")})
				p, err := c.Admit(t.Context(), Request{})
				require.NoError(t, err)
				client := serveOver(t, c.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("called") }), MiddlewareConfig{Request: ChatSizes{}.Request}), set)
				ctx, cancel := context.WithCancel(t.Context())
				req, err := http.NewRequestWithContext(ctx, "POST", "http://x/", strings.NewReader(`{"prompt":"a"}`))
				require.NoError(t, err)
				ended := make(chan error)
				go func() {
					_, err := client.Do(req)
					ended <- err
				}()
				synctest.Wait()
				require.Equal(t, 1, c.State().Waiting)
				cancel()
				require.ErrorIs(t, <-ended, context.Canceled)
				synctest.Wait()
				st := c.State()
				require.Zero(t, st.Waiting)
				require.Equal(t, uint64(1), st.Removed)
				require.Equal(t, 1, st.InFlight)
				p.Done(goodput.Success)
			})
		})
	}
}

// A handler that takes the connection over ends the request there: a websocket that is idle for an hour is no stall.
func TestAHandlerThatHijacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := judged(t)
		hijacked, end := make(chan struct{}), make(chan struct{})
		client := serve(t, c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			require.NoError(t, err)
			defer conn.Close()
			close(hijacked)
			_, err = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
			require.NoError(t, err)
			<-end
			_, err = w.Write([]byte("x"))
			require.ErrorIs(t, err, http.ErrHijacked)
			panic("boom")
		}), MiddlewareConfig{}))
		req, err := http.NewRequest("GET", "http://x/", nil)
		require.NoError(t, err)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "x")
		resp, err := client.Do(req)
		require.NoError(t, err)
		require.Equal(t, 101, resp.StatusCode)
		<-hijacked
		synctest.Wait()
		over(t, c, good)
		time.Sleep(time.Hour)
		require.False(t, c.State().Stalled)
		close(end)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		synctest.Wait()
		over(t, c, good)
	})
}

// A handler that goes on after its return changes nothing any more.
func TestAHandlerThatWritesAfterItsReturn(t *testing.T) {
	c := judged(t)
	var late http.ResponseWriter
	var permit *Permit
	h := c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { late, permit = w, PermitOf(req.Context()) }), MiddlewareConfig{})
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil))
	over(t, c, good)
	events(late, token, `{"error":{"message":"boom"}}`)
	permit.FirstToken()
	permit.Done(goodput.Success)
	over(t, c, good)
	require.Zero(t, c.s.line.w)
}

// What a handler could do without the middleware it can do with it, over either protocol, and the body is what it wrote.
func TestAHandlerKeepsItsMeans(t *testing.T) {
	text := strings.Repeat("goodput is what users get in time\n", 4096)
	for name, set := range map[string]func(*http.Protocols, bool){"HTTP/1": (*http.Protocols).SetHTTP1, "HTTP/2": (*http.Protocols).SetUnencryptedHTTP2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := judged(t)
				client := serveOver(t, c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					rc := http.NewResponseController(w)
					require.NoError(t, rc.SetWriteDeadline(time.Now().Add(time.Hour)))
					require.NoError(t, rc.SetReadDeadline(time.Now().Add(time.Hour)))
					require.NoError(t, rc.EnableFullDuplex())
					w.Header().Set("Trailer", "X-End")
					w.Header().Set("Content-Type", "application/json") // which is read, and is none
					if from, ok := w.(io.ReaderFrom); ok {
						n, err := from.ReadFrom(strings.NewReader(text))
						require.NoError(t, err)
						require.EqualValues(t, len(text), n)
					} else {
						_, err := io.WriteString(w, text)
						require.NoError(t, err)
					}
					require.NoError(t, rc.Flush())
					w.Header().Set("X-End", "yes")
				}), MiddlewareConfig{}), set)
				resp, err := client.Get("http://x/")
				require.NoError(t, err)
				b, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.Equal(t, text, string(b))
				require.Equal(t, "yes", resp.Trailer.Get("X-End"))
				resp.Body.Close()
				synctest.Wait()
				over(t, c, good)
			})
		})
	}
}

// A permit is given back when the server is torn down around it.
func TestAServerThatIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := judged(t)
		l := memnet.Listen()
		server := &http.Server{Handler: c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			events(w, token)
			<-req.Context().Done()
		}), MiddlewareConfig{})}
		go func() { _ = server.Serve(l) }()
		client, err := l.Dial(t.Context(), "", "")
		require.NoError(t, err)
		go func() { _, _ = client.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")) }()
		line, err := bufio.NewReader(client).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 200 OK\r\n", line)
		require.NoError(t, server.Close())
		synctest.Wait()
		over(t, c, silly)
	})
}

// A request whose own deadline passes while it is answered is a violation.
func TestADeadlineInTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := judged(t)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("too slow"))
		defer cancel()
		c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			events(w, token)
			<-req.Context().Done()
		}), MiddlewareConfig{}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil).WithContext(ctx))
		over(t, c, bad)
	})
}

// An answer that is cut anywhere is read as if it were whole.
func TestAnAnswerInPieces(t *testing.T) {
	var whole bytes.Buffer
	for _, d := range []string{role, token, token, stop, used, "[DONE]"} {
		fmt.Fprintf(&whole, "data: %s\r\n\r\n", d)
	}
	for size := 1; size <= whole.Len(); size += 1 + size/3 {
		c := controller(t, Config{})
		c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for b := whole.Bytes(); len(b) > 0; b = b[min(size, len(b)):] {
				_, _ = w.Write(b[:min(size, len(b))])
				w.(http.Flusher).Flush()
			}
		}), MiddlewareConfig{}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil))
		require.Equal(t, 9.0, c.s.def.output.mean, "%d bytes at a time", size)
		require.Zero(t, c.State().InFlight)
	}
}
