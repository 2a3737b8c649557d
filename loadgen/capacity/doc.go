// Package capacity finds out how much load a system can take: [Search] its goodput limit, the highest rate at which an SLO
// is still met, and [Sweep] its load-latency curve at the loads that one names. Both drive any [loadgen.Runner]: a client
// (loadgen.RunnerOf), or a simulation in virtual time (llmsim.Runner, loadgen.Simulate).
//
//	limit, err := capacity.Search(ctx, loadgen.RunnerOf(target), loadgen.Plan{
//		SLO:      slo.MustParse("ttft p95 < 800ms, e2e p95 < 8s"),
//		Workload: prompts,
//		Repeat:   true,
//		Warmup:   20 * time.Second,
//		Duration: 5 * time.Minute, // a probe's budget
//	}, capacity.WithStart(4))
//	fmt.Print(limit)
//
// A search is of an open loop, whose requests come however late the answers are: in a closed loop a system that is too slow
// is asked less, and no rate is one that it cannot take.
//
// # Probes
//
// A probe is one run of the plan at one rate, with a seed of its own, from an idle system. It ends when its verdict is
// clear, or when its budget (Plan.Duration) is spent. To end it the arrivals end (loadgen.Until); what is in flight is
// followed to its end, and the verdict is that of the report with all of it.
//
// The verdict is looked at when 200 requests have ended, and then at twice as many each time. Whoever looks often is
// sooner or later told what he wants to hear: so the k-th look is at confidence 1 − α/(k(k+1)), and since Σ 1/(k(k+1)) = 1
// the error of all of them together is at most α. A look counts once there are 20 batches longer than the time over
// which neighbours are alike, as far as that is known: the share has its batches (see package goodput), the run is 20
// times as long as requests take (P95), and it has 20 times as many requests as neighbours are alike for, as far as probes at
// other rates tell. Two looks in a row have to say the same. Before that a probe can only be found to miss the SLO by far, as
// above the capacity, where there is never an interval; that takes three looks in a row, which share a tenth of α.
//
// Where the true share is the objective's, so that "met" is wrong, it is said in 5 % of the probes or fewer (BenchmarkLine).
// A Runner that does not call Plan.Progress is looked at once, at its end.
//
// # The limit
//
// Shares of neighbouring requests vary more than those of independent ones, near saturation ten or a hundred times as much:
// every share counts as one of n/φ requests, with the variance inflation φ that package goodput estimates from batch means
// within a probe. φ grows with the rate, and a short probe cannot see all of it: a probe's is taken to be no less than that of
// longer probes at lower rates, and than what the 15th power of the rates' ratio leaves of it at higher ones. Else a probe that
// ended before the first of a spell of bad requests would outweigh those that met some. A probe without a φ, whose neighbours
// are alike for too long, counts as seven requests.
//
// The limit is not read off the verdicts, which are three-valued and waste what a probe has measured. The bad share near the
// crossing, where nearly all of its growth is queueing, is a logistic curve in the rate over a floor:
//
//	bad(λ) = f + (1−f) / (1 + exp(−(a + b·(λ−λ₀))))
//
// f is what is bad far below the limit, where nobody waits (long answers, errors); a and b are of maximum likelihood, from
// the probes near the crossing. Rate is where the curve crosses the share that the objective leaves, [Lo, Hi] Fieller's
// interval for it. With several objectives the lowest crossing is the limit. The probes after the bracket are made a little
// below and a little above it by turns, which is where they say most.
//
// The search ends when half of the interval is at most 3 % of the limit (WithPrecision) and four probes lie near it, or after
// 15 probes (WithProbes). Where the curve falls from all to nothing between two rates, there is no line: then it bisects, and
// the interval is the bracket of the verdicts. On queues whose limit is known in closed form the limit was within 3 % of it in
// 95 of 100 searches or more, and covered by its interval in 90 or more; docs/measurements.md has the figures. That takes a
// Duration that is long enough for the system: at 90 % of its capacity a queue forgets its state only after hundreds of
// service times, and a probe has to be as long as a hundred of those stretches.
//
// One line goes through all that is near. Where hardly anything is bad at many rates and everything a few per cent beyond, it is
// too flat, and its interval wide. An interval of more than ± 10 % is not believed against single verdicts: it ends at the
// lowest rate that was missed, and the highest that was met for long enough. Where the limit is too high all the same, ErrSamples is among the warnings.
//
// All this is of a system that stays as it is. One that gets worse while it is searched (a leak, a disk that fills, heat) has no one
// limit. Where a probe missed the SLO by more than an earlier one at the same rate or a higher one, beyond what chance
// explains, ErrDrift is among the warnings; of searches of sound systems at most 1 % are to have it. Little or slow drift it
// does not see: no probe is made for its sake.
//
// Where the interval is wider than a fifth of the limit (curve.WidestInterval), a limit's text shows it in place of the one figure, and
// Recommended is never more than its lower bound.
//
// # Before a search
//
// Name the SLO first. Give a Warmup (WarmupAuto finds its length), since each probe begins with an idle system. Give a
// Timeout or a Drain of seconds to a system that can be driven far beyond its limit: a probe that is missed ends when what is
// in flight has ended. Begin near the limit (WithStart), if it is known roughly: at low rates requests are few, and a probe
// takes all of its budget.
package capacity
