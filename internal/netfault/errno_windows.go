package netfault

import (
	"errors"

	"golang.org/x/sys/windows"
)

// The errors of a client that has no socket left, or no local port: none, not the one that it insists on, or (WSAENOBUFS, as
// Windows has it) no room in its queue for one. No answer of a server becomes one of them.
var exhaustion = []error{windows.WSAEMFILE, windows.WSAEADDRNOTAVAIL, windows.WSAEADDRINUSE, windows.WSAENOBUFS}

// gaveUp says that the system gave a connection up.
func gaveUp(err error) bool { return errors.Is(err, windows.WSAETIMEDOUT) }

// isErrno says that a system call failed.
func isErrno(err error) bool {
	var errno windows.Errno
	return errors.As(err, &errno)
}

// Text is the system's word for why a system call failed; "" where none did. It quotes nothing of anybody's.
func Text(err error) string {
	var errno windows.Errno
	if !errors.As(err, &errno) {
		return ""
	}
	return errno.Error()
}
