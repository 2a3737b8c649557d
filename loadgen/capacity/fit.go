package capacity

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// How the goodput limit is estimated. Near its limit the logarithm of a queue's tail grows about as the rate does: of
// M/M/1 the share of requests beyond T is exp(−(μ−λ)T), and heavy-traffic limits of other queues are of that form
// (J. F. C. Kingman, "The single server queue in heavy traffic", Proc. Camb. Phil. Soc. 57 (1961)). So the logit of the bad
// share is taken for a straight line in the rate, over the probes near the crossing alone, and fitted by maximum likelihood
// to counts at their effective sample sizes:
//
//	logit bad(λ) = a + b·(λ − λ₀)
//
// The limit is where the line crosses the logit of the share that the objective leaves. Its interval is Fieller's: all
// rates at which the line is not significantly away from that (E. C. Fieller, "Some problems in interval estimation",
// J. Roy. Statist. Soc. B 16 (1954)). Where the probes vary about the line by more than their sizes explain, the variance
// is raised by as much.
const (
	localLogit      = 1.8
	mostFloor       = 0.8 // of what the objective leaves
	leastDispersion = 0.6
	localLeast      = 3   // so many probes, the nearest ones, are fitted however far they are
	mostSlope       = 500 // logits from a rate to twice as much, beyond which there is no line but a step
)

// observation is the share of one objective in one probe.
type observation struct {
	rate     float64 // requests/s
	bad      float64 // share that does not count towards the objective
	requests float64
	n        float64 // effective sample size
}

// estimate is a crossing and its interval.
type estimate struct {
	rate, lo, hi float64 // requests/s; NaN where there is none. lo 0 and hi +Inf: the probes do not bound it
	slope        float64 // logits per request/s at the crossing
	near         int     // observations in its neighbourhood
	objective    string  // whose share it is
}

var noEstimate = estimate{math.NaN(), 0, math.Inf(1), math.NaN(), 0, ""}

// cross estimates where the bad share reaches the given one, with a two-sided normal quantile z for the interval's lower
// bound and zHi for the upper.
func cross(obs []observation, bad, z, zHi float64) estimate {
	obs = slices.DeleteFunc(slices.Clone(obs), func(o observation) bool { return !(o.n > 0) })
	l, ok := fitLine(obs, 0)
	if !ok {
		return noEstimate
	}
	at := l.at(l.logit(bad))
	for range 5 { // the neighbourhood is that of the crossing, which it decides
		again, ok := fitLine(near(obs, at, l.b), floor(obs, at, bad))
		if !ok {
			break
		}
		l, at = again, again.at(again.logit(bad))
	}
	e := l.fieller(l.logit(bad), z, zHi)
	for _, o := range obs {
		if math.Abs(o.rate-e.rate)*e.slope <= localLogit {
			e.near++
		}
	}
	if least, most := slices.MinFunc(obs, byRate).rate, slices.MaxFunc(obs, byRate).rate; e.rate < least/2 || e.rate > 2*most {
		return noEstimate // too far from any probe
	}
	return e
}

// floor is the bad share far below a rate, where nobody waits: of the probes at no more than half of the rate. It is kept below
// what the objective leaves.
func floor(obs []observation, at, bad float64) float64 {
	var n, sum float64
	for _, o := range obs {
		if o.rate <= at/2 {
			n, sum = n+o.n, sum+o.n*o.bad
		}
	}
	if n == 0 {
		return 0
	}
	return min(sum/n, mostFloor*bad)
}

func byRate(a, b observation) int { return cmp.Compare(a.rate, b.rate) }

// near are the observations in the neighbourhood of a rate, but at least localLeast if there are as many beyond those that
// make the floor.
func near(obs []observation, at, slope float64) []observation {
	obs = slices.DeleteFunc(slices.Clone(obs), func(o observation) bool { return o.rate <= at/2 })
	slices.SortStableFunc(obs, func(a, b observation) int { return cmp.Compare(math.Abs(a.rate-at), math.Abs(b.rate-at)) })
	n := 0
	for n < len(obs) && (n < localLeast || math.Abs(obs[n].rate-at)*slope <= localLogit) {
		n++
	}
	return obs[:n]
}

// line is logit bad = a + b·(rate − centre), with the covariance of a and b.
type line struct {
	centre, a, b  float64
	floor         float64
	vaa, vab, vbb float64
}

