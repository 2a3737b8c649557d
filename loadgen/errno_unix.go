//go:build unix

package loadgen

import (
	"errors"
	"syscall"
)

// exhausted says that the client had no file descriptor or no local port left: the request was never sent.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

// gaveUp says that the kernel gave a connection up.
func gaveUp(err error) bool { return errors.Is(err, syscall.ETIMEDOUT) }

// isErrno says that a system call failed.
func isErrno(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno)
}
