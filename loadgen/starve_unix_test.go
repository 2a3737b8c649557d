//go:build unix

package loadgen

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// listen is a server that accepts connections until the test is over, and says nothing.
func listen(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		var open []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				for _, c := range open {
					c.Close()
				}
				return
			}
			open = append(open, c)
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return l.Addr().String()
}

// connects is a target whose requests keep a connection each, until as many as run at once have one or were refused one.
func connects(d *net.Dialer, network, addr string, n int) Target {
	var met sync.WaitGroup
	met.Add(n)
	return TargetFunc(func(ctx context.Context, _ *Request, _ *Trace) error {
		c, err := d.DialContext(ctx, network, addr)
		met.Done()
		met.Wait()
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// starved checks that a client lacked something for the requests of res, but for so many.
func starved(t *testing.T, res *Result, but int) {
	t.Helper()
	r := res.Report
	assert.LessOrEqual(t, r.Outcomes[goodput.Success], uint64(but))
	assert.Equal(t, r.Offered-r.Outcomes[goodput.Success], r.Outcomes[goodput.Dropped], "it is not the server's fault")
	assert.Equal(t, r.Outcomes[goodput.Success], r.Health.Sent)
	assert.Equal(t, goodput.Invalid, r.Health.Verdict)
	assert.Contains(t, strings.Join(r.Health.Reasons, "\n"), "requests the client had no file descriptor or no port")
	assert.True(t, strings.HasPrefix(r.String(), "CLIENT INVALID: these figures show the client, not the server\n"))
}

const starveEnv = "LOADGEN_TEST_STARVE"

// A client that has no file descriptors left says so: in a process of its own, whose limit is lowered.
func TestStarvedOfDescriptors(t *testing.T) {
	if addr := os.Getenv(starveEnv); addr != "" {
		starveOfDescriptors(t, addr)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStarvedOfDescriptors$", "-test.v")
	cmd.Env = append(os.Environ(), starveEnv+"="+listen(t))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestStarvedOfDescriptors")
}

func starveOfDescriptors(t *testing.T, addr string) {
	c, err := net.Dial("tcp", addr) // what package net wants for itself it has after that
	require.NoError(t, err)
	defer c.Close()
	next, err := unix.Dup(0)
	require.NoError(t, err)
	require.NoError(t, unix.Close(next))
	const room, n = 10, 40
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	lowered := limit
	lowered.Cur = 0
	for range next + room { // its type is not the same everywhere
		lowered.Cur++
	}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &lowered))
	p := Plan{SLO: slo.MustParse("e2e p95 < 1h"), Concurrency: n, Requests: n, Timeout: time.Hour}
	res, err := Run(t.Context(), connects(new(net.Dialer), "tcp", addr, n), p)
	require.NoError(t, err)
	starved(t, res, room)
	assert.Positive(t, res.Report.Outcomes[goodput.Success])

	// With none left at all a name has no address either.
	lowered.Cur = 0
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &lowered))
	res, err = Run(t.Context(), connects(&net.Dialer{Resolver: &net.Resolver{PreferGo: true}}, "tcp", "nowhere.invalid:80", n), p)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, err)
	starved(t, res, 0)
}

// A client that has no local port left says so: with one port, there is one connection to a server.
func TestStarvedOfPorts(t *testing.T) {
	reuse := func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) }); e != nil {
			return e
		}
		return err
	}
	for name, control := range map[string]func(string, string, syscall.RawConn) error{"not ours": nil, "none to that server": reuse} {
		t.Run(name, func(t *testing.T) {
			addr := listen(t)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			free := l.Addr() // almost surely still free in a moment
			require.NoError(t, l.Close())
			const n = 10
			p := Plan{SLO: slo.MustParse("e2e p95 < 1h"), Concurrency: n, Requests: n, Timeout: time.Hour}
			res, err := Run(t.Context(), connects(&net.Dialer{LocalAddr: free, Control: control}, "tcp", addr, n), p)
			require.NoError(t, err)
			starved(t, res, 1)
		})
	}
}
