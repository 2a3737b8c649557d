package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// stand is a gateway in a bubble, before an endpoint.
type stand struct {
	*gateway
	t      *testing.T
	memory *memory
	where  string
	client *http.Client
	log    bytes.Buffer
}

const upstreamAt = "127.0.0.1:4000"

// newStand is a gateway with options, before an endpoint that upstream answers for; nil: nobody is there.
func newStand(t *testing.T, upstream http.Handler, args ...string) *stand {
	s := &stand{t: t, memory: &memory{}}
	n := s.memory.network()
	if upstream != nil {
		s.upstream(upstream)
	}
	o, err := parse(append([]string{"--upstream", "http://" + upstreamAt + "/v1", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, args...),
		func(string) string { return "sk-secret" }, io.Discard)
	require.NoError(t, err)
	s.gateway, err = newGateway(o, n.dial, slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	require.NoError(t, err)
	where, stop, err := s.serve(n, o, io.Discard)
	require.NoError(t, err)
	transport := &http.Transport{DialContext: n.dial, DisableCompression: true}
	s.where, s.client = "http://"+where, &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(t, stop())
		require.Zero(t, s.controller.State().InFlight, "no permit is lost")
	})
	return s
}

// upstream has h answer for the endpoint.
func (s *stand) upstream(h http.Handler) {
	l, err := s.memory.listen(upstreamAt)
	require.NoError(s.t, err)
	srv := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go func() { _ = srv.Serve(l) }()
	s.t.Cleanup(func() { srv.Close() })
}

const ask = `{"model":"m","messages":[{"role":"user","content":"what is goodput"}],"max_tokens":4,"stream":true}`

func (s *stand) post(ctx context.Context, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", s.where+"/v1/chat/completions", body)
	require.NoError(s.t, err)
	return s.client.Do(req)
}

// ask is a whole answer.
func (s *stand) ask() (*http.Response, string) {
	resp, err := s.post(s.t.Context(), strings.NewReader(ask))
	require.NoError(s.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp, string(b)
}

// operate asks the operator's side.
func (s *stand) operate(method, path string) (status int, text string) {
	req, err := http.NewRequest(method, "http://127.0.0.1:9090"+path, nil)
	require.NoError(s.t, err)
	req.RemoteAddr = "127.0.0.1:1"
	w := &recorder{header: http.Header{}}
	s.admin.ServeHTTP(w, req)
	return w.status, w.body.String()
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(code int) {
	if r.status == 0 {
		r.status = code
	}
}
func (r *recorder) Write(p []byte) (int, error) { r.WriteHeader(200); return r.body.Write(p) }

var counted = regexp.MustCompile(`(?m)^goodput_requests_total\{class="([a-z_]+)",outcome="([a-z_]+)".*\} (\d+)$`)

// booked is how many requests were booked, by class and outcome.
func (s *stand) booked() map[string]int {
	synctest.Wait()
	status, text := s.operate("GET", "/metrics")
	require.Equal(s.t, 200, status)
	books := map[string]int{}
	for _, m := range counted.FindAllStringSubmatch(text, -1) {
		if n, _ := strconv.Atoi(m[3]); n > 0 {
			books[m[1]+" "+m[2]] = n
		}
	}
	require.Zero(s.t, s.monitor.State().InFlight)
	return books
}

func simulator(t *testing.T) *llmsim.Server {
	sim, err := llmsim.NewServer(engine())
	require.NoError(t, err)
	t.Cleanup(func() { sim.Close() })
	return sim
}

func TestARequestGoesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, simulator(t))
		resp, text := s.ask()
		require.Equal(t, 200, resp.StatusCode)
		require.Equal(t, 4, strings.Count(text, `"delta":{"content":" `))
		require.Contains(t, text, "data: [DONE]")
		require.Equal(t, map[string]int{"admission success": 1}, s.booked())
		w := s.monitor.State().Windows[0]
		require.EqualValues(t, []uint64{1, 1, 4}, []uint64{w.Offered, w.Good, w.OutputTokens})

		// What the SLO is not about goes through as well, and is not counted.
		resp, err := s.client.Get(s.where + "/v1/models")
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Contains(t, string(b), engine().Model)
		require.Equal(t, map[string]int{"admission success": 1}, s.booked())
	})
}

