package loadgen

import (
	"os"
	"syscall"
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

// Go's timer is set for several sleeps at once while the kernel's is the first, and for each of them once it was not.
func TestPacerSetsGosTimerSeldom(t *testing.T) {
	p, err := newKernelPacer()
	require.NoError(t, err)
	defer p.stop()
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }
	require.Eventually(t, func() bool { // another timer is set only for want of a processor
		at := in(ms / 10)
		p.until(at)
		first := p.deadline
		next := in(ms / 10)
		p.until(next)
		return p.busy == 0 && p.deadline.Equal(first) && first.After(next.Add(slackLeast)) && !first.After(at.Add(slackMost))
	}, time.Minute, ms)

	kernels := p.conn
	p.conn = blind{kernels, p}
	require.Eventually(t, func() bool { // an instant that has passed before it is slept until is no sleep
		at := in(ms / 10)
		p.until(at)
		return !time.Now().Before(at) && p.busy == busySleeps
	}, time.Minute, ms)
	p.conn = kernels
	at := in(ms / 10)
	p.until(at)
	assert.False(t, time.Now().Before(at))
	if p.busy < busySleeps { // the kernel's was the first
		assert.Equal(t, busySleeps-1, p.busy)
		assert.True(t, p.deadline.Equal(at), "both are exact")
	}
}

// blind is a timer of which the runtime hears nothing.
type blind struct {
	syscall.RawConn
	p *kernelPacer
}

func (b blind) Read(f func(uintptr) bool) error {
	time.Sleep(time.Until(b.p.deadline))
	return os.ErrDeadlineExceeded
}
