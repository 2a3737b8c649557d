package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

const (
	chatPath      = "/v1/chat/completions"
	textPath      = "/v1/completions"
	responsesPath = "/v1/responses"
)

// What a grant of ten tokens makes of a body, of each API.
func TestDegradeABody(t *testing.T) {
	for _, x := range []struct{ name, path, body, want, granted string }{
		{"chat", chatPath, `{"model":"m","max_tokens":50,"stream":true}`, `{"model":"m","max_tokens":10,"stream":true}`, "max_tokens=10"},
		{"chat, its newer limit", chatPath, `{"max_completion_tokens":50}`, `{"max_completion_tokens":10}`, "max_completion_tokens=10"},
		{"completions", textPath, `{"prompt":"a","max_tokens":50}`, `{"prompt":"a","max_tokens":10}`, "max_tokens=10"},
		{"responses", responsesPath, `{"input":"a","max_output_tokens":50}`, `{"input":"a","max_output_tokens":10}`, "max_output_tokens=10"},
		{"both limits", chatPath, `{"max_tokens":100,"max_completion_tokens":99}`, `{"max_tokens":10,"max_completion_tokens":10}`, "max_completion_tokens=10, max_tokens=10"},
		{"one of two is less", chatPath, `{"max_tokens":7,"max_completion_tokens":99}`, `{"max_tokens":7,"max_completion_tokens":10}`, "max_completion_tokens=10"},
		{"the one that counts is less", chatPath, `{"max_tokens":99,"max_completion_tokens":7}`, ``, ""},
		{"as much as was granted", chatPath, `{"max_tokens":10}`, ``, ""},
		{"less", chatPath, `{"max_tokens":3}`, ``, ""},
		{"a choice of three", chatPath, `{"n":3,"max_tokens":50}`, `{"n":3,"max_tokens":3}`, "max_tokens=3"},
		{"three of four are twelve", chatPath, `{"n":3,"max_tokens":4}`, `{"n":3,"max_tokens":3}`, "max_tokens=3"},
		{"more choices than tokens", chatPath, `{"n":100,"max_tokens":50}`, `{"n":100,"max_tokens":1}`, "max_tokens=1"},
		{"no fewer than it has to be", chatPath, `{"min_tokens":20,"max_tokens":50}`, `{"min_tokens":20,"max_tokens":20}`, "max_tokens=20"},
		{"no fewer than all", chatPath, `{"min_tokens":50,"max_tokens":50}`, ``, ""},
		{"min_tokens beyond all reason", chatPath, `{"min_tokens":1e300,"messages":[]}`, ``, ""},

		{"chat without a limit", chatPath, `{"messages":[]}`, `{"messages":[],"max_tokens":10}`, "max_tokens=10"},
		{"at another base", "/openai/v2" + chatPath, `{"messages":[]}`, `{"messages":[],"max_tokens":10}`, "max_tokens=10"},
		{"responses without a limit", responsesPath, `{"input":"a"}`, `{"input":"a","max_output_tokens":10}`, "max_output_tokens=10"},
		{"completions without a limit", textPath, `{"prompt":"a"}`, ``, ""},
		{"completions with null", textPath, `{"prompt":"a","max_tokens":null}`, ``, ""},
		{"of an unknown API", "/v1/embeddings", `{"input":"a"}`, ``, ""},
		{"of an unknown API, with a limit", "/invocations", `{"max_tokens":50}`, `{"max_tokens":10}`, "max_tokens=10"},
		{"null", chatPath, `{"max_tokens":null,"a":1}`, `{"max_tokens":10,"a":1}`, "max_tokens=10"},
		{"the newer one is null", chatPath, `{"a":1,"max_completion_tokens":null}`, `{"a":1,"max_completion_tokens":10}`, "max_completion_tokens=10"},
		{"both are null", chatPath, `{"max_tokens":null,"max_completion_tokens":null}`, `{"max_tokens":null,"max_completion_tokens":10}`, "max_completion_tokens=10"},
		{"null beside a limit", chatPath, `{"max_tokens":50,"max_completion_tokens":null}`, `{"max_tokens":10,"max_completion_tokens":null}`, "max_tokens=10"},
		{"null beside a limit that is less", chatPath, `{"max_tokens":5,"max_completion_tokens":null}`, ``, ""},
		{"an empty object", chatPath, "{ }", `{ "max_tokens":10}`, "max_tokens=10"},
		{"space around", chatPath, " {\n  \"messages\": []\n}\n", " {\n  \"messages\": []\n,\"max_tokens\":10}\n", "max_tokens=10"},

		{"a key that stands twice", chatPath, `{"max_tokens":50,"max_tokens":99}`, `{"max_tokens":10,"max_tokens":10}`, "max_tokens=10"},
		{"the last is null", chatPath, `{"max_tokens":50,"max_tokens":null}`, `{"max_tokens":10,"max_tokens":10}`, "max_tokens=10"},
		{"the last is a number", chatPath, `{"max_tokens":null,"max_tokens":50}`, `{"max_tokens":null,"max_tokens":10}`, "max_tokens=10"},
		{"a key in other letters", chatPath, `{"m\u0061x_tokens":50}`, `{"m\u0061x_tokens":10}`, "max_tokens=10"},
		{"a key that some engines read", chatPath, `{"MAX_Tokens":5}`, ``, ""},
		{"one that says more", chatPath, `{"max_tokens":20,"MAX_Tokens":50}`, `{"max_tokens":10,"MAX_Tokens":10}`, "max_tokens=10"},
		{"further in", chatPath, `{"a":{"max_tokens":50},"messages":[{"max_tokens":50,"content":"\"max_tokens\":50"}],"max_tokens":50}`,
			`{"a":{"max_tokens":50},"messages":[{"max_tokens":50,"content":"\"max_tokens\":50"}],"max_tokens":10}`, "max_tokens=10"},
		{"order, spaces, numbers and texts", chatPath,
			"{ \"seed\" : 9007199254740993, \"z\":1.0e+2,\t\"max_tokens\" : 1E2 , \"a\":-0.0, \"\u00fc\\u00fc\\ud83d\\ude00\":\"\u4f60\u597d \U0001f600 \\/ \\u0000\", \"a\":12345678901234567890.123456789 }",
			"{ \"seed\" : 9007199254740993, \"z\":1.0e+2,\t\"max_tokens\" : 10 , \"a\":-0.0, \"\u00fc\\u00fc\\ud83d\\ude00\":\"\u4f60\u597d \U0001f600 \\/ \\u0000\", \"a\":12345678901234567890.123456789 }", "max_tokens=10"},
		{"letters that are none", chatPath, "{\"a\":\"\xff\xfe\",\"max_tokens\":50}", "{\"a\":\"\xff\xfe\",\"max_tokens\":10}", "max_tokens=10"},
		{"a limit beyond 2^53", chatPath, `{"max_tokens":9007199254740993}`, `{"max_tokens":10}`, "max_tokens=10"},
		{"a limit beyond all reason", chatPath, `{"max_tokens":1e999}`, `{"max_tokens":10}`, "max_tokens=10"},
		{"a part of a token", chatPath, `{"max_tokens":10.5}`, `{"max_tokens":10}`, "max_tokens=10"},

		{"none at all", chatPath, `{"max_tokens":0}`, ``, ""},
		{"below none", chatPath, `{"max_tokens":-1}`, ``, ""},
		{"a limit in words", chatPath, `{"max_tokens":"50"}`, ``, ""},
		{"a limit that is an object", chatPath, `{"max_tokens":{"a":50}}`, ``, ""},
		{"no object", chatPath, `[{"max_tokens":50}]`, ``, ""},
		{"a number", chatPath, `50`, ``, ""},
		{"no JSON", chatPath, `{"max_tokens":50`, ``, ""},
		{"no JSON behind it", chatPath, `{"max_tokens":50} x`, ``, ""},
		{"a mark before it", chatPath, "\ufeff" + `{"max_tokens":50}`, ``, ""},
		{"much too deep", chatPath, `{"max_tokens":50,"a":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`, ``, ""},
		{"nothing", chatPath, ``, ``, ""},
	} {
		want := x.want
		if x.granted == "" {
			want = x.body // as it came
		}
		for how, length := range map[string]int64{"length": int64(len(x.body)), "chunked": -1} {
			req := httptest.NewRequest("POST", x.path, iotest.HalfReader(strings.NewReader(x.body)))
			req.ContentLength = length
			if length >= 0 {
				req.Header.Set("Content-Length", strconv.Itoa(len(x.body)))
			}
			granted, most := ChatSizes{}.Degrade(req, Grant{MaxOutputTokens: 10, Step: 1})
			require.Equal(t, x.granted, granted, "%s, %s", x.name, how)
			require.Equal(t, ChatSizes{}.Request(req).MaxOutputTokens, most, "%s: what goes on is what it counts for", x.name)
			b, err := io.ReadAll(req.Body)
			require.NoError(t, err)
			require.Equal(t, want, string(b), x.name)
			if length >= 0 {
				require.EqualValues(t, len(want), req.ContentLength)
				require.Equal(t, strconv.Itoa(len(want)), req.Header.Get("Content-Length"))
			} else {
				require.EqualValues(t, -1, req.ContentLength)
			}
			require.NoError(t, req.Body.Close())
		}
	}
}

