//go:build !unix && !windows

package loadgen

import "time"

// ownTime is not known on this system.
func ownTime() (time.Duration, bool) { return 0, false }
