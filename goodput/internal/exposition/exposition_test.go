package exposition

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

func TestTargetsAreWhatTheObjectiveSays(t *testing.T) {
	for text, want := range map[string]float64{
		"ttft p95 < 1s": 0.95, "ttft p99.9 < 1s": 0.999, "error_rate < 1%": 0.99, "attainment >= 97.5%": 0.975, "speed p50 >= 9tok/s": 0.5,
	} {
		s := slo.MustParse(text)
		require.Equal(t, want, Target(s.Objectives[0]), text)
	}
}

func TestEachThresholdIsAnEdge(t *testing.T) {
	a, b := slo.MustParse("ttft p95 < 800ms, ttfo p95 < 1s"), slo.MustParse("ttft p90 < 1s, e2e p95 < 1s + 40ms/token, x_score p95 < -0.8")
	edges := Edges(slo.TTFT, a, b)
	require.Contains(t, edges, 0.8)
	require.Equal(t, len(firstToken)+1, len(edges), "1s is one of them already, and ttfo's is not ttft's")
	require.True(t, slices.IsSorted(edges))
	require.Equal(t, duration, Edges(slo.E2E, a, b), "a threshold that grows with the output is no one edge")
	require.Equal(t, []float64{-0.8}, Edges("x_score", a, b))
	require.Empty(t, Edges("x_other", a, b))
	edge, ok := Edge(slo.MustParse("speed p95 >= 25tok/s").Objectives[0])
	require.True(t, ok)
	require.Less(t, edge, 25.0)
	require.Greater(t, edge, 25.0-1e-9)
}

func TestLabelIsTheNameOrTheFingerprint(t *testing.T) {
	s := slo.MustParse("ttft p95 < 1s")
	require.Equal(t, s.Fingerprint(), Label(s))
	s.Name = "chat"
	require.Equal(t, "chat", Label(s))
	s.Name = "chat\xff"
	require.Equal(t, "chat?", Label(s))
	s.Name = "chat\uFFFD"
	require.Equal(t, "chat?", Label(s), "PromQL's parser takes it for damage")
}

// Each metric has a name of its own, and none has that of another's series.
func TestHistogramsDoNotCollide(t *testing.T) {
	require.Equal(t, "goodput_ttft_seconds", Histogram(slo.TTFT))
	require.Equal(t, "goodput_x_cost", Histogram("x_cost"))
	names := map[string]bool{}
	all := append(slo.Metrics(), "x_a", "x_a_x", "x_a_count", "x_a_count_x", "x_a_count_x_x", "x_a_sum", "x_a_bucket", "x_a_bucket_count", "x_x", "x_x_count", "x_ttft_seconds_count")
	for _, m := range all {
		require.False(t, names[Histogram(m)], m)
		names[Histogram(m)] = true
	}
	for name := range names {
		for _, end := range []string{"_count", "_sum", "_bucket"} {
			require.False(t, names[name+end], name+end)
		}
	}
}

func TestDurationsAreWrittenAsPrometheusDoes(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"30d": 30 * 24 * time.Hour, "1h30m": 90 * time.Minute, "5m": 5 * time.Minute, "1s500ms": 1500 * time.Millisecond, "0s": 0,
		"6s417ms": 77 * time.Minute / 720, "1m": time.Minute - time.Nanosecond, "1ms": time.Millisecond + 499*time.Microsecond,
	} {
		require.Equal(t, want, Duration(d))
	}
}

// Two SLOs of one service never have the same label, whatever they are called.
func TestLabelsTellSLOsApart(t *testing.T) {
	named := func(name, text string) slo.SLO {
		s := slo.MustParse(text)
		s.Name = name
		return s
	}
	same := slo.MustParse("ttft p95 < 1s")
	label := Labels(same, slo.Set{"gold": same, "silver": same, "batch": slo.MustParse("e2e p95 < 9s"), "chat": named("chat SLO", "ttft p95 < 1s")})
	require.Equal(t, same.Fingerprint(), label(""))
	require.Equal(t, same.Fingerprint(), label("any other"))
	require.Equal(t, same.Fingerprint()+"/gold", label("gold"))
	require.Equal(t, same.Fingerprint()+"/silver", label("silver"))
	require.Equal(t, slo.MustParse("e2e p95 < 9s").Fingerprint(), label("batch"), "nobody else has it")
	require.Equal(t, "chat SLO", label("chat"))

	label = Labels(named("a/y", "ttft p95 < 1s"), slo.Set{"x": named("a", "ttft p95 < 1s"), "y": named("a", "ttft p95 < 2s"), slo.DefaultClass: named("a/x", "itl p95 < 1s")})
	all := []string{label("any other"), label("x"), label("y"), label("")}
	slices.Sort(all)
	require.Len(t, slices.Compact(all), 4, "%v", all)
	require.Equal(t, "a/x", label(slo.DefaultClass))
}

func TestAlertNames(t *testing.T) {
	require.Equal(t, "GoodputBudgetBurnPage1h", AlertName("page", time.Hour))
	require.Equal(t, "GoodputBudgetBurn2m30s", AlertName("", 150*time.Second))
}
