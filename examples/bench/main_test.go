package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// call runs the program on an endpoint.
func call(t *testing.T, url string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := map[string]string{"LLM_URL": url, "LLM_MODEL": "fixed", "LLM_API_KEY": "sk-do-not-print-me"}
	status = run(context.Background(), args, func(k string) string { return env[k] }, &out, &errs)
	assert.NotContains(t, out.String()+errs.String(), "sk-do-not-print-me")
	return status, out.String(), errs.String()
}

func serve(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestTheExitStatusIsTheVerdict(t *testing.T) {
	for verdict, want := range map[goodput.Verdict]int{
		goodput.Met: exitMet, goodput.Missed: exitMissed, goodput.Inconclusive: exitInconclusive, goodput.NoData: exitInconclusive,
	} {
		assert.Equal(t, want, status(&goodput.Report{Verdict: verdict}), verdict)
	}

	busy := &goodput.Report{Verdict: goodput.Met, Health: &goodput.ClientHealth{Verdict: goodput.Invalid}}
	assert.Equal(t, exitInconclusive, status(busy))

	url := serve(t, llmsim.NewFixedServer(0, 0))
	common := []string{"--requests", "200", "--output-tokens", "2"}
	got, out, _ := call(t, url+"/v1/chat/completions", append(common, "--slo", "e2e p50 < 1h")...)
	assert.Contains(t, answered, got, out)
	assert.Contains(t, out, "200 offered = 200 good")
	got, out, _ = call(t, url+"/v1", append(common, "--slo", "e2e p50 < 1ns")...)
	assert.Contains(t, []int{exitMissed, exitInconclusive}, got, out) // the latter where the machine is busy
	assert.Contains(t, out, "0 good")
	got, out, _ = call(t, url+"/v1", "--requests", "10", "--output-tokens", "2", "--slo", "e2e p99 < 1h")
	assert.Equal(t, exitInconclusive, got, "ten requests cannot show a P99:\n%s", out)
}

// answered are the exit statuses of a run whose requests were all good. Which of them is a matter of how even the times
// were, and so of the machine.
var answered = []int{exitMet, exitInconclusive}

func TestAnEndpointThatIsNotThereIsSaid(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "http://" + l.Addr().String() + "/v1"
	require.NoError(t, l.Close())
	status, out, errs := call(t, url, "--requests", "3")
	assert.Equal(t, exitUnmeasured, status)
	assert.Empty(t, out)
	assert.Contains(t, errs, "cannot reach "+strings.TrimSuffix(url, "/v1"))
}

func TestAnAddressThatIsNone(t *testing.T) {
	status, _, errs := call(t, "127.0.0.1:8000/v1")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errs, "LLM_URL")
}

func TestAllFailedIsNoSuccess(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no", http.StatusInternalServerError)
	}))
	status, out, _ := call(t, url+"/v1", "--requests", "50")
	assert.Contains(t, []int{exitMissed, exitInconclusive}, status, "of a client that was slower than this server nothing is said:\n%s", out)
	assert.Contains(t, out, "server_error")
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	for _, args := range []string{
		"--slo avg(ttft)<2s", "--slo ttft<2s", "--requests -1", "--requests 0", "--concurrency 0", "--connect -1", "--rate -2", "--timeout 0s",
		"--slo-seconds 0", "--slo-seconds 5 --slo e2e_p95<5s", "--timeout-seconds 0", "--timeout-seconds 3 --timeout 3s",
		"--arrivals poisson", "--rate 1 --arrivals gamma", "--rate 1 --arrivals gamma:x", "--rate 1 --arrivals gamma:0", "--rate 1 --arrivals poisson:1",
		`--rate 1 --arrivals {"process":"constant","rate":1}`, `--arrivals {"process":"constant","rate":0}`,
		"--prompts f --input-tokens 3", "--no-such-option", "http://127.0.0.1/v1",
	} {
		var argv []string
		for _, a := range strings.Fields(args) {
			argv = append(argv, strings.ReplaceAll(a, "_", " "))
		}
		status, out, errs := call(t, "http://127.0.0.1:1/v1", argv...)
		assert.Equal(t, exitUsage, status, args)
		assert.Empty(t, out, args)
		assert.Equal(t, 1, strings.Count(errs, "\n"), "one line: %s", errs)
	}
}

