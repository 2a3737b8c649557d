package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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
	down := &goodput.Report{Verdict: goodput.Missed, Offered: 5, Outcomes: map[goodput.Outcome]uint64{goodput.ConnectionError: 5}}
	assert.Equal(t, exitUnmeasured, status(down))

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
	assert.Equal(t, exitMissed, status, out)
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

func TestHelpIsNoError(t *testing.T) {
	status, out, errs := call(t, "http://127.0.0.1:1/v1", "--help")
	assert.Equal(t, exitMet, status)
	assert.Contains(t, out, "-concurrency")
	assert.Empty(t, errs)
}

func TestAliases(t *testing.T) {
	o, err := parse([]string{"--slo-seconds", "2.5", "--timeout-seconds", "7", "--duration", "3s"}, os.Getenv, &bytes.Buffer{})
	require.NoError(t, err)
	assert.Equal(t, "e2e p95 < 2.5s", o.slo.String())
	assert.Equal(t, 7*time.Second, o.timeout)
	assert.Zero(t, o.requests, "a run by time ends by time")
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
	status, out, errs := call(t, url+"/v1", "--requests", "400", "--rate", "100000", "--slo", "ttft p50 < 1h", "--warmup", "auto", "--cooldown", "1ms")
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
		got, out, errs := call(t, s.URL, append(args, "--requests", "20", "--output-tokens", "2", "--slo", "e2e p50 < 1h")...)
		assert.Contains(t, answered, got, errs)
		assert.Contains(t, out, "20 of 20 requests on a connection that was there before")
		assert.NotContains(t, out, "repeated")
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
