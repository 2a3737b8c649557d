package admission

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seeing is a scheduler that has seen so many first tokens, none of them later than the line says.
func seeing(t *testing.T, n int) *Scheduler {
	s := scheduler(t, Config{})
	for i := range n {
		s.line.Observe(at(0), float64(100*(1+i%2)), time.Duration(1+i%2)*50*time.Millisecond)
	}
	s.feedback = true
	return s
}

// Prompts that do not start, although the line says so, mean that the engine is full: one where more than a hundred first tokens were
// seen, of which none took so long, two where 20 were. One that a later one has passed means nothing.
func TestOverduePromptsHoldTheOthers(t *testing.T) {
	small := Request{InputTokens: 100}
	s := seeing(t, 200)
	a := s.Arrive(at(0), one(small))
	b := s.Arrive(at(0.2), one(small))
	require.Equal(t, Waiting, b.Status(), "the first one has been due for 150 ms")
	s.FirstToken(at(0.3), a)
	require.Equal(t, Admitted, b.Status())

	s = seeing(t, 20)
	require.Equal(t, Admitted, s.Arrive(at(0), one(small)).Status())
	b = s.Arrive(at(0.2), one(small))
	require.Equal(t, Admitted, b.Status(), "one of 20 takes longer than all others")
	require.Equal(t, Admitted, s.Arrive(at(0.21), one(small)).Status())
	c := s.Arrive(at(0.4), one(small))
	require.Equal(t, Waiting, c.Status(), "all three are overdue")
	s.FirstToken(at(0.41), b)
	s.Tick(at(0.42))
	require.Equal(t, Admitted, c.Status(), "the first one was passed, and the third is one of 20")
}

// Of requests that do not hinder each other, with first tokens of any distribution, hardly more than one in a hundred is ever taken for a
// sign of a full engine, at any load. Of those behind an engine that stands still, two are enough.
func TestFullIsUnlikelyWhereNothingIs(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for name, draw := range map[string]func() float64{
		"lognormal":   func() float64 { return 0.1 * math.Exp(r.NormFloat64()) },
		"exponential": func() float64 { return 0.1 * r.ExpFloat64() },
		"two kinds":   func() float64 { return []float64{0.02, 0.02, 0.02, 1}[r.IntN(4)] + 0.01*r.Float64() },
	} {
		for _, rate := range []float64{2, 10, 100} {
			s := scheduler(t, Config{})
			type due struct {
				at time.Time
				t  *Ticket
			}
			var pending []due
			signs, n, clock := map[*Ticket]bool{}, 20_000, 0.0
			for range n {
				clock += r.ExpFloat64() / rate
				now := at(clock)
				for len(pending) > 0 && !pending[0].at.After(now) {
					d := pending[0]
					pending = pending[1:]
					if s.full(d.at.Add(-1)) { // just before: it is not less from one first token to the next
						signs[s.passed.head(d.at.Add(-1))] = true
					}
					s.visible(d.t)
					s.passed.first(d.at, d.t)
					s.line.Observe(d.at, d.t.before, d.at.Sub(d.t.admitted))
				}
				x := &Ticket{admitted: now, before: 1}
				s.invisible(x)
				d := due{now.Add(duration(draw())), x}
				i, _ := slices.BinarySearchFunc(pending, d, func(a, b due) int { return a.at.Compare(b.at) })
				pending = slices.Insert(pending, i, d)
			}
			t.Logf("%s, %v/s: %.2f %%", name, rate, 100*float64(len(signs))/float64(n))
			require.LessOrEqual(t, float64(len(signs)), 1.1*fullUnlikely*float64(n), "%s at %v/s", name, rate)
			standing := at(clock)
			for range 2 {
				s.invisible(&Ticket{admitted: standing, before: 1})
			}
			require.True(t, s.full(standing.Add(time.Minute)))
		}
	}
}

// By its definition, over more than are kept.
func TestResiduals(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	var all []float64
	var kept residuals
	require.Equal(t, 1.0, kept.beyond(5))
	for range 1000 {
		x := float64(r.IntN(50)) // many are equal
		all = append(all, x)
		kept.observe(x)
		last := all[max(0, len(all)-residualsKept):]
		of, n := float64(r.IntN(54)-2), 1
		for _, y := range last {
			if y >= of {
				n++
			}
		}
		require.Equal(t, float64(n)/float64(1+len(last)), kept.beyond(of))
	}
}
