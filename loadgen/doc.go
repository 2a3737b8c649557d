// Package loadgen makes load and yields records.
package loadgen
