package percentile

import "math"

// A sum is a compensated sum after Neumaier, "Rundungsfehleranalyse einiger
// Verfahren zur Summation endlicher Summen" (1974): its error does not grow
// with the number of terms.
type sum struct{ hi, lo float64 }

func (s *sum) add(x float64) {
	t := s.hi + x
	if math.Abs(s.hi) >= math.Abs(x) {
		s.lo += (s.hi - t) + x
	} else {
		s.lo += (x - t) + s.hi
	}
	s.hi = t
}

// addN adds n times x.
func (s *sum) addN(x float64, n uint64) {
	if n == 1 {
		s.add(x)
		return
	}
	p := x * float64(n)
	s.add(p)
	s.lo += math.FMA(x, float64(n), -p) // what the product lost
}

func (s *sum) merge(o sum) {
	s.add(o.hi)
	s.lo += o.lo
}

// value is hi alone where the sum left the range of a float64: the
// compensation is then NaN.
func (s sum) value() float64 {
	if math.IsInf(s.hi, 0) || math.IsNaN(s.lo) {
		return s.hi
	}
	return s.hi + s.lo
}
