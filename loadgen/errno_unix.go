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