// What cannot be meant is found before the run, and said by the name that it was given by.
func TestTheOptionAtFaultIsNamed(t *testing.T) {
	var requests atomic.Int64
	h := llmsim.NewFixedServer(0, 0)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests.Add(1); h.ServeHTTP(w, r) })) + "/v1"
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	noJSON, prompts, old := file("prompts.txt", "what is goodput\n"), file("prompts.jsonl", `{"prompt": "what is goodput"}`), file("old", "of before")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--input-tokens", "30", "--tokens-per-word", "0"}, "--tokens-per-word is 0: want more than 0"},
		{[]string{"--tokens-per-word", "1.3"}, "give both"},
		{[]string{"--prompts", filepath.Join(dir, "nope")}, "--prompts: "},
		{[]string{"--prompts", noJSON}, "--prompts: "},
		{[]string{"--records", filepath.Join(dir, "nope", "x")}, "--records: "},
		{[]string{"--json", filepath.Join(dir, "nope", "x")}, "--json: "},
		{[]string{"--records", old, "--json", filepath.Join(dir, ".", "old")}, "--records and --json are one file"},
		{[]string{"--prompts", prompts, "--records", prompts}, "--prompts and --records are one file"},
		{[]string{"--records", "-", "--json", "-"}, "cannot both be standard output"},
		{[]string{"--records", old, "--slo", "x_foo p95 < 3"}, "--slo: x_foo p95 < 3: the target does not give this metric"},
		{[]string{"--timeout", "5"}, "5s"},
		{[]string{"--timeout", "soon"}, "such as 1m30s"},
		{[]string{"--duration", "-5s"}, "not negative"},
		{[]string{"--concurrency", "0"}, "1 or more"},
	} {
		status, out, errs := call(t, url, append(c.args, "--requests", "1")...)
		assert.Equal(t, exitUsage, status, c.args)
		assert.Empty(t, out, c.args)
		assert.Contains(t, errs, c.says, c.args)
		assert.Equal(t, 1, strings.Count(errs, "\n"), "one line: %s", errs)
	}
	assert.Zero(t, requests.Load(), "before the run")
	for name, want := range map[string]string{old: "of before", prompts: `{"prompt": "what is goodput"}`} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, want, string(text), "a file is written only by a run")
	}

	status, _, errs := call(t, "127.0.0.1:8000/v1")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errs, "bench: LLM_URL: ")
}

// A wrong address, key or protocol is no slow server.
func TestNothingThatWasMeasured(t *testing.T) {
	say := func(code int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Location", "/login")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		says string
	}{
		"no key":   {say(401, "application/json", `{"error": {"message": "no such key"}}`), "client_error (HTTP"},
		"no path":  {say(404, "text/plain", "not found"), "client_error (HTTP"},
		"redirect": {say(302, "text/html", ""), "client_error ("},
		"a page":   {say(200, "text/html", "<html><body>welcome</body></html>"), "malformed ("},
		"a reset": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if assert.NoError(t, err) {
				_ = c.(*net.TCPConn).SetLinger(0)
				_ = c.Close()
			}
		}, "connection_error ("},
	} {
		status, out, errs := call(t, serve(t, c.h)+"/v1", "--requests", "30")
		assert.Equal(t, exitUnmeasured, status, "%s:\n%s", name, out)
		assert.Contains(t, out, "no request succeeded", name)
		assert.Contains(t, errs, "bench: nothing was measured: of 30 requests not one was answered as it should be: 30 "+c.says, name)
		assert.Equal(t, 1, strings.Count(errs, "\n"), "one line: %s", errs)
	}
	mixed := &goodput.Report{Verdict: goodput.Missed, Offered: 5, Outcomes: map[goodput.Outcome]uint64{goodput.ConnectionError: 3, goodput.ClientError: 2}}
	assert.Equal(t, exitUnmeasured, status(mixed))
	for _, o := range []goodput.Outcome{goodput.Success, goodput.Timeout, goodput.ServerError, goodput.RateLimited} {
		one := &goodput.Report{Verdict: goodput.Missed, Offered: 5, Outcomes: map[goodput.Outcome]uint64{goodput.ConnectionError: 4, o: 1}}
		assert.Equal(t, exitMissed, status(one), "%v is of the server", o)
	}
}

