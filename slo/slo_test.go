package slo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseReadsWhatStringWrites(t *testing.T) {
	const text = "ttft p95 < 800ms, e2e p99.9 < 1s + 40ms/token, speed p95 >= 25tok/s, error_rate < 1%, undefined speed: holds"
	s, err := Parse(text)
	require.NoError(t, err)
	assert.Equal(t, text, s.String())
}
