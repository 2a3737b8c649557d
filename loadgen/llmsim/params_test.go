package llmsim_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// alone is the TTFT and the mean TPOT of one job in an idle engine.
func alone(t *testing.T, p llmsim.Params, prompt, output int) (ttft, tpot time.Duration) {
	e := engine(t, p)
	require.NoError(t, e.Submit(0, llmsim.Job{Prompt: prompt, Output: output}))
	events := drain(e)
	ttft = events[0].At
	if output > 1 {
		tpot = (events[len(events)-1].At - ttft) / time.Duration(output-1)
	}
	return ttft, tpot
}

// The fits that the parameter sets cite, in ms.
var fits = []struct {
	name            string
	params          llmsim.Params
	prefill, decode [3]float64
}{
	{"OPT13B", llmsim.OPT13B(), [3]float64{23.62736227, 0.15054561, 8.65348374e-06}, [3]float64{19.562534173678987, 0.0004941120550644942, 0.05060571771697455}},
	{"OPT13BTP4", llmsim.OPT13BTP4(), [3]float64{10.965724575862776, 0.034619455295915404, 4.7511361198071533e-07}, [3]float64{10.256231678259395, 0.00018786702316166354, 0.03269273629225551}},
	{"OPT13BTP2", llmsim.OPT13BTP2(), [3]float64{13.402703359246601, 0.06234291581603636, 2.226884309113053e-06}, [3]float64{13.294796350285385, 0.00034109219700723494, 0.06296393225243659}},
	{"OPT66BTP4", llmsim.OPT66BTP4(), [3]float64{26.76512367065223, 0.1375928914774527, 7.561318878163137e-06}, [3]float64{30.760284619429587, 0.000451947603788462, 0.063284195750671}},
}

func TestIdleEngineMatchesItsSource(t *testing.T) {
	for _, f := range fits {
		require.NoError(t, f.params.Validate())
		for _, prompt := range []int{1, 16, 128, 512, 1024, 2048, 2049, 4096, 8192} {
			ttft, tpot := alone(t, f.params, prompt, 101)
			n := float64(prompt)
			assert.InEpsilon(t, f.prefill[0]+f.prefill[1]*n+f.prefill[2]*n*n, ms64(ttft), 0.25, "%s: TTFT of %d", f.name, prompt)
			context := n + 50 // on average
			assert.InEpsilon(t, f.decode[0]+f.decode[1]*context+f.decode[2], ms64(tpot), 0.25, "%s: TPOT after %d", f.name, prompt)
		}
	}
}

// What DistServe's authors measured with vLLM and OPT-13B on one A100 at one request per second, at the client: rows of
// simdistserve/benchmarks/alignment/data-ground-truth/opt-13b-sharegpt/vllm-100-1.exp whose requests met an all but idle engine.
func TestIdleEngineMatchesMeasurements(t *testing.T) {
	for _, m := range []struct {
		prompt, output int
		ttft, tpot     float64 // ms
	}{
		{1316, 9, 220.0, 26.0},
		{1420, 4, 213.1, 25.3},
		{1010, 61, 149.4, 25.5},
		{415, 210, 76.8, 25.6},
		{1478, 162, 223.6, 26.4},
		{596, 12, 113.0, 25.0},
		{1589, 8, 226.1, 25.9},
	} {
		ttft, tpot := alone(t, llmsim.OPT13B(), m.prompt, m.output)
		t.Logf("%d: TTFT %+.0f %%, TPOT %+.0f %%", m.prompt, 100*(ms64(ttft)/m.ttft-1), 100*(ms64(tpot)/m.tpot-1))
		assert.InEpsilon(t, m.ttft, ms64(ttft), 0.25, "TTFT of %d", m.prompt)
		assert.InEpsilon(t, m.tpot, ms64(tpot), 0.25, "TPOT after %d", m.prompt)
	}
}

