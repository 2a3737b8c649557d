package slo

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Threshold is a limit in the metric's base unit: seconds, seconds per token, a ratio, or tokens per second.
// PerToken, in seconds, is added once for each output token; only e2e and service_e2e can have one, and with one Limit
// may be 0.
//
// Requests are judged in integers, on Limit and PerToken rounded to whole billionths of the unit (a half away from 0):
// a time to whole nanoseconds, a ratio to a ten-millionth of a percent, a speed to 1e-9 tokens/s. See Billionths. A
// time prints as what it is rounded to, so that a limit of 0.1 + 0.2 seconds is 300ms, here as there. The limit of a
// caller's own metric is compared as the float64 that it is.
type Threshold struct {
	Limit, PerToken float64
}

// The greatest thresholds. Below them a float64 tells every two neighbouring billionths apart, so that text, float64
// and integer are the same number.
const (
	MaxTime  = 720 * time.Hour // of Limit and of PerToken, each
	MaxSpeed = 1e6             // tokens/s
)

const billion = 1_000_000_000

// Within is the threshold of a time metric that does not grow with the output.
func Within(d time.Duration) Threshold { return Threshold{Limit: float64(d) / billion} }

// Billionths is Limit and PerToken in whole billionths of the base unit: nanoseconds for a time, parts in 10⁹ for a
// ratio, 1e-9 tokens/s for a speed. It is what a request is compared with. What is out of an int64's range becomes the
// nearer end of it, and NaN becomes 0: Validate refuses both.
func (t Threshold) Billionths() (limit, perToken int64) {
	return billionths(t.Limit), billionths(t.PerToken)
}

// Duration is the threshold of a time metric for a request with that many output tokens: Limit + PerToken × tokens, in
// whole nanoseconds. Where the product does not fit, it is the longest Duration.
func (t Threshold) Duration(tokens int) time.Duration {
	limit, per := t.Billionths()
	if per <= 0 || tokens <= 0 {
		return time.Duration(limit)
	}
	hi, lo := bits.Mul64(uint64(per), uint64(tokens))
	if hi != 0 || lo > uint64(math.MaxInt64-max(limit, 0)) {
		return math.MaxInt64
	}
	return time.Duration(limit + int64(lo))
}

func billionths(x float64) int64 {
	x = math.Round(x * billion)
	switch {
	case math.IsNaN(x):
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

// check refuses what cannot be meant as a threshold of m, which is a metric.
func (t Threshold) check(m Metric) error {
	if math.IsNaN(t.Limit) || math.IsNaN(t.PerToken) {
		return problemf(ErrThreshold, "the threshold is not a number")
	}
	if t.Limit < 0 && !m.Custom() || t.PerToken < 0 {
		return problemf(ErrThreshold, "a threshold is not negative")
	}
	if t.PerToken > 0 && !m.scales() {
		return problemf(ErrThreshold, "only %s and %s can grow with the output", E2E, ServiceE2E)
	}
	limit, per := t.Billionths()
	switch m.kind() {
	case timeKind:
		switch {
		case limit > int64(MaxTime) || per > int64(MaxTime):
			return problemf(ErrThreshold, "a time is at most %dh", int64(MaxTime.Hours()))
		case t.PerToken > 0 && per == 0, t.Limit > 0 && limit == 0, limit == 0 && per == 0:
			return problemf(ErrThreshold, "a time is at least 1ns")
		}
	case speedKind:
		switch {
		case t.Limit > MaxSpeed:
			return problemf(ErrThreshold, "a speed is at most %stok/s", formatFloat(MaxSpeed))
		case t.Limit < 1e-9:
			return problemf(ErrThreshold, "a speed is at least 0.000000001tok/s")
		}
	case ratioKind:
		return t.checkRatio(m, limit)
	case customKind:
		if math.IsInf(t.Limit, 0) {
			return problemf(ErrThreshold, "the threshold is infinite")
		}
	}
	return nil
}

func (t Threshold) checkRatio(m Metric, limit int64) error {
	nothing, everything := 1.0, 0.0
	if m.HigherIsBetter() {
		nothing, everything = everything, nothing
	}
	switch {
	case t.Limit == nothing:
		return problemf(ErrThreshold, "%g%% is no target, it asks nothing", 100*nothing)
	case t.Limit == everything:
		return problemf(ErrThreshold, "%g%% is no target, for no sample can show it; some thousands of requests can show %g%%",
			100*everything, math.Abs(100*everything-0.1))
	case t.Limit > 1:
		return problemf(ErrThreshold, "a share is below 100%%")
	case t.Limit < 1e-9, limit >= billion:
		return problemf(ErrThreshold, "a share is at least 0.0000001%% and at most 99.9999999%%")
	}
	return nil
}

// text is the threshold in canonical text, for a metric of which it is a valid threshold.
func (t Threshold) text(m Metric) string {
	limit, per := t.Billionths()
	switch m.kind() {
	case timeKind:
		switch {
		case per == 0:
			return timeText(limit)
		case limit == 0:
			return timeText(per) + "/token"
		}
		return timeText(limit) + " + " + timeText(per) + "/token"
	case speedKind:
		return formatFloat(t.Limit) + "tok/s"
	case ratioKind:
		return percentText(t.Limit) + "%"
	}
	return formatFloat(t.Limit)
}

// timeText writes nanoseconds, at least 1, in the largest of the decimal units that gives at least 1. Minutes and hours
// are read but not written: 100s has no finite decimal in minutes.
func timeText(ns int64) string {
	switch {
	case ns >= 1e9:
		return decimal(uint64(ns), 9) + "s"
	case ns >= 1e6:
		return decimal(uint64(ns), 6) + "ms"
	case ns >= 1e3:
		return decimal(uint64(ns), 3) + "µs"
	}
	return strconv.FormatInt(ns, 10) + "ns"
}

// decimal writes n / 10^places with no zeros at its end.
func decimal(n uint64, places int) string {
	s := strconv.FormatUint(n, 10)
	if len(s) <= places {
		s = strings.Repeat("0", places+1-len(s)) + s
	}
	whole, frac := s[:len(s)-places], strings.TrimRight(s[len(s)-places:], "0")
	if frac == "" {
		return whole
	}
	return whole + "." + frac
}

// percentText writes a ratio between 0 and 1 in percent, with the fewest digits that give the same float64 back. The
// point moves in the decimal text: a multiplication by 100 would round.
func percentText(x float64) string {
	_, digits, _ := strings.Cut(strconv.FormatFloat(x, 'f', -1, 64), ".")
	digits += strings.Repeat("0", max(0, 2-len(digits)))
	whole, frac := strings.TrimLeft(digits[:2], "0"), digits[2:]
	if whole == "" {
		whole = "0"
	}
	if frac == "" {
		return whole
	}
	return whole + "." + frac
}

// formatFloat writes the fewest digits that give the same float64 back, with an exponent only where zeros would hide
// the number.
func formatFloat(x float64) string {
	if x == 0 {
		return "0" // -0 too
	}
	format := byte('f')
	if a := math.Abs(x); a < 1e-9 || a >= 1e21 {
		format = 'e'
	}
	return strconv.FormatFloat(x, format, -1, 64)
}