// A grant that takes no output from a request leaves its body alone, also where that asks for more than counts.
func TestDegradeNothing(t *testing.T) {
	for _, g := range []Grant{{}, {Step: 1, Priority: -1}, {Step: 1, MaxOutputTokens: 1 << 17}} {
		req := httptest.NewRequest("POST", chatPath, strings.NewReader(`{"max_tokens":1000000000}`))
		granted, _ := ChatSizes{}.Degrade(req, g)
		require.Empty(t, granted)
		b, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.Equal(t, `{"max_tokens":1000000000}`, string(b))
	}
	for _, none := range []io.Reader{nil, http.NoBody} {
		req := httptest.NewRequest("POST", chatPath, none)
		before := req.Body
		granted, _ := ChatSizes{}.Degrade(req, Grant{Step: 1, MaxOutputTokens: 1})
		require.Empty(t, granted)
		require.Equal(t, before, req.Body)
	}
}

// A body that is too long is not read beyond what may be kept of it, and comes whole; so does one whose sender is lost.
func TestDegradeABodyThatIsNotRead(t *testing.T) {
	long := `{"max_tokens":50,"prompt":"` + strings.Repeat("a", 2000) + `"}`
	for _, length := range []int64{int64(len(long)), -1} {
		read := 0
		src := strings.NewReader(long)
		req := httptest.NewRequest("POST", chatPath, readFunc(func(p []byte) (int, error) {
			n, err := src.Read(p)
			read += n
			return n, err
		}))
		req.ContentLength = length
		granted, _ := ChatSizes{MaxBody: 1000}.Degrade(req, Grant{Step: 1, MaxOutputTokens: 10})
		require.Empty(t, granted)
		require.LessOrEqual(t, read, 1001)
		b, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.Equal(t, long, string(b))
	}
	lost := errors.New("lost")
	req := httptest.NewRequest("POST", chatPath, io.MultiReader(strings.NewReader(`{"max_tokens":50}`), iotest.ErrReader(lost)))
	granted, _ := ChatSizes{}.Degrade(req, Grant{Step: 1, MaxOutputTokens: 10})
	require.Empty(t, granted)
	b, err := io.ReadAll(req.Body)
	require.ErrorIs(t, err, lost)
	require.Equal(t, `{"max_tokens":50}`, string(b))
}

