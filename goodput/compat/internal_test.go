package compat

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// MLPerf's early stopping, by its own function.
func TestMinPassing(t *testing.T) {
	text, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var g struct {
		Scores struct{ MLPerf struct{ Early [][2]uint64 } }
	}
	require.NoError(t, json.Unmarshal(text, &g))
	require.NotEmpty(t, g.Scores.MLPerf.Early)
	for _, e := range g.Scores.MLPerf.Early {
		require.Equal(t, e[1], minPassing(e[0]), "%d above the limit", e[0])
	}
}

func randomRecord(rng *rand.Rand, at time.Time) *goodput.Record {
	all := goodput.Outcomes()
	r := &goodput.Record{Start: at, Sent: time.Duration(rng.IntN(3) * rng.IntN(200) * int(time.Millisecond)), Outcome: goodput.Success}
	if rng.IntN(3) == 0 {
		r.Outcome = all[rng.IntN(len(all))]
	}
	t := r.Sent
	for range rng.IntN(6) {
		t += time.Duration(rng.IntN(100)) * time.Millisecond
		r.Tokens = append(r.Tokens, goodput.Token{At: t, N: rng.IntN(4)})
	}
	r.End = t + time.Duration(rng.IntN(50))*time.Millisecond
	r.OutputTokens = rng.IntN(8)
	if rng.IntN(5) == 0 {
		r.Limits = map[slo.Metric]float64{slo.TTFT: 0.05 * float64(rng.IntN(4)), slo.TPOT: 0.02}
	}
	return r
}

// Our own rules, as the chain of differences takes them for its start, are those of goodput's report; without thresholds
// that requests brought along they are so with every value computed anew; and what the rules of a tool make, taken over
// one after the other, adds up to the tool's own figure.
func TestRulesAddUp(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		text := []string{"ttft p95 < 120ms, tpot p95 < 40ms, e2e p95 < 400ms", "ttft p90 < 100ms, itl p99 < 50ms, error_rate < 1%",
			"tpot p95 < 40ms, undefined tpot: excluded", "tpot p50 < 30ms, speed p95 >= 20tok/s, undefined tpot: holds", "e2e p95 < 100ms + 20ms/token, ttft p99 < 150ms"}[seed%5]
		s := NewScorer(slo.MustParse(text))
		limits := seed%2 == 0
		for range 60 {
			r := randomRecord(rng, time.Unix(1000, 0).Add(time.Duration(rng.IntN(10_000))*time.Millisecond))
			if !limits {
				r.Limits = nil
			}
			s.Observe(r)
		}
		c := s.Compare()
		var own rules
		n, ok := s.share(&own)
		require.Equal(t, c.Report.Offered, n, text)
		require.Equal(t, c.Report.Good, ok, text)
		if !limits {
			anew := rules{noLimits: true, known: []slo.Metric{slo.TTFT, slo.TPOT, slo.E2E}}
			masked := rules{known: anew.known}
			require.Zero(t, s.changed(&masked, &anew), text)
		}
		for _, score := range c.Scores {
			if score.Attainment != score.Attainment {
				continue
			}
			sum := c.Ours.Attainment
			for _, d := range score.Differences {
				if d.Points == d.Points {
					sum += d.Points
				}
			}
			require.InDelta(t, score.Attainment, sum, 1e-12, "%s: %s", score.Tool, text)
		}
	}
}

// What is kept of a string is its beginning and its end, however it came.
func TestKeeper(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := make([]byte, rng.IntN(2000))
		for i := range text {
			text[i] = byte('a' + rng.IntN(26))
		}
		var k keeper
		for rest := text; len(rest) > 0; {
			n := 1 + rng.IntN(min(len(rest), 1+rng.IntN(800)))
			if rng.IntN(3) == 0 {
				n = 1
				k.add(rest[0])
			} else {
				k.addAll(rest[:n])
			}
			rest = rest[n:]
		}
		want := string(text)
		if len(text) > maxHead+maxTail {
			want = string(text[:maxHead]) + "…" + string(text[len(text)-maxTail:])
		}
		require.Equal(t, want, k.text())
	}
}
