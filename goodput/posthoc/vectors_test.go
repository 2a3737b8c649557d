package posthoc

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// run is records, what judges them, and their window.
type run struct {
	name    string
	slo     slo.SLO
	set     slo.Set
	window  []time.Time
	records []*goodput.Record
}

// vectors are the worked cases that package goodput is tested with.
func vectors(t testing.TB) (all []run) {
	files, err := filepath.Glob("../testdata/cases/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 38)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		var v struct {
			SLO      []string
			Classes  map[string][]string
			WindowNS []int64 `json:"window_ns"`
			Records  []struct {
				Class        string
				StartNS      int64 `json:"start_ns"`
				SentNS       int64 `json:"sent_ns"`
				Tokens       [][2]int64
				FirstOutput  *int64 `json:"first_output_ns"`
				EndNS        int64  `json:"end_ns"`
				InputTokens  int    `json:"input_tokens"`
				OutputTokens int    `json:"output_tokens"`
				Outcome      goodput.Outcome
				LimitsNS     map[slo.Metric]int64 `json:"limits_ns"`
			}
		}
		require.NoError(t, json.Unmarshal(b, &v), file)
		one := run{name: filepath.Base(file), slo: slo.MustParse(strings.Join(v.SLO, ", "))}
		for class, texts := range v.Classes {
			if one.set == nil {
				one.set = slo.Set{}
			}
			one.set[class] = slo.MustParse(strings.Join(texts, ", "))
		}
		for _, ns := range v.WindowNS {
			one.window = append(one.window, time.Unix(0, ns))
		}
		for _, x := range v.Records {
			r := &goodput.Record{Class: x.Class, Start: time.Unix(0, x.StartNS), Sent: time.Duration(x.SentNS), End: time.Duration(x.EndNS),
				InputTokens: x.InputTokens, OutputTokens: x.OutputTokens, Outcome: x.Outcome}
			for _, tok := range x.Tokens {
				r.Tokens = append(r.Tokens, goodput.Token{At: time.Duration(tok[0]), N: int(tok[1])})
			}
			if x.FirstOutput != nil {
				r.FirstOutput = time.Duration(*x.FirstOutput)
			} else if len(x.Tokens) > 0 {
				r.FirstOutput = -1
			}
			for m, ns := range x.LimitsNS {
				if r.Limits == nil {
					r.Limits = map[slo.Metric]float64{}
				}
				r.Limits[m] = float64(ns) / 1e9
			}
			one.records = append(one.records, r)
		}
		all = append(all, one)
	}
	return all
}

// randomSLO has objectives on anything, with rules for undefined values. Its thresholds lie on a grid so coarse that the records'
// values hit them, and each other.
func randomSLO(r *rand.Rand) slo.SLO {
	pick := func(texts ...string) string { return texts[r.IntN(len(texts))] }
	p := func() string { return pick("p50", "p90", "p95", "p62.5") }
	ms := func(n int) string { return fmt.Sprintf("%dms", 10*(1+r.IntN(n))) }
	rules := func(metric string) string {
		return pick("", "", ", undefined "+metric+": "+pick("holds", "misses", "excluded"))
	}
	parts := []string{}
	add := func(share float64, text func() string) {
		if r.Float64() < share {
			parts = append(parts, text())
		}
	}
	add(0.6, func() string { return "ttft " + p() + " < " + ms(8) + rules("ttft") })
	add(0.6, func() string { return "tpot " + p() + " < " + pick("7ms", "10ms", "3333333ns") + rules("tpot") })
	add(0.3, func() string { return "ttfo " + p() + " < " + ms(8) + rules("ttfo") })
	add(0.3, func() string { return "itl " + p() + " < " + pick("5ms", "15ms", "1667us") + rules("itl") })
	add(0.3, func() string { return "e2e " + p() + " < " + pick(ms(12), "20ms + 7ms/token", "9ms/token") })
	add(0.3, func() string { return "service_e2e p71 < " + pick(ms(12), "20ms + 3333333ns/token") })
	add(0.2, func() string { return "service_ttft p33 < " + ms(8) })
	add(0.2, func() string { return "lag p90 < " + ms(3) })
	add(0.4, func() string {
		return "speed " + p() + " >= " + pick("90tok/s", "150tok/s", "33.3tok/s") + rules("speed")
	})
	add(0.3, func() string { return "x_a " + p() + " < " + pick("2", "0", "-2") + rules("x_a") })
	add(0.4, func() string { return "error_rate < " + pick("1%", "20%", "40%") })
	add(0.4, func() string { return "attainment >= " + pick("30%", "60%") })
	if len(parts) == 0 {
		return randomSLO(r)
	}
	return slo.MustParse(strings.Join(parts, ", "))
}

