package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// trace writes a file of n requests, one a second.
func trace(t *testing.T, n int) string {
	var b strings.Builder
	b.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	for i := range n {
		fmt.Fprintf(&b, "2023-11-16 18:%02d:%02d.0000000,1000,200\n", i/60, i%60)
	}
	name := filepath.Join(t.TempDir(), "trace.csv")
	require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o600))
	return name
}

func TestFasterIsWorse(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), []string{"--trace", trace(t, 1200), "--speed", "1,50"}, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 6, out.String())
	assert.Contains(t, lines[4], "100.0 %")
	assert.Contains(t, lines[5], "missed")
	assert.Equal(t, []string{"1", "1.00"}, strings.Fields(lines[4])[:2])
	assert.Equal(t, []string{"50", "50.00"}, strings.Fields(lines[5])[:2], "the rate at which they came, however long they took")
}

func TestWhatCannotBeMeant(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, 2},
		{[]string{"--trace", trace(t, 2), "--speed", "1,0"}, 2},
		{[]string{"--trace", "f", "--slo", "ttft < 2s"}, 2},
		{[]string{"--trace", trace(t, 2), "--first", "-5s"}, 2},
		{[]string{"--trace", "f", "--no-such-option"}, 2},
		{[]string{"--trace", "f", "--speed", "1e-300"}, 2},
		{[]string{"--trace", "no-such-file.csv"}, 1},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, c.want, status(run(context.Background(), c.args, &out), &errs), c.args)
		assert.Empty(t, out.String(), c.args)
		assert.Equal(t, 1, strings.Count(errs.String(), "\n"), "one line: %s", errs.String())
	}
}

func TestHelpIsNoError(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Zero(t, status(run(context.Background(), []string{"--help"}, &out), &errs))
	assert.Contains(t, out.String(), "-speed")
	assert.Empty(t, errs.String())
}

// A figure that there is not is no number.
func TestOneRequestHasNoRate(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), []string{"--trace", trace(t, 1), "--speed", "1"}, &out))
	assert.NotContains(t, out.String(), "NaN")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	assert.Equal(t, []string{"1", "–"}, strings.Fields(lines[len(lines)-1])[:2])
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWhatCannotBeShownIsNoSuccess(t *testing.T) {
	for _, more := range []string{"--reports=false", "--reports"} {
		assert.EqualError(t, run(context.Background(), []string{"--trace", trace(t, 2), "--speed", "1", more}, full{}), "no space left")
	}
}
