package goodput

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// vector is a worked case: records in, a report out. They were made by an independent reference.
type vector struct {
	Name, Note string
	SLO        []string
	Classes    map[string][]string
	WindowNS   []int64 `json:"window_ns"`
	Records    []vectorRecord
	Want       map[string]any
}

type vectorRecord struct {
	Class        string
	StartNS      int64      `json:"start_ns"`
	SentNS       int64      `json:"sent_ns"`
	Tokens       [][2]int64 `json:"tokens"`
	FirstOutput  *int64     `json:"first_output_ns"`
	EndNS        int64      `json:"end_ns"`
	InputTokens  int        `json:"input_tokens"`
	OutputTokens int        `json:"output_tokens"`
	Outcome      Outcome
	LimitsNS     map[slo.Metric]int64 `json:"limits_ns"`
}

func (v vectorRecord) record() *Record {
	r := &Record{Class: v.Class, Start: time.Unix(0, v.StartNS), Sent: time.Duration(v.SentNS), End: time.Duration(v.EndNS),
		InputTokens: v.InputTokens, OutputTokens: v.OutputTokens, Outcome: v.Outcome}
	for _, t := range v.Tokens {
		r.Tokens = append(r.Tokens, Token{At: time.Duration(t[0]), N: int(t[1])})
	}
	switch {
	case v.FirstOutput != nil:
		r.FirstOutput = time.Duration(*v.FirstOutput)
	case len(v.Tokens) > 0:
		r.FirstOutput = -1
	}
	for m, ns := range v.LimitsNS {
		if r.Limits == nil {
			r.Limits = map[slo.Metric]float64{}
		}
		r.Limits[m] = float64(ns) / 1e9
	}
	return r
}

func readVectors(t testing.TB) []vector {
	files, err := filepath.Glob("testdata/cases/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 38)
	var all []vector
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		var v vector
		require.NoError(t, json.Unmarshal(b, &v), f)
		all = append(all, v)
	}
	return all
}

func (v vector) accumulator() *Accumulator {
	var opts []Option
	if v.WindowNS != nil {
		opts = append(opts, WithWindow(time.Unix(0, v.WindowNS[0]), time.Unix(0, v.WindowNS[1])))
	}
	if v.Classes != nil {
		set := slo.Set{}
		for class, texts := range v.Classes {
			set[class] = slo.MustParse(strings.Join(texts, ", "))
		}
		opts = append(opts, WithClasses(set))
	}
	return NewAccumulator(slo.MustParse(strings.Join(v.SLO, ", ")), opts...)
}

// jsonOf is a report as its JSON has it, so that the keys are tested too.
func jsonOf(t testing.TB, r *Report) map[string]any {
	b, err := json.Marshal(r)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(b, &m))
	return m
}

func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			a := v.accumulator()
			for _, r := range v.Records {
				a.Observe(r.record())
			}
			r := a.Report()
			requireWanted(t, v.Want, jsonOf(t, r), "")
			requireBooksClose(t, r)
		})
	}
}

// A report is the same whether its records were observed in one place or in several, in whatever order, and whether
// it went through a file.
func TestVectorsInParts(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			whole := v.accumulator()
			parts := []*Accumulator{v.accumulator(), v.accumulator(), v.accumulator()}
			for i := len(v.Records) - 1; i >= 0; i-- {
				parts[i%3].Observe(v.Records[i].record())
			}
			for _, p := range parts {
				b, err := p.MarshalBinary()
				require.NoError(t, err)
				var again Accumulator
				require.NoError(t, again.UnmarshalBinary(b))
				require.NoError(t, whole.Merge(&again))
			}
			b, err := json.Marshal(whole.Report())
			require.NoError(t, err)
			var r Report
			require.NoError(t, json.Unmarshal(b, &r))
			requireWanted(t, v.Want, jsonOf(t, &r), "")
			requireBooksClose(t, &r)
		})
	}
}

// requireWanted requires every number of want to be in got. What is not in want may be 0.
func requireWanted(t *testing.T, want, got map[string]any, at string) {
	for key, w := range want {
		switch key {
		case "classes":
			for class, want := range w.(map[string]any) {
				have, ok := got["classes"].(map[string]any)
				require.True(t, ok, at+"classes")
				require.Contains(t, have, class)
				requireWanted(t, want.(map[string]any), have[class].(map[string]any), at+class+".")
			}
			assert.Len(t, got["classes"], len(w.(map[string]any)))
		case "percentiles":
			requirePercentiles(t, w.(map[string]any), got[key].(map[string]any), at+"percentiles.")
		default:
			requireSame(t, w, got[key], at+key)
		}
	}
	for _, key := range []string{"outcomes", "lost_rps"} {
		assert.Len(t, got[key], len(want[key].(map[string]any)), at+key)
	}
	if _, ok := want["objectives"]; !ok {
		assert.NotContains(t, got, "objectives", at)
	}
}

func requirePercentiles(t *testing.T, want, got map[string]any, at string) {
	for metric, w := range want {
		require.Contains(t, got, metric, at)
		w, g := w.(map[string]any), got[metric].(map[string]any)
		n := w["n"].(float64)
		assert.Equal(t, n, g["n"], at+metric)
		for name, v := range w {
			if n <= 1000 {
				requireSame(t, v, g[name], at+metric+"."+name)
			} else { // the digest's: a thousandth of the ranks, which is this much where these values lie

				assert.InEpsilon(t, v, g[name], 0.005, at+metric+"."+name)
			}
		}
	}
	for _, metric := range []string{"ttft", "ttfo", "tpot", "e2e", "itl", "input_tokens", "output_tokens"} {
		if _, ok := want[metric]; !ok {
			assert.NotContains(t, got, metric, at)
		}
	}
}

func requireSame(t *testing.T, want, got any, at string) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		require.True(t, ok, "%s: %v", at, got)
		for k := range w {
			requireSame(t, w[k], g[k], at+"."+k)
		}
	case []any:
		g, ok := got.([]any)
		require.True(t, ok, "%s: %v", at, got)
		require.Len(t, g, len(w), at)
		for i := range w {
			requireSame(t, w[i], g[i], at)
		}
	case float64:
		g, ok := got.(float64)
		if assert.True(t, ok, "%s: %v, not %v", at, got, w) {
			assert.LessOrEqual(t, math.Abs(w-g), 1e-9*math.Abs(w), "%s: %v, not %v", at, g, w)
		}
	default:
		assert.Equal(t, want, got, at)
	}
}

// requireBooksClose requires that nothing is in a report twice or not at all.
func requireBooksClose(t testing.TB, r *Report) {
	var outcomes uint64
	for _, n := range r.Outcomes {
		outcomes += n
	}
	require.Equal(t, r.Offered, outcomes, "offered = sum of the outcomes")
	require.Equal(t, r.Outcomes[Success], r.Good+r.Late, "success = good + late")
	require.LessOrEqual(t, r.Flow.Good, r.Flow.Success)
	require.LessOrEqual(t, r.Flow.Success, r.Flow.Ended)
	var lost uint64
	for _, n := range r.Lost {
		lost += n
	}
	require.Equal(t, r.Flow.Ended-r.Flow.Good, lost, "lost = throughput − goodput")
	if n := len(r.Classes); n > 0 {
		var sum Report
		for _, c := range r.Classes {
			requireBooksClose(t, c)
			sum.Offered += c.Offered
			sum.Good += c.Good
			sum.Flow.merge(&c.Flow)
		}
		require.Equal(t, [2]uint64{sum.Offered, sum.Good}, [2]uint64{r.Offered, r.Good})
		require.Equal(t, sum.Flow, r.Flow)
	}
}
