package openai

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/sse"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// timeless takes the instants out of a record.
func timeless(rec *goodput.Record) *goodput.Record {
	rec.Start, rec.Sent, rec.FirstByte, rec.End = time.Time{}, 0, 0, 0
	for i := range rec.Tokens {
		rec.Tokens[i].At = 0
	}
	rec.FirstOutput = min(rec.FirstOutput, 0) // whether it was seen
	return rec
}

// FuzzStream cuts an answer in three ways and wants the same of each.
func FuzzStream(f *testing.F) {
	paths, err := filepath.Glob("testdata/sse/*.body")
	require.NoError(f, err)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(f, err)
		if len(b) < 4096 {
			f.Add(b, uint64(1), true)
		}
	}
	f.Add([]byte("event: error\r\ndata: x\r\n\r\n"), uint64(2), false)
	for _, body := range []string{
		created + textDelta("a") + event("response.output_item.added", `"item":{"type":"function_call","name":"f"}`) + event("response.completed", response(completed+","+aMessage)),
		event("response.reasoning_text.delta", `"delta":"r"`) + event("response.incomplete", response(incomplete)) + done,
		textDelta("a") + event("response.failed", response(`"error":{"code":"rate_limit_exceeded"}`)), event("error", `"message":"boom"`),
		"{" + completed + "," + aMessage + "}",
	} {
		f.Add([]byte(body), uint64(2<<8), true)
	}
	f.Add([]byte(`{"data":[{"embedding":[1,2]},{"embedding":"AACAPw=="}],"usage":{"prompt_tokens":3}}`), uint64(3<<8), false)
	f.Add([]byte(stream(`{"data":[{"embedding":[1,2]}]}`)), uint64(3<<8), true)
	f.Add([]byte("\xEF\xBB\xBF {\"choices\":[{\"text\":\"a\"}]}"), uint64(3), false)
	f.Fuzz(func(t *testing.T, body []byte, seed uint64, sse bool) {
		typ := "text/event-stream"
		if !sse {
			typ = "text/plain"
		}
		read := func(cut [][]byte) (*goodput.Record, said) {
			endpoint := endpoints[seed>>8%uint64(len(endpoints))]
			rec, text := answered(Config{Endpoint: endpoint, Body: map[string]any{"n": 1 + seed%2}}, &loadgen.Request{Prompt: "x", MaxTokens: int(seed % 3)}, typ, &pieces{b: cut})
			return timeless(rec), text
		}
		rec, text := read([][]byte{bytes.Clone(body)})
		require.NotZero(t, rec.Outcome)
		require.NotContains(t, rec.Detail, "panic")

		var single, random [][]byte
		for i := range body {
			single = append(single, bytes.Clone(body[i:i+1]))
		}
		again, textAgain := read(single)
		require.Equal(t, rec, again, "byte by byte")
		require.Equal(t, text, textAgain)

		rng := rand.New(rand.NewPCG(seed, 0))
		for b := body; len(b) > 0; {
			n := 1 + rng.IntN(min(len(b), 200))
			random = append(random, bytes.Clone(b[:n]))
			b = b[n:]
		}
		again, textAgain = read(random)
		require.Equal(t, rec, again, "cut at random")
		require.Equal(t, text, textAgain)
	})
}