// What Llama70BH100 and Llama70BA100 are fitted to: medians of five measurements each in Splitwise's data/perf_model.csv, in ms.
var splitwise = []struct {
	name    string
	params  llmsim.Params
	prompts map[int]float64 // prompt_time of one prompt
	both    map[int]float64 // of so many prompts of 512 tokens at once
	tokens  map[int]float64 // token_time of so many at once, after prompts of 512 tokens
	after   map[int]float64 // of one alone, after a prompt of so many tokens
	short   float64         // how far off prompts of less than 512 tokens are
}{
	{"Llama70BH100", llmsim.Llama70BH100(),
		map[int]float64{128: 58.185, 256: 51.658, 512: 53.386, 1024: 77.913, 2048: 136.797, 4096: 390.291, 8192: 844.885},
		map[int]float64{2: 76.887, 4: 132.630},
		map[int]float64{1: 29.762, 2: 30.262, 4: 31.786, 8: 32.504, 16: 34.166, 32: 38.619, 64: 50.159},
		map[int]float64{128: 29.872, 256: 28.267, 1024: 29.740, 2048: 31.048, 4096: 30.561, 8192: 31.412}, 0.38},
	{"Llama70BA100", llmsim.Llama70BA100(),
		map[int]float64{128: 65.347, 256: 66.757, 512: 94.310, 1024: 154.458, 2048: 274.223, 4096: 661.222, 8192: 1549.820},
		map[int]float64{2: 165.942, 4: 292.284},
		map[int]float64{1: 44.852, 2: 44.559, 4: 45.832, 8: 46.465, 16: 50.435, 32: 53.017, 64: 71.605},
		map[int]float64{128: 43.031, 256: 43.483, 1024: 44.966, 2048: 45.437, 4096: 46.482, 8192: 46.510}, 0.13},
}

func TestFitsToSplitwise(t *testing.T) {
	// together is when n jobs that came at once are done.
	together := func(p llmsim.Params, n, prompt, output int) time.Duration {
		e := engine(t, p)
		for id := range uint64(n) {
			require.NoError(t, e.Submit(0, llmsim.Job{ID: id, Prompt: prompt, Output: output}))
		}
		events := drain(e)
		return events[len(events)-1].At
	}
	for _, s := range splitwise {
		require.NoError(t, s.params.Validate())
		check := func(want float64, got time.Duration, most float64, what string, n int) {
			t.Logf("%s: %s %d: %.1f ms, %+.1f %%", s.name, what, n, ms64(got), 100*(ms64(got)/want-1))
			assert.InEpsilon(t, want, ms64(got), most, "%s: %s %d", s.name, what, n)
		}
		for n, want := range s.prompts {
			most := 0.13
			if n < 512 {
				most = s.short
			}
			ttft, _ := alone(t, s.params, n, 1)
			check(want, ttft, most, "prompt of", n)
		}
		for n, want := range s.both {
			check(want, together(s.params, n, 512, 1), 0.09, "prompts at once:", n)
		}
		for n, want := range s.tokens {
			p := s.params
			p.TokenBudget = 1 << 15 // all prompts in one step
			check(want, (together(p, n, 512, 129)-together(p, n, 512, 1))/128, 0.09, "batch of", n)
		}
		for n, want := range s.after {
			_, tpot := alone(t, s.params, n, 129)
			check(want, tpot, 0.09, "alone after", n)
		}
	}
}

