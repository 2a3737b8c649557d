package main

import (
	"bytes"
	"context"
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
	require.NoError(t, run(context.Background(), []string{"--trace", trace(t, 1200), "--speed", "1,50"}, &out, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 6, out.String())
	assert.Contains(t, lines[4], "100.0 %")
	assert.Contains(t, lines[5], "missed")
}

func TestWhatCannotBeMeant(t *testing.T) {
	for _, args := range [][]string{{}, {"--trace", "no-such-file.csv"}, {"--trace", trace(t, 2), "--speed", "0"}} {
		var out bytes.Buffer
		assert.Error(t, run(context.Background(), args, &out, &out), args)
	}
}
