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
	// The instant at which the clock stood at zero. Whoever is put off between the readings finds it earlier than it was, and
	// nothing finds it later: of some readings the latest is right.
	var zero time.Time
	for range 10 {
		var now unix.Timespec
		before := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			return nil, err
		}
		if at := before.Add(-time.Duration(now.Nano())); at.After(zero) {
			zero = at
		}
	}
	return func(at time.Time) {
		t := unix.NsecToTimespec(int64(at.Sub(zero)))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &t, nil) == unix.EINTR {
		}
	}, nil
}
