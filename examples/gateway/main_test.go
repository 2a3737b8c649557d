package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
)

var figures = regexp.MustCompile(`up to ([0-9.]+) requests/s|(?m)^with(?:out)? admission control: +goodput ([0-9.]+) of ([0-9.]+) .*? ([0-9]+)% refused, of the others ([0-9]+)% good$`)

// What --simulate does, in virtual time.
func TestSimulation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		duration := "40s"
		if raced {
			duration = "5s" // which shows races, and no goodput
		}
		o, err := parse([]string{"--simulate", "--limit", "7.2", "--duration", duration}, func(string) string { return "" }, io.Discard)
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, simulate(t.Context(), o, (&memory{}).network(), &out))
		t.Log(out.String())
		found := figures.FindAllStringSubmatch(out.String(), -1)
		require.Len(t, found, 3)
		if raced {
			return
		}
		number := func(text string) float64 {
			v, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			return v
		}
		limit, without, with := number(found[0][1]), found[1], found[2]
		require.Greater(t, number(with[2]), limit, "what could be served in time before is still")
		require.Less(t, number(without[2]), limit/2)
		require.Equal(t, without[3], with[3], "the same load")
		require.Equal(t, "0", without[4])
		require.Greater(t, number(with[5]), 85.0)
		require.Contains(t, out.String(), "were refused, so that the others were not late.")
	})
}

// Whole answers among the streams, below the limit: nobody waits for the first token of an answer that has none.
func TestWholeAnswersBesideStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, simulator(t), "--slo", promise.String())
		transport := &http.Transport{DialContext: s.memory.dial, MaxIdleConnsPerHost: 1024}
		defer transport.CloseIdleConnections()
		var targets [2]*openai.Target
		for i := range targets {
			var err error
			targets[i], err = openai.New(openai.Config{BaseURL: s.where + "/v1", NoStream: i == 1, Client: &http.Client{Transport: transport}})
			require.NoError(t, err)
		}
		requests, err := traffic(options{seed: 1})
		require.NoError(t, err)
		n := 0
		for req := range requests.Requests() {
			if n++; n > 150 {
				break
			}
			if n%3 == 0 {
				go targets[1].Do(t.Context(), req, &loadgen.Trace{})
			} else {
				go targets[0].Do(t.Context(), req, &loadgen.Trace{})
			}
			time.Sleep(time.Second / 5)
		}
		time.Sleep(time.Minute)
		require.Equal(t, map[string]int{"admission success": 150}, s.booked())
	})
}

// The limit that the load is a multiple of is what the engine can take.
func TestTheLimitIsFound(t *testing.T) {
	if raced {
		t.Skip("a minute of arithmetic on one goroutine")
	}
	limit, err := canTake(t.Context(), options{seed: 1})
	require.NoError(t, err)
	require.InDelta(t, 7.2, limit, 0.5)
}

// The program over sockets: it serves, and ends with what is in flight.
func TestTheProgram(t *testing.T) {
	release := make(chan struct{})
	up := httptest.NewServer(stalling(release))
	defer up.Close()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"--upstream", up.URL, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, func(string) string { return "" }, in, io.Discard)
		in.CloseWithError(io.EOF)
		ended <- err
	}()
	lines := bufio.NewScanner(out)
	var urls []string
	for lines.Scan() {
		urls = append(urls, lines.Text())
		if strings.HasSuffix(lines.Text(), "/goodput") {
			break
		}
	}
	require.Len(t, urls, 5, "it did not come to listen")
	got := make(chan *http.Response, 1)
	go func() {
		resp, err := http.Post(urls[1]+"/chat/completions", "application/json", strings.NewReader(ask))
		assert.NoError(t, err)
		got <- resp
	}()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		resp, err := http.Get(urls[3])
		require.NoError(c, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(c, err)
		require.Contains(c, string(b), `"in_flight":1`)
	}, 10*time.Second, 5*time.Millisecond)
	cancel()
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	resp := <-got
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	resp.Body.Close()
	require.Contains(t, string(b), "data: [DONE]")
	require.NoError(t, <-ended)
	_, err = http.Get(urls[4])
	require.Error(t, err)
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	const up = "--upstream http://127.0.0.1:1/v1 "
	for _, args := range []string{
		"", "x", "--no-such-option", up + "--admin :9090", up + "--admin 192.0.2.1:80", up + "--admission maybe", up + "--slo ttft<2s", up + "--timeout 0s",
		up + "--body-timeout -1s", up + "--max-body 0", up + "--max-waiting 0", up + "--max-connections 0", up + "--api-key-env UNSET", up + "--period 1m", up + "--stall-after 0s",
		"--upstream 127.0.0.1:1", "--upstream ftp://x", "--upstream http://user:pass@x/v1", "--upstream http://x/v1?key=1", "--upstream http://[",
		"--simulate " + up, up + " --load 3", up + " --limit 7", up + " --duration 20s", up + " --seed 1", "--simulate --load 0", "--simulate --load NaN", "--simulate --limit -1", "--simulate --duration 1ms", "--simulate --slo ttft<2s",
		up + "--ladder x", up + "--ladder batch:tokens", up + "--class-header X-Class", up + "--class-header X: --ladder default:priority", "--simulate --ladder default:priority",
	} {
		var out, errs bytes.Buffer
		err := run(t.Context(), strings.Fields(args), func(string) string { return "" }, &out, &errs)
		assert.Equal(t, 2, status(err, &errs), args)
		assert.Empty(t, out.String(), args)
		assert.Equal(t, 1, strings.Count(errs.String(), "\n"), "one line: %s", errs.String())
		assert.NotContains(t, errs.String(), "pass@")
	}
	_, err := endpoint("127.0.0.1:8000/v1") // as curl would take it
	assert.EqualError(t, err, "it is no URL: want one such as http://127.0.0.1:8000/v1")
	var out, errs bytes.Buffer
	assert.Equal(t, 1, status(run(t.Context(), strings.Fields(up+"--listen 127.0.0.1:-1"), func(string) string { return "" }, &out, &errs), &errs))
	assert.Zero(t, status(run(t.Context(), []string{"--help"}, func(string) string { return "" }, &out, &errs), &errs))
	assert.Contains(t, out.String(), "-upstream")
}

func TestWhereTheEndpointIs(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8000/v1":           "http://127.0.0.1:8000",
		"http://127.0.0.1:8000/v1/":          "http://127.0.0.1:8000",
		"http://127.0.0.1:8000":              "http://127.0.0.1:8000",
		"https://example.com/openai/api/v1/": "https://example.com/openai/api",
	} {
		u, err := endpoint(text)
		require.NoError(t, err)
		require.Equal(t, want, u.String())
	}
}
