package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

func report(offered, throughput, goodputRate float64) *goodput.Report {
	return &goodput.Report{OfferedRPS: offered, ThroughputRPS: throughput, GoodputRPS: goodputRate}
}

func TestTheSentenceSaysWhatTheReportsShow(t *testing.T) {
	past := compare([]*goodput.Report{report(8, 8, 8), report(14, 13.9, 13.5), report(22, 17, 0.4)})
	assert.Equal(t, "From 14 to 22 requests/s offered, throughput rises from 13.9 to 17 (+22 %) and goodput falls from 13.5 to 0.4 (-97 %): "+
		"the engine does more work, and its users get less of it in time.", past)
	below := compare([]*goodput.Report{report(1, 1, 1), report(2, 2, 2), report(4, 4, 3.9)})
	assert.Equal(t, "From 2 to 4 requests/s offered, throughput rises from 2 to 4 (+100 %) and goodput rises from 2 to 3.9 (+95 %): "+
		"at these loads the engine is not past its limit.", below)
	both := compare([]*goodput.Report{report(10, 9, 8), report(20, 7, 1)})
	assert.Contains(t, both, "less of both")
	assert.Contains(t, compare([]*goodput.Report{report(0, 0, 0), report(1, 1, 1)}), "rises from 0 to 1")
	assert.Contains(t, compare([]*goodput.Report{report(1, 1, 1)}), "no curve")
}

func TestLowLoadsGetTheOppositeSentence(t *testing.T) {
	var out, errs bytes.Buffer
	dir := t.TempDir()
	require.NoError(t, run(context.Background(), []string{"--rates", "8,40", "--warmup", "0s", "--duration", "1s", "--slo", "e2e p50 < 1m",
		"--records", dir}, &out, &errs), errs.String())
	assert.Contains(t, out.String(), "not past its limit")
	f, err := os.Open(filepath.Join(dir, "40-rps.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	r, err := goodput.ReadReport(f)
	require.NoError(t, err)
	assert.Contains(t, out.String(), r.String(), "the records give the report that was printed")
}

func TestRatesThatCannotBeMeant(t *testing.T) {
	for _, bad := range []string{"", "x", "0", "-1", "1,,2", "NaN", "Inf"} {
		var r rates
		assert.Error(t, r.Set(bad), bad)
	}
}
