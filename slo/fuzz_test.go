package slo

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse: what is read prints as a text that is read as the same, and is its own canonical text; what is refused is
// refused with an error that can be shown and switched on.
func FuzzParse(f *testing.F) {
	file, err := os.ReadFile("testdata/canonical.txt")
	require.NoError(f, err)
	for line := range strings.Lines(string(file)) {
		f.Add(line)
	}
	f.Add(string(file))
	for _, text := range []string{
		chatText, "p95(ttft) <= 2s; undefined ttft: excluded\nx_cost p50 < 1e-7", "P99.99 (e2e) ≤ 1h2m3.5s + 40 µs / tok",
		"error_rate < 0.0000001%", "speed p5 ≥ 1e3 tok/s", "ttft:800", "avg(ttft) < 2s", "ttft p999 < 2", "tttf p95 = -1s", "x_a p1 < 5e-324",
		"p(95)<500", "95% of ttft < ２s and e2e median < 1e3ms", "availability >= 99.9%", "x_cost p95 < 0,5usd", "ttft p95 < 1 200ms + 4/token",
		"undefined tpto ignored", "95th percentile time to first token: 1m30", "speed p90 < 30 tokens per second", "ttft:700 e2el:7000",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			require.True(t, s.IsZero())
			checkParseError(t, text, err)
			return
		}
		require.NoError(t, s.Validate())
		canonical := s.String()
		back, err := Parse(canonical)
		require.NoError(t, err)
		require.Equal(t, s, back)
		require.Equal(t, canonical, back.String())
		require.Equal(t, s.Fingerprint(), back.Fingerprint())
		for _, o := range s.Objectives {
			one, err := ParseObjective(o.String())
			require.NoError(t, err)
			require.Equal(t, o, one)
		}
	})
}

// FuzzObjective: an objective that a program made of any numbers is either refused or survives its text, up to the
// rounding of times to whole nanoseconds, in which it is judged.
func FuzzObjective(f *testing.F) {
	f.Add(uint8(0), 95.0, 2.0, 0.0)
	f.Add(uint8(4), 99.9, 1.0, 0.04)
	f.Add(uint8(5), 50.0, 25.5, 0.0)
	f.Add(uint8(9), 0.0, 0.01, 0.0)
	f.Add(uint8(11), 5.0, math.SmallestNonzeroFloat64, 0.0)
	f.Fuzz(func(t *testing.T, metric uint8, percentile, limit, perToken float64) {
		all := append(Metrics(), "x_own", "other")
		o := Objective{all[int(metric)%len(all)], Percentile(percentile), Threshold{limit, perToken}}
		text := o.String()
		if o.Validate() != nil {
			return
		}
		back, err := ParseObjective(text)
		require.NoError(t, err, text)
		require.NoError(t, back.Validate(), text)
		require.Equal(t, text, back.String())
		require.Equal(t, o.Percentile.PPM(), back.Percentile.PPM(), text)
		wantLimit, wantPer := o.Threshold.Billionths()
		gotLimit, gotPer := back.Threshold.Billionths()
		require.Equal(t, wantLimit, gotLimit, text)
		require.Equal(t, wantPer, gotPer, text)
		if !o.Metric.IsTime() && o.Threshold.Limit != 0 {
			require.Equal(t, o.Threshold, back.Threshold, text)
		}
	})
}
