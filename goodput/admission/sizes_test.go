package admission

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

func packed(t testing.TB, text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

// What a body says of its sizes. Four bytes are a token.
func TestSizesOfABody(t *testing.T) {
	eight := strings.Repeat("a", 8)
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for _, x := range []struct {
		name, body string
		in, out    int
	}{
		{"chat", `{"messages":[{"role":"user","content":"` + eight + `"}],"max_tokens":7}`, 3, 7}, // its role stands in the prompt, too
		{"parts", `{"messages":[{"content":[{"type":"text","text":"` + eight + `"},{"type":"image_url","image_url":{"url":"https://x/` + eight + `"}}]}]}`, 6, 0},
		{"an image in the text", `{"messages":[{"content":"data:image/png;base64,` + strings.Repeat("A", 4000) + `"}]}`, 0, 0},
		{"completions", `{"prompt":"` + eight + `","max_tokens":3}`, 2, 3},
		{"several prompts", `{"prompt":["` + eight + `","` + eight + `"]}`, 4, 0},
		{"token numbers", `{"prompt":[[1,2,3],[4,5]]}`, 5, 0},
		{"responses", `{"input":[{"content":[{"text":"` + eight + `"}]}],"instructions":"` + eight + `","max_output_tokens":5}`, 4, 5},
		{"tools", `{"messages":[],"tools":[` + strings.Repeat(" ", 400) + `]}`, 101, 0},
		{"both limits", `{"max_tokens":100,"max_completion_tokens":9,"n":1}`, 0, 9},
		{"several choices", `{"prompt":"` + eight + `","max_tokens":9,"n":3}`, 2, 27},
		{"no limit", `{"prompt":"` + eight + `","max_tokens":null}`, 2, 0},
		{"a limit that is none", `{"prompt":"` + eight + `","max_tokens":-1,"n":-5}`, 2, 0},
		{"a limit beyond all reason", `{"prompt":"` + eight + `","max_tokens":1e308,"n":1e308}`, 2, 1000},
		{"a limit in words", `{"prompt":"` + eight + `","max_tokens":"1000000"}`, 2, 0},
		{"a key that stands twice", `{"prompt":"` + eight + `","max_tokens":1,"max_tokens":50,"prompt":"` + eight + eight + `"}`, 4, 50},
		{"a key in other letters", `{"m\u0061x_tokens":50}`, 0, 50},
		{"a long prompt", `{"prompt":"` + strings.Repeat("a", 5000) + `"}`, 1000, 0},
		{"no object", `[1,2,3,4]`, 3, 0},
		{"no JSON", `{"max_tokens":1`, 4, 0},
		{"nested without end", `{"messages":` + deep + `,"max_tokens":3}`, 1000, 3},
		{"much too deep", `{"messages":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `,"max_tokens":3}`, 1000, 0},
		{"nothing", ``, 0, 0},
	} {
		for how, size := range map[string]int64{"length": int64(len(x.body)), "chunked": -1} {
			req := httptest.NewRequest("POST", "/", iotest.HalfReader(strings.NewReader(x.body)))
			req.ContentLength = size
			r := ChatSizes{MaxTokens: 1000}.Request(req)
			require.Equal(t, []int{x.in, x.out}, []int{r.InputTokens, r.MaxOutputTokens}, "%s, %s", x.name, how)
			b, err := io.ReadAll(req.Body)
			require.NoError(t, err)
			require.Equal(t, x.body, string(b), x.name)
			require.Equal(t, size, req.ContentLength)
		}
	}
}

// Bodies that are not read, or not to their end: their length is known, and they come as they are.
func TestSizesOfABodyThatIsNotRead(t *testing.T) {
	long := `{"prompt":"` + strings.Repeat("a", 2000) + `"}`
	bomb := string(packed(t, strings.Repeat("a", 1<<24)))
	for _, x := range []struct {
		name, body, encoding string
		length               int64
		in                   int
	}{
		{"too long", long, "", int64(len(long)), 504},
		{"too long, and nobody said so", long, "", -1, 251}, // what was read of it
		{"exactly as long as may be", long[:998] + `"}`, "", -1, 247},
		{"gzip", string(packed(t, long[:998]+`"}`)), "gzip", -1, 247},
		{"a bomb", bomb[:1000], "gzip", -1, 251},
		{"no gzip", "abcdefgh", "gzip", -1, 2},
		{"another encoding", "abcdefgh", "br", -1, 2},
	} {
		req := httptest.NewRequest("POST", "/", strings.NewReader(x.body))
		req.ContentLength = x.length
		if x.encoding != "" {
			req.Header.Set("Content-Encoding", x.encoding)
		}
		r := ChatSizes{MaxBody: 1000}.Request(req)
		require.Equal(t, x.in, r.InputTokens, x.name)
		b, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.Equal(t, x.body, string(b), x.name)
	}

	lost := errors.New("lost")
	req := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("abcdefgh"), iotest.ErrReader(lost)))
	require.Equal(t, 2, ChatSizes{}.Request(req).InputTokens)
	b, err := io.ReadAll(req.Body)
	require.ErrorIs(t, err, lost, "the error is handed on, too")
	require.Equal(t, "abcdefgh", string(b))

	for _, none := range []io.Reader{nil, http.NoBody} {
		req := httptest.NewRequest("GET", "/", none)
		before := req.Body
		require.Zero(t, ChatSizes{}.Request(req))
		require.Equal(t, before, req.Body)
	}
}