// What is packed goes on unpacked, if it is what it says; digests are of what came.
func TestDegradeABodyInAnotherEncoding(t *testing.T) {
	const text = `{"max_tokens":50}`
	bomb := packed(t, `{"max_tokens":50,"a":"`+strings.Repeat("a", 1<<24)+`"}`)
	for _, x := range []struct {
		encoding  string
		body      []byte
		want, now string
	}{
		{"gzip", packed(t, text), `{"max_tokens":10}`, ""},
		{"identity", []byte(text), `{"max_tokens":10}`, ""},
		{"gzip", []byte(text), "", "gzip"},
		{"gzip", bomb, "", "gzip"},
		{"br", []byte(text), "", "br"},
		{"gzip, gzip", packed(t, text), "", "gzip, gzip"},
	} {
		req := httptest.NewRequest("POST", chatPath, bytes.NewReader(x.body))
		req.Header = http.Header{"Content-Encoding": {x.encoding}, "Content-Digest": {"sha-256=:x:"}, "Authorization": {"Bearer a"}}
		before := req.Header
		granted, _ := ChatSizes{MaxBody: 1 << 20}.Degrade(req, Grant{Step: 1, MaxOutputTokens: 10})
		b, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.EqualValues(t, len(b), req.ContentLength)
		require.Equal(t, x.now, req.Header.Get("Content-Encoding"))
		require.Equal(t, "Bearer a", req.Header.Get("Authorization"))
		require.Len(t, before, 3, "the header is of those before, too")
		if x.want == "" {
			require.Empty(t, granted)
			require.True(t, bytes.Equal(x.body, b))
			continue
		}
		require.Equal(t, "max_tokens=10", granted)
		require.Equal(t, x.want, string(b))
		require.Empty(t, req.Header.Get("Content-Digest"))
	}
}

