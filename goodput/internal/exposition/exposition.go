// Package exposition is what those share who export goodput to a metrics system and those who write queries on what is
// exported: names, labels and bucket edges.
package exposition

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// Label is the value of the label slo: the SLO's name or, where it has none, its fingerprint.
func Label(s slo.SLO) string {
	if s.Name != "" {
		return readable(s.Name)
	}
	return s.Fingerprint()
}

// readable is a name with "?" in the place of what is not UTF-8, for which exporters refuse a whole scrape, and of U+FFFD, which the
// parser of PromQL takes for such damage, so that no query can have it.
func readable(name string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(name, "?"), "\uFFFD", "?")
}

// Labels are the values of the label slo of a service's SLOs: of the default one, and of those that a class has as its own.
// Each is Label's, but where two would be the same (the same objectives without a name, for two classes) the class's has "/" and
// its name after it, so that no query adds up what has a budget each.
func Labels(def slo.SLO, set slo.Set) func(class string) string {
	times := map[string]int{Label(def): 1}
	for _, s := range set {
		times[Label(s)]++
	}
	byClass, taken := map[string]string{}, map[string]bool{Label(def): true}
	for class, s := range set {
		if l := Label(s); times[l] == 1 {
			byClass[class], taken[l] = l, true
		}
	}
	for _, class := range set.Classes() {
		l := Label(set[class])
		if times[l] == 1 {
			continue
		}
		for taken[l] || l == Label(set[class]) {
			l += "/" + readable(class)
		}
		byClass[class], taken[l] = l, true
	}
	own := Label(def)
	return func(class string) string {
		if class == "" {
			class = slo.DefaultClass
		}
		if l, ok := byClass[class]; ok {
			return l
		}
		return own
	}
}

// AlertName is what an alert on an error budget is called, in the rules for Prometheus and in the gauge of the monitor's own state:
// GoodputBudgetBurnPage1h. With the severity, which is a word in ASCII, it tells the alerts of an objective apart.
func AlertName(severity string, long time.Duration) string {
	if severity != "" {
		severity = strings.ToUpper(severity[:1]) + severity[1:]
	}
	return "GoodputBudgetBurn" + severity + Duration(long)
}

// Target is the share of the requests that an objective asks to be within: what its error budget leaves of 1.
func Target(o slo.Objective) float64 { return float64(1e9-o.Budget()) / 1e9 }

// Histogram is the Prometheus name of a metric's histogram. That of x_cost_count would be taken for a series of x_cost's, for which client_golang
// fails a whole scrape: a name with such an end has "_x" after it, and so has one that would be the same then.
func Histogram(m slo.Metric) string {
	switch {
	case m == slo.Speed:
		return "goodput_speed_tokens_per_second"
	case m.Custom():
		name := "goodput_" + string(m)
		bare := name
		for strings.HasSuffix(bare, "_x") {
			bare = strings.TrimSuffix(bare, "_x")
		}
		for _, end := range []string{"_count", "_sum", "_bucket"} {
			if strings.HasSuffix(bare, end) {
				return name + "_x"
			}
		}
		return name
	}
	return "goodput_" + string(m) + "_seconds"
}

// The edges that the OpenTelemetry GenAI semantic conventions (v1.41.0) advise for gen_ai.server.time_to_first_token,
// gen_ai.server.time_per_output_token, gen_ai.*.duration and gen_ai.client.token.usage.
var (
	firstToken = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10}
	perToken   = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}
	duration   = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	Tokens     = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// Edges are the upper ends of a metric's classic buckets, in the metric's unit and in order: those that the GenAI
// conventions advise, and each threshold of the SLOs that is one number. Only the caller knows the scale of a custom
// metric, so that there are none but its thresholds.
func Edges(m slo.Metric, slos ...slo.SLO) []float64 {
	var all []float64
	switch m {
	case slo.TTFT, slo.TTFO, slo.ServiceTTFT:
		all = slices.Clone(firstToken)
	case slo.TPOT, slo.ITL:
		all = slices.Clone(perToken)
	case slo.E2E, slo.ServiceE2E, slo.Lag:
		all = slices.Clone(duration)
	case slo.Speed:
		all = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
	}
	for _, s := range slos {
		for _, o := range s.Objectives {
			if o.Metric == m {
				if edge, ok := Edge(o); ok {
					all = append(all, edge)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Edge is the bucket edge that tells apart what is within an objective; none where the threshold grows with the output. A
// bucket holds what is at most its edge, so that of speed, of which more is better, the edge is the number below.
func Edge(o slo.Objective) (float64, bool) {
	limit, perToken := o.Threshold.Billionths()
	switch {
	case perToken != 0 || o.Metric.Population():
		return 0, false
	case o.Metric.Custom():
		return o.Threshold.Limit, true
	case o.Metric.HigherIsBetter():
		return math.Nextafter(float64(limit)/1e9, 0), true
	}
	return float64(limit) / 1e9, true
}
