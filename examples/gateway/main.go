// Command gateway is a reverse proxy before an OpenAI-compatible endpoint that watches the goodput of its users and defends it:
// what would be late is refused, so that the rest is in time. The files gateway.go and proxy.go are what to copy.
//
//	go run ./examples/gateway --simulate
//	go run ./examples/gateway --upstream http://127.0.0.1:8000/v1 --slo 'ttft p95 < 2s, tpot p95 < 100ms'
//
// With --simulate it needs no endpoint: it puts more load on a simulated engine than that can take, first without and then with
// admission control, and says what each was worth. It takes some 75 seconds.
//
// Clients use --listen as they used the endpoint. The operator has, on the loopback address --admin:
//
//	GET /goodput                 the live page; what came with and what came without admission control are two classes
//	GET /metrics                 for Prometheus
//	GET /admission               what the controller does
//	PUT /admission?on=false      switch it off, and with on=true on again, for what comes from then on
//
// A request that is refused is answered with 429, or 503 where nothing can be served, with Retry-After and the reason in
// Goodput-Reason. SIGINT and SIGTERM end the program when the requests in flight are over, after ten seconds at the latest; those
// that wait are refused.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the requests
	os.Exit(status(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr), os.Stderr))
}

// usageError is an option that cannot be meant.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// status is the exit status: 0 also for help, 2 for options that cannot be meant, 1 for any other error. Errors are one
// line.
func status(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(stderr, "gateway:", err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	o, err := parse(args, getenv, stdout)
	if err != nil {
		return err
	}
	if o.simulate {
		return simulate(ctx, o, sockets, stdout)
	}
	g, err := newGateway(o, sockets.dial, slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return usageError{err}
	}
	_, stop, err := g.serve(sockets, o, stdout)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return stop()
}

// network is how the program listens and dials: in tests it does so in memory.
type network struct {
	listen func(addr string) (net.Listener, error)
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
}

var sockets = network{
	func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) },
	(&net.Dialer{}).DialContext,
}

const (
	grace = 10 * time.Second // for what is in flight, in the end
	judge = 5 * time.Second  // between two looks at the alerts where nobody else asks
)

// serve serves clients, at an address, and the operator, until stop is called, and what is in flight then to its end.
func (g *gateway) serve(n network, o options, stdout io.Writer) (where string, stop func() error, err error) {
	api, err := n.listen(o.listen)
	if err != nil {
		return "", nil, err
	}
	admin, err := n.listen(o.admin)
	if err != nil {
		api.Close()
		return "", nil, err
	}
	url := "http://" + admin.Addr().String()
	fmt.Fprintf(stdout, "%v\nhttp://%v/v1\n%s/metrics\n%s/admission\n%s/goodput\n", o.slo, api.Addr(), url, url, url)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { g.monitor.Watch(ctx, judge) })
	// No WriteTimeout: a stream may take its time. That of a body is the gateway's.
	servers := []*http.Server{
		{Handler: g.api, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute},
		{Handler: g.admin, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute},
	}
	for i, l := range []net.Listener{netutil.LimitListener(api, o.maxConns), admin} {
		all.Go(func() { _ = servers[i].Serve(l) })
	}
	return api.Addr().String(), func() (err error) {
		g.controller.Close() // who waits may look for another gateway
		last, end := context.WithTimeout(context.Background(), grace)
		defer end()
		if servers[0].Shutdown(last) != nil {
			servers[0].Close()
			err = fmt.Errorf("requests were cut off that were not over after %v", grace)
		}
		servers[1].Close()
		cancel()
		all.Wait()
		g.transport.CloseIdleConnections()
		return err
	}, nil
}
