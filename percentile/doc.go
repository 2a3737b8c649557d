// Package percentile says how slow is slow: streaming quantiles in bounded
// memory, exact where they can be and with a stated error where they cannot.
//
//   - A [Digest] belongs to one goroutine. Digests merge, in any order, and
//     have a binary and a JSON form, so that the percentiles of many machines
//     can be joined without their values. (Percentiles cannot be averaged.)
//   - A [Recorder] takes values from any number of goroutines and gives a
//     Digest as its snapshot; a goroutine that records much has a [Local].
//   - A [Window] is a recorder that forgets: it holds the last minutes.
//
// # What is exact
//
// Count, sum, minimum and maximum, always. All quantiles and ranks, while a
// digest holds at most 1,000 values, or at most 1,000 distinct ones, however
// often: they are of Hyndman and Fan's type 7, what numpy and
// golang.org/x/exp/stats compute. Latencies rounded to milliseconds thus stay
// exact for good.
//
// # What is not
//
// With default options and up to a million values, a quantile is within 0.2 %
// of the exact one up to P99, 0.5 % at P99.9 and 1 % at P99.99; with ten
// million, twice that; after merging a thousand digests in any order, also where
// each has a stretch of the values to itself, 1.5 times that.
// These bounds are tested on log-normal, uniform, exponential, Pareto(1.5),
// normal, sorted, reversed, constant, growing and stepping data from P25
// upwards. The usual error is a fraction of them. This is root mean square and
// maximum over 50 to 200 samples of log-normal, uniform, exponential,
// Pareto(1.5) and normal data, in percent of the value (BenchmarkValueError):
//
//	values       P50           P90           P99           P99.9
//	10,000       0.030 0.092   0.023 0.110   exact         exact
//	100,000      0.011 0.041   0.017 0.073   0.021 0.095   exact
//	1,000,000    0.004 0.012   0.006 0.018   0.019 0.053   0.021 0.080
//
// The relative error is not bounded where values of a distribution come close
// to zero in the midst of it, as in one that is centred there. Where the data
// has a gap at the quantile (95 % at 100 ms, 5 % at 5 s) the value says
// little, and the error is one of rank: at most 10⁻⁴.
//
// A percentile is also one number out of a sample, and another sample gives
// another. [Digest.Interval] shows it as the bracket that it is.
//
// NaN is no value: it is counted apart and enters nothing. Infinities are
// values, which bound the extremes. Nothing panics for a value.
//
// # How it works
//
// A digest is a list of centroids, as in Dunning and Ertl, "Computing
// Extremely Accurate Quantiles Using t-Digests" (2019), each of which knows
// where it ends. So the list is a distribution function of which many points
// are known, and between each two of them the mean of the values. A batch of
// new values is counted into the centroids in which they fall. This moves no
// point and blurs nothing.
//
// A value outside of all centroids becomes one of its own. When they are too
// many, some points are dropped. The 300 values next to either end stay as
// they are; in the tails behind them a centroid may hold the more values, the
// farther it is from the end, so that the relative error stays the same in a
// tail that falls like a power. The rest is clustered by
// github.com/influxdata/tdigest with the k₁ scale function, anew from each of
// the widest gaps of the data, up to fifteen. A gap that would be much of a
// centroid's width stays as well: digests of separate stretches leave such gaps
// to each other. Between two points the quantile is the simplest curve that
// rises from one to the other and has the centroid's mean.
//
// None of this assumes that the values are independent; [Digest.Interval] does.
package percentile
