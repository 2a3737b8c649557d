// Package curve reads a load-latency curve: reports of one system at several loads, with one SLO that was fixed before the
// first of them.
//
//	c, err := curve.New(curve.Rate, points)
//	fmt.Print(c)
//
// What it says of the system:
//
//	Raw          highest throughput seen at any load
//	Succeeded    highest rate of successes at any load
//	Limit        goodput limit: the load at which the SLO stops being met, between two loads that were measured
//	Peak         load at which goodput is highest
//	Bloat        from the goodput limit to the load of the raw limit: work is done, and users do not get it in time
//	Recommended  the goodput limit less a head-room, 20 % where nobody says another
//	Steps        the goodput limit if an objective were held at P50, P90, P95 or P99: what each step costs in capacity
//
// # The crossing
//
// The goodput limit is interpolated between the last load at which the sample meets every objective and the next one, at
// which it does not. Between the two the logit of an objective's bad share, ln(p/(1−p)), is taken for a straight line in the
// load: for a queue below its capacity the logarithm of the tail grows about so (of M/M/1 the share beyond T is
// exp(−(μ−λ)T)). The bad share is taken as (bad + ½)/(n + 1), so that none is not minus infinity. Of several objectives that
// stop being met there the first to cross decides. It is a figure of the sample: Shown says what the verdicts show, and
// loadgen/capacity.Search finds the limit with an interval.
//
// A curve that does not cross has no limit: where the SLO is met at every load it is at least the highest one, and where at
// none below the lowest. A load at which the client was not sound (goodput.Invalid) says nothing of the server and is left
// out, with a warning.
//
// # What the raw limit counts
//
// Throughput counts whatever ended, and so a client's own timeouts and refusals, too: past its limit a system that is asked
// more has more throughput by them, without doing more. The raw limit can thus be more than the system can do. Where over 5 %
// of it failed a warning says so (ErrFailed), and Succeeded is what the system did.
//
// # Comparing two systems
//
// [Compare] says which of two systems, or configurations, has the greater goodput, from replicate runs of each at one load,
// by Welch's interval for the difference of their means.
package curve
