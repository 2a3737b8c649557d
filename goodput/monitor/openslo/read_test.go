package openslo_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput/monitor/openslo"
	"github.com/goodputkit/goodputkit/slo"
)

// foreign is a file as others write them, after the examples of the specification.
const foreign = `# SLOs of the chat service
apiVersion: openslo/v1
kind: DataSource
metadata: {name: prod}
spec: {type: Prometheus, connectionDetails: {accessKeyID: s3cr3t}}
---
apiVersion: openslo/v1
kind: SLI
metadata:
  name: first-token
  displayName: Time to first token
spec:
  thresholdMetric:
    metricSource:
      metricSourceRef: prod
      type: Prometheus
      spec: {query: ttft_seconds, secretAccessKey: s3cr3t}
---
apiVersion: openslo/v1
kind: SLO
metadata:
  name: ttft
  labels: {team: [serving, chat], tier: "1"}
  annotations:
    goodputkit.github.io/metric: ttft
spec:
  description: the first token comes soon
  service: chat
  indicatorRef: first-token
  timeWindow:
    - duration: 4w
      isRolling: true
  budgetingMethod: Occurrences
  objectives:
    - op: lte
      value: 0.8
      target: 0.95
  alertPolicies:
    - alertPolicyRef: page
---
apiVersion: openslo/v1
kind: SLO
metadata:
  name: errors
  annotations:
    goodputkit.github.io/metric: error_rate
spec:
  service: chat
  indicator:
    metadata: {name: errors}
    spec:
      ratioMetric:
        counter: true
        bad: {metricSource: {type: Prometheus, spec: {query: 'http_requests_total{code=~"5.."}'}}}
        total: {metricSource: {type: Prometheus, spec: {query: http_requests_total}}}
  timeWindow:
    - duration: 28d
      isRolling: true
  budgetingMethod: Occurrences
  objectives:
    - displayName: few errors
      targetPercent: 99.9
---
apiVersion: openslo/v1
kind: SLO
metadata:
  name: whole
  annotations:
    goodputkit.github.io/objective: e2e p99 < 1s + 40ms/token
spec:
  service: chat
  indicator:
    metadata: {name: whole}
    spec:
      ratioMetric:
        rawType: success
        raw: {metricSource: {type: Prometheus, spec: {query: whole_ratio}}}
  timeWindow:
    - duration: 672h
      isRolling: true
  budgetingMethod: Occurrences
  objectives:
    - target: 0.99
`

func TestFilesOfOthersAreReadWhereTheySayEnough(t *testing.T) {
	d, err := openslo.Read(strings.NewReader(foreign))
	require.NoError(t, err)
	require.Equal(t, slo.MustParse("ttft p95 < 800ms, error_rate < 0.1%, e2e p99 < 1s + 40ms/token"), d.SLO)
	require.Equal(t, "chat", d.Service)
	require.Equal(t, 28*24*time.Hour, d.Period)
	require.Len(t, d.Warnings, 2)
	require.ErrorContains(t, d.Warnings[0], "DataSource")
	require.ErrorContains(t, d.Warnings[1], "alertPolicies")

	for target, want := range map[string]string{"0.5": "p50", "0.999": "p99.9", "0.999999": "p99.9999", "9.5e-1": "p95"} {
		d, err := openslo.Read(strings.NewReader(strings.Replace(foreign, "target: 0.95\n", "target: "+target+"\n", 1)))
		require.NoError(t, err)
		require.Equal(t, "ttft "+want+" < 800ms", d.SLO.Objectives[0].String())
	}
	d, err = openslo.Read(strings.NewReader(strings.NewReplacer("metric: error_rate", "metric: attainment", "metric: ttft", "metric: speed", "op: lte", "op: gt").Replace(foreign)))
	require.NoError(t, err)
	require.Equal(t, "speed p95 >= 0.8tok/s, attainment >= 99.9%, e2e p99 < 1s + 40ms/token", d.SLO.String())
}

