package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// sample is a figure of several runs.
type sample []float64

func (s *sample) add(x float64) { *s = append(*s, x) }

func (s sample) mean() float64 { return stat.Mean(s, nil) }

// half is half the width of the interval that has the mean in it in 95 of 100 cases, by Student's t; NaN where there is one run.
func (s sample) half() float64 {
	n := float64(len(s))
	if n < 2 {
		return math.NaN()
	}
	return distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * stat.StdErr(stat.StdDev(s, nil), n)
}

func (s sample) String() string {
	if len(s) < 2 {
		return fmt.Sprintf("%.2f", s.mean())
	}
	return fmt.Sprintf("%.2f ±%.2f", s.mean(), s.half())
}
