package loadgen

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestHostTimes(t *testing.T) {
	const stat = `cpu  1010 2020 3030 4040 5050 6060 7070 8080 9090 1
cpu0 10 20 30 40 50 60 70 80 90 1
cpu2 100 200 300 400 500 600 700 800 900 1
cpu11 1000 2000 3000 4000 5000 6000 7000 8000 9000 1
intr 1 2 3 4 5 6 7 8 9 10
cpu12 1 1 1 1 1 1 1 1 1 1
`
	var may unix.CPUSet
	may.Set(2)
	may.Set(11)
	may.Set(12)
	assert.Equal(t, hostTimes{cpus: 2, busy: 209 * time.Second, idle: 99 * time.Second, stolen: 88 * time.Second}, hostTimesIn(strings.NewReader(stat), &may))
	assert.Zero(t, hostTimesIn(strings.NewReader("cpu0 10 20 30 40\n"), &may), "older than steal")
	assert.Zero(t, hostTimesIn(strings.NewReader("cpu2 1 1 1 x 1 1 1 1 1 1\n"), &may))
	assert.Zero(t, hostTimesIn(strings.NewReader(""), &may))

	// This one says the same twice, or more.
	h := openHost()
	a, b := h.times(), h.times()
	assert.Positive(t, a.cpus)
	assert.Equal(t, a.cpus, b.cpus)
	assert.GreaterOrEqual(t, b.busy+b.idle+b.stolen, a.busy+a.idle+a.stolen)
	h.close()
	assert.Zero(t, h.times(), "it is closed")

	// Where no descriptor is left, the host is not known.
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	h = openHost()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	defer h.close()
	assert.Zero(t, h.times())
}
