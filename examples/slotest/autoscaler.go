package slotest

import (
	"context"
	"math"
	"time"
)

// Autoscaler keeps a service's workers in step with its load.
type Autoscaler struct {
	Min, Max int           // workers
	Busy     float64       // the share of workers that should be busy
	Every    time.Duration // how often it looks
	Boot     time.Duration // how long a worker takes to come up
	Calm     time.Duration // how long there have to be too many before one goes
}

// Run scales s until ctx ends, and returns how much was spent: the time that workers were there, booting included.
func (a Autoscaler) Run(ctx context.Context, s *Service) (spent time.Duration) {
	tick := time.NewTicker(a.Every)
	defer tick.Stop()
	var booting []time.Time // when each is ready
	last, calmSince, load := time.Now(), time.Now(), 0.0
	for {
		workers, requests := s.Load()
		load += (float64(requests) - load) / 4 // smoothed over a few looks
		for len(booting) > 0 && !booting[0].After(time.Now()) {
			booting = booting[1:]
			workers++
			s.Scale(workers)
		}
		wanted := min(max(int(math.Ceil(load/a.Busy)), a.Min), a.Max)
		have := workers + len(booting)
		switch {
		case wanted > have:
			for range wanted - have {
				booting = append(booting, time.Now().Add(a.Boot))
			}
			calmSince = time.Now()
		case wanted == have:
			calmSince = time.Now()
		case time.Since(calmSince) >= a.Calm && len(booting) == 0:
			s.Scale(workers - 1)
			calmSince = time.Now()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return spent + time.Duration(have)*time.Since(last)
		}
		spent += time.Duration(have) * time.Since(last)
		last = time.Now()
	}
}
