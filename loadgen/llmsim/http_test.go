package llmsim_test

import (
	"cmp"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/openai"
)

// written gives each request a prompt that is as many words long as it is to have tokens.
func written(requests iter.Seq[*loadgen.Request]) iter.Seq[*loadgen.Request] {
	return func(yield func(*loadgen.Request) bool) {
		for r := range requests {
			r.Prompt = strings.Repeat("word ", r.InputTokens)
			if !yield(r) {
				return
			}
		}
	}
}

// TestServerOverHTTPIsRunner puts the same load on the engine through client, HTTP and server as by the event loop: each
// token comes at the same nanosecond. The turns of a session carry what the server has answered.
func TestServerOverHTTPIsRunner(t *testing.T) {
	type times struct {
		start   time.Duration
		tokens  []time.Duration
		end     time.Duration
		in, out int
		outcome goodput.Outcome
		finish  string
	}
	read := func(t *testing.T, run loadgen.Runner, p loadgen.Plan) []times {
		var file strings.Builder
		p.SLO, p.Records = chat, &file
		_, err := run(t.Context(), p)
		require.NoError(t, err)
		rr, err := goodput.ReadRecords(strings.NewReader(file.String()))
		require.NoError(t, err)
		var all []times
		for r, err := range rr.All() {
			require.NoError(t, err)
			one := times{start: r.Start.Sub(rr.Header().Start), end: r.End, in: r.InputTokens, out: r.OutputTokens, outcome: r.Outcome, finish: r.Finish}
			for _, tok := range r.Tokens {
				one.tokens = append(one.tokens, tok.At)
			}
			all = append(all, one)
		}
		slices.SortFunc(all, func(a, b times) int { return cmp.Compare(a.start, b.start) })
		return all
	}
	params := llmsim.OPT13B()
	params.MaxBatch = 8
	counts := map[goodput.Outcome]int{}
	for name, p := range map[string]loadgen.Plan{
		"requests": {Arrivals: loadgen.Poisson{Rate: 12, Seed: 1}, Workload: written(requests(200, 400, 100)), Timeout: 4 * time.Second},
		"sessions": {Arrivals: loadgen.Poisson{Rate: 1, Seed: 2}, Workload: conversations(60, false), Timeout: 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			want := read(t, llmsim.Runner(params), p)
			synctest.Test(t, func(t *testing.T) {
				_, client := server(t, params)
				client.Transport.(*http.Transport).MaxIdleConnsPerHost = 200
				target, err := openai.New(openai.Config{BaseURL: "http://sim/v1", Model: "opt-13b", Client: client})
				require.NoError(t, err)
				got := read(t, loadgen.RunnerOf(target), p)
				require.Len(t, got, len(want))
				for i := range want {
					require.Equal(t, want[i], got[i])
				}
			})
			for _, r := range want {
				counts[r.outcome]++
			}
			assert.Greater(t, counts[goodput.Success], 20)
		})
	}
	assert.Greater(t, counts[goodput.Timeout], 20)
}

// The text of an answer is in the prompt of the turn after it, a word for each token.
func TestSessionsCarryTheText(t *testing.T) {
	var file strings.Builder
	_, err := llmsim.Runner(llmsim.OPT13B())(t.Context(), loadgen.Plan{SLO: chat, Concurrency: 1, Records: &file, Workload: slices.Values([]*loadgen.Request{
		loadgen.Conversation(&loadgen.Request{Prompt: "a b c", MaxTokens: 50}, loadgen.Turn{Content: "d e"}),
	})})
	require.NoError(t, err)
	rr, err := goodput.ReadRecords(strings.NewReader(file.String()))
	require.NoError(t, err)
	var inputs []int
	for r, err := range rr.All() {
		require.NoError(t, err)
		inputs = append(inputs, r.InputTokens)
	}
	assert.Equal(t, []int{3, 3 + 50 + 2}, inputs)
}
