package main

import (
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// bound is what no policy exceeds under a load.
func (o *options) bound(x float64) (sample, error) {
	var all sample
	for seed := uint64(1); seed <= uint64(o.seeds); seed++ {
		rate, requests, err := o.source.offered(x*o.limit, seed, o.duration)
		if err != nil {
			return nil, err
		}
		all.add(bound(llmsim.OPT13B(), rate, requests))
	}
	return all, nil
}

// offered is what comes in a run, and its mean rate: of a trace's piece, its own.
func (s *source) offered(rate float64, seed uint64, d time.Duration) (float64, []*loadgen.Request, error) {
	l, err := s.load(rate, seed)
	if err != nil {
		return 0, nil, err
	}
	n := int(rate * d.Seconds())
	if s.trace != nil {
		n = 0
		var span time.Duration
		for at := range l.arrivals.Times() {
			n, span = n+1, at
		}
		rate = float64(n) / span.Seconds()
	}
	var all []*loadgen.Request
	for r := range l.requests {
		if len(all) == max(n, 1) {
			break
		}
		all = append(all, r)
	}
	return rate, all, nil
}

// bound is a goodput in requests/s that no policy can exceed in the long run, whatever it knows beforehand, where the requests given
// come at a mean rate: as many of them as the engine has time for, the cheapest first. It is optimistic in every respect. Nobody
// is late, whenever it comes; and of the steps, which take Base each whatever they do, there are no more than have to be, since a
// step has room for TokenBudget tokens, MaxBatch sequences that decode and KVTokens of their prompts and outputs.
// Of the three the one that leaves least is the bound.
func bound(p llmsim.Params, rate float64, requests []*loadgen.Request) float64 {
	least := rate
	for _, steps := range []func(in, out float64) float64{
		func(in, out float64) float64 { return (in + out - 1) / float64(p.TokenBudget) },
		func(_, out float64) float64 { return (out - 1) / float64(p.MaxBatch) },
		func(in, out float64) float64 { return (out - 1) * (in + out) / float64(p.KVTokens) },
	} {
		costs := make([]float64, len(requests))
		for i, r := range requests {
			in, out := float64(max(1, r.InputTokens)), float64(max(1, r.MaxTokens))
			costs[i] = p.Base.Seconds()*steps(in, out) + alone(p, in, out)
		}
		slices.Sort(costs)
		left := float64(len(requests)) / rate // the time in which so many come
		served := 0.0
		for _, c := range costs {
			if c > left {
				served += left / c
				break
			}
			left -= c
			served++
		}
		least = min(least, rate*served/float64(len(requests)))
	}
	return least
}

// alone is the time that a request adds to the steps that it takes part in, s: its prompt, and all of its tokens but the first.
func alone(p llmsim.Params, in, out float64) float64 {
	context := (out-1)*in + (out-1)*out/2
	return p.PerPromptToken.Seconds()*in + p.PerPromptPair.Seconds()*in*(in+1)/2 + p.PerSequence.Seconds()*(out-1) + p.PerContextToken.Seconds()*context
}
