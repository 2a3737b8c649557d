package capacity

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// spells is a system whose requests are bad while it is in a spell, and good between spells, in virtual time. Both last for
// exponential times, so that the share of time in spells is the share of bad requests.
type spells struct {
	share   float64       // of time that is in a spell
	mean    time.Duration // of a spell
	r       *rand.Rand
	in      bool
	until   time.Time
	waiting []*loadgen.Call
}

const spellsLatency = 100 * time.Millisecond // of a bad request, and half of that of a good one

func (s *spells) Start(now time.Time, c *loadgen.Call) { s.waiting = append(s.waiting, c) }

func (s *spells) Next() (time.Time, bool) {
	if len(s.waiting) == 0 {
		return time.Time{}, false
	}
	return s.waiting[0].Start.Add(spellsLatency), true
}

func (s *spells) Step(now time.Time, done func(*loadgen.Call, *goodput.Record)) {
	if s.until.IsZero() {
		s.in, s.until = s.r.Float64() >= s.share, now
	}
	for !now.Before(s.until) {
		s.in = !s.in
		mean := float64(s.mean)
		if !s.in {
			mean *= (1 - s.share) / s.share
		}
		s.until = s.until.Add(time.Duration(mean*s.r.ExpFloat64()) + 1)
	}
	c := s.waiting[0]
	s.waiting = s.waiting[1:]
	outcome := goodput.Success
	if s.in {
		outcome = goodput.ServerError
	}
	done(c, &goodput.Record{End: spellsLatency, Outcome: outcome})
}

func (s *spells) Stop(time.Time, *loadgen.Call) *goodput.Record {
	return &goodput.Record{Outcome: goodput.Cancelled}
}

// inSpells is the share of bad requests at a rate, and its limit at a P90.
func inSpells(rate float64) float64 { return 1 / (1 + math.Exp(-10*(rate/4-1))) }

var spellsLimit = truth{limit: 4 * (1 - math.Log(9)/10)}

// searchSpells searches a system with spells of 15 s, up to forty of which a probe has in its ten minutes.
func searchSpells(ctx context.Context, seed uint64) (*Limit, error) {
	var rate float64
	run := func(ctx context.Context, p loadgen.Plan) (*loadgen.Result, error) {
		return loadgen.Simulate(ctx, p, loadgen.Description{}, &spells{share: inSpells(rate), mean: 15 * time.Second, r: rand.New(rand.NewPCG(p.Seed, 2))})
	}
	p := loadgen.Plan{SLO: slo.MustParse("e2e p90 < 1s"), Warmup: 20 * time.Second, Duration: 10 * time.Minute, Seed: seed}
	return Search(ctx, run, p, WithArrivals(func(r float64, seed uint64) loadgen.Arrivals {
		rate = r
		return loadgen.Poisson{Rate: r, Seed: seed}
	}))
}

// A probe that ended before it had met a spell does not outweigh those that met some.
func TestSearchWithSpells(t *testing.T) {
	if raceEnabled {
		t.Skip("a million events")
	}
	assert.InEpsilon(t, 0.1, inSpells(spellsLimit.limit), 1e-9)
	covered := 0
	for seed := range uint64(8) {
		l, err := searchSpells(t.Context(), seed+1)
		require.NoError(t, err)
		require.Equal(t, Found, l.State)
		if spellsLimit.covers(l) {
			covered++
		}
	}
	assert.GreaterOrEqual(t, covered, 6)
}

// How often does the interval cover the limit where bad requests come in spells?
//
//	go test ./loadgen/capacity -run xxx -bench Spells -benchtime 100x
func BenchmarkSpells(b *testing.B) {
	tally(b, spellsLimit, func(seed uint64) (*Limit, error) { return searchSpells(b.Context(), 101+seed) })
}
