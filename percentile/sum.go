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

// addAll adds the values in short runs: a rounding of the run's own sum is
// lost, no more.
func (s *sum) addAll(xs []float64) {
	for ; len(xs) >= 16; xs = xs[16:] {
		x := xs[:16]
		run := ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])) +
			(((x[8] + x[9]) + (x[10] + x[11])) + ((x[12] + x[13]) + (x[14] + x[15])))
		s.add(run)
	}
	for _, x := range xs {
		s.add(x)
	}
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
