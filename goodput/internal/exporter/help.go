package exporter

import "github.com/goodputkit/goodputkit/slo"

// What each figure is, in one sentence.
const (
	Offered      = "Requests that began."
	Decided      = "Requests that are good or bad: ended, or in flight past a deadline."
	Ended        = "Requests that ended, by outcome."
	Good         = "Successful requests that meet every per-request objective of the SLO."
	Lost         = "Requests that ended and are not good, each under one cause: its outcome, or the objective that it misses first."
	Requests     = "Requests that the objective is about: the decided, less those that it excludes."
	Within       = "Of the requests that the objective is about those that hold it."
	Undefined    = "Successes that have no value of the objective's metric, so that the SLO's rule for undefined values decided."
	Target       = "Share of the requests that the objective asks for."
	InFlight     = "Requests in flight."
	Overdue      = "Requests in flight past a deadline of the SLO, which are bad already."
	OtherClasses = "Requests that are counted under the class other, because there was no room for their own."
	BurnRate     = "Burn rate of the objective's error budget over a window: 1 spends it in just the period."
	BudgetLeft   = "Share of the period's error budget that is left; below 0 it is overspent."
	AlertState   = "1 for the state that the monitor's alert is in, 0 for the others."
)

// Histogram is what the histogram of a metric is of.
func Histogram(m slo.Metric) string {
	switch m {
	case slo.TTFT:
		return "Time to first token of successful requests, from the intended start."
	case slo.TTFO:
		return "Time to the first output that is not reasoning of successful requests, from the intended start."
	case slo.TPOT:
		return "Mean time per output token after the first of successful requests."
	case slo.ITL:
		return "Worst step between two tokens of each successful request."
	case slo.E2E:
		return "End-to-end latency of successful requests, from the intended start."
	case slo.Speed:
		return "Output tokens per second after the first token of successful requests."
	case slo.Lag:
		return "Time from the intended start to the send of successful requests."
	case slo.ServiceTTFT:
		return "Time to first token of successful requests, from the send."
	case slo.ServiceE2E:
		return "End-to-end latency of successful requests, from the send."
	}
	return "The caller's own " + string(m) + " of successful requests."
}
