//go:build !linux

package loadgen

// host knows nothing: other systems have no file that says it.
type host struct{}

// quotas are there on Linux alone.
func quotas(string) map[string]quota { return nil }

func openHost() *host          { return nil }
func (*host) close()           {}
func (*host) times() hostTimes { return hostTimes{} }
