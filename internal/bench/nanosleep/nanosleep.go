// Package nanosleep sleeps to absolute instants as exactly as the kernel lets a thread, on Linux.
package nanosleep

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Here locks the caller to its thread, takes the slack from its timers, and returns what sleeps there (clock_nanosleep(2)).
func Here() (until func(time.Time), err error) {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return nil, err
	}
	zero := time.Now().Add(-time.Duration(now.Nano()))
	return func(at time.Time) {
		t := unix.NsecToTimespec(int64(at.Sub(zero)))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &t, nil) == unix.EINTR {
		}
	}, nil
}
