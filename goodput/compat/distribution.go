package compat

import (
	"cmp"
	"math"
	"slices"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/percentile"
)

// Distribution is what a tool prints of one metric, in seconds (tpot, itl: seconds per token or per step). The zero N
// says that it prints none; the figures are then NaN.
type Distribution struct {
	N                  uint64 // values
	Mean, Std          float64
	P50, P90, P95, P99 float64
}

// quantiles are those of a Distribution.
var quantiles = [4]float64{0.5, 0.9, 0.95, 0.99}

func (d *Distribution) set(q [4]float64) { d.P50, d.P90, d.P95, d.P99 = q[0], q[1], q[2], q[3] }

func noDistribution() Distribution {
	nan := math.NaN()
	return Distribution{0, nan, nan, nan, nan, nan, nan}
}

// A value and its weight.
type value struct{ v, w float64 }

// method is how a tool computes a percentile.
type method uint8

const (
	linear  method = iota // between order statistics, at rank q(n−1): Hyndman–Fan type 7
	inverse               // the smallest value whose cumulative weight reaches q, in floating point as GuideLLM adds it up
	cut                   // the value at index ⌊n·q⌋, from 0
)

// distributionOf is of values, which it sorts. Mean and standard deviation (of the population) are weighted.
func distributionOf(values []value, m method) Distribution {
	values = slices.DeleteFunc(values, func(v value) bool { return v.w <= 0 })
	if len(values) == 0 {
		return noDistribution()
	}
	slices.SortFunc(values, func(a, b value) int { return cmp.Compare(a.v, b.v) })
	d := Distribution{N: uint64(len(values))}
	var weight, sum, squares float64
	for _, v := range values {
		weight += v.w
		sum += v.v * v.w
	}
	d.Mean = sum / weight
	for _, v := range values {
		squares += (v.v - d.Mean) * (v.v - d.Mean) * v.w
	}
	d.Std = math.Sqrt(squares / weight)
	var at [4]float64
	for i, q := range quantiles {
		at[i] = quantile(values, q, weight, m)
	}
	d.set(at)
	return d
}

func quantile(values []value, q, weight float64, m method) float64 {
	n := len(values)
	switch m {
	case inverse:
		sum := 0.0
		for i := 0; i < n; {
			w := 0.0
			j := i
			for ; j < n && values[j].v == values[i].v; j++ {
				w += values[j].w
			}
			if sum += w / weight; sum >= q {
				return values[i].v
			}
			i = j
		}
		return values[n-1].v
	case cut:
		return values[min(int(float64(n)*q), n-1)].v
	}
	rank := q * float64(n-1)
	i := int(rank)
	if i+1 >= n {
		return values[n-1].v
	}
	return values[i].v + (rank-float64(i))*(values[i+1].v-values[i].v)
}

// stepsOf is a digest's; its Std is not known.
func stepsOf(d *percentile.Digest) Distribution {
	if d.Count() == 0 {
		return noDistribution()
	}
	out := Distribution{N: d.Count(), Mean: d.Mean(), Std: math.NaN()}
	var at [4]float64
	for i, q := range quantiles {
		at[i] = d.Quantile(q)
	}
	out.set(at)
	return out
}

func ofReport(d goodput.Distribution, ok bool) Distribution {
	if !ok {
		return noDistribution()
	}
	return Distribution{d.N, d.Mean, math.NaN(), d.P50, d.P90, d.P95, d.P99}
}
