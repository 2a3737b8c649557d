package compat_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/compat"
	"github.com/goodputkit/goodputkit/slo"
)

// golden is what the peers' own functions make of testdata/records.jsonl: see testdata/golden.py, which made it.
type golden struct {
	Commits map[string]string
	Scores  map[string]map[string]json.RawMessage
}

var goldenNames = map[compat.Tool]string{compat.VLLM: "vllm", compat.AIPerf: "aiperf", compat.GuideLLM: "guidellm",
	compat.InferencePerf: "inference-perf", compat.DistServe: "distserve", compat.MLPerf: "mlperf"}

func readRecords(t testing.TB) (all []*goodput.Record) {
	f, err := os.Open("testdata/records.jsonl")
	require.NoError(t, err)
	defer f.Close()
	rr, err := goodput.ReadRecords(f)
	require.NoError(t, err)
	for r, err := range rr.All() {
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

func readGolden(t testing.TB) (g golden) {
	text, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &g))
	return g
}

func compare(s slo.SLO, records []*goodput.Record) *compat.Comparison {
	c := compat.NewScorer(s)
	for _, r := range records {
		c.Observe(r)
	}
	return c.Compare()
}

// The SLO that golden.py judges by.
var goldenSLO = slo.MustParse("ttft p95 < 400ms, tpot p95 < 30ms, e2e p95 < 2500ms")

func TestPeersOwnFunctionsSayTheSame(t *testing.T) {
	g := readGolden(t)
	c := compare(goldenSLO, readRecords(t))
	for _, s := range c.Scores {
		t.Run(string(s.Tool), func(t *testing.T) {
			want := g.Scores[goldenNames[s.Tool]]
			seen := 0
			number := func(key string, got float64) {
				raw, ok := want[key]
				if !ok {
					return
				}
				var w float64
				require.NoError(t, json.Unmarshal(raw, &w), key)
				require.InEpsilon(t, w, got, 1e-9, key)
				seen++
			}
			number("completed", float64(s.Completed))
			number("failed", float64(s.Failed))
			number("requests", float64(s.Requests))
			number("good", float64(s.Good))
			number("attainment", s.Attainment)
			number("duration_s", s.DurationS)
			number("throughput_rps", s.ThroughputRPS)
			number("goodput_rps", s.GoodputRPS)
			number("output_tps", s.OutputTPS)
			number("total_tps", s.TotalTPS)
			for key, d := range map[string]compat.Distribution{"ttft": s.TTFT, "tpot": s.TPOT, "itl": s.ITL, "e2e": s.E2E} {
				raw, ok := want[key]
				if !ok {
					require.True(t, key == "itl", key)
					continue
				}
				var w struct{ Mean, P50, P90, P95, P99 *float64 }
				require.NoError(t, json.Unmarshal(raw, &w))
				tolerance := 1e-7 // the peers subtract float64 instants of some thousand seconds
				if key == "itl" && d.N > 1000 {
					tolerance = 0.01 // of a digest
				}
				for name, v := range map[string][2]*float64{"mean": {w.Mean, &d.Mean}, "p50": {w.P50, &d.P50}, "p90": {w.P90, &d.P90}, "p95": {w.P95, &d.P95}, "p99": {w.P99, &d.P99}} {
					if v[0] != nil {
						require.InEpsilon(t, *v[0], *v[1], tolerance, "%s %s", key, name)
						seen++
					}
				}
			}
			require.Greater(t, seen, 4)
			b, ok := compat.Rules(s.Tool)
			require.True(t, ok)
			require.Equal(t, g.Commits[goldenNames[s.Tool]], b.Commit)
		})
	}
}

func TestGoodputNeedsItsRuns(t *testing.T) {
	c := compare(goldenSLO, readRecords(t))
	for _, s := range c.Scores {
		if s.Tool == compat.DistServe || s.Tool == compat.MLPerf {
			require.True(t, math.IsNaN(s.GoodputRPS), s.Tool)
		}
	}
}
