package openai

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is a target on a server with that handler.
func served(t testing.TB, c Config, h http.HandlerFunc) *Target {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	c.BaseURL = srv.URL + c.BaseURL
	return target(t, c)
}

func target(t testing.TB, c Config) *Target {
	t.Helper()
	tgt, err := New(c)
	require.NoError(t, err)
	t.Cleanup(tgt.CloseIdleConnections)
	return tgt
}

// streaming answers with an event stream of that body.
func streaming(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, body)
	}
}

// raw is a server that lets f answer each connection's every request on the wire. n counts the connections from 0. When
// f returns false the connection is closed.
func raw(t testing.TB, f func(n int, conn net.Conn, req *http.Request) bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			go func() {
				defer stop()
				defer conn.Close()
				br := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(br)
					if err != nil {
						return
					}
					if _, err := io.Copy(io.Discard, req.Body); err != nil || !f(n, conn, req) {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() {
		cancel()
		l.Close()
		<-accepted
	})
	return "http://" + l.Addr().String()
}

// said is the text of an answer, by kind.
type said map[loadgen.TextKind]string

// do performs one request with a deadline that no sound answer needs.
func do(t testing.TB, tgt *Target, req *loadgen.Request) (*goodput.Record, said) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return doCtx(ctx, tgt, req)
}

func doCtx(ctx context.Context, tgt loadgen.Target, req *loadgen.Request) (*goodput.Record, said) {
	text := said{}
	rec := loadgen.Do(ctx, tgt, req, loadgen.WithText(func(k loadgen.TextKind, s string) { text[k] += s }))
	return rec, text
}

// tokens is N of the definitions: the server's figure or, without one or where that is smaller, what came.
func tokens(rec *goodput.Record) int {
	sum := 0
	for _, tok := range rec.Tokens {
		sum += max(1, tok.N)
	}
	return max(sum, rec.OutputTokens)
}

// deltas is a stream of one event per piece of content.
func deltas(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(`data: {"choices":[{"index":0,"delta":{"content":"` + p + `"}}]}` + "\n\n")
	}
	return b.String()
}

const (
	stop = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done = "data: [DONE]\n\n"
)