// A body that can be had again can be had again as it now is.
func TestDegradeABodyThatCanBeHadAgain(t *testing.T) {
	req, err := http.NewRequest("POST", "http://x"+chatPath, strings.NewReader(`{"max_tokens":50}`))
	require.NoError(t, err)
	granted, _ := ChatSizes{}.Degrade(req, Grant{Step: 1, MaxOutputTokens: 10})
	require.NotEmpty(t, granted)
	for range 2 {
		again, err := req.GetBody()
		require.NoError(t, err)
		b, err := io.ReadAll(again)
		require.NoError(t, err)
		require.Equal(t, `{"max_tokens":10}`, string(b))
		require.NoError(t, again.Close())
	}
	b, err := io.ReadAll(req.Body)
	require.NoError(t, err)
	require.Equal(t, `{"max_tokens":10}`, string(b))
}

// limit is the most output of a choice, as encoding/json reads it.
func limit(t *testing.T, body []byte) float64 {
	var keys struct {
		A *json.Number `json:"max_completion_tokens"`
		B *json.Number `json:"max_tokens"`
		C *json.Number `json:"max_output_tokens"`
	}
	if json.Unmarshal(body, &keys) != nil {
		return -1
	}
	least := math.Inf(1)
	for _, n := range []*json.Number{keys.A, keys.B, keys.C} {
		if n != nil {
			v, _ := n.Float64()
			least = min(least, v)
		}
	}
	return least
}

// fields are those of a body that are no limits, as they are written.
func fields(body []byte) map[string]string {
	var all map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return nil
	}
	kept := map[string]string{}
	for k, v := range all {
		if !slices.ContainsFunc(limitKeys[:], func(limit string) bool { return strings.EqualFold(limit, k) }) {
			kept[k] = string(v)
		}
	}
	return kept
}

