package posthoc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// The least scale is the same whatever the guess, and a search without any finds it too.
func TestLeastFromAnyGuess(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		want, guess := scale(rng.IntN(scales+1)), scale(rng.IntN(scales))
		switch rng.IntN(4) {
		case 0:
			want = []scale{0, 1, never - 1, never}[rng.IntN(4)]
		case 1:
			guess = []scale{0, never - 1}[rng.IntN(2)]
		case 2:
			guess = min(max(want+scale(rng.IntN(5))-2, 0), never-1)
		}
		asked := 0
		got := least(guess, func(s scale) bool {
			require.True(t, 0 <= s && s < never)
			asked++
			return s >= want
		})
		require.Equal(t, want, got, "from %d", guess)
		require.LessOrEqual(t, asked, 32)
	}
}

// A request's metric over its threshold is a guess from which two or three questions find the least scale, where a search over all
// of them asks sixteen.
func TestTheGuessIsNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	asked, n := 0, 0
	for _, o := range slo.MustParse("ttft p95 < 800ms, speed p95 >= 33tok/s, x_a p95 < 3, x_b p95 < -3").Objectives {
		for range 1000 {
			n++
			first := time.Duration(math.Exp(rng.Float64()*8-4) * 8e8)
			r := goodput.Record{Outcome: goodput.Success, End: 2 * first, Tokens: []goodput.Token{{At: first, N: 1}, {At: first + first/7, N: 3}},
				Custom: map[slo.Metric]float64{"x_a": rng.ExpFloat64(), "x_b": -rng.ExpFloat64()}}
			v := r.Measure()
			holds := func(s scale) bool {
				within, _ := v.Holds(s.objective(o), "")
				return within
			}
			x, ok := v.Value(o.Metric)
			require.True(t, ok)
			f := x / o.Threshold.Limit
			if o.Metric.HigherIsBetter() || o.Threshold.Limit < 0 {
				f = 1 / f
			}
			got := least(near(f), func(s scale) bool { asked++; return holds(s) })
			require.Equal(t, scale(sort.Search(scales, func(i int) bool { return holds(scale(i)) })), got, "%v of %v", o, x)
		}
	}
	require.Less(t, float64(asked)/float64(n), 3.0)
	for f, want := range map[float64]scale{0: 0, -1: 0, math.NaN(): 0, math.Inf(1): never - 1, 1e300: never - 1, 1: one, MaxScale: never - 1} {
		require.InDelta(t, int(want), int(near(f)), 1, "%v", f)
	}
}

func BenchmarkStudy(b *testing.B) {
	for _, classes := range []int{1, 65} {
		b.Run(fmt.Sprint(classes, " classes"), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			all := make([]goodput.Record, 30_000)
			for i := range all {
				r := &all[i]
				*r = goodput.Record{Class: fmt.Sprint("c", i%classes), Start: time.Unix(1_700_000_000, int64(i)*1e6), Outcome: goodput.Success}
				r.End = time.Duration(rng.ExpFloat64() * 3e8)
				for range 20 {
					r.Tokens = append(r.Tokens, goodput.Token{At: r.End, N: 1})
					r.End += time.Duration(rng.ExpFloat64() * 3e7)
				}
			}
			for b.Loop() {
				st, err := New(slo.MustParse("ttft p95 < 800ms, tpot p95 < 50ms, e2e p95 < 5s, error_rate < 1%"))
				require.NoError(b, err)
				for i := range all {
					st.Observe(&all[i])
				}
				st.Analysis()
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N*len(all)), "ns/record")
		})
	}
}
