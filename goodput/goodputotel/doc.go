// Package goodputotel exports goodput to OpenTelemetry: instruments of what a monitor counts, and those that the semantic
// conventions for generative AI name.
//
//	m, err := monitor.New(slo.MustParse("ttft p95 < 800ms, tpot p95 < 50ms, error_rate < 1%"))
//	i, err := goodputotel.New(m, goodputotel.Config{Provider: "openai", Model: "gpt-4o"})
//	defer i.Close()
//
//	m.Observe(&record)      // or Begin and End: the monitor counts
//	i.Observe(ctx, &record) // and the histograms are filled
//
// Behind the middleware of package goodputhttp both get the records with
//
//	goodputhttp.Config{Monitor: m, Sink: goodputhttp.SinkFunc(func(r *goodput.Record) { i.Observe(context.Background(), r) })}
//
// # The conventions' histograms
//
// Names, units, attributes and advised buckets are those of the GenAI semantic conventions v1.41.0, whose status is
// "development". Each has an additional bucket edge on each threshold of the SLO on the same metric.
//
//	gen_ai.server.time_to_first_token     s         successes        of a Server
//	gen_ai.server.time_per_output_token   s         successes        of a Server
//	gen_ai.server.request.duration        s         all that ended   of a Server
//	gen_ai.client.operation.duration      s         all that ended   of a Client
//	gen_ai.client.token.usage             {token}   all that ended   of a Client, by gen_ai.token.type, where the count is known
//
// They count from the send, as the conventions mean them (service_ttft and service_e2e of package slo; in a server that
// is the beginning). Their attributes are gen_ai.operation.name, gen_ai.provider.name, gen_ai.request.model where it is known, server.address and
// server.port, and error.type, which is the outcome of a request that failed.
//
// # The library's own
//
// What the conventions do not have is under "goodput.", with the attributes goodput.class and goodput.slo (the SLO's name
// or, where it has none, its fingerprint; where a class's own has the same as another, with "/" and the class after it). The counters are observed: the monitor's integers, of one instant in each
// collection, so that their books close (see package goodputprom, which exports the same).
//
//	goodput.request.offered    {request}   began
//	goodput.request.decided    {request}   good or bad: ended, or in flight past a deadline of the SLO
//	goodput.request.ended      {request}   by goodput.outcome
//	goodput.request.good       {request}   success, and every per-request objective holds
//	goodput.request.lost       {request}   ended and not good, by goodput.cause: the outcome, or the objective missed first
//	goodput.request.active     {request}   in flight
//	goodput.request.overdue    {request}   of those in flight, past a deadline
//	goodput.objective.decided  {request}   by goodput.objective: that it is about
//	goodput.objective.within   {request}   of them: those that hold it
//	goodput.objective.undefined {request}  successes without a value of its metric: the SLO's rule for those decided
//	goodput.objective.target   1           the share of them that it asks for
//	goodput.token.usage        {token}     of what ended, by gen_ai.token.type
//	goodput.token.good         {token}     of what is good, likewise
//	goodput.class.other        {request}   counted under the class "other", because there was no room for their own
//
// goodput.burn_rate (by goodput.window), goodput.error_budget.left and goodput.alert.state (by goodput.alert, goodput.severity and
// goodput.state) are what the monitor says of budgets and alerts, of each goodput.objective; an alert is named as in the rules of
// package promrules: GoodputBudgetBurnPage1h. Of them the class is the one that has the SLO as its own, or "default" for all that have none, together. What is
// a share of no requests is not observed, and is not 0. A collection asks the monitor, and so has it judge its alerts.
//
// Metrics that have an objective and that the conventions do not name (ttfo, itl, speed, lag, a caller's own) have a
// histogram of the successes, goodput.ttfo and so on; that of itl is of each request's worst step.
//
// No more classes have attributes of their own than [Config.MaxClasses]; any further one is "other".
package goodputotel
