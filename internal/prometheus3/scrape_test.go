package prometheus3

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/goodputprom"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/slo"
)

// What an engine exposes has le="1" or le="1.0", by the client; what Prometheus 3 stores has le="1.0". The rules select the bucket in either.
func TestBucketsOfEnginesAreFound(t *testing.T) {
	for source, metric := range map[promrules.Source]string{promrules.VLLM: "vllm:time_to_first_token_seconds", promrules.SGLang: "sglang:time_to_first_token_seconds"} {
		for _, edge := range []string{"1", "1.0"} {
			for contentType, end := range map[string]string{"text/plain; version=0.0.4": "", "application/openmetrics-text; version=1.0.0": "# EOF\n"} {
				rules, err := promrules.Plan{SLO: slo.MustParse("ttft p90 < 1s"), Source: source, Alerts: one}.Rules()
				require.NoError(t, err)
				require.True(t, rules.Bounds[0].Exact())
				s, err := newServer(rules.YAML())
				require.NoError(t, err)
				for minute := range 70 {
					now := time.Duration(minute) * time.Minute
					text := fmt.Sprintf("# TYPE %[1]s histogram\n%[1]s_bucket{le=\"%[2]s\"} %[3]d\n%[1]s_bucket{le=\"+Inf\"} %[4]d\n%[1]s_sum %[4]d\n%[1]s_count %[4]d\n%[5]s",
						metric, edge, 80*minute, 100*minute, end)
					require.NoError(t, s.scrape(now, []byte(text), contentType, textparse.ParserOptions{}))
					require.NoError(t, s.evaluate(now))
				}
				v, err := s.query("objective:goodput_bad:ratio_rate1h", 69*time.Minute)
				require.Equal(t, 0.2, number(t, v, err), "%s, le=%q, %s", source, edge, contentType)
				require.NotEmpty(t, s.byText[fmt.Sprintf(`{__name__="%s_bucket", le="1.0"}`, metric)], "as Prometheus 3 stores it")
			}
		}
	}
}

// exposed is what a collector exposes in a format.
func exposed(t *testing.T, c prometheus.Collector, f expfmt.Format) []byte {
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(c))
	families, err := r.Gather()
	require.NoError(t, err)
	var b bytes.Buffer
	e := expfmt.NewEncoder(&b, f)
	for _, family := range families {
		require.NoError(t, e.Encode(family))
	}
	if closer, ok := e.(expfmt.Closer); ok {
		require.NoError(t, closer.Close())
	}
	return b.Bytes()
}

// Prometheus 3 scrapes the collector in each of its formats, with and without native histograms, and the classic ones in place of them, beside them or made
// native: the rules have the same shares, and every query of the dashboard is understood and has a value, which for the percentile is the true one as far as
// the buckets tell.
func TestACollectorIsScraped(t *testing.T) {
	text, om := expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeOpenMetrics)
	proto := expfmt.NewFormat(expfmt.TypeProtoDelim)
	for name, as := range map[string]struct {
		format  expfmt.Format
		options textparse.ParserOptions
		error   float64 // of a percentile
	}{
		"text":                         {text, textparse.ParserOptions{IgnoreNativeHistograms: true}, 0.15},
		"OpenMetrics":                  {om, textparse.ParserOptions{IgnoreNativeHistograms: true}, 0.15},
		"protobuf, classic histograms": {proto, textparse.ParserOptions{IgnoreNativeHistograms: true}, 0.15},
		"protobuf, native histograms":  {proto, textparse.ParserOptions{}, 0.1},
		"protobuf, both":               {proto, textparse.ParserOptions{KeepClassicOnClassicAndNativeHistograms: true}, 0.15},
		"text, made native":            {text, textparse.ParserOptions{ConvertClassicHistogramsToNHCB: true}, 0.15},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := monitor.New(named("odd \"s\" 日本", "ttft p95 < 800ms, error_rate < 1%"), monitor.WithRules(one...))
			require.NoError(t, err)
			c := goodputprom.New(m)
			rules, err := promrules.Plans(m)[0].Rules()
			require.NoError(t, err)
			s, err := newServer(rules.YAML())
			require.NoError(t, err)
			rng := rand.New(rand.NewPCG(1, 1))
			var values []float64
			for minute := range 70 {
				now := time.Duration(minute) * time.Minute
				require.NoError(t, s.scrape(now, exposed(t, c, as.format), string(as.format), as.options))
				require.NoError(t, s.evaluate(now))
				for i := range 10 {
					r := &goodput.Record{Outcome: goodput.Success, End: 3 * time.Second, OutputTokens: 1, Tokens: []goodput.Token{{At: 900 * time.Millisecond, N: 1}}}
					switch {
					case i == 0:
						r.Outcome, r.Tokens = goodput.ServerError, nil
					case i > 2: // else late
						r.Tokens[0].At = time.Duration((0.1 + 0.6*rng.Float64()) * 1e9)
					}
					if minute >= 64 && r.Outcome == goodput.Success {
						values = append(values, r.Tokens[0].At.Seconds())
					}
					m.Observe(r)
					c.Observe(r)
				}
			}
			at := func(expr string) float64 {
				v, err := s.query(expr, 69*time.Minute)
				return number(t, v, err)
			}
			require.Equal(t, 0.3, at(`sum(objective:goodput_bad:ratio_rate1h{objective="ttft p95 < 800ms"})`))
			require.Equal(t, 0.1, at(`sum(objective:goodput_bad:ratio_rate1h{objective="error_rate < 1%"})`))
			require.Equal(t, 0.7, at("sum(slo:goodput_attainment:ratio_rate5m)"))
			require.Equal(t, 1.0, at(`count(ALERTS{alertstate="firing"})`), "above 7.2 %, and not above 36 %")
			var board struct {
				Panels []struct {
					Title   string
					Targets []struct{ Expr string }
				}
			}
			require.NoError(t, json.Unmarshal(rules.Dashboard(), &board))
			percentiles := 0
			for _, p := range board.Panels {
				for _, q := range p.Targets {
					v, err := s.query(q.Expr, 69*time.Minute)
					require.NoError(t, err, q.Expr)
					require.NotEmpty(t, v, "%s: %s", p.Title, q.Expr)
					if p.Title == "ttft p95 of successes, against ttft p95 < 800ms" {
						slices.Sort(values)
						truth := values[int(math.Ceil(0.95*float64(len(values))))-1]
						require.Len(t, v, 1)
						require.InEpsilon(t, truth, v[0].F, as.error)
						percentiles++
					}
				}
			}
			require.Equal(t, 1, percentiles)
		})
	}
}
