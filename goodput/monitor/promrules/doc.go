// Package promrules writes what Prometheus and Grafana need to watch an SLO: recording and alerting rules, their unit
// tests for promtool, and a dashboard.
//
//	p := promrules.Plan{SLO: slo.MustParse("ttft p95 < 800ms, error_rate < 1%")}
//	rules, err := p.Rules()
//	os.WriteFile("goodput-rules.yaml", rules.YAML(), 0o644)
//
// [Plans] are those of a monitor, one for each of its SLOs, each with the label by which the exported counters tell it from the others.
// [Rules.ScrapeInterval] says how often the series have to be scraped.
//
// # What is recorded
//
// Of each objective, with the labels slo and objective, and those of [Plan.Match], over each window W of an alert and over the period:
//
//	objective:goodput_requests:increaseW           requests that it is about
//	objective:goodput_bad:ratio_rateW              share of them that break it
//	objective:goodput_bad:wilson_lowerW            lower bound of the Wilson interval of that share, over the long windows
//	objective:goodput_error_budget_left:ratio      1 − bad share of the period / budget
//
// and of the SLO slo:goodput_throughput:rateW, slo:goodput_goodput:rateW and slo:goodput_attainment:ratio_rateW over the
// shortest window. Counts are summed over replicas and divided once: no share is a mean of shares. Where there was no request there is no
// share: the series is absent, and neither 0 nor NaN.
//
// # When an alert fires
//
// The windows and thresholds are those of [monitor.DefaultRules], or the ones that a plan names, checked by [monitor.Rule.Check]:
// one that cannot fire is refused. As the monitor's own, an alert wants evidence: so many bad requests in the long window, and the lower
// bound of the Wilson interval beyond the threshold. The monitor holds the interval against the threshold only to begin, and
// Prometheus, which has no memory, at every evaluation; so it may end a little earlier here, and does where nobody
// comes any more, or nothing is scraped: that wants an alert of its own, on up or absent.
//
// # The engines' own histograms
//
// With [VLLM] and [SGLang] the same rules are written on what these servers export by themselves. A histogram tells only
// what lies below its bucket edges. Where a threshold is no edge, the share is bounded and the rules say so: the bad share that alerts is the
// lower bound, of what lies above the next edge, and objective:goodput_bad_upper:ratio_rateW is the upper one. [Bound] says how far the edges
// are from the threshold. A request that failed before there was anything to measure is in no histogram, and so not among the bad. The edges are
// the engines' defaults: where an operator has others, there is no series for an edge, no share, and no alert. What an engine does not export (ttfo, speed, error_rate, …) is in [Rules.Warnings].
package promrules
