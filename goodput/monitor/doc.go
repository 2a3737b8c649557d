// Package monitor watches the goodput of a service that is running: rolling windows, error budgets and burn-rate alerts,
// in memory that is bounded and with no goroutine of its own.
//
//	m, err := monitor.New(slo.MustParse("ttft p95 < 800ms, error_rate < 1%"))
//	f := m.Begin("chat", time.Now()) // when a request comes in
//	f.End(&record)                   // when it is over: booked once, whatever happens
//	m.Observe(&record)               // or, for a request that nobody began
//	state := m.State()
//
// # When a request counts
//
// A monitor is live: what happens counts at the instant at which it is told, by the monotonic clock. Neither a wall clock
// that jumps nor a record that comes late moves a count. A request is offered when it begins (or with its [Monitor.Observe]),
// it is throughput when it ends, and it is decided, good or bad, once:
//
//   - when it ends, by the SLO, as a [goodput.Judge] does;
//   - or, if it is still in flight, at its deadline: the first instant at which a threshold is certainly violated. That
//     is so of ttft and service_ttft without a first token, of ttfo without a first output, and of e2e and service_e2e
//     without an end, by the SLO or by a limit that the request brought along. A server that hangs burns its budget at
//     once, and the request is not decided again when it ends later. Thresholds that grow with the output, tpot, itl,
//     speed, lag and values of the caller's own are decided at the end alone.
//
// So decided = ended + in flight past the deadline. The same holds of every objective by itself: each has its own
// deadline, its own count of requests decided and its own count of those that missed it.
//
// # Windows
//
// Counts are kept in five rings at once: 1 s × 600, 10 s × 2,160, 5 min × 864, 1 h × 720 and 12 h × 744. A window is read from the
// finest ring that holds it, as a sum of integers that is divided once, and begins at a slot's beginning: it is longer
// than asked for by less than one slot (a 60th of it at most, from a minute on), and [Window] says from when to when it is.
// The longest is 372 days ([MaxWindow]).
//
// # Budgets and alerts
//
// Each objective has an error budget: the share of the requests that may be bad, over a period of 30 days or [WithPeriod], of a quarter, say.
// The burn rate of a window is by how many times faster it is spent than would last the period. An [Alert] fires when the
// budget burns too fast over a long and over a short window; its [Rule] follows from the objective's target and the
// period ([DefaultRules]), and one that could never fire is refused. No data is a state of its own. docs/budgets.md has
// the formulas.
//
// A percentile's budget is what it leaves, 5 % of all requests for a P95, the failed ones among the bad. An error_rate's is
// its threshold. The budget of the requests that are not good, whatever they miss, is that of an attainment objective, if
// the SLO has one; without it nobody said how many may be.
//
// # Memory
//
// A class takes, while it has traffic, 37 kB for each of 8 counts and 2 for each objective in its first month, 43 kB after a year,
// and next to nothing for the time in which it has none. There are at most 64 classes beside those that have an SLO of their own ([WithMaxClasses]);
// requests of any further class are counted in the class "other".
package monitor
