// Package admission lets a service defend its goodput. Past saturation, best effort lets every request in and all of them are
// late; here a few are refused, or get less, so that the rest stay in time.
//
//	c, err := admission.New(admission.Config{SLO: slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms")})
//	http.Handle("/v1/", c.Middleware(proxy, admission.MiddlewareConfig{Request: sizes}))
//
// or, without HTTP,
//
//	p, err := c.Admit(ctx, admission.Request{Class: "chat", InputTokens: 900, MaxOutputTokens: 200})
//	if err != nil {
//		return err // a *RejectedError says why, and when to try again
//	}
//	defer p.Done(goodput.ServerError) // the first Done counts
//	p.FirstToken()
//	p.Tokens(1)
//	p.Done(goodput.Success)
//
// # What decides
//
// A request is sent at once if four things say that it can be in time and harm nobody, else it waits:
//
//   - the engine's own queue is short: the prompts that were admitted and have had no first token yet, its own among them,
//     take no more than a fifth of its budget for the first token, by a [Line] through those that were seen (or, where the
//     line's constant alone is as much, no more than a tenth of what that leaves; or as long again as that constant, where there is
//     room for it: it is no queue); and the oldest of them that no later one has passed are not so long overdue as is unlikely by
//     chance, as they are when the engine's KV cache is full. A slope of the line counts as far as there is evidence for it;
//   - the [Pace] of what runs, the time per token of all of it as of now, is below three quarters of the TPOT that the SLO
//     allows;
//   - the tokens in flight ([Cap]) are below the [Limit], which follows the share of SLO violations, with statistical
//     evidence;
//   - something comes back ([Stall]).
//
// The pace and the pending prompts react within a step of the engine. The limit is what is right in the long run, where
// those two are blind or too generous.
//
// What waits stands in a [Queue]: by priority, within it by tenant in turn ([FairShare]), and of one tenant by deadline. On
// arrival a request is refused if the tokens that are served before it, over the observed [Rate], leave it too little time;
// while it waits, as soon as it would be late if it were sent. Its own prompt counts in that: of those that come too many at
// once, the long ones are the first to be late.
//
// An SLO lets some requests be late ([Spare]). As long as no more are predicted to be than that, none is refused: they stand
// aside, and are served when nothing waits that can still be in time. When more are, it is no burst but an overload; then
// those that stand aside are refused, too. Who stood aside and was in time nevertheless has cost nothing of it.
//
// Before it refuses, it degrades: the longer the wait, the further down the [Ladder] of its class a request goes. Who sends it carries
// that out; over HTTP [ChatSizes.Degrade] can, which lowers the limits in its body, and the client is told in [GrantedHeader].
// What cannot be carried out is told back ([Permit.Sent]), so that what counts is what runs.
//
// No latency is compared with an earlier one, and nothing is decided by end-to-end times: requests that take longer because
// they do more (four times the output, say) change nothing, as long as there is room for them.
//
// # What it has to be told
//
// The first token and the tokens ([Permit.FirstToken], [Permit.Tokens]; the middleware sees them in an event stream), and
// the sizes of requests. Without tokens there is no pace, without first tokens no prediction of what the engine does; then
// the limit alone follows what Done and its outcome say. Where sizes are unknown, requests are taken for equal.
//
// Failures are violations: a timeout, a lost connection, a 429 of the engine's own. What is the client's fault, or was given up
// before it was late, says nothing; nor does an error that comes sooner than a first token could: it is not of the load.
//
// # Parts
//
// Each part is a state machine without a goroutine, a timer or a lock, that can be used by itself. A [Scheduler] puts them
// together and is told what time it is, so that an event loop can drive it; a [Controller] is one by the clock.
package admission
