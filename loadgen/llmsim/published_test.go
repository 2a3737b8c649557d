package llmsim_test

import (
	"encoding/csv"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// shareGPT are the first n requests that DistServe's authors put on their systems, at a rate: the same at each, n of them in
// n/rate seconds.
func shareGPT(t testing.TB, n int, rate float64) (at []time.Duration, jobs []llmsim.Job) {
	f, err := os.Open("testdata/distserve-sharegpt.csv")
	require.NoError(t, err)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows, err := r.ReadAll()
	require.NoError(t, err)
	var starts []float64
	for i, row := range rows[:n] {
		var v [3]float64
		for k := range v {
			v[k], err = strconv.ParseFloat(row[k], 64)
			require.NoError(t, err)
		}
		jobs = append(jobs, llmsim.Job{ID: uint64(i), Rank: uint64(i), Prompt: int(v[0]), Output: int(v[1])})
		starts = append(starts, v[2])
	}
	for _, s := range starts {
		at = append(at, time.Duration(s/starts[n-1]*float64(n)/rate*float64(time.Second)))
	}
	return at, jobs
}

// latencies are the mean TTFT and the mean of the requests' TPOT, in ms.
func latencies(t testing.TB, m llmsim.Model, at []time.Duration, jobs []llmsim.Job) (ttft, tpot float64) {
	x := machine(t, m)
	var events []llmsim.Event
	for i, j := range jobs {
		events = append(events, x.Advance(at[i])...)
		require.NoError(t, x.Submit(at[i], j))
	}
	events = append(events, empty(x)...)
	begun := map[uint64]time.Duration{}
	for _, ev := range events {
		first, ok := begun[ev.ID]
		if !ok {
			first = ev.At
			begun[ev.ID] = first
			ttft += ms64(first-at[ev.ID]) / float64(len(jobs))
		}
		if ev.Last {
			tpot += ms64(ev.At-first) / float64(jobs[ev.ID].Output-1) / float64(len(jobs))
		}
	}
	return ttft, tpot
}

// What DistServe's authors measured at the client with OPT-13B on A100 with 80 GB and these requests: in LLMServe/DistServe,
// simdistserve/benchmarks/alignment/data-ground-truth/opt-13b-sharegpt, avg_ttft_ms and avg_tpot_ms at the end of
// vllm-100-1.exp and so on, of vLLM on one GPU; and of distserve-c21d11-300-3.exp and so on, of DistServe with a prefill
// instance on two GPUs, tensor parallel, and a decode instance on one.
var published = []struct {
	n          int
	rate       float64 // requests/s
	split      bool
	ttft, tpot float64 // ms
}{
	{100, 1, false, 161.2, 34.25},
	{150, 1.5, false, 162.1, 45.56},
	{200, 2, false, 203.9, 65.26},
	{250, 2.5, false, 177.0, 65.48},
	{300, 3, false, 461.6, 99.86},
	{300, 3, true, 91.95, 38.35},
	{300, 4.5, true, 97.42, 48.30},
	{300, 6, true, 107.60, 57.44},
	{300, 7.5, true, 122.38, 98.23},
	{300, 9, true, 148.12, 168.28},
	{300, 10.5, true, 173.98, 202.73},
	{300, 12, true, 217.33, 260.90},
}

// distServe is DistServe's placement for OPT-13B, by the fits of its profiler (profiler-a100-80g.distserve.json): a prefill
// instance with the constants of a prefill on two GPUs, a decode instance with those of a decode step on one. Prompts are
// not cut up, and go over NVLink: an A100 sends at 300 GB/s.
func distServe(serverTime time.Duration) llmsim.Disaggregated {
	p, d := llmsim.OPT13BTP2(), llmsim.OPT13B()
	p.Model, p.Policy, p.Base = d.Model, llmsim.PrefillFirst{}, 13_403*time.Microsecond+serverTime
	d.Base, d.PerSequence, d.PerContextToken, d.Preemption = 19_935*time.Microsecond+serverTime, 38_507, 627, true
	return llmsim.Disaggregated{
		Prefill:  llmsim.Replicas{Engines: []llmsim.Params{p}},
		Decode:   llmsim.Replicas{Engines: []llmsim.Params{d}},
		Transfer: llmsim.Transfer{KVBytes: 819_200, Bandwidth: 300e9},
	}
}

// TestPublishedCurves runs the requests of those measurements, and holds what docs/simulator.md says of the difference: with
// the costs as they are, and with the time that a server takes beside each step, which is what a token takes longer at the
// client of an idle vLLM than by the fit (TestIdleEngineMatchesMeasurements).
func TestPublishedCurves(t *testing.T) {
	for _, serverTime := range []time.Duration{0, 3500 * time.Microsecond} {
		var last [2]float64
		for i, p := range published {
			at, jobs := shareGPT(t, p.n, p.rate)
			vllm := llmsim.OPT13B()
			vllm.Policy, vllm.Preemption = llmsim.PrefillFirst{}, true
			vllm.Base += serverTime
			var m llmsim.Model = vllm
			if p.split {
				m = distServe(serverTime)
			}
			ttft, tpot := latencies(t, m, at, jobs)
			a, b := 100*(ttft/p.ttft-1), 100*(tpot/p.tpot-1)
			t.Logf("server time %v: %4.1f/s, split %-5v: TTFT %3.0f, measured %3.0f: %+.0f %%; TPOT %5.1f, measured %5.1f: %+.0f %%",
				serverTime, p.rate, p.split, ttft, p.ttft, a, tpot, p.tpot, b)
			lo, hi := [2]float64{-25, -40}, [2]float64{25, 0}
			if serverTime > 0 {
				lo, hi = [2]float64{-20, -25}, [2]float64{25, 15}
			}
			if !p.split && p.rate == 3 {
				lo[0] = -50 // the edge
			}
			require.True(t, lo[0] < a && a < hi[0], "TTFT is off by %.0f %%", a)
			require.True(t, lo[1] < b && b < hi[1], "TPOT is off by %.0f %%", b)
			if p.split && published[i-1].split {
				require.Greater(t, ttft, last[0])
				require.Greater(t, tpot, last[1])
				// The knee: up to 6 requests/s TPOT grows by a quarter from rate to rate, and beyond the decode engine is full.
				if growth := tpot / last[1]; p.rate < 7 {
					require.Less(t, growth, 1.3)
				} else if p.rate < 8 {
					require.Greater(t, growth, 1.45)
				}
			}
			last = [2]float64{ttft, tpot}
		}
	}
}
