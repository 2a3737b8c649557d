package loadgen

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// newPacer is a pacer for real time or a synctest bubble's, whichever the caller is in.
func newPacer() pacer {
	if inRealTime() {
		if p, err := newKernelPacer(); err == nil {
			return p
		}
	}
	return newTimerPacer()
}

// inRealTime says that time.Now is the system's clock. A bubble's begins in the year 2000 and stands still while there is
// something to do; for it to be taken for the system's it would have to stand at this very millisecond. A system's clock
// that is set between the readings is taken for a bubble's, which costs exactness alone.
func inRealTime() bool {
	var before, after unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &before) != nil {
		return false
	}
	now := time.Now().UnixNano()
	if unix.ClockGettime(unix.CLOCK_REALTIME, &after) != nil {
		return false
	}
	const apart = int64(time.Millisecond) // two ways to read a clock need not agree to the nanosecond
	return before.Nano()-apart <= now && now <= after.Nano()+apart
}

// kernelPacer sleeps by two timers, whichever is first. One is the kernel's, for which the runtime waits as it does for a
// socket: where nothing else goes on, Go's own end a wait that is rounded up to whole milliseconds (epoll_wait(2)), while
// timerfd_create(2) is exact, has no slack, and wakes the very thread that then runs the goroutine, and what that starts. A
// thread of its own in clock_nanosleep(2) would have to hand over to another one, which costs more than the sleep is late. The
// other is Go's, as the deadline of the wait: while all cores are busy with goroutines, the runtime looks at its timers more
// often than at what the kernel has to say. To set it wakes another thread, which costs as much as the sleep: as long as the
// kernel's is the first, Go's comes a little later, and is set for several sleeps at once.
type kernelPacer struct {
	file     *os.File
	conn     syscall.RawConn
	start    time.Time // the instant at which CLOCK_MONOTONIC stood at zero
	spec     unix.ItimerSpec
	armed    bool
	deadline time.Time // of the wait; zero: unknown
	busy     int       // sleeps to come for which Go's timer is as exact as the kernel's
	woken    atomic.Bool
}

// While the kernel's timer is the first, Go's comes at least slackLeast and at most slackMost later. Once it was not, both are
// exact until the kernel's has been the first so many times.
const (
	slackLeast, slackMost = time.Millisecond, 4 * time.Millisecond
	busySleeps            = 64
)

func newKernelPacer() (*kernelPacer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	p := &kernelPacer{file: os.NewFile(uintptr(fd), "timerfd")}
	if p.start, err = clockStart(); err == nil {
		if err = p.file.SetReadDeadline(time.Time{}); err == nil { // else the runtime cannot wait for it
			p.conn, err = p.file.SyscallConn()
		}
	}
	if err != nil {
		p.file.Close()
		return nil, err
	}
	return p, nil
}

// clockStart is the instant at which CLOCK_MONOTONIC stood at zero. Whoever is put off between a reading of that clock and one
// of time.Now finds it later than it was, and each sleep would then end with a busy loop of as long: of some readings the
// earliest is right.
func clockStart() (start time.Time, err error) {
	for i := range 10 {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			return start, err
		}
		if at := time.Now().Add(-time.Duration(now.Nano())); i == 0 || at.Before(start) {
			start = at
		}
	}
	return start, nil
}

func (p *kernelPacer) until(at time.Time) {
	defer p.woken.Store(false)
	for {
		now := time.Now()
		d := at.Sub(now)
		if d <= 0 {
			return
		}
		next := now.Add(min(d, time.Hour)) // always fits
		p.spec.Value = unix.NsecToTimespec(int64(next.Sub(p.start)))
		p.armed = false
		var err error
		switch {
		case p.busy > 0:
			err = p.setDeadline(next)
		case p.deadline.Before(next.Add(slackLeast)):
			err = p.setDeadline(next.Add(slackMost))
		}
		if p.woken.Load() { // one that is woken later has its deadline moved
			p.deadline = time.Time{}
			return
		}
		if err == nil {
			err = p.conn.Read(p.expired)
		}
		switch {
		case err == nil:
			p.busy = max(0, p.busy-1)
		case errors.Is(err, os.ErrDeadlineExceeded):
			p.deadline = time.Time{}
			if !p.woken.Load() && !time.Now().Before(next) {
				p.busy = busySleeps
			}
		default: // never happens, and would be a busy loop if it did
			time.Sleep(time.Millisecond)
		}
	}
}

func (p *kernelPacer) setDeadline(at time.Time) error {
	p.deadline = at
	return p.file.SetReadDeadline(at)
}

// expired sets the timer and says so, the first time, that there is nothing to read yet; then the timer has expired. It is
// only set once the runtime heeds what it does.
func (p *kernelPacer) expired(fd uintptr) bool {
	if p.armed {
		return true
	}
	p.armed = true
	return unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, &p.spec, nil) != nil
}

func (p *kernelPacer) wake() {
	p.woken.Store(true)
	_ = p.file.SetReadDeadline(time.Unix(0, 0)) // fails after stop
}

func (p *kernelPacer) stop() { p.file.Close() }