func ms64(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// TestThroughputSaturates offers more and more load: what comes out is what is asked for, and then no more than the engine
// can do.
func TestThroughputSaturates(t *testing.T) {
	const n, prompt, output = 2000, 200, 100
	rate := func(perSecond float64) (outputPerSecond float64) {
		e := engine(t, llmsim.OPT13B())
		for id := range uint64(n) {
			now := time.Duration(float64(id) / perSecond * float64(time.Second))
			require.NoError(t, e.Submit(now, llmsim.Job{ID: id, Prompt: prompt, Output: output}))
		}
		events := drain(e)
		return n * output / events[len(events)-1].At.Seconds()
	}
	assert.InEpsilon(t, 100, rate(1), 0.02)
	assert.InEpsilon(t, 800, rate(8), 0.02)
	// With a full batch of 128, each of which stays for one step that begins with its prompt and 99 more, a step computes 1.28
	// prompts and 128 − 1.28 tokens with 250 tokens of context on average.
	p := llmsim.OPT13B()
	joins := 128.0 / output
	step := float64(p.Base) + joins*(prompt*float64(p.PerPromptToken)+prompt*(prompt+1)/2*float64(p.PerPromptPair)) +
		(128-joins)*(float64(p.PerSequence)+(prompt+output/2)*float64(p.PerContextToken))
	limit := 128 / step * float64(time.Second)
	assert.InEpsilon(t, limit, rate(20), 0.03)
	assert.InEpsilon(t, limit, rate(100), 0.03)
	assert.Greater(t, limit, 1500.0)
}

func TestParamsJSON(t *testing.T) {
	b, err := json.Marshal(llmsim.OPT13B())
	require.NoError(t, err)
	assert.JSONEq(t, `{"model":"opt-13b","base_ns":21600000,"per_prompt_token_ns":150546,"per_prompt_pair_ns":17,"per_sequence_ns":50606,
		"per_context_token_ns":494,"token_budget":2048,"max_batch":128,"kv_tokens":60000,"max_queue":0,"default_output":128}`, string(b))
	var p llmsim.Params
	require.NoError(t, json.Unmarshal(b, &p))
	assert.Equal(t, llmsim.OPT13B(), p)
}

func TestParamsFaster(t *testing.T) {
	p := llmsim.OPT13B().Faster(2)
	assert.Equal(t, 10_800*time.Microsecond, p.Base)
	assert.Equal(t, time.Duration(75_273), p.PerPromptToken)
	assert.Equal(t, time.Duration(9), p.PerPromptPair, "8.5 ns")
	assert.Equal(t, time.Duration(25_303), p.PerSequence)
	assert.Equal(t, time.Duration(247), p.PerContextToken)
	slow, _ := alone(t, llmsim.OPT13B(), 500, 50)
	fast, _ := alone(t, p, 500, 50)
	assert.InEpsilon(t, float64(slow)/2, float64(fast), 2e-3, "8.5 ns were rounded to 9")
	assert.Equal(t, llmsim.OPT13B(), llmsim.OPT13B().Faster(1))
	assert.Panics(t, func() { p.Faster(0) })
	assert.Panics(t, func() { p.Faster(math.NaN()) })
}

func TestParamsValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*llmsim.Params)
		want   string
	}{
		{func(p *llmsim.Params) { p.Base = 0 }, "Base is 0: a step takes time"},
		{func(p *llmsim.Params) { p.PerPromptToken = -1 }, "PerPromptToken is -1ns: a cost is 0 or more"},
		{func(p *llmsim.Params) { p.PerSequence = -1 }, "PerSequence is -1ns"},
		{func(p *llmsim.Params) { p.TokenBudget = 0 }, "TokenBudget is 0: it is at least 1"},
		{func(p *llmsim.Params) { p.MaxBatch = 0 }, "MaxBatch is 0: it is at least 1"},
		{func(p *llmsim.Params) { p.KVTokens = 1 }, "KVTokens is 1: it is at least 2"},
		{func(p *llmsim.Params) { p.MaxQueue = -1 }, "MaxQueue is -1: it is at least 0"},
		{func(p *llmsim.Params) { p.DefaultOutput = 0 }, "DefaultOutput is 0: it is at least 1"},
		{func(p *llmsim.Params) { p.MaxBatch = 4096 }, "MaxBatch is 4096, above TokenBudget 2048"},
		{func(p *llmsim.Params) { p.KVTokens = 1 << 31 }, "neither is above 1073741824"},
		{func(p *llmsim.Params) { p.Policy = llmsim.PolicyFunc(nil) }, "Policy is a PolicyFunc that is nil"},
		{func(p *llmsim.Params) { p.PerPromptToken = time.Minute }, "a full step would take 34.1 hours"},
	} {
		p := llmsim.OPT13B()
		c.change(&p)
		err := p.Validate()
		require.Error(t, err, c.want)
		assert.Contains(t, err.Error(), c.want)
		_, err = llmsim.NewEngine(p)
		assert.Error(t, err)
		_, err = llmsim.NewServer(p)
		assert.Error(t, err)
		_, err = llmsim.NewTarget(p)
		assert.Error(t, err)
	}
	err := llmsim.Params{}.Validate()
	assert.Contains(t, err.Error(), "Base")
	assert.Contains(t, err.Error(), "KVTokens", "all that is wrong is said at once")
	assert.NotContains(t, err.Error(), "\n")
	one := llmsim.Replicas{Engines: []llmsim.Params{llmsim.OPT13B()}}
	_, err = llmsim.Disaggregated{Prefill: one, Decode: one}.NewMachine()
	assert.EqualError(t, err, "llmsim: Transfer: Bandwidth is 0 bytes/s: it is above 0, math.Inf(1) for transfers in no time; KVBytes is 0: a token's KV cache has at least one byte")
}
