package llmsim_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/workload"
)

// hours are the loads of the benchmarks: one hour at 50 requests per second.
var hours = []struct {
	name   string
	params llmsim.Params
	req    loadgen.Request
}{
	{"in64out32", llmsim.OPT13B(), loadgen.Request{InputTokens: 64, MaxTokens: 32}},
	{"in128out64", llmsim.OPT13BTP4(), loadgen.Request{InputTokens: 128, MaxTokens: 64}},
}

func hour(r loadgen.Request) loadgen.Plan {
	return loadgen.Plan{SLO: chat, Arrivals: loadgen.Poisson{Rate: 50, Seed: 1}, Workload: same(1<<30, r), Duration: time.Hour}
}

func report(b *testing.B, res *loadgen.Result, err error) {
	require.NoError(b, err)
	require.InEpsilon(b, 180_000, float64(res.Report.Offered), 0.02)
	b.ReportMetric(res.Report.Attainment, "attainment")
}

// BenchmarkRunnerHour is one virtual hour at 50 requests per second by the event loop.
func BenchmarkRunnerHour(b *testing.B) {
	for _, h := range hours {
		b.Run(h.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := llmsim.Runner(h.params)(b.Context(), hour(h.req))
				report(b, res, err)
			}
		})
	}
}

// BenchmarkClusterHour is the first of these hours, of three times the load on four engines.
func BenchmarkClusterHour(b *testing.B) {
	p := hours[0].params
	models := map[string]llmsim.Model{"disaggregated": split(p, 2, 2, llmsim.Transfer{KVBytes: 819_200, Bandwidth: 300e9})}
	for _, r := range routers {
		models[r.String()] = replicas(p, 4, r)
	}
	for name, m := range models {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := hour(hours[0].req)
				p.Arrivals = loadgen.Poisson{Rate: 150, Seed: 1}
				res, err := llmsim.Runner(m)(b.Context(), p)
				require.NoError(b, err)
				b.ReportMetric(res.Report.Attainment, "attainment")
			}
		})
	}
}

// BenchmarkBubbleHour is the hours of BenchmarkRunnerHour in a synctest bubble, through the clocked target and the client's goroutines.
func BenchmarkBubbleHour(b *testing.B) {
	for _, h := range hours {
		b.Run(h.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var res *loadgen.Result
				var err error
				// A bubble needs a test: this one is the benchmark's own.
				ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "bubble", F: func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						res, err = loadgen.Run(t.Context(), target(t, h.params), hour(h.req))
					})
				}}})
				require.True(b, ok)
				report(b, res, err)
			}
		})
	}
}

// BenchmarkEngine is one decode step of a full batch: n sequences, n events.
func BenchmarkEngine(b *testing.B) {
	for _, n := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("batch%d", n), func(b *testing.B) {
			p := llmsim.OPT13B()
			p.KVTokens = 1 << 30
			e := engine(b, p)
			for id := range uint64(n) {
				require.NoError(b, e.Submit(0, llmsim.Job{ID: id, Prompt: 1, Output: p.KVTokens/n - 1}))
			}
			b.ReportAllocs()
			for b.Loop() {
				at, _ := e.Next()
				e.Advance(at)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/token")
		})
	}
}

// BenchmarkAzureConversation is the whole Azure conversation trace against OPT13BTP4, at several times its speed.
func BenchmarkAzureConversation(b *testing.B) {
	trace, err := workload.OpenTrace("../../../shared/traces/AzureLLMInferenceTrace_conv.csv", workload.WithoutText())
	if errors.Is(err, fs.ErrNotExist) {
		b.Skip("the trace is not there: ", err)
	}
	require.NoError(b, err)
	for _, speed := range []float64{0.5, 1, 2, 4} {
		b.Run(fmt.Sprintf("speed%v", speed), func(b *testing.B) {
			for b.Loop() {
				res, err := llmsim.Runner(llmsim.OPT13BTP4())(b.Context(), loadgen.Plan{SLO: chat, Arrivals: trace.Arrivals(speed), Workload: trace.Requests()})
				require.NoError(b, err)
				r := res.Report
				require.Equal(b, uint64(trace.Len()), r.Offered)
				b.ReportMetric(r.OfferedRPS, "offered/s")
				b.ReportMetric(r.ThroughputRPS, "throughput/s")
				b.ReportMetric(r.SuccessRPS, "success/s")
				b.ReportMetric(r.GoodputRPS, "goodput/s")
				b.ReportMetric(100*r.Attainment, "attainment-%")
			}
		})
	}
}
