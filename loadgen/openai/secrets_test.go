package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// TestSecrets has servers quote the key, in every place where they can say something, and looks for it in the record.
func TestSecrets(t *testing.T) {
	const key = `sk-Top"Secret<0123456789>&\/x`
	const prompt = "My \"private\" question\nis about the weather in Oslo."
	quoted, _ := json.Marshal(key)
	inJSON := strings.Trim(string(quoted), `"`)
	allEscaped := ""
	for _, r := range key {
		allEscaped += fmt.Sprintf(`\u%04x`, r)
	}
	echo, _ := json.Marshal(map[string]any{"detail": []any{map[string]any{"msg": "Field required", "input": map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": prompt}}}}}})
	echoOnly, _ := json.Marshal(map[string]any{"seen": map[string]any{"content": prompt}})
	for name, answer := range map[string]string{
		"401":                   "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n\r\n" + `{"error":{"message":"Incorrect API key provided: ` + inJSON + `."}}`,
		"401 in other words":    "HTTP/1.1 401 Unauthorized\r\n\r\n" + `{"key":"` + inJSON + `"}`,
		"401, escaped":          "HTTP/1.1 401 Unauthorized\r\n\r\n" + `{"key":"` + allEscaped + `"}`,
		"401, escaped message":  "HTTP/1.1 401 Unauthorized\r\n\r\n" + `{"error":{"message":"` + allEscaped + `"}}`,
		"401 without JSON":      "HTTP/1.1 401 Unauthorized\r\n\r\nBad key: Bearer " + key,
		"401, cut within":       "HTTP/1.1 401 Unauthorized\r\n\r\n" + strings.Repeat(" ", httpclient.MaxErrorBody-15) + key,
		"401, long":             "HTTP/1.1 401 Unauthorized\r\n\r\n" + strings.Repeat("x", httpclient.MaxDetail-12) + key,
		"401, as a reason":      "HTTP/1.1 401 " + key + "\r\n\r\n",
		"422 with the request":  "HTTP/1.1 422 Unprocessable\r\n\r\n" + string(echo),
		"422 with the prompt":   "HTTP/1.1 422 Unprocessable\r\n\r\n" + string(echoOnly),
		"422 with plain prompt": "HTTP/1.1 422 Unprocessable\r\n\r\ncannot answer: " + prompt,
		"redirect":              "HTTP/1.1 302 Found\r\nLocation: http://h/?key=" + "sk-1" + "\r\n\r\n" + key,
		"no HTTP":               key + "\r\n\r\n",
		"no header":             "HTTP/1.1 200 OK\r\n" + key + "\r\n\r\n",
		"length":                "HTTP/1.1 200 OK\r\nContent-Length: " + key + "\r\n\r\n",
		"encoding":              "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + key + "\r\n\r\n",
		"error event":           keptAlive200 + stream(`{"error":{"message":"no `+inJSON+`"}}`),
		"error of another form": keptAlive200 + stream(`{"error":{"key":"`+allEscaped+`"}}`),
		"named error":           keptAlive200 + "event: error\ndata: " + key + "\n\n",
		"malformed":             keptAlive200 + stream("key "+key),
		"malformed, cut within": keptAlive200 + stream(strings.Repeat("x", 70)+key),
		"malformed, escaped":    keptAlive200 + stream(`["`+allEscaped+`"]`),
		"malformed choices":     keptAlive200 + stream(`{"choices":"`+allEscaped+`"}`),
		"malformed document":    keptAlive200 + `{"a": ` + key,
		"finish reason":         keptAlive200 + deltas("x") + stream(choice(`"finish_reason":"`+inJSON+`"`), "[DONE]"),
	} {
		t.Run(name, func(t *testing.T) {
			url := raw(t, func(_ int, conn net.Conn, req *http.Request) bool {
				assert.Equal(t, "Bearer "+key, req.Header.Get("Authorization"))
				io.WriteString(conn, answer)
				return false
			})
			tgt := target(t, Config{BaseURL: url + "/v1?key=query-secret-1", APIKey: key})
			rec, _ := do(t, tgt, &loadgen.Request{Prompt: prompt})
			if name != "finish reason" {
				assert.NotEqual(t, goodput.Success, rec.Outcome)
				assert.NotEmpty(t, rec.Detail)
			}
			assert.LessOrEqual(t, len(rec.Detail), 256)
			assert.NotContains(t, rec.Detail, "\n")
			line, err := rec.MarshalJSON()
			require.NoError(t, err)
			for _, secret := range []string{key, inJSON, key[:8], key[8:], "Secret", "query-secret", "private", "weather", "u0053\\u0065"} {
				assert.NotContains(t, string(line), secret)
				assert.NotContains(t, rec.Detail, secret)
				assert.NotContains(t, rec.Finish, secret)
			}
			if strings.HasPrefix(name, "401,") || name == "401" {
				assert.True(t, strings.HasPrefix(rec.Detail, "HTTP status 401"), rec.Detail)
			}
		})
	}
}

// A server may quote any part of a prompt.
func TestSecretsWithinThePrompt(t *testing.T) {
	words := strings.Fields(strings.Repeat("Ærlig talt: the \"quick\" brown fox\nknows 1,234 private things about <Oslo> & me. ", 3))
	for i := range words {
		words[i] += fmt.Sprint(i)
	}
	prompt := strings.Join(words, " ")
	inJSON, _ := json.Marshal(prompt)
	for _, text := range []string{prompt, string(inJSON[1 : len(inJSON)-1])} {
		for from := 0; from+40 <= len(text); from += 7 {
			quote := text[from : from+40]
			tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(400)
				fmt.Fprintf(w, "cannot read '%s' of the prompt", quote)
			})
			rec, _ := do(t, tgt, &loadgen.Request{Messages: []loadgen.Message{{Role: "system", Content: "Be short."}, {Role: "user", Content: prompt}}})
			before, _, cut := strings.Cut(strings.TrimPrefix(rec.Detail, "HTTP status 400: cannot read '"), "[redacted]")
			assert.True(t, cut, rec.Detail)
			assert.Less(t, len(before), 16, rec.Detail) // JSON can be escaped in more ways than one
		}
	}
}

func TestSecretsElsewhere(t *testing.T) {
	for name, c := range map[string]Config{
		"header":      {Header: http.Header{"api-key": {"abcd-0123456789"}}},
		"bearer":      {Header: http.Header{"Authorization": {"Bearer abcd-0123456789"}}},
		"basic":       {Header: http.Header{"Authorization": {"Basic dTphYmNkLTAxMjM0NTY3ODk="}}},
		"cookie":      {Header: http.Header{"Cookie": {"abcd-0123456789"}}},
		"query":       {BaseURL: "/v1?sig=abcd-0123456789"},
		"long query":  {BaseURL: "/v1?x=0123456789-0123456789"},
		"body":        {Body: map[string]any{"api_key": "abcd-0123456789"}},
		"nested body": {Body: map[string]any{"extra": []any{map[string]any{"auth": map[string]string{"token": "abcd-0123456789"}}}}},
		"escaped key": {APIKey: "abcd-0123456789"},
	} {
		tgt := served(t, c, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			fmt.Fprintf(w, "bad: %s %s", r.URL.RawQuery, r.Header)
			if r.URL.Query().Get("x") == "" {
				fmt.Fprint(w, " abcd-0123456789")
			}
		})
		rec, _ := do(t, tgt, &loadgen.Request{Prompt: "x"})
		assert.Equal(t, goodput.ClientError, rec.Outcome)
		assert.Contains(t, rec.Detail, "bad: ")
		assert.NotContains(t, rec.Detail, "0123456789", name)
	}
	tgt := target(t, Config{BaseURL: "http://abcd-0123456789@h"})
	assert.Equal(t, "[redacted]", tgt.redact.Line("abcd-0123456789", nil, false), "a user alone is the key")
	url := raw(t, func(_ int, conn net.Conn, req *http.Request) bool {
		io.WriteString(conn, "HTTP/1.1 401 No\r\n\r\nuser: "+req.Header.Get("Authorization")+" p4ssw0rd me@")
		return false
	})
	rec, _ := do(t, target(t, Config{BaseURL: strings.Replace(url, "//", "//me:p4ssw0rd@", 1)}), &loadgen.Request{})
	assert.Regexp(t, `^HTTP status 401: user: Basic ?\[redacted\] \[redacted\] me@$`, rec.Detail)
}

func TestStatusDetail(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"boom\nbang","type":"t"}}`: "HTTP status 500: boom bang",
		`{"error":"boom"}`:                             "HTTP status 500: boom",
		`{"message":"boom"}`:                           "HTTP status 500: boom",
		`{"detail":"boom"}`:                            "HTTP status 500: boom",
		`{"detail":[{"msg":"boom"}]}`:                  "HTTP status 500: boom",
		`[{"error":{"message":"boom"}}]`:               "HTTP status 500: boom",
		`{"error":{"message":""},"x":1e999}`:           "HTTP status 500",
		`{"error":{"message":""},"x":1}`:               `HTTP status 500: {"error":{"message":""},"x":1}`,
		"<html>\r\n\t<b>boom</b>\x00\u202e\xff</html>": "HTTP status 500: <html> <b>boom</b> \uFFFD</html>",
		"":                        "HTTP status 500",
		strings.Repeat("é", 3000): "HTTP status 500: " + strings.Repeat("é", 108) + "…",
		strings.Repeat("[", 5000): "HTTP status 500: " + strings.Repeat("[", 217) + "…",
		`{"error":{"message":"` + strings.Repeat("x", 300): "HTTP status 500: " + `{"error":{"message":"` + strings.Repeat("x", 196) + "…",
	} {
		tgt := served(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			io.WriteString(w, body)
		})
		rec, _ := do(t, tgt, &loadgen.Request{})
		assert.Equal(t, goodput.ServerError, rec.Outcome)
		assert.Equal(t, want, rec.Detail)
	}
}
