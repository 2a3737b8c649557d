package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// maxSigma bounds Sigma: at 5 the P99 is already 100,000 times the median.
const maxSigma = 5

// LogNormal has a normal logarithm, with mean ln Median and standard deviation Sigma; lengths are rounded to whole
// tokens. Its mean is Median · exp(Sigma²/2). It has a long tail, so bound it: Truncated.
type LogNormal struct {
	Median float64 // in tokens
	Sigma  float64 // of the natural logarithm, no unit
}

// LogNormalByPercentile is the law with that median of which percent of all lengths are at most tokens: with z the
// standard normal's quantile, Sigma = ln(tokens/median) / z. LogNormalByPercentile(1020, 95, 4083) has median 1,020 and
// P95 4,083.
func LogNormalByPercentile(median, percent, tokens float64) (LogNormal, error) {
	const name = "LogNormalByPercentile"
	if !(percent > 0 && percent < 100) || percent == 50 {
		return LogNormal{}, invalid(name, "the percentile is %v; want one above 0 and below 100, and not the median", percent)
	}
	if !(median > 0) || !(tokens > 0) || math.IsInf(median, 0) || math.IsInf(tokens, 0) {
		return LogNormal{}, invalid(name, "the median is %v and the value %v tokens; want both finite and above 0", median, tokens)
	}
	z := math.Sqrt2 * math.Erfinv(2*percent/100-1)
	l := LogNormal{Median: median, Sigma: math.Log(tokens/median) / z}
	if l.Sigma < 0 {
		return LogNormal{}, invalid(name, "P%v is %v tokens, on the wrong side of the median of %v", percent, tokens, median)
	}
	return l, l.Validate()
}

// LogNormalByMean is the law with that mean and standard deviation, both in tokens:
// Sigma² = ln(1 + sd²/mean²), Median = mean · exp(−Sigma²/2).
func LogNormalByMean(mean, sd float64) (LogNormal, error) {
	if !(mean > 0) || !(sd >= 0) || math.IsInf(mean, 0) || math.IsInf(sd, 0) {
		return LogNormal{}, invalid("LogNormalByMean",
			"the mean is %v and the standard deviation %v tokens; want a mean above 0 and a deviation of 0 or more", mean, sd)
	}
	v := math.Log1p(sd / mean * (sd / mean))
	l := LogNormal{Median: mean * math.Exp(-v/2), Sigma: math.Sqrt(v)}
	return l, l.Validate()
}

// Draw is Median · exp(Sigma · Z) with a standard normal Z, rounded, from 1 to MaxLength.
func (l LogNormal) Draw(r *rand.Rand) int {
	x := math.Round(l.Median * math.Exp(l.Sigma*r.NormFloat64()))
	return int(min(max(x, 1), MaxLength))
}

// Validate refuses a median outside 1 to MaxLength and a Sigma that is negative or above 5.
func (l LogNormal) Validate() error {
	if !(l.Median >= 1 && l.Median <= MaxLength) {
		return invalid("LogNormal.Median", "is %v tokens; want 1 to %d", l.Median, MaxLength)
	}
	if !(l.Sigma >= 0 && l.Sigma <= maxSigma) {
		return invalid("LogNormal.Sigma", "is %v; want 0 to %d", l.Sigma, maxSigma)
	}
	return nil
}

// String is such as "log-normal with median 1020, sigma 0.843".
func (l LogNormal) String() string {
	return fmt.Sprintf("log-normal with median %.4g, sigma %.3g", l.Median, l.Sigma)
}
