package openai

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// wanted is what an answer comes to, as the shared cases say it.
type wanted struct {
	Outcome          string  `json:"outcome"`
	TokenEvents      int     `json:"token_events"`
	Text             *string `json:"text"`
	Reasoning        string  `json:"reasoning"`
	ToolArguments    string  `json:"tool_arguments"`
	Refusal          string  `json:"refusal"`
	FinishReason     string  `json:"finish_reason"`
	InputTokens      int     `json:"input_tokens"`
	OutputTokens     int     `json:"output_tokens"`
	EventTokens      []int   `json:"event_tokens"`
	FirstOutputEvent *int    `json:"first_output_event"`
}

func (w wanted) check(t *testing.T, rec *goodput.Record, text said) {
	t.Helper()
	assert.Equal(t, w.Outcome, rec.Outcome.String(), rec.Detail)
	require.Len(t, rec.Tokens, w.TokenEvents)
	assert.Equal(t, w.FinishReason, rec.Finish)
	assert.Equal(t, w.InputTokens, rec.InputTokens)
	assert.Equal(t, w.OutputTokens, tokens(rec))
	if w.Text != nil {
		assert.Equal(t, *w.Text, text[loadgen.Content])
	}
	assert.Equal(t, w.Reasoning, text[loadgen.ReasoningText])
	assert.Equal(t, w.ToolArguments, text[loadgen.ToolArguments])
	assert.Equal(t, w.Refusal, text[loadgen.RefusalText])
	for i, n := range w.EventTokens {
		assert.Equal(t, n, max(1, rec.Tokens[i].N), "tokens of event %d", i)
	}
	if w.FirstOutputEvent != nil {
		if i := *w.FirstOutputEvent; i < 0 {
			assert.Negative(t, rec.FirstOutput)
		} else if i > 0 {
			assert.Equal(t, rec.Tokens[i].At, rec.FirstOutput)
		} else {
			assert.Zero(t, rec.FirstOutput)
		}
	}
	for i := 1; i < len(rec.Tokens); i++ {
		assert.LessOrEqual(t, rec.Tokens[i-1].At, rec.Tokens[i].At)
	}
	if n := len(rec.Tokens); n > 0 {
		assert.Positive(t, rec.FirstByte)
		assert.LessOrEqual(t, rec.FirstByte, rec.Tokens[0].At)
		assert.LessOrEqual(t, rec.Tokens[n-1].At, rec.End)
	}
	if rec.Outcome == goodput.Success {
		assert.Empty(t, rec.Detail)
	} else {
		assert.NotEmpty(t, rec.Detail)
	}
	assert.LessOrEqual(t, rec.Attempts, 1)
}

// cuts are the ways in which a body is sent.
var cuts = map[string]func(b []byte, send func([]byte) bool){
	"whole": func(b []byte, send func([]byte) bool) { send(b) },
	"bytes": func(b []byte, send func([]byte) bool) {
		// Of a long body the beginning and the end; what lies between is one string.
		const ends = 2000
		for i := 0; i < len(b); i++ {
			n := 1
			if i == ends && len(b) > 2*ends {
				n = len(b) - 2*ends
			}
			if !send(b[i : i+n]) {
				return
			}
			i += n - 1
		}
	},
	"random": func(b []byte, send func([]byte) bool) {
		rng := rand.New(rand.NewPCG(1, uint64(len(b))))
		for len(b) > 0 {
			n := 1 + rng.IntN(min(len(b), 1+rng.IntN(400)))
			if !send(b[:n]) {
				return
			}
			b = b[n:]
		}
	},
}

func TestSharedCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/sse/*.json")
	require.NoError(t, err)
	require.Greater(t, len(paths), 40)
	for _, path := range paths {
		var c struct {
			Name        string
			Status      int
			ContentType string `json:"content_type"`
			Headers     map[string]string
			MaxTokens   int `json:"max_tokens"`
			Want        wanted
		}
		load(t, path, &c)
		body, err := os.ReadFile(strings.TrimSuffix(path, ".json") + ".body")
		require.NoError(t, err)
		for how, cut := range cuts {
			t.Run(c.Name+"/"+how, func(t *testing.T) {
				t.Parallel()
				tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", c.ContentType)
					for k, v := range c.Headers {
						w.Header().Set(k, v)
					}
					w.WriteHeader(c.Status)
					rc := http.NewResponseController(w)
					cut(body, func(b []byte) bool {
						_, err := w.Write(b)
						return err == nil && rc.Flush() == nil
					})
				})
				rec, text := do(t, tgt, &loadgen.Request{Prompt: "x", MaxTokens: c.MaxTokens})
				c.Want.check(t, rec, text)
			})
		}
	}
}

// TestCaptures plays back what real servers sent, from the status line on.
func TestCaptures(t *testing.T) {
	paths, err := filepath.Glob("testdata/captures/*.json")
	require.NoError(t, err)
	require.Greater(t, len(paths), 15)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		var c struct {
			Endpoint  string
			MaxTokens int `json:"max_tokens"`
			Stream    bool
			Want      wanted
		}
		load(t, path, &c)
		answer, err := os.ReadFile(strings.TrimSuffix(path, ".json") + ".http")
		require.NoError(t, err)
		for how, cut := range cuts {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				url := raw(t, func(_ int, conn net.Conn, req *http.Request) bool {
					assert.Equal(t, strings.Replace(c.Endpoint, "/nope", "/chat/completions", 1), req.URL.Path)
					cut(answer, func(b []byte) bool {
						_, err := conn.Write(b)
						return err == nil
					})
					return false
				})
				tgt := target(t, Config{BaseURL: url + strings.Replace(c.Endpoint, "/nope", "", 1), NoStream: !c.Stream})
				rec, text := do(t, tgt, &loadgen.Request{Prompt: "Once upon a time", MaxTokens: c.MaxTokens})
				c.Want.check(t, rec, text)
			})
		}
	}
}

func load(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, v), path)
}
