package llmsim_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

func server(t testing.TB, p llmsim.Params) (*llmsim.Server, *http.Client) {
	s, err := llmsim.NewServer(p)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, serve(t, s)
}

func TestServerStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := server(t, round())
		status, events, _ := post(t, client, nil, `{"model":"m","messages":[{"role":"system","content":"be brief"},
			{"role":"user","content":[{"type":"text","text":"what is goodput"},{"type":"image_url","image_url":{}}]},{"role":"assistant","content":null}],
			"max_tokens":3,"stream":true,"stream_options":{"include_usage":true}}`)
		require.Equal(t, http.StatusOK, status)
		require.Len(t, events, 7)
		for i, want := range []struct {
			at   time.Duration
			path string
			text string
		}{
			{0, "choices.0.delta.role", "assistant"},
			{15 * ms, "choices.0.delta.content", " goodput"}, // 10 + 5 prompt tokens
			{27 * ms, "choices.0.delta.content", " is"},      // 10 + 2
			{39 * ms, "choices.0.delta.content", " what"},
			{39 * ms, "choices.0.finish_reason", "length"},
			{39 * ms, "usage.total_tokens", "8"},
		} {
			assert.Equal(t, want.at, events[i].at, events[i].data)
			assert.Equal(t, want.text, gjson.Get(events[i].data, want.path).String(), events[i].data)
			assert.Equal(t, "chat.completion.chunk", gjson.Get(events[i].data, "object").String())
			assert.Equal(t, "m", gjson.Get(events[i].data, "model").String())
		}
		assert.Equal(t, int64(5), gjson.Get(events[5].data, "usage.prompt_tokens").Int())
		assert.Equal(t, "[DONE]", events[6].data)
		assert.Equal(t, uint64(3), s.Stats().OutputTokens)
	})
}

func TestServerWithoutStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := server(t, round())
		start := time.Now()
		status, _, body := post(t, client, nil, `{"messages":[{"role":"user","content":"hello"}]}`)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, 23*ms, time.Since(start))
		assert.Equal(t, "round", gjson.Get(body, "model").String())
		assert.Equal(t, "stop", gjson.Get(body, "choices.0.finish_reason").String())
		assert.Equal(t, int64(2), gjson.Get(body, "usage.completion_tokens").Int(), "DefaultOutput")
		assert.Equal(t, " goodput is", gjson.Get(body, "choices.0.message.content").String())
	})
}

func TestServerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := round()
		p.MaxBatch, p.MaxQueue = 1, 1
		s, client := server(t, p)
		status, _, body := post(t, client, nil, `{"messages":[{"content":"a"}],"max_tokens":100}`)
		assert.Equal(t, 400, status)
		assert.Equal(t, "1 prompt tokens and 100 output tokens are more than the 100 that the KV cache holds", gjson.Get(body, "error.message").String())
		status, _, _ = post(t, client, nil, `{`)
		assert.Equal(t, 400, status)

		done := make(chan struct{})
		for range 2 {
			go func() {
				status, _, _ := post(t, client, nil, `{"messages":[{"content":"a"}],"max_tokens":9}`)
				assert.Equal(t, 200, status)
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		assert.Equal(t, 1, s.Stats().Running)
		assert.Equal(t, 1, s.Stats().Waiting)
		resp, err := client.Post("http://sim/v1/chat/completions", "application/json", strings.NewReader(`{"messages":[{"content":"a"}]}`))
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, 503, resp.StatusCode)
		assert.Equal(t, "1", resp.Header.Get("Retry-After"))
		assert.Equal(t, "server_error", gjson.GetBytes(b, "error.type").String())
		<-done
		<-done
	})
}

func TestClientThatGoesAwayFreesItsPlace(t *testing.T) {
	for _, stream := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, client := server(t, round())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sim/v1/chat/completions",
				strings.NewReader(fmt.Sprintf(`{"messages":[{"content":"a"}],"max_tokens":50,"stream":%v}`, stream)))
			require.NoError(t, err)
			go func() {
				resp, err := client.Do(req)
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}()
			time.Sleep(100 * ms)
			assert.Equal(t, 51, s.Stats().KVReserved)
			cancel()
			synctest.Wait()
			assert.Equal(t, 0, s.Stats().KVReserved, "stream %v", stream)
			assert.Equal(t, 0, s.Stats().Running)
		})
	}
}

func TestServerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := server(t, round())
		whole := make(chan int)
		go func() {
			status, _, _ := post(t, client, nil, `{"messages":[{"content":"a"}],"max_tokens":50}`)
			whole <- status
		}()
		go func() {
			time.Sleep(100 * ms)
			assert.NoError(t, s.Close())
		}()
		resp, err := client.Post("http://sim/v1/chat/completions", "application/json",
			strings.NewReader(`{"messages":[{"content":"a"}],"max_tokens":50,"stream":true}`))
		require.NoError(t, err)
		defer resp.Body.Close()
		start := time.Now()
		sc := bufio.NewScanner(resp.Body)
		for sc.Scan() {
			assert.NotContains(t, sc.Text(), "DONE")
		}
		assert.ErrorIs(t, sc.Err(), io.ErrUnexpectedEOF)
		assert.Equal(t, 100*ms, time.Since(start))
		stats := s.Stats()
		assert.Zero(t, stats.Waiting+stats.Running+stats.KVReserved+stats.KVUsed, "%+v", stats)
		assert.Equal(t, 503, <-whole, "nothing of it was sent")
		status, _, body := post(t, client, nil, `{"messages":[{"content":"a"}]}`)
		assert.Equal(t, 503, status)
		assert.Equal(t, "the server is closing", gjson.Get(body, "error.message").String())
	})
}

// TestServerOverLoopback is the server on a real socket: what it sends is as in memory.
func TestServerOverLoopback(t *testing.T) {
	p := round()
	p.Base, p.PerPromptToken, p.PerSequence = time.Microsecond, 0, 0
	s, err := llmsim.NewServer(p)
	require.NoError(t, err)
	defer s.Close()
	srv := httptest.NewServer(s)
	defer srv.Close()
	resp, err := http.Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"messages":[{"content":"a"}],"max_tokens":50,"stream":true}`))
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, "text/event-stream; charset=utf-8", resp.Header.Get("Content-Type"))
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, 50+3, strings.Count(string(b), "data: "), "role, tokens, finish, [DONE]")
	assert.True(t, strings.HasSuffix(string(b), "data: [DONE]\n\n"))
}

func ExampleNewFixedServer() {
	srv := httptest.NewServer(llmsim.NewFixedServer(2*time.Millisecond, time.Millisecond))
	defer srv.Close()
	resp, err := http.Post(srv.URL+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"messages": [{"role": "user", "content": "hello"}], "max_tokens": 3, "stream": true}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	var first int64
	for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
		data, _ := strings.CutPrefix(sc.Text(), "data: ")
		written := gjson.Get(data, "written_ns").Int()
		if written == 0 { // no token
			continue
		}
		if first == 0 {
			first = written
		}
		fmt.Printf("%q after at least %v\n", gjson.Get(data, "choices.0.delta.content").String(), time.Duration(written-first).Truncate(time.Second))
	}
	// Output:
	// " goodput" after at least 0s
	// " is" after at least 0s
	// " what" after at least 0s
}

func ExampleNewServer() {
	sim, err := llmsim.NewServer(llmsim.OPT13BTP4())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sim.Close()
	srv := httptest.NewServer(sim) // or http.ListenAndServe("127.0.0.1:8000", sim)
	defer srv.Close()
	resp, err := http.Post(srv.URL+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"messages": [{"role": "user", "content": "What is goodput?"}], "max_tokens": 5}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(gjson.GetBytes(body, "choices.0.message.content"))
	fmt.Println(gjson.GetBytes(body, "usage.prompt_tokens"), "prompt tokens,", gjson.GetBytes(body, "usage.completion_tokens"), "output tokens")
	// Output:
	// goodput is what users get
	// 3 prompt tokens, 5 output tokens
}
