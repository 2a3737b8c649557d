package goodput

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

const benchSLO = "ttft p95 < 800ms, tpot p95 < 50ms, e2e p95 < 8s, error_rate < 1%"

// benchRecords are successes with so many token events, their instants a little different from each other.
func benchRecords(n int) []*Record {
	all := make([]*Record, 1024)
	x := uint64(1)
	random := func(below uint64) time.Duration {
		x = x*6364136223846793005 + 1442695040888963407
		return time.Duration(x >> 33 % below)
	}
	for i := range all {
		r := &Record{Start: epoch.Add(time.Duration(i) * ms), Sent: random(100_000), Outcome: Success, InputTokens: 100 + int(random(2000)), OutputTokens: n}
		at := 100*ms + random(300_000_000)
		for range n {
			r.Tokens = append(r.Tokens, Token{At: at, N: 1})
			at += 10*ms + random(20_000_000)
		}
		r.End = at
		all[i] = r
	}
	return all
}

// Each goroutine observes its share of the records in one accumulator; ns/op is the wall time per record. ns/token is
// what each token after the first adds to that: with records of one token for comparison, in the same run.
func BenchmarkObserve(b *testing.B) {
	for _, tokens := range []int{1, 100} {
		for _, goroutines := range []int{1, 2, 8} {
			b.Run(fmt.Sprintf("tokens=%d/G=%d", tokens, goroutines), func(b *testing.B) {
				records, short := benchRecords(tokens), benchRecords(1)
				b.ReportAllocs()
				b.ResetTimer()
				took := observeAll(records, b.N, goroutines)
				b.StopTimer()
				if tokens > 1 {
					further := took - observeAll(short, b.N, goroutines)
					b.ReportMetric(float64(further.Nanoseconds())/float64(b.N*(tokens-1)), "ns/token")
				}
			})
		}
	}
}

// observeAll is how long it takes that many goroutines to observe n records.
func observeAll(records []*Record, n, goroutines int) time.Duration {
	a := NewAccumulator(slo.MustParse(benchSLO))
	start := time.Now()
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := g; i < n; i += goroutines {
				a.Observe(records[i%len(records)])
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func filled(records, tokens int) *Accumulator {
	a := NewAccumulator(slo.MustParse(benchSLO))
	all := benchRecords(tokens)
	for i := range records {
		r := *all[i%len(all)]
		r.Start = epoch.Add(time.Duration(i) * ms)
		a.Observe(&r)
	}
	return a
}

func BenchmarkReport(b *testing.B) {
	for _, records := range []int{1000, 100_000} {
		b.Run(fmt.Sprint("records=", records), func(b *testing.B) {
			a := filled(records, 10)
			b.ReportAllocs()
			for b.Loop() {
				a.Report()
			}
		})
	}
}

func BenchmarkJudge(b *testing.B) {
	j := NewJudge(slo.MustParse(benchSLO), nil)
	records := benchRecords(1)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		j.Judge(records[i%len(records)])
	}
}

// BenchmarkMemory is not about time: bytes/class is what an accumulator with one class holds after a long run.
func BenchmarkMemory(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var a *Accumulator
	for b.Loop() {
		a = filled(200_000, 10)
	}
	runtime.GC()
	runtime.GC() // pools are emptied by the second
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc)-float64(before.HeapAlloc), "bytes/class")
	encoded, _ := a.MarshalBinary()
	b.ReportMetric(float64(len(encoded)), "encoded-bytes")
}

// BenchmarkCoverage is not about time: at the SLO line of an M/M/1 queue, how often does the 95 % interval cover the
// truth (of the runs that have one), and how often is a verdict said, which is wrong there, or the run found too short?
func BenchmarkCoverage(b *testing.B) {
	for _, c := range []struct {
		rho float64
		n   int
	}{{0.7, 20_000}, {0.9, 100_000}, {0.9, 20_000}, {0.9, 5000}, {0.7, 2000}, {0.7, 500}, {0.3, 1000},
		{0.9, 100}, {0.95, 300}, {0.95, 20_000}, {0.99, 300}, {0.99, 5000}} {
		b.Run(fmt.Sprintf("rho=%v/n=%d", c.rho, c.n), func(b *testing.B) {
			for b.Loop() {
				covered, met, missed, short := coverage(c.rho, c.n, 1000)
				b.ReportMetric(100*covered, "%covered")
				b.ReportMetric(100*met, "%met")
				b.ReportMetric(100*missed, "%missed")
				b.ReportMetric(100*short, "%short")
			}
		})
	}
}
