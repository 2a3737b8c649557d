// Package goodput measures goodput: how many requests per second succeed and meet their SLO. Records go in, a report
// comes out.
//
//	acc := goodput.NewAccumulator(slo.MustParse("ttft p95 < 800ms, tpot p95 < 50ms, error_rate < 1%"))
//	acc.Observe(&record) // from any goroutine, one record for each request that was offered
//	report := acc.Report()
//
// # A record
//
// A [Record] is one request on the time line: when it was meant to start, and as offsets from there when it was sent, when
// tokens came and when it ended; how it ended; what it carried. Latency counts from the intended start, for that is what
// the user waits, and not from the moment at which a busy client got round to it. That difference has a name of its own,
// lag, and latencies without it are reported beside the others as service_ttft and service_e2e.
//
// [Record.Value] has the metrics of one request, in seconds, seconds per token and tokens per second. One that is
// undefined is absent, never 0.
//
// # Outcomes
//
// A request that was offered ends in exactly one [Outcome]. Where several fit, the first of these decides: dropped;
// cancelled, unfinished, timeout; the HTTP status; an error event or finish reason "error"; malformed; cut at a length
// nobody asked for (truncated); empty; success, once every terminal marker was seen; else connection_error before the
// first byte of the body and truncated after it. [OutcomeOfStatus] has what an HTTP status means.
//
// # Good
//
// A request is good if it is a success and every per-request objective of its SLO holds: metric ≤ threshold (for speed:
// ≥), compared in whole nanoseconds and tokens. A [Judge] decides that for single records.
//
// # The report
//
// A [Report] is about a [Window]: the whole run, or a steady state. Shares and percentiles are of the cohort, the requests
// that started in the window, each followed to its end. Rates are flows: what ended in the window, over its length. So
// goodput ≤ success rate ≤ throughput, and what lies between goodput and throughput is [Report.Lost], each request under
// one cause. The books close: offered = good + late + each other outcome.
//
// An objective such as ttft p95 < 800ms says of the sample that it holds: at least 95 % of all requests, the failed ones
// counting against it, were within 800 ms. It is counted, not read off an estimated percentile. What the sample says of
// the system is the [Verdict]: met, missed, inconclusive or no data. It comes from a confidence interval that allows
// for requests close in time having similar latencies, so that 10,000 of them may be worth 50 independent ones: see
// [ObjectiveResult.Inflation]. A run that is too short for its load has no verdict, and its warnings say so.
//
// Warnings travel with the report as values: use errors.Is with this package's Err… variables. The report marshals to
// JSON and back, with the SLO's text and fingerprint in it, so that nobody picks the threshold after the run.
//
// # Records in files
//
// [NewRecordWriter] and [ReadRecords] write and read records as JSON lines; [ReadReport] gives the report of a run again.
package goodput
