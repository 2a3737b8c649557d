package netfault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	call := func(op string, err error) error {
		return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, err)}
	}
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{errors.New("no"), Other},
		{&url.Error{Op: "parse", Err: errors.New("no")}, Other},
		{call("dial", syscall.ECONNREFUSED), Lost},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, Lost}, // a dialler's own timeout
		{&net.DNSError{IsTimeout: true}, Lost},
		{call("read", syscall.ECONNRESET), Lost},
		{&url.Error{Op: "Get", Err: errors.New("http2: whatever")}, Lost},
		{fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), Lost},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, TimedOut},
		{fmt.Errorf("reading: %w", context.DeadlineExceeded), TimedOut},
		{fmt.Errorf("reading: %w", context.Canceled), Cancelled},
	} {
		require.Equal(t, c.want, Of(c.err), "%v", c.err)
		require.False(t, Exhausted(c.err), "%v", c.err)
	}
}

func TestText(t *testing.T) {
	err := fmt.Errorf("Get http://key@host: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
	require.Equal(t, syscall.ECONNREFUSED.Error(), Text(err))
	require.Empty(t, Text(errors.New("http://key@host")))
}
