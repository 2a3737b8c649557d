package loadgen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// everything is a plan whose file of records has something of all that there is.
func everything() (Plan, Target) {
	p := Plan{
		SLO:      slo.MustParse("ttft p95 < 100ms, e2e p90 < 300ms + 10ms/token, error_rate < 20%"),
		Classes:  slo.Set{"chat": slo.MustParse("ttft p90 < 60ms, x_cost p50 < 3"), "batch": slo.MustParse("e2e p50 < 1s")},
		Arrivals: Poisson{Rate: 60, Seed: 1}, MaxInFlight: 8, Overflow: Drop, Timeout: 200 * ms,
		Duration: 4 * time.Second,
		Workload: func(yield func(*Request) bool) {
			for i := 0; ; i++ {
				r := &Request{Class: []string{"", "chat", "batch", "other"}[i%4], InputTokens: 100}
				if i%5 == 0 {
					r.Limits = map[slo.Metric]float64{slo.TTFT: 0.05}
				}
				if i%7 == 0 {
					r = Conversation(r, Turn{Content: "and?", Think: 30 * ms}, Turn{Content: "so?"})
				}
				if !yield(r) {
					return
				}
			}
		},
	}
	return p, TargetFunc(func(ctx context.Context, _ *Request, tr *Trace) error {
		r := rand.New(rand.NewPCG(tr.Index(), 0))
		tr.Connection(tr.Index() > 0)
		tr.Phase(PhaseFirstByte, ms)
		if tr.Index()%17 == 0 {
			tr.Attempt()
		}
		for i := range 1 + r.IntN(6) {
			if err := takes(time.Duration(r.IntN(50))*ms)(ctx, nil, nil); err != nil {
				return err
			}
			tr.FirstByte()
			if i == 0 && r.IntN(3) == 0 {
				tr.Reasoning(2)
			} else {
				tr.Token(1 + r.IntN(2))
			}
		}
		tr.Custom("x_cost", float64(r.IntN(5)))
		tr.Usage(150, 0)
		tr.Finish("stop")
		return []error{nil, nil, nil, nil, errors.New("oh"), &StatusError{Code: 429}, Fail(goodput.Malformed, "{"), io.ErrUnexpectedEOF}[r.IntN(8)]
	})
}

// A file of records that was cut, at whatever byte, is refused, or said to be incomplete where that is allowed. The whole
// file gives the report again.
func TestRecordsCutAtAnyByte(t *testing.T) {
	for name, change := range map[string]func(*Plan) (cut time.Duration){
		"cool-down":      func(p *Plan) time.Duration { p.Warmup, p.Cooldown = time.Second, 500*ms; return time.Hour },
		"auto":           func(p *Plan) time.Duration { p.Warmup = WarmupAuto; return time.Hour },
		"cut off":        func(p *Plan) time.Duration { p.WarmupRequests = 20; return 2500 * ms },
		"the whole run":  func(p *Plan) time.Duration { p.Duration, p.Requests = 0, 150; return time.Hour },
		"in the warm-up": func(p *Plan) time.Duration { p.Warmup = 5 * time.Second; return time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			var want *goodput.Report
			synctest.Test(t, func(t *testing.T) {
				p, target := everything()
				ctx, cancel := context.WithTimeout(t.Context(), change(&p))
				defer cancel()
				p.Records = &file
				res, err := Run(ctx, target, p)
				require.NoError(t, err)
				want = res.Report
			})
			all := file.Bytes()
			whole, err := goodput.ReadReport(bytes.NewReader(all))
			require.NoError(t, err)
			sameReport(t, want, whole, name)

			foot := bytes.LastIndexByte(all[:len(all)-1], '\n') + 1
			head := bytes.IndexByte(all, '\n')
			cuts := []int{0, head - 1, head, head + 1, foot - 1, foot, foot + 1}
			r := rand.New(rand.NewPCG(1, 2))
			for range fewerIfRace(20) {
				cuts = append(cuts, r.IntN(foot))
			}
			for cut := foot; cut < len(all)-1; cut += 1 + (len(all)-foot)/20 {
				cuts = append(cuts, cut)
			}
			for _, cut := range append(cuts, len(all)-2) {
				_, err := goodput.ReadReport(bytes.NewReader(all[:cut]))
				require.Error(t, err, "%d of %d bytes", cut, len(all))
				if cut > head {
					require.ErrorIs(t, err, goodput.ErrIncomplete, "%d of %d bytes", cut, len(all))
				}
				got, err := goodput.ReadReport(bytes.NewReader(all[:cut]), goodput.AllowIncomplete())
				if err == nil {
					require.True(t, slices.ContainsFunc(got.Warnings, func(w error) bool { return errors.Is(w, goodput.ErrIncomplete) }), "%d of %d bytes", cut, len(all))
				} else {
					require.LessOrEqual(t, cut, head, "%d of %d bytes: %v", cut, len(all), err)
				}
			}
			// A last line without its line feed is a whole one.
			again, err := goodput.ReadReport(bytes.NewReader(all[:len(all)-1]))
			require.NoError(t, err)
			assert.Equal(t, whole.String(), again.String())
		})
	}
}
