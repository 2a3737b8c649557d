package slo

import (
	"slices"
	"strings"
)

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
	Lag         Metric = "lag"          // from the intended start to the send, s; a wait for a place in flight included
	ServiceTTFT Metric = "service_ttft" // ttft counted from the send, s
	ServiceE2E  Metric = "service_e2e"  // e2e counted from the send, s
	ErrorRate   Metric = "error_rate"   // share of a population that did not succeed
	Attainment  Metric = "attainment"   // share of a population that is good; higher is better
)

// MaxMetricName is the length, in bytes, of the longest name that a caller's own metric can have, "x_" included.
const MaxMetricName = 64

const customPrefix = "x_"

// builtin is in the order of the documentation, which is also the order of the undefined clauses in canonical text.
var builtin = []Metric{TTFT, TTFO, TPOT, ITL, E2E, Speed, Lag, ServiceTTFT, ServiceE2E, ErrorRate, Attainment}

// Metrics returns the metrics that this package defines, in the order of the documentation.
func Metrics() []Metric { return slices.Clone(builtin) }

type kind uint8

const (
	unknownKind kind = iota
	timeKind
	speedKind
	ratioKind
	customKind
)

func (m Metric) kind() kind {
	switch m {
	case TTFT, TTFO, TPOT, ITL, E2E, Lag, ServiceTTFT, ServiceE2E:
		return timeKind
	case Speed:
		return speedKind
	case ErrorRate, Attainment:
		return ratioKind
	}
	if strings.HasPrefix(string(m), customPrefix) {
		return customKind
	}
	return unknownKind
}

// Unit is the base unit in which the metric's values and thresholds are numbers: "s", "s/token", "tokens/s" or "ratio".
// It is empty for a caller's own metric, whose unit only the caller knows, and for a name that is no metric.
func (m Metric) Unit() string {
	switch m.kind() {
	case timeKind:
		if m == TPOT {
			return "s/token"
		}
		return "s"
	case speedKind:
		return "tokens/s"
	case ratioKind:
		return "ratio"
	}
	return ""
}

// IsTime reports whether values of the metric are times: those whose unit is "s" or "s/token".
func (m Metric) IsTime() bool { return m.kind() == timeKind }

// HigherIsBetter reports whether the metric is held by reaching its threshold from above: Speed and Attainment.
// Every other metric is held by staying at or below its threshold.
func (m Metric) HigherIsBetter() bool { return m == Speed || m == Attainment }

// Population reports whether the metric is a share of a population, and nothing that one request has: ErrorRate and
// Attainment. An objective on such a metric has no percentile.
func (m Metric) Population() bool { return m.kind() == ratioKind }

// Custom reports whether the metric is the caller's own, which is to say whether its name begins with "x_".
func (m Metric) Custom() bool { return m.kind() == customKind }

// scales reports whether a threshold on the metric may grow with the number of output tokens: E2E and ServiceE2E.
func (m Metric) scales() bool { return m == E2E || m == ServiceE2E }

// canBeUndefined reports whether there are requests of which the metric has no value, so that a rule can say what
// becomes of them. End-to-end time and lag always have one; of ErrorRate and Attainment a request has none at all.
func (m Metric) canBeUndefined() bool {
	switch m {
	case TTFT, TTFO, TPOT, ITL, Speed, ServiceTTFT:
		return true
	}
	return m.Custom()
}

// Validate refuses a name that is no metric, and a caller's own that is not "x_" followed by lower-case letters,
// digits and underscores, at most MaxMetricName bytes in all. The error wraps ErrMetric.
func (m Metric) Validate() error {
	if err := m.check(); err != nil {
		if near := m.nearest(); near != "" {
			err = advise(err, string(near))
		}
		return &invalidError{where: "metric " + quote(string(m)), err: err}
	}
	return nil
}

func (m Metric) check() error {
	switch m.kind() {
	case customKind:
		return m.checkCustom()
	case unknownKind:
		if m == "" {
			return problemf(ErrMetric, "there is no metric: one of %s, or x_ and a name of your own", metricList())
		}
		if why, ok := foreign(string(m)); ok {
			return problemf(ErrMetric, "unknown metric: %s", why)
		}
		if m.nearest() != "" {
			return problemf(ErrMetric, "unknown metric (one of your own begins with x_)")
		}
		return problemf(ErrMetric, "unknown metric: it is one of %s, or x_ and a name of your own", metricList())
	}
	return nil
}

