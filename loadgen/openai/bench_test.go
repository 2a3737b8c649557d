package openai

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/sse"
	"github.com/goodputkit/goodputkit/internal/wellformed"
	"github.com/goodputkit/goodputkit/loadgen"
)

// BenchmarkEvent is what the client does with one token event, from the bytes to the trace.
func BenchmarkEvent(b *testing.B) {
	for _, c := range []struct{ name, data string }{
		{"responses", `{"type":"response.output_text.delta","sequence_number":1234,"item_id":"msg_0123456789abcdef0123456789abcdef","output_index":0,"content_index":0,"delta":" goodput","logprobs":[]}`},
		{"vllm", `{"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" goodput"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`},
		{"escaped", `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"\n\"x\""},"finish_reason":null}]}`},
		{"usage", `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			data := []byte(c.data)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			now := time.Now()
			a := &answer{trace: loadgen.NewTrace(now), choices: 1}
			if c.name == "responses" {
				a.endpoint = Responses
			}
			for i := 0; b.Loop(); i++ {
				if i%1024 == 0 {
					a.trace, a.tokens = loadgen.NewTrace(now), 0
				}
				require.NoError(b, a.event(sse.Event{Data: data, At: now}))
			}
		})
	}
	b.Run("valid", func(b *testing.B) {
		data := []byte(`{"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" goodput"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`)
		for b.Loop() {
			wellformed.JSON(data)
		}
	})
}

// BenchmarkRequest is a whole request for one JSON body over loopback, by the target and by a bare loop, server included.
func BenchmarkRequest(b *testing.B) {
	const body = `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}))
	defer srv.Close()
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		for b.Loop() {
			resp, err := client.Post(srv.URL, "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"x"}],"stream":false}`))
			require.NoError(b, err)
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	b.Run("target", func(b *testing.B) {
		b.ReportAllocs()
		tgt := target(b, Config{BaseURL: srv.URL, NoStream: true})
		ctx, req := context.Background(), &loadgen.Request{Prompt: "x"}
		for b.Loop() {
			require.NoError(b, tgt.Do(ctx, req, loadgen.NewTrace(time.Now())))
		}
	})
}
