package goodput

import (
	"math"
	"slices"
	"sort"

	"github.com/goodputkit/goodputkit/slo"
	"gonum.org/v1/gonum/stat/distuv"
)

// How a verdict is reached, with what each number is good for. The share of a sample of n requests varies as if there
// were only n/φ of them, where φ says how much more it varies than independent requests would: latencies of
// neighbours are alike. φ is the ratio of two variances of the mean, that of the means of batches of requests, in the
// order of Start, to that of independent requests. Batches are joined in pairs until von Neumann's ratio of the mean
// square successive difference to the variance no longer sees that neighbours correlate. Where there are too few to join
// once more, and they correlate by no more than maxCorrelation, they are taken as an AR(1) sequence.
//
// φ is estimated from the share itself and from the metric's values, and the greater one is used. Misses are rare and
// come in clusters, so that a short run that happens to have few of them would also believe that they do not cluster;
// the values of all requests know better. Where all of them are far within the threshold (farWithin), they are left out.
//
// A run whose last batches correlate by more is too short for an interval. Nothing is met by it, but
// an SLO can be missed so widely that it shows: see farFrom. On an M/M/1 queue at the SLO line, where both are wrong,
// "met" and "missed" are each said in about 5 % of the runs or fewer, of whatever length (BenchmarkCoverage).
const (
	minBatches = 20     // fewer say nothing of their variance
	fewBatches = 5      // fewer are taken for no more than minSample−1 requests
	minSample  = 20     // fewer requests than this form no batches
	neumannZ   = 1.2816 // correlated beyond this many standard deviations: 10 %, one-sided

	maxCorrelation = 0.5 // of neighbours among the last batches, beyond which they say nothing
)

// wilson is the Wilson score interval of a share p of n requests, at t standard deviations; NaN where n is 0.
//
//	(p + t²/2n ± t √(p(1−p)/n + t²/4n²)) / (1 + t²/n)
//
// E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
func wilson(p, n, t float64) [2]float64 {
	if !(n > 0) {
		return [2]float64{math.NaN(), math.NaN()}
	}
	d := 1 + t*t/n
	middle := (p + t*t/(2*n)) / d
	half := t / d * math.Sqrt(p*(1-p)/n+t*t/(4*n*n))
	lo, hi := max(middle-half, 0), min(middle+half, 1)
	if p == 0 {
		lo = 0
	}
	if p == 1 {
		hi = 1
	}
	return [2]float64{lo, hi}
}

// normalQuantile is the two-sided quantile: 1.96 for 95 %.
func normalQuantile(confidence float64) float64 {
	return distuv.UnitNormal.Quantile(1 - (1-confidence)/2)
}

func studentQuantile(confidence, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(1 - (1-confidence)/2)
}

// batch is what some consecutive requests have together.
type batch struct {
	n, y     float64 // requests, and those of them that the share counts
	k, x, x2 float64 // values of the series: their number, sum and sum of squares
}

func (b batch) plus(o batch) batch {
	return batch{b.n + o.n, b.y + o.y, b.k + o.k, b.x + o.x, b.x2 + o.x2}
}

func sum(b []batch) (all batch) {
	for _, one := range b {
		all = all.plus(one)
	}
	return all
}

