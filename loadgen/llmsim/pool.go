package llmsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// placed is a job that a pool has given to one of its engines.
type placed struct {
	job    Job // the engine's; its Data is this
	data   any // the caller's
	on     *Replica
	left   int  // output tokens to come
	begun  bool // there was one
	spared int  // prompt tokens that need not be computed, as was thought when it came
}

// place is p, for one who does not know what it is a part of.
func (p *placed) place() *placed { return p }

// pool is a number of engines and how jobs get to them.
type pool struct {
	replicas []*Replica
	now      *time.Duration // the machine's
	route    Route
	name     string // of the router
	ordered  bool   // by rank within an instant: no engine has a MaxQueue
	routed   uint64
	instant  []*placed // submitted at the instant at, in order of Rank
	at       time.Duration
}

// newPool is a pool of idle engines. what is its name in errors.
func newPool(what string, engines []Params, router Router, now *time.Duration) (*pool, error) {
	if len(engines) == 0 {
		return nil, fmt.Errorf("llmsim: %s has no engines: at least one is needed", what)
	}
	if router == nil {
		router = RoundRobin{}
	}
	p := &pool{now: now, route: router.New(), name: router.String(), ordered: true}
	if p.route == nil {
		return nil, fmt.Errorf("llmsim: %s: the router %s gives no Route", what, p.name)
	}
	for i, params := range engines {
		e, err := NewEngine(params)
		if err != nil {
			return nil, fmt.Errorf("llmsim: %s: engine %d: %s", what, i, strings.TrimPrefix(err.Error(), "llmsim: "))
		}
		p.replicas = append(p.replicas, &Replica{i: i, p: params, e: e, now: now, coming: map[uint64]int{}})
		p.ordered = p.ordered && params.MaxQueue == 0
	}
	return p, nil
}

// alike refuses engines that do not serve the same.
func alike(engines []Params) error {
	for i, p := range engines {
		switch first := engines[0]; {
		case p.Model != first.Model:
			return fmt.Errorf("llmsim: engines 0 and %d serve different models, %q and %q: those that work together serve one, by the same Model", i, first.Model, p.Model)
		case p.DefaultOutput != first.DefaultOutput:
			return fmt.Errorf("llmsim: engines 0 and %d have different DefaultOutput, %d and %d: a request's length does not depend on where it goes", i, first.DefaultOutput, p.DefaultOutput)
		case p.BlockTokens != first.BlockTokens:
			return fmt.Errorf("llmsim: engines 0 and %d have different BlockTokens, %d and %d: the blocks of a job are known by one size", i, first.BlockTokens, p.BlockTokens)
		}
	}
	return nil
}

// next is the next end of a step.
func (p *pool) next() (at time.Duration, ok bool) {
	for _, r := range p.replicas {
		if e, busy := r.e.Next(); busy && (!ok || e < at) {
			at, ok = e, true
		}
	}
	return at, ok
}

// choose is the engine for a job, or why there is none.
func (p *pool) choose(j Job) (*Replica, error) {
	if j.Prompt < 1 || j.Output < 1 {
		return nil, ErrNoTokens
	}
	if j.Computed < 0 || j.Computed > j.Prompt {
		return nil, ErrComputed
	}
	if !p.fits(j) {
		return nil, tooLong(j, p.largest())
	}
	i := p.ask(j)
	if i < 0 || i >= len(p.replicas) {
		return nil, &refusal{ErrRoute, fmt.Sprintf("router %s chose engine %d, and they are 0 to %d", p.name, i, len(p.replicas)-1)}
	}
	r := p.replicas[i]
	if !r.Fits(j) {
		return nil, &refusal{ErrRoute, fmt.Sprintf("router %s chose engine %d, whose KV cache holds %d tokens, for %d prompt tokens and %d output tokens", p.name, i, r.p.KVTokens, j.Prompt, j.Output)}
	}
	return r, nil
}

