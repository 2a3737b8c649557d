package openai

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/sse"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// within performs a request whose deadline ends it.
func within(t *testing.T, tgt *Target, d time.Duration) *goodput.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	rec, _ := doCtx(ctx, tgt, &loadgen.Request{Prompt: "x"})
	require.Equal(t, goodput.Timeout, rec.Outcome, rec.Detail)
	require.LessOrEqual(t, rec.End, d, "the deadline is the end, however late the answer to it")
	return rec
}

func TestEndlessBody(t *testing.T) {
	for name, c := range map[string]struct{ first, more string }{
		"tokens":     {"", deltas("x")},
		"comments":   {"", ": ping\n\n"},
		"a document": {`{"choices":[`, " "},
	} {
		t.Run(name, func(t *testing.T) {
			tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, c.first)
				for rc := http.NewResponseController(w); rc.Flush() == nil; {
					if _, err := io.WriteString(w, c.more); err != nil {
						return
					}
				}
			})
			tokens := name == "tokens"
			// On a busy machine even the first byte can take longer.
			rec := within(t, tgt, 50*time.Millisecond)
			for d := 100 * time.Millisecond; d < 4*time.Second && (rec.FirstByte == 0 || tokens && len(rec.Tokens) == 0); d *= 2 {
				rec = within(t, tgt, d)
			}
			assert.Positive(t, rec.FirstByte)
			assert.Equal(t, tokens, len(rec.Tokens) > 0)
		})
	}
}

func TestTooManyTokens(t *testing.T) {
	a := &answer{trace: loadgen.NewTrace(time.Now()), redact: httpclient.NewRedactor(), tokens: maxEvents - 1}
	ev := sse.Event{Data: []byte(choice(`"delta":{"content":"x"}`))}
	require.NoError(t, a.event(ev))
	require.EqualError(t, a.event(ev), "malformed: more than 1048576 token events")
}

func TestSilence(t *testing.T) {
	for name, said := range map[string]string{
		"no header":   "",
		"half a line": "HTTP/1.1 20",
		"half header": "HTTP/1.1 200 OK\r\nContent-Type: text/ev",
		"no body":     "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
		"half a body": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + deltas("x"),
		"half a JSON": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{",
		"a finish":    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + deltas("x") + stop,
		"only 1xx":    "HTTP/1.1 100 Continue\r\n\r\n",
		"half an event": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" +
			strings.TrimSuffix(done, "\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := raw(t, func(_ int, conn net.Conn, _ *http.Request) bool {
				io.WriteString(conn, said)
				io.Copy(io.Discard, conn)
				return false
			})
			within(t, target(t, Config{BaseURL: url}), 30*time.Millisecond)
		})
	}
}

// TestLostAtEachByte has the server close the connection, or reset it, after each byte of its answer.
func TestLostAtEachByte(t *testing.T) {
	body := deltas("x") + done
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	header := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	answer := header + chunked
	first := len(header) + strings.Index(chunked, "data") + 1  // so many bytes and the first of the body is there
	last := len(header) + strings.Index(chunked, "[DONE]") + 6 // and so many, and the marker is
	for how, closing := range map[string]func(net.Conn){
		"closed": func(net.Conn) {},
		"reset":  func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			url := raw(t, func(_ int, conn net.Conn, req *http.Request) bool {
				n, err := strconv.Atoi(req.Header.Get("X-Bytes"))
				assert.NoError(t, err)
				io.WriteString(conn, answer[:n])
				closing(conn)
				return false
			})
			for n := range answer {
				tgt, err := New(Config{BaseURL: url, Header: http.Header{"X-Bytes": {strconv.Itoa(n)}}})
				require.NoError(t, err)
				rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
				tgt.CloseIdleConnections()
				want := goodput.ConnectionError
				switch {
				case n >= last:
					want = goodput.Success
				case n >= first:
					want = goodput.Truncated
				}
				require.Equal(t, want, rec.Outcome, "after %d bytes: %s", n, rec.Detail)
				require.LessOrEqual(t, rec.Attempts, 1)
			}
		})
	}
}

const keptAlive = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func TestGzip(t *testing.T) {
	zip := func(b string) []byte {
		var buf bytes.Buffer
		w, _ := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
		io.WriteString(w, b)
		w.Close()
		return buf.Bytes()
	}
	body := deltas("a", "b") + stop + done
	doc := `{"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}`
	broken := zip(body)
	broken[len(broken)-6] ^= 0xff // of the checksum
	corrupt := zip(body)
	corrupt[20] ^= 0xff
	for _, c := range []struct {
		name, encoding string
		status         int
		body           []byte
		outcome        goodput.Outcome
		detail         string
		text           string
	}{
		{"stream", "gzip", 200, zip(body), goodput.Success, "", "ab"},
		{"members", "gzip", 200, append(zip(deltas("a")), zip(deltas("b")+stop+done)...), goodput.Success, "", "ab"},
		{"by its old name", "X-GZip", 200, zip(body), goodput.Success, "", "ab"},
		{"document", "gzip", 200, zip(doc), goodput.Success, "", "ab"},
		{"failure", "gzip", 400, zip(`{"error":{"message":"boom"}}`), goodput.ClientError, "HTTP status 400: boom", ""},
		{"a failure that cannot be read", "br", 400, zip(`{"error":{"message":"boom"}}`), goodput.ClientError, "HTTP status 400", ""},
		{"none", "identity", 200, []byte(body), goodput.Success, "", "ab"},
		{"not gzip", "gzip", 200, []byte(body), goodput.Malformed, "the body is not gzip, though its header says so", ""},
		{"corrupt", "gzip", 200, corrupt, goodput.Malformed, "the body is not gzip, though its header says so", ""},
		{"cut", "gzip", 200, zip(body)[:30], goodput.Truncated, "unexpected EOF", ""},
		{"nothing", "gzip", 200, nil, goodput.Truncated, "the body is empty", ""},
		{"another", "br", 200, zip(body), goodput.Malformed, "the content encoding is neither identity nor gzip", ""},
		{"a bomb", "gzip", 200, zip(`{"a":"` + strings.Repeat("x", 16<<20)), goodput.Malformed, "the body is longer than 16777216 bytes", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", c.encoding)
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(c.status)
				w.Write(c.body)
			})
			rec, text := do(t, tgt, &loadgen.Request{Prompt: "x"})
			assert.Equal(t, c.outcome, rec.Outcome)
			assert.Equal(t, c.detail, rec.Detail)
			assert.Equal(t, c.text, text[loadgen.Content])
			assert.Equal(t, len(c.body) > 0 && c.encoding != "br", rec.FirstByte > 0)
		})
	}
}

func TestHugeHeader(t *testing.T) {
	tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X", strings.Repeat("x", httpclient.MaxHeader+1))
		streaming(deltas("a")+done)(w, r)
	})
	rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
	assert.Equal(t, goodput.ConnectionError, rec.Outcome)
	assert.Contains(t, rec.Detail, "exceeded 262144 bytes")
}

func TestHugeLine(t *testing.T) {
	tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, deltas("a")+"data: ")
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
	assert.Equal(t, goodput.Malformed, rec.Outcome)
	assert.Equal(t, "sse: a line or an event of more than 1048576 bytes", rec.Detail)
	assert.Len(t, rec.Tokens, 1)
}

const keptAlive200 = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
