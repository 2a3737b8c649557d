package loadgen

import "math"

// trend says whether a sequence of values has one, in memory that does not grow with it.
type trend struct {
	sums []float64 // of so many values each:
	n    int       // 0 is 1
	sum  float64   // of the next have values
	have int
}

// A half's standard error is that of the means of so many stretches of it, which is Geweke's comparison of two parts of a
// sequence with batch means for his spectral density (Evaluating the Accuracy of Sampling-Based Approaches to the
// Calculation of Posterior Moments, Bayesian Statistics 4, 1992).
const (
	trendStretches = 10
	trendSums      = 32 * trendStretches // at most; two of them are made one when there are so many
	trendErrors    = 4                   // standard errors by which two halves differ that are not alike,
	trendShare     = 0.1                 // and so much of the mean of both
)

func (t *trend) add(x float64) {
	t.sum += x
	if t.have++; t.have < t.n {
		return
	}
	t.sums = append(t.sums, t.sum)
	t.sum, t.have, t.n = 0, 0, max(t.n, 1)
	if len(t.sums) < trendSums {
		return
	}
	for i := range trendSums / 2 {
		t.sums[i] = t.sums[2*i] + t.sums[2*i+1]
	}
	t.sums, t.n = t.sums[:trendSums/2], 2*t.n
}

// halves are the means of the two halves, and whether these differ by more than chance and by enough to be seen in the
// figures. Of fewer than 100 values in each nothing is said.
func (t *trend) halves() (first, second float64, differ bool) {
	each := len(t.sums) / 2 / trendStretches // sums in a stretch
	if each*t.n*trendStretches < 100 {
		return 0, 0, false
	}
	half := func(sums []float64) (mean, variance float64) {
		var ms [trendStretches]float64
		for i := range ms {
			for _, s := range sums[i*each : (i+1)*each] {
				ms[i] += s / float64(each*t.n)
			}
			mean += ms[i] / trendStretches
		}
		for _, m := range ms {
			variance += (m - mean) * (m - mean) / (trendStretches - 1) / trendStretches
		}
		return mean, variance
	}
	first, v := half(t.sums)
	second, w := half(t.sums[len(t.sums)-each*trendStretches:])
	d := math.Abs(second - first)
	return first, second, d > trendErrors*math.Sqrt(v+w) && d > trendShare*(first+second)/2
}
