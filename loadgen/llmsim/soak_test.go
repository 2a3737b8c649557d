package llmsim_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/heap"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// TestMemoryOfALongRun: memory does not grow with a run, neither that of two pools with prefix caches, preemption and requests that time out
// at every stage, nor that of a deadline order in an overload. With GOODPUT_SOAK set each has a million requests.
func TestMemoryOfALongRun(t *testing.T) {
	n := 20_000
	if os.Getenv("GOODPUT_SOAK") != "" {
		n = 1_000_000
	}
	p := llmsim.OPT13BTP4()
	p.KVTokens, p.BlockTokens, p.Preemption = 4000, 16, true
	edf := llmsim.OPT13BTP4()
	edf.Policy, edf.MaxQueue = llmsim.EarliestDeadline{TTFT: 500 * time.Millisecond}, 200
	for name, c := range map[string]struct {
		model llmsim.Model
		rate  float64
		want  goodput.Outcome
	}{
		"disaggregated": {split(p, 2, 2, llmsim.Transfer{KVBytes: 819_200, Bandwidth: 2e9, Latency: time.Millisecond}), 90, goodput.Timeout},
		"replicas":      {replicas(p, 4, llmsim.LeastTTFT{Ahead: 8}), 300, goodput.Success},
		"deadlines":     {edf, 400, goodput.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			var heaps [3]uint64 // after a quarter, a half, and nearly all
			workload := func(yield func(*loadgen.Request) bool) {
				rng := rand.New(rand.NewPCG(4, 4))
				for i := range n {
					switch i {
					case n / 4:
						heaps[0] = heap.Live()
					case n / 2:
						heaps[1] = heap.Live()
					case n - n/20:
						heaps[2] = heap.Live()
					}
					words := fmt.Sprintf("w%d ", rng.IntN(1+i))
					if !yield(&loadgen.Request{Prompt: strings.Repeat(words, 20+rng.IntN(100)), MaxTokens: 1 + rng.IntN(20)}) {
						return
					}
				}
			}
			began := time.Now()
			res, err := llmsim.Runner(c.model)(t.Context(), loadgen.Plan{SLO: chat, Arrivals: loadgen.Poisson{Rate: c.rate, Seed: 1}, Workload: workload,
				Timeout: 2 * time.Second, Records: io.Discard})
			require.NoError(t, err)
			r := res.Report
			require.EqualValues(t, n, r.Offered)
			t.Logf("%d requests, %d of them good, %d %v, in %v: heap %d, %d, %d KiB", n, r.Good, r.Outcomes[c.want], c.want,
				time.Since(began).Round(time.Millisecond), heaps[0]>>10, heaps[1]>>10, heaps[2]>>10)
			assert.NotZero(t, r.Outcomes[c.want])
			assert.NotZero(t, r.Good)
			// Had 100 bytes stayed of each request, it would be 1.4 MB in the short run.
			assert.Less(t, heaps[2], heaps[0]+1<<20)
		})
	}
}
