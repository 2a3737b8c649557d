//go:build !linux

package loadgen

// newPacer is a pacer for real time or a synctest bubble's, whichever the caller is in.
func newPacer() pacer { return newTimerPacer() }
