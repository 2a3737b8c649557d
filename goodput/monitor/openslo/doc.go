// Package openslo writes an SLO as OpenSLO v1 (https://github.com/OpenSLO/OpenSLO) and reads it back, for whatever else keeps or
// shows service-level objectives by that specification.
//
//	d := openslo.Document{SLO: slo.MustParse("ttft p95 < 800ms, error_rate < 1%"), Service: "chat"}
//	text, err := d.YAML()
//	d, err = openslo.Read(file)
//
// # What is written
//
// A Service, and an SLO for each objective, whose indicator is a ratio of two counters that package goodputprom exports:
//
//	good     goodput_objective_within_requests_total{slo, objective}
//	total    goodput_objective_requests_total{slo, objective}
//	target   the share that the objective asks for: 0.95 of a P95, 0.99 of error_rate < 1%
//
// The budgeting method is Occurrences, for requests are counted and not minutes, and the time window is rolling. A query is a bare
// selector, so that a reader can write sum(increase(…[30d])): summed first, the counters of several replicas would make one
// replica's restart all theirs.
//
// OpenSLO has no place for what makes a request good, nor for the order of the objectives or the rules for undefined values. So each SLO
// has annotations that say it, and from which Read gives the same SLO back:
//
//	goodputkit.github.io/objective   ttft p95 < 800ms
//	goodputkit.github.io/slo         ttft p95 < 800ms, error_rate < 1%
//	goodputkit.github.io/slo-name    its name, if it has one
//
// # What is read
//
// What these annotations and the fields of OpenSLO say has to agree: a file whose target was changed by hand and whose annotation was not is
// refused. Files of others are read where they say enough. An SLO needs one annotation beside it:
//
//   - goodputkit.github.io/objective: the whole objective, whatever the indicator is. The target has to be the same.
//   - goodputkit.github.io/metric: what it is of, where the fields say the rest. A thresholdMetric gives the percentile
//     (target) and the threshold (op and value, in the metric's base unit: seconds, tokens/s); a ratioMetric of successes has
//     the metric error_rate, and one of good requests attainment.
//
// Without one it is refused, for a query does not say which times it measures, and a ratio not what it takes to be good. So is what
// would mean another thing here, with the name of the field and the reason: time slices, calendar windows, months, several
// objectives of one indicator. What says nothing about the objectives, such as alert policies, is left out and listed in
// [Document.Warnings].
package openslo
