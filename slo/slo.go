package slo

// Metric names what is measured of a request, or of a population of requests.
type Metric string

// The metrics. A caller's own metric is any name that begins with "x_": lower is better, and its threshold is a bare
// number in the caller's unit.
const (
	TTFT        Metric = "ttft"         // time to first token, s
	TTFO        Metric = "ttfo"         // time to first output that is not reasoning, s
	TPOT        Metric = "tpot"         // mean time per output token after the first, s/token
	ITL         Metric = "itl"          // every step between tokens, s; a request is judged on its worst
	E2E         Metric = "e2e"          // end to end, s
	Speed       Metric = "speed"        // output tokens/s after the first token; higher is better
	Lag         Metric = "lag"          // how late the client sent the request, s
	ServiceTTFT Metric = "service_ttft" // ttft counted from the send, s
	ServiceE2E  Metric = "service_e2e"  // e2e counted from the send, s
	ErrorRate   Metric = "error_rate"   // share of a population that did not succeed
	Attainment  Metric = "attainment"   // share of a population that is good; higher is better
)

// Percentile is in percent, above 0 and below 100, with at most four decimals.
type Percentile float64

// The usual percentiles.
const (
	P50  Percentile = 50
	P90  Percentile = 90
	P95  Percentile = 95
	P99  Percentile = 99
	P999 Percentile = 99.9
)

// Threshold is a limit in the metric's base unit: seconds, seconds per token, a ratio, or tokens per second.
// PerToken is added once for each output token; only e2e and service_e2e can have one.
type Threshold struct {
	Limit, PerToken float64
}

// Objective has three parts. The population metrics, ErrorRate and Attainment, have no percentile (0).
type Objective struct {
	Metric     Metric
	Percentile Percentile
	Threshold  Threshold
}

// UndefinedRule says what becomes of a request for which an objective's metric is undefined. The empty rule is the
// default: tpot, itl and speed hold where the answer was one token long and are missed otherwise, and any other metric
// is missed.
type UndefinedRule string

// The rules.
const (
	UndefinedHolds    UndefinedRule = "holds"
	UndefinedMisses   UndefinedRule = "misses"
	UndefinedExcluded UndefinedRule = "excluded" // leaves the objective's share, decides nothing about good
)

// SLO is a list of objectives, each of which has to hold. Name is for people: it is part of neither the text nor the
// fingerprint.
type SLO struct {
	Name       string
	Objectives []Objective
	Undefined  map[Metric]UndefinedRule
}

// Set is an SLO per class of traffic. A class that is not in it is judged by the default that stands beside the set.
type Set map[string]SLO
