package promrules

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/goodputkit/goodputkit/slo"
)

// histogram is one that an engine exports.
type histogram struct {
	name  string
	edges []float64 // s
	steps bool      // of steps between tokens, and not of requests
}

// The edges are the defaults of the published sources; both projects let an operator change them.
//
//   - vLLM: vllm/v1/metrics/buckets.py at commit 139b1c3, the same numbers as in vllm/v1/metrics/loggers.py at 005a810.
//     request_time_per_output_token_seconds has one value for each request.
//   - SGLang: python/sglang/srt/metrics/collector.py at commit 00ae9c1. It has no time per output token of a request, only
//     the steps.
var (
	vllmFirst = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	vllmToken = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	vllmWhole = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}

	sglangFirst = []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400}
	sglangStep  = []float64{.002, .004, .006, .008, .01, .015, .02, .025, .03, .035, .04, .06, .08, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8}
	sglangWhole = []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1200, 1800, 2400}
)

var engines = map[Source]map[slo.Metric]histogram{
	VLLM: {
		slo.TTFT: {name: "vllm:time_to_first_token_seconds", edges: vllmFirst},
		slo.TPOT: {name: "vllm:request_time_per_output_token_seconds", edges: vllmToken},
		slo.ITL:  {name: "vllm:inter_token_latency_seconds", edges: vllmToken, steps: true},
		slo.E2E:  {name: "vllm:e2e_request_latency_seconds", edges: vllmWhole},
	},
	SGLang: {
		slo.TTFT: {name: "sglang:time_to_first_token_seconds", edges: sglangFirst},
		slo.ITL:  {name: "sglang:inter_token_latency_seconds", edges: sglangStep, steps: true},
		slo.E2E:  {name: "sglang:e2e_request_latency_seconds", edges: sglangWhole},
	},
}

// Bound is what a histogram can say about a threshold: what lies below the edge Below is within it, and what lies above
// Above is not. Between them nobody knows. Exact: both are the threshold.
type Bound struct {
	Objective    slo.Objective
	Metric       string  // the histogram
	Below, Above float64 // s
	Steps        bool    // it is about steps between tokens, and not about requests
}

// Exact reports whether the threshold is a bucket edge.
func (b Bound) Exact() bool { return b.Below == b.Above }

// String says by how much the edges miss the threshold.
func (b Bound) String() string {
	text := fmt.Sprintf("%s is a bucket edge of %s", b.Objective, b.Metric)
	if !b.Exact() {
		limit := b.Objective.Threshold.Limit
		text = fmt.Sprintf("%s is no bucket edge of %s, which bounds it: the edges about it are %ss (%+.3g%%) and %ss (%+.3g%%)",
			b.Objective, b.Metric, number(b.Below), 100*(b.Below/limit-1), number(b.Above), 100*(b.Above/limit-1))
	}
	if b.Steps {
		text += "; it is of steps between tokens, and not of each request's worst"
	}
	return text
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// bound finds the edges about an objective's threshold. An error wraps ErrUnsupported.
func (s Source) bound(o slo.Objective) (Bound, error) {
	h, ok := engines[s][o.Metric]
	switch {
	case !ok:
		return Bound{}, fmt.Errorf("%s: %s exports no histogram of %s: %w", o, s, o.Metric, ErrUnsupported)
	case o.Threshold.PerToken != 0:
		return Bound{}, fmt.Errorf("%s: a threshold that grows with the output is in no histogram: %w", o, ErrUnsupported)
	}
	limit, _ := o.Threshold.Billionths()
	x := float64(limit) / 1e9
	i, exact := slices.BinarySearch(h.edges, x)
	b := Bound{Objective: o, Metric: h.name, Steps: h.steps}
	switch {
	case exact:
		b.Below, b.Above = x, x
	case i == len(h.edges):
		return Bound{}, fmt.Errorf("%s: the last bucket edge of %s is %ss: %w", o, h.name, number(h.edges[i-1]), ErrUnsupported)
	default:
		b.Above = h.edges[i]
		if i > 0 {
			b.Below = h.edges[i-1]
		}
	}
	return b, nil
}

// le is a matcher of a bucket edge: Python's client writes 1.0 where Go's writes 1.
func le(edge float64) string {
	if edge == math.Trunc(edge) {
		return fmt.Sprintf(`le=~"%s(\\.0)?"`, regexp.QuoteMeta(number(edge)))
	}
	return fmt.Sprintf(`le=%q`, number(edge))
}
