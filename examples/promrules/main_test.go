package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput/monitor/openslo"
	"github.com/goodputkit/goodputkit/slo"
)

func TestItWritesRulesTestsAndADashboard(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	require.NoError(t, run([]string{"ttft p95 < 800ms, error_rate < 1%", "--out", dir, "--name", "chat", "--job", "api"}, &out))
	for _, name := range []string{"goodput-rules.yaml", "goodput-rules-1h.test.yaml", "goodput-dashboard.json", "goodput-openslo.yaml"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Contains(t, string(text), "chat")
		require.Contains(t, out.String(), name)
	}
	require.Contains(t, out.String(), "scrape and evaluate at least every 1m15s, and keep samples for 720h0m0s\n")
	file, err := os.Open(filepath.Join(dir, "goodput-openslo.yaml"))
	require.NoError(t, err)
	defer file.Close()
	d, err := openslo.Read(file)
	require.NoError(t, err)
	want := slo.MustParse("ttft p95 < 800ms, error_rate < 1%")
	want.Name = "chat"
	require.Equal(t, want, d.SLO)
}

func TestItSaysWhatItLeavesOut(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"--out", t.TempDir(), "--source", "vllm", "ttft p95 < 800ms, error_rate < 1%"}, &out))
	require.Contains(t, out.String(), "(-6.25%)")
	require.Contains(t, out.String(), "left out: error_rate < 1%")
}

func TestItRefusesWhatCannotBeMeant(t *testing.T) {
	var out bytes.Buffer
	require.Error(t, run([]string{"ttft < 800ms"}, &out))
	require.Error(t, run([]string{"ttft p95 < 800ms", "--source", "tgi"}, &out))
	require.Error(t, run([]string{"ttft p95 < 800ms", "--period", "1m"}, &out))
	require.ErrorIs(t, run([]string{"ttft p95 < 800ms", "--service", "a b"}, &out), openslo.ErrInexpressible)
	require.Error(t, run(nil, &out))
}

// Help says what the argument is, and is no error.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"ttft p95 < 800ms", "--help"}} {
		var out, stderr bytes.Buffer
		require.Zero(t, status(run(args, &out), &stderr))
		require.Contains(t, out.String(), "Usage: promrules SLO [options]\n")
		require.Contains(t, out.String(), "-source")
		require.Empty(t, stderr.String())
	}
	var out, stderr bytes.Buffer
	require.Equal(t, 2, status(run([]string{"ttft p95 < 800ms", "--nonsense"}, &out), &stderr))
	require.Empty(t, out.String())
	require.Equal(t, "promrules: flag provided but not defined: -nonsense (--help lists the options)\n", stderr.String())
}
