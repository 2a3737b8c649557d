//go:build unix

package loadgen

import (
	"time"

	"golang.org/x/sys/unix"
)

// ownTime is the CPU time of this process: getrusage(2).
func ownTime() (time.Duration, bool) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0, false
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), true
}
