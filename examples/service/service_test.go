package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput/monitor"
)

// start runs the program on a free port.
func start(t *testing.T, args ...string) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		var errs bytes.Buffer
		err := run(ctx, append(args, "--addr", "127.0.0.1:0"), in, &errs)
		in.CloseWithError(io.EOF)
		ended <- err
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasSuffix(lines.Text(), "/goodput") {
	}
	require.NotEmpty(t, lines.Text(), "it did not come to listen")
	go io.Copy(io.Discard, out)
	t.Cleanup(cancel)
	return strings.TrimSuffix(lines.Text(), "/goodput"), func() error { cancel(); return <-ended }
}

func call(t require.TestingT, method, url, body string) (status int, text string) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

func TestWhatIsServedIsCounted(t *testing.T) {
	url, stop := start(t, "--slo", "ttft p95 < 1m, error_rate < 1%", "--period", "1h")
	status, text := call(t, "POST", url+"/v1/chat/completions", `{"messages":[{"role":"user","content":"what is goodput"}],"stream":true,"max_tokens":4}`)
	require.Equal(t, 200, status, text)
	require.Contains(t, text, "data: [DONE]")
	status, _ = call(t, "POST", url+"/v1/chat/completions", "no JSON")
	require.Equal(t, 400, status)
	status, text = call(t, "GET", url+"/v1/models", "")
	require.Equal(t, 200, status)
	require.Contains(t, text, engine().Model)

	// A client has its answer a moment before the request is booked.
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, text := call(c, "GET", url+"/metrics", "")
		assert.Regexp(c, `(?m)^goodput_offered_requests_total\{.*\} 2$`, text, "the list of models is not among them")
		assert.Regexp(c, `(?m)^goodput_good_requests_total\{.*\} 1$`, text)
		assert.Regexp(c, `(?m)^goodput_requests_total\{.*outcome="client_error".*\} 1$`, text)
		assert.Regexp(c, `(?m)^goodput_output_tokens_total\{.*\} 4$`, text)
		assert.Regexp(c, `(?m)^goodput_ttft_seconds_count\{.*\} 1$`, text, "the histograms have it too")
	}, 10*time.Second, 20*time.Millisecond)

	_, text = call(t, "GET", url+"/goodput?format=json", "")
	var state monitor.State
	require.NoError(t, json.Unmarshal([]byte(text), &state))
	require.Equal(t, time.Hour, state.Period)
	require.EqualValues(t, 2, state.Windows[0].Decided)
	require.EqualValues(t, 1, state.Windows[0].Good)
	status, text = call(t, "GET", url+"/goodput", "")
	require.Equal(t, 200, status)
	require.Contains(t, text, "<html")

	status, _ = call(t, "PUT", url+"/try/slowdown?by=1s", "")
	require.Equal(t, 404, status, "without --try")
	require.NoError(t, stop())
}

func TestASlowdownIsForTryingOut(t *testing.T) {
	url, stop := start(t, "--try", "--slo", "ttft p95 < 30ms")
	for _, by := range []string{"", "2", "-1s", "61s"} {
		status, _ := call(t, "PUT", url+"/try/slowdown?by="+by, "")
		require.Equal(t, 400, status, by)
	}
	const ask = `{"messages":[{"role":"user","content":"what is goodput"}],"max_tokens":1}`
	took := func(by string) time.Duration {
		status, _ := call(t, "PUT", url+"/try/slowdown?by="+by, "")
		require.Equal(t, 204, status)
		began := time.Now()
		status, _ = call(t, "POST", url+"/v1/chat/completions", ask)
		require.Equal(t, 200, status)
		return time.Since(began)
	}
	require.GreaterOrEqual(t, took("200ms"), 200*time.Millisecond)
	require.Less(t, took("0s"), 10*time.Second)
	require.NoError(t, stop())
}

// Told to stop, it takes no more, and a stream that has begun comes to its end.
func TestItEndsWithTheRequestsInFlight(t *testing.T) {
	url, stop := start(t)
	resp, err := http.Post(url+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"messages":[{"role":"user","content":"tell me"}],"stream":true,"max_tokens":100}`))
	require.NoError(t, err)
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	_, err = body.ReadString('\n')
	require.NoError(t, err)
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	rest, err := io.ReadAll(body)
	require.NoError(t, err)
	require.Contains(t, string(rest), "data: [DONE]")
	require.NoError(t, <-stopped)
	_, err = http.Get(url + "/v1/models")
	require.Error(t, err)
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	over, cancel := context.WithCancel(t.Context()) // so that one which can be meant after all serves nobody
	cancel()
	for _, args := range []string{"--slo ttft<2s", "--period 1m", "--period 10000h", "--try --addr :8080", "--try --addr 192.0.2.1:80", "--no-such-option", "x", "--addr nonsense", "--addr 127.0.0.1:-1"} {
		var out, errs bytes.Buffer
		assert.Equal(t, 2, status(run(over, strings.Fields(args), &out, &errs), &errs), args)
		assert.Empty(t, out.String(), args)
		assert.Equal(t, 1, strings.Count(errs.String(), "\n"), "one line: %s", errs.String())
	}
	var out, errs bytes.Buffer
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	assert.Equal(t, 1, status(run(t.Context(), []string{"--addr", taken.Addr().String()}, &out, &errs), &errs))
	assert.Zero(t, status(run(t.Context(), []string{"--help"}, &out, &errs), &errs))
	assert.Contains(t, out.String(), "-period")
}

// locked is a text that several write.
type locked struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