// Whatever way a body comes, the handler gets it as it would have without the middleware.
func TestABodyIsHandedOnUnchanged(t *testing.T) {
	text := `{"messages":[{"content":"` + strings.Repeat("a", 40_000) + `"}],"max_tokens":5}`
	for protocol, set := range map[string]func(*http.Protocols, bool){"HTTP/1": (*http.Protocols).SetHTTP1, "HTTP/2": (*http.Protocols).SetUnencryptedHTTP2} {
		for name, x := range map[string]struct {
			body    []byte
			prepare func(req *http.Request)
			most    int64
		}{
			"with its length": {[]byte(text), func(*http.Request) {}, 0},
			"chunked":         {[]byte(text), func(req *http.Request) { req.ContentLength = -1 }, 0},
			"with a trailer": {[]byte(text), func(req *http.Request) {
				req.ContentLength = -1
				req.Trailer = http.Header{"X-Sum": {"7"}}
			}, 0},
			"gzip":                   {packed(t, text), func(req *http.Request) { req.Header.Set("Content-Encoding", "gzip") }, 0},
			"it has to be asked for": {[]byte(text), func(req *http.Request) { req.Header.Set("Expect", "100-continue") }, 0},
			"too long":               {[]byte(text), func(*http.Request) {}, 1000},
			"too long, chunked":      {[]byte(text), func(req *http.Request) { req.ContentLength = -1 }, 1000},
		} {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					type seen struct {
						Header, Trailer  http.Header
						Length           int64
						TransferEncoding []string
						Body             string
					}
					var got []seen
					h := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
						b, err := io.ReadAll(req.Body)
						require.NoError(t, err)
						got = append(got, seen{req.Header, req.Trailer, req.ContentLength, req.TransferEncoding, string(b)})
					})
					c := judged(t)
					for _, h := range []http.Handler{h, c.Middleware(h, MiddlewareConfig{Request: ChatSizes{MaxBody: x.most}.Request})} {
						req, err := http.NewRequest("POST", "http://x/", bytes.NewReader(x.body))
						require.NoError(t, err)
						x.prepare(req)
						resp, err := serveOver(t, h, set).Do(req)
						require.NoError(t, err)
						require.Equal(t, 200, resp.StatusCode)
						resp.Body.Close()
					}
					synctest.Wait()
					over(t, c, good)
					require.Equal(t, string(x.body), got[1].Body)
					require.Equal(t, got[0], got[1])
				})
			})
		}
	}
}

// A request that is refused before its body is wanted is refused before it is sent.
func TestABodyThatIsNotWantedIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Config{})
		c.Close()
		client := serve(t, c.Middleware(nil, MiddlewareConfig{}))
		read := false
		req, err := http.NewRequest("POST", "http://x/", readFunc(func(p []byte) (int, error) { read = true; return 0, io.EOF }))
		require.NoError(t, err)
		req.ContentLength = 1 << 30
		req.Header.Set("Expect", "100-continue")
		resp, err := client.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, 503, resp.StatusCode)
		require.Equal(t, string(Closed), resp.Header.Get(goodput.ReasonHeader))
		require.False(t, read)
	})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestWhetherAnAnswerIsWhole(t *testing.T) {
	for body, whole := range map[string]bool{
		`{"messages":[]}`: true, `{"messages":[],"stream":false}`: true, `{"input":"a","stream":null}`: true, `{"messages":[],"stream":true}`: false,
		`{"stream":true,"stream":false}`: true, `no JSON`: false, ``: false,
	} {
		req := httptest.NewRequest("POST", "/", strings.NewReader(body))
		require.Equal(t, whole, ChatSizes{}.Request(req).Whole, body)
	}
}

func FuzzSizes(f *testing.F) {
	f.Add([]byte(`{"messages":[{"content":[{"text":"a"}]}],"max_tokens":5,"n":2}`), false)
	f.Add([]byte(`{"prompt":[[1,2],[3]],"max_tokens":1e99}`), false)
	f.Add(packed(f, `{"input":"a","instructions":"b","tools":[{}]}`), true)
	f.Fuzz(func(t *testing.T, body []byte, zipped bool) {
		req := httptest.NewRequestWithContext(context.Background(), "POST", "/", bytes.NewReader(body))
		if zipped {
			req.Header.Set("Content-Encoding", "gzip")
		}
		c := ChatSizes{MaxBody: 1 << 12, MaxTokens: 100}
		r := c.Request(req)
		for _, n := range []int{r.InputTokens, r.MaxOutputTokens} {
			require.True(t, 0 <= n && n <= 100, fmt.Sprint(r))
		}
		b, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, b))
	})
}
