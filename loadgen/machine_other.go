//go:build !linux

package loadgen

import "time"

// host knows nothing: other systems have no file that says it.
type host struct{}

func openHost() *host          { return nil }
func (*host) close()           {}
func (*host) times() hostTimes { return hostTimes{} }
