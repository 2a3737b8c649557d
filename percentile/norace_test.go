//go:build !race

package percentile

const raceEnabled = false