// FuzzTemplate wants of a chunk that is compared with the one before it what parsing makes of it.
func FuzzTemplate(f *testing.F) {
	for _, pair := range [][2]string{
		{choice(`"delta":{"content":"a"}`), choice(`"delta":{"content":"bc"}`)},
		{choice(`"delta":{"content":"a"}`), choice(`"delta":{"content":"\""}`)},
		{choice(`"delta":{"content":"a"}`), choice(`"delta":{"content":""}`)},
		{choice(`"delta":{"content":"a"}`), choice(`"delta":{"content":"a","content":"b"}`)},
		{choice(`"delta":{"content":"a\n"}`), choice(`"delta":{"content":"a\t"}`)},
		{choice(`"delta":{"reasoning":"a"}`), choice(`"delta":{"reasoning":"b"}`)},
		{choice(`"delta":{"reasoning":"a","reasoning_content":"a"}`), choice(`"delta":{"reasoning":"b","reasoning_content":"a"}`)},
		{choice(`"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{"}}]}`), choice(`"delta":{"tool_calls":[{"function":{"name":"f","arguments":"}"}}]}`)},
		{choice(`"delta":{"tool_calls":[{"function":{"arguments":{"a":"b"}}}]}`), choice(`"delta":{"tool_calls":[{"function":{"arguments":{"a":"cc"}}}]}`)},
		{`{"choices":[{"text":"a"}],"usage":{"completion_tokens":3}}`, `{"choices":[{"text":"b"}],"usage":{"completion_tokens":3}}`},
		{`{"choices":[{"index":1,"text":"a","finish_reason":"length"}]}`, `{"choices":[{"index":1,"text":"b","finish_reason":"length"}]}`},
		{`{"choices":[{"text":"a","logprobs":{"tokens":[1,2]}}]}`, `{"choices":[{"text":"b","logprobs":{"tokens":[1,2]}}]}`},
		{choice(`"delta":{"content":"a"}`), `{"error":"x"}`},
		{`{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.output_text.delta","delta":"b"}`},
		{`{"type":"response.refusal.delta","delta":"a","logprobs":[{}]}`, `{"type":"response.refusal.delta","delta":"b","logprobs":[{}]}`},
		{`{"type":"response.output_text.delta","sequence_number":9,"delta":"a"}`, `{"type":"response.output_text.delta","sequence_number":10,"delta":"b"}`},
		{`{"delta":"a","sequence_number":0,"type":"response.output_text.delta"}`, `{"delta":"b12","sequence_number":01,"type":"response.output_text.delta"}`},
		{`{"delta":"a","sequence_number":12,"type":"response.output_text.delta"}`, `{"delta":"b","sequence_number":1x,"type":"response.output_text.delta"}`},
		{`{"delta":"a","sequence_number":-1,"type":"response.output_text.delta"}`, `{"delta":"b","sequence_number":"1","type":"response.output_text.delta"}`},
		{`{"delta":"a","type":"response.output_text.delta"}`, `{"delta":"b","type":"response.reasoning_text.delta"}`},
		{`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"text":"a"}]}]}}`, `{"type":"response.output_text.delta","delta":"b"}`},
		{choice(`"delta":{"content":[{"text":"a"}]}`), choice(`"delta":{"content":[{"text":"b"}]}`)},
		{`{"choices":[{"index":0,"delta":{"content":"a"}}],"object":"error"}`, `{"choices":[{"index":0,"delta":{"content":"b"}}],"object":"error"}`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		endpoint := ChatCompletions
		if bytes.Contains(first, []byte("response.")) {
			endpoint = Responses
		}
		read := func(forget bool) (*goodput.Record, said, *answer) {
			a := &answer{endpoint: endpoint, redact: httpclient.NewRedactor(), choices: 1, figures: true, texts: true}
			rec, text := doCtx(context.Background(), loadgen.TargetFunc(func(_ context.Context, _ *loadgen.Request, tr *loadgen.Trace) error {
				a.trace = tr
				for _, data := range [][]byte{first, second, second} {
					if forget {
						a.like.some = false
					}
					if err := a.event(sse.Event{Data: bytes.Clone(data)}); err != nil {
						return err
					}
				}
				a.report()
				return nil
			}), &loadgen.Request{})
			a.trace, a.like, a.chunk = nil, template{}, chunk{}
			return timeless(rec), text, a
		}
		rec, text, a := read(true)
		again, textAgain, b := read(false)
		require.Equal(t, rec, again)
		require.Equal(t, text, textAgain)
		require.Equal(t, a, b)
	})
}
