//go:build !linux

package loadgen

import "time"

// newPacer is a pacer for real time or a synctest bubble's, whichever the caller is in.
func newPacer() pacer { return newTimerPacer() }

// loaded is the system's time when this program began.
var loaded = time.Now().Round(0)

// inRealTime says that time.Now is the system's clock, and not a synctest bubble's, which begins in the year 2000. A clock
// that was set back to before this program began is taken for a bubble's.
func inRealTime() bool { return !time.Now().Round(0).Before(loaded) }
