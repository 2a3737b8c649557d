package llmsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goodputkit/goodputkit/loadgen"
)

const (
	maxBody   = 16 << 20 // the longest request body that a server here reads, in bytes
	maxOutput = 1 << 20  // the most output tokens that a request may ask for
)

// chatRequest is what the servers here read of a chat completion's body. What else is in it they accept and ignore.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	MaxTokens           *int          `json:"max_tokens"`
	MaxCompletionTokens *int          `json:"max_completion_tokens"`
	N                   *int          `json:"n"`
	Stream              bool          `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	User string `json:"user"`
}

type chatMessage struct {
	Content chatContent `json:"content"`
}

// chatContent is the text of a message: a string, null, or a list of parts of which those with a text count.
type chatContent string

func (c *chatContent) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*c = chatContent(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return errors.New("content is neither a string nor a list of parts")
	}
	for _, p := range parts {
		*c += chatContent(p.Text) + "\n"
	}
	return nil
}

// words counts the runs of characters that are not white space: the stand-in for a tokenizer.
func words(s string) int {
	n, in := 0, false
	for _, r := range s {
		if unicode.IsSpace(r) {
			in = false
		} else if !in {
			in = true
			n++
		}
	}
	return n
}

// promptTokens is the number of words of all messages, and at least 1.
func (r *chatRequest) promptTokens() int {
	n := 0
	for _, m := range r.Messages {
		n += words(string(m.Content))
	}
	return max(1, n)
}

// job is the work that the request is.
func (r *chatRequest) job(blockTokens, output int) Job {
	j := Job{Prompt: r.promptTokens(), Output: output}
	if blockTokens > 0 {
		var texts []string
		for _, m := range r.Messages {
			texts = append(texts, string(m.Content))
		}
		j.Blocks = blocksOf(blockTokens, j, texts...)
	}
	return j
}

// limit is the request's own token limit; 0: it set none.
func (r *chatRequest) limit() int {
	if r.MaxCompletionTokens != nil {
		return *r.MaxCompletionTokens
	}
	if r.MaxTokens != nil {
		return *r.MaxTokens
	}
	return 0
}

// usage says whether the stream is to end with a usage chunk.
func (r *chatRequest) usage() bool { return r.StreamOptions != nil && r.StreamOptions.IncludeUsage }

// readChat reads the body of a chat completion. Where it cannot, it has answered and returns false.
func readChat(w http.ResponseWriter, req *http.Request) (*chatRequest, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		var tooLong *http.MaxBytesError
		if errors.As(err, &tooLong) {
			writeError(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", maxBody))
		} else {
			writeError(w, http.StatusBadRequest, "the body could not be read")
		}
		return nil, false
	}
	r := &chatRequest{}
	if err := json.Unmarshal(body, r); err != nil {
		writeError(w, http.StatusBadRequest, "the body is not a chat completion request: "+err.Error())
		return nil, false
	}
	for _, l := range []struct {
		name string
		n    *int
	}{{"max_tokens", r.MaxTokens}, {"max_completion_tokens", r.MaxCompletionTokens}, {"n", r.N}} {
		if l.n != nil && (*l.n < 1 || *l.n > maxOutput) {
			writeError(w, http.StatusBadRequest, fmt.Sprintf("%s must be from 1 to %d, got %d", l.name, maxOutput, *l.n))
			return nil, false
		}
	}
	if r.N != nil && *r.N > 1 {
		writeError(w, http.StatusBadRequest, "n above 1 is not simulated")
		return nil, false
	}
	if len(r.Messages) == 0 {
		writeError(w, http.StatusBadRequest, "messages must not be empty")
		return nil, false
	}
	return r, true
}

func errorBody(status int, message string) map[string]any {
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": status}}
}

// writeError answers with an error body as OpenAI's API has it.
func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, errorBody(status, message))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that went away is no concern of the server
}

// A chat writes the answer to one chat completion, in the shape that vLLM gives it.
type chat struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	head []byte // of every chunk of the stream, up to the delta
	buf  []byte
	err  error // of the first write that failed
	id   string
	name string // of the model
	at   int64  // created, Unix seconds
}

func newChat(w http.ResponseWriter, seq uint64, model string) *chat {
	c := &chat{w: w, rc: http.NewResponseController(w), id: fmt.Sprintf("chatcmpl-%032x", seq), name: model, at: time.Now().Unix()}
	name, _ := json.Marshal(model)
	c.head = fmt.Appendf(nil, `data: {"id":"%s","object":"chat.completion.chunk","created":%d,"model":%s,`, c.id, c.at, name)
	return c
}

// start sends the header of a stream, and the role chunk where role is set.
func (c *chat) start(role bool) {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	c.w.WriteHeader(http.StatusOK)
	c.buf = c.buf[:0]
	if role {
		c.buf = append(c.buf, c.head...)
		c.buf = append(c.buf, `"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`+"\n\n"...)
	}
	c.send()
}

