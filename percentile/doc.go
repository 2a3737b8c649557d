// Package percentile says how slow is slow: streaming quantiles that are
// exact where they can be and bounded where they cannot.
//
// A [Digest] belongs to one goroutine. A [Recorder] takes values from many
// and gives a Digest as its [Recorder.Snapshot]. Digests merge and have a
// binary and a JSON form, so percentiles of many machines can be joined
// without their values. Percentiles themselves cannot be averaged.
//
// # Model
//
// A digest is a sorted list of centroids: a value and how many values it
// stands for. While few distinct values have been seen, every one is a
// centroid of its own and every quantile is exact: Hyndman and Fan's type 7,
// as computed by numpy and by golang.org/x/exp/stats. Later the list is
// squeezed. The extreme values at both ends stay as they are, the values next
// to them are joined in small groups, and what is between is clustered by
// github.com/influxdata/tdigest with the k₁ scale function of Dunning and
// Ertl, "Computing Extremely Accurate Quantiles Using t-Digests" (2019).
//
// Count, sum, minimum and maximum are exact always. A NaN is counted apart
// and enters nothing. Infinities are values: they bound the extremes.
//
// A percentile is one number out of a sample, and in a gap of the data it can
// jump by orders of magnitude from one sample to the next. [Digest.Interval]
// shows it as the bracket that it is.
package percentile