// variance of the series' values; 0 where they are so nearly equal that the sums cannot tell.
func (b batch) variance() float64 {
	mean := b.x / b.k
	v := b.x2/b.k - mean*mean
	if !(v > 1e-9*mean*mean) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// inflation is φ and what it rests on.
type inflation struct {
	phi     float64
	freedom float64 // degrees of freedom of the estimate
	batches int     // 0: too short a run
}

// inflate estimates φ of the share Σy/Σn from batches in the order of Start, which it overwrites.
func inflate(b []batch) inflation {
	for len(b) >= minBatches {
		all := sum(b)
		share := residuals(b, func(b batch) (float64, float64) { return b.y, b.n })
		var values []float64
		variance := all.variance()
		if variance > 0 {
			values = residuals(b, func(b batch) (float64, float64) { return b.x, b.k })
		}
		left := 0.0 // correlation of neighbours that is left
		if neumann(share) > neumannZ || neumann(values) > neumannZ {
			if len(b)/2 >= minBatches {
				b = pairs(b)
				continue
			}
			left = max(correlation(share), correlation(values))
			if left > maxCorrelation {
				break
			}
		}
		stretch := autoregression(left)
		p := all.y / all.n
		phi := max(1, ratio(share, all.n, p*(1-p))*stretch, ratio(values, all.k, variance)*stretch)
		return inflation{phi, max(1, float64(len(b)-1)/stretch), len(b)}
	}
	return inflation{math.NaN(), math.NaN(), 0}
}

// autoregression is by how much the variance of the mean of an AR(1) sequence exceeds that of independent values, where r
// is the correlation of neighbours: (1+r)/(1−r). So much fewer independent values it also is worth.
func autoregression(r float64) float64 { return (1 + r) / (1 - r) }

// ratio is the variance of a mean of n values estimated from the residuals of batches, over that of n independent
// values of the given variance; 0 where there is no variance to speak of.
func ratio(residuals []float64, n, variance float64) float64 {
	k := float64(len(residuals))
	independent := variance / n
	if !(n > 0) || !(independent > 0) || math.IsInf(independent, 0) {
		return 0
	}
	r := squares(residuals) / (n * n) * k / (k - 1) / independent
	if math.IsNaN(r) || math.IsInf(r, 0) {
		return 0
	}
	return r
}

func squares(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}

// residuals of a ratio estimator: by how much each batch's total exceeds what the whole sample's mean expects of it.
func residuals(b []batch, of func(batch) (total, weight float64)) []float64 {
	var total, weight float64
	for _, one := range b {
		t, w := of(one)
		total += t
		weight += w
	}
	e := make([]float64, len(b))
	if weight == 0 {
		return e
	}
	for i, one := range b {
		t, w := of(one)
		e[i] = t - total/weight*w
	}
	return e
}

// neumann is the lag-1 correlation 1 − δ²/2s² that von Neumann's ratio sees, in its standard deviations under
// independence: √((k−2)/(k²−1)). Positive: neighbours are alike. J. von Neumann, "Distribution of the ratio of the mean
// square successive difference to the variance", Ann. Math. Statist. 12 (1941).
func neumann(e []float64) float64 {
	k := float64(len(e))
	return correlation(e) / math.Sqrt((k-2)/(k*k-1))
}

// correlation is that lag-1 correlation itself; 0 where nothing varies.
func correlation(e []float64) float64 {
	var differences float64
	for i := 1; i < len(e); i++ {
		differences += (e[i] - e[i-1]) * (e[i] - e[i-1])
	}
	s := squares(e)
	if !(s > 0) {
		return 0
	}
	return 1 - differences/(2*s)
}

// pairs joins neighbours; an odd one goes to the last pair.
func pairs(b []batch) []batch {
	half := len(b) / 2
	for i := range half {
		b[i] = b[2*i].plus(b[2*i+1])
	}
	if len(b)%2 == 1 {
		b[half-1] = b[half-1].plus(b[len(b)-1])
	}
	return b[:half]
}

// share is a counted share and what the sample says of the system's.
type share struct {
	value      float64
	ci         [2]float64
	phi        float64
	effective  float64
	batches    int
	verdict    Verdict
	tooShort   bool
	fewSamples bool
}

// judgeShare finds the interval of the share count/n and holds it against the target. A target is met where the
// interval at the given confidence lies beyond it. It is missed where the interval at 1 − α/m lies short of it, so that
// of m objectives that hold none is likely to be called missed. Of several pieces of evidence the one counts that says
// least.
func judgeShare(count, n uint64, from []evidence, o slo.Objective, confidence float64, m int) share {
	s := share{value: math.NaN(), ci: [2]float64{math.NaN(), math.NaN()}, phi: math.NaN(), effective: math.NaN(), verdict: NoData}
	if n == 0 {
		return s
	}
	s.value = float64(count) / float64(n)
	strict := 1 - (1-confidence)/float64(m)
	if n < minSample {
		s.fewSamples = true
		s.effective = float64(n)
		s.decide(float64(n), normalQuantile(confidence), normalQuantile(strict), o)
		return s
	}
	worst := inflation{phi: 1, freedom: math.Inf(1), batches: math.MaxInt}
	far := false
	for _, e := range from {
		far = far || farFrom(e.batches, o, strict)
		within := e.farWithin(2 * (1 - confidence))
		if within {
			e = e.withoutValues()
		}
		some := len(e.batches)
		inf := inflate(e.batches)
		if within && some >= fewBatches && some < minBatches && (count == 0 || count == n) {
			inf = inflation{1, float64(some - 1), some} // as where workers begin in waves: the share varies as little as it can
		}
		worst.batches = min(worst.batches, inf.batches)
		worst.phi, worst.freedom = max(worst.phi, inf.phi), min(worst.freedom, inf.freedom)
	}
	s.batches = worst.batches
	if s.batches == 0 {
		s.tooShort = true
		s.verdict = Inconclusive
		if far {
			s.verdict = Missed
		}
		return s
	}
	s.phi = worst.phi
	s.effective = float64(n) / s.phi
	s.decide(s.effective, studentQuantile(confidence, worst.freedom), studentQuantile(strict, worst.freedom), o)
	return s
}

func (s *share) decide(n, t, strict float64, o slo.Objective) {
	s.ci = wilson(s.value, n, t)
	wide := wilson(s.value, n, strict)
	target := targetOf(o)
	s.verdict = Inconclusive
	if o.Metric == slo.ErrorRate { // a share that has to stay below
		switch {
		case s.ci[1] <= target:
			s.verdict = Met
		case wide[0] > target:
			s.verdict = Missed
		}
		return
	}
	switch {
	case s.ci[0] >= target:
		s.verdict = Met
	case wide[1] < target:
		s.verdict = Missed
	}
}

// allowFor takes "missed" back where it would not be said if each of the requests that were cut off undecided had been
// good.
func (s *share) allowFor(undecided, count, n uint64, o slo.Objective, confidence float64, m int) {
	best := min(count+undecided, n)
	if o.Metric == slo.ErrorRate {
		best = count - min(undecided, count)
	}
	independent := s.effective
	if math.IsNaN(independent) {
		independent = minSample - 1
	}
	strict := normalQuantile(1 - (1-confidence)/float64(m))
	if !short(wilson(float64(best)/float64(n), independent, strict), o) {
		s.verdict = Inconclusive
	}
}

// suffices is how many requests with the same share and the same likeness of neighbours would have met the target; 0: no
// number would have, or nothing is known.
func (s *share) suffices(o slo.Objective, confidence float64) uint64 {
	if s.verdict != Inconclusive || !(s.phi >= 1) && !s.fewSamples {
		return 0
	}
	z := normalQuantile(confidence)
	met := func(n float64) bool {
		ci := wilson(s.value, n, z)
		if o.Metric == slo.ErrorRate {
			return ci[1] <= targetOf(o)
		}
		return ci[0] >= targetOf(o)
	}
	const most = 1e9
	if !met(most) {
		return 0
	}
	n := sort.Search(most, func(n int) bool { return n > 0 && met(float64(n)) })
	if s.fewSamples {
		return uint64(n)
	}
	return uint64(math.Ceil(float64(n) * s.phi))
}

// targetOf is what the share of an objective is held against.
func targetOf(o slo.Objective) float64 {
	if o.Metric.Population() {
		return o.Threshold.Limit
	}
	return float64(o.Percentile.PPM()) / 1e6
}

// joint is the verdict of all together: missed if one is, else no data if one has none, else inconclusive if one is,
// else met.
func joint(verdicts ...Verdict) Verdict {
	for _, v := range []Verdict{Missed, NoData, Inconclusive} {
		if slices.Contains(verdicts, v) {
			return v
		}
	}
	if len(verdicts) == 0 {
		return NoData
	}
	return Met
}
