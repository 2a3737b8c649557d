//go:build !unix

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
