package admission

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// Whatever handlers and clients do, all at once, no permit is lost, nobody waits for ever, and the counts add up.
func TestAStorm(t *testing.T) {
	protocols := map[string]func(*http.Protocols, bool){"HTTP/1": (*http.Protocols).SetHTTP1, "HTTP/2": (*http.Protocols).SetUnencryptedHTTP2}
	for protocol, set := range protocols {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := controller(t, Config{
					SLO: slo.MustParse("ttft p95 < 2s, error_rate < 5%"), Ceiling: 2000, MaxWaiting: 20,
					Classes: map[string]Class{slo.DefaultClass: {Ladder: Ladder{{MaxOutputTokens: 5}}}},
				})
				var n atomic.Int64
				h := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					_, _ = io.Copy(io.Discard, req.Body)
					rc := http.NewResponseController(w)
					time.Sleep(200 * time.Millisecond)
					switch n.Add(1) % 12 {
					case 0:
						panic("boom")
					case 1:
						panic(http.ErrAbortHandler)
					case 2:
						events(w, role, token)
						panic(http.ErrAbortHandler)
					case 3:
						events(w, token, `{"error":{"message":"boom"}}`)
					case 4:
						w.WriteHeader(103)
						w.Header().Set("Trailer", "X-End")
						events(w, token, stop, "[DONE]")
						w.Header().Set("X-End", "yes")
					case 5:
						if conn, _, err := rc.Hijack(); err == nil { // over HTTP/2 there is none
							conn.Close()
							panic("boom")
						}
					case 6:
						<-req.Context().Done()
					case 7:
						w.Header().Set("Content-Length", "100")
						_, _ = io.WriteString(w, "short")
					case 8:
						w.WriteHeader(500)
					case 9:
						_ = rc.SetWriteDeadline(time.Now().Add(-time.Second))
						events(w, token)
					case 10:
						PermitOf(req.Context()).FirstToken()
						w.WriteHeader(204)
						_, _ = io.WriteString(w, "no body")
					default:
						for range 20 {
							events(w, token)
							time.Sleep(20 * time.Millisecond)
						}
						events(w, stop, used, "[DONE]")
					}
				})
				client := serveOver(t, c.Middleware(h, MiddlewareConfig{Request: ChatSizes{}.Request, Degrade: ChatSizes{}.Degrade, Headers: allHeaders}), set)
				var all sync.WaitGroup
				for i := range 600 {
					all.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%7)*700*time.Millisecond)
						defer cancel()
						req, err := http.NewRequestWithContext(ctx, "POST", "http://x"+chatPath, strings.NewReader(fmt.Sprintf(`{"messages":[{"content":%q}],"stream":true,"max_tokens":%d}`, strings.Repeat("a", i), 1+i%90)))
						require.NoError(t, err)
						req.Header.Set("X-Priority", []string{"much", "0", "1"}[min(i%20, 2)])
						resp, err := client.Do(req)
						if err != nil {
							return
						}
						if i%5 != 0 { // the others go away
							_, _ = io.Copy(io.Discard, resp.Body)
						}
						resp.Body.Close()
					})
					time.Sleep(15 * time.Millisecond)
				}
				all.Wait()
				time.Sleep(time.Second)
				synctest.Wait()
				st := c.State()
				require.Zero(t, st.InFlight)
				require.Zero(t, st.Waiting)
				require.Zero(t, st.Tokens)
				require.Equal(t, st.Admitted, st.Ended)
				sum := st.Admitted + st.Removed
				for _, k := range st.Refused {
					sum += k
				}
				require.Equal(t, st.Offered, sum)
				require.Greater(t, st.Admitted, uint64(50), "it is a storm")
				require.NotZero(t, st.Removed)
				require.NotEmpty(t, st.Refused)
				t.Log(st.Offered, st.Admitted, st.Removed, st.Degraded, st.Refused)
			})
		})
	}
}