// The first event is with the client before the endpoint sends the second.
func TestEventsAreHandedOnAtOnce(t *testing.T) {
	for _, admission := range []string{"on", "off"} {
		synctest.Test(t, func(t *testing.T) {
			read := make(chan struct{})
			s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for range 3 {
					fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"a"}}]}`+"\n\n")
					w.(http.Flusher).Flush()
					<-read
				}
				fmt.Fprint(w, "data: [DONE]\n\n")
			}), "--admission", admission)
			resp, err := s.post(t.Context(), strings.NewReader(ask))
			require.NoError(t, err)
			body := bufio.NewReader(resp.Body)
			for range 3 {
				line, err := body.ReadString('\n')
				require.NoError(t, err)
				require.Contains(t, line, "content")
				_, err = body.ReadString('\n')
				require.NoError(t, err)
				read <- struct{}{}
			}
			rest, err := io.ReadAll(body)
			require.NoError(t, err)
			require.Equal(t, "data: [DONE]\n\n", string(rest))
			resp.Body.Close()
			require.Len(t, s.booked(), 1)
		})
	}
}

// Where nobody answers the client hears so at once, and it is the service's failure in the books. When the endpoint is there
// again nothing is left of it.
func TestAnEndpointThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, nil)
		for range 100 {
			resp, text := s.ask()
			require.Equal(t, 502, resp.StatusCode)
			var body struct {
				Error struct{ Type, Message string }
			}
			require.NoError(t, json.Unmarshal([]byte(text), &body), text)
			require.Equal(t, "server_error", body.Error.Type)
			require.Zero(t, s.controller.State().InFlight)
			time.Sleep(100 * time.Millisecond)
		}
		require.Equal(t, map[string]int{"admission server_error": 100}, s.booked())
		require.Contains(t, s.log.String(), "connection refused")
		status, text := s.operate("GET", "/admission")
		require.Equal(t, 200, status)
		require.Contains(t, text, `"limit_tokens":null`, "that says nothing of how much is too much")

		s.upstream(simulator(t))
		var all sync.WaitGroup
		for range 20 { // at once, as before
			all.Go(func() {
				resp, _ := s.ask()
				require.Equal(t, 200, resp.StatusCode)
			})
		}
		all.Wait()
		require.Equal(t, map[string]int{"admission server_error": 100, "admission success": 20}, s.booked())
	})
}

// An endpoint that fails for a while, and is well again, has as many requests as before.
func TestAnEndpointThatIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := simulator(t)
		var broken atomic.Bool
		s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if broken.Load() {
				w.WriteHeader(500)
				return
			}
			sim.ServeHTTP(w, req)
		}))
		many := func(want int) {
			var all sync.WaitGroup
			for range 30 {
				all.Go(func() {
					resp, _ := s.ask()
					require.Equal(t, want, resp.StatusCode)
				})
				time.Sleep(20 * time.Millisecond)
			}
			all.Wait()
		}
		many(200)
		broken.Store(true)
		many(500)
		broken.Store(false)
		many(200)
		require.Equal(t, map[string]int{"admission success": 60, "admission server_error": 30}, s.booked())
		_, text := s.operate("GET", "/admission")
		require.Contains(t, text, `"limit_tokens":null`)
	})
}

// What the endpoint answers is handed on as it is.
func TestTheEndpointsOwnErrors(t *testing.T) {
	for code, outcome := range map[int]goodput.Outcome{429: goodput.RateLimited, 400: goodput.ClientError, 500: goodput.ServerError} {
		synctest.Test(t, func(t *testing.T) {
			s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(code)
				fmt.Fprint(w, `{"error":{"message":"mine"}}`)
			}))
			resp, text := s.ask()
			require.Equal(t, code, resp.StatusCode)
			require.Equal(t, "7", resp.Header.Get("Retry-After"))
			require.Empty(t, resp.Header.Get(goodput.ReasonHeader))
			require.JSONEq(t, `{"error":{"message":"mine"}}`, text)
			require.Equal(t, map[string]int{"admission " + outcome.String(): 1}, s.booked())
		})
	}
}

// stalling answers nothing until stop is closed, and then a little.
func stalling(stop <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // or the server would not notice that nobody waits any more
		select {
		case <-stop:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		case <-req.Context().Done():
		}
	})
}

// What is refused is booked once, as refused, and says why and for how long.
func TestARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		go_on := make(chan struct{})
		s := newStand(t, stalling(go_on))
		var mu sync.Mutex
		answers := map[string]int{}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				resp, text := s.ask()
				mu.Lock()
				defer mu.Unlock()
				answers[fmt.Sprint(resp.StatusCode, " ", resp.Header.Get(goodput.ReasonHeader))]++
				if resp.StatusCode == 429 {
					after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
					require.NoError(t, err)
					require.GreaterOrEqual(t, after, 1)
					require.NotEmpty(t, resp.Header.Get(admission.RetryAfterMsHeader))
					require.Contains(t, text, `"code":"became_late"`)
				}
			})
		}
		time.Sleep(5 * time.Second) // nothing has come back: 32 are let in, the others wait, until they are late
		close(go_on)
		all.Wait()
		require.Equal(t, map[string]int{"200 ": 32, "429 became_late": 18}, answers)
		require.Equal(t, map[string]int{"admission success": 32, "admission rejected": 18}, s.booked())
		w := s.monitor.State().Windows[0]
		require.EqualValues(t, []uint64{50, 50}, []uint64{w.Offered, w.Recorded})

		status, text := s.operate("GET", "/metrics")
		require.Equal(t, 200, status)
		for _, line := range []string{
			"admission_enabled 1", "admission_stalled 0", "admission_waiting_requests 0", "admission_in_flight_tokens 0",
			"admission_offered_requests_total 50", "admission_admitted_requests_total 32", "admission_given_up_requests_total 0",
			`admission_refused_requests_total{reason="became_late"} 18`, `admission_refused_requests_total{reason="queue_full"} 0`,
		} {
			require.Contains(t, text, "\n"+line+"\n")
		}
	})
}

// The operator switches it off and on while requests are in flight.
func TestTheSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		go_on := make(chan struct{})
		s := newStand(t, stalling(go_on), "--admission", "off")
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				resp, _ := s.ask()
				require.Equal(t, 200, resp.StatusCode)
			})
		}
		synctest.Wait()
		status, text := s.operate("PUT", "/admission?on=true")
		require.Equal(t, 200, status)
		var state struct {
			On        bool
			Admission struct {
				InFlight *int `json:"in_flight"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &state))
		require.True(t, state.On)
		require.NotNil(t, state.Admission.InFlight, text)
		require.Zero(t, *state.Admission.InFlight, "what came before is not its own")
		all.Go(func() {
			resp, _ := s.ask()
			require.Equal(t, 200, resp.StatusCode)
		})
		synctest.Wait()
		require.Equal(t, 1, s.controller.State().InFlight)
		_, text = s.operate("PUT", "/admission?on=false")
		require.Contains(t, text, `"on":false`)
		close(go_on)
		all.Wait()
		require.Equal(t, map[string]int{"best_effort success": 50, "admission success": 1}, s.booked())

		for _, query := range []string{"", "?on=perhaps"} {
			status, _ := s.operate("PUT", "/admission"+query)
			require.Equal(t, 400, status)
		}
		status, _ = s.operate("POST", "/admission?on=true")
		require.Equal(t, 405, status)
		status, text = s.operate("GET", "/goodput?format=json")
		require.Equal(t, 200, status)
		require.Contains(t, text, `"best_effort"`)
		req, err := http.NewRequest("PUT", "http://rebound.example/admission?on=true", nil)
		require.NoError(t, err)
		w := &recorder{header: http.Header{}}
		s.admin.ServeHTTP(w, req)
		require.Equal(t, 403, w.status)
	})
}

