// Package figure prints numbers and tables for people. A number has as many digits as are worth reading, its unit, and
// a dash where there is none: "–" is not 0.
package figure

import (
	"math"
	"strconv"
	"strings"
)

// Absent stands for a number that there is not.
const Absent = "–"

// OrNull is v for JSON, which has no number that is not finite: null.
func OrNull(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Count is a whole number with its thousands apart: 1,234,567.
func Count[N ~int | ~int64 | ~uint64](n N) string { return thousands(strconv.FormatInt(int64(n), 10)) }

// thousands sets the digits before the point of a decimal number apart in threes.
func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = s[:1], s[1:]
	}
	whole, rest := s, ""
	if i := strings.IndexByte(s, '.'); i >= 0 {
		whole, rest = s[:i], s[i:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + whole + rest
}

// Number is v in three significant digits, in whole numbers from 100 on, and without a fraction where it has none.
func Number(v float64) string {
	if s, odd := notFinite(v); odd {
		return s
	}
	if a := math.Abs(v); v == math.Trunc(v) && a < 1e15 {
		return Fixed(v, 0)
	} else if a < 1e-4 || a >= 1e15 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return Fixed(v, Decimals(v, 3))
}

// Decimals is how many digits behind the point give v that many significant ones.
func Decimals(v float64, significant int) int {
	v = math.Abs(v)
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	e := int(math.Floor(math.Log10(v)))
	d := min(max(significant-1-e, 0), 12)
	if r := roundTo(v, d); d > 0 && r >= math.Pow10(e+1) { // 9.996 is 10.0
		d--
	}
	return d
}

func roundTo(v float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Round(v*p) / p
}

// Fixed is v with that many digits behind the point and its thousands apart. What would be printed as 0 and is none is
// "<0.01", or as small as fits.
func Fixed(v float64, decimals int) string {
	if s, odd := notFinite(v); odd {
		return s
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if v != 0 && strings.Trim(s, "-0.") == "" {
		if v < 0 {
			return "-0"
		}
		return "<" + strconv.FormatFloat(math.Pow10(-decimals), 'f', decimals, 64)
	}
	return thousands(s)
}

func notFinite(v float64) (string, bool) {
	switch {
	case math.IsNaN(v):
		return Absent, true
	case math.IsInf(v, 1):
		return "∞", true
	case math.IsInf(v, -1):
		return "-∞", true
	}
	return "", false
}

// Share is a ratio in percent with one digit behind the point, or as many as it takes, up to four, to tell it from 0,
// from 100 % and from the values that it must not be mistaken for.
func Share(p float64, not ...float64) string {
	if s, odd := notFinite(p); odd {
		return s
	}
	switch p {
	case 0:
		return "0%"
	case 1:
		return "100%"
	}
	text := func(v float64, decimals int) string { return strconv.FormatFloat(v*100, 'f', decimals, 64) }
	not = append([]float64{0, 1}, not...)
	for d := 1; d <= 4; d++ {
		clear := true
		for _, n := range not {
			clear = clear && (n == p || text(n, d) != text(p, d))
		}
		if clear || d == 4 && text(p, 4) != "0.0000" && text(p, 4) != "100.0000" {
			return text(p, d) + "%"
		}
	}
	if p < 0.5 {
		return "<0.0001%"
	}
	return ">99.9999%"
}

// Interval is from one Share to another, neither of which must be mistaken for the values in not.
func Interval(ci [2]float64, not ...float64) string {
	if math.IsNaN(ci[0]) || math.IsNaN(ci[1]) {
		return Absent
	}
	return Share(ci[0], not...) + " to " + Share(ci[1], not...)
}

// Percent is a ratio in percent, exact to four decimals, with none that is not needed: 95%, 99.9%.
func Percent(p float64) string {
	if s, odd := notFinite(p); odd {
		return s
	}
	return strconv.FormatFloat(math.Round(p*1e6)/1e4, 'f', -1, 64) + "%"
}

// Seconds is a time in three significant digits, in the largest of ns, µs, ms and s that gives at least 1.
func Seconds(s float64) string {
	if s, odd := notFinite(s); odd {
		return s
	}
	if s == 0 {
		return "0 s"
	}
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		v := s / u.size
		if d := Decimals(v, 3); math.Abs(roundTo(v, d)) >= 1 {
			return Fixed(v, d) + " " + u.name
		}
	}
	v := s / 1e-9
	return Fixed(v, Decimals(v, 3)) + " ns"
}