// Whatever a body is, what becomes of it is JSON where it was, says no more than before, and has every other field as it was.
func FuzzDegrade(f *testing.F) {
	for _, body := range []string{
		`{"max_tokens":50}`, `{"max_tokens":null,"max_tokens":2e3,"n":2}`, `{"a":[{}],"max_completion_tokens":1e99}`, `{}`, ` { "a" : 1 } `,
		`{"min_tokens":7,"max_output_tokens":60}`, `{"max_tokens":"a"}`, `{"m\u0061x_tokens":50,"seed":9007199254740993}`,
		`{"max_to\u212aens":2e3,"n":2}`, // a letter K to encoding/json, which takes a name for a field's in either case
	} {
		for _, path := range []string{chatPath, textPath, responsesPath} {
			f.Add([]byte(body), path, 10)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, path string, most int) {
		req := httptest.NewRequestWithContext(context.Background(), "POST", "/", bytes.NewReader(body))
		req.URL.Path = path
		granted, asks := ChatSizes{MaxBody: 1 << 12}.Degrade(req, Grant{Step: 1, MaxOutputTokens: most})
		if most > 0 && len(body) > 0 && len(body) <= 1<<12 {
			require.Equal(t, ChatSizes{MaxBody: 1 << 13}.Request(req).MaxOutputTokens, asks)
		}
		b, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.EqualValues(t, len(b), req.ContentLength)
		if granted == "" {
			require.True(t, bytes.Equal(body, b))
			return
		}
		require.True(t, json.Valid(b), "%q", b)
		require.Equal(t, fields(body), fields(b))
		require.LessOrEqual(t, limit(t, b), limit(t, body))
	})
}

// degraded sends a request to a controller that degrades whatever comes, and gets its answer.
func degraded(t *testing.T, c *Controller, client *http.Client, req *http.Request) (resp *http.Response, body string, err error) {
	s := c.s
	s.cap.SetLimit(1100)
	s.rate.Waiting(time.Now(), true)
	for i := range 100 { // 1,100 tokens/s
		s.rate.Admitted(110)
		time.Sleep(time.Second / 10)
		s.rate.Waiting(time.Now(), i < 99)
	}
	size := Request{InputTokens: 1000, MaxOutputTokens: 100}
	running, admitted := c.Admit(t.Context(), size)
	require.NoError(t, admitted)
	ahead := make(chan *Permit)
	go func() {
		p, err := c.Admit(t.Context(), size)
		require.NoError(t, err)
		ahead <- p
	}()
	synctest.Wait()
	got := make(chan struct{})
	go func() { // which has to wait for a second, of two
		defer close(got)
		if resp, err = client.Do(req); err == nil {
			var b []byte
			b, err = io.ReadAll(resp.Body)
			body = string(b)
			resp.Body.Close()
		}
	}()
	synctest.Wait()
	require.Equal(t, 2, c.State().Waiting)
	running.Done(goodput.Success)
	(<-ahead).Done(goodput.Success)
	<-got
	synctest.Wait()
	require.Zero(t, c.State().InFlight)
	require.EqualValues(t, 1, c.State().Degraded)
	return resp, body, err
}

// degrader is a controller whose requests lose all but ten tokens.
func degrader(t *testing.T) *Controller {
	return controller(t, Config{Classes: map[string]Class{slo.DefaultClass: {Ladder: Ladder{{MaxOutputTokens: 10}}}}})
}