func TestRecordsToStandardOutput(t *testing.T) {
	url := serve(t, llmsim.NewFixedServer(0, 0))
	status, out, errs := call(t, url+"/v1", "--requests", "30", "--slo", "ttft p50 < 1h", "--records", "-")
	assert.Contains(t, answered, status, errs)
	r, err := goodput.ReadReport(strings.NewReader(out))
	require.NoError(t, err)
	assert.EqualValues(t, 30, r.Offered)
	assert.Contains(t, errs, "30 offered = 30 good")
}

// A server that cannot be reached leaves no empty files.
func TestNoFilesOfARunThatWasNone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "records.jsonl")
	status, _, errs := call(t, "http://127.0.0.1:1/v1", "--records", name, "--json", name+".json")
	assert.Equal(t, exitUnmeasured, status, errs)
	assert.NoFileExists(t, name)
	assert.NoFileExists(t, name+".json")
}

func TestHelpIsNoError(t *testing.T) {
	status, out, errs := call(t, "http://127.0.0.1:1/v1", "--help")
	assert.Equal(t, exitMet, status)
	assert.Contains(t, out, "-concurrency")
	assert.Contains(t, out, "with --rate or --arrivals, how many at most (default no limit)")
	assert.Contains(t, out, "(default 30s)")
	assert.Empty(t, errs)
}

func TestAliases(t *testing.T) {
	o, err := parse([]string{"--slo-seconds", "2.5", "--timeout-seconds", "7", "--duration", "3s"}, os.Getenv, &bytes.Buffer{})
	require.NoError(t, err)
	assert.Equal(t, "e2e p95 < 2.5s", o.slo.String())
	assert.Equal(t, 7*time.Second, o.timeout)
	assert.Zero(t, o.requests, "a run by time ends by time")
	o, err = parse([]string{"--slo-seconds", "0.00001"}, os.Getenv, &bytes.Buffer{})
	require.NoError(t, err)
	assert.Equal(t, "e2e p95 < 10µs", o.slo.String())
	o, err = parse(nil, func(string) string { return "" }, &bytes.Buffer{})
	require.NoError(t, err)
	assert.Equal(t, 200, o.requests)
	assert.Equal(t, 16, o.concurrency)
	assert.Equal(t, "e2e p95 < 5s", o.slo.String())
	assert.Equal(t, 30*time.Second, o.timeout)
}

func TestArrivals(t *testing.T) {
	for args, want := range map[string]loadgen.Arrivals{
		"":                                nil,
		"--rate 5":                        loadgen.Poisson{Rate: 5},
		"--rate 5 --arrivals constant":    loadgen.Constant{Rate: 5},
		"--rate 5 --arrivals gamma:0.5":   loadgen.Gamma{Rate: 5, Burstiness: 0.5},
		"--rate 5 --arrivals weibull:0.5": loadgen.Weibull{Rate: 5, Shape: 0.5},
		`--arrivals {"process":"sine","mean":5,"amplitude":4,"period_ns":60000000000}`: loadgen.Sine{Mean: 5, Amplitude: 4, Period: time.Minute},
	} {
		o, err := parse(strings.Fields(args), os.Getenv, &bytes.Buffer{})
		require.NoError(t, err, args)
		assert.Equal(t, want, o.arrivals, args)
	}
}

func TestWarmupAndCooldown(t *testing.T) {
	url := serve(t, llmsim.NewFixedServer(0, 0))
	status, out, errs := call(t, url+"/v1", "--requests", "400", "--rate", "5000", "--slo", "ttft p50 < 1h", "--warmup", "auto", "--cooldown", "1ms")
	require.Contains(t, answered, status, errs)
	assert.Contains(t, out, "steady state")
	assert.Contains(t, out, "400 offered")
	for _, bad := range []string{"soon", "-1s"} {
		status, _, errs := call(t, url+"/v1", "--warmup", bad)
		assert.Equal(t, exitUsage, status)
		assert.Contains(t, errs, "warmup")
	}
	o, err := parse([]string{"--warmup", "3s", "--cooldown", "2s"}, os.Getenv, &bytes.Buffer{})
	require.NoError(t, err)
	assert.Equal(t, 3*time.Second, o.warmup)
	assert.Equal(t, 2*time.Second, o.cooldown)
}

