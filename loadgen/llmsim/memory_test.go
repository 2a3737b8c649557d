package llmsim_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/memnet"
)

// serve serves h in memory until the test ends and returns a client of it.
func serve(t testing.TB, h http.Handler) *http.Client {
	return &http.Client{Transport: memnet.Serve(t, &http.Server{Handler: h})}
}

// event is one "data:" line of a stream and when it arrived, counted from when the request was made.
type event struct {
	at   time.Duration
	data string
}

// post posts body as a chat completion and reads the answer line by line.
func post(t testing.TB, client *http.Client, header http.Header, body string) (status int, events []event, rest string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sim/v1/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	for k, v := range header {
		req.Header[k] = v
	}
	start := time.Now()
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
			events = append(events, event{time.Since(start), data})
		} else if sc.Text() != "" {
			rest += sc.Text()
		}
	}
	require.NoError(t, sc.Err())
	return resp.StatusCode, events, rest
}