// ask asks the router. A panic of its own says whose it is.
func (p *pool) ask(j Job) int {
	defer func() {
		if v := recover(); v != nil {
			panic(faultOf("router "+p.name, v))
		}
	}()
	return p.route(p.routed, j, p.replicas)
}

// fits says whether one of the engines can run the job.
func (p *pool) fits(j Job) bool {
	return slices.ContainsFunc(p.replicas, func(r *Replica) bool { return r.Fits(j) })
}

// largest is the size of the largest KV cache.
func (p *pool) largest() int {
	return slices.MaxFunc(p.replicas, func(a, b *Replica) int { return a.p.KVTokens - b.p.KVTokens }).p.KVTokens
}

// submit gives a new job to one of the engines, which have been brought to now.
func (p *pool) submit(j *placed) error {
	if p.at != *p.now {
		p.at, p.instant = *p.now, p.instant[:0]
	}
	if !p.ordered {
		return p.put(j)
	}
	i := len(p.instant)
	for i > 0 && p.instant[i-1].job.Rank > j.job.Rank {
		i--
	}
	later := slices.Clone(p.instant[i:])
	p.takeBack(i)
	err := p.put(j)
	if err == nil {
		p.instant = append(p.instant, j)
	}
	p.putBack(later)
	return err
}

// put routes a job and hands it over.
func (p *pool) put(j *placed) error {
	r, err := p.choose(j.job)
	if err != nil {
		return err
	}
	err = r.e.Submit(*p.now, j.job)
	if err == nil {
		r.take(j)
	}
	if err == nil || errors.Is(err, ErrQueueFull) {
		p.routed++
	}
	return err
}

// cancel takes a job off its engine.
func (p *pool) cancel(j *placed) {
	p.before(func() {
		j.on.e.Cancel(*p.now, j.job.ID)
		j.on.drop(j)
	}, j)
}

// before changes something of an engine now, and routes what came in this instant as if it had come after that; without
// the job gone, which change has to do nothing about where it came in this instant.
func (p *pool) before(change func(), gone *placed) {
	if p.at != *p.now || len(p.instant) == 0 {
		change()
		return
	}
	again := slices.Clone(p.instant)
	p.takeBack(0)
	if i := slices.Index(again, gone); i >= 0 {
		again = slices.Delete(again, i, i+1)
	} else {
		change()
	}
	p.putBack(again)
}

// takeBack takes back what came in this instant, from the i-th on.
func (p *pool) takeBack(i int) {
	for _, j := range p.instant[i:] {
		j.on.e.Cancel(*p.now, j.job.ID)
		j.on.drop(j)
		p.routed--
	}
	p.instant = p.instant[:i]
}

// putBack routes again what was taken back. What has been accepted stays so: where the router has no answer this time, the
// first one counts.
func (p *pool) putBack(jobs []*placed) {
	for _, j := range jobs {
		was := j.on
		if p.put(j) != nil {
			p.routed++
			if err := was.e.Submit(*p.now, j.job); err != nil {
				panic(err) // it was there a moment ago
			}
			was.take(j)
		}
		p.instant = append(p.instant, j)
	}
}

// stats is the sum of the engines' states.
func (p *pool) stats() Stats {
	var s Stats
	for _, r := range p.replicas {
		s = s.plus(r.e.Stats())
	}
	return s
}

func (s Stats) plus(o Stats) Stats {
	s.Waiting += o.Waiting
	s.Running += o.Running
	s.KVReserved += o.KVReserved
	s.KVUsed += o.KVUsed
	s.Steps += o.Steps
	s.Busy += o.Busy
	s.PromptTokens += o.PromptTokens
	s.OutputTokens += o.OutputTokens
	s.Preemptions += o.Preemptions
	s.Recomputed += o.Recomputed
	s.KVCached += o.KVCached
	s.CacheQueried += o.CacheQueried
	s.CacheHits += o.CacheHits
	return s
}
