// Package slo says what good means: it reads, checks and prints service-level objectives.
//
//	ttft p95 < 800ms, tpot p95 < 50ms, error_rate < 1%
//
// That is an SLO of three objectives. A request is good when it succeeded and holds every objective that is about a
// single request; goodput counts those requests and no others. This package only holds the words. What measures and
// judges by them is package goodput.
//
// # Three parts
//
// An objective has three parts, and each has to be written: what is measured, for which share of all requests, and the
// limit.
//
//	ttft      p95         < 2s
//	metric    percentile    threshold
//
// Read: of all requests at least 95 % have a time to first token of at most 2 s. A request that failed has none, and
// so is not among the 95 %. The comparison is inclusive, whichever of < and <= was written.
//
// A mean in place of the percentile is refused. Of 100 requests, let 95 take 100 ms and 5 take 5 s: the mean is
// 345 ms, a time that none of them took. It hides that one user in twenty waits fifty times as long, and it is those
// who wait that an objective is for. P0 and P100 are refused too: the one asks nothing, and the other cannot be shown
// by any sample.
//
// # Metrics
//
//	metric        what it is                                                 threshold
//	ttft          time to first token                                        time
//	ttfo          time to first output that is not reasoning                 time
//	tpot          mean time per output token after the first                 time (per token)
//	itl           every step between two tokens; the worst one decides       time
//	e2e           end to end                                                 time, may grow by a time per token
//	speed         output tokens per second after the first; higher is better tok/s
//	lag           from the intended start to the send                        time
//	service_ttft  ttft counted from the send                                 time
//	service_e2e   e2e counted from the send                                  time, may grow by a time per token
//	error_rate    share of requests that did not succeed                     %
//	attainment    share of requests that are good; higher is better          %
//	x_…           a value that the caller measured; lower is better          bare number
//
// Of a value of your own of which more is better, measure the negative: a score of at least 0.8 is x_score p95 < -0.8. Of
// speed "p95" are all but the slowest twentieth, and a percentile below P50 is refused.
//
// Times count from when the request was meant to begin, not from when the client got round to it. Error rate and
// attainment are judged on the population alone: they have no percentile, and 0 % and 100 % are no targets.
//
// # Text
//
// The grammar, in the notation of the Go specification. Upper case is read like lower case, white space may stand
// between any two words, and a line feed separates objectives like a comma.
//
//	SLO        = [ Item ] { ( "," | ";" | "\n" ) [ Item ] } .
//	Item       = Objective | "undefined" Metric ":" ( "holds" | "misses" | "excluded" ) .
//	Objective  = Subject Comparison Threshold .
//	Subject    = Metric Percentile | Percentile "(" Metric ")" | Percentile Metric | Metric .
//	Comparison = "<" | "<=" | "≤" | ">" | ">=" | "≥" .
//	Threshold  = Time [ "+" PerToken ] | PerToken [ "+" Time ] | Number "tok/s" | Number "%" | [ "-" ] Number .
//	Time       = Number Unit { Number Unit } .
//	PerToken   = Number Unit "/token" .
//	Unit       = "ns" | "us" | "µs" | "ms" | "s" | "m" | "h" .
//	Percentile = "p" Number .
//
// A percentile has at most four decimals. For "token" one may write "tok" or "tokens". Every number has its unit, but
// for those of a caller's own metrics; their names are "x_" and lower-case letters, digits and underscores.
//
// Where a request has no value of the metric, a rule can say what becomes of it: it holds the objective, misses it, or
// is excluded from its share. Without one, see UndefinedRule.
//
//	tpot p95 < 50ms, undefined tpot: excluded
//
// What cannot be meant is refused by a *ParseError, which says what is wrong, where, and how to write it with the numbers
// that were given; what it says to write is read:
//
//	slo: at byte 0, "tttf": unknown metric (one of your own begins with x_): write ttft p95 < 2s
//
// # Canonical text
//
// String writes each SLO in one way: "metric pN < value", ">=" where higher is better, a time in the largest of s, ms,
// µs and ns that gives at least 1, the rules for undefined values at the end. Parse gives back exactly what was
// printed. Fingerprint is a hash of this text: a report that carries it proves which SLO was fixed before the run.
//
// SLO and Objective are text to encoding/json, to YAML libraries and to flag.TextVar.
//
// # Numbers
//
// A Threshold is a float64 in the metric's base unit, but nothing is judged in floating point. Limits count in whole
// billionths of the unit (nanoseconds, for a time) and percentiles in whole millionths; see Threshold.Billionths,
// Percentile.PPM and Objective.Reached. So 999 of 1,000 reaches p99.9, and a request that took exactly the limit holds.
package slo
