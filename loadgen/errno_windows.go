package loadgen

import (
	"errors"
	"syscall"
)

// The numbers of WSAEMFILE and WSAEADDRNOTAVAIL.
const (
	wsaEMFILE        = syscall.Errno(10024)
	wsaEADDRNOTAVAIL = syscall.Errno(10049)
)

// exhausted says that the client had no socket or no local port left: the request was never sent.
func exhausted(err error) bool {
	return errors.Is(err, wsaEMFILE) || errors.Is(err, wsaEADDRNOTAVAIL)
}

// gaveUp says that the system gave a connection up (WSAETIMEDOUT).
func gaveUp(err error) bool { return errors.Is(err, syscall.Errno(10060)) }

// isErrno says that a system call failed.
func isErrno(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno)
}
