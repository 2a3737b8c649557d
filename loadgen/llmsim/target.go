package llmsim

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// Target is a simulated Model in process, which follows the clock: the real one, or that of the testing/synctest bubble in
// which it is used first, and then belongs to. It has no goroutine and needs no Close.
//
// A request's InputTokens are its prompt's length or, where they are 0, the words of its Prompt and Messages, at least
// one; MaxTokens are the length of its output, DefaultOutput where they are 0. A request that can never fit into the KV
// cache ends like one that a Server answers with 400, one that finds the queue full as rejected. The instants that it
// reports are the machine's own, whenever the computer came round to them.
type Target struct {
	live *live
	info Info
}

// NewTarget is a target with a machine of its own. The error is that of the model's NewMachine.
func NewTarget(m Model) (*Target, error) {
	l, err := newLive(m)
	if err != nil {
		return nil, err
	}
	return &Target{live: l, info: m.Info()}, nil
}

// Describe says that it yields tokens, and every metric that is not the caller's own.
func (t *Target) Describe() loadgen.Description { return description(t.info) }

// Stats is the state of the machine; after a FaultError it is all 0.
func (t *Target) Stats() Stats { return t.live.stats() }

// Do performs one request. Where ctx ends before it, what came until then has been told to trace, and the error is ctx's. A
// *FaultError is an error of the model's own code, for this request and for all that come after.
func (t *Target) Do(ctx context.Context, req *loadgen.Request, trace *loadgen.Trace) error {
	return t.Stream(ctx, req, trace, nil)
}

// Stream is Do for one who wants to see the tokens as they come, as a gateway before an engine does: token is called for
// each, at the instant at which it comes out, the tokens of a step in the order in which an engine has its sequences.
// That is before Stream returns, and for no token after the end of ctx was seen. The machine stands still meanwhile:
// token must neither block nor call the Target. One that panics, or ends the goroutine that it is called in, is the end of
// its request, with a *FaultError, and of nobody else's.
func (t *Target) Stream(ctx context.Context, req *loadgen.Request, trace *loadgen.Trace, token func(at time.Time, last bool)) error {
	j, reason := job(t.info, req)
	j.Rank = trace.Index()
	c := &call{token: token}
	if err := t.live.submit(c, j); err != nil {
		if fault, ok := errors.AsType[*FaultError](err); ok {
			return fault
		}
		return statusOf(err)
	}
	select {
	case <-c.wake:
	case <-ctx.Done():
		t.live.cancel(c) // a token of this very instant, the last one too, has come
	}
	at, ended, err := t.live.tokens(c, 0)
	for i, d := range at {
		when := t.live.zero.Add(d)
		if i == 0 {
			trace.FirstByteAt(when)
		}
		trace.TokenAt(when, 1)
		if trace.WantsText() {
			trace.Text(loadgen.Content, tokenText(i))
		}
	}
	switch {
	case err != nil:
		return err
	case !ended:
		return ctx.Err()
	}
	trace.Usage(j.Prompt, j.Output)
	trace.Finish(reason)
	trace.EndAt(t.live.zero.Add(at[len(at)-1]))
	return nil
}

func description(i Info) loadgen.Description {
	return loadgen.Description{
		Name:   "llmsim " + i.Name,
		Tokens: true,
		Gives:  func(m slo.Metric) bool { return !m.Custom() },
	}
}

// job is the work that a request is, and why its output will end. A TTFT limit of its own is its deadline.
func job(i Info, req *loadgen.Request) (j Job, reason string) {
	j.Prompt = req.InputTokens
	if j.Prompt == 0 {
		j.Prompt = words(req.Prompt)
		for _, m := range req.Messages {
			j.Prompt += words(m.Content)
		}
	}
	if j.Prompt == 0 {
		j.Prompt = 1
	}
	if limit, ok := req.Limits[slo.TTFT]; ok && limit > 0 && limit < math.MaxInt64/1e9 {
		j.Deadline = time.Duration(math.Round(limit * 1e9))
	}
	if j.Output = req.MaxTokens; j.Output == 0 {
		j.Output, reason = i.DefaultOutput, "stop"
	} else {
		reason = "length"
	}
	if i.BlockTokens > 0 {
		texts := []string{req.Prompt}
		for _, m := range req.Messages {
			texts = append(texts, m.Content)
		}
		j.Blocks = blocksOf(i.BlockTokens, j, texts...)
	}
	return j, reason
}
