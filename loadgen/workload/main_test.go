package workload

import (
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen"
)

// take is the first n requests, or all for n = 0.
func take(seq iter.Seq[*loadgen.Request], n int) []*loadgen.Request {
	var out []*loadgen.Request
	for r := range seq {
		out = append(out, r)
		if len(out) == n {
			break
		}
	}
	return out
}

func prompts(t *testing.T, text string, opts ...Option) *Prompts {
	t.Helper()
	p, err := ReadPrompts("p.jsonl", strings.NewReader(text), opts...)
	require.NoError(t, err)
	return p
}

// publicTrace is a file of the public traces, which are not part of the repository. Where they are missing the test is
// skipped.
func publicTrace(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "traces", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the public traces are not here")
	}
	return path
}