func TestConnections(t *testing.T) {
	s := httptest.NewUnstartedServer(llmsim.NewFixedServer(0, 0))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	for _, args := range [][]string{{"--connect", "4", "--concurrency", "4"}, {"--connect", "4", "--concurrency", "1", "--http2"}} {
		// What follows an answer has 50 ms to come, which on a busy machine can be too little to keep the connection: then once more.
		require.Eventually(t, func() bool {
			got, out, errs := call(t, s.URL, append(args, "--requests", "20", "--output-tokens", "2", "--slo", "e2e p50 < 1h")...)
			assert.Contains(t, answered, got, errs)
			assert.NotContains(t, out, "repeated")
			return strings.Contains(out, "20 of 20 requests on a connection that was there before")
		}, time.Minute, time.Millisecond)
	}
}

func TestFilesThatAreWritten(t *testing.T) {
	url := serve(t, llmsim.NewFixedServer(0, 0))
	dir := t.TempDir()
	prompts := filepath.Join(dir, "prompts.jsonl")
	require.NoError(t, os.WriteFile(prompts, []byte(`{"prompt": "what is goodput", "max_tokens": 3}`+"\n"), 0o600))
	records := filepath.Join(dir, "records.jsonl")
	status, out, errs := call(t, url+"/v1", "--requests", "30", "--slo", "ttft p50 < 1h", "--prompts", prompts,
		"--records", records, "--json", "-", "--rate", "100000", "--concurrency", "4")
	require.Contains(t, answered, status, errs)

	var r goodput.Report
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	assert.EqualValues(t, 30, r.Offered)
	assert.Equal(t, 3.0, r.Percentiles["output_tokens"].P50, "the prompt's own limit")

	f, err := os.Open(records)
	require.NoError(t, err)
	defer f.Close()
	again, err := goodput.ReadReport(f)
	require.NoError(t, err)
	assert.Equal(t, r.Good, again.Good)
	assert.Equal(t, r.Fingerprint, again.Fingerprint)
	text, err := os.ReadFile(records)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "what is goodput", "no prompt is written down")
}

func TestWithoutAStreamThereIsNoTTFT(t *testing.T) {
	url := serve(t, llmsim.NewFixedServer(0, 0))
	status, _, errs := call(t, url+"/v1", "--requests", "3", "--no-stream", "--slo", "ttft p95 < 1s")
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errs, "ttft")
	assert.Contains(t, errs, "--no-stream")
	status, out, _ := call(t, url+"/v1", "--requests", "30", "--no-stream", "--slo", "e2e p50 < 1h")
	assert.Contains(t, answered, status, out)
	assert.Contains(t, out, "30 offered = 30 good")
}

// full is a place that has no room left.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// What was measured is shown where a file could not be written, and what could not be shown is no success.
func TestNoSpaceLeft(t *testing.T) {
	url := serve(t, llmsim.NewFixedServer(0, 0)) + "/v1"
	env := func(k string) string { return map[string]string{"LLM_URL": url, "LLM_MODEL": "fixed"}[k] }
	args := []string{"--requests", "30", "--output-tokens", "2", "--slo", "e2e p50 < 1h"}
	var out, errs bytes.Buffer
	assert.Equal(t, exitUnmeasured, run(t.Context(), append(args, "--records", "-"), env, full{}, &errs))
	assert.Contains(t, errs.String(), "30 offered = 30 good")
	assert.Contains(t, errs.String(), "bench: loadgen: Plan.Records is incomplete: no space left on device\n")

	errs.Reset()
	assert.Equal(t, exitUnmeasured, run(t.Context(), append(args, "--json", "-"), env, full{}, &errs))
	assert.Contains(t, errs.String(), "30 offered = 30 good")
	assert.Contains(t, errs.String(), "bench: no space left on device\n")

	errs.Reset()
	assert.Equal(t, exitUnmeasured, run(t.Context(), args, env, full{}, &errs))
	assert.Equal(t, "bench: no space left on device\n", errs.String())

	if _, err := os.Stat("/dev/full"); err == nil {
		errs.Reset()
		assert.Equal(t, exitUnmeasured, run(t.Context(), append(args, "--records", "/dev/full"), env, &out, &errs))
		assert.Contains(t, out.String(), "30 offered = 30 good")
		assert.Equal(t, "bench: loadgen: Plan.Records is incomplete: write /dev/full: no space left on device\n", errs.String())
	}
}