// The handler gets what was granted, and the client is told, whatever the handler does to its header; both over either protocol.
func TestMiddlewareCarriesOutAGrant(t *testing.T) {
	const text = `{"messages":[],"max_tokens":100}`
	whole := func(w http.ResponseWriter, req *http.Request) string {
		b, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.EqualValues(t, len(b), req.ContentLength)
		require.Equal(t, 10, PermitOf(req.Context()).Grant().MaxOutputTokens)
		return string(b)
	}
	for protocol, set := range map[string]func(*http.Protocols, bool){"HTTP/1": (*http.Protocols).SetHTTP1, "HTTP/2": (*http.Protocols).SetUnencryptedHTTP2} {
		for name, h := range map[string]http.HandlerFunc{
			"it writes": func(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, whole(w, req)) },
			"a status": func(w http.ResponseWriter, req *http.Request) {
				w.WriteHeader(400)
				_, _ = io.WriteString(w, whole(w, req))
			},
			"nothing": func(http.ResponseWriter, *http.Request) {},
			"it flushes": func(w http.ResponseWriter, req *http.Request) {
				clear(w.Header())
				_ = http.NewResponseController(w).Flush()
				_, _ = io.WriteString(w, whole(w, req))
			},
			"it clears": func(w http.ResponseWriter, req *http.Request) {
				clear(w.Header())
				_, _ = io.WriteString(w, whole(w, req))
			},
			"it hints": func(w http.ResponseWriter, req *http.Request) {
				w.WriteHeader(103)
				clear(w.Header())
				w.WriteHeader(200)
				_, _ = io.WriteString(w, whole(w, req))
			},
			"another one": func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set(GrantedHeader, "max_tokens=9")
				_, _ = io.WriteString(w, whole(w, req))
			},
			"it copies": func(w http.ResponseWriter, req *http.Request) {
				clear(w.Header())
				_, err := io.Copy(w, strings.NewReader(whole(w, req)))
				require.NoError(t, err)
			},
		} {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := degrader(t)
					client := serveOver(t, c.Middleware(h, MiddlewareConfig{Request: ChatSizes{}.Request, Degrade: ChatSizes{}.Degrade}), set)
					req, err := http.NewRequest("POST", "http://x"+chatPath, strings.NewReader(text))
					require.NoError(t, err)
					resp, body, err := degraded(t, c, client, req)
					require.NoError(t, err)
					want := []string{"max_tokens=10"}
					if name == "another one" { // of a gateway behind, which has taken more: the last one of a dictionary counts
						want = append(want, "max_tokens=9")
					}
					require.Equal(t, want, resp.Header[GrantedHeader])
					if name != "nothing" {
						require.Equal(t, `{"messages":[],"max_tokens":10}`, body)
					}
				})
			})
		}
	}
}

// Without being asked to, the middleware changes no body, and says nothing; nor does it where nothing was taken.
func TestMiddlewareChangesNoBodyOfItself(t *testing.T) {
	const text = `{"messages":[],"max_tokens":100}`
	echo := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { _, _ = io.Copy(w, req.Body) })
	synctest.Test(t, func(t *testing.T) {
		c := degrader(t)
		client := serve(t, c.Middleware(echo, MiddlewareConfig{Request: ChatSizes{}.Request}))
		req, err := http.NewRequest("POST", "http://x"+chatPath, strings.NewReader(text))
		require.NoError(t, err)
		resp, body, err := degraded(t, c, client, req)
		require.NoError(t, err)
		require.Equal(t, text, body)
		require.NotContains(t, resp.Header, GrantedHeader)
	})
	synctest.Test(t, func(t *testing.T) {
		c := degrader(t)
		client := serve(t, c.Middleware(echo, MiddlewareConfig{Degrade: func(*http.Request, Grant) (string, int) { t.Error("nothing was taken"); return "", 0 }}))
		resp, err := client.Post("http://x"+chatPath, "application/json", strings.NewReader(text))
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, text, string(b))
		require.NotContains(t, resp.Header, GrantedHeader)
	})
	synctest.Test(t, func(t *testing.T) { // one that panics loses no permit
		c := degrader(t)
		client := serve(t, c.Middleware(echo, MiddlewareConfig{Request: ChatSizes{}.Request, Degrade: func(*http.Request, Grant) (string, int) { panic("boom") }}))
		req, err := http.NewRequest("POST", "http://x"+chatPath, strings.NewReader(text))
		require.NoError(t, err)
		_, _, err = degraded(t, c, client, req)
		require.ErrorIs(t, err, io.EOF)
	})
}