func (m Metric) checkCustom() error {
	if len(m) > MaxMetricName {
		return problemf(ErrMetric, "the name has %d bytes, at most %d are allowed", len(m), MaxMetricName)
	}
	name := strings.TrimPrefix(string(m), customPrefix)
	if name == "" {
		return problemf(ErrMetric, "a metric of your own has a name after x_, such as x_cost")
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return problemf(ErrMetric, "%q cannot stand in a metric's name: use a to z, 0 to 9 and _", r)
		}
	}
	return nil
}

func metricList() string {
	var b strings.Builder
	for i, m := range builtin {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(m))
	}
	return b.String()
}

// alias holds what other tools and people call these metrics. They are for hints alone and are not read.
var alias = map[string]Metric{
	"latency": E2E, "e2el": E2E, "e2e_latency": E2E, "end_to_end": E2E, "end_to_end_latency": E2E, "request_latency": E2E,
	"duration": E2E, "request_duration": E2E, "http_req_duration": E2E, "response_time": E2E, "total_time": E2E,
	"time_to_first_token": TTFT, "first_token": TTFT, "first_token_latency": TTFT, "ttfb": TTFT,
	"time_to_first_output_token": TTFO, "time_to_first_output": TTFO,
	"time_per_output_token": TPOT, "time_per_token": TPOT,
	"inter_token_latency": ITL, "intertoken_latency": ITL, "tbt": ITL, "time_between_tokens": ITL,
	"errors": ErrorRate, "error": ErrorRate, "err": ErrorRate, "error_ratio": ErrorRate, "failures": ErrorRate, "failure": ErrorRate,
	"failure_rate": ErrorRate, "failed": ErrorRate, "http_req_failed": ErrorRate,
	"apdex": Attainment, "apdex_score": Attainment, "slo_attainment": Attainment, "goodput": Attainment, "goodput_ratio": Attainment,
	"tps": Speed, "tokens_per_second": Speed, "output_speed": Speed,
}

// successes are names of the share that error_rate leaves.
var successes = map[string]bool{"availability": true, "uptime": true, "success": true, "success_rate": true, "success_ratio": true,
	"successes": true, "succeeded": true}

// oneOutcome is why the share of one outcome is no metric.
const oneOutcome = "no objective is about one outcome: error_rate counts every request that did not succeed, whatever the reason"

// isOneOutcome reports whether a name is that of the share of one outcome: timeout_rate, server_errors, 5xx_rate.
func isOneOutcome(name string) bool {
	name = strings.TrimPrefix(name, "http_")
	of := name
	for _, suffix := range []string{"_rate", "_ratio", "_share", "s"} {
		of = strings.TrimSuffix(of, suffix)
	}
	switch of {
	case "timeout", "server_error", "client_error", "connection_error":
		return true
	case "timed_out", "rate_limit", "rate_limited", "rejected", "rejection", "server", "client", "connection", "cancelled",
		"canceled", "truncated", "truncation", "empty", "malformed", "dropped", "drop", "unfinished":
		return of != name
	}
	return isStatus(of)
}

// rates are names of requests per second.
var rates = map[string]bool{"throughput": true, "rps": true, "qps": true, "request_rate": true, "requests_per_second": true}

// foreign is why what another tool calls so is no metric here.
func foreign(name string) (why string, ok bool) {
	switch name = strings.ToLower(name); {
	case successes[name]:
		return "the share that succeeds is bounded by what is left of it, error_rate", true
	case rates[name]:
		return "a load is no objective, for each request is judged alone, and a report says at which rate they came", true
	case isOneOutcome(name):
		return oneOutcome, true
	case strings.HasPrefix(name, "apdex"):
		return "there is no apdex, which counts the half satisfied; the share of requests that is good is attainment", true
	case strings.HasPrefix(name, "goodput"):
		return "goodput is what is counted by an SLO; the share of requests that is good is attainment", true
	}
	return "", false
}

// nearest is the metric that was probably meant by an unknown name, or "".
func (m Metric) nearest() Metric {
	name := strings.ToLower(string(m))
	if len(name) > MaxMetricName {
		return ""
	}
	if a, ok := alias[name]; ok {
		return a
	}
	if isOneOutcome(name) {
		return ErrorRate
	}
	if successes[name] || rates[name] {
		return ""
	}
	best, at := Metric(""), 0
	for _, c := range builtin {
		d := distance(name, string(c))
		if 2*d <= max(len(name), len(c)) && (best == "" || d < at) {
			best, at = c, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete, replace or swap with their neighbour to make b from a (the
// optimal string alignment distance).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
