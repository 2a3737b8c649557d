//go:build unix

package admission

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// cpu is the time of the processors that the process has had, that of its garbage collector with it: others may use the
// machine, too.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func admitAndDone(t testing.TB, c *Controller) {
	p, err := c.Admit(t.Context(), Request{InputTokens: 1000, MaxOutputTokens: 100})
	if err != nil {
		t.Fatal(err)
	}
	p.Done(goodput.Success)
}

func BenchmarkAdmitDone(b *testing.B) {
	c := controller(b, Config{SLO: slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms")})
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		admitAndDone(b, c)
	}
	b.ReportMetric(float64(cpu(b)-began)/float64(b.N), "cpu-ns/op")
}

func TestAdmitAndDoneTakeLessThanAMicrosecond(t *testing.T) {
	if os.Getenv("GOODPUT_SOAK") == "" {
		t.Skip("a measurement, of a machine that has nothing else to do: where GOODPUT_SOAK is set")
	}
	c := controller(t, Config{SLO: slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms")})
	const n = 200_000
	var took []time.Duration
	for range 5 {
		began := cpu(t)
		for range n {
			admitAndDone(t, c)
		}
		took = append(took, (cpu(t)-began)/n)
	}
	slices.Sort(took)
	t.Logf("Admit and Done together: %v of a processor, the median of %v", took[2], took)
	require.Less(t, took[2], time.Microsecond)
}