// What would mean another thing here is refused, and the error says where and why.
func TestWhatCannotBeSaidHereIsRefused(t *testing.T) {
	for _, c := range []struct{ from, to, field, why string }{
		{"Occurrences", "Timeslices", `SLO "ttft": spec.budgetingMethod`, "slices of time"},
		{"Occurrences", "RatioTimeslices", "spec.budgetingMethod", "slices of time"},
		{"Occurrences", "Guess", "spec.budgetingMethod", `"Guess" is not Occurrences`},
		{"duration: 4w", "duration: 1M", "spec.timeWindow[0].duration", "no one length"},
		{"duration: 4w", "duration: 0d", "spec.timeWindow[0].duration", "no whole number"},
		{"duration: 4w", "duration: 1.5h", "spec.timeWindow[0].duration", "no whole number"},
		{"duration: 4w", "duration: 9999999w", "spec.timeWindow[0].duration", "no whole number"},
		{"isRolling: true", "isRolling: false", "spec.timeWindow[0].isRolling", "rolling"},
		{"isRolling: true", "calendar: {startTime: 2020-01-21 12:30:00}", "spec.timeWindow[0].calendar", "rolling"},
		{"    - duration: 4w", "    - {duration: 1d, isRolling: true}\n    - duration: 4w", "spec.timeWindow", "more than one"},
		{"duration: 28d", "duration: 30d", `SLO "errors": spec.timeWindow`, `another than that of "ttft"`},
		{"service: chat\n  indicator:", "service: other\n  indicator:", `SLO "errors": spec.service`, `another than that of "ttft"`},
		{"target: 0.95", "target: 0.95\n    - target: 0.9", "spec.objectives", "there are 2"},
		{"target: 0.95", "target: 0.95\n      targetPercent: 95", "spec.objectives[0].target", "targetPercent"},
		{"target: 0.95", "displayName: x", "spec.objectives[0].target", "none"},
		{"target: 0.95", "target: 1", "spec.objectives[0].target", "below all"},
		{"target: 0.95", "target: .nan", "spec.objectives[0].target", "below all"},
		{"target: 0.95", "target: 0.9500001", "spec.objectives[0].target", "four decimals"},
		{"target: 0.95", "target: 0.95000000001", "spec.objectives[0].target", "nine decimals"},
		{"target: 0.95", "target: 0.95\n      timeSliceWindow: 1m", "spec.objectives[0]", "no time slices"},
		{"target: 0.95", "target: 0.95\n      indicatorRef: first-token", "spec.objectives[0]", "composite"},
		{"target: 0.95", "target: 0.95\n      compositeWeight: 1", "spec.objectives[0]", "composite"},
		{"target: 0.95", "target: 0.95\n      indicator: {metadata: {name: x}}", "spec.objectives[0]", "composite"},
		{"target: 0.99", "target: 0.98", "goodputkit.github.io/objective]", "asks for 99%, and the target is 98%"},
		{"op: lte", "op: gte", "spec.objectives[0].op", "neither lt nor lte"},
		{"value: 0.8", "displayName: x", "spec.objectives[0].value", "has one"},
		{"value: 0.8", "value: -1", "spec.objectives[0].value", "negative"},
		{"value: 0.8", "value: .inf", "spec.objectives[0].value", "at most 720h"},
		{"metric: ttft", "metric: tttf", "goodputkit.github.io/metric]", "unknown metric"},
		{"metric: ttft", "metric: error_rate", "thresholdMetric", "ratioMetric"},
		{"metric: ttft", "objective: ttft p95 < 900ms", "goodputkit.github.io/objective]", "is not ttft p95 < 800ms"},
		{"metric: error_rate", "metric: ttft", "goodputkit.github.io/metric]", "a ratio does not say the threshold of ttft"},
		{"metric: error_rate", "objective: error_rate < 1%\n    goodputkit.github.io/metric: ttft", "goodputkit.github.io/objective]", "is not of"},
		{"goodputkit.github.io/metric: ttft", "other: x", "metadata.annotations", "neither a query nor a ratio says"},
		{"goodputkit.github.io/metric: error_rate", "other: x", "metadata.annotations", "neither a query nor a ratio says"},
		{"indicatorRef: first-token", "indicatorRef: last", "spec.indicatorRef", `no SLI "last"`},
		{"  indicatorRef: first-token\n", "", "spec.indicator", "neither one"},
		{"rawType: success", "counter: true", "rawType", "success or failure"},
		{"        counter: true\n        bad:", "        good:", "", ""},
		{"        bad:", "        good: {metricSource: {spec: {}}}\n        bad:", "ratioMetric", "either good or bad"},
		{"        rawType: success", "        total: {metricSource: {spec: {}}}", "ratioMetric.raw", "other queries"},
		{"name: errors\n  annotations:", "name: errors\n  annotations:\n    goodputkit.github.io/slo: x", "goodputkit.github.io/slo]", "another than that of"},
		{"metric: error_rate", "objective: ttft p95 < 1s", "goodputkit.github.io/objective]", "asks for 95%"},
	} {
		require.Contains(t, foreign, c.from)
		d, err := openslo.Read(strings.NewReader(strings.Replace(foreign, c.from, c.to, 1)))
		if c.why == "" {
			require.NoError(t, err, c.to)
			continue
		}
		require.ErrorIs(t, err, openslo.ErrInexpressible, c.to)
		require.ErrorContains(t, err, c.field, c.to)
		require.ErrorContains(t, err, c.why, c.to)
		require.NotContains(t, err.Error(), "s3cr3t")
		require.Zero(t, d)
	}
}

