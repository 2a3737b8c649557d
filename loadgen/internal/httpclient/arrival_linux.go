package httpclient

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goodputkit/goodputkit/internal/race"
)

// stamped is a TCP connection of which the kernel says when what is read came to this machine: SO_TIMESTAMPNS, socket(7).
// Of the segments that one read returns it is the instant of the last. One goroutine reads at a time, as it is with
// net/http and crypto/tls.
type stamped struct {
	*net.TCPConn
	reader
	raw   syscall.RawConn
	clock arrivalClock

	// Of the read that goes on. They are here since a read is not to allocate.
	receive func(fd uintptr) bool
	n       int
	errno   unix.Errno
	msg     unix.Msghdr
	iov     unix.Iovec
	control stampMessage
}

// stampMessage is the one control message that such a socket has; unix.Timespec is what the kernel's alignment lets
// follow the header at once on every architecture.
type stampMessage struct {
	unix.Cmsghdr
	at unix.Timespec
}

// stamping is a socket for which the kernel stamps what comes. It takes the kernel some milliseconds to begin with that once a
// first socket asks for it, and it ends with the last: what would come first on a new connection would have no stamp. nil:
// there is none. It is closed when nothing refers to it any more.
func stamping() *os.File {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	if err := askForStamps(fd); err != nil {
		unix.Close(fd)
		return nil
	}
	return os.NewFile(uintptr(fd), "stamping")
}

func askForStamps(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
}

// stamp has the kernel say when the bytes of c come; where it cannot, c stays as it is.
func stamp(c net.Conn) net.Conn {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return c
	}
	var set error
	if err := raw.Control(func(fd uintptr) { set = askForStamps(int(fd)) }); err != nil || set != nil {
		return c
	}
	s := &stamped{TCPConn: t, raw: raw}
	s.receive = s.recvmsg
	s.msg.Iov = &s.iov
	s.msg.SetIovlen(1)
	s.msg.Control = (*byte)(unsafe.Pointer(&s.control))
	return s
}

// recvmsg reads what there is; false: there is nothing yet. The socket does not block, so that the runtime need not be told of
// the system call.
func (s *stamped) recvmsg(fd uintptr) bool {
	for {
		s.msg.SetControllen(int(unsafe.Sizeof(s.control)))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&s.msg)), 0)
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false
		}
		s.n, s.errno = int(n), errno
		if race.Enabled && errno == 0 { // which hears of what a read happens after from package syscall alone
			_, _ = syscall.Read(int(fd), nil)
		}
		return true
	}
}

// stampOf is the stamp of what was read, ns of Unix time; 0: it has none.
func (s *stamped) stampOf() int64 {
	c := &s.control
	if s.n <= 0 || uintptr(s.msg.Controllen) < unsafe.Sizeof(*c) || c.Level != unix.SOL_SOCKET || c.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	return c.at.Nano()
}

// Read reads as the TCP connection does, and says when that came.
func (s *stamped) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return s.TCPConn.Read(p)
	}
	s.iov.Base = &p[0]
	s.iov.SetLen(len(p))
	s.n, s.errno = 0, 0
	err := s.raw.Read(s.receive)
	s.iov.Base = nil
	now := time.Now()
	s.arrived(s.clock.at(s.stampOf(), now.UnixNano(), int64(now.Sub(epoch))))
	switch {
	case err != nil:
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
	case s.errno != 0:
		err = os.NewSyscallError("read", s.errno)
	case s.n == 0:
		return 0, io.EOF
	default:
		return s.n, nil
	}
	return 0, &net.OpError{Op: "read", Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
}
