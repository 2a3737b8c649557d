package main

import (
	"fmt"
	"iter"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

// load is what comes, and when.
type load struct {
	arrivals loadgen.Arrivals
	requests iter.Seq[*loadgen.Request]
}

// plan is a run of it. One without a duration takes as long as its requests last, and has no warm-up.
func (l load) plan(o slo.SLO, d time.Duration) loadgen.Plan {
	p := loadgen.Plan{SLO: o, Arrivals: l.arrivals, Workload: l.requests, Duration: d}
	if d > 0 {
		p.Warmup = time.Minute
	}
	return p
}

// source is where loads come from: lengths of a shape at Poisson arrivals, or a trace.
type source struct {
	name   string
	shape  workload.Shape
	trace  *workload.Trace // nil: the shape
	pieces []*workload.Trace
}

// synthetic is requests of a shape, which come independently of each other. Each seed gives others.
func synthetic(s workload.Shape) *source { return &source{name: s.Name, shape: s} }

// openTrace is the requests of a trace, as long as they were and with the gaps that they had, all of them shortened or
// lengthened alike. It is cut into pieces of as many requests, which stand for the seeds.
func openTrace(file string, pieces int) (*source, error) {
	t, err := workload.OpenTrace(file, workload.WithoutText())
	if err != nil {
		return nil, err
	}
	if t.Len() < 100*pieces || t.Span() <= 0 {
		return nil, fmt.Errorf("%s: %d pieces of 100 requests at least are more than its %d", file, pieces, t.Len())
	}
	var all []workload.Entry
	for e := range t.Entries() {
		all = append(all, e)
	}
	s := &source{name: t.String(), trace: t}
	n := len(all) / pieces
	for k := range pieces {
		piece := append([]workload.Entry(nil), all[k*n:(k+1)*n]...)
		zero := piece[0].At
		for i := range piece {
			piece[i].At -= zero
		}
		p, err := workload.NewTrace(fmt.Sprintf("%s, piece %d", file, k+1), piece, workload.WithoutText())
		if err != nil {
			return nil, err
		}
		s.pieces = append(s.pieces, p)
	}
	return s, nil
}

// speed is how much faster than it was a trace has to come for so many requests/s in the mean.
func (s *source) speed(rate float64) float64 {
	return rate / s.trace.Rate()
}

// load is what comes at a mean rate, in requests/s. Seeds count from 1.
func (s *source) load(rate float64, seed uint64) (load, error) {
	if s.trace != nil {
		p := s.pieces[(seed-1)%uint64(len(s.pieces))]
		return load{p.Arrivals(s.speed(rate)), p.Requests()}, nil
	}
	w, err := workload.NewSynthetic(s.shape, workload.WithSeed(seed), workload.WithSaltSeed(seed), workload.WithoutText())
	if err != nil {
		return load{}, err
	}
	return load{loadgen.Poisson{Rate: rate, Seed: seed}, w.Requests()}, nil
}

// duration is how long a run is to be: 0, as long as it takes, for the piece of a trace.
func (s *source) duration(d time.Duration) time.Duration {
	if s.trace != nil {
		return 0
	}
	return d
}