func TestWhatIsNoOpenSLOIsRefused(t *testing.T) {
	bomb := "a: &a [x, x]\n"
	for i := range 40 {
		bomb += string(rune('b'+i%25)) + strings.Repeat("b", i/25) + ": &n" + strings.Repeat("n", i+1) + " [*a, *a]\n"
	}
	var keys strings.Builder
	for i := range 300 {
		keys.WriteString("k" + strings.Repeat("k", i) + ": 1\n")
	}
	for want, text := range map[string]string{
		"no object of kind SLO":         "",
		"no object of kind SLO ":        "apiVersion: openslo/v1\nkind: Service\nmetadata: {name: x}\nspec: {}\n",
		"is not openslo/v1":             strings.Replace(foreign, "openslo/v1", "openslo/v1alpha", 1),
		"kind: it has none":             "apiVersion: openslo/v1\n",
		`"Slo" is none of OpenSLO v1`:   strings.Replace(foreign, "kind: SLO", "kind: Slo", 1),
		"field obejctives not found":    strings.Replace(foreign, "objectives:", "obejctives:", 1),
		"metadata.name: it has none":    strings.Replace(foreign, "name: ttft\n", "displayName: x\n", 1),
		`there is another "ttft"`:       strings.Replace(foreign, "name: errors\n  annotations", "name: ttft\n  annotations", 1),
		"already defined":               strings.Replace(foreign, "op: lte", "op: lte\n      op: lt", 1),
		"into float64":                  strings.Replace(foreign, "target: 0.95", "target: high", 1),
		"yaml: ":                        "a: [\n",
		"aliases are not read":          bomb,
		"more than 256 keys":            keys.String(),
		"more than 1024 YAML documents": strings.Repeat("---\n", 1100),
		"longer than":                   foreign + strings.Repeat("#", openslo.MaxFile),
		"a YAML document of its own":    "- a\n",
	} {
		d, err := openslo.Read(strings.NewReader(text))
		require.ErrorIs(t, err, openslo.ErrSyntax, want)
		require.ErrorContains(t, err, strings.TrimSpace(want))
		require.NotContains(t, err.Error(), "s3cr3t")
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), "type openslo.", "that is of this package alone")
		require.Zero(t, d)
	}
}

// A file of this package's that was changed by hand in one place and not in the other is refused.
func TestContradictionsAreRefused(t *testing.T) {
	s := slo.MustParse("ttft p95 < 800ms, error_rate < 1%")
	text, err := openslo.Document{SLO: s}.YAML()
	require.NoError(t, err)
	second := bytes.Index(text, []byte("kind: SLO"))
	second += bytes.Index(text[second:], []byte("---"))
	for want, changed := range map[string]string{
		"asks for 95%, and the target is 99%":   strings.Replace(string(text), "target: 0.95", "target: 0.99", 1),
		"the queries are not those of":          strings.Replace(string(text), `objective="ttft p95 < 800ms"`, `objective="ttft p95 < 900ms"`, 1),
		"the queries are not those of ttft":     strings.Replace(string(text), "within_requests_total", "requests_total", 1),
		"there is no object for that":           string(text[:second]),
		"and it does not have that":             strings.ReplaceAll(string(text), "slo: ttft p95 < 800ms, error_rate < 1%", "slo: error_rate < 1%"),
		"another than that of":                  strings.Replace(string(text), "slo: ttft p95 < 800ms, error_rate < 1%", "slo: error_rate < 1%", 1),
		"goodputkit.github.io/slo]: ":           strings.ReplaceAll(string(text), "slo: ttft p95 < 800ms, error_rate < 1%", "slo: rubbish"),
		"two objects for one of its objectives": string(text) + "---" + strings.Replace(string(text[second+3:]), "name: error-rate", "name: again", 1),
	} {
		require.NotEqual(t, string(text), changed, want)
		_, err := openslo.Read(strings.NewReader(changed))
		require.ErrorIs(t, err, openslo.ErrInexpressible, want)
		require.ErrorContains(t, err, want)
	}
}

// Whatever is read can be written, and is then read as it was.
func FuzzRead(f *testing.F) {
	f.Add([]byte(foreign))
	for _, text := range []string{"ttft p95 < 800ms", "error_rate < 1%, attainment >= 90%, undefined tpot: excluded, tpot p90 < 1ms", "x_a p50 < -1, speed p99 >= 3tok/s"} {
		d := openslo.Document{SLO: slo.MustParse(text)}
		d.SLO.Name = "a name"
		b, err := d.YAML()
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := openslo.Read(bytes.NewReader(text))
		if err != nil {
			require.Zero(t, d)
			return
		}
		d.Warnings = nil
		require.NoError(t, d.SLO.Validate())
		again, err := d.YAML()
		if err != nil { // another's name of a service can be none of RFC 1123
			require.ErrorContains(t, err, "Service")
			return
		}
		got, err := openslo.Read(bytes.NewReader(again))
		require.NoError(t, err)
		if d.Service == "" {
			d.Service = openslo.DefaultService
		}
		if d.Period == 0 {
			d.Period = 30 * 24 * time.Hour
		}
		require.True(t, d.SLO.Equal(got.SLO))
		got.SLO.Objectives, got.SLO.Undefined = d.SLO.Objectives, d.SLO.Undefined
		require.Equal(t, d, got)
	})
}
