package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/examples/internal/readme"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

func call(t *testing.T, env map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if !slices.Contains(args, "--html") {
		args = slices.Concat([]string{"--html", filepath.Join(t.TempDir(), "report.html")}, args)
	}
	status = run(context.Background(), args, func(k string) string { return env[k] }, &out, &errs)
	return status, out.String(), errs.String()
}

func TestSearchOfTheSimulatedEngine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limit.json")
	status, out, errs := call(t, nil, "--start", "32", "--duration", "1m", "--warmup", "10s", "--probes", "6", "--slo", "ttft p50 < 500ms", "--json", file)
	assert.Equal(t, exitFound, status, out+errs)
	assert.Contains(t, out, "Goodput limit")
	assert.Equal(t, 7, strings.Count(errs, "valid")+1, "a row for each probe:\n%s", errs)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var j struct {
		State  string
		Rate   float64
		Probes []any
	}
	require.NoError(t, json.Unmarshal(text, &j))
	assert.Equal(t, "found", j.State)
	assert.InDelta(t, 66, j.Rate, 4)
	assert.Len(t, j.Probes, 6)
}

// What was found is in each file, the limit with its interval first.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	name := func(ending string) string { return filepath.Join(dir, "report."+ending) }
	args := []string{"--duration", "30s", "--warmup", "5s", "--html", name("html"), "--markdown", name("md"), "--csv", name("csv"), "--json", name("json")}
	read := func(ending string) string {
		text, err := os.ReadFile(name(ending))
		require.NoError(t, err)
		return string(text)
	}
	status, _, errs := call(t, nil, append(args, "--sweep", "8,64,128")...)
	assert.Equal(t, exitFound, status, errs)
	assert.Contains(t, errs, "written: "+name("html"))
	assert.Contains(t, read("html"), "Capacity of a simulated engine, OPT-13B on four A100")
	assert.Contains(t, read("md"), "| 128/s |")
	assert.Equal(t, 4, strings.Count(read("csv"), "\r\n"))
	assert.True(t, json.Valid([]byte(read("json"))))

	status, _, errs = call(t, nil, append(args, "--start", "32", "--probes", "5", "--slo", "ttft p50 < 500ms")...)
	assert.Equal(t, exitFound, status, errs)
	assert.Contains(t, read("html"), "the highest rate at which the SLO is met is")
	assert.Contains(t, read("md"), "95% interval")
	assert.Equal(t, 6, strings.Count(read("csv"), "\r\n"))

	for _, loads := range []string{"8,c4", "Inf", "NaN", "-1", "c0", "8,,16"} {
		status, _, errs = call(t, nil, "--sweep", loads)
		assert.Equal(t, exitUsage, status, errs)
	}
	status, _, errs = call(t, nil, "--sweep", "8", "--duration", "10s", "--html", filepath.Join(dir, "none", "report.html"))
	assert.Equal(t, exitError, status, errs)
}

func TestSweepOfTheSimulatedEngine(t *testing.T) {
	args := []string{"--duration", "30s", "--warmup", "5s", "--sweep"}
	status, out, errs := call(t, nil, append(args, "8,64,128")...)
	assert.Equal(t, exitFound, status, errs)
	assert.Contains(t, out, "interpolated between 64/s and 128/s")
	assert.Contains(t, errs, "128/s")
	status, out, _ = call(t, nil, append(args, "c1, c2")...)
	assert.Equal(t, exitUnknown, status)
	assert.Contains(t, out, "at least load 2")
	status, _, _ = call(t, nil, append(args, "8", "--slo", "ttft p95 < 1us")...)
	assert.Equal(t, exitNeverMet, status)
}

func TestAnEndpoint(t *testing.T) {
	s := httptest.NewServer(llmsim.NewFixedServer(0, 0))
	defer s.Close()
	env := map[string]string{"LLM_URL": s.URL + "/v1", "LLM_MODEL": "m", "LLM_API_KEY": "sk-do-not-print-me"}
	status, out, errs := call(t, env, "--sweep", "c1,c2", "--duration", "100ms", "--warmup", "0s", "--slo", "e2e p50 < 1h")
	assert.Equal(t, exitUnknown, status, errs)
	// On a busy machine the client of a load may not be sound, which is then left out; it may be that of both.
	assert.Regexp(t, "at least load [12]|there is nothing to judge", out)
	assert.NotContains(t, out+errs, "sk-do-not-print-me")

	// Of an address with a secret in it the page has the host alone.
	page := filepath.Join(t.TempDir(), "report.html")
	env["LLM_URL"] = s.URL + "/v1?token=secret-word"
	_, _, errs = call(t, env, "--sweep", "c1,c2", "--duration", "100ms", "--warmup", "0s", "--slo", "e2e p50 < 1h", "--html", page)
	text, err := os.ReadFile(page)
	require.NoError(t, err, errs)
	assert.Contains(t, string(text), "m at "+strings.TrimPrefix(s.URL, "http://"))
	assert.NotContains(t, string(text), "secret-word")
	assert.NotContains(t, string(text), "sk-do-not-print-me")
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	for _, args := range [][]string{
		{"--sweep", "1,x"}, {"--sweep", "c0"}, {"--sweep", "1,c2"}, {"--start", "-1"}, {"--duration", "0s"}, {"--probes", "0"}, {"--slo", "ttft < 2s"}, {"x"},
		{"--input-tokens", "0"}, {"--no-such-option"},
	} {
		status, out, errs := call(t, nil, args...)
		assert.Contains(t, []int{exitUsage, exitError}, status, args)
		assert.Empty(t, out, args)
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
	status, out, _ := call(t, nil, "--help")
	assert.Equal(t, exitFound, status)
	assert.Contains(t, out, "-sweep")
}

func TestWhatTheReadmeShows(t *testing.T) {
	args, lines := readme.Shown(t, "go run ./examples/capacity")
	status, text, says := call(t, nil, args...)
	require.Equal(t, exitFound, status, says)
	readme.Prints(t, text, lines)
}
