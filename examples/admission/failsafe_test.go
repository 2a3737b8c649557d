package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// gradient is failsafe-go's adaptive limiter as it comes: a limit of concurrency that follows how long executions take. It
// reads the clock itself, so that it has to run in a bubble, whose clock is set to the event loop's time before each call.
type gradient struct {
	s       *system
	limiter adaptivelimiter.AdaptiveLimiter[any]
	born    time.Time // the bubble's time at the loop's zero
	permits map[*job]adaptivelimiter.Permit
}

func newGradient(s *system) error {
	s.policy = &gradient{s: s, limiter: adaptivelimiter.NewWithDefaults[any](), born: time.Now(), permits: map[*job]adaptivelimiter.Permit{}}
	return nil
}

// sync lets the bubble's clock catch up.
func (g *gradient) sync(now time.Time) { time.Sleep(now.Sub(time.Unix(0, 0)) - time.Since(g.born)) }

func (g *gradient) arrive(now time.Time, j *job) {
	g.sync(now)
	p, ok := g.limiter.TryAcquirePermit()
	if !ok {
		g.s.refuse(j)
		return
	}
	g.permits[j] = p
	g.s.start(j)
}

func (g *gradient) end(now time.Time, j *job, o goodput.Outcome) {
	g.sync(now)
	if o == goodput.Success {
		g.permits[j].Record()
	} else {
		g.permits[j].Drop()
	}
	delete(g.permits, j)
}

func (g *gradient) token(time.Time, *job)   {}
func (g *gradient) leave(time.Time, *job)   {}
func (g *gradient) next() (time.Time, bool) { return time.Time{}, false }
func (g *gradient) tick(time.Time)          {}

// A limiter that follows end-to-end times does not know what the SLO is. As it comes, it is good for a goodput between those of
// the fixed caps, and package admission for a fifth more than that.
func TestAgainstAGradientOfLatency(t *testing.T) {
	c, n := conversation, seeds(3)
	var theirs, refused float64
	synctest.Test(t, func(t *testing.T) {
		var se float64
		theirs, se, refused = c.mean(t, 2, n, newGradient)
		t.Logf("failsafe-go's adaptive limiter at twice the limit: goodput %.3f ± %.3f/s, refused %.1f %%", theirs, 1.96*se, 100*refused)
	})
	ours, se, _ := c.mean(t, 2, n, defend(c.slo))
	t.Logf("ours: %.3f ± %.3f/s, %.2f times it", ours, 1.96*se, ours/theirs)
	require.GreaterOrEqual(t, ours, 1.15*theirs)
}
