package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

func call(t *testing.T, env map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
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
	assert.Contains(t, out, "at least load 2")
	assert.NotContains(t, out+errs, "sk-do-not-print-me")
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