func randomRecord(r *rand.Rand) *goodput.Record {
	step := func(n int) time.Duration { return time.Duration(r.IntN(n)) * 10 * time.Millisecond }
	rec := &goodput.Record{Start: time.Unix(1000, 0).Add(step(60)), Outcome: goodput.Success, Sent: step(3), Class: []string{"", "a", "b"}[r.IntN(3)]}
	if r.IntN(5) == 0 {
		rec.Outcome = goodput.Outcomes()[r.IntN(len(goodput.Outcomes()))]
	}
	at := rec.Sent
	for range r.IntN(6) {
		at += step(3)
		rec.Tokens = append(rec.Tokens, goodput.Token{At: at, N: r.IntN(4)})
	}
	rec.End = at + step(4)
	rec.OutputTokens = r.IntN(12)
	if len(rec.Tokens) > 0 && r.IntN(4) == 0 {
		rec.FirstOutput = []time.Duration{-1, at}[r.IntN(2)]
	}
	if r.IntN(3) > 0 {
		rec.Custom = map[slo.Metric]float64{"x_a": float64(r.IntN(9) - 4)}
	}
	if r.IntN(3) == 0 {
		rec.Limits = map[slo.Metric]float64{}
		for range 1 + r.IntN(3) {
			m := []slo.Metric{"ttft", "tpot", "itl", "e2e", "service_e2e", "speed", "x_a", "lag"}[r.IntN(8)]
			switch m {
			case "speed":
				rec.Limits[m] = float64(1+r.IntN(3)) * 70
			case "x_a":
				rec.Limits[m] = float64(r.IntN(5) - 2)
			default:
				rec.Limits[m] = float64(1+r.IntN(12)) * 0.007
			}
		}
	}
	return rec
}

// randomRuns are runs of one SLO and of several, over a window and over all.
func randomRuns(n int) (all []run) {
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 7))
		one := run{name: fmt.Sprintf("random %d", seed), slo: randomSLO(r)}
		if r.IntN(2) == 0 {
			one.set = slo.Set{"a": randomSLO(r)}
			if r.IntN(2) == 0 {
				one.set["nobody"] = randomSLO(r)
			}
		}
		if r.IntN(2) == 0 {
			one.window = []time.Time{time.Unix(1000, 1e8), time.Unix(1000, 5e8)}
		}
		for range 1 + r.IntN(120) {
			one.records = append(one.records, randomRecord(r))
		}
		all = append(all, one)
	}
	return all
}

// analysis is what the package makes of a run.
func (v run) analysis(t testing.TB, opts ...Option) *Analysis {
	if v.set != nil {
		opts = append(opts, WithClasses(v.set))
	}
	if v.window != nil {
		opts = append(opts, WithWindow(v.window[0], v.window[1]))
	}
	st, err := New(v.slo, opts...)
	require.NoError(t, err)
	for _, r := range v.records {
		st.Observe(r)
	}
	return st.Analysis()
}

// report is what package goodput makes of it, by itself.
func (v run) report() *goodput.Report {
	var opts []goodput.Option
	if v.set != nil {
		opts = append(opts, goodput.WithClasses(v.set))
	}
	if v.window != nil {
		opts = append(opts, goodput.WithWindow(v.window[0], v.window[1]))
	}
	a := goodput.NewAccumulator(v.slo, opts...)
	for _, r := range v.records {
		a.Observe(r)
	}
	return a.Report()
}