// A key goes to the endpoint and nowhere else; a client's own goes there where the gateway has none.
func TestKeys(t *testing.T) {
	for _, args := range [][]string{nil, {"--api-key-env", "KEY"}} {
		synctest.Test(t, func(t *testing.T) {
			var got, encoding string
			s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				got, encoding = req.Header.Get("Authorization"), req.Header.Get("Accept-Encoding")
				require.Equal(t, upstreamAt, req.Host)
				panic(http.ErrAbortHandler)
			}), args...)
			req, err := http.NewRequest("POST", s.where+"/v1/chat/completions", strings.NewReader(ask))
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer sk-client")
			req.Header.Set("Accept-Encoding", "gzip")
			resp, err := s.client.Do(req)
			require.NoError(t, err)
			b, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, 502, resp.StatusCode)
			want := "Bearer sk-client"
			if args != nil {
				want = "Bearer sk-secret"
			}
			require.Equal(t, want, got)
			require.Empty(t, encoding, "nobody could see the tokens")
			_, metrics := s.operate("GET", "/metrics")
			_, state := s.operate("GET", "/admission")
			require.NotContains(t, s.log.String()+metrics+state+string(b), "sk-")
			require.Equal(t, map[string]int{"admission server_error": 1}, s.booked())
		})
	}
}

