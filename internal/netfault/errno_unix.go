//go:build unix

package netfault

import (
	"errors"
	"syscall"
)

// The errors of a client that has no file descriptor left, or no local port: none, or not the one that it insists on. No
// answer of a server becomes one of them.
var exhaustion = []error{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.EADDRINUSE}

// gaveUp says that the kernel gave a connection up.
func gaveUp(err error) bool { return errors.Is(err, syscall.ETIMEDOUT) }

// isErrno says that a system call failed.
func isErrno(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno)
}

// Text is the system's word for why a system call failed; "" where none did. It quotes nothing of anybody's.
func Text(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return ""
	}
	return errno.Error()
}
