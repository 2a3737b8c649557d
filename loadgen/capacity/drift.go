package capacity

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/goodputkit/goodputkit/internal/figure"
)

// falseDrift is how often a search of a system that stays as it is may be told that it does not.
const falseDrift = 0.01

// drift is two probes of which the later one was at no higher rate and worse.
type drift struct {
	objective   string
	early, late observation
	nth         [2]int // their places among the probes, from 1 on
}

func (d drift) String() string {
	return fmt.Sprintf("%s missed %s at %s/s (probe %d), and later %s at %s/s (probe %d): what was found is of no one system",
		figure.Share(d.early.bad), d.objective, figure.Number(d.early.rate), d.nth[0], figure.Share(d.late.bad), figure.Number(d.late.rate), d.nth[1])
}

// worse finds the clearest drift, where one is beyond chance. A system that stays as it is has no greater share of bad requests
// at a rate than at a higher one, whenever they are tried: no curve is believed in. Of each such pair the difference is held against
// its standard deviation, the greater one of with a pooled share and with one each, at their effective sample sizes; and
// against the normal quantile that all pairs together exceed with probability falseDrift at most (Bonferroni's inequality).
func (s *search) worse() (most drift, ok bool) {
	pairs, z := 0, 0.0
	for _, one := range s.series() {
		for i, early := range one.of {
			for j, late := range one.of {
				if one.nth[j] <= one.nth[i] || late.rate > early.rate {
					continue
				}
				pairs++
				if by := apart(early, late); by > z {
					z, most = by, drift{one.objective.String(), early, late, [2]int{one.nth[i] + 1, one.nth[j] + 1}}
				}
			}
		}
	}
	return most, z > distuv.UnitNormal.Quantile(1-falseDrift/float64(max(pairs, 1)))
}

// apart is by how many standard deviations the bad share of b is above that of a; NaN where both are 0 or 1.
func apart(a, b observation) float64 {
	p := (a.n*a.bad + b.n*b.bad) / (a.n + b.n)
	pooled := p * (1 - p) * (1/a.n + 1/b.n)
	each := a.bad*(1-a.bad)/a.n + b.bad*(1-b.bad)/b.n
	return (b.bad - a.bad) / math.Sqrt(max(pooled, each))
}
