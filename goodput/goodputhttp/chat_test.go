package goodputhttp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// pieces reads a body a few bytes at a time.
type pieces struct{ io.Reader }

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), 7)]) }

// answered is the record of an answer that a client reads.
func answered(t *testing.T, status int, header http.Header, body io.Reader) goodput.Record {
	b := newBooks()
	tr := NewTransport(roundTrip(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: header, ContentLength: -1, Body: io.NopCloser(body), Request: req}, nil
	}), Config{Sink: b, Counter: ChatCounter})
	resp, err := tr.RoundTrip(httptest.NewRequest("POST", "http://x/", nil))
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return b.one(t)
}

// The shared cases of event streams say what each comes to. What the load generator makes of them with the request's own
// token limit in hand, which is not in an answer, is left out: an end at a length that nobody asked for.
func TestChatCases(t *testing.T) {
	paths, err := filepath.Glob("../../loadgen/openai/testdata/sse/*.json")
	require.NoError(t, err)
	require.Greater(t, len(paths), 40)
	for _, path := range paths {
		var c struct {
			Status      int
			ContentType string `json:"content_type"`
			Headers     map[string]string
			Want        struct {
				Outcome          string `json:"outcome"`
				TokenEvents      int    `json:"token_events"`
				FinishReason     string `json:"finish_reason"`
				InputTokens      int    `json:"input_tokens"`
				OutputTokens     int    `json:"output_tokens"`
				EventTokens      []int  `json:"event_tokens"`
				FirstOutputEvent *int   `json:"first_output_event"`
			}
		}
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &c))
		body, err := os.ReadFile(strings.TrimSuffix(path, ".json") + ".body")
		require.NoError(t, err)
		header := http.Header{"Content-Type": {c.ContentType}}
		for k, v := range c.Headers {
			header.Set(k, v)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		for how, in := range map[string]io.Reader{
			"whole": bytes.NewReader(body), "pieces": pieces{bytes.NewReader(body)}, "bytes": iotest.OneByteReader(bytes.NewReader(body)),
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				r := answered(t, c.Status, header, in)
				want := c.Want.Outcome
				if c.Want.FinishReason == "length" && want == "truncated" {
					want = "success"
				}
				require.Equal(t, want, r.Outcome.String(), r.Detail)
				require.Len(t, r.Tokens, c.Want.TokenEvents)
				require.Equal(t, c.Want.FinishReason, r.Finish)
				require.Equal(t, c.Want.InputTokens, r.InputTokens)
				seen := 0
				for i, token := range r.Tokens {
					seen += max(token.N, 1)
					if i < len(c.Want.EventTokens) {
						require.Equal(t, c.Want.EventTokens[i], max(token.N, 1), "event %d", i)
					}
				}
				require.Equal(t, c.Want.OutputTokens, max(r.OutputTokens, seen))
				if i := c.Want.FirstOutputEvent; i != nil {
					require.Equal(t, *i < 0, r.FirstOutput < 0)
				}
			})
		}
	}
}

func TestChatWhole(t *testing.T) {
	kind := http.Header{"Content-Type": {"application/json"}}
	r := answered(t, 200, kind, strings.NewReader(`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":9}}`))
	require.Equal(t, []any{goodput.Success, 7, 9, "stop"}, []any{r.Outcome, r.InputTokens, r.OutputTokens, r.Finish})
	require.Empty(t, r.Tokens, "nobody saw its steps")
	require.Equal(t, goodput.ServerError, answered(t, 200, kind, strings.NewReader(`{"error":{"message":"secret"}}`)).Outcome)
	require.Equal(t, goodput.Malformed, answered(t, 200, kind, strings.NewReader(`{`)).Outcome)
	long := answered(t, 200, kind, strings.NewReader(strings.Repeat(" ", 2<<20)))
	require.Equal(t, goodput.Success, long.Outcome, "nothing is known of it")
}

// An answer that nests beyond all reason is none of anybody's: it takes no stack to find that out.
func TestChatIsBounded(t *testing.T) {
	deep := strings.Repeat("[", 1<<18) + strings.Repeat("]", 1<<18)
	for kind, body := range map[string]string{"application/json": deep, "text/event-stream": "data: " + deep + "\n\ndata: [DONE]\n\n"} {
		r := answered(t, 200, http.Header{"Content-Type": {kind}}, strings.NewReader(body))
		require.Equal(t, goodput.Malformed, r.Outcome, kind)
	}
}

func FuzzChat(f *testing.F) {
	paths, err := filepath.Glob("../../loadgen/openai/testdata/sse/*.body")
	require.NoError(f, err)
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil && len(b) < 4<<10 {
			f.Add(b, uint64(1))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		for _, kind := range []string{"text/event-stream", "application/json"} {
			said := func(in ...[]byte) *Tally {
				var tally Tally
				c := ChatCounter(nil, http.Header{"Content-Type": {kind}})
				for _, p := range in {
					p = bytes.Clone(p)
					c.Count(&tally, p)
					clear(p)
				}
				c.End(&tally)
				return &tally
			}
			whole, parts := said(body), said(cut(body, seed)...)
			require.Equal(t, whole.rec, parts.rec)
			require.Equal(t, whole.fail, parts.fail)
			require.Equal(t, whole.marked, parts.marked)
		}
	})
}