// token appends the chunk of the nth token, n from 0; written is in it as Unix nanoseconds where it is not 0. send sends it.
func (c *chat) token(n int, written int64) {
	c.buf = append(c.buf, c.head...)
	c.buf = append(c.buf, `"choices":[{"index":0,"delta":{"content":"`...)
	c.buf = append(c.buf, tokenText(n)...)
	c.buf = append(c.buf, `"},"logprobs":null,"finish_reason":null,"token_ids":null}]`...)
	if written != 0 {
		c.buf = append(c.buf, `,"written_ns":`...)
		c.buf = strconv.AppendInt(c.buf, written, 10)
	}
	c.buf = append(c.buf, "}\n\n"...)
}

// finish appends what ends a stream. send sends it.
func (c *chat) finish(reason string, usage bool, prompt, output int) {
	c.buf = append(c.buf, c.head...)
	c.buf = append(c.buf, `"choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"`...)
	c.buf = append(c.buf, reason...)
	c.buf = append(c.buf, `","stop_reason":null,"token_ids":null}]}`+"\n\n"...)
	if usage {
		c.buf = append(c.buf, c.head...)
		c.buf = fmt.Appendf(c.buf, `"choices":[],"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d}}`+"\n\n",
			prompt, prompt+output, output)
	}
	c.buf = append(c.buf, "data: [DONE]\n\n"...)
}

// fail appends what ends a stream that cannot be completed: an error in its shape, and the end marker. send sends it.
func (c *chat) fail(e *loadgen.StatusError) {
	b, _ := json.Marshal(errorBody(e.Code, e.Detail))
	c.buf = append(append(append(c.buf, "data: "...), b...), "\n\ndata: [DONE]\n\n"...)
}

// send writes and flushes what was appended, in one piece.
func (c *chat) send() {
	if c.err == nil && len(c.buf) > 0 {
		_, c.err = c.w.Write(c.buf)
	}
	if c.err == nil {
		c.err = c.rc.Flush()
	}
	c.buf = c.buf[:0]
}

// whole answers with one JSON body.
func (c *chat) whole(reason string, prompt, output int) {
	writeJSON(c.w, http.StatusOK, map[string]any{
		"id": c.id, "object": "chat.completion", "created": c.at, "model": c.name,
		"choices": []any{map[string]any{
			"index": 0, "message": map[string]any{"role": "assistant", "content": answerText(output)},
			"logprobs": nil, "finish_reason": reason,
		}},
		"usage": map[string]any{"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output},
	})
}

// The texts of the tokens: one word each, as a token of a prompt is one, with its space, and with no need of escaping in JSON.
var tokenTexts = [...]string{" goodput", " is", " what", " users", " get", " in", " time", " and"}

func tokenText(n int) string { return tokenTexts[n%len(tokenTexts)] }

// answerText is the text of n tokens.
func answerText(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(tokenText(i))
	}
	return text.String()
}

// waitUntil waits for the instant at, or until done is closed, and says which: false if done. t is the caller's timer,
// stopped or drained.
func waitUntil(t *time.Timer, at time.Time, done <-chan struct{}) bool {
	d := time.Until(at)
	if d <= 0 {
		select {
		case <-done:
			return false
		default:
			return true
		}
	}
	t.Reset(d)
	select {
	case <-t.C:
		return true
	case <-done:
		t.Stop()
		return false
	}
}