// Bodies that are too long, or too slow, or lost.
func TestBodies(t *testing.T) {
	long := strings.Repeat("a", 2000)
	for _, admission := range []string{"on", "off"} {
		for name, x := range map[string]struct {
			body    func(s *stand) io.Reader
			code    int
			outcome goodput.Outcome
		}{
			"too long":          {func(*stand) io.Reader { return strings.NewReader(long) }, 413, goodput.ClientError},
			"too long, chunked": {func(*stand) io.Reader { return io.MultiReader(strings.NewReader(long)) }, 413, goodput.ClientError},
			"too slow": {func(s *stand) io.Reader {
				slow, in := io.Pipe()
				go func() { _, _ = in.Write([]byte("{")) }()
				s.t.Cleanup(func() { in.Close() })
				return slow
			}, 408, goodput.Cancelled},
		} {
			t.Run(admission+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStand(t, simulator(t), "--max-body", "1000", "--body-timeout", "10s", "--admission", admission)
					resp, err := s.post(t.Context(), x.body(s))
					require.NoError(t, err)
					resp.Body.Close()
					require.Equal(t, x.code, resp.StatusCode)
					class := map[string]string{"on": defended, "off": bestEffort}[admission]
					require.Equal(t, map[string]int{class + " " + x.outcome.String(): 1}, s.booked())
				})
			})
		}
	}
}

// A body that took its time, and an answer that takes longer than a body may.
func TestAnAnswerMayTakeLongerThanABody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		go_on := make(chan struct{})
		s := newStand(t, stalling(go_on), "--body-timeout", "1s")
		time.AfterFunc(20*time.Second, func() { close(go_on) })
		resp, _ := s.ask()
		require.Equal(t, 200, resp.StatusCode)
		require.Equal(t, map[string]int{"admission success": 1}, s.booked())
	})
}

// An endpoint that does not answer is given up, and so is one that begins and goes no further.
func TestAnEndpointThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, stalling(nil), "--timeout", "30s")
		began := time.Now()
		resp, text := s.ask()
		require.Equal(t, 504, resp.StatusCode)
		require.Contains(t, text, "took too long")
		require.Equal(t, 30*time.Second, time.Since(began))
		require.Equal(t, map[string]int{"admission timeout": 1}, s.booked())
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"a"}}]}`+"\n\n")
			w.(http.Flusher).Flush()
			_, _ = io.Copy(io.Discard, req.Body)
			<-req.Context().Done()
		}), "--timeout", "30s")
		resp, err := s.post(t.Context(), strings.NewReader(ask))
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.Error(t, err, "it does not look whole")
		resp.Body.Close()
		require.Equal(t, map[string]int{"admission timeout": 1}, s.booked())
	})
}

// Whatever becomes of requests, each is booked once and no permit is lost.
func TestAStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := simulator(t)
		var mu sync.Mutex
		n := 0
		s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			mu.Lock()
			n++
			k := n % 6
			mu.Unlock()
			switch k {
			case 0:
				panic(http.ErrAbortHandler)
			case 1:
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"a"}}]}`+"\n\n")
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			case 2:
				conn, _, err := w.(http.Hijacker).Hijack()
				require.NoError(t, err)
				_, _ = conn.Write([]byte("no HTTP\r\n\r\n"))
				conn.Close()
			default:
				sim.ServeHTTP(w, req)
			}
		}))
		const requests = 600
		var all sync.WaitGroup
		for i := range requests {
			all.Go(func() {
				ctx := t.Context()
				if i%5 == 0 {
					short, cancel := context.WithTimeout(ctx, time.Duration(i)*3*time.Millisecond)
					defer cancel()
					ctx = short
				}
				resp, err := s.post(ctx, strings.NewReader(strings.Replace(ask, ":4,", ":"+strconv.Itoa(1+i%90)+",", 1)))
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
			time.Sleep(10 * time.Millisecond)
			if i%100 == 99 {
				s.on.Store(i%200 == 199)
			}
		}
		all.Wait()
		total := 0
		for _, n := range s.booked() {
			total += n
		}
		require.LessOrEqual(t, total, requests) // a client that goes away at once never came
		require.Greater(t, total, requests*9/10)
		w := s.monitor.State().Windows[0]
		require.EqualValues(t, total, w.Offered)
		st := s.controller.State()
		require.Equal(t, st.Admitted, st.Ended)
		require.Zero(t, st.Waiting)
	})
}
