package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
)

// Point says that Percent percent of all lengths are at most Tokens.
type Point struct{ Percent, Tokens float64 }

// Percentiles is a law from published percentiles: those given are met exactly, and between two of them the quantile
// function is a straight line in the logarithm of the length. Lengths spread over orders of magnitude, and straight
// lines in the length itself put too many of them into the long pieces of the tail: the Azure traces' means come out 3
// to 14 % too high; this way they are from 2 % too low to 10 % too high. The first point is at 0 % (the minimum), the last at 100 % (the maximum).
type Percentiles []Point

// Draw is the quantile at a uniform point, rounded up: the least whole length with that many at or below it.
func (p Percentiles) Draw(r *rand.Rand) int {
	return int(math.Ceil(p.quantile(r.Float64()*100) - 1e-9))
}

// quantile is the length that percent of all lengths do not exceed, before rounding.
func (p Percentiles) quantile(percent float64) float64 {
	i := sort.Search(len(p), func(i int) bool { return p[i].Percent >= percent })
	if i == 0 {
		return p[0].Tokens
	}
	a, b := p[i-1], p[i]
	f := (percent - a.Percent) / (b.Percent - a.Percent)
	return a.Tokens * math.Pow(b.Tokens/a.Tokens, f)
}

// Validate refuses fewer than two points, percents that do not rise from 0 to 100, and lengths that fall or lie outside
// 1 to MaxLength.
func (p Percentiles) Validate() error {
	if len(p) < 2 || p[0].Percent != 0 || p[len(p)-1].Percent != 100 {
		return invalid("Percentiles", "want a first point at 0 percent, the minimum, and a last at 100, the maximum")
	}
	for i, q := range p {
		if !(q.Tokens >= 1 && q.Tokens <= MaxLength) {
			return invalid("Percentiles", "P%v is %v tokens; want 1 to %d", q.Percent, q.Tokens, MaxLength)
		}
		if i == 0 {
			continue
		}
		if !(q.Percent > p[i-1].Percent) {
			return invalid("Percentiles", "point %d is at %v percent after %v; want rising percents", i, q.Percent, p[i-1].Percent)
		}
		if q.Tokens < p[i-1].Tokens {
			return invalid("Percentiles", "P%v is %v tokens, less than P%v with %v", q.Percent, q.Tokens, p[i-1].Percent, p[i-1].Tokens)
		}
	}
	return nil
}

// String lists the points.
func (p Percentiles) String() string {
	var b strings.Builder
	b.WriteString("percentiles")
	for i, q := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " P%v %v", q.Percent, q.Tokens)
	}
	return b.String()
}
