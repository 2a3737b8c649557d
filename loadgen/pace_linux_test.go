package loadgen

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// In real time the kernel's timer it is, and Go's where there is no file descriptor left for one.
func TestPacerInRealTime(t *testing.T) {
	p := newPacer()
	require.IsType(t, &kernelPacer{}, p)
	p.stop()
	assert.Error(t, p.(*kernelPacer).conn.Control(func(uintptr) {}), "the descriptor is closed")

	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	p = newPacer()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	require.IsType(t, &timerPacer{}, p)
	defer p.stop()
	at := time.Now().Add(ms / 10)
	p.until(at)
	assert.False(t, time.Now().Before(at))
}
