// Package posthoc looks at a run again, when it is over: what if the thresholds had been others?
//
//	f, err := os.Open("run.jsonl")
//	a, err := posthoc.Read(f)
//	fmt.Print(a)
//
// Every figure of it is chosen after the run, and is no result: who looks for the thresholds that suit a run will find
// some. It is for planning (which promise could be kept, and what would a tighter one cost?), and the promise has to be
// written down before another run shows that it is. The result of this run stays with the SLO that was fixed before it:
// it is in [Analysis].Report, and text and JSON begin with it.
//
// # The figures
//
//	Curve       the SLO-scale curve: attainment and goodput if all thresholds were 0.4 to 2 times what they are
//	Tightest    the least scale at which the sample still meets the SLO, and each objective by itself
//	Attains     the least scale at which a share of the requests, 90 % where nobody says another, is good
//	Surface     attainment and goodput over a grid of thresholds on ttft and tpot, all other objectives as they are
//
// They are counted by the definitions that a report is counted by: shares are of the whole cohort, a request that failed
// is good at no scale, rates are flows of the window, comparisons are in whole nanoseconds, undefined values are decided
// by the SLO's rule. So at scale 1 every figure is the report's own, and shares and rates only rise with the scale. The curve is
// that of Zhong et al., "DistServe: Disaggregating Prefill and Decoding for Goodput-optimized Large Language Model Serving"
// (OSDI 2024), whose 90 % is the default too.
//
// # Scales
//
// A scale is a factor of every threshold that one request is held against, with at most four digits: from [MinScale] to
// [MaxScale]. A time is multiplied by it and rounded to whole nanoseconds, both parts of one that grows with the output; a
// speed, of which more is better, is divided, and so is a negative threshold of a caller's own metric. error_rate and
// attainment are promises about a population and stay what they are. Thresholds that a request brought along (Record.Limits)
// are scaled like its class's.
//
// What the sample meets at a scale is found by counting. The tightest scale is exact in four digits: with the thresholds
// that [Scaled] gives for it the same records meet the SLO, and with those of the next lower one they do not.
//
// Memory is bounded: records go through once, and of each there stays one count in up to five tables of 9,000 for each
// objective and class.
package posthoc
