//go:build !race

// Package race says whether the race detector is on, under which all is several times as slow.
package race

// Enabled: it is.
const Enabled = false
