package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/examples/internal/readme"
)

const records = "../../goodput/compat/testdata/records.jsonl"

func call(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, &out, &err)
	return status, out.String(), err.String()
}

func TestRecordsAndBack(t *testing.T) {
	result := filepath.Join(t.TempDir(), "result.json")
	status, text, _ := call(records, "--goodput", "ttft:400 tpot:30 e2el:2500", "--vllm", result)
	require.Zero(t, status)
	require.Contains(t, text, "57.5%", "ours")
	require.Contains(t, text, "34 failed requests left out of the denominator: attainment +13.9 points")

	status, text, _ = call("--goodput", "ttft:400 tpot:30 e2el:2500", "--markdown", result, "--report")
	require.Zero(t, status)
	require.Contains(t, text, "| completed | 156 | 162 |")
	require.True(t, strings.HasPrefix(text, "SLO"), "the report comes first")
}

// The file of records is not written over, by whichever of its names.
func TestDoesNotWriteOverItsInput(t *testing.T) {
	before, err := os.ReadFile(records)
	require.NoError(t, err)
	name, link := filepath.Join(t.TempDir(), "records.jsonl"), filepath.Join(t.TempDir(), "result.json")
	require.NoError(t, os.WriteFile(name, before, 0o600))
	require.NoError(t, os.Symlink(name, link))
	for _, out := range []string{name, link} {
		status, _, says := call(name, "--goodput", "ttft:400", "--vllm", out)
		require.Equal(t, exitError, status)
		require.Contains(t, says, "the file of records itself")
		after, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}

// vLLM writes a result as one line, however long it is.
func TestALongResult(t *testing.T) {
	name := filepath.Join(t.TempDir(), "result.json")
	require.NoError(t, os.WriteFile(name, []byte(`{"generated_texts":["`+strings.Repeat("word ", 1<<19)+`"],"ttfts":[0.1],"itls":[[0.1]],"output_lens":[2],"duration":1,"completed":1}`), 0o600))
	status, out, says := call(name, "--goodput", "ttft:400")
	require.Zero(t, status, says)
	require.Contains(t, out, "100%")
}

func TestRefuses(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.json")
	require.NoError(t, os.WriteFile(other, []byte(`{"duration": 1.5, "completed": 2}`), 0o600))
	for _, test := range []struct {
		args   []string
		status int
		says   string
	}{
		{nil, exitUsage, "which file"},
		{[]string{records}, exitUsage, "no SLO in the file"},
		{[]string{records, "x", "--slo", "e2e p95 < 1s"}, exitUsage, "one file"},
		{[]string{records, "--slo", "e2e < 1s"}, exitUsage, "percentile"},
		{[]string{records, "--slo", "e2e p95 < 1s", "--goodput", "ttft:1"}, exitUsage, "not both"},
		{[]string{"none.json", "--slo", "e2e p95 < 1s"}, exitError, "none.json"},
		{[]string{other, "--slo", "e2e p95 < 1s"}, exitError, "--save-detailed"},
	} {
		status, _, says := call(test.args...)
		require.Equal(t, test.status, status, test.args)
		require.Contains(t, says, test.says)
		require.Equal(t, 1, strings.Count(says, "\n"))
	}
	status, help, _ := call("--help")
	require.Zero(t, status)
	require.Contains(t, help, "-goodput")
}

func TestWhatTheReadmeShows(t *testing.T) {
	args, lines := readme.Shown(t, "go run ./examples/compat")
	status, text, says := call(args...)
	require.Zero(t, status, says)
	readme.Prints(t, text, lines)
}
