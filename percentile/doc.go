// Package percentile says how slow is slow.
package percentile
