package slo

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseVLLM(t *testing.T) {
	for text, want := range map[string]string{
		"ttft:800 tpot:50 e2el:8000":            "ttft p95 < 800ms, tpot p95 < 50ms, e2e p95 < 8s",
		" e2el:8000.0 ,\n TTFT:0.5 ":            "e2e p95 < 8s, ttft p95 < 500µs",
		"tpot:33.3333333333333333":              "tpot p95 < 33.333333ms",
		"ttft:" + strings.Repeat("0", 64) + "9": "ttft p95 < 9ms",
	} {
		s, err := ParseVLLM(text, P95)
		require.NoError(t, err, text)
		assert.Equal(t, want, s.String())
		assert.Equal(t, MustParse(want), s)
	}
	s, err := ParseVLLM("ttft:800", 99.99)
	require.NoError(t, err)
	assert.Equal(t, "ttft p99.99 < 800ms", s.String())
}

func TestParseVLLMRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		kind error
		at   string
		says string
	}{
		{"", ErrEmpty, "", "write ttft:2000"},
		{" , ", ErrEmpty, "", "write ttft:2000"},
		{"ttft", ErrSyntax, "ttft", "write ttft:800"},
		{"ttft:1:2", ErrSyntax, "ttft:1:2", "write ttft:1"},
		{"ttft 800", ErrSyntax, "ttft", "write ttft:800"},
		{"itl:50", ErrMetric, "itl", "ttft, tpot and e2el"},
		{"e2e:50", ErrMetric, "e2e", "ttft, tpot and e2el"},
		{"ttft:", ErrThreshold, "", "write ttft:800"},
		{"ttft:800ms", ErrThreshold, "800ms", "bare number of milliseconds"},
		{"ttft:1e3", ErrThreshold, "1e3", "bare number"},
		{"ttft:1/2", ErrThreshold, "1/2", "bare number"},
		{"ttft:nan", ErrThreshold, "nan", "bare number"},
		{"ttft:-5", ErrThreshold, "-5", "not negative"},
		{"ttft:0", ErrThreshold, "0", "at least 1ns"},
		{"ttft:1 tpot:9999999999", ErrThreshold, "9999999999", "at most 720h"},
		{"ttft:1 ttft:2", ErrDuplicate, "ttft:2", "already"},
		{"ttft p95 < 2s", ErrSyntax, "ttft", "write ttft:800"},
	} {
		_, err := ParseVLLM(c.text, P95)
		at := checkParseError(t, c.text, err)
		assert.ErrorIs(t, err, c.kind, c.text)
		assert.Equal(t, c.at, at.Piece, c.text)
		assert.Contains(t, err.Error(), c.says, c.text)
	}
	_, err := ParseVLLM(strings.Repeat(" ", MaxText+1), P95)
	assert.ErrorIs(t, err, ErrTooLong)

	for _, p := range []Percentile{0, 100, 999, -1, 99.99999, Percentile(math.NaN())} {
		_, err := ParseVLLM("ttft:800", p)
		assert.ErrorIs(t, err, ErrPercentile)
	}
}
