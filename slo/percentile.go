package slo

import (
	"math"
	"math/bits"
	"strings"
)

// Percentile is in percent, from 1 to below 100, with at most four decimals.
type Percentile float64

// The usual percentiles.
const (
	P50  Percentile = 50
	P90  Percentile = 90
	P95  Percentile = 95
	P99  Percentile = 99
	P999 Percentile = 99.9
)

const million = 1_000_000

// PPM is the percentile as a share in whole millionths, exactly, since it has at most four decimals: P95 is 950,000.
// What is outside 0 to 100 is brought to the nearer end, and NaN is 0.
func (p Percentile) PPM() uint64 {
	switch {
	case !(p > 0): // NaN too
		return 0
	case p >= 100:
		return million
	}
	return uint64(math.Round(float64(p) * 1e4))
}

// Reached reports whether within out of total requests is at least this percentile's share, compared in integers: 999
// of 1,000 reaches P999, 998 does not. Of no requests nothing is reached.
func (p Percentile) Reached(within, total uint64) bool {
	return total > 0 && !lessProduct(within, million, total, p.PPM())
}

// String is the percentile as it stands in an SLO: "p95", "p99.9".
func (p Percentile) String() string {
	if p.check() != nil {
		return "p" + formatFloat(float64(p))
	}
	return "p" + decimal(p.PPM(), 4)
}

func (p Percentile) check() error {
	switch {
	case math.IsNaN(float64(p)):
		return problemf(ErrPercentile, "the percentile is not a number")
	case p < 0:
		return problemf(ErrPercentile, "a percentile is above 0")
	case p == 0:
		return problemf(ErrPercentile, "p0 asks nothing of anyone: a percentile is above 0 and below 100")
	case p > 0 && p < 1:
		return problemf(ErrPercentile, "a percentile is in percent, from 1 to below 100")
	case p == 100:
		return problemf(ErrPercentile, "no sample can show that p100 holds: a percentile is below 100")
	case p > 100:
		return problemf(ErrPercentile, "a percentile is below 100")
	}
	// The tolerance lets computed values such as 100*(1-0.001) through.
	if scaled := float64(p) * 1e4; math.Abs(scaled-math.Round(scaled)) > 1e-6 || p.PPM() == 0 || p.PPM() == million {
		return problemf(ErrPercentile, "a percentile has at most four decimals, such as p99.9999")
	}
	return nil
}

// checkFor refuses a percentile that cannot be meant of a metric: below P50 where higher is better. Of speed, p5 asks that
// one request in twenty be fast, and whoever writes it means that all but the slowest twentieth are, which is p95.
func (p Percentile) checkFor(m Metric) error {
	if m.HigherIsBetter() && p < P50 {
		return problemf(ErrPercentile, "%s %v asks only %s%% of the requests to be so fast; all but the slowest %[3]s%% is %[4]v", m, p, formatFloat(float64(p)), p.rest())
	}
	return nil
}

// rest is the percentile of the other requests: p95 for p5.
func (p Percentile) rest() Percentile { return Percentile(math.Round((100-float64(p))*1e4) / 1e4) }

// nearest is the valid percentile that was probably meant: 0.95 for p95, 999 for p99.9.
func (p Percentile) nearest() Percentile {
	near := p
	digits := formatFloat(float64(p))
	switch {
	case p > 0 && p < 1:
		near = 100 * p
	case p == 100:
		near = P999
	case p > 100 && digits[0] == '9' && len(digits) <= 6 && !strings.Contains(digits, "."):
		near = p / Percentile(math.Pow10(len(digits)-2))
	}
	if p > 0 { // a percentile has four decimals
		near = Percentile(math.Trunc(float64(near)*1e4+1e-6) / 1e4)
	}
	if near.check() != nil {
		return P95
	}
	return near
}

// lessProduct reports whether a·b < c·d, in 128 bits.
func lessProduct(a, b, c, d uint64) bool {
	hi, lo := bits.Mul64(a, b)
	hi2, lo2 := bits.Mul64(c, d)
	return hi < hi2 || hi == hi2 && lo < lo2
}
