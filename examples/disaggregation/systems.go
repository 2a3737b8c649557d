package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

// kvBytes is a token's KV cache: keys and values of 40 layers, 5,120 numbers each, 2 bytes a number.
const kvBytes = 2 * 40 * 5120 * 2

// system is one way to use the GPUs.
type system struct {
	name  string
	split bool
	model llmsim.Model
}

// systems are all ways to use n GPUs: engines that do everything, by three policies, and every split into two pools.
func systems(n int, bandwidth float64) []system {
	gpu := llmsim.OPT13B()
	small, first := gpu, gpu
	small.TokenBudget = 512
	first.Policy = llmsim.PrefillFirst{}
	pool := func(p llmsim.Params, n int, r llmsim.Router) llmsim.Replicas {
		return llmsim.Replicas{Engines: slices.Repeat([]llmsim.Params{p}, n), Router: r}
	}
	all := []system{
		{name: "colocated, chunks of 512", model: pool(small, n, llmsim.LeastTTFT{})},
		{name: "colocated, chunks of 2048", model: pool(gpu, n, llmsim.LeastTTFT{})},
		{name: "colocated, prefill first", model: pool(first, n, llmsim.LeastTTFT{})},
	}
	for k := 1; k < n; k++ {
		all = append(all, system{name: fmt.Sprintf("%d prefill + %d decode", k, n-k), split: true, model: llmsim.Disaggregated{
			Prefill:  pool(gpu, k, llmsim.LeastTTFT{}),
			Decode:   pool(gpu, n-k, llmsim.LeastLoad{}),
			Transfer: llmsim.Transfer{KVBytes: kvBytes, Bandwidth: bandwidth},
		}})
	}
	return all
}

// load is what is put on a system: lengths of a shape under Poisson arrivals, or a trace at any speed.
type load struct {
	shape    workload.Shape
	trace    *workload.Trace
	duration time.Duration
}

func (l load) String() string {
	if l.trace != nil {
		return l.trace.String()
	}
	return l.shape.Name + ", Poisson"
}

// plan is a run of it, but for its arrivals.
func (l load) plan(o slo.SLO, seed uint64) (loadgen.Plan, error) {
	p := loadgen.Plan{SLO: o, Duration: l.duration, Warmup: time.Minute, Drain: time.Minute, Seed: seed}
	if l.trace != nil {
		p.Workload, p.Warmup = l.trace.Requests(), 0 // at a high speed it is over in a minute
		return p, nil
	}
	requests, err := workload.NewSynthetic(l.shape, workload.WithSeed(seed), workload.WithSaltSeed(seed), workload.WithoutText())
	if err != nil {
		return p, err
	}
	p.Workload = requests.Requests()
	return p, nil
}

// arrivals are those of the load at a rate, requests/s.
func (l load) arrivals(rate float64, seed uint64) loadgen.Arrivals {
	if l.trace != nil {
		return l.trace.Arrivals(rate / l.trace.Rate())
	}
	return loadgen.Poisson{Rate: rate, Seed: seed}
}

// limit is a goodput limit in requests/s per GPU.
type limit struct {
	rate   float64 // the mean over the seeds; 0: the SLO is met at no rate that was tried
	lo, hi float64 // the lowest and the highest of the seeds
	decide string  // the objective that is missed beyond it
}

// job is the search for one system's limit under one SLO.
type job struct {
	system system
	slo    slo.SLO
	found  limit
}

// search finds the limits, as many at a time as there are processors.
func search(ctx context.Context, o options, jobs []*job) error {
	var wg sync.WaitGroup
	var mu sync.Mutex // of err
	var err error
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, j := range jobs {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			failed := j.search(ctx, o)
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, failed)
		})
		mu.Lock()
		stop := err != nil
		mu.Unlock()
		if stop {
			break
		}
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// precision ends a search: the rate that is met is at least so near to one that is missed.
const precision = 1.01

// search finds one limit per seed: between a rate at which the seed's requests are served by the SLO, and one at which they are
// not. All systems get the same requests at the same instants, so that what tells two of them apart is not the luck of the
// draw; the spread over the seeds says how much of that there is. Where there is one system and no other to hold it
// against, package capacity searches with verdicts that have an error bound, in runs that are as long as it takes.
func (j *job) search(ctx context.Context, o options) error {
	n := float64(o.gpus)
	j.found.lo = math.Inf(1)
	for seed := range uint64(o.seeds) {
		met, missed := 0.0, 0.0
		for rate := n; ; {
			objective, err := j.run(ctx, o, rate, seed+1)
			if err != nil {
				return fmt.Errorf("%s: %w", j.system.name, err)
			}
			if objective == "" {
				met = rate
			} else {
				missed, j.found.decide = rate, objective
			}
			switch {
			case missed == 0:
				rate = 2 * met
			case met == 0:
				rate = missed / 2
			default:
				rate = math.Sqrt(met * missed)
			}
			if met > 0 && missed > 0 && missed <= precision*met || rate < n/1000 || rate > 1000*n {
				break
			}
		}
		j.found.rate += met / n / float64(o.seeds)
		j.found.lo, j.found.hi = min(j.found.lo, met/n), max(j.found.hi, met/n)
	}
	return nil
}

// run is the objective that is missed at a rate, "" where none is.
func (j *job) run(ctx context.Context, o options, rate float64, seed uint64) (string, error) {
	plan, err := o.load.plan(j.slo, seed)
	if err != nil {
		return "", err
	}
	plan.Arrivals = o.load.arrivals(rate, seed)
	res, err := llmsim.Runner(j.system.model)(ctx, plan)
	if err != nil {
		return "", err
	}
	if res.Cut != nil {
		return "", res.Cut
	}
	if res.Report.Offered == 0 {
		return "", errors.New("no request is in the window: give it a longer --duration")
	}
	for _, r := range res.Report.Objectives {
		if !r.Holds {
			return r.Objective.String(), nil
		}
	}
	return "", nil
}
