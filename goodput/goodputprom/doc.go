// Package goodputprom exports goodput to Prometheus: a [Collector] of what a monitor counts, registered like any other.
//
//	m, err := monitor.New(slo.MustParse("ttft p95 < 800ms, tpot p95 < 50ms, error_rate < 1%"))
//	c := goodputprom.New(m)
//	prometheus.MustRegister(c)
//
//	m.Observe(&record) // or Begin and End: the monitor counts
//	c.Observe(&record) // and the histograms are filled
//
// # Counters
//
// The counters are the monitor's integers and so exact: of requests that have ended each is what a [goodput.Accumulator]
// that saw the same records counts. The figures of one scrape are of one instant, so that the books of each class close:
//
//	requests by outcome = good + lost by cause + dropped + unfinished
//	decided = requests by outcome + overdue
//
// Goodput is the rate of one of them and attainment the quotient of two, over whatever range the query names:
//
//	rate(goodput_good_requests_total[5m])
//	increase(goodput_good_requests_total[1h]) / increase(goodput_decided_requests_total[1h])
//
// All carry the labels class and slo, the latter being the SLO's name or, where it has none, its fingerprint; and where another of
// the monitor's SLOs has the same, "/" and the class whose own it is after it.
//
//	goodput_offered_requests_total                       began
//	goodput_decided_requests_total                       are good or bad: ended, or in flight past a deadline of the SLO
//	goodput_requests_total{outcome}                      ended, by how
//	goodput_good_requests_total                          of them: success, and every per-request objective holds
//	goodput_lost_requests_total{cause}                   ended and not good: the outcome, or the objective that is missed first
//	goodput_objective_requests_total{objective}          that the objective is about: the decided, less those that it excludes
//	goodput_objective_within_requests_total{objective}   of them: those that hold it
//	goodput_objective_undefined_requests_total{objective}   successes without a value of its metric: the SLO's rule for those decided
//	goodput_objective_target_ratio{objective}            gauge: the share of them that it asks for
//	goodput_input_tokens_total, goodput_output_tokens_total             of what ended
//	goodput_good_input_tokens_total, goodput_good_output_tokens_total   of what is good
//	goodput_in_flight_requests                           gauge
//	goodput_overdue_requests                             gauge: of those in flight, past a deadline
//	goodput_other_class_requests_total                   counted under the class "other"; no labels
//
// For error_rate those within are the successes, and for attainment the good, so that for every objective the share
// that breaks it is 1 − within / requests, and its error budget 1 − target.
//
// # Budgets and alerts
//
// What the monitor itself says of its error budgets is there as gauges. Their class is the one that has the SLO as its own,
// or "default" for all that have none, together. What is a share of no requests has no series, and is not 0.
//
//	goodput_burn_rate{objective, window}                          1 spends the period's budget in just the period
//	goodput_error_budget_left_ratio{objective}                    1: all; 0: none; below 0: overspent
//	goodput_alert_state{objective, alert, severity, state}        1 for the state that it is in, 0 for the others
//
// An alert has the name and the severity ("page", "ticket") that it has in the rules of package promrules, so that
//
//	goodput_alert_state{state="firing"} == 1
//
// and ALERTS{alertstate="firing"} name the same by alert and alertname.
//
// A scrape asks the monitor, and so has it judge its alerts. Package promrules writes rules that have Prometheus judge them, over
// all replicas, from the counters.
//
// # Histograms
//
// Of the successes that [Collector.Observe] is given there are histograms in the metric's base unit: goodput_ttft_seconds,
// goodput_tpot_seconds, goodput_e2e_seconds, and one for each other metric on which there is an objective ([WithMetrics]
// adds more). goodput_itl_seconds is of each request's worst step, on which it is judged;
// goodput_speed_tokens_per_second and goodput_x_… complete the names (one of the caller's that ends in _count, _sum or _bucket, which are series of a
// histogram's own, has _x after it). Each is classic and native at once, so that it serves
// servers that scrape either. The classic buckets are those that the OpenTelemetry GenAI conventions advise, and one edge
// on each threshold of the SLO, so that the bucket at the threshold counts what is within it; a threshold that grows with
// the output (1s + 40ms/token) is no one edge and has none. The native buckets grow by a factor of at most 1.1.
//
// There are no gauges of percentiles: they cannot be added up over replicas or averaged over time. histogram_quantile
// reads a percentile off a histogram, and whether an objective holds is read off its counters, exactly.
//
// # Cardinality
//
// At most [goodput.MaxClasses] classes have labels of their own; requests of any further one are under "other" and counted
// ([monitor.WithMaxClasses] bounds the counters, [WithMaxClasses] the histograms). Outcomes, causes and objectives are fixed
// by the SLO. Every series of a class is there from its first request on, and those of "default" and of the classes that
// the set names from the start, with 0, so that rate and increase see the first event, too.
package goodputprom
