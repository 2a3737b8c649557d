package compat_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/compat"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

func TestNobody(t *testing.T) {
	c := compat.NewScorer(slo.MustParse("ttft p95 < 1s, error_rate < 1%")).Compare()
	for _, s := range c.Scores {
		require.Zero(t, s.Requests, s.Tool)
		require.True(t, math.IsNaN(s.Attainment), s.Tool)
		require.True(t, math.IsNaN(s.GoodputRPS), s.Tool)
	}
	require.NotContains(t, c.String(), "NaN")
	_, err := json.Marshal(c)
	require.NoError(t, err)
}

// Of what does not stream vLLM has no goodput, GuideLLM decides nothing, and AIPerf finds no ttft.
func TestNothingStreams(t *testing.T) {
	var records []*goodput.Record
	for i := range 30 {
		records = append(records, &goodput.Record{Start: time.Unix(int64(i), 0), End: 500 * time.Millisecond, Outcome: goodput.Success})
	}
	c := compare(slo.MustParse("ttft p95 < 1s"), records)
	by := map[compat.Tool]compat.Score{}
	for _, s := range c.Scores {
		by[s.Tool] = s
	}
	require.EqualValues(t, 30, by[compat.VLLM].Completed)
	require.True(t, math.IsNaN(by[compat.VLLM].GoodputRPS))
	require.Zero(t, by[compat.GuideLLM].Requests)
	require.Contains(t, c.String(), "30 answers of one token, or whose steps are not to be seen, are left out")
	require.Zero(t, by[compat.AIPerf].Attainment)
	require.EqualValues(t, 30, by[compat.AIPerf].Requests)

	c = compare(slo.MustParse("e2e p95 < 1s"), records)
	require.Equal(t, 1.0, c.Scores[1].Attainment, "AIPerf")
}

func TestTextFitsAndMarkdownHoldsItsTable(t *testing.T) {
	c := compare(goldenSLO, readRecords(t))
	for line := range strings.Lines(c.String()) {
		require.LessOrEqual(t, figure.Width(strings.TrimSuffix(line, "\n")), 100, line)
	}
	bars := 0
	for line := range strings.Lines(c.Markdown()) {
		if strings.HasPrefix(line, "|") {
			require.Equal(t, 9, strings.Count(line, "|"), line)
			bars++
		}
	}
	require.Equal(t, len(c.Table())+1, bars)
}

func TestJSON(t *testing.T) {
	c := compare(goldenSLO, readRecords(t))
	text, err := json.Marshal(*c)
	require.NoError(t, err)
	var got struct {
		Format string
		Scores []struct {
			Tool, Commit string
			Attainment   *float64
			Differences  []struct {
				Attainment *float64
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, compat.Format, got.Format)
	require.Equal(t, "goodput", got.Scores[0].Tool)
	require.Len(t, got.Scores, 7)
	for i, s := range got.Scores[1:] {
		require.NotEmpty(t, s.Commit)
		if s.Attainment == nil {
			require.Equal(t, compat.MLPerf, c.Scores[i].Tool)
			continue
		}
		sum := *got.Scores[0].Attainment
		for _, d := range s.Differences {
			if d.Attainment != nil {
				sum += *d.Attainment
			}
		}
		require.InDelta(t, *s.Attainment, sum, 1e-12)
	}
}
