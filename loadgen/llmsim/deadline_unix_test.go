//go:build unix

package llmsim_test

import (
	"math"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// cpu is the time of the processors that the process has had: others may use the machine, too.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestManyOfOneDeadline: a plan looks at each of those that wait some times, and not once for each of them. Forty times as many
// then take some sixty times as long, more where they do not fit into a cache, and not 1,600 times.
func TestManyOfOneDeadline(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // its time is not the plan's
	p := llmsim.OPT13B()
	p.Policy = llmsim.EarliestDeadline{}
	plan := func(n uint64) time.Duration {
		least := time.Duration(math.MaxInt64)
		for range 3 {
			e := engine(t, p)
			for id := range n {
				require.NoError(t, e.Submit(0, llmsim.Job{ID: id, Rank: id, Prompt: 500, Output: 1, Deadline: 150 * ms}))
			}
			began := cpu(t)
			_, ok := e.Next()
			require.True(t, ok)
			least = min(least, cpu(t)-began)
		}
		return least
	}
	few, many := plan(1000), plan(40_000)
	t.Logf("%v of a processor, and %v for forty times as many", few, many)
	require.Less(t, many, 500*few)
}
