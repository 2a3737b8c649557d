package loadgen

import (
	"time"

	"golang.org/x/sys/windows"
)

// ownTime is the CPU time of this process: GetProcessTimes, in units of 100 ns.
func ownTime() (time.Duration, bool) {
	var created, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user) != nil {
		return 0, false
	}
	units := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(units(kernel)+units(user)) * 100, true
}