// bad is the bad share at a rate, and how it grows with the logit.
func (l line) bad(rate float64) (p, slope float64) {
	q := 1 / (1 + math.Exp(-(l.a + l.b*(rate-l.centre))))
	return l.floor + (1-l.floor)*q, (1 - l.floor) * q * (1 - q)
}

// logit is that of what a bad share has beyond the floor.
func (l line) logit(bad float64) float64 { return logit((bad - l.floor) / (1 - l.floor)) }

func (l line) at(target float64) float64 { return l.centre + (target-l.a)/l.b }

// fitLine is the maximum-likelihood line through binomial observations, by Newton's method; not ok where there is none that
// rises, or the observations are apart so that any steep one fits.
func fitLine(obs []observation, floor float64) (line, bool) {
	if len(obs) < 2 || !rises(obs) {
		return line{}, false
	}
	l := line{floor: floor}
	var n, bad float64
	for _, o := range obs {
		l.centre += o.n * o.rate
		bad += o.n * o.bad
		n += o.n
	}
	l.centre /= n
	l.a = l.logit(max(bad/n, floor+(1-floor)*0.001))
	for range 100 {
		var ga, gb, iaa, iab, ibb float64
		for _, o := range obs {
			x := o.rate - l.centre
			p, slope := l.bad(o.rate)
			if !(slope > 0) {
				continue
			}
			w := o.n * slope * slope / (p * (1 - p))
			r := w * (o.bad - p) / slope
			ga, gb = ga+r, gb+r*x
			iaa, iab, ibb = iaa+w, iab+w*x, ibb+w*x*x
		}
		det := iaa*ibb - iab*iab
		if !(det > 1e-12*iaa*ibb) {
			return line{}, false
		}
		da, db := (ibb*ga-iab*gb)/det, (iaa*gb-iab*ga)/det
		step := 1.0
		if far := max(math.Abs(da), math.Abs(db)*l.centre); far > 3 { // keeps Newton's method from leaping over the maximum
			step = 3 / far
		}
		l.a, l.b = l.a+step*da, l.b+step*db
		l.vaa, l.vab, l.vbb = ibb/det, -iab/det, iaa/det
		if math.Abs(l.b)*l.centre > mostSlope {
			return line{}, false
		}
		if math.Abs(da) < 1e-9 && math.Abs(db)*l.centre < 1e-9 {
			break
		}
	}
	if !(l.b > 0) {
		return line{}, false
	}
	s := l.dispersion(obs)
	l.vaa, l.vab, l.vbb = l.vaa*s, l.vab*s, l.vbb*s
	return l, true
}

// rises reports whether there are two rates, and a bad share that is neither 0 nor 1: else any line that is steep enough fits.
func rises(obs []observation) bool {
	between := func(o observation) bool { return o.bad > 0 && o.bad < 1 }
	return slices.ContainsFunc(obs, between) && slices.MinFunc(obs, byRate).rate < slices.MaxFunc(obs, byRate).rate
}

// dispersion is Pearson's χ² over its degrees of freedom, where that is more than 1 and there are enough of them.
func (l line) dispersion(obs []observation) float64 {
	free := len(obs) - 2
	if free < 4 {
		return 1
	}
	var chi float64
	for _, o := range obs {
		p, _ := l.bad(o.rate)
		chi += o.n * (o.bad - p) * (o.bad - p) / (p * (1 - p))
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(free)}.Quantile(.975) / 1.96
	return max(leastDispersion, chi/float64(free)) * t * t
}

// fieller is the crossing and its interval.
func (l line) fieller(target, z, zHi float64) estimate {
	e := estimate{rate: l.at(target), slope: l.b}
	e.lo, _ = l.bounds(target, z)
	_, e.hi = l.bounds(target, zHi)
	return e
}

// bounds solves (a − target + b·x)² = z²·Var(a + b·x) for x: a bounded interval only where the slope is significant.
func (l line) bounds(target, z float64) (lo, hi float64) {
	q, a := z*z, l.a-target
	A := l.b*l.b - q*l.vbb
	B := a*l.b - q*l.vab
	C := a*a - q*l.vaa
	d := B*B - A*C
	if !(A > 0) || d < 0 {
		return 0, math.Inf(1)
	}
	return max(0, l.centre+(-B-math.Sqrt(d))/A), l.centre + (-B+math.Sqrt(d))/A
}

func logit(p float64) float64 { return math.Log(p / (1 - p)) }

// quantile is the two-sided one of the normal distribution: 1.96 for 95 %.
func quantile(confidence float64) float64 { return distuv.UnitNormal.Quantile(1 - (1-confidence)/2) }
