// Package loadgen makes load and yields records: it carries a [Plan] out on a [Target] and says what came of it, as a
// report of package goodput.
//
//	res, err := loadgen.Run(ctx, target, loadgen.Plan{
//		SLO:      slo.MustParse("ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%"),
//		Arrivals: loadgen.Poisson{Rate: 20},
//		Warmup:   10 * time.Second,
//		Duration: time.Minute,
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(res.Report)
//
// # Open and closed loops
//
// A plan with [Arrivals] is an open loop: requests begin at instants that were settled before the first one was sent,
// as those of independent users do, and a system that falls behind gets no respite. A plan with Concurrency is a closed
// loop: so many workers, each of which waits for its answer before it asks again. A closed loop slows down with the
// system that it measures; to learn what a system can take, use an open one.
//
// The instants are absolute. What is due is sent, however late the client is, and latency counts from the instant at
// which a request was meant to start: a client that was busy, or a place in flight that was not free, is part of what a
// user would have waited. How late each request was sent is its record's lag. In the client's health stands the part of it
// that is the client's own: without the wait for a place in flight.
//
// In real time, on Linux, a timer of the kernel's says when the next instant has come: requests leave within some tens of
// microseconds where a core is free, and none spins until then. Elsewhere, and where no file descriptor is left for it,
// Go's timers do, which on an idle Linux machine wake on whole milliseconds. What is due at one instant leaves as one burst.
//
// # Client health
//
// The report's Health says whether the client itself was the bottleneck, in which case the figures are not the server's; of
// one that is invalid the report's first line says so. Where one of these is above the first number the client is suspect,
// and above the second invalid.
//
//	1 %  5 %   of the rate at which requests were due was not delivered, and the last one left more than 10 ms late
//	1 %   –    of the requests were dropped at the limit of requests in flight
//	0    1 %   of the requests had no file descriptor or no local port: they are dropped, and no fault of the server's
//	10 % 50 %  of the tightest threshold on ttft, ttfo, e2e or lag: the P99 of the client's own lag
//	10 % 50 %  of a closed loop's workers were not in flight because what they had to send left late, by more than
//	           100 µs a request (goodput.InFlight)
//	1 %  10 %  and 10 ms a request lie between the requests in flight that the Book counted and those that Little's law
//	           gives from the records: answers lay unread for so long, of which the kernel says when they came, or a
//	           Runner of one's own has a wrong clock
//	10 %  –    of the requests opened a connection though one could have been kept for them: beyond the most that were in
//	           flight at once and those that failed, where to open one (DNS, connect, TLS, the sum of their medians) takes
//	           more than 10 % of the tightest threshold on ttft, ttfo, e2e or lag. Not of a target that is to open one for
//	           each (Description.OpensEach)
//
// In real time, but not in a synctest bubble or in Simulate, also
//
//	10 % 50 %  of the tightest threshold on ttft, ttfo, itl, e2e or lag: the P99 of the time for which goroutines waited for
//	           a processor (of 100 waits or more). Answers are read that much late, which no lag shows,
//	           and their instants are late too where the kernel does not say when they came; tpot is a mean
//	           over an answer
//	1 %   –    of the run the client stood still in garbage collections of more than 10 % of that threshold each
//	5 %   –    of the seconds the client kept more than 80 % of the CPUs that it may use busy (GOMAXPROCS, or fewer that it
//	           may run on)
//	5 %   –    of the seconds less than a tenth of one CPU was idle among those that the client may run on
//	1 %   –    of these CPUs' time was stolen by other virtual machines, in a run of 2 s or more
//	1 %   –    of the periods of its CPU quota the client was halted. Below two CPUs GOMAXPROCS is two all the same
//
// Why there: a tenth of a threshold, by which an instant may be off, moves the requests close to it to the other side, and
// half of one leaves the verdict to the client. What takes 1 % of the time meets an instant with that probability, and so is
// in the P99; 5 % of the seconds is what a P95 may neglect. At 80 % use work waits for one CPU four times as long as it takes
// (M/M/1: ρ/(1−ρ)), at 95 % nineteen times. Where less than a tenth of one CPU is idle, nine instants in ten at least find no
// idle one, by Markov's inequality; what others take is of no harm while there is one. A server on the same host is one of
// these others: if it is to be measured at its limit, give it a host, or CPUs, of its own.
//
// Who had the CPUs is read each second, from getrusage(2) and, on Linux, proc_stat(5); quotas are those of control groups
// (cpu.stat). Elsewhere nothing is known of others, and a run shorter than half a second is not judged by its CPUs.
//
// Where a target knows how its requests got there, Health.Network has the percentiles of each [Phase] of their way: the
// wait for a connection, its opening, the writing, the first byte, the first token.
//
// # Arrivals
//
//	process    arrivals                                                          variance / mean of counts
//	Constant   every 1/Rate                                                      0
//	Poisson    without memory: many users who do not know of each other          1
//	Gamma      gamma-distributed gaps, as vLLM's burstiness has them             1/Burstiness
//	Weibull    Weibull-distributed gaps: bursts and long pauses, or steadier     Γ(1+2/Shape)/Γ(1+1/Shape)² − 1
//	MMPP       Poisson, now at one rate, now at another: bursts that last        more than 1, by its formula
//	Ramp       a rate that goes from one to another, linearly or exponentially   1 or, spaced evenly, 0
//	Steps      one rate after the other, and pauses                              1 or, spaced evenly, 0
//	Sine       a rate that swings, as over a day                                 1 or, spaced evenly, 0
//	Replay     the instants of a trace, at any speed                             the trace's
//
// The last column is of long windows; where the rate varies, it is against that rate. Any other is an [ArrivalsFunc].
//
// Nothing is rescaled. A Poisson process of 20/s over a minute has 1,200 requests on average, and seldom exactly.
// The same seed gives the same instants.
//
// # Targets
//
// A [Target] performs one request and tells a [Trace] what happened when: the first byte, each token, what the server
// counted. Package openai has one for OpenAI-compatible endpoints, package httptarget one for any HTTP service, package
// llmsim a simulated one; a [TargetFunc] makes one of a function. The error that it returns becomes the request's outcome:
//
//	nil                                          success, or empty: no token from a target that declares them
//	Fail(outcome, detail)                        that outcome
//	*StatusError                                 408, 504: timeout; 429: rate_limited; refused by admission control:
//	                                             rejected; other 5xx: server_error; other 4xx, 3xx: client_error
//	no file descriptor, no local port            dropped: it was never sent
//	the request's deadline has passed            timeout, whatever else happened
//	context.Canceled                             cancelled
//	the connection was lost, or never was        connection_error, or truncated once a byte had come
//	anything else, a panic included              server_error
//
// [Do] performs a single request, outside any run.
//
// # Sessions
//
// A [Conversation] is a session of several turns: the next one starts a think time after the answer to the last one has
// ended, and carries its text. Arrivals are then of sessions. Any other session is a [Request] with a Next, which makes
// the request that comes after it. See [Plan].
//
// # How a run ends
//
// The arrivals end with the first bound that is reached; then Drain gives what is in flight time to end, and what has not
// is unfinished. A run whose context is cancelled ends there and then, with a report of what there was. Each request that
// was due is in the report once, whatever the target did.
//
// # Virtual time
//
// In a testing/synctest bubble [Run] runs in the bubble's time, an hour of load in seconds. Outside of tests, [Simulate]
// carries the same plan out on a [System], a state machine that is told the time. Both leave what a plan means to a
// [Book], which a Runner of one's own can ask too.
package loadgen
